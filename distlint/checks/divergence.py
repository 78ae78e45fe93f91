"""Which expressions are the same on all ranks of a job, and which differ from rank to rank, and why.

The words of the literature are *single-valued* and *multi-valued*. Both have to be shown: an expression of which
nothing is known is neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.rank_values import is_complete
from distlint.checks.ranks import FIRST, SECOND, Process, RankView
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

SAME, DIFFERS, NOT_KNOWN = "same", "differs", "unknown"


class Divergence(NamedTuple):
    """What is known of an expression over the ranks.

    ``state`` is ``same``, ``differs`` or ``unknown``; ``why`` says in words for a message what makes it differ (``the
    rank``, ``the wall clock``), ``places`` are the spans that this rests on, the source first.
    """

    state: str
    why: str = ""
    places: tuple[Span, ...] = ()


class DivergenceView:
    """Says of expressions of a project whether they differ between ranks; one per project, answers are remembered."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._views: dict[Process, RankView] = {}

    @classmethod
    def of_project(cls, project: Project) -> DivergenceView:
        """The view that all checks of a project share."""
        if cls not in project.kept:
            project.kept[cls] = cls(project)
        found: DivergenceView = project.kept[cls]
        return found

    def view(self, process: Process) -> RankView:
        """What expressions are on one process."""
        if process not in self._views:
            self._views[process] = RankView(self._project, process)
        return self._views[process]

    def outcomes(
        self, test: ir.Expr, file: str, function: int, processes: Sequence[Process] = (FIRST, SECOND)
    ) -> tuple[bool | None, ...]:
        """What a test gives on each of some processes, ``None`` where that can't be told."""
        return tuple(self.view(process).holds(test, file, function) for process in processes)

    def of(self, expr: ir.Expr, file: str, function: int) -> Divergence:
        """Whether an expression of a function (-1: the module) is the same on all ranks."""
        values = [self.view(process).ask(expr, file, function) for process in (FIRST, SECOND)]
        if not all(is_complete(value) for value in values):
            return Divergence(NOT_KNOWN)
        if values[0] != values[1]:
            return Divergence(DIFFERS, "the rank", (ir.unpack(expr.at, file),))
        return Divergence(SAME)
