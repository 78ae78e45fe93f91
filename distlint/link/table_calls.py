"""Calls of what a table holds: ``MAKERS[name](...)``, ``MAKERS.get(name)(...)``, ``kind, options = MAKERS[name]`` and then ``kind(...)``.

Found by the text alone, without evaluating anything, so that who calls a function can be asked while values are worked out. Tables are
displays of dictionaries and lists that stand at the place or in one variable, ``dict(name=value)``, and comprehensions over a display.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.link.modules import ClassRef, External, FunctionRef, GlobalRef
from distlint.link.project import CallSite
from distlint.link.walking import statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_TARGETS = 64
"""Things that one call may come to by a table; a larger one is a registry, of which nothing is said."""


class TableCalls:
    """For a project, the calls that come to a function or class by a table."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._by_target: dict[FunctionRef | ClassRef, list[CallSite]] = {}
        self._by_name: dict[str, list[CallSite]] = {}
        for found in self._sites():
            targets = list(self._called(found))
            if len(targets) > MAX_TARGETS:
                continue
            for target in dict.fromkeys(targets):
                if isinstance(target, External):
                    name = project.modules.canonical(target.name)
                    self._by_name.setdefault(name, []).append(found._replace(name=name))
                else:
                    self._by_target.setdefault(target, []).append(found)

    def of(self, target: FunctionRef | ClassRef) -> tuple[CallSite, ...]:
        """The calls that may come to a function or class of the project."""
        return tuple(self._by_target.get(target, ()))

    def of_library(self, name: str) -> tuple[CallSite, ...]:
        """The calls that may come to a library's function or class, by its canonical name, which the sites have."""
        return tuple(self._by_name.get(name, ()))

    def _sites(self) -> Iterator[CallSite]:
        """The calls of something that is looked up, and of variables into which something was put that is."""
        project = self._project
        yield from project.sites("")
        for file in project.python_files:
            module = project.module(file)
            for index in (-1, *range(len(module.functions))):
                for name in sorted(_looked_up(project.body(file, index))):
                    yield from (CallSite(file, one) for one in module.calls.get(name, ()) if one.function == index)

    def _called(self, found: CallSite) -> Iterator[FunctionRef | ClassRef | External]:
        func, file, function = found.site.call.func, found.file, found.site.function
        if type(func) is not ir.Name:
            yield from self._in_table(func, file, function, None)
            return
        for one in statements(self._project.body(file, function)):
            if type(one) is not ir.Assign or not _lookup(one.value):
                continue
            for target in one.targets:
                if type(target) is ir.Name and target.id == func.id:
                    yield from self._in_table(one.value, file, function, None)
                elif type(target) is ir.ListDisplay:
                    for place, item in enumerate(target.items):
                        if type(item) is ir.Name and item.id == func.id:
                            yield from self._in_table(one.value, file, function, place)

    def _in_table(
        self, expr: ir.Expr | None, file: str, function: int, place: int | None
    ) -> Iterator[FunctionRef | ClassRef | External]:
        """What a lookup may give, or the item at a place of that."""
        for value, where in self._values(_lookup(expr), file, function):
            chosen: ir.Expr | None = value
            if place is not None:
                items = value.items if type(value) is ir.ListDisplay else ()
                chosen = items[place] if place < len(items) else None
            target = self._project.modules.resolve(chosen, where) if chosen is not None else None
            if isinstance(target, FunctionRef | ClassRef | External):
                yield target

    def _values(self, table: ir.Expr | None, file: str, function: int) -> Iterator[tuple[ir.Expr, str]]:
        """The values of a table, with the file in which they stand."""
        if type(table) is ir.Name:
            own = list(_bound(self._project.body(file, function), table.id)) if function >= 0 else []
            if own:
                yield from ((value, file) for one in own[:1] if len(own) == 1 for value in _items(one))
                return
        target = self._project.modules.resolve(table, file) if table is not None else None
        if isinstance(target, GlobalRef):
            bound = list(_bound(self._project.module(target.file).body, target.name))
            yield from ((value, target.file) for one in bound if len(bound) == 1 for value in _items(one))
        elif table is not None:
            yield from ((value, file) for value in _items(table))


def _lookup(expr: ir.Expr | None) -> ir.Expr | None:
    """The table in which an expression looks something up; ``None`` for any other."""
    if type(expr) is ir.Subscript:
        return expr.base
    if type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name == "get" and expr.args:
        return expr.func.base
    return None


def _looked_up(body: tuple[ir.Stmt, ...]) -> set[str]:
    """The variables into which a body puts what it looks up."""
    return {
        name
        for one in statements(body)
        if type(one) is ir.Assign and _lookup(one.value) is not None
        for name in _names(one.targets)
    }


def _names(targets: tuple[ir.Expr, ...]) -> Iterator[str]:
    for target in targets:
        for item in target.items if type(target) is ir.ListDisplay else (target,):
            if type(item) is ir.Name:
                yield item.id


def _bound(body: tuple[ir.Stmt, ...], name: str) -> Iterator[ir.Expr]:
    """What a body assigns to a name."""
    for one in statements(body):
        if type(one) is ir.Assign and one.value is not None and name in _names(one.targets):
            yield one.value


def _items(table: ir.Expr) -> tuple[ir.Expr, ...]:
    """The values that a display holds, those of a comprehension that takes them as they are among them."""
    if type(table) is ir.DictDisplay:
        return table.values
    if type(table) is ir.ListDisplay:
        return table.items
    if type(table) is ir.Call and type(table.func) is ir.Name and table.func.id == "dict":
        return tuple(keyword.value for keyword in table.keywords if keyword.name is not None)
    if type(table) is ir.Comprehension and len(table.generators) == 1:
        target, iterable, _ = table.generators[0]
        element = table.element.items[-1] if type(table.element) is ir.ListDisplay else table.element
        if type(target) is ir.Name and type(element) is ir.Name and element.id == target.id:
            return iterable.items if type(iterable) is ir.ListDisplay else ()
    return ()
