"""Edits of TOML tables: entries are whole lines; tables themselves are neither removed nor moved."""

from __future__ import annotations

from typing import Any

from distlint.fix.config_tree import ConfigTree
from distlint.fix.edits import Patch, begins_line, indentation, line_end, newline_of, whole_lines
from distlint.fix.literals import toml_key, toml_literal
from distlint.fix.operations import CannotFixError
from distlint.model.document import Entry, Mapping


def inserted(tree: ConfigTree, mapping: Mapping, key: Any, value: Any) -> list[Patch]:
    """Adds an entry behind the last one of a table, below its header, or at the top of the file."""
    newline = newline_of(tree.text)
    line = f"{toml_key(key)} = {toml_literal(value)}"
    own = [entry for entry in mapping.entries if _is_line(tree, entry)]
    if own:
        last = max(own, key=lambda entry: tree.region(entry.node.span)[1])
        indent = indentation(tree.text, tree.region(last.key_span)[0])
        at = line_end(tree.text, tree.region(last.node.span)[1])
        return [Patch(at, at, newline + indent + line)]
    start = tree.region(mapping.span)[0]
    if mapping is tree.root:
        return [Patch(0, 0, line + newline + (newline if tree.text else ""))]
    if tree.text[start : start + 1] != "[" or not begins_line(tree.text, start):
        raise CannotFixError("the table has no place of its own in the text")
    at = line_end(tree.text, start)
    return [Patch(at, at, newline + indentation(tree.text, start) + line)]


def removed(tree: ConfigTree, entry: Entry) -> list[Patch]:
    """Removes the lines of an entry."""
    if not _is_line(tree, entry):
        raise CannotFixError("a whole table is not removed")
    start, end = tree.region(entry.key_span)[0], tree.region(entry.node.span)[1]
    return [Patch(*whole_lines(tree.text, start, line_end(tree.text, end)), "")]


def _is_line(tree: ConfigTree, entry: Entry) -> bool:
    """Whether an entry is written ``key = value`` on its own lines, not as a table with a header or a dotted key."""
    start, end = tree.region(entry.key_span)
    value = tree.region(entry.node.span)[0]
    return begins_line(tree.text, start) and tree.text[end:value].strip() == "="
