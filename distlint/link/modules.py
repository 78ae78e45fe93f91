"""Which file a module name means, and what a name in a file refers to.

Names are resolved with the imports and definitions of a file, across re-exports, without importing anything. A name
of a library is a dotted string; a name of the project is a file with an index into its definitions.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import field

from distlint.model import python as ir
from distlint.model.facts import FileFacts
from distlint.model.record import dataclass

MAX_HOPS = 12
"""Re-exports are followed so far; import cycles end there."""


@dataclass(frozen=True, slots=True)
class External:
    """Something of a library, by its dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A module of the project."""

    file: str


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A function or method of the project: ``facts[file].module.functions[index]``."""

    file: str
    index: int


@dataclass(frozen=True, slots=True)
class ClassRef:
    """A class of the project: ``facts[file].module.classes[index]``."""

    file: str
    index: int


@dataclass(frozen=True, slots=True)
class GlobalRef:
    """A module-level variable of the project."""

    file: str
    name: str


Target = External | ModuleFile | FunctionRef | ClassRef | GlobalRef


@dataclass(slots=True)
class Bindings:
    """What the module-level names of a file are bound to, and which modules it takes all names from."""

    names: dict[str, ir.Import | ir.Define | None] = field(default_factory=dict)
    """``None`` for a plain variable."""
    stars: list[ir.Import] = field(default_factory=list)


class ModuleTable:
    """Resolves modules and names over all facts of a project."""

    def __init__(
        self,
        facts: Mapping[str, FileFacts],
        paths: Collection[str],
        canonical: Mapping[str, str],
        read_more: Callable[[str], FileFacts | None],
        text_of: Callable[[str], str],
    ) -> None:
        self._facts = facts
        self._paths = paths
        self._canonical = canonical
        self._read_more = read_more
        self._text_of = text_of
        self._late: set[str] = set()
        self._imports: dict[str, tuple[ir.Import, ...]] = {}
        self._ancestries: dict[ClassRef, tuple[ClassRef, ...]] = {}
        self._methods: dict[str, dict[int, dict[str, int]]] = {}
        self._external_bases: dict[ClassRef, frozenset[str]] = {}
        self._names: dict[tuple[str, str, bool], Target | None] = {}
        self._bindings: dict[str, Bindings] = {}
        self._found: dict[tuple[str, str], str | None] = {}

    def module(self, file: str) -> ir.Module | None:
        """The facts of a Python file, reading it now if triage had left it out."""
        facts = self._facts.get(file)
        if facts is None:
            facts = self._read_more(file)
            self._late.add(file)
        return facts.module if facts is not None else None

    def imports(self, file: str) -> tuple[ir.Import, ...]:
        """The imports of a file.

        Of one that triage left out only these are read: it holds no framework's name itself, but may pass one on.
        """
        facts = self._facts.get(file)
        if facts is not None or file in self._late:
            module = self.module(file)
            return module.imports if module is not None else ()
        if file not in self._imports:
            self._imports[file] = scan_imports(self._text_of(file))
        return self._imports[file]

    def canonical(self, name: str) -> str:
        """The name that rules use for something reachable under several names."""
        return self._canonical.get(name, name)

    def find(self, dotted: str, importer: str, level: int = 0) -> str | None:
        """The project file that a module name means when ``importer`` imports it, or ``None`` for a library's module.

        Absolute names are searched from the importer's folder upwards and in ``src`` folders on the way, as running a
        script from its folder, from the root, or an installed package would find them.
        """
        key = (f"{'.' * level}{dotted}", importer.rpartition("/")[0])
        if key not in self._found:
            self._found[key] = self._find(dotted, key[1], level)
        return self._found[key]

    def _find(self, dotted: str, folder: str, level: int) -> str | None:
        tail = dotted.replace(".", "/")
        if level:
            for _ in range(level - 1):
                folder = folder.rpartition("/")[0]
            return self._file_of(f"{folder}/{tail}".strip("/") if tail else folder)
        while True:
            for base in (folder, f"{folder}/src" if folder else "src"):
                found = self._file_of(f"{base}/{tail}" if base else tail)
                if found is not None:
                    return found
            if not folder:
                return None
            folder = folder.rpartition("/")[0]

    def _file_of(self, stem: str) -> str | None:
        for candidate in (f"{stem}/__init__.py" if stem else "__init__.py", f"{stem}.py"):
            if candidate in self._paths:
                return candidate
        return None

    def bindings(self, file: str) -> Bindings:
        """What the names of a file's module level are bound to; imports inside functions count for the whole file."""
        if file not in self._bindings:
            self._bindings[file] = _collect_bindings(self.module(file))
        return self._bindings[file]

    def _light_bindings(self, file: str) -> Bindings:
        """The imports of a file that triage left out, without its definitions."""
        return _imported_names(self.imports(file))

    def lookup(self, name: str, file: str, *, library: bool = False) -> Target | None:
        """What a module-level name of a file refers to; ``None`` if the file does not bind it or it can't be told.

        With ``library`` only the names of libraries matter: what files define that triage left out is not looked at.
        """
        key = (name, file, library)
        if key not in self._names:
            self._names[key] = self._lookup(name, file, set(), library)
        return self._names[key]

    def _lookup(self, name: str, file: str, seen: set[tuple[str, str]], library: bool, hops: int = 0) -> Target | None:
        """The same within one search: ``seen`` are the names looked up so far, since star imports fan out and meet."""
        if hops > MAX_HOPS or (name, file) in seen:
            return None
        seen.add((name, file))
        bindings = self._light_bindings(file) if library and file not in self._facts else self.bindings(file)
        if name in bindings.names:
            bound = bindings.names[name]
            over = self._put_over(name, bound, bindings.stars, file) if bindings.stars and bound is not None else None
            if over is not None:
                return self._lookup(name, over, seen, library, hops + 1)
            if bound is None:
                return GlobalRef(file, name)
            if isinstance(bound, ir.Define):
                return FunctionRef(file, bound.index) if bound.kind == "function" else ClassRef(file, bound.index)
            return self._imported(bound, file, seen, library, hops)
        for star in bindings.stars:
            source = self.find(star.module, file, star.level)
            if source is not None and source != file:
                found = self._lookup(name, source, seen, library, hops + 1)
                if found is not None:
                    return found
        return self._of_library(name, bindings.stars, file)

    def _of_library(self, name: str, stars: list[ir.Import], file: str) -> External | None:
        """The name of a library that ``from module import *`` gives, where no later one of an unknown module may give another."""
        if name.startswith("_") or hasattr(builtins, name):
            return None
        from distlint.knowledge.api import api

        for star in reversed(stars):
            if self.find(star.module, file, star.level) is not None:
                continue
            if star.level or api().package_of(star.module.partition(".")[0]) is None:
                return None
            if api().history(f"{star.module}.{name}"):
                return External(self.canonical(f"{star.module}.{name}"))
        return None

    def _put_over(self, name: str, bound: ir.Import | ir.Define, stars: list[ir.Import], file: str) -> str | None:
        """The module of the project from which a later ``import *`` takes a name that something else was bound to before."""
        at = bound.statement_at if isinstance(bound, ir.Import) else bound.at
        for star in reversed(stars):
            source = self.find(star.module, file, star.level) if star.statement_at > at > 0 else None
            if source is not None and source != file and self._gives(source, name):
                return source
        return None

    def _gives(self, file: str, name: str) -> bool:
        """Whether ``import *`` from a file certainly binds a name."""
        facts = self._facts.get(file)
        module = facts.module if facts is not None else None
        if module is None or name not in self.bindings(file).names:
            return False
        listed = [one.value for one in module.body if type(one) is ir.Assign and _is_named(one.targets, "__all__")]
        if not listed:
            return not name.startswith("_")
        items = listed[-1].items if isinstance(listed[-1], ir.ListDisplay) else ()
        return any(type(one) is ir.Constant and one.value == name for one in items)

    def imported(self, item: ir.Import, file: str) -> Target | None:
        """What one name of an import statement refers to."""
        return self._imported(item, file, set(), library=False, hops=0)

    def _imported(
        self, item: ir.Import, file: str, seen: set[tuple[str, str]], library: bool, hops: int
    ) -> Target | None:
        if not item.name:
            whole = item.module if item.alias != item.module.split(".")[0] else item.alias
            found = self.find(whole, file)
            if found is not None:
                return ModuleFile(found)
            return External(self.canonical(whole))
        source = self.find(item.module, file, item.level)
        if source is not None:
            inner = self._lookup(item.name, source, seen, library, hops + 1)
            if inner is not None:
                return inner
            submodule = self.find(f"{item.module}.{item.name}" if item.module else item.name, file, item.level)
            return ModuleFile(submodule) if submodule is not None else None
        if item.level == 0:
            submodule = self.find(f"{item.module}.{item.name}", file)
            if submodule is not None:
                return ModuleFile(submodule)
            return External(self.canonical(f"{item.module}.{item.name}"))
        submodule = self.find(f"{item.module}.{item.name}" if item.module else item.name, file, item.level)
        return ModuleFile(submodule) if submodule is not None else None

    def attribute(self, target: Target, name: str, *, library: bool = False) -> Target | None:
        """What an attribute of a resolved name refers to; ``library`` as in ``lookup``."""
        if isinstance(target, External):
            return External(self.canonical(f"{target.name}.{name}"))
        if isinstance(target, ModuleFile):
            inner = self.lookup(name, target.file, library=library)
            if inner is not None:
                return inner
            if target.file.endswith("/__init__.py"):
                found = self._file_of(f"{target.file[: -len('/__init__.py')]}/{name}")
                return ModuleFile(found) if found is not None else None
            return None
        if isinstance(target, ClassRef):
            return self.method(target, name)
        return None

    def method(self, owner: ClassRef, name: str) -> FunctionRef | None:
        """A method of a class or of its bases in the project: the first that a search in depth comes to."""
        for one in self.ancestry(owner):
            index = self.own_methods(one).get(name)
            if index is not None:
                return FunctionRef(one.file, index)
        return None

    def own_methods(self, owner: ClassRef) -> Mapping[str, int]:
        """The functions in the body of a class, by name; of several with one name the first."""
        if owner.file not in self._methods:
            module = self.module(owner.file)
            if module is None:
                return {}
            found: dict[int, dict[str, int]] = {}
            for index, function in enumerate(module.functions):
                if function.owner >= 0:
                    found.setdefault(function.owner, {}).setdefault(function.name, index)
            self._methods[owner.file] = found
        return self._methods[owner.file].get(owner.index, {})

    def ancestry(self, owner: ClassRef) -> tuple[ClassRef, ...]:
        """A class and its bases in the project, as a search in depth comes to them."""
        if owner not in self._ancestries:
            found: dict[ClassRef, None] = {}
            stack = [owner]
            while stack:
                one = stack.pop()
                if one in found or self.module(one.file) is None:
                    continue
                found[one] = None
                stack.extend(base for base in reversed(self._bases(one)) if isinstance(base, ClassRef))
            self._ancestries[owner] = tuple(found)
        return self._ancestries[owner]

    def _bases(self, owner: ClassRef) -> list[Target | None]:
        return [self.resolve(base, owner.file) for base in self._base_exprs(owner)]

    def _base_exprs(self, owner: ClassRef) -> tuple[ir.Expr, ...]:
        module = self.module(owner.file)
        return module.classes[owner.index].bases if module is not None else ()

    def derives_from_builtin(self, owner: ClassRef) -> bool:
        """Whether a class is a string or a number as well (``class Mode(str, Enum)``)."""
        module = self.module(owner.file)
        bases = module.classes[owner.index].bases if module is not None else ()
        return any(type(base) is ir.Name and base.id in ("str", "int", "float") for base in bases)

    def external_bases(self, owner: ClassRef) -> frozenset[str]:
        """The dotted names of the library classes that a project class derives from, however far up."""
        if owner not in self._external_bases:
            bases = (base for one in self.ancestry(owner) for base in self._bases(one))
            self._external_bases[owner] = frozenset(base.name for base in bases if isinstance(base, External))
        return self._external_bases[owner]

    def has_unknown_base(self, owner: ClassRef) -> bool:
        """Whether a project class derives, however far up, from something that can't be told."""
        return any(
            base is None and not (type(expr) is ir.Name and expr.id == "object")
            for one in self.ancestry(owner)
            for base, expr in zip(self._bases(one), self._base_exprs(one), strict=True)
        )

    def resolve(self, expr: ir.Expr, file: str, *, library: bool = False) -> Target | None:
        """What a dotted expression refers to, by module-level names alone; ``library`` as in ``lookup``.

        The evaluator knows variables as well.
        """
        if isinstance(expr, ir.Name):
            return self.lookup(expr.id, file, library=library)
        if isinstance(expr, ir.Attribute):
            base = self.resolve(expr.base, file, library=library)
            return self.attribute(base, expr.name, library=library) if base is not None else None
        return None

    def dotted(self, expr: ir.Expr, file: str) -> str:
        """The library name that an expression stands for (``torch.distributed.barrier``), or ``""``."""
        target = self.resolve(expr, file, library=True)
        return target.name if isinstance(target, External) else ""


_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)|import[ \t]+([^\n#;]+))", re.MULTILINE
)
_COMMENT = re.compile(r"#[^\n]*")


def scan_imports(text: str) -> tuple[ir.Import, ...]:
    """The imports of a Python text, found without parsing it: without places, and with those that stand in strings."""
    found = []
    for dots, module, names, plain in _IMPORT.findall(text):
        for part in _COMMENT.sub("", (names or plain).strip("()").replace("\\\n", " ")).split(","):
            words = part.split()
            if len(words) not in (1, 3):
                continue
            name, alias = words[0], words[-1]
            if plain:
                found.append(ir.Import(*ir.imported_name(name, alias if len(words) == 3 else None), 0, 0, 0))
            else:
                found.append(ir.Import(alias, module, name, len(dots), 0, 0))
    return tuple(found)


def _is_named(targets: tuple[ir.Expr, ...], name: str) -> bool:
    return any(type(one) is ir.Name and one.id == name for one in targets)


def _imported_names(imports: tuple[ir.Import, ...]) -> Bindings:
    bindings = Bindings()
    for item in imports:
        if item.name == "*":
            bindings.stars.append(item)
        else:
            bindings.names.setdefault(item.alias, item)
    return bindings


def _collect_bindings(module: ir.Module | None) -> Bindings:
    if module is None:
        return Bindings()
    bindings = _imported_names(module.imports)
    _collect_definitions(module, module.body, bindings)
    return bindings


def _collect_definitions(module: ir.Module, body: tuple[ir.Stmt, ...], bindings: Bindings) -> None:
    for statement in body:
        if type(statement) is ir.Define:
            table = module.functions if statement.kind == "function" else module.classes
            bindings.names[table[statement.index].name] = statement
        elif type(statement) is ir.Assign:
            for target in statement.targets:
                _bind_target(target, bindings)
        elif type(statement) is ir.If:
            _collect_definitions(module, statement.body, bindings)
            _collect_definitions(module, statement.orelse, bindings)
        elif type(statement) is ir.Try:
            _collect_definitions(module, statement.body, bindings)
            for _, _, handler in statement.handlers:
                _collect_definitions(module, handler, bindings)
            _collect_definitions(module, statement.orelse, bindings)
            _collect_definitions(module, statement.final, bindings)
        elif type(statement) in (ir.With, ir.For, ir.While):
            _collect_definitions(module, statement.body, bindings)  # type: ignore[union-attr]
            if type(statement) is ir.For:
                _bind_target(statement.target, bindings)
            if type(statement) is ir.With:
                for _, bound in statement.items:
                    if bound is not None:
                        _bind_target(bound, bindings)


def _bind_target(target: ir.Expr, bindings: Bindings) -> None:
    if type(target) is ir.Name:
        # A variable that shadows an import or a definition (``X = None`` in an ``except ImportError``) does not replace
        # it.
        bindings.names.setdefault(target.id, None)
    elif type(target) is ir.ListDisplay:
        for item in target.items:
            _bind_target(item, bindings)
    elif type(target) is ir.Starred:
        _bind_target(target.value, bindings)
