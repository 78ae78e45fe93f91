"""Every mention of a covered library in a file: its imports, the dotted names that are read, and the calls.

One pass over a file's bodies. What a mention means is left to ``link.library_scopes``; who judges it needs the place,
the meanings, and of a call how its arguments are shifted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.library_objects import Derived, LibraryObjects
from distlint.link.library_scopes import LibraryScopes, Meaning, imported_module
from distlint.link.mention_index import MentionIndex
from distlint.link.modules import ClassRef
from distlint.link.walking import below, bodies_of, children, expressions_of, statements
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.launch import Run

_PARTIALS = frozenset({"functools.partial", "functools.partialmethod"})


class Mention(NamedTuple):
    """One place that names something of a library.

    ``kind`` is ``import``, ``name`` or ``call``. ``module`` is, for ``from module import name``, how much of the name
    is the module. Of a call, ``shift`` is the number of parameters that are given unseen (``self`` of a method that is
    called on an object), ``skip`` the number of written arguments that are none (the function of ``partial``, ``self``
    written out), and ``whole`` says that no further argument can come.
    """

    kind: str
    meanings: tuple[Meaning, ...]
    file: str
    at: ir.Position
    function: int
    item: ir.Import | None = None
    module: str = ""
    call: ir.Call | None = None
    shift: int = 0
    skip: int = 0
    whole: bool = True
    loose: bool = False
    """Whether only its keywords are sure to be the library's."""
    own_fields: frozenset[str] = frozenset()
    """Keywords that a class of the project between the call and the library takes itself."""
    member: bool = False
    """Whether it is about an attribute of an object, which the class of the object has or lacks."""
    indirect: bool = False
    """Whether the call is written as one of something else: ``partial``, a class of the project, ``super().__init__``."""
    lent: bool = False
    """Whether it is about a field that the class in the text has of a base in another package."""
    declared: bool = False
    """Whether the object's class is known by an annotation or a test, so that it may as well be one derived from it."""
    looked_up: bool = False
    """Whether a table, or a module by a name, holds what is called, so that the text does not say what it is."""
    run: Run | None = None
    """The run that decides it, if there is one."""
    spread: tuple[str, ...] = ()
    """Keywords that the run was seen to give besides those that stand in the call."""

    @property
    def name(self) -> str:
        """The dotted name, where there is one meaning."""
        return self.meanings[0].name

    @property
    def span(self) -> Span:
        """The place as a span."""
        return ir.unpack(self.at, self.file)


class Mentions:
    """The mentions of each file, found once; ``tops`` are the top-level modules of the covered libraries."""

    def __init__(self, project: Project, tops: frozenset[str]) -> None:
        self.project = project
        self.scopes = LibraryScopes(project, tops)
        self.objects = LibraryObjects(project, self.scopes)
        self._by_file: dict[str, tuple[Mention, ...]] = {}

    def all(self) -> Iterator[Mention]:
        """Every mention of the project, by file and place."""
        for file in self.files:
            yield from self.of(file)

    @cached_property
    def index(self) -> MentionIndex:
        """The same by their names."""
        return MentionIndex(self.all())

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The files that can mention a library: those that import it, or import from one that does."""
        importing = {file for file in self.project.python_files if self._imports_library(file)}
        return tuple(
            file
            for file in self.project.python_files
            if file in importing or (importing and not importing.isdisjoint(self.project.imports(file)))
        )

    def _imports_library(self, file: str) -> bool:
        module = self.project.module(file)
        tops = self.scopes.tops
        if any(not item.level and item.module.partition(".")[0] in tops for item in module.imports):
            return True
        return "import_module" in module.calls

    def of(self, file: str) -> tuple[Mention, ...]:
        """The mentions in a file, in the order of the text."""
        if file not in self._by_file:
            found = _FileWalk(self.project, self.objects, file).mentions()
            self._by_file[file] = tuple(sorted(found, key=lambda mention: mention.at))
        return self._by_file[file]


class _FileWalk:
    def __init__(self, project: Project, objects: LibraryObjects, file: str) -> None:
        self.project = project
        self.objects = objects
        self.scopes = objects.scopes
        self.types = objects.types
        self.file = file
        self.module = project.module(file)
        self.found: list[Mention] = []
        self._roots: dict[tuple[str, int], bool] = {}
        self._imported = frozenset(item.alias for item in self.module.imports)
        self._hidden: list[frozenset[str]] = []

    def mentions(self) -> list[Mention]:
        self._imports()
        for function, body in bodies_of(self.module):
            for statement in statements(body):
                self._statement(statement, function)
        postponed = any(item.module == "__future__" and item.name == "annotations" for item in self.module.imports)
        for definition in self.module.functions:
            outside = definition.parent
            for expr in definition.decorators:
                self._expression(expr, outside)
            for parameter in definition.parameters:
                if parameter.default is not None:
                    self._expression(parameter.default, outside)
                if parameter.annotation is not None and not postponed:
                    self._expression(parameter.annotation, outside)
        for owner in self.module.classes:
            for expr in (*owner.decorators, *owner.bases, *(keyword.value for keyword in owner.keywords)):
                self._expression(expr, owner.parent)
        return self.found

    # Imports -----------------------------------------------------------------------------------------------------

    def _imports(self) -> None:
        for function, body in bodies_of(self.module):
            for statement in statements(body):
                if type(statement) is ir.Import:
                    self._import(statement, function)

    def _import(self, item: ir.Import, function: int) -> None:
        if item.level or not item.module:
            return
        full = item.module if not item.name or item.name == "*" else f"{item.module}.{item.name}"
        if self.scopes.is_library(full, self.file):
            meaning = Meaning(full, self.file, item.at)
            self.found.append(
                Mention("import", (meaning,), self.file, item.at, function, item=item, module=item.module)
            )

    # Statements --------------------------------------------------------------------------------------------------

    def _statement(self, statement: ir.Stmt, function: int) -> None:
        if type(statement) is ir.Assign:
            for target in statement.targets:
                # What is stored into is not read; what is in front of it is.
                self._expression(target.base if type(target) is ir.Attribute else target, function)
            if statement.value is not None:
                self._expression(statement.value, function)
            return
        if type(statement) is ir.Try:
            for caught, _, _ in statement.handlers:
                if caught is not None:
                    self._expression(caught, function)
            return
        for expr in expressions_of(statement):
            self._expression(expr, function)

    # Expressions -------------------------------------------------------------------------------------------------

    def _expression(self, expr: ir.Expr, function: int) -> None:
        stack: list[ir.Expr] = [expr]
        while stack:
            part = stack.pop()
            kind = type(part)
            if kind is ir.Constant:
                continue
            if kind is ir.Name:
                self._bare(part, function)  # type: ignore[arg-type]
            elif kind is ir.Attribute:
                if not self._dotted(part, function):
                    self._member(part, function)  # type: ignore[arg-type]
                    stack.append(part.base)  # type: ignore[union-attr]
            elif kind is ir.Call:
                stack.extend(self._call(part, function))  # type: ignore[arg-type]
            elif kind is ir.Lambda:
                hidden = frozenset(parameter.name for parameter in part.parameters)  # type: ignore[union-attr]
                self._inside(hidden, [part.body], function)  # type: ignore[union-attr]
            elif kind is ir.Comprehension:
                hidden = frozenset(
                    name
                    for target, _, _ in part.generators  # type: ignore[union-attr]
                    for name in _names_in(target)
                )
                self._inside(hidden, list(children(part)), function)
            else:
                stack.extend(children(part))

    def _inside(self, hidden: frozenset[str], parts: list[ir.Expr], function: int) -> None:
        self._hidden.append(hidden)
        for part in parts:
            self._expression(part, function)
        self._hidden.pop()

    def _meanings(self, expr: ir.Expr, function: int) -> tuple[Meaning, ...]:
        root: ir.Expr = expr
        first: ir.Expr | None = None
        while type(root) is ir.Attribute:
            root, first = root.base, root
        if type(root) is not ir.Name and type(root) is not ir.Call:
            return ()
        if type(root) is ir.Name:
            if any(root.id in hidden for hidden in self._hidden):
                return ()
            if not self._may_be_library(root.id, function):
                if type(first) is not ir.Attribute or not self.scopes.is_held(first, self.file, function):
                    return ()
        return self.scopes.meanings(expr, self.file, function)

    def _may_be_library(self, name: str, function: int) -> bool:
        """Whether a name of a body stands for something of a library, or for a module that may pass it on."""
        key = (name, function)
        if key not in self._roots:
            self._roots[key] = name in self._imported or bool(self.scopes.imported_name(name, self.file, function))
        return self._roots[key]

    def _bare(self, name: ir.Name, function: int) -> None:
        if self.scopes.scope(self.file, -1).stars:
            meanings = self._meanings(name, function)
            if meanings and meanings[0].star:
                self.found.append(Mention("name", meanings, self.file, name.at, function))

    def _dotted(self, expr: ir.Expr, function: int) -> bool:
        meanings = self._meanings(expr, function)
        if meanings:
            self.found.append(Mention("name", meanings, self.file, expr.at, function))
        return bool(meanings)

    def _call(self, call: ir.Call, function: int) -> list[ir.Expr]:
        """Adds what a call mentions; gives the parts that are still to be looked at."""
        rest: list[ir.Expr] = [*call.args, *(keyword.value for keyword in call.keywords)]
        func = call.func
        module = imported_module(self.project, call, self.file)
        if module:
            if self.scopes.is_library(module, self.file):
                meaning = Meaning(module, self.file, call.at)
                self.found.append(Mention("import", (meaning,), self.file, call.at, function, module=module))
            return rest
        if type(func) is ir.Name and func.id == "getattr":
            meanings = self._meanings(call, function)
            if meanings:
                self.found.append(Mention("name", meanings, self.file, call.at, function))
            return rest
        meanings = self._meanings(func, function)
        if meanings:
            self.found.append(_call_mention(meanings, call, self.file, function))
            # A name that an import binds is judged there.
            if type(func) is not ir.Name or meanings[0].star:
                self.found.append(Mention("name", meanings, self.file, func.at, function))
            return rest
        if call.args and self.project.modules.dotted(func, self.file) in _PARTIALS:
            inner = self._meanings(call.args[0], function)
            if inner:
                mention = _call_mention(inner, call, self.file, function)
                self.found.append(mention._replace(skip=mention.skip + 1, whole=False, indirect=True))
            return rest
        if type(func) is ir.Attribute:
            self._method(func, call, function)
        elif type(func) is ir.Name:
            self._derived_call(func, call, function)
        return [func, *rest]

    # Objects -----------------------------------------------------------------------------------------------------

    def _member(self, expr: ir.Attribute, function: int) -> None:
        """An attribute of an object of a library's class."""
        owner, declared = self._owner(expr, function)
        if owner:
            found = tuple(meaning._replace(name=f"{meaning.name}.{expr.name}") for meaning in owner)
            self.found.append(Mention("name", found, self.file, expr.at, function, member=True, declared=declared))

    def _method(self, func: ir.Attribute, call: ir.Call, function: int) -> None:
        owner, declared = self._owner(func, function)
        if not owner:
            return
        if func.name == "__init__":
            self.found.append(Mention("call", owner, self.file, call.at, function, call=call, indirect=True))
        else:
            found = tuple(meaning._replace(name=f"{meaning.name}.{func.name}") for meaning in owner)
            mention = Mention("call", found, self.file, call.at, function, call=call, member=True, declared=declared)
            self.found.append(mention)

    def _owner(self, expr: ir.Attribute, function: int) -> tuple[tuple[Meaning, ...], bool]:
        """The library class whose attribute ``object.name`` is, and whether only a declaration says so."""
        base = expr.base
        if type(base) is ir.Name and base.id == self.objects.own_name(self.file, function):
            derived = self.objects.enclosing(self.file, function)
            if derived is None or self.objects.is_open(derived) or self._may_be_own(expr.name):
                return (), False
            return derived.base, False
        if type(base) is ir.Call and type(base.func) is ir.Name and base.func.id == "super":
            derived = self.objects.enclosing(self.file, function)
            if derived is None or self.objects.defines(derived, expr.name, above=True):
                return (), False
            return derived.base, False
        if type(base) not in (ir.Name, ir.Attribute, ir.Call) or self.project.is_stored(expr.name):
            return (), False
        root = base.func if type(base) is ir.Call else base
        while type(root) is ir.Attribute:
            root = root.base
        if any(type(root) is ir.Name and root.id in hidden for hidden in self._hidden):
            return (), False
        made = self.objects.made_by(base, self.file, function, expr.name)
        if made and not self.objects.may_be_below(made):
            return made, False
        declared = made or self.types.of(base, self.file, function)
        return (declared, True) if declared and not self.objects.may_define(expr.name, declared) else ((), False)

    def _may_be_own(self, name: str) -> bool:
        """Whether the project itself gives some object an attribute of this name."""
        return (
            name in self.project.function_names
            or self.project.is_stored(name)
            or any(name in self.objects.fields(ClassRef(self.file, index)) for index in range(len(self.module.classes)))
        )

    def _derived_call(self, func: ir.Name, call: ir.Call, function: int) -> None:
        """The making of an object whose class derives from a library's and leaves its arguments to that."""
        target = self.project.modules.resolve(func, self.file)
        derived = self.objects.derived(target) if isinstance(target, ClassRef) else None
        if derived is None or self.objects.is_open(derived):
            return
        own = self.objects.all_fields(derived)
        initializer = self.objects.initializer(derived)
        whole = not own
        if initializer is not None:
            taken = self._passed_on(derived)
            if taken is None:
                return
            own, whole = own | taken, False
        mention = Mention("call", derived.base, self.file, call.at, function, call=call, own_fields=own, whole=whole)
        self.found.append(mention._replace(loose=not whole, indirect=True))

    def _passed_on(self, derived: Derived) -> frozenset[str] | None:
        """The parameters that ``__init__`` takes itself, where it hands all other keywords to the library's.

        ``None`` where it does not, or where several classes come in between.
        """
        ref = self.objects.initializer(derived)
        if ref is None or self.objects.defines(derived, "__init__", above=True):
            return None
        definition = self.project.function(ref)
        rest = [one.name for one in definition.parameters if one.kind == "var-keyword"]
        if not rest or definition.owner != derived.owner.index or ref.file != derived.owner.file:
            return None
        module = self.project.module(ref.file)
        for site in module.calls.get("__init__", ()):
            base = site.call.func.base if type(site.call.func) is ir.Attribute else None
            is_super = type(base) is ir.Call and type(base.func) is ir.Name and base.func.id == "super"
            if site.function == ref.index and is_super and self._is_untouched(definition, rest[0]):
                spread = [one.value for one in site.call.keywords if one.name is None]
                if len(spread) == 1 and type(spread[0]) is ir.Name and spread[0].id == rest[0]:
                    own = {one.name for one in definition.parameters}
                    return frozenset(own)
        return None

    def _is_untouched(self, definition: ir.Function, name: str) -> bool:
        """Whether a function hands its ``**name`` on as it got it, as far as its body shows."""
        uses = 0
        for statement in statements(definition.body):
            for expr in expressions_of(statement):
                uses += sum(type(part) is ir.Name and part.id == name for part in below(expr))
        return uses == 1


def _call_mention(meanings: tuple[Meaning, ...], call: ir.Call, file: str, function: int) -> Mention:
    """The call of a name; ``Class.__init__(self, ...)`` is that of the class."""
    if all(meaning.name.endswith(".__init__") for meaning in meanings):
        bare = tuple(meaning._replace(name=meaning.name.removesuffix(".__init__")) for meaning in meanings)
        return Mention("call", bare, file, call.at, function, call=call, skip=1, indirect=True)
    return Mention("call", meanings, file, call.at, function, call=call)


def _names_in(target: ir.Expr) -> Iterator[str]:
    stack = [target]
    while stack:
        part = stack.pop()
        if type(part) is ir.Name:
            yield part.id
        stack.extend(children(part))
