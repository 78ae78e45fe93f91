"""Objects of library classes, and project classes that derive from one: what their attributes and methods are of.

Only what is sure counts: an object that one call made, a class with a single base outside of the project.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.library_holders import holders_of
from distlint.link.library_scopes import LibraryScopes, Meaning
from distlint.link.library_types import LibraryTypes
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

_PLAIN_BASES = frozenset({"object", "abc.ABC", "typing.Generic", "typing.Protocol"})
_OPEN_METHODS = frozenset({"__getattr__", "__getattribute__", "__new__"})


class Derived(NamedTuple):
    """A project class with its only base outside of the project, and its own classes up to there."""

    owner: ClassRef
    base: tuple[Meaning, ...]
    own: tuple[ClassRef, ...]


class LibraryObjects:
    """Answers for a project; they are remembered."""

    def __init__(self, project: Project, scopes: LibraryScopes) -> None:
        self.project = project
        self.scopes = scopes
        self.types = LibraryTypes(project, scopes)
        self._derived: dict[ClassRef, Derived | None] = {}
        self._open: dict[ClassRef, bool] = {}
        self._fields: dict[ClassRef, frozenset[str]] = {}
        self._known_members: dict[ClassRef, frozenset[str]] = {}

    # Classes -----------------------------------------------------------------------------------------------------

    def derived(self, owner: ClassRef) -> Derived | None:
        """How a class derives from a library's; ``None`` where it does not, or not from one known class alone."""
        if owner not in self._derived:
            self._derived[owner] = self._find_base(owner)
        return self._derived[owner]

    def _find_base(self, owner: ClassRef) -> Derived | None:
        own = self.project.modules.ancestry(owner)
        outside: dict[tuple[Meaning, ...], None] = {}
        for one in own:
            definition = self.project.class_(one)
            if definition.keywords:
                return None
            for base in definition.bases:
                target = self.project.modules.resolve(base, one.file)
                if isinstance(target, ClassRef):
                    continue
                plain = base.base if type(base) is ir.Subscript else base
                if self._is_plain(plain, one.file):
                    continue
                meanings = self.scopes.meanings(plain, one.file, definition.parent)
                if not meanings:
                    return None
                outside[meanings] = None
        if len(outside) != 1:
            return None
        return Derived(owner, next(iter(outside)), own)

    def _is_plain(self, base: ir.Expr, file: str) -> bool:
        if type(base) is ir.Name and base.id == "object":
            return True
        return self.project.modules.dotted(base, file) in _PLAIN_BASES

    def defines(self, derived: Derived, name: str, *, above: bool = False) -> bool:
        """Whether one of the project's own classes defines a method or attribute; ``above`` leaves the first out."""
        return any(name in self._members(one) for one in (derived.own[1:] if above else derived.own))

    def _members(self, owner: ClassRef) -> frozenset[str]:
        """The names of a class's methods, and those that its body binds."""
        if owner not in self._known_members:
            self._known_members[owner] = self.fields(owner) | self.project.modules.own_methods(owner).keys()
        return self._known_members[owner]

    def may_define(self, name: str, base: tuple[Meaning, ...]) -> bool:
        """Whether a class of the project that may derive from a library's defines an attribute of this name."""
        return any(
            self.project.class_(owner).bases
            and (
                (derived := self.derived(owner)) is None or derived.base == base or derived.base[0].name == base[0].name
            )
            for owner in self._definers.get(name, ())
        )

    @cached_property
    def _definers(self) -> dict[str, list[ClassRef]]:
        """The project's classes by the names of their methods and of what their bodies bind."""
        found: dict[str, list[ClassRef]] = {}
        for file in self.project.python_files:
            for index in range(len(self.project.module(file).classes)):
                owner = ClassRef(file, index)
                for name in self._members(owner):
                    found.setdefault(name, []).append(owner)
        return found

    def fields(self, owner: ClassRef) -> frozenset[str]:
        """The names that a class's body binds by assignment or annotation."""
        if owner not in self._fields:
            self._fields[owner] = frozenset(
                target.id
                for statement in statements(self.project.class_(owner).body)
                if type(statement) is ir.Assign
                for target in statement.targets
                if type(target) is ir.Name
            )
        return self._fields[owner]

    def all_fields(self, derived: Derived) -> frozenset[str]:
        """The same for all of the project's own classes up to the library's."""
        return frozenset(name for one in derived.own for name in self.fields(one))

    def is_open(self, derived: Derived) -> bool:
        """Whether attributes of the class's objects, or how they are made, are not to be seen."""
        if derived.owner not in self._open:
            self._open[derived.owner] = any(self.defines(derived, name) for name in _OPEN_METHODS)
        return self._open[derived.owner]

    def enclosing(self, file: str, function: int) -> Derived | None:
        """For a method (or a function inside one): how its class derives."""
        module = self.project.module(file)
        while function >= 0:
            if module.functions[function].owner >= 0:
                return self.derived(ClassRef(file, module.functions[function].owner))
            function = module.functions[function].parent
        return None

    def own_name(self, file: str, function: int) -> str:
        """What the method around a place calls its object (``self``); ``""`` for static and class methods."""
        module = self.project.module(file)
        while function >= 0:
            one = module.functions[function]
            if one.owner >= 0:
                names = {expr.id for expr in one.decorators if type(expr) is ir.Name}
                plain = one.parameters and not names & {"staticmethod", "classmethod"}
                return one.parameters[0].name if plain else ""
            function = one.parent
        return ""

    def initializer(self, derived: Derived) -> FunctionRef | None:
        """The ``__init__`` that the project's own classes define."""
        return self.project.modules.method(derived.owner, "__init__")

    # Objects -----------------------------------------------------------------------------------------------------

    @cached_property
    def holders(self) -> frozenset[str]:
        """The last names of variables and attributes that somewhere hold an object of a covered library's class."""
        return holders_of(self.project, self.scopes)

    def made_by(self, expr: ir.Expr, file: str, function: int, member: str = "") -> tuple[Meaning, ...]:
        """The library class or function whose call surely made an object; ``()`` where that is not known.

        For an object of a project class that derives from a library's, and has no ``member`` of its own: the latter.
        """
        if type(expr) is ir.Call:
            found = self.scopes.meanings(expr.func, file, function)
            if found:
                return self._result(found, found[0].name if len(found) == 1 else "", ())
            target = self.project.modules.resolve(expr.func, file)
            if not isinstance(target, (ClassRef, FunctionRef)):
                return ()
        else:
            last = expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""
            if last not in self.holders:
                return ()
        from distlint.link.abstract import Instance
        from distlint.link.modules import External

        made = self.project.evaluator(None).ask(expr, file, function)
        if not isinstance(made, Instance):
            return ()
        if isinstance(made.callee, ClassRef):
            return self._inherited(made.callee, member) if member and not made.part else ()
        if not isinstance(made.callee, External):
            return ()
        found = self.scopes.meanings(made.call.func, made.frame.file, made.frame.function)
        return self._result(found, made.callee.name, made.part)

    def _result(self, found: tuple[Meaning, ...], name: str, part: tuple[int | str, ...]) -> tuple[Meaning, ...]:
        known = self._results.get((name, part))
        if known is not None:
            return tuple(meaning._replace(name=known) for meaning in found[:1])
        return found if not part else ()

    def _inherited(self, owner: ClassRef, member: str) -> tuple[Meaning, ...]:
        """The library class that a project class leaves a member to."""
        derived = self.derived(owner)
        if derived is None or self.is_open(derived) or self.defines(derived, member):
            return ()
        return derived.base if not any(self.project.class_(one).decorators for one in derived.own) else ()

    def may_be_below(self, made: tuple[Meaning, ...]) -> bool:
        """Whether an object of a class may as well be of one below it, as what a function returns as a whole."""
        returned = {known for (_, part), known in self._results.items() if not part}
        return any(meaning.name in returned for meaning in made)

    @cached_property
    def _results(self) -> dict[tuple[str, tuple[int | str, ...]], str]:
        """The classes of what library functions return, by the function and the part of its result."""
        return {(name, part): made for spec in self.project.specs for name, part, made in spec.results}
