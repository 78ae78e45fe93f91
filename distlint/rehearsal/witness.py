"""What one run of a program was seen to give to calls: a second opinion where following values backwards does not come to an answer.

A program of which the launch is known is followed forwards with the options, the environment and the files that it has then, as its
first and as its last process. What both give to a call, each time that they come there, is what the call gets in that run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.link.abstract import Abstract, Frame, Instance, Reference, Several, node_of
from distlint.link.modules import ClassRef, External, FunctionRef, Target
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping, Node, Sequence
from distlint.model.span import Span
from distlint.model.value import Confidence, known, unknown
from distlint.rehearsal.entities import ClassValue, FunctionValue, Library, MethodOf
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, Thing, is_known

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator

MAX_ITEMS = 64
"""Items of a list or dictionary that are kept; what has more is data."""

MAX_ORDER = 1_000
"""Calls of one process of which the order is kept."""

MAX_DEPTH = 4
"""Lists and dictionaries inside each other."""

_MADE = re.compile(r"(.*)\(\)((?:\[-?\d+\])*)")
_PART = re.compile(r"\[(-?\d+)\]")

_PYTHON = frozenset({"builtins", *sys.stdlib_module_names})

_SHAPES = ("iterator", "tensor")
"""Kinds of which only sizes are kept: they are no values in the terms of evaluation."""

_Place = tuple[str, ir.Position]


class Seen(NamedTuple):
    """A value as it was when a call got it.

    ``kind`` is ``plain``, ``list``, ``iterator`` (over a list), ``table``, ``made``, ``named`` or ``tensor`` (its shape).
    """

    kind: str
    value: Any


class MadeBy(NamedTuple):
    """An object of a library by the call that made it; ``has_more`` where that got more than stands there (``partial``)."""

    name: str
    file: str
    function: int
    call: ir.Call
    has_more: bool
    part: tuple[int, ...] = ()
    """Which of its results it is (``boost(...)[0]``)."""


class SeenCall(NamedTuple):
    """A call of something of a library, by its name, with what it got; ``None`` stands for what is not known."""

    name: str
    file: str
    function: int
    call: ir.Call
    positional: tuple[Seen | None, ...]
    keywords: tuple[tuple[str, Seen | None], ...]
    is_open: bool
    places: tuple[tuple[int | str, Span], ...] = ()
    """Where arguments stand that an earlier call gave (``partial``), by position or name."""

    def place_of(self, name: str, signature: tuple[str, ...]) -> Span | None:
        """Where the argument for a parameter stands, if that is elsewhere."""
        found = dict(self.places)
        place = signature.index(name) if name in signature else None
        return found.get(name) or (found.get(place) if place is not None else None)


class SeenName(NamedTuple):
    """A library's name that was asked for by a text (``getattr(module, "name")``), or a module that was imported by one."""

    name: str
    file: str
    function: int
    at: ir.Position
    is_import: bool


class Step(NamedTuple):
    """A call of something of a library where it came among others; ``Class().__enter__`` where a context is entered."""

    name: str
    span: Span
    is_sure: bool


class Witness:
    """What one process was seen to give to calls."""

    def __init__(self) -> None:
        self.values: dict[_Place, Seen | None] = {}
        self.firsts: dict[_Place, Seen | None] = {}
        self.calls: dict[_Place, list[SeenCall]] = {}
        self.names: dict[_Place, list[SeenName]] = {}
        self.orders: tuple[list[Step], ...] = ([],)
        """The first calls of each process in their order."""
        self.come: set[_Place] = set()
        """The calls that the process came to, whatever they called."""
        self.went: dict[_Place, set[FunctionRef | None]] = {}
        """The functions that calls went to, by what is called; ``None`` where that was not known, or something else."""
        self.entered: frozenset[FunctionRef] = frozenset()
        """The functions that the process came into."""
        self.sure: frozenset[FunctionRef] = frozenset()
        """Those that it certainly came into."""
        self.is_whole = False
        """Whether it was followed to its end."""

    def gives(self, expr: ir.Expr, file: str, value: Any) -> None:
        """Notes what an argument is; two values of one argument are none."""
        place = (file, expr.at)
        seen = snapshot(value)
        self.values[place] = seen if place not in self.values or self.values[place] == seen else None

    def gives_next(self, expr: ir.Expr, file: str, first: Items) -> None:
        """Notes what an iterator that is an argument gives next."""
        over = snapshot(first, 1)
        place = (file, expr.at)
        seen = Seen("iterator", over) if over is not None else None
        self.firsts[place] = seen if place not in self.firsts or self.firsts[place] == seen else None
        self.values[place] = self.firsts[place]

    def enters(self, callee: Any, func: ir.Expr, file: str) -> None:
        """Notes what is called, and the object whose method it is."""
        ref = callee.ref if isinstance(callee, FunctionValue) else None
        self.went.setdefault((file, func.at), set()).add(ref)
        if isinstance(callee, MethodOf):
            if type(func) is ir.Attribute:
                self.gives(func.base, file, callee.receiver)
        else:
            self.gives(func, file, callee)

    def calls_library(self, name: str, given: Given, call: ir.Call, file: str, function: int, *, is_sure: bool) -> None:
        """Notes a call of something of a library, and whether the process certainly came there."""
        self.comes_to(name, ir.unpack(call.at, file), is_sure=is_sure)
        positional = tuple(snapshot(one) for one in given.positional)
        keywords = tuple((key, None if given.open else snapshot(one)) for key, one in given.keywords.items())
        made = SeenCall(name, file, function, call, positional, keywords, given.open, tuple(given.places.items()))
        kept = self.calls.setdefault((file, call.at), [])
        if made not in kept and len(kept) < MAX_ITEMS:
            kept.append(made)

    def comes_to(self, name: str, span: Span, *, is_sure: bool) -> None:
        """Notes something of which the order counts."""
        if len(self.orders[0]) < MAX_ORDER:
            self.orders[0].append(Step(name, span, is_sure))

    def asks(self, name: str, call: ir.Call, file: str, function: int, *, is_import: bool = False) -> None:
        """Notes a name of a library that is asked for by a text, unless the text stands in the call itself."""
        kept = self.names.setdefault((file, call.at), [])
        made = SeenName(name, file, function, call.at, is_import)
        if type(call.args[-1]) is not ir.Constant and made not in kept and len(kept) < MAX_ITEMS:
            kept.append(made)

    def agreed(self, other: Witness) -> Witness:
        """What this process and another one both were seen to give."""
        both = Witness()
        both.come = self.come | other.come
        for one in (self.went, other.went):
            for place, refs in one.items():
                both.went.setdefault(place, set()).update(refs)
        both.orders = (*self.orders, *other.orders)
        both.sure = self.sure | other.sure
        both.entered, both.is_whole = self.entered | other.entered, self.is_whole and other.is_whole
        both.values = {place: seen for place, seen in self.values.items() if other.values.get(place) == seen}
        for place, calls in self.calls.items():
            both.calls[place] = [one for one in calls if one in other.calls.get(place, ())]
        for place, names in self.names.items():
            both.names[place] = [one for one in names if one in other.names.get(place, ())]
        return both


def snapshot(value: Any, depth: int = 0) -> Seen | None:
    """A value as it is now; ``None`` where that is not known."""
    if is_known(value):
        # ``True`` is no ``1`` here
        return Seen("plain", (type(value), value))
    if depth > MAX_DEPTH:
        return None
    if type(value) is tuple and len(value) <= MAX_ITEMS:
        return Seen("list", tuple(snapshot(one, depth + 1) for one in value))
    if isinstance(value, Thing) and isinstance(value.content, Table):
        value = value.content  # an object of a class that is a dictionary is one
    if isinstance(value, Items):
        if value.items is None or len(value.items) > MAX_ITEMS or value.ordered or value.distinct or value.either:
            return None
        return Seen("list", tuple(snapshot(one, depth + 1) for one in value.items))
    if isinstance(value, Table):
        if len(value.items) > MAX_ITEMS or not all(is_known(key) for key in value.items):
            return None
        # what is not known may also have come in the place of what is
        is_open = bool(value.open or value.perhaps)
        entries = tuple((key, None if is_open else snapshot(one, depth + 1)) for key, one in value.items.items())
        return Seen("table", (entries, is_open))
    if isinstance(value, Tensor):
        shape = value.shape or ()
        return Seen("tensor", tuple(one if type(one) is int else None for one in shape)) if shape else None
    if isinstance(value, Generated):
        over = snapshot(value.over, depth + 1) if value.over is not None and not value.given else None
        return Seen("iterator", over) if over is not None else None
    if isinstance(value, Library):
        return Seen("named", External(value.name))
    if isinstance(value, ClassValue | FunctionValue):
        return Seen("named", value.ref) if getattr(value, "receiver", None) is None else None
    name = _MADE.fullmatch(value.name) if isinstance(value, Made) and value.call is not None and value.file else None
    if name is not None:
        has_more = _has_more(value.call, value.arguments)
        part = tuple(int(one) for one in _PART.findall(name[2]))
        return Seen("made", MadeBy(name[1], value.file, value.function, value.call, has_more, part))
    return None


def _has_more(call: ir.Call, given: Given | None) -> bool:
    """Whether a call got arguments that do not stand in it."""
    names = {one.name for one in call.keywords}
    if given is None or None in names or any(type(one) is ir.Starred for one in call.args):
        return False
    return not set(given.keywords) <= names or len(given.positional) != len(call.args)


def abstract_of(seen: Seen, evaluator: Evaluator, span: Span) -> Abstract:
    """A value that was seen, at a place, in the terms of evaluation."""
    if seen.kind == "made":
        made: MadeBy = seen.value
        frame = evaluator.frame(made.file, made.function)
        call = made.call
        if made.has_more:
            rest = ir.Keyword(None, ir.Name("_", call.at), call.at)
            call = ir.Call(call.func, call.args, (*call.keywords, rest), call.at)
            evaluator.keep(call)
        return Instance(External(made.name), call, frame, evaluator.state(frame, call.at), made.part)
    if seen.kind == "named":
        target: Target = seen.value
        assert isinstance(target, External | ClassRef | FunctionRef)  # noqa: S101 - what snapshots hold
        return Reference(target, span)
    return _node(seen, evaluator, span)


def _node(seen: Seen | None, evaluator: Evaluator, span: Span) -> Node:
    if seen is None or seen.kind in _SHAPES:
        return Leaf(unknown("not seen in the run" if seen is None else f"some {seen.kind}", span), span)
    if seen.kind == "plain":
        return Leaf(known(seen.value[1], span, confidence=Confidence.LIKELY), span)
    if seen.kind == "list":
        return Sequence(tuple(_node(one, evaluator, span) for one in seen.value), span)
    if seen.kind == "table":
        entries, is_open = seen.value
        return Mapping(tuple(Entry(key, span, _node(one, evaluator, span)) for key, one in entries), span, is_open)
    return node_of(abstract_of(seen, evaluator, span), span)


def arguments_of(
    seen: SeenCall, signature: tuple[str, ...], evaluator: Evaluator, span: Span
) -> Iterator[tuple[str, Abstract]]:
    """What a call got, by the names of its parameters."""
    for name, value in (*zip(signature, seen.positional, strict=False), *seen.keywords):
        yield name, abstract_of(value, evaluator, span) if value is not None else _node(None, evaluator, span)


def may_improve(found: Abstract) -> bool:
    """Whether an answer leaves something open that was perhaps seen."""
    if isinstance(found, Leaf):
        return not found.value.is_known
    if isinstance(found, Mapping):
        return found.open or any(not one.certain or may_improve(one.node) for one in found.entries)
    if isinstance(found, Sequence):
        return found.open or any(map(may_improve, found.items))
    return isinstance(found, Several) or _is_result(found)


def _is_result(found: Abstract) -> bool:
    """Whether an answer is no more than an object of the project, or what some function of a library gave, or a part of that.

    It may be seen to be a plain value, or a dictionary.
    """
    if not isinstance(found, Instance) or not isinstance(found.callee, External):
        return isinstance(found, Instance) and isinstance(found.callee, ClassRef)
    head, _, last = found.callee.name.rpartition(".")
    return bool(found.part) or not last[:1].isupper() or head.partition(".")[0] in _PYTHON


def _is_handed_on(found: Abstract) -> bool:
    """Whether an answer is what Python's own library gave, which picks and keeps objects of others (``max(plugins, key=...)``)."""
    name = found.callee.name if isinstance(found, Instance) and isinstance(found.callee, External) else ""
    return name.partition(".")[0] in _PYTHON


def opinion(witness: Witness, evaluator: Evaluator, expr: ir.Expr, frame: Frame, found: Abstract) -> Abstract | None:
    """What an argument was seen to be in the run; ``None`` where it was not, or not the same each time."""
    seen = witness.values.get((frame.file, expr.at))
    if seen is None or seen.kind in _SHAPES:
        return None
    if isinstance(found, Instance) and isinstance(found.callee, ClassRef):
        # an object of the project that is a dictionary or a descriptor, or an attribute of one that is not known
        is_described = evaluator.modules.method(found.callee, "__get__") is not None
        if seen.kind != "table" and not is_described and not any(str(one).startswith(".") for one in found.part):
            return None
    if _is_result(found) and seen.kind not in ("plain", "list", "table") and not _is_handed_on(found):
        return None
    answer = abstract_of(seen, evaluator, ir.unpack(expr.at, frame.file))
    if isinstance(found, Sequence) and not found.open and isinstance(answer, Sequence):
        return (
            _items_filled(found, answer, evaluator.project.text_of) if len(found.items) == len(answer.items) else None
        )
    if not isinstance(found, Mapping) or not isinstance(answer, Mapping):
        return answer
    return _filled(found, answer, evaluator.project.text_of)


def _filled(found: Mapping, seen: Mapping, text_of: Callable[[str], str]) -> Mapping:
    """A dictionary with what is known of it at its own places, and the rest as it was seen."""
    entries = []
    for one in found.entries:
        other = seen.entry(one.key)
        if other is None and not one.certain and not seen.open:
            continue
        if other is not None:
            is_own = one.certain and not _is_replaced(one.node, other.node, text_of)
            one = replace(one, node=_improved(one.node, other.node, text_of)) if is_own else other
        entries.append(one)
    known_keys = {one.key for one in found.entries}
    entries += [one for one in seen.entries if one.key not in known_keys]
    return Mapping(tuple(entries), found.span, found.open and seen.open)


def _is_replaced(found: Node, seen: Node, text_of: Callable[[str], str]) -> bool:
    """Whether something else stands in a configuration file, and what was seen was put over it."""
    if type(found) is not Leaf or found.value.is_known or type(seen) is not Leaf or found.span.file.endswith(".py"):
        return False
    lines = text_of(found.span.file).splitlines() if seen.value.is_known else []
    if not 0 < found.span.line <= len(lines) or found.span.line != found.span.end_line:
        return False
    written = lines[found.span.line - 1][found.span.column - 1 : found.span.end_column - 1]
    return written.strip("\"' ").lower() != str(seen.value.only).lower()


def _items_filled(found: Sequence, seen: Sequence, text_of: Callable[[str], str]) -> Sequence:
    items = (_improved(one, other, text_of) for one, other in zip(found.items, seen.items, strict=True))
    return Sequence(tuple(items), found.span, kind=found.kind)


def _improved(found: Node, seen: Node, text_of: Callable[[str], str]) -> Node:
    """What stands at a place, with what was seen of it where it is not known; the place stays."""
    if isinstance(found, Mapping) and isinstance(seen, Mapping):
        return _filled(found, seen, text_of)
    if isinstance(found, Sequence) and isinstance(seen, Sequence) and len(found.items) == len(seen.items):
        return _items_filled(found, seen, text_of)
    if not may_improve(found) or (isinstance(seen, Leaf) and not seen.value.is_known):
        return found
    if type(found) is Leaf and type(seen) is Leaf:
        return Leaf(seen.value.at(found.span), found.span)
    return seen
