"""The ways through a module's forward pass, each with the layers that it uses in a way that gradients flow through.

Tests whose results are known for the object at hand leave one way; all others leave both. Inside loops every mention counts as a use.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product
from typing import NamedTuple

from distlint.link.abstract import Frame
from distlint.link.evaluate import Evaluator
from distlint.link.walking import below, children, expressions_of, statements
from distlint.model import python as ir

MAX_WAYS = 64
"""Ways through one body beyond which nothing is said."""

Used = frozenset[tuple[str, object]]
"""The layers that are used: by name, with the key where it is one of a container (``ALL``: each of them, or no container)."""

ALL = "*"


class Way(NamedTuple):
    """One way through a body: what it uses, whether it ended there (``raise``: by an exception), and whether chance chose it."""

    used: Used
    ended: str = ""
    chance: bool = False


class TooManyError(Exception):
    """There are more ways than anybody wants to look at."""


class Ways:
    """Goes through the forward pass of one object. ``layers`` are its layers, for containers with the number of their members."""

    def __init__(
        self,
        evaluator: Evaluator,
        layers: Mapping[str, int],
        helpers: Mapping[str, Used],
        silent: Collection[str],
        random: tuple[str, ...] = (),
    ) -> None:
        self._evaluator = evaluator
        self._layers = layers
        self._helpers = helpers
        self._silent = silent
        self._random = random
        self._own = "self"

    def through(self, function: ir.Function, frame: Frame) -> list[Way]:
        """The ways through a method that return something. Raises ``TooManyError``."""
        self._own = function.parameters[0].name if function.parameters else ""
        return [one for one in self._body(function.body, frame) if one.ended != "raise"]

    def _body(self, body: tuple[ir.Stmt, ...], frame: Frame) -> list[Way]:
        ways = [Way(frozenset())]
        for statement in body:
            ended = [one for one in ways if one.ended]
            going = [one for one in ways if not one.ended]
            if not going:
                break
            steps = self._statement(statement, frame)
            ways = ended + [
                Way(one.used | step.used, step.ended, one.chance or step.chance) for one in going for step in steps
            ]
            ways = list(dict.fromkeys(ways))
            if len(ways) > MAX_WAYS:
                raise TooManyError
        return ways

    def _statement(self, statement: ir.Stmt, frame: Frame) -> list[Way]:
        if isinstance(statement, ir.If):
            return self._branches(statement, frame)
        if isinstance(statement, ir.Return):
            return [Way(used, "return") for used in self._expression(statement.value, frame)]
        if isinstance(statement, ir.Jump):
            return [Way(frozenset(), "raise" if statement.kind == "raise" else "")]
        if isinstance(statement, ir.With):
            if any(self._is_silent(context, frame) for context, _ in statement.items):
                return [Way(frozenset())]
            return self._body(statement.body, frame)
        if isinstance(statement, ir.For | ir.While | ir.Try | ir.Match):
            return [Way(self._mentioned((statement,)))]
        found = [frozenset[tuple[str, object]]()]
        for expr in expressions_of(statement):
            found = [one | more for one in found for more in self._expression(expr, frame)]
        return [Way(one) for one in dict.fromkeys(found)]

    def _branches(self, statement: ir.If, frame: Frame) -> list[Way]:
        result = self._truth(statement.test, frame)
        tested = self._mentioned_in(statement.test)
        chance = result is None and self._is_random(statement.test, frame)
        ways: list[Way] = []
        for holds, body in ((True, statement.body), (False, statement.orelse)):
            if result is None or result is holds:
                ways += [Way(one.used | tested, one.ended, one.chance or chance) for one in self._body(body, frame)]
        return ways

    def _truth(self, test: ir.Expr, frame: Frame) -> bool | None:
        return self._evaluator.truth(test, frame, self._evaluator.state(frame, test.at))

    def _is_random(self, test: ir.Expr, frame: Frame) -> bool:
        """Whether a test draws a number."""
        dotted = self._evaluator.modules.dotted
        names = [dotted(part.func, frame.file) for part in below(test) if type(part) is ir.Call]
        return any(name.startswith(self._random) for name in names if name and self._random)

    def _is_silent(self, context: ir.Expr, frame: Frame) -> bool:
        made = context.func if type(context) is ir.Call else context
        return self._evaluator.modules.dotted(made, frame.file) in self._silent

    # Expressions -----------------------------------------------------------------------------------------------------

    def _expression(self, expr: ir.Expr | None, frame: Frame) -> list[Used]:
        """What an expression uses, for each of the ways in which it may be evaluated."""
        if expr is None:
            return [frozenset()]
        if type(expr) is ir.Conditional:
            result = self._truth(expr.test, frame)
            arms = [
                arm for holds, arm in ((True, expr.body), (False, expr.orelse)) if result is None or result is holds
            ]
            tested = self._mentioned_in(expr.test)
            return [used | tested for arm in arms for used in self._expression(arm, frame)]
        if type(expr) is ir.Comprehension or type(expr) is ir.Lambda:
            return [self._mentioned_in(expr)]
        own = self._used_here(expr)
        if own is not None:
            return [own]
        parts = [self._expression(one, frame) for one in children(expr)]
        found = (
            [frozenset[tuple[str, object]]().union(*chosen) for chosen in product(*parts)] if parts else [frozenset()]
        )
        if len(found) > MAX_WAYS:
            raise TooManyError
        return list(dict.fromkeys(found))

    def _used_here(self, expr: ir.Expr) -> Used | None:
        """What an expression uses if it is a layer itself, one of a container, or a method of the object; else ``None``."""
        if type(expr) is ir.Subscript and type(expr.base) is ir.Attribute and self._is_own(expr.base):
            name = expr.base.name
            if self._layers.get(name, 0) > 1 and type(expr.index) is not ir.Slice:
                key = expr.index.value if type(expr.index) is ir.Constant else expr.at
                return frozenset({(name, key)}) | self._mentioned_in(expr.index)
        if type(expr) is ir.Attribute and self._is_own(expr):
            if expr.name in self._helpers:
                return self._helpers[expr.name]
            return frozenset({(expr.name, ALL)}) if expr.name in self._layers else frozenset()
        if type(expr) is ir.Name and expr.id == self._own:
            return frozenset((name, ALL) for name in self._layers)
        return None

    def _is_own(self, expr: ir.Attribute) -> bool:
        return type(expr.base) is ir.Name and expr.base.id == self._own

    def _mentioned(self, body: tuple[ir.Stmt, ...]) -> Used:
        """All layers that some statements mention."""
        found: set[tuple[str, object]] = set()
        for statement in statements(body):
            for expr in expressions_of(statement):
                found |= self._mentioned_in(expr)
        return frozenset(found)

    def _mentioned_in(self, expr: ir.Expr) -> Used:
        found: set[tuple[str, object]] = set()
        for part in below(expr):
            if type(part) is ir.Attribute and self._is_own(part):
                found |= self._helpers.get(part.name, frozenset())
                if part.name in self._layers:
                    found.add((part.name, ALL))
        return frozenset(found)


def mentions(function: ir.Function) -> Iterator[str]:
    """The attributes of its object that a method names."""
    own = function.parameters[0].name if function.parameters else ""
    for statement in statements(function.body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Attribute and type(part.base) is ir.Name and part.base.id == own:
                    yield part.name


def left_out(way: Way, layers: Mapping[str, int]) -> set[str]:
    """The layers of which a way does not use all."""
    found: set[str] = set()
    for name, size in layers.items():
        keys = {key for used, key in way.used if used == name}
        if ALL not in keys and len(keys) < max(size, 1):
            found.add(name)
    return found
