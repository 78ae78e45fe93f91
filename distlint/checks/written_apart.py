"""Places at which, as the rehearsal of every program that comes there shows, no two processes write the same file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from distlint.model.span import Span
from distlint.rehearsal.performance import Rehearsal
from distlint.rehearsal.stage import Stage

if TYPE_CHECKING:
    from distlint.link.project import Project


class _Apart(frozenset[Span]):
    """The calls with which each process writes other files than the others, or one of them alone any."""

    __slots__ = ()


def written_apart(project: Project) -> frozenset[Span]:
    """The calls of which this is known, worked out once."""
    found = project.kept.get(_Apart)
    if found is None:
        good: set[Span] = set()
        bad: set[Span] = set()
        for performance in Rehearsal.of(project).performances():
            for span in {span for stage in performance.stages for span in stage.written}:
                whole = performance.complete and performance.function < 0 and len(performance.stages) > 1
                (good if whole and _is_apart(performance.stages, span) else bad).add(span)
        found = project.kept[_Apart] = _Apart(good - bad)
    assert isinstance(found, _Apart)  # noqa: S101 - stored just above
    return found


def _is_apart(stages: Sequence[Stage], span: Span) -> bool:
    rows = [stage.written[span] for stage in stages if span in stage.written]
    # a path of each process's own is no other's; all that is left has to be different
    common = [{path for path, source in row.items() if source is None} for row in rows]
    known = None not in set().union(*common)
    return len(rows) == 1 or (known and all(one.isdisjoint(other) for one, other in combinations(common, 2)))
