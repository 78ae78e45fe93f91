"""Edits of block mappings in YAML. Nothing is ever emitted anew: lines are added, cut out, or one value is replaced."""

from __future__ import annotations

import re
from typing import Any

from distlint.fix.config_tree import ConfigTree
from distlint.fix.edits import Patch, begins_line, line_end, line_start, newline_of, next_line, whole_lines
from distlint.fix.literals import yaml_block, yaml_flow
from distlint.fix.operations import CannotFixError
from distlint.model.document import Entry, Leaf, Mapping, Node, Sequence

_PROPERTY = re.compile(r"[ \t]*[&*!]")
_ALIAS = re.compile(r"[ \t]*\*[^\s,\]}]+")


def is_flow(tree: ConfigTree, node: Node) -> bool:
    """Whether a container is written with brackets."""
    return tree.text[tree.region(node.span)[0] :][:1] in ("{", "[")


def inserted(tree: ConfigTree, mapping: Mapping, key: Any, value: Any) -> list[Patch]:
    """Adds a key at the end of a block mapping, indented like its neighbours."""
    own = _own_entries(tree, mapping)
    if not own:
        raise CannotFixError("the mapping has no keys of its own to follow")
    column = own[0].key_span.column - 1
    indent, newline = _indent_of(tree, own[0], column), newline_of(tree.text)
    at = line_end(tree.text, _content_end(tree, own[-1]))
    return [Patch(at, at, newline + indent + yaml_flow(key) + ":" + yaml_block(value, indent, tree.step, newline))]


def filled(tree: ConfigTree, entry: Entry, value: dict[Any, Any]) -> list[Patch]:
    """Gives a key without value a block; comments on its line stay."""
    colon = colon_after(tree, entry)
    indent = _indent_of(tree, entry, entry.key_span.column - 1)
    at = line_end(tree.text, colon)
    if tree.text[colon + 1 : at].split("#")[0].strip():
        return replaced(tree, entry, value)
    return [Patch(at, at, yaml_block(value, indent, tree.step, newline_of(tree.text)))]


def replaced(tree: ConfigTree, entry: Entry, value: Any) -> list[Patch]:
    """Puts a value in the place of the one that a key has."""
    colon = colon_after(tree, entry)
    text = yaml_flow(value)
    alias = _ALIAS.match(tree.text, colon + 1)
    if alias is not None:
        return [Patch(colon + 1, alias.end(), " " + text)]
    if _PROPERTY.match(tree.text, colon + 1):
        raise CannotFixError("the value has an anchor or a tag")
    start, end = tree.region(entry.node.span)
    if start <= colon or not tree.text[start:end].strip():
        return [Patch(colon + 1, colon + 1, " " + text)]
    if isinstance(entry.node, Leaf) or is_flow(tree, entry.node):
        if tree.text[start] in "|>":
            end = start + len(tree.text[start:end].rstrip())
        return [Patch(start, end, text)]
    return [Patch(colon + 1, _content_end(tree, entry), " " + text)]


def removed(tree: ConfigTree, parents: list[Entry | int], mapping: Mapping, entry: Entry) -> list[Patch]:
    """Removes an entry of a block mapping with its lines. ``parents`` lead to the mapping, the innermost last.

    A mapping that would have no key left becomes ``{}``: without it, the value would be null.
    """
    text = tree.text
    start = tree.region(entry.key_span)[0]
    end = _content_end(tree, entry)
    own = _own_entries(tree, mapping)
    if text[line_start(text, start) : start].lstrip().startswith("?"):
        raise CannotFixError("the key is written with a question mark")
    if len(own) == 1:
        return _emptied(tree, parents, start, end)
    if begins_line(text, start):
        return [Patch(*whole_lines(text, start, line_end(text, end)), "")]
    following = tree.region(own[own.index(entry) + 1].key_span)[0] if entry is not own[-1] else -1
    if following < 0 or text[end:following].split("#")[0].strip():
        raise CannotFixError("the key shares its line with something else")
    return [Patch(start, following, "")]


def colon_after(tree: ConfigTree, entry: Entry) -> int:
    """The offset of the colon behind a key.

    Raises:
        CannotFixError: the key is written in another way.
    """
    at = tree.region(entry.key_span)[1]
    while at < len(tree.text) and tree.text[at] in " \t":
        at += 1
    if tree.text[at : at + 1] != ":":
        raise CannotFixError("the key is not followed by a colon")
    return at


def _emptied(tree: ConfigTree, parents: list[Entry | int], start: int, end: int) -> list[Patch]:
    parent = parents[-1] if parents else 0
    if isinstance(parent, int) or not begins_line(tree.text, start):
        return [Patch(start, end, "{}")]
    colon = colon_after(tree, parent)
    if _PROPERTY.match(tree.text, colon + 1):
        raise CannotFixError("the block has an anchor or a tag")
    first = line_start(tree.text, start)
    return [Patch(colon + 1, colon + 1, " {}"), Patch(first, next_line(tree.text, end), "")]


def _own_entries(tree: ConfigTree, mapping: Mapping) -> list[Entry]:
    """The entries that are written in the mapping itself, and not taken from an anchor elsewhere."""
    start, end = tree.region(mapping.span)
    return sorted(
        (entry for entry in mapping.entries if start <= tree.region(entry.key_span)[0] <= end),
        key=lambda entry: entry.key_span,
    )


def _indent_of(tree: ConfigTree, entry: Entry, column: int) -> str:
    start = tree.region(entry.key_span)[0]
    before = tree.text[start - column : start]
    return before if not before.strip() else " " * column


def _content_end(tree: ConfigTree, entry: Entry) -> int:
    """Where the text of an entry ends: behind its last scalar, not behind the comments that follow a block."""
    key_end = colon_after(tree, entry) + 1
    alias = _ALIAS.match(tree.text, key_end)
    if alias is not None:
        return alias.end()
    return max(key_end, _node_end(tree, entry.node, key_end))


def _node_end(tree: ConfigTree, node: Node, floor: int) -> int:
    start, end = tree.region(node.span)
    if start < floor:
        return floor
    if isinstance(node, Mapping) and node.entries and not is_flow(tree, node):
        own = _own_entries(tree, node)
        return max((_content_end(tree, entry) for entry in own[-1:]), default=floor)
    if isinstance(node, Sequence) and node.items and not is_flow(tree, node):
        return _node_end(tree, node.items[-1], floor)
    is_block = isinstance(node, Leaf) and tree.text[start : start + 1] in ("|", ">")
    if is_block and "+" in tree.text[start : line_end(tree.text, start)]:
        raise CannotFixError("a text block that keeps its line breaks stands here")
    return start + len(tree.text[start:end].rstrip())
