"""The environment of a command that a Python program starts: what the program set before, and ``env=`` of the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.shell_state import Variable, scalar
from distlint.link.shell_values import Hole, Text, weakened
from distlint.link.walking import asks_for_main, guards_of, statements
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_CALLERS = 3
_MAX_DEPTH = 4

TextOf = Callable[[ir.Expr, str, int], Text]
"""The text of an expression of a function of a file, with holes."""
_Change = tuple[str, "ir.Expr | None", bool]
"""A name, what it is set to (``None``: it is taken away), and whether only where it is missing."""


def program_environment(project: Project, found: CallSite, text_of: TextOf) -> dict[str, Variable]:
    """The variables that the command of a call certainly or perhaps finds; those that are only perhaps set are unknown.

    What the program itself was started with is not in it.
    """
    reader = _Reader(project, text_of)
    given = next((keyword.value for keyword in found.site.call.keywords if keyword.name == "env"), None)
    if given is None and found.name in ("os.execve", "os.execvpe"):
        given = find_argument(found.site.call, "env", 2)[0]
    place = (found.file, found.site.function, found.site.call.at)
    if given is None:
        return reader.own(*place)
    return reader.mapping(given, *place)


class _Reader:
    def __init__(self, project: Project, text_of: TextOf) -> None:
        self._project = project
        self._text_of = text_of

    def own(self, file: str, function: int, at: ir.Position, depth: int = 0) -> dict[str, Variable]:
        """What the program wrote into its own environment before a place."""
        variables: dict[str, Variable] = {}
        if function >= 0 and depth < _MAX_DEPTH:
            self._changed(variables, file, -1, 0, self._of_environ)
            callers = self._project.callers(FunctionRef(file, function))
            if len(callers) == 1 and (callers[0].file, callers[0].site.function) != (file, function):
                caller = callers[0]
                variables |= self.own(caller.file, caller.site.function, caller.site.call.at, depth + 1)
        self._changed(variables, file, function, at, self._of_environ)
        return variables

    def mapping(self, expr: ir.Expr, file: str, function: int, at: ir.Position, depth: int = 0) -> dict[str, Variable]:
        """The variables in a mapping that an expression stands for."""
        if depth > _MAX_DEPTH:
            return {}
        inner = (file, function, at, depth + 1)
        if self._is_environ(expr, file):
            return self.own(file, function, at)
        if type(expr) is ir.DictDisplay:
            return self._displayed(expr, inner)
        if type(expr) is ir.Operation and expr.operators == ("|",):
            return self.mapping(expr.operands[0], *inner) | self.mapping(expr.operands[1], *inner)
        if type(expr) is ir.Call:
            found = self.mapping(expr.func.base, *inner) if _is_copy(expr) else {}  # type: ignore[union-attr]
            if (type(expr.func) is ir.Name and expr.func.id == "dict") or self._is_function(expr, file, "copy"):
                for argument in expr.args:
                    found |= self.mapping(argument, *inner)
                for keyword in expr.keywords:
                    if keyword.name is None:
                        found |= self.mapping(keyword.value, *inner)
                    else:
                        found[keyword.name] = self._variable(keyword.value, file, function)
            return found
        if type(expr) is ir.Name:
            return self._named(expr, file, function, at, depth)
        return {}

    def _displayed(self, expr: ir.DictDisplay, inner: tuple[str, int, ir.Position, int]) -> dict[str, Variable]:
        found: dict[str, Variable] = {}
        for key, value in zip(expr.keys, expr.values, strict=True):
            if key is None:
                found |= self.mapping(value, *inner)
            elif type(key) is ir.Constant and isinstance(key.value, str):
                found[key.value] = self._variable(value, *inner[:2])
        return found

    def _named(self, expr: ir.Name, file: str, function: int, at: ir.Position, depth: int) -> dict[str, Variable]:
        """A variable of the program that one statement sets and others fill."""
        for where in (function, -1) if function >= 0 else (-1,):
            body = self._body(file, where)
            sets = [
                statement
                for statement in statements(body)
                if type(statement) is ir.Assign
                and statement.value is not None
                and any(type(target) is ir.Name and target.id == expr.id for target in statement.targets)
            ]
            if not sets:
                continue
            if len(sets) > 1 or sets[0].value is None:
                return {}
            variables = self.mapping(sets[0].value, file, where, sets[0].at, depth + 1)

            def of_name(base: ir.Expr, _: str) -> bool:
                return type(base) is ir.Name and base.id == expr.id

            self._changed(variables, file, where, at if where == function else 0, of_name)
            return variables
        return {}

    # Statements

    def _changed(
        self,
        variables: dict[str, Variable],
        file: str,
        function: int,
        before: ir.Position,
        concerns: Callable[[ir.Expr, str], bool],
    ) -> None:
        """Does what the statements of a body do to a mapping, up to a place of it (0: to its end)."""
        body = self._body(file, function)
        around = {guard.at for guard in (guards_of(body, before) or ())} if before else set()
        for statement in statements(body):
            if before and statement.at >> 44 >= before >> 44:
                continue
            changes = list(_changes(statement, lambda base: concerns(base, file)))
            if not changes:
                continue
            guards = guards_of(body, statement.at) or []
            sure = all(guard.at in around or (guard.test is not None and asks_for_main(guard.test)) for guard in guards)
            for name, value, missing in changes:
                if value is None and sure:
                    variables.pop(name, None)
                elif missing and name in variables:
                    continue
                elif value is None or not sure:
                    span = ir.unpack(statement.at, file)
                    hole = Hole(name, "is set on some paths of the program only", (span,))
                    variables[name] = scalar((hole,), exported=True, span=span)
                else:
                    variables[name] = self._variable(value, file, function, likely=missing)

    def _variable(self, expr: ir.Expr, file: str, function: int, *, likely: bool = False) -> Variable:
        text = self._text_of(expr, file, function)
        span: Span = ir.unpack(expr.at, file)
        return scalar(weakened(text, Confidence.LIKELY) if likely else text, exported=True, span=span)

    def _body(self, file: str, function: int) -> tuple[ir.Stmt, ...]:
        module = self._project.module(file)
        return module.body if function < 0 else module.functions[function].body

    def _of_environ(self, base: ir.Expr, file: str) -> bool:
        return self._is_environ(base, file)

    def _is_environ(self, expr: ir.Expr, file: str) -> bool:
        return self._project.modules.dotted(expr, file) == "os.environ"

    def _is_function(self, call: ir.Call, file: str, module: str) -> bool:
        return (self._project.modules.dotted(call.func, file) or "") in (f"{module}.copy", f"{module}.deepcopy")


def _is_copy(call: ir.Call) -> bool:
    return type(call.func) is ir.Attribute and call.func.name == "copy" and not call.args


def _changes(statement: ir.Stmt, concerns: Callable[[ir.Expr], bool]) -> Iterator[_Change]:
    """What a statement does to a mapping."""
    if type(statement) is ir.Assign:
        for target in statement.targets:
            if type(target) is ir.Subscript and concerns(target.base) and statement.value is not None:
                yield from _named_by(target.index, statement.value)
    elif type(statement) is ir.AugAssign and statement.operator in ("|", "|=") and concerns(statement.target):
        yield from _items(statement.value)
    elif type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
        call = statement.value
        if type(call.func) is not ir.Attribute or not concerns(call.func.base):
            return
        if call.func.name == "update":
            for argument in call.args:
                yield from _items(argument)
            yield from ((keyword.name, keyword.value, False) for keyword in call.keywords if keyword.name)
        elif call.func.name == "setdefault" and len(call.args) == 2:
            yield from ((name, value, True) for name, value, _ in _named_by(*call.args))
        elif call.func.name == "pop" and call.args:
            yield from ((name, None, False) for name, _, _ in _named_by(call.args[0], call.args[0]))


def _items(expr: ir.Expr) -> Iterator[_Change]:
    if type(expr) is ir.DictDisplay:
        for key, value in zip(expr.keys, expr.values, strict=True):
            if key is not None:
                yield from _named_by(key, value)


def _named_by(key: ir.Expr, value: ir.Expr) -> Iterator[_Change]:
    if type(key) is ir.Constant and isinstance(key.value, str):
        yield key.value, value, False
