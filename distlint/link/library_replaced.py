"""Names of libraries that the program puts in place itself: assignments into modules and classes, mocks, ``sys.modules``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from distlint.link.walking import bodies_of, object_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.library_scopes import LibraryScopes
    from distlint.link.project import Project

ANY = "*"
"""Stands for a name that is not known."""

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


class ReplacedNames:
    """What a project stores into libraries, wherever it does so."""

    def __init__(self, project: Project, scopes: LibraryScopes) -> None:
        self.project = project
        self.scopes = scopes

    def has(self, dotted: str) -> bool:
        """Whether the program stores the name, or something that it is in, or may do so by a computed name."""
        parts = dotted.split(".")
        if any(".".join(parts[: count + 1]) in self._names for count in range(len(parts))):
            return True
        if any(".".join([*parts[:count], ANY]) in self._names for count in range(1, len(parts))):
            return True
        # A class is the same object by whichever path it is reached.
        return len(parts) > 1 and parts[-2][:1].isupper() and f"{parts[-2]}.{parts[-1]}" in self._members

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(name for file in self.project.python_files for name in self._of_file(file))

    @cached_property
    def _members(self) -> frozenset[str]:
        return frozenset(".".join(name.split(".")[-2:]) for name in self._names if name.count("."))

    def _of_file(self, file: str) -> Iterator[str]:

        module = self.project.module(file)
        for function, body in bodies_of(module):
            for statement in statements(body):
                if type(statement) is ir.Assign:
                    for target in statement.targets:
                        yield from self._stored(target, file, function)
        for last, read in self._calls.items():
            for site in module.calls.get(last, ()):
                yield from read(site.call, file, site.function)

    # Assignments -------------------------------------------------------------------------------------------------

    def _stored(self, target: ir.Expr, file: str, function: int) -> Iterator[str]:
        if type(target) is ir.ListDisplay:
            for item in target.items:
                yield from self._stored(item, file, function)
        elif type(target) is ir.Attribute:
            for owner in self._owners(target.base, file, function):
                yield f"{owner}.{target.name}"
        elif type(target) is ir.Subscript:
            name = _text(target.index)
            if _is_modules(target.base):
                yield from (name,) if name else ()
            else:
                for owner in self._namespaces(target.base, file, function):
                    yield f"{owner}.{name or ANY}"

    def _owners(self, expr: ir.Expr, file: str, function: int) -> list[str]:
        """The library's modules or classes that an expression names."""
        if type(expr) is ir.Subscript and _is_modules(expr.base):
            name = _text(expr.index)
            return [name] if name else []
        root = expr
        while type(root) is ir.Attribute:
            root = root.base
        if type(root) is not ir.Name or not any(item.alias == root.id for item in self.project.module(file).imports):
            return []
        return [meaning.name for meaning in self.scopes.meanings(expr, file, function)]

    def _namespaces(self, expr: ir.Expr, file: str, function: int) -> list[str]:
        """The library's modules or classes whose ``__dict__`` an expression is."""
        owner = object_of(expr)
        return self._owners(owner, file, function) if owner is not None else []

    # Calls -------------------------------------------------------------------------------------------------------

    @cached_property
    def _calls(self) -> dict[str, Callable[[ir.Call, str, int], Iterator[str]]]:
        return {
            "setattr": self._set,
            "object": self._set,
            "patch": self._by_path,
            "multiple": self._several,
            "dict": self._entries,
            "update": self._entries,
            "setdefault": self._entry,
            "__setitem__": self._entry,
            "setitem": self._entry,
            "patch_function_wrapper": self._wrapped,
            "wrap_function_wrapper": self._wrapped,
        }

    def _set(self, call: ir.Call, file: str, function: int) -> Iterator[str]:
        """``setattr(lib, "name", x)``, ``patch.object(lib, "name")``, ``monkeypatch.setattr("lib.name", x)``."""
        if type(call.func) is ir.Attribute:
            yield from self._by_path(call, file, function)
        if len(call.args) > 1:
            for owner in self._owners(call.args[0], file, function):
                yield f"{owner}.{_text(call.args[1]) or ANY}"

    def _by_path(self, call: ir.Call, file: str, function: int) -> Iterator[str]:
        path = _text(call.args[0]) if call.args else ""
        if "." in path and _DOTTED.fullmatch(path):
            yield path

    def _several(self, call: ir.Call, file: str, function: int) -> Iterator[str]:
        """``patch.multiple(lib, name=x)``."""
        if call.args:
            path = _text(call.args[0])
            for owner in [path] if path else self._owners(call.args[0], file, function):
                yield from (f"{owner}.{keyword.name or ANY}" for keyword in call.keywords)

    def _entries(self, call: ir.Call, file: str, function: int) -> Iterator[str]:
        """``sys.modules.update({...})``, ``patch.dict(sys.modules, {...})``, ``lib.__dict__.update(name=x)``."""
        if type(call.func) is not ir.Attribute:
            return
        first = call.args[0] if call.args else None
        named = [keyword.name for keyword in call.keywords if keyword.name]
        written = [
            _text(key) for one in call.args if type(one) is ir.DictDisplay for key in one.keys if key is not None
        ]
        if _is_modules(call.func.base) or (first is not None and (_is_modules(first) or _text(first) == "sys.modules")):
            yield from (name for name in (*written, *named) if name)
            return
        for owner in self._namespaces(call.func.base, file, function):
            yield from (f"{owner}.{name or ANY}" for name in (*written, *named) or (ANY,))

    def _entry(self, call: ir.Call, file: str, function: int) -> Iterator[str]:
        """``sys.modules.setdefault("lib", x)``, ``monkeypatch.setitem(sys.modules, "lib", x)``."""
        if type(call.func) is not ir.Attribute or not call.args:
            return
        given = call.args
        base = call.func.base
        if call.func.name == "setitem" and len(given) > 1:
            base, given = given[0], given[1:]
        name = _text(given[0])
        if _is_modules(base):
            yield from (name,) if name else ()
        else:
            for owner in self._namespaces(base, file, function):
                yield f"{owner}.{name or ANY}"

    def _wrapped(self, call: ir.Call, file: str, function: int) -> Iterator[str]:
        texts = [_text(argument) for argument in call.args[:2]]
        if len(texts) == 2 and all(texts):
            yield ".".join(texts)


def _text(expr: ir.Expr) -> str:
    return expr.value if type(expr) is ir.Constant and type(expr.value) is str else ""


def _is_modules(expr: ir.Expr) -> bool:
    """Whether an expression is ``sys.modules``."""
    return (type(expr) is ir.Attribute and expr.name == "modules") or (type(expr) is ir.Name and expr.id == "modules")
