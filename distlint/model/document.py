"""Configuration trees: what a JSON file, a YAML block, a dict display or a list of options becomes.

One shape for every carrier, so that everything after the readers works on settings and never on formats. Every key and
every leaf keeps its span.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import State, Value, absent, known, one_of, unknown


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar, or a hole (an unknown value) where a template or an expression stands."""

    value: Value
    span: Span


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping. ``certain`` is false where only some paths of the program write it."""

    key: Any
    key_span: Span
    node: Node
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys in the order of the text, duplicates kept (loaders differ in what they do with them).

    ``open`` says that there may be keys that we can't see (``**other``, a template hole, an unknown ``.update``): a key
    that is not among the entries is then *unknown*, not *absent*.
    """

    entries: tuple[Entry, ...]
    span: Span
    open: bool = False

    def entry(self, key: Any) -> Entry | None:
        """The entry that wins for ``key`` (the last one, as in JSON, YAML and Python), or ``None``."""
        for entry in reversed(self.entries):
            if entry.key == key:
                return entry
        return None


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list. ``open`` says that it may hold more items than we can see.

    ``kind`` is what a program has it as (``list``, ``tuple`` or ``set``), and nothing where that is not known.
    """

    items: tuple[Node, ...]
    span: Span
    open: bool = False
    kind: str = ""


Node = Leaf | Mapping | Sequence


@dataclass(frozen=True, slots=True)
class Document:
    """One carrier of settings and how it is read.

    ``carrier`` names the kind: ``"file"`` (a whole configuration file), ``"here-document"``, ``"dict"`` (a Python dict),
    ``"call"`` (keyword arguments), ``"argv"`` (options on a command line). ``format`` is the syntax (``json``, ``hjson``,
    ``yaml``, ``toml``, ``python``, ``argv``). ``span`` is where it stands; for a file, the start of the file.
    """

    root: Node
    span: Span
    carrier: str
    format: str
    index: int = 0

    @property
    def file(self) -> str:
        """The file that the document stands in."""
        return self.span.file


def node_value(node: Node | None, missing: Value | None = None) -> Value:
    """The value of a node: a leaf's own, or the plain Python object of a container whose leaves are all known."""
    if node is None:
        return missing if missing is not None else absent()
    if isinstance(node, Leaf):
        return node.value
    plain, complete = _plain(node)
    return known(plain, node.span) if complete else unknown("holds values that are not known", node.span)


def _plain(node: Node) -> tuple[Any, bool]:
    if isinstance(node, Leaf):
        return node.value.only, node.value.is_known
    if node.open:
        return None, False
    if isinstance(node, Sequence):
        parts = [_plain(item) for item in node.items]
        return [part for part, _ in parts], all(ok for _, ok in parts)
    pairs = [(entry.key, *_plain(entry.node), entry.certain) for entry in node.entries]
    return {key: part for key, part, _, _ in pairs}, all(ok and certain for _, _, ok, certain in pairs)


def find(root: Node, path: tuple[Any, ...]) -> tuple[Entry | None, bool]:
    """Looks a path of keys up: (the entry or ``None``, whether its absence is certain).

    Absence is uncertain when a mapping on the way is open, or where a leaf that is not known stands in for a block.
    """
    node: Node = root
    entry: Entry | None = None
    for key in path:
        if isinstance(node, Leaf):
            return None, not (node.value.is_unknown or node.value.state is State.ONE_OF)
        if isinstance(node, Sequence):
            return None, not node.open
        entry = node.entry(key)
        if entry is None:
            return None, not node.open
        node = entry.node
    return entry, True


def lookup(root: Node, path: tuple[Any, ...]) -> Value:
    """The value at a path of keys: absent, unknown, or what stands there, with the spans it rests on."""
    entry, sure = find(root, path)
    if entry is None:
        return absent(root.span) if sure else unknown("may be set where we can't see", root.span)
    value = node_value(entry.node)
    if not entry.certain:
        return unknown("set on some paths only", entry.key_span)
    return value if value.spans else value.at(entry.node.span)


def walk(node: Node, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Entry]]:
    """Every entry below a node with its path of keys, outer ones first; list items appear under their index."""
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield (*path, entry.key), entry
            yield from walk(entry.node, (*path, entry.key))
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            if not isinstance(item, Leaf):
                yield from walk(item, (*path, index))


def alternatives(options: list[Node]) -> Node:
    """One node for a place that holds one of several nodes: keys common to all stay certain, others do not."""
    first = options[0]
    if len(options) == 1:
        return first
    if all(isinstance(option, Mapping) for option in options):
        return _merge_mappings([option for option in options if isinstance(option, Mapping)])
    values = [node_value(option) for option in options]
    if all(value.state in (State.KNOWN, State.ONE_OF) for value in values):
        spans = tuple(dict.fromkeys(span for value in values for span in value.spans))
        confidence = min(value.confidence for value in values)
        return Leaf(one_of((o for value in values for o in value.options), spans, confidence), first.span)
    return Leaf(unknown("differs by path", *(option.span for option in options)), first.span)


def _merge_mappings(options: list[Mapping]) -> Mapping:
    keys = dict.fromkeys(entry.key for option in options for entry in option.entries)
    entries = []
    for key in keys:
        found = [entry for option in options if (entry := option.entry(key)) is not None]
        certain = len(found) == len(options) and all(entry.certain for entry in found)
        entries.append(Entry(key, found[0].key_span, alternatives([entry.node for entry in found]), certain))
    return Mapping(tuple(entries), options[0].span, any(option.open for option in options))
