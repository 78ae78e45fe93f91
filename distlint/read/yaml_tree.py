"""Trees of YAML documents, made from parser events: no recursion, bounded by depth and size, aliases included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import yaml

from distlint.model.document import Entry, Leaf, Mapping, Node, Sequence
from distlint.model.span import Span
from distlint.model.value import known, unknown
from distlint.read.config import HOLE, MAX_DEPTH, MAX_NODES, TOO_DEEP, Places, has_hole, is_open_key
from distlint.read.markup import Masked

_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset(_TAG + name for name in ("null", "bool", "int", "float", "binary", "timestamp", "str"))
_MERGE = _TAG + "merge"
_VALUE = _TAG + "value"
_TYPED_MAPPINGS = (_TAG + "set",)
_TYPED_SEQUENCES = (_TAG + "omap", _TAG + "pairs")
_MAX_TYPED_LENGTH = 300
"""Longer numbers and dates are not computed: nobody writes them, and some take quadratic time."""


class TooDeep(Exception):  # noqa: N818 - ends the reading of one text
    """Containers are nested deeper than we follow."""

    def __init__(self, offset: int) -> None:
        super().__init__(TOO_DEEP)
        self.offset = offset


class _Key:
    """A key that waits for its value: its plain value, or ``usable`` false where there is none."""

    __slots__ = ("merge", "offset", "plain", "span", "usable")

    def __init__(self, plain: Any, span: Span, offset: int, *, usable: bool = True, merge: bool = False) -> None:
        self.plain = plain
        self.offset = offset
        self.span = span
        self.usable = usable
        self.merge = merge


class _Frame:
    """A container that is still being read. ``height`` is that of the highest thing in it."""

    __slots__ = (
        "anchor",
        "end",
        "entries",
        "flow",
        "height",
        "items",
        "key",
        "mapping",
        "merged",
        "open",
        "size",
        "start",
        "typed",
    )

    def __init__(self, mapping: bool, event: Any, typed: str) -> None:
        self.mapping = mapping
        self.anchor: str | None = event.anchor
        self.start: int = event.start_mark.index
        self.end = self.start
        self.flow: bool = bool(event.flow_style)
        self.typed = typed
        self.open = False
        self.size = self.height = 1
        self.key: _Key | None = None
        self.entries: list[Entry] = []
        self.merged: list[Entry] = []
        self.items: list[Node] = []


class _Anchored:
    """What an anchor names, once it is complete."""

    __slots__ = ("height", "node", "size")

    def __init__(self, node: Node, size: int, height: int) -> None:
        self.node = node
        self.size = size
        self.height = height


class YamlTree:
    """Takes the events of one stream.

    ``roots`` are the finished documents; ``errors`` are places and messages of what no loader constructs; ``refused``
    is the first place of what ``yaml.safe_load`` refuses although other loaders may take it (tags of applications).
    """

    def __init__(self, text: str, places: Places, loader: Any, masked: Masked | None) -> None:
        self.text = text
        self.roots: list[Node] = []
        self.errors: list[tuple[int, int, str]] = []
        self.refused: tuple[int, str] | None = None
        self._places = places
        self._loader = loader
        self._masked = masked
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Anchored | None] = {}
        self._left = MAX_NODES
        self._root: Node | None = None
        self._steps = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._start,
            yaml.SequenceStartEvent: self._start,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._start_document,
            yaml.DocumentEndEvent: self._end_document,
        }

    def take(self, event: Any) -> None:
        """Adds what one event says; raises ``TooDeep``."""
        step = self._steps.get(type(event))
        if step is not None:
            step(event)

    @property
    def full(self) -> bool:
        """Whether nothing more is kept."""
        return self._left < 1

    def break_off(self) -> None:
        """The parser gives up: the last value may be half of one, and every open container may hold more."""
        found = len(self.errors)
        if self._frames and not self.full:
            self._forget_last(self._frames[-1])
        while self._frames:
            self._frames[-1].open = True
            self._close(self._frames[-1].end)
        del self.errors[found:]
        if self._root is not None:
            self.roots.append(self._root)
            self._root = None

    def _forget_last(self, frame: _Frame) -> None:
        if frame.key is not None:
            self._add(_Anchored(_doubtful(frame.key.span), 1, 0), frame.end)
        elif frame.mapping and frame.entries and isinstance(frame.entries[-1].node, Leaf):
            last = frame.entries[-1]
            frame.entries[-1] = Entry(last.key, last.key_span, _doubtful(last.node.span), last.certain)
        elif not frame.mapping and frame.items and isinstance(frame.items[-1], Leaf):
            frame.items[-1] = _doubtful(frame.items[-1].span)

    def _start_document(self, _event: Any) -> None:
        self._anchors.clear()
        self._root = None

    def _end_document(self, _event: Any) -> None:
        self._left -= 1
        if self._root is not None:
            self.roots.append(self._root)
        self._root = None

    def _start(self, event: Any) -> None:
        if len(self._frames) >= MAX_DEPTH:
            raise TooDeep(event.start_mark.index)
        mapping = isinstance(event, yaml.MappingStartEvent)
        tag = event.tag
        typed = ""
        if tag not in (None, "!", _TAG + ("map" if mapping else "seq")):
            typed = f"typed by the tag {tag}"
            if tag not in (_TYPED_MAPPINGS if mapping else _TYPED_SEQUENCES):
                self._refuse(event.start_mark.index, f"the tag `{tag}` is unknown")
        self._frames.append(_Frame(mapping, event, typed))
        self._declare(event, None)

    def _end(self, event: Any) -> None:
        frame = self._frames[-1]
        self._close(event.end_mark.index if frame.flow else frame.end)

    def _close(self, end: int) -> None:
        frame = self._frames.pop()
        span = self._places.span(frame.start, end)
        hides = frame.open or (self._masked is not None and self._masked.hides)
        node: Node
        if frame.typed:
            node = Leaf(unknown(frame.typed, span), span)
        elif frame.mapping:
            node = Mapping((*frame.merged, *frame.entries), span, hides)
        else:
            node = Sequence(tuple(frame.items), span, hides)
        anchored = _Anchored(node, frame.size, frame.height)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = anchored
        self._add(anchored, end)

    def _scalar(self, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        if event.style in ("|", ">"):
            end = start + len(self.text[start:end].rstrip())
        span = self._places.span(start, end)
        tag = event.tag
        if tag is None or tag == "!":
            implicit = (True, False) if tag == "!" else event.implicit  # as the parser of ``safe_load`` has it
            tag = self._loader.resolve(yaml.ScalarNode, event.value, implicit)
        if self._expects_key():
            self._scalar_key(event, tag, span, start, end)
            return
        if self._is_hole(event.value, start, end):
            leaf = Leaf(unknown(HOLE, span), span)
        else:
            leaf = self._leaf(event, tag, span, start, end)
        anchored = _Anchored(leaf, 1, 0)
        self._declare(event, anchored)
        self._add(anchored, end)

    def _scalar_key(self, event: Any, tag: str, span: Span, start: int, end: int) -> None:
        frame = self._frames[-1]
        frame.end = end
        if tag == _MERGE:
            frame.key = _Key(None, span, start, merge=True)
            return
        if is_open_key(event.value) or self._is_masked(start, end):
            frame.open = True
            frame.key = _Key(self.text[start:end] if self._is_masked(start, end) else event.value, span, start)
            return
        leaf = self._leaf(event, _TAG + "str" if tag == _VALUE else tag, span, start, end)
        self._declare(event, _Anchored(leaf, 1, 0))
        if leaf.value.is_known:
            frame.key = _Key(leaf.value.only, span, start)
        else:
            frame.open = True
            frame.key = _Key(self.text[start:end], span, start)

    def _leaf(self, event: Any, tag: str, span: Span, start: int, end: int) -> Leaf:
        plain = event.value
        if tag == _TAG + "str":
            return Leaf(known(plain, span), span)
        if tag not in _SCALAR_TAGS:
            self._refuse(start, f"the tag `{tag}` is unknown")
            return Leaf(unknown(f"typed by the tag {tag}", span), span)
        if len(plain) > _MAX_TYPED_LENGTH and tag != _TAG + "binary":
            return Leaf(unknown("too long to be computed", span), span)
        if not plain and self._masked is not None and self._masked.hides:
            return Leaf(unknown(HOLE, span), span)
        try:
            typed = self._loader.yaml_constructors[tag](self._loader, yaml.ScalarNode(tag, plain, event.start_mark))
        except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            self.errors.append((start, end, f"this is no {tag.removeprefix(_TAG)}"))
            return Leaf(unknown("not constructible", span), span)
        return Leaf(known(typed, span), span)

    def _is_hole(self, plain: str, start: int, end: int) -> bool:
        if has_hole(plain) or (plain.startswith("<<") and plain.endswith(">>") and len(plain) > 4):
            return True
        return self._is_masked(start, end)

    def _is_masked(self, start: int, end: int) -> bool:
        return self._masked is not None and self._masked.touches(start, end)

    def _alias(self, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        span = self._places.span(start, end)
        if event.anchor not in self._anchors:
            self.errors.append((start, end, f"the anchor `{event.anchor}` is not defined above"))
        anchored = self._anchors.get(event.anchor)
        node: Node = Leaf(unknown("an alias of something that is not complete", span), span)
        size, height = 1, 0
        if anchored is not None:
            if anchored.size > self._left or len(self._frames) + anchored.height > MAX_DEPTH:
                node = Leaf(unknown("an alias of something very large", span), span)
            else:
                node, size, height = _at(anchored.node, span), anchored.size, anchored.height
        if self._expects_key():
            self._node_key(node, span, start, end)
        else:
            self._add(_Anchored(node, size, height), end, size)

    def _declare(self, event: Any, anchored: _Anchored | None) -> None:
        if event.anchor is None:
            return
        if event.anchor in self._anchors:
            start = event.start_mark.index
            self.errors.append((start, start, f"the anchor `{event.anchor}` is defined twice"))
        self._anchors[event.anchor] = anchored

    def _expects_key(self) -> bool:
        return bool(self._frames) and self._frames[-1].mapping and self._frames[-1].key is None

    def _node_key(self, node: Node, span: Span, start: int, end: int) -> None:
        """A key that is not a scalar of its own: only an alias of a scalar is usable."""
        frame = self._frames[-1]
        frame.end = end
        if isinstance(node, Leaf) and node.value.is_known:
            frame.key = _Key(node.value.only, span, start)
            return
        if not isinstance(node, Leaf):
            self.errors.append((start, end, "a container can't be a key"))
        frame.open = True
        frame.key = _Key(None, span, start, usable=False)

    def _add(self, anchored: _Anchored, end: int, cost: int = 1) -> None:
        """Puts a complete value where it belongs; ``cost`` is the number of nodes that it makes the tree grow by."""
        if not self._frames:
            self._root = anchored.node
            return
        frame = self._frames[-1]
        if frame.mapping and frame.key is None:
            self._node_key(anchored.node, anchored.node.span, self._places.offset(anchored.node.span), end)
            return
        frame.end = max(frame.end, end)
        key, frame.key = frame.key, None
        self._left -= cost
        if self._left < 0:
            self._left = 0
            frame.open = True
            return
        frame.size += anchored.size
        frame.height = max(frame.height, anchored.height + 1)
        if not frame.mapping:
            frame.items.append(anchored.node)
        elif key is not None and key.merge:
            self._merge(frame, anchored.node)
        elif key is not None and key.usable:
            certain = self._masked is None or self._masked.is_certain(key.offset)
            frame.entries.append(Entry(key.plain, key.span, anchored.node, certain))

    def _merge(self, frame: _Frame, node: Node) -> None:
        """``<<``: the entries of one mapping or of several, of which the first wins; own entries win over all."""
        sources = list(reversed(node.items)) if isinstance(node, Sequence) else [node]
        for source in sources:
            if isinstance(source, Mapping):
                frame.merged.extend(source.entries)
                frame.open |= source.open
            else:
                frame.open = True
                if not (isinstance(source, Leaf) and source.value.is_unknown):
                    start = self._places.offset(source.span)
                    self.errors.append((start, start, "only mappings can be merged"))

    def _refuse(self, offset: int, message: str) -> None:
        self.refused = self.refused or (offset, message)


def _doubtful(span: Span) -> Leaf:
    return Leaf(unknown("the text breaks off here", span), span)


def _at(node: Node, span: Span) -> Node:
    """An anchored node where an alias stands for it; what is inside keeps its places."""
    if isinstance(node, Leaf):
        return Leaf(node.value.at(span), span)
    return replace(node, span=span)
