"""Which functions ranks may pass differently, and what they meet in the others: the same list wherever they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from distlint.checks.rank_shapes import Shape, Shapes
from distlint.checks.rank_tests import PAIRS, Decision, Frame, Tests
from distlint.link.modules import FunctionRef
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.rank_paths import Event
    from distlint.link.call_graph import CallEdge
    from distlint.link.project import Project


class Summaries:
    """Answers for the functions of some shapes.

    ``follow`` gives the events of a body that all ranks pass alike; ``fails`` says whether a body handles what may fail on some ranks only.
    """

    def __init__(
        self,
        project: Project,
        shapes: Shapes,
        tests: Tests,
        follow: Callable[[str, int], tuple[Event, ...] | None],
        fails: Callable[[str, int], bool],
    ) -> None:
        self._project = project
        self._shapes = shapes
        self._tests = tests
        self._follow = follow
        self._fails = fails
        self._parting: dict[tuple[str, int], bool] = {}
        self._events: dict[tuple[str, int], tuple[Event, ...] | None] = {}

    def events(self, ref: FunctionRef) -> tuple[Event, ...] | None:
        """What all ranks meet in a function; ``None`` if they may pass it differently, or leave the program in it."""
        key = (ref.file, ref.index)
        if key not in self._events:
            self._events[key] = None
            if not self.parts(*key):
                self._events[key] = self._follow(*key)
        return self._events[key]

    def parts(self, file: str, function: int) -> bool:
        """Whether ranks may go different ways in a body, or in what it calls."""
        key = (file, function)
        if key not in self._parting:
            self._parting[key] = False  # a function that calls itself parts nothing by that
            shape = self._shapes.of(file, function)
            self._parting[key] = shape is not None and self._parts(file, function, shape)
        return self._parting[key]

    def _parts(self, file: str, function: int, shape: Shape) -> bool:
        frame = Frame(file, function)
        for index in sorted(shape.relevant | shape.raising):
            point = shape.flow.points[index]
            repeated = type(point.statement) is ir.While
            if _is_parting(self._tests.decide(point.expr, frame, is_loop=point.kind == "loop", repeated=repeated)):
                return True
        for steps in shape.steps.values():
            for step in steps:
                if step.kind.startswith("first"):
                    return True
                if any(self.edge_parts(edge, frame) for edge in step.edges):
                    return True
        return self._fails(file, function)

    def edge_parts(self, edge: CallEdge, frame: Frame) -> bool:
        """Whether ranks may go different ways in what a call comes to, for its arguments too."""
        target = edge.target
        if self._project.function(target).decorators or self.parts(target.file, target.index):
            return True
        shape = self._shapes.of(target.file, target.index)
        if shape is None or not (edge.call.args or edge.call.keywords):
            return False
        inside = Frame(target.file, target.index, edge.call, frame, edge.shift, depth=1)
        for index in sorted(shape.relevant | shape.raising):
            point = shape.flow.points[index]
            if point.kind == "test" and type(point.statement) is not ir.While:
                if _is_parting(self._tests.decide(point.expr, inside)):
                    return True
        return False


def _is_parting(decision: Decision) -> bool:
    return decision.is_split or any(decision.parts(pair) for pair in PAIRS)
