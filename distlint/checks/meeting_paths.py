"""Files that rank 0 makes under a path that each process of a rehearsal works out for itself; another one looks under its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.trace_lines import Line
from distlint.checks.traces import Comparison
from distlint.model.span import Span
from distlint.rehearsal.paths import ASKS, MAKES, READS, Path
from distlint.rehearsal.performance import Performance, Rehearsal
from distlint.rehearsal.trace import Touch

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_WAYS = 200


class Missed(NamedTuple):
    """A file that another process looks for elsewhere: where the path comes to differ, who makes it, and who reads it."""

    drawn: Span
    made: Span
    read: Span


def missed_files(project: Project) -> Iterator[Missed]:
    """Each such file, once for a place at which paths come to differ."""
    whys = {why for spec in project.specs for _, why in spec.varying}
    seen = set()
    for performance in Rehearsal.of(project).performances():
        if performance.function >= 0 or performance.world < 2:
            continue
        for found in _of_performance(performance, whys):
            if found.drawn not in seen:
                seen.add(found.drawn)
                yield found


def _of_performance(performance: Performance, whys: set[str]) -> Iterator[Missed]:
    if not any({MAKES, READS} <= stage.touches for stage in performance.stages):
        return
    for _, _, mine, yours in islice(Comparison(performance, files=True).lines_of_two(), MAX_WAYS):
        yield from _between(_touches(mine), _touches(yours), whys)


def _touches(line: Line) -> list[Touch]:
    return [node for node in line.events if isinstance(node, Touch)]


def _between(mine: list[Touch], yours: list[Touch], whys: set[str]) -> Iterator[Missed]:
    """What the second process reads although the first one alone has made it, and under another path."""
    made = [one for one in mine if one.kind == MAKES and one.source is not None]
    own = {one.span for one in yours if one.kind == MAKES}
    known = set[Path]()
    asked = set[Path]()
    for node in yours:
        if node.kind == MAKES:
            known.add(node.path)
        elif node.kind == ASKS:
            asked.add(node.path)
        source = node.source
        if node.kind != READS or source is None or source.span is None or not (source.drawn or source.why in whys):
            continue
        if node.path in known or any(node.path[: len(one)] == one for one in asked):
            continue
        for other in made:
            theirs = other.source
            if theirs is not None and theirs.span == source.span and other.span not in own:
                if _is_twin(other.path, node.path):
                    yield Missed(source.span, other.span, node.span)
                    break


def _is_twin(one: Path, other: Path) -> bool:
    """Whether two processes' paths are the same but for what is drawn."""
    if len(one) != len(other) or one == other:
        return False
    return all(
        mine == yours or not (isinstance(mine, str) or isinstance(yours, str))
        for mine, yours in zip(one, other, strict=True)
    )
