"""Files that one process of a rehearsal writes while others ask whether they are there.

Between two operations that the processes make together nothing says which of them is first: a process that asks for a file in the
same stretch in which another one writes it may find it or not. What is asked and written in a stretch is noted at its end;
where a process wrote what all of them asked for, the answer differs when they are followed once more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from distlint.model import python as ir
from distlint.rehearsal.unknowns import Opaque, Source
from distlint.rehearsal.values import signature

if TYPE_CHECKING:
    from distlint.rehearsal.stage import Scope, Stage

RACED = "whether a file is already there that not every rank writes"


class Stretch:
    """What a process asked and wrote since the last operation that it made with others."""

    __slots__ = ("asked", "written")

    def __init__(self) -> None:
        self.asked: list[tuple[Hashable, Hashable]] = []
        self.written: set[Hashable] = set()


def asked(stage: Stage, path: Any, call: ir.Expr, scope: Scope) -> Opaque | None:
    """Notes that a process asks whether a file is there, and gives the answer where it differs between processes."""
    sign = signature(path)
    if sign is None:
        return None
    place = ("file", scope.file, call.at, stage.chain)
    _stretch(stage).asked.append((place, sign))
    return Opaque(place, Source(RACED, ir.unpack(call.at, scope.file))) if place in stage.shared.differing else None


def written(stage: Stage, paths: Iterable[Any]) -> None:
    """Notes that a process makes files."""
    _stretch(stage).written.update(sign for sign in map(signature, paths) if sign is not None)


def waited(stage: Stage) -> None:
    """A process that sleeps waits for what it has asked for: behind that it knows what the one that writes does."""
    stretch = _stretch(stage)
    stretch.written.update(sign for _, sign in stretch.asked)


def met(stage: Stage) -> None:
    """The processes meet, or the program ends: the stretch is over."""
    stretch: Stretch | None = stage.kept.pop("files", None)
    if stretch is None:
        return
    for place, sign in stretch.asked:
        stage.shared.note(stage.rank, place, sign in stretch.written)


def _stretch(stage: Stage) -> Stretch:
    found: Stretch = stage.kept.setdefault("files", Stretch())
    return found
