"""Calls in version tests: parsers of versions, questions about a package, methods of texts, the project's own helpers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from distlint.link.library_uses import written_name
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.version_features import distribution_of
from distlint.link.version_paths import last_name
from distlint.link.version_values import (
    COMPARISONS,
    OTHER,
    PROBE,
    REGULAR,
    SPOKEN,
    TEXT_METHODS,
    LooseVersion,
    Names,
    Requirement,
    Thing,
    combined,
    compared,
    is_known,
    items_of,
    parsed,
    regular,
    text_method,
)
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.version_evaluation import Evaluation, Scope

_PARSERS = frozenset({"parse", "Version", "parse_version", "digit_version", "V", "PkgVersion", "StrictVersion"})
_LOOSE = frozenset({"LooseVersion"})
_PRESENCE = frozenset(
    {
        *("find_spec", "find_loader", "module_available", "is_module_available", "package_available"),
        *("is_package_available", "_is_package_available", "_module_available", "_package_available"),
        *("_is_package_importable", "is_installed", "is_package_installed", "module_exists", "import_module"),
    }
)
_VERSION_OF = frozenset({"version", "get_distribution", "distribution", "get_package_version", "_get_version"})
_CONVERTERS: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "tuple": lambda value: tuple(items_of(value)),
    "list": lambda value: tuple(items_of(value)),
    "len": len,
    "all": lambda value: all(items_of(value)),
    "any": lambda value: any(items_of(value)),
    "min": min,
    "max": max,
    "sorted": lambda value: tuple(sorted(items_of(value))),
    "reversed": lambda value: tuple(reversed(tuple(items_of(value)))),
}


def called(run: Evaluation, call: ir.Call, scope: Scope) -> Any:
    """The value of a call."""
    func = call.func
    last = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
    own = own_function(run, func, scope)
    if own is not None:
        return _of_project(run, own, call, scope, last)
    written = written_name(run.project, func, scope.file, scope.function)
    if ".__version__." in written:
        written = ""
    elif type(func) is ir.Name and "." in written:
        last = written.rpartition(".")[2]  # what it is called where it comes from
    question = _QUESTIONS.get(last)
    if question is not None and call.args:
        return question(run, call, scope)
    if last in _PRESENCE:
        return _is_there(run, call, scope, last)
    if run.names.is_availability(last) and (lowest := _least(run, call.args, call.keywords, scope)) is not None:
        return lowest
    if last == "RequirementCache" and call.args:
        return combined([run.value(call.args[0], scope)], lambda text: meets(run, text, scope.file))
    arguments = run.values(call.args, scope)
    if last in ("compare_version", "compare_versions") and len(arguments) >= 3:
        return _compare_version(run, arguments, scope)
    asked = run.names.asks(last)
    if asked is not None:
        given = [
            *arguments,
            *(run.value(k.value, scope) for k in call.keywords if k.name in ("version", "library_version")),
        ]
        return _asked(run, asked.operator, asked.version, given)
    if last in _LOOSE and len(arguments) == 1:
        return combined(arguments, lambda text: text if isinstance(text, LooseVersion) else LooseVersion(_text(text)))
    if last in _PARSERS and len(arguments) == 1 and not written.endswith("json.parse"):
        return combined(arguments, parsed)
    if last == "TorchVersion" and len(arguments) == 1:
        return combined(arguments, parsed)
    if last in _VERSION_OF and len(arguments) == 1:
        return combined(arguments, lambda name: _version_of(run, name, scope))
    if last == "SpecifierSet" and len(arguments) == 1:
        return combined(arguments, lambda text: Requirement(_text(text)))
    if last in SPOKEN and len(arguments) == 2:
        return combined(arguments, lambda a, b: compared(SPOKEN[last], a, b))
    if last == "isinstance" and type(func) is ir.Name:
        return OTHER
    if type(func) is ir.Name and last in _CONVERTERS and arguments:
        return combined(arguments, _CONVERTERS[last])
    if last == "dict" and type(func) is ir.Name and not call.args and all(k.name for k in call.keywords):
        return {k.name: run.value(k.value, scope) for k in call.keywords}
    if last == "map" and len(call.args) == 2:
        return _mapped(run, call, arguments[1], scope)
    return _method(run, call, last, written, arguments, scope)


def _method(run: Evaluation, call: ir.Call, last: str, written: str, arguments: list[Any], scope: Scope) -> Any:
    func = call.func
    if type(func) is not ir.Attribute:
        operator = run.value(func, scope)
        if isinstance(operator, Thing) and hasattr(operator, "expr"):
            return _applied(run, operator, arguments)
        if isinstance(operator, str) and (operator in COMPARISONS or operator in SPOKEN) and len(arguments) == 2:
            return combined(arguments, lambda a, b: compared(SPOKEN.get(operator, operator), a, b))
        return operator if operator is PROBE else run.by_name(last)
    if last in REGULAR and written.startswith(("re.", "regex.")):
        return combined(arguments, lambda *given: regular(last, given))
    if written and run.features.owns(written):
        return OTHER  # what the package says of devices, of ranks and the like
    if written:
        return run.by_name(last) if not written.startswith(("os.", "sys.", "platform.")) else OTHER
    base = run.value(func.base, scope)
    if is_known(base):
        return _known_method(run, call, base, last, arguments, scope)
    if base is PROBE:
        return PROBE
    from distlint.link.version_evaluation import root_name

    return OTHER if root_name(func) in ("self", "args", "config", "cfg", "environ") else run.by_name(last)


def _applied(run: Evaluation, closure: Any, arguments: Sequence[Any]) -> Any:
    """The value of a lambda that is called."""
    plain = [parameter.name for parameter in closure.expr.parameters]
    if len(plain) != len(arguments):
        return PROBE
    names = {**closure.scope.names, **dict(zip(plain, arguments, strict=True))}
    return run.value(closure.expr.body, closure.scope._replace(names=names, depth=closure.scope.depth + 8))


def _known_method(run: Evaluation, call: ir.Call, base: Any, last: str, arguments: list[Any], scope: Scope) -> Any:
    if isinstance(base, Names):
        return base if last in ("keys", "values", "items") else PROBE
    if isinstance(base, dict):
        if last == "get" and arguments:
            default = arguments[1] if len(arguments) > 1 else None
            return combined(arguments[:1], lambda key: base.get(key, default))
        return PROBE
    if isinstance(base, Requirement) and last == "contains" and arguments:
        return combined(arguments[:1], base.wanted.contains)
    if last in TEXT_METHODS and isinstance(base, str):
        extra = [run.value(keyword.value, scope) for keyword in call.keywords]
        if last in ("split", "rsplit") and extra:
            return combined([*arguments, *extra], lambda *given: text_method(last, base, given))
        return combined(arguments, lambda *given: text_method(last, base, given))
    if isinstance(base, tuple) and last in ("index", "count"):
        return combined(arguments, getattr(base, last))
    if last in ("group", "groups") and hasattr(base, "groups"):
        return combined(arguments, getattr(base, last))
    return run.by_name(last) if isinstance(base, Thing) else PROBE


# The package's features ----------------------------------------------------------------------------------------------


def _hasattr(run: Evaluation, call: ir.Call, scope: Scope) -> Any:
    name = run.value(call.args[1], scope) if len(call.args) > 1 else PROBE
    return _member_of(run, call.args[0], name, scope)


def _member_of(run: Evaluation, owner: ir.Expr, name: Any, scope: Scope) -> Any:
    """Whether what an expression stands for has an attribute."""
    written = written_name(run.project, owner, scope.file, scope.function)
    if written and not run.features.owns(written):
        return OTHER
    if not isinstance(name, str):
        return PROBE
    if written:
        if name == "__version__":
            return True
        answer = run.features.has(f"{written}.{name}", run.version)
        return PROBE if answer is None else answer
    found = run.value(owner, scope) if type(owner) is ir.Name else OTHER
    if found is None:
        return False
    return PROBE if run.names.is_probe(name) and type(owner) is not ir.Name else OTHER


def _getattr(run: Evaluation, call: ir.Call, scope: Scope) -> Any:
    name = run.value(call.args[1], scope) if len(call.args) > 1 else PROBE
    owner = call.args[0]
    written = written_name(run.project, owner, scope.file, scope.function)
    if name == "__version__" and written:
        return run.library(f"{written}.__version__", owner, scope)
    if type(owner) is ir.Name and owner.id == "operator" and isinstance(name, str):
        return SPOKEN.get(name, PROBE)
    there = _member_of(run, owner, name, scope)
    if not is_known(there):
        return there
    if there:
        return Thing()
    return run.value(call.args[2], scope) if len(call.args) > 2 else PROBE


def _names_of(run: Evaluation, call: ir.Call, scope: Scope) -> Any:
    """``dir(x)`` and ``vars(x)``."""
    written = written_name(run.project, call.args[0], scope.file, scope.function)
    if not written or not run.features.owns(written):
        return OTHER
    return run.members_of(written)


def _signature(run: Evaluation, call: ir.Call, scope: Scope) -> Any:
    """The parameters of a function of the package, or of a class's constructor."""
    written = written_name(run.project, call.args[0], scope.file, scope.function)
    if not written or not run.features.owns(written):
        return OTHER if written else PROBE
    written = written.removesuffix(".__init__")
    names = run.features.parameters(written, run.version)
    return PROBE if names is None else Names(lambda name: name in names)


_KINDS = {
    "callable": frozenset({"class", "function"}),
    "isclass": frozenset({"class"}),
    "isfunction": frozenset({"function"}),
    "ismodule": frozenset({"module"}),
}
"""Questions for the kind of a thing, with the kinds for which they hold."""


def _is_of_kind(run: Evaluation, call: ir.Call, scope: Scope) -> Any:
    """``callable(module.name)``, ``inspect.ismodule(getattr(module, "name", None))``."""
    expr = call.args[0]
    last = call.func.name if type(call.func) is ir.Attribute else getattr(call.func, "id", "")
    value = run.value(expr, scope)
    if value is None:
        return False
    name = written_name(run.project, expr, scope.file, scope.function)
    if type(expr) is ir.Call and last_name(expr) == "getattr" and len(expr.args) > 1:
        member = run.value(expr.args[1], scope)
        owner = written_name(run.project, expr.args[0], scope.file, scope.function)
        name = f"{owner}.{member}" if owner and isinstance(member, str) else ""
    if not name or not run.features.owns(name):
        return OTHER if value is OTHER else PROBE
    kind = run.features.kind(name, run.version)
    return kind in _KINDS[last] if kind in ("module", "class", "function") else PROBE


_QUESTIONS: dict[str, Callable[[Evaluation, ir.Call, Scope], Any]] = {
    "hasattr": _hasattr,
    "getattr": _getattr,
    "dir": _names_of,
    "vars": _names_of,
    "signature": _signature,
    "getfullargspec": _signature,
    **dict.fromkeys(_KINDS, _is_of_kind),
}


def _least(run: Evaluation, arguments: Sequence[ir.Expr], keywords: Sequence[ir.Keyword], scope: Scope) -> Any:
    """Whether the release is at least the one that a question for a package asks for, as far as it asks for one."""
    given = [*arguments, *(one.value for one in keywords if one.name is not None and "ver" in one.name)]
    wanted = run.value(given[0], scope) if len(given) == 1 else None
    return run.compare_release(">=", wanted) if isinstance(wanted, str) and wanted[:1].isdigit() else None


def _is_there(run: Evaluation, call: ir.Call, scope: Scope, last: str) -> Any:
    """``find_spec("a.b")`` and its like."""
    name = run.value(call.args[0], scope) if call.args else PROBE
    if not isinstance(name, str):
        return PROBE if name is PROBE or not call.args else OTHER
    if not run.features.owns(name):
        return OTHER
    answer = run.features.imports(name, "", run.version)
    if answer is None:
        return PROBE
    least = _least(run, call.args[1:], call.keywords, scope) if answer and "." not in name else None
    if least is not None:
        return least
    if not last.startswith(("find_", "import_")):
        return answer
    return Thing() if answer else None if last != "import_module" else PROBE


# Versions ------------------------------------------------------------------------------------------------------------


def _version_of(run: Evaluation, name: Any, scope: Scope) -> Any:
    if isinstance(name, Thing) or not isinstance(name, str):
        return PROBE
    return run.version_of(distribution_of(name, run.tests.package), scope.file)


def _asked(run: Evaluation, operator: str, version: str, arguments: list[Any]) -> Any:
    given = [*([operator] if operator else []), *([version] if version else arguments)]
    if len(given) < 2 or (not operator and len(arguments) < 2):
        return PROBE
    return combined(given[:2], lambda o, wanted: run.compare_release(str(o), wanted))


def _compare_version(run: Evaluation, arguments: list[Any], scope: Scope) -> Any:
    """``compare_versions("torch", ">=", "2.0")``: the first may be a version itself."""
    what, operator, wanted = arguments[:3]
    if isinstance(what, str) and not what[:1].isdigit():
        what = _version_of(run, what, scope)
    return combined(
        [what, operator, wanted],
        lambda a, o, b: compared(SPOKEN.get(o, o), parsed(a), parsed(b)) if isinstance(o, str) else PROBE,
    )


def meets(run: Evaluation, text: Any, file: str) -> Any:
    """Whether a requirement (``torch>=2.0``) is met."""
    from packaging.requirements import InvalidRequirement
    from packaging.requirements import Requirement as Parsed

    try:
        wanted = Parsed(_text(text))
    except (InvalidRequirement, TypeError):
        return PROBE
    found = run.version_of(distribution_of(wanted.name, run.tests.package), file)
    return combined([found], lambda version: wanted.specifier.contains(parsed(version), prereleases=True))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


# Functions -----------------------------------------------------------------------------------------------------------


def own_function(run: Evaluation, func: ir.Expr, scope: Scope) -> FunctionRef | None:
    """The project function that an expression names: at module level, around the place, or a method of its class."""
    if type(func) is ir.Name and func.id not in scope.names:
        functions = run.project.module(scope.file).functions
        around = scope.function
        while around >= 0:
            for index, function in enumerate(functions):
                if function.parent == around and function.owner < 0 and function.name == func.id:
                    return FunctionRef(scope.file, index)
            around = functions[around].parent
    target = run.project.modules.resolve(func, scope.file)
    if isinstance(target, FunctionRef):
        return target
    if type(func) is ir.Attribute:
        owner = run.owner_of(func.base, scope)
        if isinstance(owner, ClassRef):
            return run.project.modules.method(owner, func.name)
    return None


def _of_project(run: Evaluation, ref: FunctionRef, call: ir.Call, scope: Scope, last: str) -> Any:
    from distlint.link.version_bodies import arguments_for, result_of

    found = result_of(run, ref, arguments_for(run, ref, call, scope), scope)
    if not is_known(found) and found is not PROBE:
        asked = run.names.asks(last)
        if asked is not None:
            return _asked(run, asked.operator, asked.version, run.values(call.args, scope))
    return found


def _mapped(run: Evaluation, call: ir.Call, items: Any, scope: Scope) -> Any:
    func = call.args[0]
    if type(func) is ir.Name and func.id in _CONVERTERS:
        return combined([items], lambda value: tuple(_CONVERTERS[func.id](item) for item in items_of(value)))
    if type(func) is ir.Lambda and len(func.parameters) == 1 and is_known(items):
        try:
            every: Sequence[Any] = tuple(items_of(items))
        except TypeError:
            return PROBE
        names = [{**scope.names, func.parameters[0].name: item} for item in every]
        return combined([run.value(func.body, scope._replace(names=one)) for one in names], lambda *found: found)
    return PROBE if items is PROBE or is_known(items) else OTHER
