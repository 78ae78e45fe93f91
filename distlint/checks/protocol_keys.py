"""What the tests of a program are called, so that two that ask the same thing are known to be one test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.checks.protocol_counters import Counters
from distlint.checks.protocol_rounds import Limits, counted
from distlint.link.abstract import Frame, Instance, options_of
from distlint.link.calls import decorated, frame_of_call, returns_of
from distlint.link.modules import ClassRef, FunctionRef
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

Key = tuple[Any, ...]

_OPPOSITE = {"!=": "==", "is not": "is", "not in": "in", ">=": "<", ">": "<="}

MAX_TERM = 40
"""Parts of a test; a longer one is taken for unlike all others."""


class UnlikeError(Exception):
    """A test that can't be compared with others."""


class Keys:
    """Names for tests; ``limits`` is what is known of the variables of loops.

    ``tests_only`` says that what stands behind a parameter or a call is asked for only where that is a comparison.
    """

    def __init__(self, project: Project, *, tests_only: bool = True) -> None:
        self._project = project
        self._tests_only = tests_only
        self._keys: dict[tuple[int, int], tuple[Key, bool] | None] = {}
        self._meanings: dict[tuple[int, int], tuple[ir.Expr, Frame] | None] = {}
        self._alive: list[object] = []
        self._counters = Counters(project)
        self.limits: dict[Key, Limits] = {}

    def key(self, expr: ir.Expr, frame: Frame) -> tuple[Key, bool] | None:
        """The name of a test and whether it holds when the one of that name does; ``None`` where it can't be compared."""
        place = (id(expr), id(frame))
        if place not in self._keys:
            self._alive.append((expr, frame))
            try:
                self._keys[place] = self._test(expr, frame, [MAX_TERM])
            except UnlikeError:
                self._keys[place] = None
        return self._keys[place]

    def term(self, expr: ir.Expr, frame: Frame) -> Key:
        """The name of a value. Raises ``UnlikeError`` where it has none."""
        return self._term(expr, frame, [MAX_TERM])

    def _test(self, expr: ir.Expr, frame: Frame, left: list[int]) -> tuple[Key, bool]:
        holds = True
        while type(expr) is ir.Operation and expr.operators == ("not",):
            expr, holds = expr.operands[0], not holds
        if type(expr) is ir.Operation and expr.operators[0] in ("and", "or"):
            raise UnlikeError
        if type(expr) is ir.Operation and len(expr.operands) == 2 and len(expr.operators) == 1:
            operator = expr.operators[0]
            if operator in _OPPOSITE:
                operator, holds = _OPPOSITE[operator], not holds
            first, second = expr.operands
            if operator == "%":
                operator, first, second, holds = "==", expr, ir.Constant(0, expr.at), not holds
            if operator in ("==", "<", "<="):
                first = self._counters.told(first, frame.file, frame.function)
                second = self._counters.told(second, frame.file, frame.function)
                found = counted(operator, first, second, lambda one: self._term(one, frame, left), self.limits)
                if found is not None:
                    return found[0], found[1] is holds
            return (operator, self._term(first, frame, left), self._term(second, frame, left)), holds
        return ("true", self._term(expr, frame, left)), holds

    def meant(self, expr: ir.Expr, frame: Frame) -> tuple[ir.Expr, Frame] | None:
        """The test that a parameter was given, or that a call of a function of the project gives the result of."""
        place = (id(expr), id(frame))
        if place not in self._meanings:
            self._meanings[place] = None
            self._alive.append((expr, frame))
            if type(expr) is ir.Name:
                self._meanings[place] = self._given(expr, frame)
            elif type(expr) is ir.Call:
                self._meanings[place] = self._returned(expr, frame)
            elif type(expr) is ir.Attribute:
                self._meanings[place] = self._computed(expr, frame)
        return self._meanings[place]

    def _given(self, expr: ir.Name, frame: Frame) -> tuple[ir.Expr, Frame] | None:
        given = frame.bindings.get(expr.id) if frame.function >= 0 else None
        if given is None or given.frame is None or given.expr is None or not self._counts(given.expr):
            return None
        bound = self._project.flow(frame.file, frame.function).bound
        return None if expr.id in bound else (given.expr, given.frame)

    def _returned(self, call: ir.Call, frame: Frame) -> tuple[ir.Expr, Frame] | None:
        evaluator = self._project.evaluator(None)
        if evaluator.modules.dotted(call.func, frame.file):
            return None
        options = options_of(evaluator.ask_in(call.func, frame))
        inner = frame_of_call(evaluator, options[0], call, frame) if len(options) == 1 else None
        return None if inner is None else self._only_return(inner)

    def _computed(self, expr: ir.Attribute, frame: Frame) -> tuple[ir.Expr, Frame] | None:
        """The test that a property gives the result of."""
        evaluator = self._project.evaluator(None)
        options = options_of(evaluator.ask_in(expr.base, frame))
        owner = options[0] if len(options) == 1 else None
        if not isinstance(owner, Instance) or not isinstance(owner.callee, ClassRef) or owner.part:
            return None
        method = evaluator.modules.method(owner.callee, expr.name)
        if method is None or not decorated(self._project.function(method).decorators, "property"):
            return None
        inner = Frame(method.file, method.index, {}, frame.depth + 1, owner, bound=True)
        evaluator.keep(inner)
        return self._only_return(inner)

    def _only_return(self, inner: Frame) -> tuple[ir.Expr, Frame] | None:
        evaluator = self._project.evaluator(None)
        returns = returns_of(evaluator, inner)
        value = returns[0][0] if len(returns) == 1 else None
        return (value, inner) if value is not None and self._counts(value) else None

    def _counts(self, expr: ir.Expr) -> bool:
        return not self._tests_only or is_test(expr)

    def _term(self, expr: ir.Expr, frame: Frame, left: list[int]) -> Key:
        left[0] -= 1
        if left[0] < 0:
            raise UnlikeError
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
        raise UnlikeError

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


def is_test(expr: ir.Expr) -> bool:
    """Whether an expression is a comparison, or made of some."""
    if type(expr) is not ir.Operation:
        return False
    return expr.operators[0] in ("not", "and", "or", "==", "!=", "<", "<=", ">", ">=", "%")
