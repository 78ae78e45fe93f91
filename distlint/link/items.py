"""Items of things: subscripts, slices, unpacking, iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.abstract import Abstract, Frame, Instance, leaf, lifted, node_of, options_of, several
from distlint.link.flow import Bind, Env, Join, Store
from distlint.link.modules import ClassRef
from distlint.link.objects import attribute, attribute_of, fields_of
from distlint.link.process_arguments import ARGUMENTS
from distlint.link.walking import object_of
from distlint.model import python as ir
from distlint.model.document import Leaf, Mapping, Node, Sequence, find, node_value
from distlint.model.span import Span
from distlint.model.value import State, known, unknown

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator

MAX_ITEMS = 200


def item_of(evaluator: Evaluator, expr: ir.Subscript, frame: Frame, state: Env, span: Span) -> Abstract:
    """``base[index]``."""
    if type(expr.index) is ir.Constant and evaluator.modules.dotted(expr.base, frame.file) == "os.environ":
        return environment_item(evaluator, expr.index.value, None, frame, state, span)
    if type(expr.index) is ir.Constant and evaluator.modules.dotted(expr.base, frame.file) == ARGUMENTS:
        return _process_argument(evaluator, expr.index.value, evaluator.evaluate(expr.base, frame, state), span)
    owner = object_of(expr.base)
    if owner is not None:
        key = node_value(node_of(evaluator.evaluate(expr.index, frame, state), span))
        if isinstance(key.only, str):
            return attribute_of(evaluator, owner, (key.only,), frame, state, span)
    bases = options_of(evaluator.evaluate(expr.base, frame, state))
    if type(expr.index) is ir.Slice:
        return several([_slice(evaluator, base, expr.index, frame, state, span) for base in bases], span)
    made = [_made_when_missing(evaluator, base) for base in bases]
    if made and all(one is not None for one in made):
        return several([one for one in made if one is not None], span)
    index = node_value(node_of(evaluator.evaluate(expr.index, frame, state), span))
    if index.state is State.ONE_OF:
        return several([_item(evaluator, base, key, span) for base in bases for key in index.options], span)
    if not index.is_known:
        return Leaf(unknown("an item of something unknown", span), span)
    return several([_item(evaluator, base, index.only, span) for base in bases], span)


def _made_when_missing(evaluator: Evaluator, base: Abstract) -> Abstract | None:
    """What a ``defaultdict`` holds under any key where a class makes it: an object like a new one."""
    if not isinstance(base, Instance) or base.part or not base.call.args:
        return None
    if evaluator.instance_name(base) != "collections.defaultdict()":
        return None
    maker = base.call.args[0]
    found = evaluator.evaluate(ir.Call(maker, (), (), maker.at), base.frame, base.state)
    return found if isinstance(found, Instance) and isinstance(found.callee, ClassRef) else None


def _item(evaluator: Evaluator, base: Abstract, index: Any, span: Span) -> Abstract:
    if isinstance(base, Instance):
        if isinstance(index, str) and base.part[-1:] == ("__dict__",):
            whole = Instance(base.callee, base.call, base.frame, base.state, base.part[:-1])
            return attribute(evaluator, whole, index, span)
        if isinstance(index, int):
            if isinstance(base.callee, ClassRef) and not base.part:
                fields = fields_of(evaluator, base.callee)
                if -len(fields) <= index < len(fields):
                    return attribute(evaluator, base, fields[index].name, span)
            return evaluator.part_of(base, index)
    elif isinstance(base, Mapping):
        entry, sure = find(base, (index,))
        if entry is not None and entry.certain:
            return lifted(entry.node)
        if entry is not None:
            return Leaf(unknown("set on some paths only", span), span)
        return Leaf(unknown("no such key" if sure else "may be set where we can't see", span), span)
    elif isinstance(base, Sequence):
        if isinstance(index, int) and not base.open:
            inside = -len(base.items) <= index < len(base.items)
            return lifted(base.items[index]) if inside else Leaf(unknown("out of range", span), span)
    elif isinstance(base, Leaf) and base.value.is_known:
        return leaf(base.value.map(lambda text: text[index]), span)
    return Leaf(unknown("an item of something unknown", span), span)


def _process_argument(evaluator: Evaluator, index: Any, words: Abstract, span: Span) -> Abstract:
    """``sys.argv[index]``: of a list whose end we can't see, the first words are known all the same."""
    if isinstance(words, Sequence) and words.open and isinstance(index, int) and 0 <= index < len(words.items):
        return lifted(words.items[index])
    return _item(evaluator, words, index, span)


def _slice(evaluator: Evaluator, base: Abstract, part: ir.Slice, frame: Frame, state: Env, span: Span) -> Abstract:
    bounds = []
    for bound in (part.lower, part.upper, part.step):
        value = node_value(node_of(evaluator.evaluate(bound, frame, state), span)) if bound is not None else known(None)
        if not value.is_known or not isinstance(value.only, int | None):
            return Leaf(unknown("a slice whose bounds are not known", span), span)
        bounds.append(value.only)
    cut = slice(*bounds)
    if isinstance(base, Sequence) and not base.open and cut.step != 0:
        return Sequence(base.items[cut], span)
    if isinstance(base, Leaf) and base.value.is_known and isinstance(base.value.only, str | list | tuple):
        return leaf(base.value.map(lambda text: text[cut]), span)
    return Leaf(unknown("a slice of something unknown", span), span)


def part_of_value(evaluator: Evaluator, value: Abstract, part: int | str, span: Span) -> Abstract:
    """A part of a value: an index of an unpacking, ``*`` for any element, ``:start:stop`` for a rest.

    ``enter`` for what ``with`` binds.
    """
    if isinstance(value, Instance):
        if part == "enter":
            return value
        if isinstance(part, int):
            return _item(evaluator, value, part, span)
        return evaluator.part_of(value, part)
    if part == "enter":
        return value if not isinstance(value, Leaf) else Leaf(unknown("what a context manager gives", span), span)
    items = elements(value)
    if items is None:
        return Leaf(unknown("a part of something unknown", span), span)
    if part == "*":
        return several([lifted(item) for item in items], span)
    if isinstance(part, int):
        inside = -len(items) <= part < len(items)
        return lifted(items[part]) if inside else Leaf(unknown("out of range", span), span)
    if part.startswith(":"):
        start, stop = (int(bound) for bound in part[1:].split(":"))
        return Sequence(tuple(items[start : len(items) + stop]), span)
    return Leaf(unknown("not followed", span), span)


def elements(value: Abstract) -> list[Node] | None:
    """What iterating over a value gives, one by one; ``None`` if that can't be told."""
    if isinstance(value, Sequence) and not value.open:
        return list(value.items[:MAX_ITEMS]) if len(value.items) <= MAX_ITEMS else None
    if isinstance(value, Mapping) and not value.open and all(entry.certain for entry in value.entries):
        places = {entry.key: entry.key_span for entry in value.entries}
        return [Leaf(known(key, place), place) for key, place in places.items()]
    if isinstance(value, Leaf) and value.value.is_known and isinstance(value.value.only, list | tuple | str):
        if len(value.value.only) <= MAX_ITEMS:
            spans, confidence = value.value.spans, value.value.confidence
            return [Leaf(known(item, *spans, confidence=confidence), value.span) for item in value.value.only]
    return None


# The environment ------------------------------------------------------------------------------------------------------


def environment_item(
    evaluator: Evaluator, name: Any, default: Abstract | None, frame: Frame, state: Env, span: Span
) -> Abstract:
    """An environment variable: what the program put there before, what the launch exports, or the default."""
    stored = _environment_store(name, state)
    if stored is None and frame.function >= 0:
        flow = evaluator.project.flow(frame.file, -1)
        frame, stored = evaluator.frame(frame.file, -1), _environment_store(name, flow.exit or flow.entry)
    if stored is not None:
        if stored.action == "set" and stored.prev is not None:
            return evaluator.evaluate(stored.expr, frame, stored.prev)
        call = stored.expr
        if (
            stored.action == "setdefault"
            and isinstance(call, ir.Call)
            and len(call.args) > 1
            and stored.prev is not None
        ):
            default = evaluator.evaluate(call.args[1], frame, stored.prev)
        else:
            return Leaf(unknown(f"the environment variable {name}", span), span)
    from distlint.link.library_calls import environment_variable

    return environment_variable(evaluator, name, default, span)


def _environment_store(name: Any, state: Env) -> Store | None:
    """The step that put a variable into the environment; one with an unclear effect where the paths differ."""
    place: Env | None = state
    while place is not None:
        if isinstance(place, Store) and place.name == "os" and place.path[:1] == (".environ",):
            key = place.path[1] if len(place.path) > 1 else None
            if place.action == "setdefault" and isinstance(place.expr, ir.Call) and place.expr.args:
                key = place.expr.args[0]
            if type(key) is ir.Constant and key.value != name:
                place = place.prev
                continue
            return place if type(key) is ir.Constant else Store(place, "os", (), "unknown", place.expr)
        if isinstance(place, Bind) and place.name == "os":
            return None
        if isinstance(place, Join) and "os" in place.touched:
            found = [one for branch in place.branches if (one := _between(name, branch, place.prev)) is not None]
            if found:
                return Store(place, "os", (), "unknown", found[0].expr)
        place = place.prev
    return None


def _between(name: Any, state: Env, end: Env | None) -> Store | None:
    place: Env | None = state
    while place is not None and place is not end:
        if isinstance(place, Store) and place.name == "os" and place.path[:1] == (".environ",):
            key = place.path[1] if len(place.path) > 1 else None
            if type(key) is not ir.Constant or key.value == name:
                return place
        if isinstance(place, Join) and "os" in place.touched and place.branches and not place.anywhere:
            for branch in place.branches[:1]:
                found = _between(name, branch, place.prev)
                if found is not None:
                    return found
        place = place.prev
    return None
