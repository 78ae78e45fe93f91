"""Calls of what a table or a module holds: ``MAKERS[name](...)``, ``getattr(module, name)(...)``.

Also ``MAKERS.get(name)(...)``, ``step = first if early else second`` with ``step(...)`` behind it, and ``kind, options = MAKERS[name]``
with ``kind(...)``. Found by the text alone, without evaluating anything, so that who calls a function can be asked while values are worked
out. Tables are displays of dictionaries and lists that stand at the place or in one variable, ``dict(name=value)``, comprehensions over a
display, and tables of a module that decorators fill.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.modules import ClassRef, External, FunctionRef, GlobalRef
from distlint.link.project import CallSite
from distlint.link.registries import registrations
from distlint.link.walking import statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_TARGETS = 64
"""Things that a table holds; a larger one is a registry, of which nothing is said."""

MAX_LOOKUPS = 8
"""Lookups that are put into one variable of a function."""


class _LambdaAt(NamedTuple):
    """A ``lambda`` by its place."""

    file: str
    at: ir.Position


class TableCalls:
    """For a project, the calls that come to a function or class by a table."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._by_target: dict[FunctionRef | ClassRef, list[CallSite]] = {}
        self._by_name: dict[str, list[CallSite]] = {}
        self._by_module: dict[str, list[CallSite]] = {}
        self._by_lambda: dict[_LambdaAt, list[CallSite]] = {}
        self._assigned: dict[tuple[str, int], dict[str, list[ir.Expr]]] = {}
        self._variables: dict[tuple[str, int], dict[str, list[tuple[ir.Expr, int | None]]]] = {}
        for found in self._sites():
            for module in dict.fromkeys(self._asked_modules(found)):
                self._by_module.setdefault(module, []).append(found)
            for target in dict.fromkeys(self._called(found)):
                if isinstance(target, _LambdaAt):
                    self._by_lambda.setdefault(target, []).append(found)
                elif isinstance(target, External):
                    name = project.modules.canonical(target.name)
                    self._by_name.setdefault(name, []).append(found._replace(name=name))
                else:
                    self._by_target.setdefault(target, []).append(found)

    def of(self, target: FunctionRef | ClassRef) -> tuple[CallSite, ...]:
        """The calls that may come to a function or class of the project."""
        return tuple(self._by_target.get(target, ()))

    def of_lambda(self, file: str, at: ir.Position) -> tuple[CallSite, ...]:
        """The calls that may come to a ``lambda``, which stands in a table."""
        return tuple(self._by_lambda.get(_LambdaAt(file, at), ()))

    def of_library(self, name: str) -> tuple[CallSite, ...]:
        """The calls that may come to a library's function or class, by its canonical name, which the sites have."""
        asked = (found._replace(name=name) for found in self._by_module.get(name.rpartition(".")[0], ()))
        return (*self._by_name.get(name, ()), *asked)

    def of_libraries(self) -> tuple[CallSite, ...]:
        """All calls that may come to something of a library, each once."""
        found = {one.span: one for held in (self._by_name, self._by_module) for sites in held.values() for one in sites}
        return tuple(found[span] for span in sorted(found, key=lambda span: (span.file, span.line, span.column)))

    def choices(self, file: str, site: ir.Site) -> Iterator[ir.Expr]:
        """What decides which of several a call comes to: the tests of conditional expressions, and the keys of tables."""
        func = site.call.func
        kept = self._looked_up(file, site.function).get(func.id, ()) if type(func) is ir.Name else ((func, None),)
        for value, _ in kept[:MAX_LOOKUPS]:
            key = _key(value)
            yield from _tests(value) if key is None else (key,)

    def _sites(self) -> Iterator[CallSite]:
        """The calls of something that is looked up, and of variables into which something was put that is."""
        project = self._project
        yield from project.sites("")
        for file in project.python_files:
            module = project.module(file)
            for index in (-1, *range(len(module.functions))):
                for name in sorted(self._looked_up(file, index)):
                    yield from (CallSite(file, one) for one in module.calls.get(name, ()) if one.function == index)

    def _looked_up(self, file: str, function: int) -> dict[str, list[tuple[ir.Expr, int | None]]]:
        """By the variables of a body into which it puts what it looks up, the lookups, with the place among several targets."""
        key = (file, function)
        if key not in self._variables:
            found: dict[str, list[tuple[ir.Expr, int | None]]] = {}
            for one in statements(self._project.body(file, function)):
                if type(one) is not ir.Assign or one.value is None:
                    continue
                if (_lookup(one.value) or _asked(one.value)) is None and not self._is_chosen(one, file):
                    continue
                for target in one.targets:
                    if type(target) is ir.Name:
                        found.setdefault(target.id, []).append((one.value, None))
                    elif type(target) is ir.ListDisplay:
                        for place, item in enumerate(target.items):
                            if type(item) is ir.Name:
                                found.setdefault(item.id, []).append((one.value, place))
            self._variables[key] = found
        return self._variables[key]

    def _is_chosen(self, statement: ir.Assign, file: str) -> bool:
        """Whether a statement puts one of some functions into a variable that is called: ``step = first if early else second``."""
        called = self._project.module(file).calls
        named = any(type(target) is ir.Name and target.id in called for target in statement.targets)
        return named and all(type(one) in (ir.Name, ir.Attribute, ir.Lambda) for one in _choices(statement.value))

    def _called(self, found: CallSite) -> Iterator[FunctionRef | ClassRef | External | _LambdaAt]:
        func, file, function = found.site.call.func, found.file, found.site.function
        if type(func) is not ir.Name:
            yield from self._in_table(func, file, function, None)
            return
        for value, place in self._looked_up(file, function).get(func.id, ())[:MAX_LOOKUPS]:
            yield from self._in_table(value, file, function, place)

    def _asked_modules(self, found: CallSite) -> Iterator[str]:
        """The modules and classes of libraries of which a call calls an attribute by its name."""
        func, file = found.site.call.func, found.file
        kept = self._looked_up(file, found.site.function).get(func.id, ()) if type(func) is ir.Name else ((func, None),)
        for value, place in kept[:MAX_LOOKUPS]:
            held = _asked(value) if place is None else None
            target = self._project.modules.resolve(held, file) if held is not None else None
            if isinstance(target, External):
                yield self._project.modules.canonical(target.name)

    def _in_table(
        self, expr: ir.Expr, file: str, function: int, place: int | None
    ) -> Iterator[FunctionRef | ClassRef | External | _LambdaAt]:
        """What a lookup may give, or the item at a place of that."""
        if place is None:
            yield from self._registered(_lookup(expr), file)
        table = _lookup(expr)
        values = self._values(table, file, function) if table is not None else ((one, file) for one in _choices(expr))
        for value, where in values:
            chosen: ir.Expr | None = value
            if place is not None:
                items = value.items if type(value) is ir.ListDisplay else ()
                chosen = items[place] if place < len(items) else None
            if type(chosen) is ir.Lambda:
                yield _LambdaAt(where, chosen.at)
                continue
            target = self._project.modules.resolve(chosen, where) if chosen is not None else None
            if isinstance(target, FunctionRef | ClassRef | External):
                yield target

    def _registered(self, table: ir.Expr | None, file: str) -> Iterator[FunctionRef | ClassRef]:
        """What decorators put into a table of a module."""
        held = self._project.modules.resolve(table, file) if table is not None else None
        if not isinstance(held, GlobalRef):
            return
        for filler in self._project.global_writers(held.file).get(held.name, ()):
            for run in registrations(self._project, FunctionRef(held.file, filler)):
                if run.target is not None:
                    yield run.target

    def _values(self, table: ir.Expr | None, file: str, function: int) -> Iterator[tuple[ir.Expr, str]]:
        """The values of a table, with the file in which they stand."""
        if type(table) is ir.Name and function >= 0:
            own = self._bound(file, function, table.id)
            if own:
                yield from ((value, file) for one in own if len(own) == 1 for value in _items(one))
                return
        target = self._project.modules.resolve(table, file) if table is not None else None
        if isinstance(target, GlobalRef):
            bound = self._bound(target.file, -1, target.name)
            yield from ((value, target.file) for one in bound if len(bound) == 1 for value in _items(one))
        elif table is not None:
            yield from ((value, file) for value in _items(table))

    def _bound(self, file: str, function: int, name: str) -> list[ir.Expr]:
        """What a body assigns to a name."""
        key = (file, function)
        if key not in self._assigned:
            found: dict[str, list[ir.Expr]] = {}
            for one in statements(self._project.body(file, function)):
                if type(one) is ir.Assign and one.value is not None:
                    for target in one.targets:
                        if type(target) is ir.Name:
                            found.setdefault(target.id, []).append(one.value)
            self._assigned[key] = found
        return self._assigned[key].get(name, [])


def _choices(expr: ir.Expr | None) -> Iterator[ir.Expr]:
    """What an expression may be that takes one of some others."""
    if type(expr) is ir.Conditional:
        yield from _choices(expr.body)
        yield from _choices(expr.orelse)
    elif expr is not None:
        yield expr


def _tests(expr: ir.Expr | None) -> Iterator[ir.Expr]:
    """The tests by which an expression takes one of some others."""
    if type(expr) is ir.Conditional:
        yield expr.test
        yield from _tests(expr.body)
        yield from _tests(expr.orelse)


def _key(expr: ir.Expr) -> ir.Expr | None:
    """The key by which an expression looks something up; ``None`` for any other."""
    if type(expr) is ir.Subscript:
        return expr.index
    return expr.args[0] if type(expr) is ir.Call and _lookup(expr) is not None else None


def _lookup(expr: ir.Expr | None) -> ir.Expr | None:
    """The table in which an expression looks something up; ``None`` for any other."""
    if type(expr) is ir.Subscript:
        return expr.base
    if type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name == "get" and expr.args:
        return expr.func.base
    return None


def _asked(expr: ir.Expr | None) -> ir.Expr | None:
    """The object in ``getattr(object, name)``; ``None`` for any other expression."""
    is_asked = type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id == "getattr" and len(expr.args) > 1
    return expr.args[0] if isinstance(expr, ir.Call) and is_asked else None


def _items(table: ir.Expr) -> tuple[ir.Expr, ...]:
    """The values that a display holds, those of a comprehension that takes them as they are among them; nothing of a large one."""
    found: tuple[ir.Expr, ...] = ()
    if type(table) is ir.DictDisplay:
        found = table.values
    elif type(table) is ir.ListDisplay:
        found = table.items
    elif type(table) is ir.Call and type(table.func) is ir.Name and table.func.id == "dict":
        found = tuple(keyword.value for keyword in table.keywords if keyword.name is not None)
    elif type(table) is ir.Comprehension and len(table.generators) == 1:
        target, iterable, _ = table.generators[0]
        element = table.element.items[-1] if type(table.element) is ir.ListDisplay else table.element
        if type(target) is ir.Name and type(element) is ir.Name and element.id == target.id:
            found = iterable.items if type(iterable) is ir.ListDisplay else ()
    return found if len(found) <= MAX_TARGETS else ()
