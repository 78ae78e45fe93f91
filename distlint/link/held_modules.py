"""Modules and classes that an object of the project keeps in an attribute: ``self.lib = lib``, then ``self.lib.name``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.walking import statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project


class _Store(NamedTuple):
    """The value of a store into an attribute, with where it stands; no value for one that is not simple."""

    value: ir.Expr | None
    file: str
    function: int
    owner: int
    """The class whose object, or whose body, it is about; -1 if that is not known."""


class HeldModules:
    """Answers for a project; ``tops`` are the top-level modules that matter."""

    def __init__(self, project: Project, tops: frozenset[str]) -> None:
        self.project = project
        self.tops = tops

    def value(self, expr: ir.Attribute, file: str, function: int) -> tuple[ir.Expr, str, int] | None:
        """What ``self.name`` is in a method, and where that is written; ``None`` where it may be several things.

        Only what a file imports from a library (and what is below) is held in this sense, and only where the whole
        project stores into no other attribute of that name.
        """
        if type(expr.base) is not ir.Name or expr.name not in self._candidates or function < 0:
            return None
        functions = self.project.module(file).functions
        while functions[function].owner < 0:
            function = functions[function].parent
            if function < 0:
                return None
        method = functions[function]
        if not method.parameters or method.parameters[0].name != expr.base.id:
            return None
        stores = self._stores.get(expr.name, [])
        if len(stores) != 1:
            return None
        (one,) = stores
        if one.value is None or one.file != file or one.owner != method.owner:
            return None
        return one.value, one.file, one.function

    @cached_property
    def _candidates(self) -> frozenset[str]:
        return frozenset(
            name
            for name, stores in self._stores.items()
            if len(stores) == 1 and stores[0].value is not None and stores[0].owner >= 0
        )

    @cached_property
    def _stores(self) -> dict[str, list[_Store]]:
        """Every store into an attribute, and every binding of a class body, by name.

        Those that no file with a library's import has as a simple value are of no use, but tell that there are others.
        """
        found: dict[str, list[_Store]] = {}
        for file in self.project.python_files:
            for name, store in self._of_file(file):
                found.setdefault(name, []).append(store)
        return found

    def _of_file(self, file: str) -> Iterator[tuple[str, _Store]]:
        module = self.project.module(file)
        aliases = {
            item.alias for item in module.imports if not item.level and item.module.partition(".")[0] in self.tops
        }
        for index, owner in enumerate(module.classes):
            for statement in statements(owner.body):
                for target, value in _stores_of(statement):
                    if type(target) is ir.Name:
                        yield target.id, _Store(_plain(value, aliases, methods=False), file, owner.parent, index)
                    elif type(target) is ir.Attribute:
                        yield target.name, _Store(None, file, owner.parent, -1)
        for function in module.functions:
            if function.owner >= 0:
                yield function.name, _Store(None, file, -1, -1)
        yield from self._by_functions(module, file, aliases)

    def _by_functions(self, module: ir.Module, file: str, aliases: set[str]) -> Iterator[tuple[str, _Store]]:
        for index, body in ((-1, module.body), *((at, one.body) for at, one in enumerate(module.functions))):
            method = module.functions[index] if index >= 0 else None
            own = method.parameters[0].name if method is not None and method.owner >= 0 and method.parameters else ""
            for statement in statements(body):
                for target, value in _stores_of(statement):
                    if type(target) is ir.Attribute:
                        is_own = type(target.base) is ir.Name and target.base.id == own and method is not None
                        owner = method.owner if is_own and method is not None else -1
                        yield target.name, _Store(_plain(value, aliases, methods=True), file, index, owner)


def _stores_of(statement: ir.Stmt) -> Iterator[tuple[ir.Expr, ir.Expr | None]]:
    """The single targets that a statement stores into, with the value where it is one of their own."""
    pairs: list[tuple[ir.Expr, ir.Expr | None]] = []
    if type(statement) is ir.Assign:
        pairs = [(target, statement.value) for target in statement.targets]
    elif type(statement) is ir.AugAssign or type(statement) is ir.For:
        pairs = [(statement.target, None)]
    elif type(statement) is ir.With:
        pairs = [(bound, None) for _, bound in statement.items if bound is not None]
    while pairs:
        target, value = pairs.pop()
        if type(target) is ir.ListDisplay:
            pairs.extend((item, None) for item in target.items)
        elif type(target) is ir.Starred:
            pairs.append((target.value, None))
        else:
            yield target, value


def _plain(value: ir.Expr | None, aliases: set[str], *, methods: bool) -> ir.Expr | None:
    """A dotted name below an import. A function in a class body would become a method, so that it does not count there."""
    last = value.name if type(value) is ir.Attribute else value.id if type(value) is ir.Name else ""
    root = value
    while type(root) is ir.Attribute:
        root = root.base
    if type(root) is not ir.Name or root.id not in aliases:
        return None
    return value if methods or last[:1].isupper() else None
