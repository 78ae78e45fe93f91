"""Functions and classes as a process of a rehearsal defines them: decorators, parameters, constructors, what is inherited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from distlint.link.modules import ClassRef, FunctionRef, GlobalRef
from distlint.model import python as ir
from distlint.rehearsal.commands import DECORATORS
from distlint.rehearsal.defaults import defaults_of
from distlint.rehearsal.entities import ClassValue, FunctionValue, LambdaOf, Library, MethodOf, Partial, Special
from distlint.rehearsal.generators import Generators
from distlint.rehearsal.iterating import is_key
from distlint.rehearsal.merging import merged
from distlint.rehearsal.registering import acts, files_of
from distlint.rehearsal.some_keys import given_for, named_rest
from distlint.rehearsal.stage import Scope
from distlint.rehearsal.tables import table_of
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, Thing, derived

_KINDS = {
    "builtins.staticmethod": "static",
    "builtins.classmethod": "class",
    "builtins.property": "property",
    "functools.cached_property": "cached",
    "abc.abstractproperty": "property",
    "functools.lru_cache": "remembering",
    "functools.cache": "remembering",
}
_KEEPING = (
    "functools.",
    "contextlib.",
    "abc.",
    "typing.",
    "atexit.register",
    "dataclasses.",
    "enum.",
)
_PLAIN_NAMES = ("record", "main", "command", "hookimpl", "override")
_DERIVING = "__init_subclass__"
_DICTIONARIES = ("dict", "OrderedDict", "UserDict", "defaultdict")
_LISTS = ("list", "UserList")
_SAME_OBJECT = ("to", "train", "eval", "cuda", "cpu", "float", "half", "bfloat16", "double", "requires_grad_", "apply")
_NAMED_PARTS = ("register_buffer", "register_parameter", "add_module", "register_module")


class Definitions(Generators):
    """Says what definitions bind, and what calling a class makes."""

    def defined(self, statement: ir.Define, scope: Scope) -> None:
        """Binds the name of a function or class."""
        module = self.stage.project.module(scope.file)
        if statement.kind == "class":
            self._define_class(module.classes[statement.index], ClassRef(scope.file, statement.index), scope)
            return
        function = module.functions[statement.index]
        defaults = defaults_of(self, function.parameters, scope) if scope.function >= 0 else None
        value: Any = FunctionValue(FunctionRef(scope.file, statement.index), scope, None, defaults)
        for decorator in reversed(function.decorators):
            if type(decorator) is ir.Attribute and decorator.name in ("setter", "getter", "deleter"):
                if decorator.name == "setter":
                    scope.variables[f"{function.name}="] = value
                return
            value = self.decorated(value, decorator, scope)
        scope.variables[function.name] = value

    def _define_class(self, definition: ir.Class, ref: ClassRef, scope: Scope) -> None:
        if scope.function >= 0 or ref not in self.stage.classes:
            self.stage.classes[ref] = Scope(ref.file, scope.function, scope)
        value: Any = ClassValue(ref)
        scope.variables[definition.name] = value
        self._derives(definition, ref, scope)
        for decorator in reversed(definition.decorators):
            found = self.decorated(value, decorator, scope)
            value = found if isinstance(found, ClassValue) else value
        scope.variables[definition.name] = value

    def _derives(self, definition: ir.Class, ref: ClassRef, scope: Scope) -> None:
        """What a base says is done with each class that is derived from it (``__init_subclass__``)."""
        project = self.stage.project
        for base in project.modules.ancestry(ref)[1:]:
            index = project.modules.own_methods(base).get(_DERIVING)
            if index is None:
                continue
            named = ((one.name, one.value) for one in definition.keywords)
            words = {
                name: self.value(value, scope) for name, value in named if name is not None and name != "metaclass"
            }
            function = FunctionValue(FunctionRef(base.file, index), None, ClassValue(ref))
            self.call_function(function, Given([], words), None, scope)
            return

    def decorated(self, value: Any, decorator: ir.Expr, scope: Scope) -> Any:
        """What a decorator makes of a function or class."""
        is_call = type(decorator) is ir.Call
        named = self.value(decorator.func if is_call else decorator, scope)  # type: ignore[union-attr]
        if isinstance(named, Library):
            if named.name in _KINDS:
                return Special(_KINDS[named.name], value)
            last = named.name.rpartition(".")[2]
            if named.name == "functools.partial" and is_call:
                return self._applied(self.value(decorator, scope), value, decorator, scope)
            if named.name in self.stage.main_only:
                return Special("first", value)
            if isinstance(value, FunctionValue) and self.models.encloses(named.name):
                around = decorator if is_call else ir.Call(decorator, (), (), decorator.at)
                self.stage.enclosed[value.ref] = (around, scope)
                return value
            if (
                isinstance(value, ClassValue)
                or named.name.startswith((*_KEEPING, *DECORATORS, *self.stage.keeping))
                or last in _PLAIN_NAMES
            ):
                return value
            return UNKNOWN
        if isinstance(named, MethodOf):
            if isinstance(named.receiver, Made) and f"{named.receiver.name}.{named.name}" in self.stage.main_only:
                return Special("first", value)
            return value if named.name in _PLAIN_NAMES else UNKNOWN
        wrapper = self.value(decorator, scope) if is_call else named
        return self._applied(wrapper, value, decorator, scope)

    def fill(self, inner: Scope, definition: ir.Function, function: FunctionValue, given: Given) -> None:
        """Binds the parameters of a function to what it is given."""
        positional = list(given.positional)
        for value in given.values():
            if isinstance(value, Tensor):
                value.copied = False  # a parameter refers to it
        if function.receiver is not None:
            positional.insert(0, function.receiver)
        # `f(args=1)` of `def f(*args, **kwargs)` is in `kwargs`
        named = {one.name for one in definition.parameters if not one.kind.startswith("var-")}
        position = 0
        for parameter in definition.parameters:
            if parameter.kind == "var-positional":
                rest = positional[position:]
                inner.variables[parameter.name] = Items(None) if given.open else tuple(rest)
                position = len(positional)
                continue
            if parameter.kind == "var-keyword":
                extra = {name: value for name, value in given.keywords.items() if name not in named}
                inner.variables[parameter.name] = named_rest(extra, is_open=given.open)
                continue
            if parameter.kind != "keyword" and position < len(positional):
                value = positional[position]
                position += 1
            elif parameter.name in given.keywords:
                value = given_for(
                    given.keywords[parameter.name],
                    lambda one=parameter: self.default_of(function, one, inner) if one.default else UNKNOWN,  # type: ignore[misc]
                    merged,
                )
            elif given.open or (self.stage.alone and self.stage.depth == 0):
                value = self.stage.by_name(parameter.name)
                value = given.perhaps(parameter.name) if value is UNKNOWN else value
            elif parameter.default is not None:
                value = self.default_of(function, parameter, inner)
            elif definition.decorators:
                value = Opaque(("parameter", inner.file, inner.function, parameter.name))
            else:
                value = UNKNOWN
            inner.variables[parameter.name] = value

    def enclosed(self, function: FunctionRef, body: Callable[[], str]) -> str:
        """Follows the body of a function in the context that a decorator makes for it."""
        found = self.stage.enclosed.get(function)
        if found is None:
            return body()
        around, scope = found
        manager, span = self.value(around, scope), self.span(around, scope)
        self.entered(manager, span)
        try:
            return body()
        finally:
            self.left(manager, span)

    def _applied(self, wrapper: Any, value: Any, decorator: ir.Expr, scope: Scope) -> Any:
        if not isinstance(wrapper, FunctionValue | LambdaOf | Partial | Thing | ClassValue):
            return UNKNOWN
        call = ir.Call(decorator, (), (), decorator.at)
        return self.apply(wrapper, Given([value], {}), call, scope)

    def imported(self, statement: ir.Import, scope: Scope) -> None:
        """Binds what an import inside a function brings; at the top level names are looked up where they are used."""
        scope.variables.pop(statement.alias, None)
        modules = self.stage.project.modules
        if scope.function >= 0:
            found = modules.imported(statement, scope.file)
            if isinstance(found, GlobalRef):
                scope.variables[statement.alias] = self.module_variable(self.module_scope(found.file), found.name)
            elif found is not None:
                scope.variables[statement.alias] = self.target_value(found)
        for file in files_of(self.stage.project, statement, scope.file):
            if file not in self.stage.modules and acts(self.stage.project, file):
                self.module_scope(file)

    def around(self, function: FunctionValue, definition: ir.Function) -> Scope | None:
        """The scope whose variables a function sees beside its own and the module's."""
        if definition.parent < 0:
            return None
        return self.scope_of_method(function.ref) if definition.owner >= 0 else function.scope

    def default_of(self, function: FunctionValue, parameter: ir.Parameter, inner: Scope) -> Any:
        """The default of a parameter, as the place of the definition sees it."""
        assert parameter.default is not None  # noqa: S101 - tested by the caller
        if type(parameter.default) is ir.Constant:
            return parameter.default.value
        if function.defaults is not None and parameter.name in function.defaults.values:
            return function.defaults.values[parameter.name]
        owner = self.stage.project.function(function.ref).owner
        scope = function.scope
        if scope is None:
            scope = self.class_scope(ClassRef(inner.file, owner)) if owner >= 0 else self.module_scope(inner.file)
        return self.value(parameter.default, scope)

    # Objects -----------------------------------------------------------------------------------------------------

    def constructed(self, ref: ClassRef, given: Given, call: ir.Call, scope: Scope) -> Any:
        """What calling a class of the project makes."""
        modules = self.stage.project.modules
        if self.is_enumeration(ref):
            return self._member_of(ref, given)
        thing = Thing(ref)
        maker = modules.method(ref, "__new__")
        if maker is not None:
            found = self.call_function(FunctionValue(maker, None, ClassValue(ref)), given, call, scope)
            if not isinstance(found, Thing):
                return found
            thing = found
        thing.born, thing.made_in = self.span(call, scope), tuple(self.stage.contexts)
        thing.content = self._content_of(ref, given)
        missing = modules.method(ref, "__missing__")
        if isinstance(thing.content, Table) and missing is not None:
            thing.content.missing = FunctionValue(missing, None, thing)
        init = modules.method(ref, "__init__")
        if init is not None:
            record = self.record_base(ref)
            thing.fields = tuple(self.fields_of(record)) if record is not None else None
            self.call_function(FunctionValue(init, None, thing), given, call, scope)
        elif self.is_record(ref):
            self.fill_record(thing, given)
        else:
            self.models.built(self, thing, given)
        return thing

    def _content_of(self, ref: ClassRef, given: Given) -> Table | Items | None:
        """What an object of a class derived from ``dict`` or ``list`` holds."""
        base = self._library_base(ref)
        if base in _LISTS:
            return Items([])
        if not base:
            return None
        own = self.stage.project.modules.method(ref, "__init__") is not None
        return Table() if own else self._filled(Table(), ref, given)

    def _library_base(self, ref: ClassRef) -> str:
        """The name of the dictionary or list of a library that a class is derived from; nothing where it is not."""
        for one in self.stage.project.modules.ancestry(ref):
            for base in self.stage.project.class_(one).bases:
                last = base.name if type(base) is ir.Attribute else base.id if type(base) is ir.Name else ""
                if last in _DICTIONARIES or last in _LISTS:
                    return last
        return ""

    def _filled(self, table: Table, ref: ClassRef, given: Given) -> Table:
        """A dictionary that its library's constructor is given values for; ``defaultdict`` takes what makes new ones first."""
        makes = self._library_base(ref) == "defaultdict"
        if makes and given.positional and self.stage.project.modules.method(ref, "__missing__") is None:
            table.missing = given.positional[0]
        found = table_of(self, given.positional[1:] if makes else given.positional, given)
        table.items.update(found.items)
        if found.open:
            table.opens(found)
        return table

    def _member_of(self, ref: ClassRef, given: Given) -> Any:
        """``Color("red")``."""
        value = given.get("value", 0, UNKNOWN)
        if isinstance(value, Thing):
            return value
        for name in self.members(ref):
            member = self.member(ref, name)
            if isinstance(member, Thing) and self.truth(
                self.operate("==", member.attributes["value"], value, 0, self.module_scope(ref.file))
            ):
                return member
        return derived("member", [ClassValue(ref), value])

    def inherited_call(self, name: str, given: Given, call: ir.Call, scope: Scope) -> Any:
        """``super().name(...)``."""
        project = self.stage.project
        inside = scope
        while inside.outer is not None and inside.outer.function == inside.function:
            inside = inside.outer
        around = project.module(inside.file).functions[inside.function] if inside.function >= 0 else None
        if around is None or around.owner < 0 or not around.parameters:
            return UNKNOWN
        receiver = inside.variables.get(around.parameters[0].name)
        owner = ClassRef(inside.file, around.owner)
        cls = (
            receiver.cls if isinstance(receiver, Thing) else receiver.ref if isinstance(receiver, ClassValue) else owner
        )
        ancestors = project.modules.ancestry(cls)
        if owner not in ancestors:
            return UNKNOWN
        for ancestor in ancestors[ancestors.index(owner) + 1 :]:
            found = self.class_scope(ancestor).variables.get(name)
            if found is not None:
                return self.apply(self.bound(found, receiver), given, call, scope)
        if name == "__init__":
            record = self.record_base(ancestors[ancestors.index(owner) + 1]) if ancestors[-1] != owner else None
            if isinstance(receiver, Thing) and record is not None:
                self.fill_record(receiver, given, record)
                return None
            if isinstance(receiver, Thing) and isinstance(receiver.content, Table):
                self._filled(receiver.content, receiver.cls, given)
            if isinstance(receiver, Thing):
                self.models.built(self, receiver, given)
            return None
        if name == "__new__" and isinstance(receiver, ClassValue):
            return Thing(receiver.ref)
        if name == "__setattr__" and isinstance(receiver, Thing) and len(given.positional) == 2:
            if isinstance(given.positional[0], str):
                self.put(receiver.attributes, given.positional[0], given.positional[1])
            return None
        found = self.models.method(self, receiver, name, given, call, scope)
        if found is not NotImplemented:
            return found
        found = self.method_of_thing(receiver, name, given) if isinstance(receiver, Thing) else NotImplemented
        return UNKNOWN if found is NotImplemented else found

    def method_of_thing(self, receiver: Thing, name: str, given: Given) -> Any:
        """A method that an object of the project has from a library's class; ``NotImplemented`` where that is not known."""
        values = given.positional
        if receiver.content is not None:
            from distlint.rehearsal.methods import call_method

            if name in ("__setitem__", "__getitem__") and values:
                return self.content_item(receiver, values)
            call = ir.Call(ir.Constant(None, 0), (), (), 0)
            anywhere = self.module_scope(self.stage.entry)
            span = ir.unpack(0, self.stage.entry)
            return call_method(self, receiver.content, name, given, call, anywhere, span)  # type: ignore[arg-type]
        if name in _SAME_OBJECT:
            return receiver
        if name in _NAMED_PARTS and len(values) >= 2 and isinstance(values[0], str):
            self.put(receiver.attributes, values[0], values[1])
            return None
        if name == "_asdict" and receiver.fields is not None:
            return Table({one: receiver.attributes.get(one, UNKNOWN) for one in receiver.fields})
        if name == "_replace" and not given.open:
            made = Thing(receiver.cls)
            made.fields = receiver.fields
            made.attributes = {**receiver.attributes, **given.keywords}
            return made
        return NotImplemented

    def content_item(self, thing: Thing, values: list[Any]) -> Any:
        """``thing[index]``, or ``thing[index] = value``, of what an object holds as a dictionary or list."""
        content = thing.content
        if len(values) == 1:
            return self.item(content, values[0])
        if isinstance(content, Table) and is_key(values[0]) and not self.stage.unsure:
            content.items[values[0]] = values[1]
        elif isinstance(content, Table):
            content.opens(*values)
        elif isinstance(content, Items):
            content.open()
        return None

    def deleted(self, base: Any, index: Any) -> None:
        """``del base[index]``."""
        held = base.content if isinstance(base, Thing) else base
        sure = not self.stage.unsure
        if isinstance(held, Table):
            if sure and is_key(index) and (index in held.items or not held.open):
                held.items.pop(index, None)
            else:
                held.opens(index)
        elif isinstance(held, Items):
            known = isinstance(index, int) and held.items is not None and -len(held.items) <= index < len(held.items)
            if sure and known and held.items is not None:
                del held.items[index]
            else:
                held.open()
            if self.stage.touched is not None:
                self.stage.touched.append(held)

    def special_method(self, thing: Thing, name: str, values: list[Any], default: Any) -> Any:
        """What one of Python's own methods gives for an object; the default where its class does not have it."""
        method = self.stage.project.modules.method(thing.cls, name)
        if method is None:
            return default
        anywhere = self.module_scope(self.stage.entry)
        return self.call_function(FunctionValue(method, None, thing), Given(values, {}), None, anywhere)

    def text_of(self, thing: Thing, default: Any) -> Any:
        """What an object is as a text, by the methods of its class that make one."""
        modules = self.stage.project.modules
        name = next((one for one in ("__str__", "__repr__") if modules.method(thing.cls, one) is not None), "")
        return self.special_method(thing, name, [], default) if name else default
