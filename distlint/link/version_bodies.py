"""What a helper of the project gives back for a release, and whether it raises: its body, run step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.link.modules import FunctionRef
from distlint.link.version_paths import Case, Handler, Test, Worked, last_name
from distlint.link.version_values import OTHER, PROBE, combined, is_known, joined
from distlint.link.walking import statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.version_evaluation import Evaluation, Scope

MAX_CALLS = 6
MAX_WAYS = 64


class End(NamedTuple):
    """How a body ends: ``return`` with a value, ``raise``, or ``unknown`` with ``PROBE`` or ``OTHER``.

    A ``raise`` with ``PROBE`` comes of a call that refuses the release.
    """

    kind: str
    value: Any = None


def arguments_for(run: Evaluation, ref: FunctionRef, call: ir.Call, scope: Scope) -> dict[str, Any]:
    """The values of a function's parameters in a call."""
    function = run.project.function(ref)
    parameters = list(function.parameters)
    if function.owner >= 0 and parameters and not any(last_name(d) == "staticmethod" for d in function.decorators):
        parameters = parameters[1:]
    found: dict[str, Any] = {}
    if any(type(argument) is ir.Starred for argument in call.args) or any(k.name is None for k in call.keywords):
        return {parameter.name: OTHER for parameter in function.parameters}
    plain = [p for p in parameters if p.kind in ("positional", "normal")]
    for parameter, argument in zip(plain, call.args, strict=False):
        found[parameter.name] = run.value(argument, scope)
    rest = next((p for p in parameters if p.kind == "var-positional"), None)
    if rest is not None:
        more = [run.value(argument, scope) for argument in call.args[len(plain) :]]
        found[rest.name] = combined(more, lambda *values: tuple(values))
    found.update({k.name: run.value(k.value, scope) for k in call.keywords if k.name})
    return found


def result_of(run: Evaluation, ref: FunctionRef, arguments: Mapping[str, Any], scope: Scope) -> Any:
    """What a function returns; ``PROBE`` where it raises, so that what asks for its value is not reached either."""
    end = ending_of(run, ref, arguments, scope)
    return end.value if end.kind in ("return", "unknown") else PROBE


def ending_of(run: Evaluation, ref: FunctionRef, arguments: Mapping[str, Any], scope: Scope) -> End:
    """How a call of a function ends. Calls that are evaluated for themselves are remembered, with what they asked."""
    if any(one[2] == "()" for one in run.active):
        return _ending(run, ref, arguments, scope)
    known = run.tests.endings
    key = (ref, scope.depth, run.variant, tuple((name, id(value)) for name, value in sorted(arguments.items())))
    if key not in known:
        asked = run.tests.touched, run.asked_text, run.asked_others
        run.asked_text = run.asked_others = False
        end = _ending(run, ref, arguments, scope)
        # The arguments are kept, so that no other value takes the place of one of them.
        known[key] = (end, run.tests.touched != asked[0], run.asked_text, run.asked_others, arguments)
        run.asked_text, run.asked_others = run.asked_text or asked[1], run.asked_others or asked[2]
        return end
    remembered: End
    remembered, is_touched, asked_text, asked_others, _ = known[key]
    run.tests.touched += is_touched
    run.asked_text, run.asked_others = run.asked_text or asked_text, run.asked_others or asked_others
    return remembered


def _ending(run: Evaluation, ref: FunctionRef, arguments: Mapping[str, Any], scope: Scope) -> End:
    """How a call of a function ends."""
    from distlint.link.version_evaluation import Scope as Place

    key = (ref.file, ref.index, "()")
    if key in run.active or len([one for one in run.active if one[2] == "()"]) >= MAX_CALLS:
        return End("unknown", OTHER)
    function = run.project.function(ref)
    names: dict[str, Any] = {}
    outside = Place(ref.file, function.parent, depth=scope.depth + 1)
    for parameter in function.parameters:
        if parameter.name in arguments:
            names[parameter.name] = arguments[parameter.name]
        elif parameter.kind in ("var-positional", "var-keyword") or parameter.default is None:
            names[parameter.name] = OTHER
        else:
            names[parameter.name] = run.value(parameter.default, outside)
    run.active.add(key)
    try:
        return _Walk(run).ending(list(function.body), Place(ref.file, ref.index, names, scope.depth + 1))
    finally:
        run.active.discard(key)


class _Walk:
    def __init__(self, run: Evaluation) -> None:
        self._run = run
        self._ways = 0

    def ending(self, body: list[ir.Stmt], scope: Scope) -> End:
        """How a list of statements ends, the rest of the function behind them included."""
        for position, statement in enumerate(body):
            kind = type(statement)
            rest = body[position + 1 :]
            if kind is ir.Return:
                return End("return", None if statement.value is None else self._value(statement.value, scope))  # type: ignore[union-attr]
            if kind is ir.Jump and statement.kind == "raise":  # type: ignore[union-attr]
                return End("raise")
            if kind is ir.If:
                return self._either(Test(statement.test, True), statement.body, statement.orelse, rest, scope)  # type: ignore[union-attr]
            if kind is ir.Match:
                return self._cases(statement, rest, scope)  # type: ignore[arg-type]
            if kind is ir.Try:
                return self._try(statement, rest, scope)  # type: ignore[arg-type]
            if kind is ir.With:
                return self.ending([*statement.body, *rest], scope)  # type: ignore[union-attr]
            if kind in (ir.For, ir.While):
                if any(type(one) is ir.Return or _raises(one) for one in statements(statement.body)):  # type: ignore[union-attr]
                    return End("unknown", PROBE if self._probes(statement) else OTHER)
                continue
            if kind is ir.Assert and self._truth(statement.test, scope) is False:  # type: ignore[union-attr]
                return End("raise")
            if type(statement) is ir.Evaluate and self._run.tests.refuses(self._run, statement.value, scope) is True:
                return End("raise", PROBE)
            if kind is ir.Assign or kind is ir.AugAssign:
                scope = self._assigned(statement, scope)
        return End("return", None)

    def _value(self, expr: ir.Expr, scope: Scope) -> Any:
        return self._run.value(expr, scope)

    def _truth(self, expr: ir.Expr, scope: Scope) -> Any:
        return combined([self._value(expr, scope)], bool)

    def _either(
        self, test: Test, first: Sequence[ir.Stmt], second: Sequence[ir.Stmt], rest: list[ir.Stmt], scope: Scope
    ) -> End:
        answer = self._truth(test.expr, scope)
        if is_known(answer):
            return self.ending([*(first if answer else second), *rest], scope)
        return self._joined(answer, [[*first, *rest], [*second, *rest]], scope)

    def _joined(self, answer: Any, ways: list[list[ir.Stmt]], scope: Scope) -> End:
        """One of several ways: an error that hangs on something else is not expected."""
        self._ways += 1
        if self._ways > MAX_WAYS:
            return End("unknown", PROBE)
        ends = [self.ending(way, scope) for way in ways]
        if answer is OTHER and any(end.kind != "raise" for end in ends):
            # but what refuses the release does so, unless something switches it off
            ends = [end for end in ends if end.kind != "raise" or end.value is PROBE]
        if all(end.kind == "raise" for end in ends):
            return End("raise")
        value = joined([PROBE if end.kind == "raise" else end.value for end in ends])
        if all(end.kind == "return" for end in ends) and is_known(value):
            return End("return", value)
        return End("unknown", PROBE if answer is PROBE or value is PROBE else OTHER)

    def _cases(self, statement: ir.Match, rest: list[ir.Stmt], scope: Scope) -> End:
        ways: list[list[ir.Stmt]] = []
        unknown: list[Any] = []
        for index, (_, _, block) in enumerate(statement.cases):
            answer = self._run.tests.holds(self._run, Case(statement, index), scope)
            if answer is True:
                return self.ending([*block, *rest], scope)
            if answer is not False:
                unknown.append(answer)
                ways.append([*block, *rest])
        if not ways:
            return self.ending(rest, scope)
        return self._joined(PROBE if PROBE in unknown else OTHER, [*ways, rest], scope)

    def _try(self, statement: ir.Try, rest: list[ir.Stmt], scope: Scope) -> End:
        after = [*statement.final, *rest]
        works = self._run.tests.holds(self._run, Worked(statement), scope)
        inner = [*statement.body, *statement.orelse, *after]
        ways: list[list[ir.Stmt]] = []
        unknown = [works]
        if works is not False:
            end = self.ending(inner, scope)
            if works is True or (works is OTHER and end.kind == "return" and is_known(end.value)):
                return end
            ways.append(inner)
        for index, (_, _, block) in enumerate(statement.handlers):
            answer = self._run.tests.holds(self._run, Handler(statement, index), scope)
            if answer is True:
                return self.ending([*block, *after], scope)
            if answer is not False:
                unknown.append(answer)
                ways.append([*block, *after])
        if not ways:
            return End("raise")
        return self._joined(PROBE if PROBE in unknown else OTHER, ways, scope)

    def _probes(self, statement: ir.Stmt) -> bool:
        from distlint.link.walking import expressions_of

        inside = [statement, *statements(statement.body)]  # type: ignore[union-attr]
        return any(self._run.probes(expr) for one in inside for expr in expressions_of(one))

    def _assigned(self, statement: ir.Stmt, scope: Scope) -> Scope:
        from distlint.link.version_bindings import targets_of

        names = dict(scope.names)
        if type(statement) is ir.AugAssign:
            if type(statement.target) is ir.Name:
                operation = ir.Operation((statement.operator,), (statement.target, statement.value), statement.at)
                names[statement.target.id] = self._value(operation, scope)
        elif type(statement) is ir.Assign and statement.value is not None:
            value = self._value(statement.value, scope)
            for target in statement.targets:
                for name, part in targets_of(target, ()):
                    names[name] = OTHER if part is None else combined([value], lambda whole, p=part: _item(whole, p))
        return scope._replace(names=names)


def _item(whole: Any, part: tuple[int, ...]) -> Any:
    for index in part:
        whole = whole[index]
    return whole


def _raises(statement: ir.Stmt) -> bool:
    return type(statement) is ir.Jump and statement.kind == "raise"
