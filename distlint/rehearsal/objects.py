"""Objects and classes of the project on one process of a rehearsal: attributes, fields, members of enumerations."""

from __future__ import annotations

from typing import Any

from distlint.link.modules import ClassRef, FunctionRef
from distlint.model import python as ir
from distlint.rehearsal import enumerations
from distlint.rehearsal.absent import UNSET
from distlint.rehearsal.entities import (
    OF_FUNCTIONS,
    ClassValue,
    FunctionValue,
    Group,
    LambdaOf,
    Library,
    MethodOf,
    ModuleValue,
    Partial,
    Special,
)
from distlint.rehearsal.merging import evened, merged
from distlint.rehearsal.operations import Operations
from distlint.rehearsal.stage import Scope
from distlint.rehearsal.tables import Attributes
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Made, Table, Thing, derived, escape, is_known

_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})
_VALUES = frozenset({"enum.IntEnum", "enum.StrEnum", "enum.IntFlag"})
_RECORDS = frozenset({"typing.NamedTuple", "collections.namedtuple"})


class Objects(Operations):
    """Says what attributes of objects, classes and modules are."""

    def play(self, body: tuple[ir.Stmt, ...], scope: Scope) -> str:
        """Follows a body."""
        raise NotImplementedError

    def module_variable(self, module: Scope, name: str) -> Any:
        """A variable of a module."""
        raise NotImplementedError

    def item(self, base: Any, index: Any) -> Any:
        """``base[index]``."""
        raise NotImplementedError

    def content_item(self, thing: Thing, values: list[Any]) -> Any:
        """``thing[index]``, or ``thing[index] = value``, of what an object holds as a dictionary or list."""
        raise NotImplementedError

    # Classes -----------------------------------------------------------------------------------------------------

    def class_scope(self, ref: ClassRef) -> Scope:
        """What the body of a class sets, which is followed when somebody asks."""
        stage = self.stage
        module = self.module_scope(ref.file)  # which may define the class just now
        found = stage.classes.get(ref)
        if found is None:
            found = stage.classes[ref] = Scope(ref.file, -1, module)
        if not found.played:
            found.played = True
            contexts, stage.contexts = stage.contexts, []
            reasons, stage.reasons = stage.reasons, []
            try:
                body = stage.project.class_(ref).body
                for part in [(one,) for one in body] if self.is_enumeration(ref) else [body]:
                    self.play(part, found)
                    enumerations.number(self, ref, found.variables)
                self._name_described(ref, found.variables)
            finally:
                stage.contexts = contexts
                stage.reasons = reasons
        return found

    def class_attribute(self, ref: ClassRef, name: str) -> Any:
        """What a class or one of its bases has under a name, as it stands there; ``NotImplemented`` if none does."""
        for one in self.stage.project.modules.ancestry(ref):
            variables = self.class_scope(one).variables
            if name in variables:
                return variables[name]
        return NotImplemented

    def scope_of_method(self, method: FunctionRef) -> Scope | None:
        """The scope around the class of a method, where a function holds it."""
        definition = self.stage.project.function(method)
        around = self.stage.classes.get(ClassRef(method.file, definition.owner))
        return around.outer if around is not None else None

    def _asked(self, found: Special, thing: Thing) -> Any:
        """A property; one that is worked out once becomes an attribute."""
        anywhere = self.module_scope(self.stage.entry)
        call = ir.Call(ir.Constant(None, 0), (), (), 0)
        value = self.apply(_to_object(found.callee, thing), Given([], {}), call, anywhere)
        if found.kind == "cached" and isinstance(found.callee, FunctionValue) and not self.stage.unsure:
            thing.attributes[self.stage.project.function(found.callee.ref).name] = value
        return value

    def bound(self, found: Any, thing: Any) -> Any:
        """A class attribute as it is asked for on an object or on the class itself."""
        if isinstance(found, Special):
            if found.kind == "static":
                return found.callee
            if found.kind == "class":
                return _to_object(found.callee, ClassValue(thing.cls) if isinstance(thing, Thing) else thing)
            if found.kind in ("property", "cached") and isinstance(thing, Thing):
                return self._asked(found, thing)
            return _to_object(found, thing) if isinstance(thing, Thing) and found.kind != "property" else found
        if isinstance(found, Thing) and isinstance(thing, Thing | ClassValue):
            return self._described(found, thing)
        return _to_object(found, thing) if isinstance(thing, Thing) else found

    def _described(self, found: Thing, thing: Thing | ClassValue) -> Any:
        """What stands in a class and says itself what it is for an object of that (``__get__``)."""
        method = self.stage.project.modules.method(found.cls, "__get__")
        if method is None:
            return found
        own = ClassValue(thing.cls) if isinstance(thing, Thing) else thing
        given = Given([thing if isinstance(thing, Thing) else None, own], {})
        return self.call_function(FunctionValue(method, None, found), given, None, self.module_scope(self.stage.entry))

    def _name_described(self, ref: ClassRef, variables: dict[str, Any]) -> None:
        """Tells what stands in a class its name there (``__set_name__``)."""
        for name, value in list(variables.items()):
            method = self.stage.project.modules.method(value.cls, "__set_name__") if isinstance(value, Thing) else None
            if method is not None:
                told = Given([ClassValue(ref), name], {})
                self.call_function(FunctionValue(method, None, value), told, None, self.module_scope(ref.file))

    def is_enumeration(self, ref: ClassRef) -> bool:
        """Whether the objects of a class are the members that its body lists."""
        return bool(self.stage.project.modules.external_bases(ref) & _ENUMS)

    def member(self, ref: ClassRef, name: str) -> Any:
        """A member of an enumeration; ``NotImplemented`` where there is none of that name."""
        scope = self.class_scope(ref)
        if name not in scope.variables or isinstance(scope.variables[name], FunctionValue | Special):
            return NotImplemented
        members = scope.members
        if name not in members:
            thing = members[name] = Thing(ref)
            value = scope.variables[name]
            thing.attributes.update({"name": name, "value": value, "_name_": name, "_value_": value})
        return members[name]

    def members(self, ref: ClassRef) -> list[str]:
        """The names of an enumeration's members."""
        body = self.stage.project.class_(ref).body
        names = [one.targets[0] for one in body if type(one) is ir.Assign and one.value is not None]
        return [name.id for name in names if type(name) is ir.Name and not name.id.startswith("_")]

    def fields_in(self, value: Any) -> list[Any] | None:
        """The items of a named tuple, or the members of an enumeration; ``None`` for everything else."""
        if isinstance(value, ClassValue):
            if not self.is_enumeration(value.ref):
                return None
            return [self.member(value.ref, name) for name in self.members(value.ref)]
        names = value.fields
        if names is None or not self.stage.project.modules.external_bases(value.cls) & _RECORDS:
            return None
        return [value.attributes.get(name, UNKNOWN) for name in names]

    def member_value(self, value: Any) -> Any:
        """What stands for a member of an enumeration; unknown for everything else."""
        if isinstance(value, Thing) and "_name_" in value.attributes:
            modules = self.stage.project.modules
            if modules.derives_from_builtin(value.cls) or modules.external_bases(value.cls) & _VALUES:
                return value.attributes["value"]
            return (value.cls, value.attributes["_name_"])
        return UNKNOWN

    # Attributes --------------------------------------------------------------------------------------------------

    def of_object(self, base: Any, name: str, scope: Scope) -> Any:
        """An attribute of something of the project, or of a function; ``NotImplemented`` for other values."""
        if isinstance(base, Thing):
            return self._of_thing(base, name)
        if isinstance(base, ClassValue):
            return self._of_class(base, name)
        if isinstance(base, Table):
            return base.attribute(self, name)
        if type(base) is tuple:
            return self.models.row_attribute(base, name)
        if isinstance(base, FunctionValue) and name in self.stage.kept.get(OF_FUNCTIONS, {}).get(base.ref, ()):
            return self.stage.kept[OF_FUNCTIONS][base.ref][name]
        if isinstance(base, FunctionValue) and name in ("__name__", "__qualname__"):
            return self.stage.project.function(base.ref).name
        if isinstance(base, FunctionValue) and name == "__wrapped__":
            return base
        if isinstance(base, Special) and base.kind == "remembering":
            return base.callee if name == "__wrapped__" else MethodOf(base, name)
        return NotImplemented

    def _of_thing(self, base: Thing, name: str) -> Any:
        if name in base.attributes:
            return base.attributes[name]
        if name == "__class__":
            return ClassValue(base.cls)
        if name == "__dict__":
            # the same dictionary: what is stored in it is an attribute
            base.names = base.names or Attributes(base.attributes)
            return base.names
        found = self.class_attribute(base.cls, name)
        if found is not NotImplemented:
            return self.bound(found, base)
        if base.names is not None and base.names.open:
            return derived("part", [base.names.whole, name])
        if base.content is not None and isinstance(self.class_attribute(base.cls, "__getattr__"), Library):
            missing = isinstance(base.content, Table) and not base.content.open and name not in base.content.items
            return None if missing else self.item(base.content, name)
        modules = self.stage.project.modules
        other = modules.method(base.cls, "__getattr__")
        if other is not None and not name.startswith("__"):
            anywhere = self.module_scope(self.stage.entry)
            return self.call_function(FunctionValue(other, None, base), Given([name], {}), None, anywhere)
        inherited = self.models.inherited(self, base, name)
        if inherited is not NotImplemented:
            return inherited
        if self.stage.alone:
            return self.stage.by_name(name)
        foreign = modules.external_bases(base.cls) or modules.has_unknown_base(base.cls)
        return MethodOf(base, name) if foreign else UNKNOWN if base.open else UNSET

    def _of_class(self, base: ClassValue, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            return self.stage.project.class_(base.ref).name
        if name == "_fields" and self.stage.project.modules.external_bases(base.ref) & _RECORDS:
            return tuple(self.fields_of(base.ref))
        if self.is_enumeration(base.ref):
            found = self.member(base.ref, name)
            if found is not NotImplemented:
                return found
            if name == "__members__":
                return Table({key: self.member(base.ref, key) for key in self.members(base.ref)})
        found = self.class_attribute(base.ref, name)
        return MethodOf(base, name) if found is NotImplemented else self.bound(found, base)

    def held(self, base: Any, method: str) -> Any:
        """The dictionary or list that an object of a class derived from these holds, unless it has the method that is asked itself."""
        derived = isinstance(base, Thing) and base.content is not None
        return base.content if derived and self.stage.project.modules.method(base.cls, method) is None else base

    def item_of_thing(self, base: Thing, index: Any) -> Any:
        """``base[index]`` of an object of the project."""
        if self.stage.project.modules.method(base.cls, "__getitem__") is not None:
            return self.item_at(base, index)
        if base.content is not None:
            return self.item(base.content, index)
        fields = base.fields
        if fields is not None and isinstance(index, int) and -len(fields) <= index < len(fields):
            return base.attributes.get(fields[index], UNKNOWN)
        return UNKNOWN

    def forget_attributes(self, base: Any) -> None:
        """An attribute is set of which we don't know the name: it may be any that was set before."""
        held = base.stored if isinstance(base, Made) else base.attributes if isinstance(base, Thing) else {}
        if isinstance(base, Thing):
            base.open = True
        for name, value in held.items():
            if is_known(value):
                held[name] = UNKNOWN

    def store_global(self, module: ModuleValue, name: Any, value: Any) -> None:
        """``globals()[name] = value``."""
        variables = self.module_scope(module.file).variables
        if isinstance(name, str):
            self.put(variables, name, value)
            return
        for other, held in variables.items():
            if is_known(held) or isinstance(held, Group):
                variables[other] = UNKNOWN

    def set_attribute(self, base: Any, name: str, value: Any) -> bool:
        """Stores an attribute of something of the project; false for anything else."""
        if isinstance(base, Thing) and name == "__dict__":
            held = value.content if isinstance(value, Thing) else value
            if isinstance(held, Table):
                held.items.update(base.attributes)
                base.attributes = held.items
            return True
        if isinstance(base, Thing) and base.content is not None:
            if isinstance(self.class_attribute(base.cls, "__setattr__"), Library):
                self.content_item(base, [name, value])
                return True
        if isinstance(base, Thing):
            setter = self.class_attribute(base.cls, f"{name}=") if name not in base.attributes else NotImplemented
            if isinstance(setter, FunctionValue):
                anywhere = self.module_scope(self.stage.entry)
                self.call_function(_to_object(setter, base), Given([value], {}), None, anywhere)
                return True
            described = self.class_attribute(base.cls, name)
            method = (
                self.stage.project.modules.method(described.cls, "__set__") if isinstance(described, Thing) else None
            )
            if method is not None:
                given = Given([base, value], {})
                anywhere = self.module_scope(self.stage.entry)
                self.call_function(FunctionValue(method, None, described), given, None, anywhere)
                return True
            self.put(base.attributes, name, value, base.made_in)
            return True
        if isinstance(base, ClassValue):
            self.put(self.class_scope(base.ref).variables, name, value)
            return True
        if isinstance(base, Table):
            return base.keeps(self, name, value)
        if isinstance(base, ModuleValue):
            self.put(self.module_scope(base.file).variables, name, value)
            return True
        if isinstance(base, Made):
            escape(value)
            self.put(base.stored, name, value)
            return True
        if isinstance(base, FunctionValue) and base.receiver is None:
            self.put(self.stage.kept.setdefault(OF_FUNCTIONS, {}).setdefault(base.ref, {}), name, value)
            return True
        return False

    def put(self, variables: dict[str, Any], name: str, value: Any, made_in: tuple[int, ...] = ()) -> None:
        """Sets a variable that others see as well: perhaps, where it is not sure that we come here.

        ``made_in`` is where the object was made whose variable it is: on a way that is not sure, it may be sure for that object.
        """
        earlier = variables.get(name, UNKNOWN)
        self.stage.keeps(variables, name, earlier)
        if not self.stage.is_sure_on_way(made_in):
            before = self.stage.before(variables, name, earlier)
            common = evened(before, value, self.stage.reasons)
            value = merged(before, value, self.stage.reasons) if common is None else common
        variables[name] = value
        if self.stage.touched is not None:
            self.stage.touched.append((variables, name, earlier))

    # Fields ------------------------------------------------------------------------------------------------------

    def is_record(self, ref: ClassRef) -> bool:
        """Whether the constructor of a class takes its fields (dataclasses, named tuples)."""
        is_tuple = bool(self.stage.project.modules.external_bases(ref) & _RECORDS)
        return is_tuple or self.record_base(ref) is not None or self._is_model(ref)

    def record_base(self, ref: ClassRef) -> ClassRef | None:
        """The class itself, or the first that it is derived from, that a decorator makes a record."""
        for one in self.stage.project.modules.ancestry(ref):
            for decorator in self.stage.project.class_(one).decorators:
                named = decorator.func if type(decorator) is ir.Call else decorator
                last = named.name if type(named) is ir.Attribute else named.id if type(named) is ir.Name else ""
                if last in ("dataclass", "define", "frozen", "s", "attrs"):
                    return one
        return None

    def _is_model(self, ref: ClassRef) -> bool:
        bases = self.stage.project.modules.external_bases(ref)
        return any(name.rpartition(".")[2] in ("BaseModel", "BaseSettings", "Struct") for name in bases)

    def fields_of(self, ref: ClassRef) -> dict[str, ir.Expr | None]:
        """The fields of a record with their defaults, those of its bases first."""
        found: dict[str, ir.Expr | None] = {}
        for one in reversed(self.stage.project.modules.ancestry(ref)):
            for statement in self.stage.project.class_(one).body:
                target = statement.targets[0] if type(statement) is ir.Assign and statement.annotation else None
                if type(target) is ir.Name and not _of_the_class(statement.annotation):  # type: ignore[union-attr]
                    found[target.id] = statement.value  # type: ignore[union-attr]
        return found

    def field_types(self, ref: ClassRef) -> dict[str, Any]:
        """The types of a record's fields; not known in a file that has them as texts (``from __future__ import annotations``)."""
        found: dict[str, Any] = {}
        for one in reversed(self.stage.project.modules.ancestry(ref)):
            module, scope = self.stage.project.module(one.file), self.class_scope(one)
            as_texts = any(item.module == "__future__" and item.name == "annotations" for item in module.imports)
            for statement in self.stage.project.class_(one).body:
                target = statement.targets[0] if type(statement) is ir.Assign and statement.annotation else None
                if type(target) is ir.Name:
                    annotation = statement.annotation  # type: ignore[union-attr]
                    found[target.id] = UNKNOWN if as_texts or annotation is None else self.value(annotation, scope)
        return found

    def fill_record(self, thing: Thing, given: Given, cls: ClassRef | None = None) -> None:
        """Sets the fields of a record to what its constructor is given, and calls what comes after it.

        ``cls`` is the class whose constructor it is, where that is one that the object's own is derived from.
        """
        names = self.fields_of(cls or thing.cls)
        thing.fields = thing.fields or tuple(names)
        for position, (name, default) in enumerate(names.items()):
            if name in given.keywords or position < len(given.positional):
                thing.attributes[name] = given.get(name, position)
            elif given.open:
                thing.attributes[name] = given.perhaps(name)
            elif default is not None:
                thing.attributes[name] = self.field_default(default, self.class_scope(thing.cls))
        thing.open = given.open
        if self.stage.project.modules.external_bases(thing.cls):
            self.models.built(self, thing, given)
        after = self.stage.project.modules.method(thing.cls, "__post_init__")
        if after is not None:
            anywhere = self.module_scope(self.stage.entry)
            self.call_function(FunctionValue(after, None, thing), Given([], {}), None, anywhere)

    def field_default(self, default: ir.Expr, scope: Scope) -> Any:
        """What a field of a record has where its constructor is not given it."""
        if type(default) is ir.Call:
            callee = self.value(default.func, scope)
            if isinstance(callee, Library) and callee.name.rpartition(".")[2] in ("field", "Field", "ib"):
                for keyword in default.keywords:
                    if keyword.name in ("default_factory", "factory"):
                        maker = self.value(keyword.value, scope)
                        return self.apply(maker, Given([], {}), default, scope)
                    if keyword.name == "default":
                        return self.value(keyword.value, scope)
                return self.value(default.args[0], scope) if default.args else UNKNOWN
        found = self.value(default, scope)
        if isinstance(found, Made) and found.name == "dataclasses.field()" and found.arguments is not None:
            # a function of the program has made it
            given, call = found.arguments.keywords, found.call
            if "default_factory" in given and call is not None:
                return self.apply(given["default_factory"], Given([], {}), call, scope)
            return given.get("default", UNKNOWN)
        return found


def _of_the_class(annotation: ir.Expr | None) -> bool:
    """Whether an annotation says that the variable is no field (``ClassVar[int]``)."""
    while type(annotation) is ir.Subscript:
        annotation = annotation.base
    last = annotation.name if type(annotation) is ir.Attribute else annotation.id if type(annotation) is ir.Name else ""
    return last in ("ClassVar", "InitVar")


def _to_object(function: Any, receiver: Any) -> Any:
    """A function bound to the object or class that it is asked for on."""
    if isinstance(function, FunctionValue) and function.receiver is None:
        return FunctionValue(function.ref, function.scope, receiver, function.defaults)
    if isinstance(function, LambdaOf):
        return Partial(function, Given([receiver], {}))
    if isinstance(function, Special):
        return Special(function.kind, _to_object(function.callee, receiver))
    return function
