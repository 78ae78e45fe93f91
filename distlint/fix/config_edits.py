"""Edits of settings in configuration files and here-documents: one set of operations over all formats.

The tree tells where things stand; the formats differ only in how a new entry is written. After every step the document
is read again and compared with the change that was meant: an edit that does anything else is refused.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from distlint.fix import toml_edits, yaml_edits
from distlint.fix.config_change import Plain, path_of, plain, verified, with_renamed, with_value, without_key
from distlint.fix.config_tree import ConfigTree, Step, config_tree, tree_at
from distlint.fix.edits import Patch, difference, indentation, newline_of, patched
from distlint.fix.items import ItemList, with_item, without_item
from distlint.fix.literals import Verbatim, json_block, json_literal, toml_key, toml_literal, yaml_flow
from distlint.fix.operations import CannotFixError
from distlint.fix.place import Place
from distlint.model.document import Entry, Leaf, Mapping, Node, find, node_value


def set_key(place: Place) -> list[Patch]:
    """Sets a key below the mapping at the place, making the blocks on the way where they are missing."""
    tree = config_tree(place)
    steps, mapping = tree.mapping_at(place.start, place.end)
    path, value = place.keys("path"), place.arguments["value"]
    patches = _set(tree, mapping, path, value)
    return verified(tree, place, patches, lambda data: with_value(data, [*path_of(steps), *path], value))


def set_value(place: Place) -> list[Patch]:
    """Puts another value in the place of one."""
    tree, value = config_tree(place), place.arguments["value"]
    steps, node = tree.value_at(place.start, place.end)
    if _says(node, value):
        return []
    parent = steps[-1] if steps else 0
    if isinstance(parent, Entry) and tree.format == "yaml":
        patches = yaml_edits.replaced(tree, parent, value)
    else:
        patches = [Patch(place.start, place.end, _literal(tree, value))]
    return verified(tree, place, patches, lambda data: with_value(data, path_of(steps), value))


def remove_key(place: Place) -> list[Patch]:
    """Removes the entry whose key stands at the place."""
    tree = config_tree(place)
    steps, mapping, entry = tree.key_at(place.start)
    patches = _removed(tree, steps, mapping, entry)
    number = [other for other in mapping.entries if other.key == entry.key].index(entry)
    return verified(tree, place, patches, lambda data: without_key(data, path_of(steps), entry.key, number))


def rename_key(place: Place) -> list[Patch]:
    """Gives the key at the place another name, in the quotes that it has."""
    tree, to = config_tree(place), place.word("to")
    steps, mapping, entry = tree.key_at(place.start)
    if mapping.entry(to) is not None:
        raise CannotFixError(f"`{to}` is set already")
    start, end = tree.region(entry.key_span)
    written = tree.text[start:end]
    single = written.startswith("'") and "'" not in to and "\\" not in to
    patches = [Patch(start, end, f"'{to}'" if single else _key(tree, to, quoted=written.startswith('"')))]

    return verified(tree, place, patches, lambda data: with_renamed(data, path_of(steps), entry.key, to))


def move_key(place: Place) -> list[Patch]:
    """Moves the entry whose key stands at the place to another path of the document; a scalar keeps its spelling."""
    tree, path = config_tree(place), place.keys("to_path")
    steps, mapping, entry = tree.key_at(place.start)
    if not isinstance(tree.root, Mapping):
        raise CannotFixError("the document is no mapping")
    value = _movable(tree, entry.node)
    removal = _removed(tree, steps, mapping, entry)
    text = patched(tree.text, removal)
    rest = tree_at(place.file, text, tree.region(tree.root.span)[0])
    if rest is None or not isinstance(rest.root, Mapping):
        raise CannotFixError("the document would have no other key left")
    if _exists(rest.root, path):
        raise CannotFixError(f"`{'.'.join(map(str, path))}` is set already")
    patches = difference(tree.text, patched(text, _set(rest, rest.root, path, value)))
    number = [other for other in mapping.entries if other.key == entry.key].index(entry)
    moved = Plain(plain(tree, entry.node))
    return verified(
        tree,
        place,
        patches,
        lambda data: with_value(without_key(data, path_of(steps), entry.key, number), path, moved),
    )


def _set(tree: ConfigTree, mapping: Mapping, path: tuple[Any, ...], value: Any) -> list[Patch]:
    key, rest = path[0], path[1:]
    entry = mapping.entry(key)
    start, end = tree.region(mapping.span)
    if entry is not None and not start <= tree.region(entry.key_span)[0] <= end and tree.format == "yaml":
        entry = None
    if entry is None:
        for name in reversed(rest):
            value = {name: value}
        return _inserted(tree, mapping, key, value)
    if not rest:
        return [] if _says(entry.node, value) else _replaced(tree, entry, value)
    if isinstance(entry.node, Mapping):
        return _set(tree, entry.node, rest, value)
    if not isinstance(entry.node, Leaf) or not entry.node.value.is_known or entry.node.value.only is not None:
        raise CannotFixError(f"`{key}` is no block here")
    for name in reversed(rest):
        value = {name: value}
    return yaml_edits.filled(tree, entry, value) if tree.format == "yaml" else _replaced(tree, entry, value)


def _inserted(tree: ConfigTree, mapping: Mapping, key: Any, value: Any) -> list[Patch]:
    if not _bracketed(tree, mapping):
        if tree.format == "toml":
            return toml_edits.inserted(tree, mapping, key, value)
        return yaml_edits.inserted(tree, mapping, key, value)
    items = _items(tree, mapping)
    outer = indentation(tree.text, items.start)
    spread = tree.format == "json" and "\n" in tree.text[slice(*tree.region(tree.root.span))]
    if tree.format != "json":
        return with_item(items, _key(tree, key) + _separator(tree) + _literal(tree, value))
    if items.multiline or (not items.items and spread):
        indent = indentation(tree.text, items.items[-1][0]) if items.items else outer + tree.step
        literal = json_block(value, indent, tree.step, newline_of(tree.text))
    else:
        literal = json_literal(value)
    return with_item(items, f"{json_literal(str(key))}: {literal}", spread=spread, outer=outer, step=tree.step)


def _replaced(tree: ConfigTree, entry: Entry, value: Any) -> list[Patch]:
    if tree.format == "yaml":
        return yaml_edits.replaced(tree, entry, value)
    return [Patch(*tree.region(entry.node.span), _literal(tree, value))]


def _removed(tree: ConfigTree, steps: list[Step], mapping: Mapping, entry: Entry) -> list[Patch]:
    if _bracketed(tree, mapping):
        number = next(i for i, other in enumerate(mapping.entries) if other is entry)
        return without_item(_items(tree, mapping), number)
    if tree.format == "toml":
        return toml_edits.removed(tree, entry)
    return yaml_edits.removed(tree, steps, mapping, entry)


def _bracketed(tree: ConfigTree, mapping: Mapping) -> bool:
    return tree.format == "json" or tree.text[tree.region(mapping.span)[0] :][:1] == "{"


def _items(tree: ConfigTree, mapping: Mapping) -> ItemList:
    start, end = tree.region(mapping.span)
    if tree.text[start : start + 1] == "{":
        start, end = start + 1, end - 1
    regions = tuple((tree.region(entry.key_span)[0], tree.region(entry.node.span)[1]) for entry in mapping.entries)
    comments = ("#", "//") if tree.format == "json" else ("#",)
    # Only Hjson reads a file that separates its entries by line breaks, and there a comma may belong to a string.
    bare = tree.format == "json" and tree.loaders == ("hjson",) and bool(regions) and not _has_comma(tree.text, regions)
    return ItemList(tree.text, start, end, regions, comments, bare)


def _has_comma(text: str, regions: tuple[tuple[int, int], ...]) -> bool:
    if len(regions) == 1:
        start, end = regions[0]
        return text[start:end].rstrip()[-1:] in ('"', "'", "}", "]")
    return any("," in text[before[1] : after[0]] for before, after in pairwise(regions))


def _literal(tree: ConfigTree, value: Any) -> str:
    return {"json": json_literal, "yaml": yaml_flow, "toml": toml_literal}[tree.format](value)


def _key(tree: ConfigTree, key: Any, *, quoted: bool = False) -> str:
    if tree.format == "json" or quoted:
        return json_literal(str(key))
    return toml_key(key) if tree.format == "toml" else yaml_flow(key)


def _separator(tree: ConfigTree) -> str:
    return " = " if tree.format == "toml" else ": "


def _movable(tree: ConfigTree, node: Node) -> Any:
    start, end = tree.region(node.span)
    text = tree.text[start:end]
    one_line = "\n" not in text.strip() and not text.startswith(("&", "*", "!", "|", ">"))
    if one_line and (isinstance(node, Leaf) or text.startswith(("{", "["))):
        return Verbatim(text.strip())
    value = node_value(node)
    if not value.is_known:
        raise CannotFixError("the value that should be moved is not known")
    return value.only


def _says(node: Node, value: Any) -> bool:
    old = node_value(node)
    return old.is_known and type(old.only) is type(value) and bool(old.only == value)


def _exists(root: Mapping, path: tuple[Any, ...]) -> bool:
    return find(root, path)[0] is not None
