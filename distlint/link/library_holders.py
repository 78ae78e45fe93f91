"""Names that somewhere hold an object of a library's class: whatever else can't be one, and need not be evaluated.

Only last names are kept, for the whole project: ``self.engine`` and ``engine`` are the same. What a name surely is at a
place, the evaluator tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import below, bodies_of, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.library_scopes import LibraryScopes
    from distlint.link.project import Project

ROUNDS = 3
"""So many steps are followed from the call that makes an object: returned, handed on, stored again."""

MAX_ARGUMENTS = 2000
"""Calls with objects among their arguments that are followed into what they call."""


class _Flow(NamedTuple):
    """Something with the last names ``targets`` is what a call of ``source``, or the variable ``source``, is."""

    targets: tuple[str, ...]
    source: str
    is_call: bool


def holders_of(project: Project, scopes: LibraryScopes) -> frozenset[str]:
    """The last names of variables, attributes and parameters that may hold an object of a covered library's class.

    A function of the project that returns one is among them too.
    """
    walk = _Walk(project, scopes)
    for file in project.python_files:
        walk.file(file)
    return walk.finish()


class _Walk:
    def __init__(self, project: Project, scopes: LibraryScopes) -> None:
        self.project = project
        self.scopes = scopes
        self.found: set[str] = set()
        self.flows: list[_Flow] = []
        self.derived: set[str] = set()
        self.made: dict[str, dict[ir.Position, bool]] = {}
        """Which calls among the arguments of others are those of a library, by file and place."""

    def file(self, file: str) -> None:

        module = self.project.module(file)
        imports = module.imports
        if not any(item.module.partition(".")[0] in self.scopes.tops or item.level for item in imports):
            if not self.project.imports(file):
                return
        self.derived.update(one.name for one in module.classes if one.bases and not one.decorators)
        walrus = ":=" in self.project.text_of(file)
        for function, body in bodies_of(module):
            returned = (module.functions[function].name,) if function >= 0 else ()
            for statement in statements(body):
                for targets, value in _pairs(statement, returned):
                    self._flow(targets, value, file, function)
                if walrus:
                    for targets, value in _walruses(statement):
                        self._flow(targets, value, file, function)

    def _flow(self, targets: tuple[str, ...], value: ir.Expr, file: str, function: int) -> None:
        if type(value) is ir.Call:
            if self.scopes.meanings(value.func, file, function):
                self.found.update(targets)
            elif last := _last(value.func):
                self.flows.append(_Flow(targets, last, is_call=True))
        elif last := _last(value):
            self.flows.append(_Flow(targets, last, is_call=False))

    def finish(self) -> frozenset[str]:
        makers = self.derived
        for _ in range(ROUNDS):
            before = len(self.found)
            for flow in self.flows:
                if flow.source in self.found or (flow.is_call and flow.source in makers):
                    self.found.update(flow.targets)
            self._hand_on()
            if len(self.found) == before:
                break
        return frozenset(self.found)

    def _hand_on(self) -> None:
        """The parameters of the project's functions that are given one of the names."""
        count = 0
        for file in self.project.python_files:
            for sites in self.project.module(file).calls.values():
                for site in sites:
                    given = (*site.call.args, *(keyword.value for keyword in site.call.keywords))
                    if any(self._is_object(one, file, site.function) for one in given):
                        count += 1
                        if count > MAX_ARGUMENTS:
                            return
                        self.found.update(self._parameters(site, file))

    def _is_object(self, expr: ir.Expr, file: str, function: int) -> bool:
        if type(expr) is not ir.Call:
            return _last(expr) in self.found
        if expr.at not in self.made.setdefault(file, {}):
            self.made[file][expr.at] = bool(self.scopes.meanings(expr.func, file, function))
        return self.made[file][expr.at] or _last(expr.func) in self.found

    def _parameters(self, site: ir.Site, file: str) -> Iterator[str]:
        call = site.call
        target = self.project.modules.resolve(call.func, file)
        if isinstance(target, ClassRef):
            target = self.project.modules.method(target, "__init__")
        if not isinstance(target, FunctionRef):
            return
        definition = self.project.function(target)
        parameters = definition.parameters[1 if definition.owner >= 0 else 0 :]
        for parameter, argument in zip(parameters, call.args, strict=False):
            if self._is_object(argument, file, site.function):
                yield parameter.name
        for keyword in call.keywords:
            if keyword.name and self._is_object(keyword.value, file, site.function):
                yield keyword.name


def _pairs(statement: ir.Stmt, returned: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ir.Expr]]:
    """What a statement gives a value, by last names."""
    if type(statement) is ir.Assign and statement.value is not None:
        yield tuple(name for target in statement.targets for name in _targets(target)), statement.value
    elif type(statement) is ir.With:
        for context, bound in statement.items:
            if bound is not None:
                yield tuple(_targets(bound)), context
    elif type(statement) is ir.Return and statement.value is not None and returned:
        yield returned, statement.value


def _walruses(statement: ir.Stmt) -> Iterator[tuple[tuple[str, ...], ir.Expr]]:
    for expr in expressions_of(statement):
        for part in below(expr):
            if type(part) is ir.Wrapped and part.target and part.value is not None:
                yield (part.target,), part.value


def _targets(target: ir.Expr) -> Iterator[str]:
    for one in target.items if type(target) is ir.ListDisplay else (target,):
        if name := _last(one):
            yield name


def _last(expr: ir.Expr) -> str:
    return expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""
