"""Tensors of a module's methods that are on the device of the process, as a trainer hands them over, or come from such.

Parameters: ``batches`` (methods that a trainer, or the module itself, calls with a batch that was moved: the first argument is one), and
``taking`` (prefixes of library functions that compute with tensors).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.hooked import Hooked
from distlint.checks.preparing import texts_of
from distlint.checks.registry import CheckContext
from distlint.checks.spread_tensors import Spread, stored, tensors_given
from distlint.link.arguments import find_argument
from distlint.link.walking import calls_in, statements
from distlint.model import python as ir

ROUNDS = 4
"""How many methods such a tensor goes through, one called by the other."""


class BatchTensors:
    """The variables of a module's methods that hold such tensors."""

    def __init__(self, context: CheckContext, hooked: Hooked) -> None:
        self._context = context
        self._hooked = hooked
        self._names: dict[str, frozenset[str]] = {}
        self._given: dict[str, set[str]] = {
            name: {function.parameters[1].name}
            for name, function in hooked.methods.items()
            if name in context.parameters["batches"] and len(function.parameters) > 1
        }
        self._giving: set[str] = set()
        for _ in range(ROUNDS):
            before = (sum(map(len, self._given.values())), len(self._giving))
            for name in list(self._given):
                self._names[name] = self._bound(name)
                self._hand_on(name)
            if before == (sum(map(len, self._given.values())), len(self._giving)):
                break

    def spread(self, method: str) -> Spread:
        """What tells such tensors in a method."""
        return self._spread(method, self._names.get(method, frozenset()))

    def _spread(self, method: str, names: frozenset[str] | set[str]) -> Spread:
        me = self._hooked.methods[method].parameters[0].name if self._hooked.methods[method].parameters else ""

        def called(expr: ir.Expr) -> bool:
            """A layer of the module, or a method that only gives such tensors, is called with some; or one is made or moved there."""
            if type(expr) is not ir.Call or not me:
                return False
            if any(texts_of(one) == f"{me}.device" for one in _places(expr)):
                return True
            if not self._is_own_call(expr, me):
                return False
            func = expr.func
            if type(func) is ir.Attribute and func.name in self._hooked.methods and func.name not in self._giving:
                return False
            return any(map(made.holds, tensors_given(expr)))

        project, taking = self._context.project, self._context.parameters["taking"]
        made = Spread(
            project, self._hooked.owner.file, taking, lambda one: type(one) is ir.Name and one.id in names, called
        )
        return made

    def _is_own_call(self, call: ir.Call, me: str) -> bool:
        func = call.func
        while type(func) in (ir.Attribute, ir.Subscript):
            func = func.base  # type: ignore[union-attr]
        return texts_of(func) == me

    def _bound(self, method: str) -> frozenset[str]:
        """The variables of a method that hold such tensors and nothing else."""
        names = set(self._given[method])
        found = list(stored(self._hooked.methods[method].body))
        for _ in range(ROUNDS):
            told = self._spread(method, names)
            more = {name for name, value, _ in found if value is not None and told.holds(value)} - names
            if not more:
                break
            names |= more
        told = self._spread(method, names)
        other = {name for name, value, _ in found if value is None or not told.holds(value)}
        return frozenset(names - other)

    def _hand_on(self, method: str) -> None:
        """What the methods that are called are given, and whether this one gives such tensors itself."""
        function, told = self._hooked.methods[method], self.spread(method)
        me = function.parameters[0].name
        for call in calls_in(function.body):
            func = call.func
            own = type(func) is ir.Attribute and texts_of(func.base) == me
            name = func.name if own else "forward" if texts_of(func) == me else ""  # type: ignore[union-attr]
            if name not in self._hooked.methods:
                continue
            for position, parameter in enumerate(self._hooked.methods[name].parameters[1:]):
                given, _ = find_argument(call, parameter.name, position)
                if given is not None and told.holds(given):
                    self._given.setdefault(name, set()).add(parameter.name)
        returned = [one.value for one in statements(function.body) if type(one) is ir.Return]
        if returned and all(one is not None and _all_hold(told, one) for one in returned):
            self._giving.add(method)


def _places(call: ir.Call) -> Iterator[ir.Expr]:
    """The device that a call is told to put something on."""
    if type(call.func) is ir.Attribute and call.func.name == "to":
        yield from call.args[:1]
    yield from (word.value for word in call.keywords if word.name == "device")


def _all_hold(told: Spread, expr: ir.Expr) -> bool:
    return all(map(told.holds, expr.items)) if type(expr) is ir.ListDisplay else told.holds(expr)
