"""Evaluates expressions for one release of a package: names, operations, and what variables are set to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.link.library_uses import written_name
from distlint.link.modules import ClassRef, FunctionRef, GlobalRef, ModuleFile
from distlint.link.text_sizes import formatted
from distlint.link.version_bindings import Binding, bindings_of
from distlint.link.version_calls import called
from distlint.link.version_features import distribution_of
from distlint.link.version_values import (
    OTHER,
    PROBE,
    SPOKEN,
    VERSION_PARTS,
    LooseVersion,
    Names,
    Thing,
    Unknown,
    VersionText,
    calculated,
    combined,
    compared,
    is_known,
    items_of,
    joined,
    parsed,
    short_circuit,
)
from distlint.link.walking import below
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.version_tests import VersionTests

MAX_DEPTH = 40
MAX_STEPS = 600
"""Expressions that are evaluated for one test."""

_SETTINGS = frozenset(
    {
        *(
            "args",
            "arguments",
            "opt",
            "opts",
            "options",
            "cfg",
            "config",
            "conf",
            "configs",
            "hparams",
            "params",
            "flags",
        ),
        *(
            "settings",
            "FLAGS",
            "environ",
            "argv",
            "training_args",
            "model_args",
            "data_args",
            "script_args",
            "cli_args",
        ),
        *("hp", "namespace", "kwargs", "configuration"),
    }
)
"""Names of what a user sets: a test of it says nothing of versions."""


ABSENT = Unknown()
"""No variable of that name, or no attribute that is seen to be set."""


class Scope(NamedTuple):
    """Where an expression stands: the file, the function around it, and what is known of its variables there."""

    file: str
    function: int
    names: Mapping[str, Any] = {}
    depth: int = 0

    def inside(self) -> Scope:
        """The same place, one level deeper in the evaluation."""
        return self._replace(depth=self.depth + 1)


class Closure(Thing):
    """A lambda and where it stands."""

    def __init__(self, expr: ir.Lambda, scope: Scope) -> None:
        self.expr = expr
        self.scope = scope


class Variant(NamedTuple):
    """A form that a release comes in: its version's text, and which end of other packages' versions goes with it."""

    version: str
    text: str
    newest: bool


class Evaluation:
    """One evaluation; what it asked for tells on what the value depends."""

    def __init__(self, tests: VersionTests, variant: Variant) -> None:
        self.tests = tests
        self.project = tests.project
        self.features = tests.features
        self.names = tests.names
        self.variant = variant
        self.asked_text = False
        self.asked_others = False
        self.active: set[tuple[str, int, str]] = set()
        self.steps = 0

    # The package and others --------------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        """The release."""
        self.tests.touched += 1
        return self.variant.version

    def text(self, *, is_object: bool = True) -> Any:
        """The release's ``__version__``; without ``is_object`` as a plain text."""
        self.tests.touched += 1
        self.asked_text = True
        if is_object and self.tests.has_version_object(self.variant.version):
            return VersionText(self.variant.text)
        return self.variant.text

    def version_of(self, distribution: str, file: str) -> Any:
        """The version of a package by its distribution's name; ``OTHER`` where the pins don't tell it."""
        if distribution == self.tests.package:
            return self.text(is_object=False)
        view = self.project.environments.for_file(file)
        allowed = view.allowed(distribution) if view.is_pinned(distribution) else ()
        if not allowed:
            return OTHER
        self.asked_others = self.asked_others or len(allowed) > 1
        return allowed[-1 if self.variant.newest else 0]

    def python(self, file: str) -> Any:
        """``sys.version_info`` as a tuple."""
        pythons = self.project.environments.for_file(file).pythons()
        self.asked_others = self.asked_others or len(pythons) > 1
        major, _, minor = pythons[-1 if self.variant.newest else 0].partition(".")
        return (int(major), int(minor), 5, "final", 0)

    # Expressions -------------------------------------------------------------------------------------------------

    def value(self, expr: ir.Expr, scope: Scope) -> Any:
        """The value of an expression; ``PROBE`` or ``OTHER`` where it can't be computed."""
        self.steps += 1
        if scope.depth > MAX_DEPTH or self.steps > MAX_STEPS:
            return PROBE
        inner = scope.inside()
        kind = type(expr)
        if kind is ir.Constant:
            return expr.value  # type: ignore[union-attr]
        if kind is ir.Name:
            return self._name(expr, inner)  # type: ignore[arg-type]
        if kind is ir.Attribute:
            return self._attribute(expr, inner)  # type: ignore[arg-type]
        if kind is ir.Call:
            return called(self, expr, inner)  # type: ignore[arg-type]
        if kind is ir.Operation:
            return self._operation(expr, inner)  # type: ignore[arg-type]
        if kind is ir.Subscript:
            return self._subscript(expr, inner)  # type: ignore[arg-type]
        if kind is ir.ListDisplay:
            return combined(self.values(expr.items, inner), lambda *items: tuple(items))  # type: ignore[union-attr]
        if kind is ir.DictDisplay:
            return self._dict(expr, inner)  # type: ignore[arg-type]
        if kind is ir.Conditional:
            return self._conditional(expr, inner)  # type: ignore[arg-type]
        if kind is ir.Comprehension:
            return self._comprehension(expr, inner)  # type: ignore[arg-type]
        if kind is ir.Formatted:
            return self._formatted(expr, inner)  # type: ignore[arg-type]
        if kind is ir.Wrapped and expr.target and expr.value is not None:  # type: ignore[union-attr]
            return self.value(expr.value, inner)  # type: ignore[union-attr]
        if type(expr) is ir.Lambda:
            return Closure(expr, scope)
        return PROBE if self.probes(expr) else OTHER

    def values(self, exprs: Sequence[ir.Expr], scope: Scope) -> list[Any]:
        """The values of several expressions."""
        return [self.value(expr, scope) for expr in exprs]

    def _formatted(self, expr: ir.Formatted, scope: Scope) -> Any:
        forms = expr.forms or ("",) * len(expr.parts)
        return combined(self.values(expr.parts, scope), lambda *parts: "".join(map(formatted, parts, forms)))

    def probes(self, expr: ir.Expr) -> bool:
        """Whether one of the names in an expression may ask for a version or a feature."""
        return any(self.is_probe(part) for part in below(expr))

    def is_probe(self, expr: ir.Expr) -> bool:
        """Whether a name or attribute may ask for a version or a feature of the package."""
        name = expr.name if type(expr) is ir.Attribute else expr.id if type(expr) is ir.Name else ""
        return bool(name) and (name == "__version__" or self.names.is_probe(name))

    def _operation(self, expr: ir.Operation, scope: Scope) -> Any:
        values = self.values(expr.operands, scope)
        first = expr.operators[0]
        if first in ("and", "or"):
            return short_circuit(values, first == "or")
        if first == "not":
            return combined(values, lambda value: not value)
        if len(values) == 1:
            return combined(values, lambda value: -value) if first == "-" else PROBE
        if first in ("+", "-", "*", "/", "//", "%"):
            return combined(values, lambda *known: calculated(first, known))
        if first in ("is", "is not") and PROBE in values and None in values:
            # A build's CUDA or ROCm version is there or not: a matter of the device, not of the release.
            if any(
                written_name(self.project, one, scope.file, scope.function).count(".version.") for one in expr.operands
            ):
                return OTHER
        answers = [
            combined(pair, lambda a, b, o=operator: compared(o, a, b))
            for operator, *pair in zip(expr.operators, values, values[1:], strict=False)
        ]
        return answers[0] if len(answers) == 1 else short_circuit(answers, False)

    def _conditional(self, expr: ir.Conditional, scope: Scope) -> Any:
        test = self.value(expr.test, scope)
        if is_known(test):
            return self.value(expr.body if test else expr.orelse, scope)
        arms = joined(self.values((expr.body, expr.orelse), scope))
        return PROBE if test is PROBE and not is_known(arms) else arms

    def _dict(self, expr: ir.DictDisplay, scope: Scope) -> Any:
        keys = [PROBE if key is None else self.value(key, scope) for key in expr.keys]
        if not all(isinstance(key, (str, int, tuple)) for key in keys):
            return PROBE if self.probes(expr) else OTHER
        return dict(zip(keys, self.values(expr.values, scope), strict=True))

    def _subscript(self, expr: ir.Subscript, scope: Scope) -> Any:
        base = self.value(expr.base, scope)
        if type(expr.index) is ir.Slice:
            parts = (expr.index.lower, expr.index.upper, expr.index.step)
            bounds = [None if part is None else self.value(part, scope) for part in parts]
            return combined([base, *bounds], lambda value, *ends: _plain(value)[slice(*ends)])
        index = self.value(expr.index, scope)
        return combined([base, index], lambda value, key: _plain(value)[key])

    def _comprehension(self, expr: ir.Comprehension, scope: Scope) -> Any:
        if len(expr.generators) != 1 or expr.kind == "dict":
            return PROBE if self.probes(expr) else OTHER
        target, iterable, tests = expr.generators[0]
        items = self.value(iterable, scope)
        if not is_known(items) or type(target) is not ir.Name:
            return items if not is_known(items) else PROBE
        found = []
        try:
            for item in items_of(items):
                names = scope._replace(names={**scope.names, target.id: item})
                wanted = short_circuit([True, *self.values(tests, names)], False)
                if not is_known(wanted):
                    return wanted
                if wanted:
                    found.append(self.value(expr.element, names))
        except TypeError:
            return PROBE
        return combined(found, lambda *parts: tuple(parts))

    # Names -------------------------------------------------------------------------------------------------------

    def _name(self, expr: ir.Name, scope: Scope) -> Any:
        name = expr.id
        if name in scope.names:
            return scope.names[name]
        if name in ("__name__", "__file__"):
            return OTHER
        if name == "TYPE_CHECKING":
            return False
        found = self._variable(expr, scope)
        if found is not ABSENT:
            return found
        found = self._resolved(expr, written_name(self.project, expr, scope.file, scope.function), scope)
        return self.by_name(name) if found is ABSENT else found

    def _resolved(self, expr: ir.Name | ir.Attribute, written: str, scope: Scope) -> Any:
        """What a name of a library, ``written`` in full, or of the project stands for; ``ABSENT`` if it is neither."""
        if written:
            return self.library(written, expr, scope)
        target = self.project.modules.resolve(expr, scope.file)
        if isinstance(target, GlobalRef):
            return self.variable(target.file, -1, target.name, 0, scope)
        return Thing() if isinstance(target, (FunctionRef, ClassRef, ModuleFile)) else ABSENT

    def by_name(self, name: str) -> Any:
        """What the name alone says of something whose content is unknown."""
        asked = self.names.asks(name)
        if asked is not None and asked.operator and asked.version:
            return self.compare_release(asked.operator, asked.version)
        if self.names.is_availability(name):
            return True
        return PROBE if self.names.is_probe(name) else OTHER

    def compare_release(self, operator: str, version: Any) -> Any:
        """The release compared with a version, both as versions."""
        operator = SPOKEN.get(operator, operator)
        return combined([version], lambda value: compared(operator, parsed(self.version), parsed(str(value))))

    def _variable(self, expr: ir.Name, scope: Scope) -> Any:
        """What a variable of the functions around, or of the module, is; ``ABSENT`` if no assignment binds the name."""
        around, module = scope.function, self.project.module(scope.file)
        while around >= 0:
            function = module.functions[around]
            if expr.id in bindings_of(self.project, scope.file, around):
                at = expr.at if around == scope.function else 0
                return self.variable(scope.file, around, expr.id, at, scope)
            parameter = next((one for one in function.parameters if one.name == expr.id), None)
            if parameter is not None:
                return self._parameter(FunctionRef(scope.file, around), parameter, scope)
            around = function.parent
        known = bindings_of(self.project, scope.file, -1).get(expr.id, ())
        if any(binding.kind == "value" for binding in known):
            return self.variable(scope.file, -1, expr.id, expr.at if scope.function < 0 else 0, scope)
        return ABSENT

    def _parameter(self, ref: FunctionRef, parameter: ir.Parameter, scope: Scope) -> Any:
        """What a parameter is where the calls are not known: its default where none of them gives another value."""
        named = PROBE if self.names.is_probe(parameter.name) else OTHER
        if parameter.default is None:
            return named
        before = self.tests.touched
        default = self.value(parameter.default, Scope(ref.file, -1, depth=scope.depth))
        if not is_known(default):
            return PROBE if default is PROBE else named
        if self.tests.touched == before:
            return named
        function = self.project.function(ref)
        place = function.parameters.index(parameter)
        sites = self.project.reachers.sites_of(ref)
        given = any(
            len(call.args) + (function.owner >= 0) > place
            or any(k.name in (None, parameter.name) for k in call.keywords)
            for call in (site.site.call for site in sites)
        )
        return PROBE if given else default

    def variable(self, file: str, function: int, name: str, at: ir.Position, scope: Scope) -> Any:
        """What a variable is, as far as all its assignments tell: those that this release gets to, the last sure one first."""
        key = (file, function, name)
        if key in self.active:
            return OTHER
        self.active.add(key)
        try:
            return self._variable_of(file, function, name, at, scope)
        finally:
            self.active.discard(key)

    def _variable_of(self, file: str, function: int, name: str, at: ir.Position, scope: Scope) -> Any:
        known: Sequence[Binding] = bindings_of(self.project, file, function).get(name, ())
        before = [one for one in known if not at or one.at & 0xFFFFFFFFFFF <= at >> 44] or known
        place = Scope(file, function, depth=scope.depth)
        live: list[Any] = []
        doubtful = False
        for binding in before:
            status = True if len(before) == 1 else self.tests.all_hold(self, binding.conditions, place)
            if status is False:
                continue
            value = self._bound(binding, place)
            if value is None and binding.kind == "import":
                continue
            if status is True:
                live, doubtful = [], False
            live.append(value)
            doubtful = doubtful or status is PROBE
        if function < 0:
            live.extend(self._set_by_functions(file, name, scope, live))
        if not live:
            return PROBE if self.names.is_probe(name) else OTHER
        found = joined(live)
        return PROBE if doubtful and not is_known(found) else found

    def _set_by_functions(self, file: str, name: str, scope: Scope, live: list[Any]) -> list[Any]:
        """What functions assign to a variable of the module with ``global``; an initial ``None`` is no value then."""
        found = []
        for index in self.project.global_writers(file).get(name, ()):
            for binding in bindings_of(self.project, file, index).get(name, ()):
                if binding.kind == "value":
                    found.append(self._bound(binding, Scope(file, index, depth=scope.depth)))
        if found:
            live[:] = [value for value in live if value is not None]
        return found

    def _bound(self, binding: Binding, scope: Scope) -> Any:
        """The value of one binding; ``None`` for an import that does not work."""
        if binding.kind == "import":
            item = binding.item
            if item is None:
                return OTHER
            if item.level or not self.features.owns(item.module):
                target = self.project.modules.lookup(item.alias, scope.file)
                if isinstance(target, GlobalRef) and (target.file, target.name) != (scope.file, item.alias):
                    return self.variable(target.file, -1, target.name, 0, scope)
                return Thing()
            works = self.features.imports(item.module, item.name, self.version)
            return PROBE if works is None else Thing() if works else None
        if binding.kind == "definition":
            return Thing()
        if binding.expr is None:
            return OTHER
        value = self.value(binding.expr, scope)
        for index in binding.part:
            value = combined([value], lambda whole, i=index: _plain(whole)[i])
        return value

    def library(self, name: str, expr: ir.Expr, scope: Scope) -> Any:
        """What a library's name is: a version, ``TYPE_CHECKING``, or something that the package has."""
        prefix, _, last = name.rpartition(".")
        if last == "__version__" and prefix:
            return self._library_version(prefix, scope.file)
        if name == "typing.TYPE_CHECKING":
            return False
        if name == "sys.version_info":
            return self.python(scope.file)
        if prefix == "operator" and last in SPOKEN:
            return SPOKEN[last]
        if not prefix:
            return Thing()
        if self.features.owns(name):
            if last == "__dict__":
                return self.members_of(prefix)
            return PROBE if f".{prefix}.".count(".version.") or self.names.asks(last) else OTHER
        return self.by_name(last)

    def members_of(self, owner: str) -> Names:
        """The names that something of the package has as attributes."""
        version = self.version
        return Names(lambda name: self.features.has(f"{owner}.{name}", version))

    def _library_version(self, prefix: str, file: str) -> Any:
        distribution = distribution_of(prefix, self.tests.package)
        if distribution != self.tests.package:
            return self.version_of(distribution, file)
        return self.text(is_object=not prefix.endswith(".version"))

    def _attribute(self, expr: ir.Attribute, scope: Scope) -> Any:
        if expr.name == "TYPE_CHECKING":
            return False
        written = written_name(self.project, expr, scope.file, scope.function)
        if written.startswith("sys.version_info."):
            place = ("major", "minor", "micro", "releaselevel", "serial")
            return self.python(scope.file)[place.index(expr.name)] if expr.name in place else OTHER
        if ".__version__." in written:
            return self._part(expr, scope)
        resolved = self._resolved(expr, written, scope)
        if resolved is not ABSENT:
            return resolved
        owner = self.owner_of(expr.base, scope)
        if owner is not None:
            found = self._member(owner, expr.name, scope)
            if found is not ABSENT:
                return found
        if type(expr.base) is ir.Call and last_part(expr.base.func) in ("signature", "getfullargspec"):
            return self._part(expr, scope)
        if root_name(expr) in _SETTINGS:
            return OTHER
        return self._part(expr, scope)

    def owner_of(self, expr: ir.Expr, scope: Scope) -> ClassRef | None:
        """The project class that an expression is, or is an object of: ``self``, ``cls``, the class's name, a call of it."""
        module = self.project.module(scope.file)
        if type(expr) is ir.Name and expr.id in ("self", "cls"):
            around = scope.function
            while around >= 0 and module.functions[around].owner < 0:
                around = module.functions[around].parent
            return ClassRef(scope.file, module.functions[around].owner) if around >= 0 else None
        file = scope.file
        if type(expr) is ir.Name and expr.id not in scope.names:
            target = self.project.modules.resolve(expr, scope.file)
            if isinstance(target, GlobalRef):
                known = bindings_of(self.project, target.file, -1).get(target.name, ())
                if len(known) == 1 and known[0].expr is not None and not known[0].part:
                    expr, file = known[0].expr, target.file
        target = self.project.modules.resolve(expr.func if type(expr) is ir.Call else expr, file)
        return target if isinstance(target, ClassRef) else None

    def _member(self, owner: ClassRef, name: str, scope: Scope) -> Any:
        """What an attribute of a project class is set to in its body or by its methods; ``ABSENT`` if nothing is seen."""
        key = (owner, name)
        active = (owner.file, owner.index, f".{name}")
        known = self.tests.members
        for at in (key, (key, self.variant)):
            if at in known:
                if at is not key:
                    self.tests.touched += 1
                    self.asked_text = True
                return known[at]
        if active in self.active:
            return OTHER
        self.active.add(active)
        before, others = self.tests.touched, self.asked_others
        found = self._find_member(owner, name, scope)
        self.active.discard(active)
        if self.asked_others is others:
            known[key if self.tests.touched == before else (key, self.variant)] = found
        return found

    def _find_member(self, owner: ClassRef, name: str, scope: Scope) -> Any:
        for one in self.project.modules.ancestry(owner):
            definition = self.project.class_(one)
            values = [
                statement.value
                for statement in definition.body
                if type(statement) is ir.Assign
                and statement.value is not None
                and any(type(target) is ir.Name and target.id == name for target in statement.targets)
            ]
            stores = self.project.attribute_stores(one).get(name, [])
            found = [self.value(value, Scope(one.file, definition.parent, depth=scope.depth)) for value in values]
            for method, expr, path in stores:
                plain = expr is not None and not path
                found.append(self.value(expr, Scope(method.file, method.index, depth=scope.depth)) if plain else OTHER)  # type: ignore[arg-type]
            if found:
                return joined(found)
            computed = self.project.modules.method(one, name)
            if computed is not None and any(
                last_part(d) in ("property", "cached_property") for d in self.project.function(computed).decorators
            ):
                from distlint.link.version_bodies import result_of

                return result_of(self, computed, {}, scope)
        return ABSENT

    def _part(self, expr: ir.Attribute, scope: Scope) -> Any:
        base = self.value(expr.base, scope)
        if isinstance(base, Names) and expr.name in ("parameters", "args", "kwonlyargs"):
            return base
        if isinstance(base, LooseVersion):
            return {"version": base.version, "vstring": base.vstring}.get(expr.name, PROBE)
        if expr.name in VERSION_PARTS:
            return combined([base], lambda value: _plain(getattr(parsed(value), expr.name)))
        if expr.name in ("version", "parsed_version") and isinstance(base, str):
            return base if expr.name == "version" else combined([base], parsed)
        if isinstance(base, dict):
            return PROBE
        return PROBE if base is PROBE or self.names.is_probe(expr.name) else OTHER


def root_name(expr: ir.Expr) -> str:
    """The name of the settings object in a chain: ``self.args.x`` and ``args.model.x`` are both about ``args``."""
    while type(expr) in (ir.Attribute, ir.Subscript, ir.Call):
        if type(expr) is ir.Attribute:
            if expr.name in _SETTINGS:
                return expr.name
            expr = expr.base
        else:
            expr = expr.base if type(expr) is ir.Subscript else expr.func  # type: ignore[union-attr]
    return expr.id if type(expr) is ir.Name else ""


def last_part(expr: ir.Expr) -> str:
    """The last part of a dotted name."""
    return expr.name if type(expr) is ir.Attribute else expr.id if type(expr) is ir.Name else ""


def _plain(value: Any) -> Any:
    if isinstance(value, VersionText):
        return str(value)
    return tuple(value) if isinstance(value, list) else value
