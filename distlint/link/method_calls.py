"""What methods of mappings, strings and paths give, without calling them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from distlint.link.abstract import Abstract, Frame, Instance, leaf, lifted, node_of, options_of, several
from distlint.link.arithmetic import combine
from distlint.link.items import elements
from distlint.link.library_calls import argument_values
from distlint.link.modules import External
from distlint.link.objects import as_mapping, attribute_of, attributes
from distlint.link.paths import PathText
from distlint.link.text_sizes import may_be_long
from distlint.link.walking import ALL, object_of
from distlint.model import python as ir
from distlint.model.document import Leaf, Mapping, Node, Sequence, find, node_value
from distlint.model.span import Span
from distlint.model.value import Value, known, unknown, unknown_text

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.flow import Env

_LONGEST = 10_000

_STRING_METHODS = frozenset(
    {
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "replace",
        "split",
        "rsplit",
        "splitlines",
        "partition",
        "rpartition",
        "isdigit",
        "isnumeric",
        "isalpha",
        "find",
        "count",
        "casefold",
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
    owner = object_of(call.func.base) if isinstance(call.func, ir.Attribute) and name == "get" else None
    if owner is not None and call.args:
        # the attribute may have been set by itself
        return _attribute_get(
            evaluator,
            lambda names: attribute_of(evaluator, owner, names, frame, state, span),
            call,
            frame,
            state,
            span,
        )
    if isinstance(base, Instance) and base.part[-1:] == (ALL,) and call.args:
        whole = Instance(base.callee, base.call, base.frame, base.state, base.part[:-1])
        return _attribute_get(
            evaluator, lambda names: attributes(evaluator, whole, names, span), call, frame, state, span
        )
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
    if name == "setdefault" and not entry.certain:
        return several([entry.node, default], span)
    return lifted(entry.node) if entry.certain else several([entry.node, default], span)


def _attribute_get(
    evaluator: Evaluator,
    ask: Callable[[tuple[str, ...]], Abstract],
    call: ir.Call,
    frame: Frame,
    state: Env,
    span: Span,
) -> Abstract | None:
    """``vars(args).get(name)``: what ``ask`` gives for the attribute."""
    key = node_value(node_of(evaluator.evaluate(call.args[0], frame, state), span))
    found = ask((key.only,)) if isinstance(key.only, str) else None
    return None if isinstance(found, Instance) else found


def _views(
    evaluator: Evaluator, base: Abstract, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    """``items``, ``keys`` and ``values`` of a mapping."""
    if not isinstance(base, Mapping) or call.args:
        return None
    keys = elements(base)
    if keys is None:
        return Sequence((), span, open=True)
    items: list[Node] = []
    for key in keys:
        entry = base.entry(node_value(key).only)
        if entry is not None:
            items.append({"keys": key, "values": entry.node}.get(name) or Sequence((key, entry.node), span))
    return Sequence(tuple(items), span)


def _as_dict(
    evaluator: Evaluator, base: Abstract, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    return as_mapping(evaluator, base, span) if isinstance(base, Instance) else None


def _join(
    evaluator: Evaluator, base: Abstract, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    """``separator.join(parts)``."""
    if not isinstance(base, Leaf) or not isinstance(base.value.only, str) or len(call.args) != 1:
        return None
    parts = elements(evaluator.evaluate(call.args[0], frame, state))
    values = [node_value(part) for part in parts or ()]
    if parts is None or not all(isinstance(value.only, str) for value in values):
        return Leaf(unknown("joins parts that are not known", span), span)
    text = base.value.only.join(value.only for value in values)
    spans = tuple(dict.fromkeys(s for value in (base.value, *values) for s in value.spans))
    confidence = min(value.confidence for value in (base.value, *values))
    return Leaf(
        known(text, *spans, confidence=confidence) if len(text) <= _LONGEST else unknown("too long", span), span
    )


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
    values = argument_values(evaluator, call, frame, state, span)
    keywords: dict[str, Value] = {}
    for keyword in call.keywords:
        if keyword.name is None:
            return Leaf(unknown("arguments that are not known", span), span)
        keywords[keyword.name] = node_value(node_of(evaluator.evaluate(keyword.value, frame, state), span))
    every = [*values, *keywords.values()]
    if not all(value.is_known and isinstance(value.only, (str, int, float, bool, type(None))) for value in every):
        return Leaf(_partly_formatted(name, str(base.value.only), span), span)
    text = str(base.value.only)
    if name == "format" and (not _has_plain_fields(text) or may_be_long(text, [value.only for value in every])):
        return Leaf(_partly_formatted(name, text, span), span)
    try:
        made = getattr(text, name)(*(v.only for v in values), **{k: v.only for k, v in keywords.items()})
    except (IndexError, KeyError, TypeError, ValueError):
        return Leaf(unknown("not computable", span), span)
    if isinstance(made, list | tuple):
        where = base.value.spans or (span,)
        confidence = min(v.confidence for v in (base.value, *every))
        items: tuple[Node, ...] = tuple(
            Leaf(known(item, *where, confidence=confidence), span) for item in made[:_LONGEST]
        )
        return Sequence(items, span)
    if isinstance(made, str) and len(made) > _LONGEST:
        return Leaf(unknown("too long", span), span)
    spans = tuple(dict.fromkeys(s for value in (base.value, *every) for s in value.spans))
    return Leaf(known(made, *spans, confidence=min(v.confidence for v in (base.value, *every))), span)


_FIELD = re.compile(r"\{[^{}]*\}")


def _has_plain_fields(template: str) -> bool:
    """Whether no field of a template asks for an attribute or item: those of our texts are not those of the program's."""
    left = _FIELD.sub("", template).replace("{{", "").replace("}}", "")
    names = [re.split("[!:]", field)[0] for field in _FIELD.findall(template)]
    return not any(mark in name for name in names for mark in ".[") and not set(left) & set("{}")


def _partly_formatted(name: str, template: str, span: Span) -> Value:
    """``template.format(...)`` with parts that are not known."""
    if name != "format" or len(template) > _LONGEST or "{{" in template or "}}" in template:
        return unknown("arguments that are not known", span)
    pieces = _FIELD.split(template)
    return unknown_text(pieces[0], pieces[-1], span)


_CHANGING_PATHS = ("with_name", "with_stem", "with_suffix")


def _path_method(
    evaluator: Evaluator, base: Abstract, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    if not isinstance(base, Leaf) or not isinstance(base.value.only, PathText):
        return None
    if name == "joinpath":
        values = argument_values(evaluator, call, frame, state, span)
        if not all(value.is_known for value in values):
            return Leaf(unknown("a path that is not known", span), span)
        path = base.value.only
        for value in values:
            path = path.joined(str(value.only))
        return leaf(known(path), span)
    if name in _CHANGING_PATHS:
        values = argument_values(evaluator, call, frame, state, span)
        new = values[0] if len(values) == 1 else unknown("no name")
        return leaf(combine(lambda path, text: path.changed(name, text), base.value, new, span), span)
    return base


def _path_file(
    evaluator: Evaluator, base: Abstract, name: str, call: ir.Call, frame: Frame, state: Env, span: Span
) -> Abstract | None:
    if not isinstance(base, Leaf) or not isinstance(base.value.only, PathText):
        return None
    return Instance(External(f"pathlib.Path().{name}"), call, frame, state)


_METHODS: dict[str, Callable[..., Abstract | None]] = {
    "get": _mapping_get,
    "setdefault": _mapping_get,
    "pop": _mapping_get,
    **dict.fromkeys(("items", "keys", "values"), _views),
    "_asdict": _as_dict,
    "join": _join,
    "copy": _mapping_copy,
    "resolve": _path_method,
    "absolute": _path_method,
    "expanduser": _path_method,
    "as_posix": _path_method,
    "joinpath": _path_method,
    **dict.fromkeys(_CHANGING_PATHS, _path_method),
    "open": _path_file,
    "read_text": _path_file,
    **dict.fromkeys(_STRING_METHODS, _string_method),
}
