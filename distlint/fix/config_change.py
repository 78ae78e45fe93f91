"""Does an edit of settings do what it should and nothing else? The documents before and after are compared as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from distlint.fix.config_tree import ConfigTree, Step, tree_at
from distlint.fix.edits import Patch, patched
from distlint.fix.operations import CannotFixError
from distlint.fix.place import Place
from distlint.model import document
from distlint.model.document import Entry, Leaf, Node
from distlint.model.record import dataclass

Change = Callable[[Any], Any]
"""Makes the plain data after a step from the plain data before it; it may change its argument."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A value that is plain data already, for ``with_value``."""

    data: Any


def verified(tree: ConfigTree, place: Place, patches: list[Patch], change: Change) -> list[Patch]:
    """The patches, if the document that they leave is the one that ``change`` makes.

    Raises:
        CannotFixError: it is not.
    """
    expected = change(plain(tree, tree.root))
    after = tree_at(place.file, patched(tree.text, patches), tree.region(tree.root.span)[0])
    if after is None or plain(after, after.root) != expected:
        raise CannotFixError("the edit would change more than it should")
    return patches


def plain(tree: ConfigTree, node: Node) -> Any:
    """A node as nested dicts and lists. Each key has a list of values, since a key may be there twice."""
    if isinstance(node, Leaf):
        if node.value.is_known:
            return _scalar(node.value.only)
        start, end = tree.region(node.span)
        return "?", tree.text[start:end]
    if isinstance(node, document.Sequence):
        return [plain(tree, item) for item in node.items]
    found: dict[Any, list[Any]] = {}
    for entry in node.entries:
        found.setdefault(_scalar(entry.key), []).append(plain(tree, entry.node))
    return found


def with_value(before: Any, path: Sequence[Any], value: Any) -> Any:
    """The data with a value at a path of keys and item numbers; blocks that are missing or null are made."""
    if not path:
        return value.data if isinstance(value, Plain) else _plain_value(value)
    key, rest = path[0], path[1:]
    if isinstance(before, list) and isinstance(key, int):
        before[key] = with_value(before[key], rest, value)
        return before
    block = before if isinstance(before, dict) else {}
    values = block.setdefault(_scalar(key), [None])
    values[-1] = with_value(values[-1], rest, value)
    return block


def without_key(before: Any, path: Sequence[Any], key: Any, number: int) -> Any:
    """The data without the ``number``-th value of ``key`` in the mapping at ``path``."""
    block = down(before, path)
    values = block[_scalar(key)]
    del values[number]
    if not values:
        del block[_scalar(key)]
    return before


def with_renamed(before: Any, path: Sequence[Any], key: Any, to: Any) -> Any:
    """The data with another name for a key of the mapping at ``path``."""
    block = down(before, path)
    block[_scalar(to)] = block.pop(_scalar(key))
    return before


def down(data: Any, path: Sequence[Any]) -> Any:
    """What stands at a path; of a key that is there twice, the last."""
    for key in path:
        data = data[key] if isinstance(data, list) else data[_scalar(key)][-1]
    return data


def path_of(steps: list[Step]) -> list[Any]:
    """The keys and item numbers of steps down a tree."""
    return [step.key if isinstance(step, Entry) else step for step in steps]


def _plain_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {_scalar(key): [_plain_value(item)] for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_value(item) for item in value]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    """A scalar such that ``1`` and ``1.0`` are the same, as for some loaders, but ``1`` and ``True`` are not."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return "number", repr(float(value))
        except OverflowError:
            return "number", repr(value)
    return type(value).__name__, repr(value)
