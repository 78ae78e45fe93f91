"""The tests of a program that must go the same way twice: what one of them decided holds for the other.

Two tests are the same if they compare the same things, and nothing in between gave one of them another value. So a way through the
program that enters ``if last:`` and leaves out a later ``if last:`` is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from distlint.link.abstract import Frame
from distlint.link.flow import Bind, Env, Join
from distlint.link.modules import FunctionRef
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.program import Program, Step
    from distlint.link.project import Project

Key = tuple[Any, ...]

_OPPOSITE = {"!=": "==", "is not": "is", "not in": "in", ">=": "<", ">": "<="}
MAX_TESTS = 10
"""Tests that are kept in mind at once."""

MAX_TERM = 40
"""Parts of a test; a longer one is taken for unlike all others."""


class _UnlikeError(Exception):
    """A test that can't be compared with others."""


class Tests:
    """The tests of a program that occur more than once, or hold for the whole run."""

    def __init__(self, project: Project, program: Program, extra: Iterator[tuple[ir.Expr, Frame]]) -> None:
        self._project = project
        self._keys: dict[tuple[int, int], tuple[Key, bool] | None] = {}
        self._alive: list[object] = []
        counts: dict[Key, int] = {}
        for step in program.steps:
            if step.point.kind == "test" and step.point.expr is not None and len(step.next) > 1:
                self._count(step.point.expr, step.frame, counts, 1)
        for expr, frame in extra:
            self._count(expr, frame, counts, 2)
        kept = [key for key, count in counts.items() if count > 1][:MAX_TESTS]
        self._numbers = {key: number for number, key in enumerate(kept)}
        self._names: dict[tuple[object, str], set[int]] = {}
        self._attributes: dict[str, set[int]] = {}
        self._frames: dict[object, set[int]] = {}
        for key, number in self._numbers.items():
            self._depends(key, number)

    def _count(self, expr: ir.Expr, frame: Frame, counts: dict[Key, int], by: int) -> None:
        found = self._key(expr, frame)
        if found is not None:
            counts[found[0]] = counts.get(found[0], 0) + by

    def number(self, expr: ir.Expr | None, frame: Frame) -> tuple[int, bool] | None:
        """The number of a test and whether it holds when the one with the number does; ``None`` if it stands alone."""
        found = self._key(expr, frame) if expr is not None else None
        if found is None or found[0] not in self._numbers:
            return None
        return self._numbers[found[0]], found[1]

    def changed(self, step: Step) -> set[int]:
        """The tests that may go another way behind a step."""
        if not self._numbers:
            return set()
        point, frame = step.point, step.frame
        if point.kind == "entry":
            return self._frames.get(id(frame), set())
        found: set[int] = set()
        statement = point.statement
        targets: list[ir.Expr] = []
        if point.kind == "bind" and isinstance(statement, ir.Assign):
            targets = list(statement.targets)
        elif (point.kind == "bind" and isinstance(statement, ir.AugAssign)) or (
            point.kind == "loop" and isinstance(statement, ir.For)
        ):
            targets = [statement.target]
        elif point.kind == "enter" and isinstance(statement, ir.With):
            targets = [bound for _, bound in statement.items if bound is not None]
        elif point.kind == "call" and step.opaque:
            return {number for numbers in self._attributes.values() for number in numbers}
        while targets:
            target = targets.pop()
            if isinstance(target, ir.Name):
                place = id(frame) if frame.function >= 0 else frame.file
                found |= self._names.get((place, target.id), set())
            elif isinstance(target, ir.Attribute):
                found |= self._attributes.get(target.name, set())
            elif isinstance(target, ir.ListDisplay):
                targets.extend(target.items)
            elif isinstance(target, ir.Starred):
                targets.append(target.value)
            elif isinstance(target, ir.Subscript):
                targets.append(target.base)
        return found

    def _depends(self, key: Key, number: int) -> None:
        stack: list[Any] = [key]
        while stack:
            current = stack.pop()
            if not isinstance(current, tuple):
                continue
            if current[:1] == ("name",):
                self._names.setdefault((current[1], current[2]), set()).add(number)
                self._frames.setdefault(current[1], set()).add(number)
            elif current[:1] == ("attribute",):
                self._attributes.setdefault(current[2], set()).add(number)
            stack.extend(current)

    # Keys ------------------------------------------------------------------------------------------------------------

    def _key(self, expr: ir.Expr, frame: Frame) -> tuple[Key, bool] | None:
        place = (id(expr), id(frame))
        if place not in self._keys:
            self._alive.append((expr, frame))
            try:
                self._keys[place] = self._test(expr, frame, [MAX_TERM])
            except _UnlikeError:
                self._keys[place] = None
        return self._keys[place]

    def _test(self, expr: ir.Expr, frame: Frame, left: list[int]) -> tuple[Key, bool]:
        holds = True
        while type(expr) is ir.Operation and expr.operators == ("not",):
            expr, holds = expr.operands[0], not holds
        if type(expr) is ir.Name:
            meant = self._meant(expr, frame)
            if meant is not None:
                key, same = self._test(meant, frame, left)
                return key, same is holds
        if type(expr) is ir.Operation and expr.operators[0] in ("and", "or"):
            raise _UnlikeError
        if type(expr) is ir.Operation and len(expr.operands) == 2 and len(expr.operators) == 1:
            operator = expr.operators[0]
            if operator in _OPPOSITE:
                operator, holds = _OPPOSITE[operator], not holds
            if operator == "%":
                return ("==", self._term(expr, frame, left), ("constant", "0")), not holds
            first, second = (self._term(one, frame, left) for one in expr.operands)
            return (operator, first, second), holds
        return ("true", self._term(expr, frame, left)), holds

    def _meant(self, expr: ir.Name, frame: Frame) -> ir.Operation | None:
        """The comparison that a variable holds the result of."""
        place: Env | None = self._project.evaluator(None).state(frame, expr.at)
        while place is not None:
            if isinstance(place, Bind) and place.name == expr.id:
                value = place.expr
                return value if isinstance(value, ir.Operation) and not place.part else None
            if isinstance(place, Join) and expr.id in place.touched:
                return None
            place = place.prev
        return None

    def _term(self, expr: ir.Expr, frame: Frame, left: list[int]) -> Key:
        left[0] -= 1
        if left[0] < 0:
            raise _UnlikeError
        if type(expr) is ir.Constant:
            return ("constant", repr(expr.value)) if not isinstance(expr.value, bytes) else ("constant", "b")
        if type(expr) is ir.Name:
            return self._name(expr.id, frame, left)
        if type(expr) is ir.Attribute:
            return ("attribute", self._term(expr.base, frame, left), expr.name)
        if type(expr) is ir.Operation:
            return ("operation", expr.operators, *(self._term(one, frame, left) for one in expr.operands))
        if type(expr) is ir.Subscript:
            return ("item", self._term(expr.base, frame, left), self._term(expr.index, frame, left))
        if (
            type(expr) is ir.Call
            and type(expr.func) is ir.Name
            and expr.func.id in ("len", "bool", "int", "isinstance")
        ):
            return ("call", expr.func.id, *(self._term(one, frame, left) for one in expr.args))
        raise _UnlikeError

    def _name(self, name: str, frame: Frame, left: list[int]) -> Key:
        """A name, or what a parameter stands for at the caller."""
        for _ in range(8):
            if frame.function < 0:
                break
            flow = self._project.flow(frame.file, frame.function)
            given = frame.bindings.get(name)
            if name in flow.bound:
                break
            if given is not None:
                if given.frame is None or not isinstance(given.expr, ir.Name | ir.Attribute | ir.Constant):
                    break
                if not isinstance(given.expr, ir.Name):
                    return self._term(given.expr, given.frame, left)
                name, frame = given.expr.id, given.frame
                continue
            function = self._project.function(FunctionRef(frame.file, frame.function))
            if any(one.name == name for one in function.parameters):
                if function.owner >= 0 and name == function.parameters[0].name and frame.instance is not None:
                    return ("self", getattr(frame.instance, "identity", id(frame.instance)))
                break
            frame = frame.outer or self._project.evaluator(None).frame(frame.file, function.parent)
        return ("name", id(frame) if frame.function >= 0 else frame.file, name)
