"""Loops that write files: all turns of short ones are followed, so that it is known which files there are afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.link.modules import FunctionRef
from distlint.link.walking import below, calls_in, expressions_of, statements
from distlint.model import python as ir
from distlint.rehearsal.file_names import FOLDERS, FileNames

if TYPE_CHECKING:
    from distlint.link.project import Project

MOST_FILES = 64
"""Turns of such a loop that are followed one by one."""

_MAX_SIZE = 250
"""Expressions of a turn, with those of the functions that it calls."""

_MAX_DEPTH = 2


_TRAINING = frozenset({"backward", "step"})
"""Calls of a loop that trains, and writes what it has come to."""


class _Asked(dict[tuple[str, int], bool]):
    """Which loops write files and cost little, by their files and places."""


def writes_files(project: Project, loop: ir.For, file: str) -> bool:
    """Whether a loop writes files in each turn, calls nothing that processes do together, and costs little."""
    known = project.kept.setdefault(_Asked, _Asked())
    key = (file, loop.at)
    if key not in known:
        bodies = list(_bodies(project, loop.body, file, 0))
        names = {_last(call) for body in bodies for call in calls_in(body)}
        together = {word for spec in project.specs for word in spec.rehearsed_calls}
        size = sum(
            1 for body in bodies for one in statements(body) for expr in expressions_of(one) for _ in below(expr)
        )
        making = FileNames.of(project)
        writes = any(making.is_writing(name) and name not in FOLDERS for name in names) or "open" in names
        known[key] = writes and names.isdisjoint(together | _TRAINING) and size <= _MAX_SIZE
    found: bool = known[key]
    return found


def _bodies(project: Project, body: tuple[ir.Stmt, ...], file: str, depth: int) -> Iterator[tuple[ir.Stmt, ...]]:
    """A body, and those of the project's functions that it calls by their names."""
    yield body
    for call in calls_in(body) if depth < _MAX_DEPTH else ():
        ref = project.modules.resolve(call.func, file)
        if isinstance(ref, FunctionRef):
            yield from _bodies(project, project.function(ref).body, ref.file, depth + 1)


def _last(call: ir.Call) -> str:
    return call.func.name if type(call.func) is ir.Attribute else call.func.id if type(call.func) is ir.Name else ""
