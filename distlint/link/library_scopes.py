"""What names of a file stand for in libraries: every meaning that they may have, by scope.

Other than ``link.modules``, which gives one answer that holds for the whole program, this keeps the alternatives of a
conditional import apart, because each of them holds for other releases of the library.
"""

from __future__ import annotations

import builtins
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.held_modules import HeldModules
from distlint.link.library_replaced import ReplacedNames
from distlint.link.modules import MAX_HOPS
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_MEANINGS = 4

_BUILTINS = frozenset(dir(builtins))
_DYNAMIC = frozenset({"importlib.import_module", "builtins.__import__"})
OTHER = object()
"""What a name is bound to that is no library's."""


class Meaning(NamedTuple):
    """A dotted library name, with the import by which a file comes to it.

    ``star`` says that it comes by ``from module import *``, so that the module may as well not have it.
    """

    name: str
    file: str
    at: ir.Position
    star: bool = False
    root: str = ""
    """What the import binds: where that is missing already, the import is to blame for the rest."""


class Scope:
    """The bindings of one body: what each name is assigned, in the order of the text."""

    __slots__ = ("bindings", "foreign", "stars")

    def __init__(self) -> None:
        self.bindings: dict[str, list[object]] = {}
        self.foreign: set[str] = set()
        self.stars: list[ir.Import] = []


class LibraryScopes:
    """Answers for a project; ``tops`` are the top-level modules that matter. Answers are remembered."""

    def __init__(self, project: Project, tops: frozenset[str]) -> None:
        self.project = project
        self.tops = tops
        self._scopes: dict[tuple[str, int], Scope] = {}
        self._own: dict[tuple[str, str], bool] = {}
        self._walrus: dict[str, bool] = {}

    # Modules -----------------------------------------------------------------------------------------------------

    def is_library(self, dotted: str, file: str) -> bool:
        """Whether a dotted name surely means a covered library: no module of the project goes by that name."""
        top = dotted.partition(".")[0]
        if top not in self.tops:
            return False
        key = (dotted, file.rpartition("/")[0])
        if key not in self._own:
            parts = dotted.split(".")
            prefixes = [".".join(parts[: count + 1]) for count in range(len(parts))]
            self._own[key] = any(self.project.modules.find(prefix, file) is not None for prefix in prefixes)
        return not self._own[key]

    def is_replaced(self, dotted: str) -> bool:
        """Whether the program puts the name, or what it is in, in place itself (``sys.modules[...] =``, ``lib.x =``)."""
        return self._replaced.has(dotted)

    @cached_property
    def _replaced(self) -> ReplacedNames:
        return ReplacedNames(self.project, self)

    def is_held(self, expr: ir.Attribute, file: str, function: int) -> bool:
        """Whether ``self.name`` keeps something that the file imports from a library."""
        return self._held.value(expr, file, function) is not None

    @cached_property
    def _held(self) -> HeldModules:
        return HeldModules(self.project, self.tops)

    # Scopes ------------------------------------------------------------------------------------------------------

    def scope(self, file: str, function: int) -> Scope:
        """The bindings of a function's body, or of a module's (-1)."""
        key = (file, function)
        if key not in self._scopes:
            self._scopes[key] = self._collected(file, function)
        return self._scopes[key]

    def _collected(self, file: str, function: int) -> Scope:
        module = self.project.module(file)
        scope = Scope()
        body = module.body if function < 0 else module.functions[function].body
        if function >= 0:
            for parameter in module.functions[function].parameters:
                scope.bindings[parameter.name] = [OTHER]
        if file not in self._walrus:
            self._walrus[file] = ":=" in self.project.text_of(file)
        _collect(body, module, scope, walrus=self._walrus[file])
        if function < 0:
            for inner in module.functions:
                _collect_globals(inner.body, scope)
        return scope

    def imported_name(self, name: str, file: str, function: int) -> tuple[Meaning, ...]:
        """What a bare name of a body stands for in covered libraries; ``()`` for anything else or unknown."""
        return self._named(name, file, function, 0)

    def _named(self, name: str, file: str, function: int, hops: int) -> tuple[Meaning, ...]:
        if hops > MAX_HOPS:
            return ()
        module = self.project.module(file)
        current = function
        while True:
            scope = self.scope(file, current)
            if name in scope.bindings and name not in scope.foreign:
                return self._bound(scope.bindings[name], file, current, hops)
            if current < 0:
                break
            current = module.functions[current].parent
        return self._by_star(name, file, hops)

    def _bound(self, bindings: list[object], file: str, function: int, hops: int) -> tuple[Meaning, ...]:
        found: dict[str, Meaning] = {}
        for binding in bindings:
            if type(binding) is ir.Import:
                meanings = self._of_import(binding, file, hops)
                # ``import a.b`` and ``import a.c`` bind the same package.
                for meaning in meanings:
                    found.setdefault(meaning.name, meaning)
                if not meanings:
                    return ()
            elif isinstance(binding, _Value):
                if type(binding.expr) is ir.Constant:
                    # a stand-in for an import that failed
                    if len(bindings) == 1:
                        return ()
                    continue
                meanings = self._meanings(binding.expr, file, function, hops + 1)
                if not meanings:
                    return ()
                found.update({meaning.name: meaning for meaning in meanings})
            else:
                return ()
        return tuple(found.values()) if len(found) <= MAX_MEANINGS else ()

    def _of_import(self, item: ir.Import, file: str, hops: int) -> tuple[Meaning, ...]:
        if not item.name:
            whole = item.module if item.alias != item.module.partition(".")[0] else item.alias
            if self.is_library(item.module, file):
                return (Meaning(whole, file, item.at, root=whole),)
            return ()
        source = self.project.modules.find(item.module, file, item.level)
        if source is not None:
            return self._exported(source, item.name, file, hops)
        if item.level or not self.is_library(f"{item.module}.{item.name}", file):
            return ()
        full = f"{item.module}.{item.name}"
        return (Meaning(full, file, item.at, root=full),)

    def _exported(self, source: str, name: str, importer: str, hops: int) -> tuple[Meaning, ...]:
        if source == importer or self.project.modules.module(source) is None:
            return ()
        return self._named(name, source, -1, hops + 1)

    def _by_star(self, name: str, file: str, hops: int) -> tuple[Meaning, ...]:
        """Through ``from module import *``: only where one module alone can have it."""
        stars = self.scope(file, -1).stars
        if not stars or name in _BUILTINS or name.startswith("_"):
            return ()
        found: list[Meaning] = []
        for star in stars:
            source = self.project.modules.find(star.module, file, star.level)
            if source is not None and source != file and self.project.modules.module(source) is not None:
                scope = self.scope(source, -1)
                if name in scope.bindings or scope.stars:
                    return self._named(name, source, -1, hops + 1)
            elif star.level == 0 and self.is_library(star.module, file):
                found.append(Meaning(f"{star.module}.{name}", file, star.at, star=True))
            else:
                return ()
        return tuple(found) if len(found) == 1 else ()

    # Expressions -------------------------------------------------------------------------------------------------

    def meanings(self, expr: ir.Expr, file: str, function: int) -> tuple[Meaning, ...]:
        """The library names that a dotted expression can stand for; ``()`` if any of them is something else."""
        return self._meanings(expr, file, function, 0)

    def _meanings(self, expr: ir.Expr, file: str, function: int, hops: int) -> tuple[Meaning, ...]:
        if hops > MAX_HOPS:
            return ()
        if type(expr) is ir.Name:
            return self._named(expr.id, file, function, hops)
        if type(expr) is ir.Attribute:
            found = self._meanings(expr.base, file, function, hops + 1)
            if found:
                return tuple(meaning._replace(name=f"{meaning.name}.{expr.name}", star=False) for meaning in found)
            if held := self._held.value(expr, file, function):
                return self._meanings(*held, hops + 1)
            owner = self._own_module(expr.base, file, function)
            return self._exported(owner, expr.name, file, hops + 1) if owner else ()
        if type(expr) is ir.Call:
            return self._of_call(expr, file, function, hops)
        return ()

    def _own_module(self, expr: ir.Expr, file: str, function: int) -> str:
        """The project's module that an expression names, where no variable of the body hides it."""
        from distlint.link.modules import ModuleFile

        root = expr
        while type(root) is ir.Attribute:
            root = root.base
        if type(root) is not ir.Name:
            return ""
        bindings = self.scope(file, function).bindings.get(root.id) if function >= 0 else None
        if bindings is not None and not all(type(binding) is ir.Import for binding in bindings):
            return ""
        target = self.project.modules.resolve(expr, file, library=True)
        return target.file if isinstance(target, ModuleFile) else ""

    def _of_call(self, call: ir.Call, file: str, function: int, hops: int) -> tuple[Meaning, ...]:
        """``importlib.import_module("a.b")`` and ``getattr(module, "name")``, with constants."""
        func = call.func
        if type(func) is ir.Name and func.id == "getattr" and len(call.args) == 2:
            name = call.args[1]
            if type(name) is ir.Constant and type(name.value) is str and name.value.isidentifier():
                found = self._meanings(call.args[0], file, function, hops + 1)
                return tuple(meaning._replace(name=f"{meaning.name}.{name.value}") for meaning in found)
            return ()
        module = imported_module(self.project, call, file)
        if module and self.is_library(module, file):
            return (Meaning(module, file, call.at, root=module),)
        return ()


class _Value(NamedTuple):
    """A name is assigned an expression."""

    expr: ir.Expr


def imported_module(project: Project, call: ir.Call, file: str) -> str:
    """The module that ``importlib.import_module("a.b")`` imports, or ``""``."""
    if len(call.args) != 1 or call.keywords or type(call.args[0]) is not ir.Constant:
        return ""
    func = call.func
    last = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
    text = call.args[0].value
    if last != "import_module" or type(text) is not str or not all(part.isidentifier() for part in text.split(".")):
        return ""
    return text if project.modules.dotted(func, file) in _DYNAMIC else ""


def _collect(body: tuple[ir.Stmt, ...], module: ir.Module, scope: Scope, *, walrus: bool) -> None:
    for statement in statements(body):
        if type(statement) is ir.Import:
            if statement.name == "*":
                scope.stars.append(statement)
            else:
                scope.bindings.setdefault(statement.alias, []).append(statement)
        elif type(statement) is ir.Define:
            table = module.functions if statement.kind == "function" else module.classes
            _bind(scope, table[statement.index].name)
        elif type(statement) is ir.Assign:
            for target in statement.targets:
                if type(target) is ir.Name and statement.value is not None:
                    scope.bindings.setdefault(target.id, []).append(_Value(statement.value))
                elif statement.value is not None:
                    _bind_all(target, scope)
        elif type(statement) is ir.AugAssign or type(statement) is ir.For:
            _bind_all(statement.target, scope)
        elif type(statement) is ir.With:
            for _, bound in statement.items:
                if bound is not None:
                    _bind_all(bound, scope)
        elif type(statement) is ir.Try:
            for _, name, _ in statement.handlers:
                if name:
                    _bind(scope, name)
        elif type(statement) is ir.Jump and statement.kind in ("global", "nonlocal"):
            scope.foreign.update(value.id for value in statement.values if type(value) is ir.Name)
        for expr in expressions_of(statement) if walrus else ():
            if type(expr) is not ir.Name and type(expr) is not ir.Constant:
                for part in below(expr):
                    if type(part) is ir.Wrapped and part.target:
                        _bind(scope, part.target)


def _collect_globals(body: tuple[ir.Stmt, ...], scope: Scope) -> None:
    """A function that says ``global name`` may bind the module's name to anything."""
    for statement in body:
        if type(statement) is ir.Jump and statement.kind == "global":
            for value in statement.values:
                if type(value) is ir.Name:
                    _bind(scope, value.id)


def _bind(scope: Scope, name: str) -> None:
    scope.bindings.setdefault(name, []).append(OTHER)


def _bind_all(target: ir.Expr, scope: Scope) -> None:
    if type(target) is ir.Name:
        _bind(scope, target.id)
    elif type(target) is ir.ListDisplay:
        for item in target.items:
            _bind_all(item, scope)
    elif type(target) is ir.Starred:
        _bind_all(target.value, scope)
