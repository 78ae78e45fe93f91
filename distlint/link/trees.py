"""Changes to mappings that a program makes after it wrote them: stores, updates, removals."""

from __future__ import annotations

from typing import Any

from distlint.model.document import Entry, Leaf, Mapping, Node
from distlint.model.span import Span
from distlint.model.value import Value, unknown


def stored(root: Mapping, path: tuple[Any, ...], entry: Entry) -> Mapping:
    """``root`` after ``root[path...] = value``: blocks on the way that are not there are left to the program's own error."""
    if len(path) == 1:
        others = tuple(other for other in root.entries if other.key != path[0])
        return Mapping((*others, entry), root.span, root.open)
    inner = root.entry(path[0])
    if inner is None:
        return root
    if not isinstance(inner.node, Mapping):
        return root
    changed = stored(inner.node, path[1:], entry)
    return _replaced(root, inner, changed)


def _replaced(root: Mapping, entry: Entry, node: Node) -> Mapping:
    entries = tuple(Entry(e.key, e.key_span, node, e.certain) if e is entry else e for e in root.entries)
    return Mapping(entries, root.span, root.open)


def merged(root: Mapping, path: tuple[Any, ...], update: Mapping | None, span: Span) -> Mapping:
    """``root`` after ``root[path...].update(update)``; an update that is not known (``None``) leaves every key there in doubt."""
    if path:
        inner = root.entry(path[0])
        if inner is None or not isinstance(inner.node, Mapping):
            return root
        return _replaced(root, inner, merged(inner.node, path[1:], update, span))
    if update is None:
        doubtful = tuple(Entry(e.key, e.key_span, _in_doubt(e.node, span)) for e in root.entries)
        return Mapping(doubtful, root.span, True)
    keys = {entry.key for entry in update.entries}
    kept = tuple(entry for entry in root.entries if entry.key not in keys)
    return Mapping((*kept, *update.entries), root.span, root.open or update.open)


def _in_doubt(node: Node, span: Span) -> Node:
    return Leaf(unknown("may be replaced by an update that we can't see", node.span, span), node.span)


def removed(root: Mapping, path: tuple[Any, ...], popped: Value | None) -> Mapping:
    """``root`` after ``del root[path...]`` (``popped`` is ``None``) or ``root[path...].pop(key)``."""
    if popped is not None:
        if not popped.is_known:
            return Mapping(root.entries, root.span, True)
        path = (*path, popped.only)
    if not path:
        return Mapping((), root.span, root.open)
    inner = root.entry(path[0])
    if inner is None:
        return root
    if len(path) == 1:
        return Mapping(tuple(e for e in root.entries if e.key != path[0]), root.span, root.open)
    if not isinstance(inner.node, Mapping):
        return root
    return _replaced(root, inner, removed(inner.node, path[1:], None))
