"""What well-known calls of the standard library and of configuration loaders give, without making them."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from distlint.link.abstract import (
    Abstract,
    Frame,
    Instance,
    PartialValue,
    Reference,
    leaf,
    node_of,
    options_of,
    several,
)
from distlint.link.modules import ClassRef, External, ModuleFile
from distlint.link.objects import as_mapping, declared_fields
from distlint.link.paths import PathText, ProjectPath
from distlint.model import python as ir
from distlint.model.document import Leaf, Node, Sequence, node_value
from distlint.model.span import Span
from distlint.model.value import Confidence, Value, concatenated, known, unknown

if TYPE_CHECKING:
    from distlint.link.documents import Documents
    from distlint.link.evaluate import Evaluator
    from distlint.link.flow import Env

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
    "tomllib.loads": "toml",
    "tomli.loads": "toml",
}
_PATH_LOADERS = {"omegaconf.OmegaConf.load": "omegaconf", "toml.load": "toml", "mmengine.Config.fromfile": "yaml"}
_ALL_DOCUMENTS = frozenset({"yaml.safe_load_all", "yaml.load_all", "yaml.full_load_all"})
LOADERS = frozenset({*_FILE_LOADERS, *_TEXT_LOADERS})
"""Functions that give the dictionary that stands in a configuration file, or in a text."""


_SAME = frozenset({"copy.deepcopy", "copy.copy", "omegaconf.OmegaConf.create", "omegaconf.OmegaConf.to_container"})
"""Functions that give an equal object."""


def _copied(value: Abstract, call: ir.Call) -> Abstract:
    """An object as a copy of its own: made in the same way, but another one."""
    if not isinstance(value, Instance) or value.part:
        return value
    return Instance(value.callee, value.call, value.frame, value.state, copy=call.at)


def call_library(
    evaluator: Evaluator, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    """The result of a library function by its dotted name; ``None`` for one that we don't model."""
    if name.startswith("builtins."):
        from distlint.link.builtin_calls import call_builtin

        return call_builtin(evaluator, name[len("builtins.") :], call, frame, state, span)
    if name in _FILE_LOADERS and call.args:
        return _load(evaluator, _FILE_LOADERS[name], call, frame, state, span, name)
    if name in _TEXT_LOADERS and call.args:
        return _load_text(evaluator, _TEXT_LOADERS[name], call, frame, state, span)
    if name in _PATH_LOADERS and call.args:
        path = evaluator.evaluate(call.args[0], frame, state)
        return evaluator.project.documents.loaded(
            node_value(node_of(path, span)), frame.file, _PATH_LOADERS[name], span
        )
    if name in ("os.environ.get", "os.getenv") and call.args:
        from distlint.link.items import environment_item

        variable = node_value(node_of(evaluator.evaluate(call.args[0], frame, state), span))
        given = evaluator.argument(call, "default", 1, frame, state)
        default = given if given is not None else Leaf(known(None, span), span)
        return environment_item(evaluator, variable.only, default, frame, state, span)
    if name in _SAME and call.args:
        given = evaluator.evaluate(call.args[0], frame, state)
        return several([_copied(one, call) for one in options_of(given)], span) if name == "copy.deepcopy" else given
    if name == "functools.partial" and call.args:
        return PartialValue(evaluator.evaluate(call.args[0], frame, state), call, frame, state)
    if name == "importlib.import_module" and call.args:
        return _imported_module(evaluator, call, frame, state, span)
    if name == "dataclasses.asdict" and call.args:
        value = evaluator.evaluate(call.args[0], frame, state)
        return as_mapping(evaluator, value, span) if isinstance(value, Instance) else None
    if name == "dataclasses.fields" and call.args:
        return _fields(evaluator, evaluator.evaluate(call.args[0], frame, state), span)
    if name.startswith("pathlib.") and name.rpartition(".")[2] in ("Path", "PurePath", "PosixPath", "PurePosixPath"):
        return _path_object(evaluator, call, frame, state, span)
    if name.startswith("os.path."):
        return _os_path(evaluator, name[len("os.path.") :], call, frame, state, span)
    if name == "collections.OrderedDict":
        from distlint.link.builtin_calls import dict_call

        return dict_call(evaluator, call, frame, state, span)
    if name == "os.getcwd":
        return Leaf(unknown("the working directory", span), span)
    return None


def _fields(evaluator: Evaluator, value: Abstract, span: Span) -> Sequence | None:
    """The fields of a dataclass or its object, each with ``name``, ``default`` and ``type``."""
    owner = value.target if isinstance(value, Reference) else value.callee if isinstance(value, Instance) else None
    found = declared_fields(evaluator, owner, span) if isinstance(owner, ClassRef) else None
    return Sequence(tuple(entry.node for entry in found.entries), span) if found is not None else None


def _imported_module(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract | None:
    name = node_value(node_of(evaluator.evaluate(call.args[0], frame, state), span))
    if not isinstance(name.only, str) or name.only.startswith("."):
        return None
    found = evaluator.modules.find(name.only, frame.file)
    return Reference(ModuleFile(found) if found is not None else External(name.only), span)


def environment_variable(evaluator: Evaluator, name: Any, default: Abstract | None, span: Span) -> Abstract:
    """What ``os.environ.get(name, default)`` gives: what the launch exports, else the default, held less firmly."""
    if evaluator.options is not None and isinstance(name, str):
        given = evaluator.options.environment(name, default, span)
        if given is not None:
            return given  # type: ignore[no-any-return]
    if isinstance(default, Leaf) and default.value.is_known:
        return Leaf(Value(default.value.state, default.value.options, (span,), Confidence.POSSIBLE, "a default"), span)
    return Leaf(unknown(f"the environment variable {name}", span), span)


def argument_values(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> list[Value]:
    """What is known of the positional arguments of a call."""
    return [node_value(node_of(evaluator.evaluate(arg, frame, state), span)) for arg in call.args]


def opened_path(evaluator: Evaluator, expr: ir.Expr, frame: Frame, state: Env, span: Span) -> Value:
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
    path = opened_path(evaluator, call.args[0], frame, state, span)
    if not path.is_known and not path.symbol:
        if name in _TEXT_LOADERS:
            return _load_text(evaluator, loader, call, frame, state, span)
        return Leaf(path, span)
    return evaluator.project.documents.loaded(path, frame.file, loader, span)


def _load_text(evaluator: Evaluator, loader: str, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract:
    """``json.loads`` of a constant string, or of a file's whole text."""
    for option in options_of(evaluator.evaluate(call.args[0], frame, state)):
        if isinstance(option, Instance) and option.callee == External("json.dumps") and option.call.args:
            return evaluator.evaluate(option.call.args[0], option.frame, option.state)
        if isinstance(option, Instance) and option.part == () and type(option.call.func) is ir.Attribute:
            if option.call.func.name == "read":
                path = opened_path(evaluator, option.call.func.base, option.frame, option.state, span)
            elif option.call.func.name == "read_text":
                path = node_value(node_of(evaluator.evaluate(option.call.func.base, option.frame, option.state), span))
            else:
                break
            return evaluator.project.documents.loaded(path, frame.file, loader, span)
        if isinstance(option, Leaf) and isinstance(option.value.only, str):
            found = _parsed(evaluator.project.documents, option.value.only, loader, span)
            if found is not None:
                return found
    return Leaf(unknown("a text that we can't follow", span), span)


def parsed_text(documents: Documents, name: str, text: str, span: Span) -> Node | None:
    """What a function gives that reads settings from a text, by its dotted name; ``None`` for others."""
    return _parsed(documents, text, _TEXT_LOADERS.get(name, ""), span)


def every_parsed(documents: Documents, name: str, text: str, span: Span) -> list[Node] | None:
    """The documents that a function gives one after the other which reads all of a text; ``None`` for other functions."""
    return documents.every_parsed(text, "yaml", span) or None if name in _ALL_DOCUMENTS else None


def _parsed(documents: Documents, text: str, loader: str, span: Span) -> Node | None:
    return documents.parsed(text, loader, span) if loader in ("json", "hjson", "yaml", "toml") else None


def _path_object(evaluator: Evaluator, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract:
    values = argument_values(evaluator, call, frame, state, span)
    if not values:
        return Leaf(known(PathText("."), span), span)
    result = values[0].map(lambda text: text if isinstance(text, PathText) else PathText(text))
    for value in values[1:]:
        if not value.is_known or not result.is_known:
            return Leaf(unknown("a path that is not known", span), span)
        result = known(result.only.joined(value.only), *result.spans)
    return leaf(result, span)


def _os_path(evaluator: Evaluator, name: str, call: ir.Call, frame: Frame, state: Env, span: Span) -> Abstract | None:
    values = argument_values(evaluator, call, frame, state, span)
    if name == "isabs" and len(values) == 1:
        # What is made of ``__file__`` is absolute only where the program makes it so.
        given = values[0] if not isinstance(values[0].only, ProjectPath) else unknown("a path of the project", span)
        return Leaf(given.map(posixpath.isabs), span)
    if name in ("split", "splitext") and len(values) == 1 and isinstance(values[0].only, str):
        kind = type(values[0].only)
        parts = getattr(posixpath, name)(values[0].only)
        items = (kind(parts[0]), parts[1])
        return Sequence(tuple(Leaf(values[0].map(lambda _, part=part: part), span) for part in items), span)  # type: ignore[misc]
    if name not in ("join", "dirname", "basename", "abspath", "realpath", "normpath", "expanduser") or not values:
        return None
    unknown_value = next((value for value in values if not value.is_known or not isinstance(value.only, str)), None)
    if unknown_value is not None:
        same_file = name in ("abspath", "realpath", "normpath", "expanduser") or (name == "join" and len(values) == 1)
        symbol = unknown_value.symbol if same_file else ""
        found = unknown(unknown_value.reason or "a path that is not known", *unknown_value.spans, symbol=symbol)
        if name == "join" and len(values) > 1:
            # Where the last part is no absolute path, it is what the whole path ends with.
            found = concatenated((unknown("a folder"), values[-1]), span)
        return Leaf(found, span)
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
