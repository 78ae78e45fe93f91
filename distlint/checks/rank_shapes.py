"""What of a function matters to the meeting of ranks: the steps that come to a collective, and the tests that these depend on.

A test matters if one of its ways comes past a collective before both meet again: the iterated postdominance frontier of the collectives,
as PARCOACH computes it for MPI. All other tests are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.collectives import Collectives, Operation
from distlint.link.call_graph import CallEdge, Cone
from distlint.link.control_flow import EXIT, FAILURE, ControlFlow, Point
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.project import CallSite
from distlint.link.starters import STARTERS
from distlint.link.walking import below, last_name
from distlint.model import python as ir
from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_LEVELS = 5
"""Calls between a function that is judged and the operations that it is judged for."""

MAX_WORK = 400_000
"""Steps of one search for the tests that matter; a body that needs more is left out."""


class Step(NamedTuple):
    """Something that a point does.

    ``kind`` is ``operation``, ``call``, ``enter``, ``leave`` (of a context manager of the project), ``first-enter``, ``first-leave``
    (of one that lets the main process go first), ``uneven-enter``, ``uneven-leave`` or ``inner`` (the function that a decorator was
    given).
    """

    kind: str
    operation: Operation | None = None
    edges: tuple[CallEdge, ...] = ()


@dataclass(slots=True, eq=False)
class Shape:
    """The graph of a function, what its points do, the tests and loops that matter, and where the ways from a point meet again."""

    flow: ControlFlow
    steps: dict[int, tuple[Step, ...]]
    relevant: frozenset[int]
    raising: frozenset[int]
    """Tests that decide only whether the function is left by an exception."""
    meets: tuple[int, ...]


class Shapes:
    """The shapes of the functions that may come to some operations, made on demand."""

    def __init__(self, project: Project, operations: dict[tuple[str, int], Operation]) -> None:
        self._project = project
        self._operations = operations
        self._uneven = Collectives.of_project(project).uneven
        self._found: dict[tuple[str, int, str], Shape | None] = {}
        self._raisers: set[tuple[str, int]] = set()
        self.cone: Cone = project.call_graph.cone(
            (CallSite(one.file, ir.Site(one.call, one.function)) for one in operations.values()), MAX_LEVELS
        )
        self._names = {project.function(ref).name for ref in self.cone.edges}
        self._names |= {project.class_(owner).name for ref in self.cone.edges for owner in _made_by(project, ref)}

    def roots(self) -> Iterator[tuple[str, int]]:
        """The bodies that may come to an operation: functions, callees first, then the top levels of modules."""
        for component in self.cone.components:
            for ref in component:
                yield ref.file, ref.index
        files = {one.file for one in self._operations.values() if one.function < 0}
        for file in self._project.python_files:
            if file in files or any(True for _ in self._top_level_calls(file)):
                yield file, -1

    def _top_level_calls(self, file: str) -> Iterator[ir.Call]:
        module = self._project.module(file)
        for name in sorted(self._names & module.calls.keys()):
            for site in module.calls[name]:
                if site.function < 0:
                    yield site.call

    def of(self, file: str, function: int, inner: str = "") -> Shape | None:
        """The shape of a body; ``None`` if nothing in it matters. ``inner`` is the name of the function that a decorator was given."""
        key = (file, function, inner)
        if key not in self._found:
            self._found[key] = None
            self._found[key] = self._make(file, function, inner)
        return self._found[key]

    def _make(self, file: str, function: int, inner: str) -> Shape | None:
        edges = self._edges(file, function)
        flow = self._project.control_flow(file, function)
        if flow.cut:
            return None
        contexts = _contexts(flow)
        is_raiser = (file, function) in self._raisers
        steps: dict[int, tuple[Step, ...]] = {}
        for point in flow.points:
            if point.kind == "call" and type(point.expr) is ir.Call:
                found = self._call_steps(file, point.expr, edges, inner, is_context=point.at in contexts)
            elif point.kind in ("enter", "leave") and point.expr is not None:
                found = self._context_steps(file, function, point, edges)
            else:
                continue
            if not found and point.kind == "call" and (is_raiser or is_handled(flow, point.fails)):
                found = self._raising_step(file, function, point)
            if found:
                steps[point.index] = found
        raises = [point.index for point in flow.points if point.kind == "raise"]
        if not steps and not (is_raiser and raises):
            return None
        control = _controlled(flow)
        if control is None:
            return None
        ends = [
            point.index
            for point in flow.points
            if (point.kind == "call" and not point.next) or (point.kind == "raise" and is_handled(flow, point.fails))
        ]
        relevant = _deciding(control, [*steps, *ends])
        raising = _deciding(control, raises)
        return Shape(flow, steps, relevant, raising - relevant, flow.postdominators())

    def _edges(self, file: str, function: int) -> dict[ir.Position, list[CallEdge]]:
        """The calls of a body that may come to an operation, by place."""
        found: dict[ir.Position, list[CallEdge]] = {}
        if function >= 0:
            every = self.cone.edges.get(FunctionRef(file, function), ())
        else:
            graph = self._project.call_graph
            every = tuple(
                edge
                for call in self._top_level_calls(file)
                for edge in graph.targets(file, -1, call)
                if edge.target in self.cone
            )
        for edge in every:
            found.setdefault(edge.call.at, []).append(edge)
        return found

    def _call_steps(
        self, file: str, call: ir.Call, edges: dict[ir.Position, list[CallEdge]], inner: str, *, is_context: bool
    ) -> tuple[Step, ...]:
        operation = self._operations.get((file, call.at))
        if operation is not None:
            return (Step("operation", operation),) if operation.spec.role == "collective" else ()
        if inner and type(call.func) is ir.Name and call.func.id == inner:
            return (Step("inner"),)
        # what starts processes runs nothing in this one; what makes a context runs when it is entered
        given = tuple(
            edge
            for edge in edges.get(call.at, ())
            if edge.how in ("call", "callback") and (edge.call is call or last_name(call.func) not in STARTERS)
        )
        if not given or (is_context and self._is_generator(given)):
            return ()
        return (Step("call", None, given),)

    def _raising_step(self, file: str, function: int, point: Point) -> tuple[Step, ...]:
        """The call of a function that comes to no operation, but may raise what is handled here."""
        assert type(point.expr) is ir.Call  # noqa: S101 - tested by the caller
        edges = self._project.call_graph.targets(file, function, point.expr)
        if len(edges) != 1 or edges[0].how != "call" or not edges[0].certain or edges[0].target in self.cone:
            return ()
        target = edges[0].target
        self._raisers.add((target.file, target.index))
        return (Step("call", None, edges),)

    def _is_generator(self, edges: tuple[CallEdge, ...]) -> bool:
        return all(self._project.flow(edge.target.file, edge.target.index).has_yield for edge in edges)

    def _context_steps(
        self, file: str, function: int, point: Point, edges: dict[ir.Position, list[CallEdge]]
    ) -> tuple[Step, ...]:
        assert point.expr is not None  # noqa: S101 - tested by the caller
        found = []
        for part in below(point.expr):
            operation = self._operations.get((file, part.at)) if type(part) is ir.Call else None
            if operation is not None and operation.spec.role in ("first", "local-first"):
                found.append(Step(f"first-{point.kind}", operation))
            if type(part) is ir.Call and (file, part.at) in self._uneven:
                found.append(Step(f"uneven-{point.kind}"))
        if point.expr.at in edges:
            entered, left = self._project.call_graph.contexts(file, function, point.expr)
            given = tuple(edge for edge in (entered if point.kind == "enter" else left) if edge.target in self.cone)
            if given:
                found.append(Step(point.kind, None, given))
        return tuple(found)


def _contexts(flow: ControlFlow) -> frozenset[ir.Position]:
    return frozenset(point.at for point in flow.points if point.kind == "enter")


def _made_by(project: Project, ref: FunctionRef) -> tuple[ClassRef, ...]:
    """The class whose objects a function sets up, if it is an ``__init__``."""
    function = project.function(ref)
    return (ClassRef(ref.file, function.owner),) if function.owner >= 0 and function.name == "__init__" else ()


def _controlled(flow: ControlFlow) -> dict[int, list[int]] | None:
    """For each point the branching points that decide whether it is reached; ``None`` if finding them takes too long."""
    meets = flow.postdominators()
    controlled: dict[int, list[int]] = {}
    work = 0
    for point in flow.points:
        if len(point.next) < 2 or point.kind not in ("test", "loop"):
            continue
        end = meets[point.index]
        for target, _ in point.next:
            runner = target
            while runner not in (end, -1, EXIT):
                controlled.setdefault(runner, []).append(point.index)
                following = flow.points[runner].next
                # no way from before a `raise` leads to the end, so that nothing comes after it on all of them
                runner = following[0][0] if meets[runner] < 0 and len(following) == 1 else meets[runner]
                work += 1
                if work > MAX_WORK:
                    return None
    return controlled


def _deciding(controlled: dict[int, list[int]], seeds: list[int]) -> frozenset[int]:
    """The branching points that decide whether one of some points is reached, or another such branching point."""
    found: set[int] = set()
    stack = list(seeds)
    while stack:
        for test in controlled.get(stack.pop(), ()):
            if test not in found:
                found.add(test)
                stack.append(test)
    return frozenset(found)


def is_handled(flow: ControlFlow, index: int) -> bool:
    """Whether an exception that comes to a point is handled in the function."""
    seen = 0
    while index > FAILURE and seen < 100:
        seen += 1
        point = flow.points[index]
        if point.kind == "handlers":
            return True
        if not point.next:
            return False
        index = point.next[0][0]
    return False
