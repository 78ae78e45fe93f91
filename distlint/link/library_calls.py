"""What well-known calls of the standard library and of configuration loaders give, without making them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from distlint.link.abstract import Abstract, Frame, Instance, Reference, leaf, node_of, options_of, several
from distlint.link.modules import ClassRef, External
from distlint.link.paths import PathText, ProjectPath
from distlint.link.trees import merged
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping, Node, Sequence, find, node_value
from distlint.model.span import Span
from distlint.model.value import Confidence, Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.flow import Env

_LONGEST = 10_000

_FILE_LOADERS = {
    "json.load": "json",
    "hjson.load": "hjson",
    "yaml.safe_load": "yaml",
    "yaml.load": "yaml",
    "yaml.full_load": "yaml",
    "tomllib.load": "toml",
    "tomli.load": "toml",
    "toml.load": "toml",
    "commentjson.load": "jsonc",
    "json5.load": "jsonc",
}
_TEXT_LOADERS = {
    "json.loads": "json",
    "hjson.loads": "hjson",
    "yaml.safe_load": "yaml",
    "yaml.load": "yaml",
    "toml.loads": "toml",
}
_PATH_LOADERS = {"omegaconf.OmegaConf.load": "omegaconf", "toml.load": "toml", "mmengine.Config.fromfile": "yaml"}

_NUMBERS: dict[str, Callable[..., Any]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "abs": abs,
    "round": round,
    "len": len,
    "max": max,
    "min": min,
    "sum": sum,
    "sorted": sorted,
    "pow": lambda base, exponent: base**exponent if abs(exponent) <= 64 else None,
}


def call_library(
    evaluator: Evaluator, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    """The result of a library function by its dotted name; ``None`` for one that we don't model."""
    if name.startswith("builtins."):
        return _builtin(evaluator, name[len("builtins.") :], call, frame, state, span)
    if name in _FILE_LOADERS and call.args:
        return _load(evaluator, _FILE_LOADERS[name], call, frame, state, span, name)
    if name in _TEXT_LOADERS and call.args:
        return _load_text(evaluator, _TEXT_LOADERS[name], call, frame, state, span)
    if name in _PATH_LOADERS and call.args:
        path = evaluator.evaluate(call.args[0], frame, state)
        return evaluator.project.loaded(node_value(node_of(path, span)), frame.file, _PATH_LOADERS[name], span)
    if name in ("os.environ.get", "os.getenv") and call.args:
        variable = node_value(node_of(evaluator.evaluate(call.args[0], frame, state), span))
        default: Abstract = Leaf(known(None, span), span)
        given = evaluator.argument(call, "default", 1, frame)
        if given is not None:
            default = given
        return environment_variable(evaluator, variable.only, default, span)
    if (
        name in ("copy.deepcopy", "copy.copy", "omegaconf.OmegaConf.create", "omegaconf.OmegaConf.to_container")
        and call.args
    ):
        return evaluator.evaluate(call.args[0], frame, state)
    if name.startswith("pathlib.") and name.rpartition(".")[2] in ("Path", "PurePath", "PosixPath", "PurePosixPath"):
        return _path_object(evaluator, call, frame, state, span)
    if name.startswith("os.path."):
        return _os_path(evaluator, name[len("os.path.") :], call, frame, state, span)
    if (
        name in ("collections.OrderedDict", "easydict.EasyDict", "types.SimpleNamespace", "argparse.Namespace")
        and call.keywords
        and not call.args
    ):
        return None if name.endswith("Namespace") else _dict_call(evaluator, call, frame, state, span)
    if name == "os.getcwd":
        return Leaf(unknown("the working directory", span), span)
    return None


def environment_variable(evaluator: Evaluator, name: Any, default: Abstract, span: Span) -> Abstract:
    """What ``os.environ.get(name, default)`` gives: what the launch exports, else the default, held less firmly."""
    if evaluator.options is not None and isinstance(name, str):
        given = evaluator.options.environment(name, default, span)
        if given is not None:
            return given  # type: ignore[no-any-return]
    if isinstance(default, Leaf) and default.value.is_known:
        return Leaf(Value(default.value.state, default.value.options, (span,), Confidence.POSSIBLE, "a default"), span)
    return Leaf(unknown(f"the environment variable {name}", span), span)


def _argument_values(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> list[Value]:
    return [node_value(node_of(evaluator.evaluate(arg, frame, state), span)) for arg in call.args]


def _builtin(evaluator: Evaluator, name: str, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract | None:
    if name == "dict":
        return _dict_call(evaluator, call, frame, state, span)
    if name in ("list", "tuple", "set") and len(call.args) <= 1:
        if not call.args:
            return Sequence((), span)
        inner = evaluator.evaluate(call.args[0], frame, state)
        return inner if isinstance(inner, Sequence) else None
    if name == "getattr" and len(call.args) >= 2:
        return _getattr(evaluator, call, frame, state, span)
    if name == "vars" and len(call.args) == 1:
        return evaluator.evaluate(call.args[0], frame, state)
    if name == "str" and len(call.args) == 1:
        value = _argument_values(evaluator, call, frame, state, span)[0]
        return leaf(value.map(lambda v: v if isinstance(v, PathText) else str(v)), span)
    if name in (
        "next",
        "iter",
        "enumerate",
        "zip",
        "reversed",
        "open",
        "super",
        "map",
        "filter",
        "range",
        "isinstance",
    ):
        return None
    if name in _NUMBERS and call.args and not call.keywords:
        return _number(evaluator, name, call, frame, state, span)
    return None


def _number(evaluator: Evaluator, name: str, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract | None:
    first = evaluator.evaluate(call.args[0], frame, state)
    if isinstance(first, Instance):
        return None
    if name == "len" and isinstance(first, Sequence):
        return Leaf(unknown("of unknown length", span) if first.open else known(len(first.items), span), span)
    values = _argument_values(evaluator, call, frame, state, span)
    result = values[0]
    if len(values) == 1:
        return leaf(result.map(_NUMBERS[name]), span)
    for value in values:
        if not value.is_known:
            return leaf(value if value.is_unknown else unknown("one of several", span), span)
    confidence = min(value.confidence for value in values)
    spans = tuple(dict.fromkeys(s for value in values for s in value.spans))
    try:
        return Leaf(known(_NUMBERS[name](*(value.only for value in values)), *spans, confidence=confidence), span)
    except (ArithmeticError, TypeError, ValueError):
        return Leaf(unknown("not computable", span), span)


def _dict_call(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract:
    result = Mapping((), span)
    for argument in call.args:
        inner = evaluator.evaluate(argument, frame, state)
        result = merged(result, (), inner if isinstance(inner, Mapping) else None, span)
    keywords = evaluator._keywords(call, frame, state, span)  # noqa: SLF001 - one evaluator in two modules
    return merged(result, (), keywords, span)


def _getattr(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract:
    name = node_value(node_of(evaluator.evaluate(call.args[1], frame, state), span))
    if not name.is_known or not isinstance(name.only, str):
        return Leaf(unknown("an attribute whose name is not known", span), span)
    results = [
        evaluator.attribute(base, name.only, span)
        for base in options_of(evaluator.evaluate(call.args[0], frame, state))
    ]
    if len(call.args) == 3 and any(isinstance(result, Instance) for result in results):
        return Leaf(unknown("an attribute that may be missing", span), span)
    return several(results, span)


def _opened_path(evaluator: Evaluator, expr: ir.Expr, frame: Frame, state: Env, span: Span) -> Value:
    """The path of a file object, followed back to ``open``."""
    paths = []
    for option in options_of(evaluator.evaluate(expr, frame, state)):
        if isinstance(option, Instance) and isinstance(option.callee, External):
            name = option.callee.name
            call, inner = option.call, option.frame
            if name in ("builtins.open", "io.open", "codecs.open") and call.args:
                paths.append(node_value(node_of(evaluator.evaluate(call.args[0], inner, option.state), span)))
                continue
            if name.endswith(".open") and type(call.func) is ir.Attribute:
                paths.append(node_value(node_of(evaluator.evaluate(call.func.base, inner, option.state), span)))
                continue
        return unknown("a file that we can't follow", span)
    return paths[0] if len(paths) == 1 else unknown("one of several files", span)


def _load(
    evaluator: Evaluator, loader: str, call: ir.Call, frame: Frame, state: Env, span: Span, name: str
) -> Abstract:
    path = _opened_path(evaluator, call.args[0], frame, state, span)
    if not path.is_known:
        if name in _TEXT_LOADERS:
            return _load_text(evaluator, loader, call, frame, state, span)
        return Leaf(path, span)
    return evaluator.project.loaded(path, frame.file, loader, span)


def _load_text(evaluator: Evaluator, loader: str, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract:
    """``json.loads`` of a constant string, or of a file's whole text."""
    for option in options_of(evaluator.evaluate(call.args[0], frame, state)):
        if isinstance(option, Instance) and option.part == () and type(option.call.func) is ir.Attribute:
            if option.call.func.name == "read":
                path = _opened_path(evaluator, option.call.func.base, option.frame, option.state, span)
            elif option.call.func.name == "read_text":
                path = node_value(node_of(evaluator.evaluate(option.call.func.base, option.frame, option.state), span))
            else:
                break
            return evaluator.project.loaded(path, frame.file, loader, span)
        if isinstance(option, Leaf) and isinstance(option.value.only, str) and loader in ("json", "hjson", "yaml"):
            return evaluator.project.parsed(option.value.only, loader, span)
    return Leaf(unknown("a text that we can't follow", span), span)


def _path_object(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract:
    values = _argument_values(evaluator, call, frame, state, span)
    if not values:
        return Leaf(known(PathText("."), span), span)
    result = values[0].map(lambda text: text if isinstance(text, PathText) else PathText(text))
    for value in values[1:]:
        if not value.is_known or not result.is_known:
            return Leaf(unknown("a path that is not known", span), span)
        result = known(result.only.joined(value.only), *result.spans)
    return leaf(result, span)


def _os_path(evaluator: Evaluator, name: str, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract | None:
    values = _argument_values(evaluator, call, frame, state, span)
    if name not in ("join", "dirname", "basename", "abspath", "realpath", "normpath", "expanduser") or not values:
        return None
    unknown_value = next((value for value in values if not value.is_known or not isinstance(value.only, str)), None)
    if unknown_value is not None:
        return Leaf(unknown(unknown_value.reason or "a path that is not known", span), span)
    first = values[0].only
    kind = ProjectPath if isinstance(first, ProjectPath) else str
    texts = [str(value.only) for value in values]
    if name == "join":
        made = posixpath.join(*texts)
    elif name in ("abspath", "realpath", "expanduser"):
        made = texts[0]
    else:
        made = getattr(posixpath, name)(texts[0])
    spans = tuple(dict.fromkeys(s for value in values for s in value.spans))
    return Leaf(known(kind(made), span, *spans, confidence=min(v.confidence for v in values)), span)


# Methods -------------------------------------------------------------------------------------------------------------

_STRING_METHODS = frozenset(
    {
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "replace",
        "split",
        "startswith",
        "endswith",
        "removeprefix",
        "removesuffix",
        "title",
        "capitalize",
        "format",
    }
)


def call_method(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract | None:
    """The result of a method call on a mapping, a string or a path; ``None`` if the receiver is something else."""
    func = call.func
    assert isinstance(func, ir.Attribute)  # noqa: S101 - tested by the caller
    if func.name not in _METHODS:
        return None
    results = []
    for base in options_of(evaluator.evaluate(func.base, frame, state)):
        found = _METHODS[func.name](evaluator, base, func.name, call, frame, state, span)
        if found is None:
            return None
        results.append(found)
    return several(results, span)


def _mapping_get(
    evaluator: Evaluator, base: Abstract, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    if not isinstance(base, Mapping) or not call.args:
        return None
    key = node_value(node_of(evaluator.evaluate(call.args[0], frame, state), span))
    if not key.is_known:
        return Leaf(unknown("an item whose key is not known", span), span)
    entry, sure = find(base, (key.only,))
    default: Abstract = Leaf(known(None, span), span)
    if len(call.args) > 1:
        default = evaluator.evaluate(call.args[1], frame, state)
    if entry is None:
        return default if sure else Leaf(unknown("may be set where we can't see", span), span)
    return entry.node if entry.certain else several([entry.node, default], span)


def _mapping_copy(
    evaluator: Evaluator, base: Abstract, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    return base if isinstance(base, (Mapping, Sequence)) else None


def _string_method(
    evaluator: Evaluator, base: Abstract, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    if not isinstance(base, Leaf):
        return None
    if not base.value.is_known or not isinstance(base.value.only, str):
        return Leaf(unknown("a method of something unknown", span), span) if base.value.is_unknown else None
    values = _argument_values(evaluator, call, frame, state, span)
    keywords: dict[str, Value] = {}
    for keyword in call.keywords:
        if keyword.name is None:
            return Leaf(unknown("arguments that are not known", span), span)
        keywords[keyword.name] = node_value(node_of(evaluator.evaluate(keyword.value, frame, state), span))
    every = [*values, *keywords.values()]
    if not all(value.is_known and isinstance(value.only, (str, int, float, bool, type(None))) for value in every):
        return Leaf(unknown("arguments that are not known", span), span)
    text = str(base.value.only)
    if name == "format" and (len(text) > 1000 or any(mark in text for mark in (":", "!", "[", "."))):
        return Leaf(unknown("a format that is not followed", span), span)
    try:
        made = getattr(text, name)(*(v.only for v in values), **{k: v.only for k, v in keywords.items()})
    except (IndexError, KeyError, TypeError, ValueError):
        return Leaf(unknown("not computable", span), span)
    if isinstance(made, list):
        items: tuple[Node, ...] = tuple(Leaf(known(item, span), span) for item in made[:_LONGEST])
        return Sequence(items, span)
    if isinstance(made, str) and len(made) > _LONGEST:
        return Leaf(unknown("too long", span), span)
    spans = tuple(dict.fromkeys(s for value in (base.value, *every) for s in value.spans))
    return Leaf(known(made, *spans, confidence=min(v.confidence for v in (base.value, *every))), span)


def _path_method(
    evaluator: Evaluator, base: Abstract, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    if not isinstance(base, Leaf) or not isinstance(base.value.only, PathText):
        return None
    if name == "joinpath":
        values = _argument_values(evaluator, call, frame, state, span)
        if not all(value.is_known for value in values):
            return Leaf(unknown("a path that is not known", span), span)
        path = base.value.only
        for value in values:
            path = path.joined(str(value.only))
        return leaf(known(path), span)
    return base


def _path_file(
    evaluator: Evaluator, base: Abstract, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    if not isinstance(base, Leaf) or not isinstance(base.value.only, PathText):
        return None
    return Instance(External(f"pathlib.Path().{name}"), call, frame, state)


_METHODS: dict[str, Callable[..., Abstract | None]] = {
    "get": _mapping_get,
    "copy": _mapping_copy,
    "resolve": _path_method,
    "absolute": _path_method,
    "expanduser": _path_method,
    "as_posix": _path_method,
    "joinpath": _path_method,
    "open": _path_file,
    "read_text": _path_file,
    **dict.fromkeys(_STRING_METHODS, _string_method),
}
