"""Which expressions are the same on all ranks of a job, and which differ from rank to rank, and why.

The words of the literature are *single-valued* and *multi-valued*. Both have to be shown: an expression of which
nothing is known is neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distlint.checks import divergence_failures, divergence_presence, divergence_sizes
from distlint.checks.divergence_state import DIFFERS, NOT_KNOWN, NOTHING, SAME, UNKNOWN, Divergence
from distlint.checks.ranks import FIRST, SECOND, Process, RankView
from distlint.link.arguments import find_argument
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_trace import Tracer
    from distlint.link.project import CallSite, Project

_STRANGER = Process(0, 0, world=1009)
"""A process of a job of a size that no program names."""

__all__ = ["DIFFERS", "NOT_KNOWN", "SAME", "Divergence", "DivergenceView"]


class DivergenceView:
    """Says of expressions of a project whether they differ between ranks; one per project, answers are remembered."""

    def __init__(self, project: Project) -> None:
        from distlint.checks.divergence_trace import Tracer

        self._project = project
        self._views: dict[Process, RankView] = {}
        self._tracer: Tracer = Tracer(project)
        self._counters = dict(pair for spec in project.specs for pair in spec.rank_counters)

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
            self._views[process] = RankView(self._project, process, counters=self._counters)
        return self._views[process]

    def outcomes(
        self, test: ir.Expr, file: str, function: int, processes: Sequence[Process] = (FIRST, SECOND)
    ) -> tuple[bool | None, ...]:
        """What a test gives on each of some processes, ``None`` where that can't be told.

        Where only the number of processes is missing, the job has as many as the given ones need.
        """
        found = tuple(self.view(process).holds(test, file, function) for process in processes)
        if None not in found or any(process.world for process in processes):
            return found
        world = max(2, *(process.rank + 1 for process in processes))
        sized = [Process(p.rank, p.local_rank, p.devices, p.node, p.nodes, p.per_node, world) for p in processes]
        again = tuple(self.view(process).holds(test, file, function) for process in sized)
        return again if None not in again else found

    def is_for_all(self, site: CallSite, name: str, position: int) -> bool:
        """Whether a call is not told by an argument to deal out between other than all processes, as far as we see."""
        given, certain = find_argument(site.site.call, name, position)
        if given is None or (type(given) is ir.Constant and given.value is None):
            return certain or given is not None
        asked = self.view(_STRANGER).ask(given, site.file, site.site.function)
        return bool(asked == _STRANGER.world)

    def of(self, expr: ir.Expr, file: str, function: int) -> Divergence:
        """Whether an expression of a function (-1: the module) is the same on all ranks."""
        tracer = self._tracer
        tracer.start()
        ground = tracer.ground(file, function)
        state = self._project.flow(file, function).before(expr.at)
        by_rank = tracer.by_rank(expr, ground, state)
        if by_rank is not None and by_rank.is_same:
            return by_rank
        found = tracer.of(expr, ground, state)
        if by_rank is not None and not found.differs:
            return by_rank
        return UNKNOWN if found.state == NOTHING else found

    def of_test(self, test: ir.Expr, file: str, function: int) -> Divergence:
        """Whether a test goes the same way on all ranks: a list that is tested says whether it holds anything."""
        tested = self._tested_container(test, file, function)
        if tested is not None:
            return self.length(tested, file, function)
        found = self.of(test, file, function)
        if not found.differs:
            return found
        state = self._project.flow(file, function).before(test.at)
        there = divergence_presence.of_row(self._tracer, test, self._tracer.ground(file, function), state)
        return found if there is None else there

    def _tested_container(self, test: ir.Expr, file: str, function: int) -> ir.Name | None:
        """The list, mapping or set that a test asks whether it is empty."""
        while type(test) is ir.Operation and test.operators == ("not",):
            test = test.operands[0]
        if type(test) is not ir.Name:
            return None
        state = self._project.flow(file, function).before(test.at)
        return test if divergence_sizes.is_container(test.id, state) else None

    def rounds(self, test: ir.Expr, file: str, function: int) -> Divergence:
        """Whether the test of a ``while`` fails after the same number of rounds on all ranks.

        What it gives the first time says nothing of that, so only what goes into it counts.
        """
        tested = self._tested_container(test, file, function)
        if tested is not None:
            return self.length(tested, file, function)
        tracer = self._tracer
        tracer.start()
        found = tracer.of(test, tracer.ground(file, function), self._project.flow(file, function).before(test.at))
        return UNKNOWN if found.state == NOTHING else found

    def length(self, iterable: ir.Expr, file: str, function: int) -> Divergence:
        """Whether a loop over an expression makes the same number of rounds on all ranks."""
        tracer = self._tracer
        tracer.start()
        state = self._project.flow(file, function).before(iterable.at)
        found = tracer.of(iterable, tracer.ground(file, function), state, size=True)
        return UNKNOWN if found.state == NOTHING else found

    def failing(self, statement: ir.Try, file: str, function: int) -> Divergence:
        """Whether the statements that a ``try`` guards may fail on some ranks only."""
        tracer = self._tracer
        tracer.start()
        return divergence_failures.of_try(tracer, statement, tracer.ground(file, function))
