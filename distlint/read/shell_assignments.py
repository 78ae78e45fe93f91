"""Assignments of a shell script, alone or behind ``export``, ``declare``, ``local`` and ``unset``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.model.shell import Arithmetic, Assignment, Assignments, Literal, Word
from distlint.read.shell_parsed import ParsedText

if TYPE_CHECKING:
    from tree_sitter import Node

    from distlint.model.span import Span

DECLARERS = frozenset({"export", "declare", "typeset", "local", "readonly"})

_LOCAL = frozenset({"declare", "typeset", "local"})
_TARGET = re.compile(r"([A-Za-z_]\w*)(?:\[([^]]*)\])?(\+?=)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def assignment(source: ParsedText, node: Node) -> Assignment:
    """``name=value``, ``name+=value``, ``name=(a b)`` or ``name[i]=value``."""
    start, end, span = source.start(node), source.end(node), source.span(node)
    match = _TARGET.match(source.text, start, end)
    if match is None:
        return Assignment("", None, span)
    name, subscript, operator = match.groups()
    at = match.end()
    is_array = source.text.startswith("(", at)
    value = _array(source, at, end, node) if is_array else source.words.word(at, end)
    return Assignment(name, value, span, append=operator == "+=", index=subscript)


def _array(source: ParsedText, at: int, end: int, node: Node) -> tuple[Word, ...]:
    """The elements of ``( ... )``; comments between them are left out."""
    array = node.child_by_field_name("value")
    comments = [child for child in array.children if child.type == "comment"] if array is not None else []
    words: list[Word] = []
    position = at + 1
    for start, stop in [*((source.start(comment), source.end(comment)) for comment in comments), (end - 1, end)]:
        words += source.words.words(position, start)
        position = stop
    return tuple(words)


def assignments(source: ParsedText, node: Node) -> Assignments:
    """Several assignments on one line."""
    items = [assignment(source, child) for child in node.children if child.type == "variable_assignment"]
    return Assignments(tuple(items), source.span(node))


def declaration(source: ParsedText, node: Node) -> Assignments:
    """``export A=1 B``, ``declare -x A=1``, ``local a b=1`` and their like."""
    keyword = node.children[0].type
    items: list[Assignment] = []
    exported, local, integer = keyword == "export", keyword in _LOCAL, False
    for child in node.children[1:]:
        text = source.text_of(child)
        if child.type == "variable_assignment":
            items.append(assignment(source, child))
        elif text.startswith(("-", "+")):
            exported = (exported or "x" in text) and not (keyword == "export" and "n" in text)
            local = local and "g" not in text
            integer = integer or "i" in text
        elif _NAME.fullmatch(text):
            items.append(Assignment(text, None, source.span(child)))
    if integer:
        items = [_integer(source, item) for item in items]
    return Assignments(tuple(replace(item, exported=exported, local=local) for item in items), source.span(node))


def _integer(source: ParsedText, item: Assignment) -> Assignment:
    """``declare -i NAME=expression``."""
    if not isinstance(item.value, Word):
        return item
    text = source.words.slice(item.value.span)
    return replace(item, value=Word((Arithmetic(text, item.value.span),), item.value.span))


def declared(words: Sequence[Word], span: Span) -> Assignments:
    """A declaration that the grammar took for a command (``export "A=1"``)."""
    exported, local = words[0].literal == "export", words[0].literal in _LOCAL
    items = []
    for word in words[1:]:
        if word.literal is not None and _NAME.fullmatch(word.literal):
            items.append(Assignment(word.literal, None, word.span, exported=exported, local=local))
        elif (split := split_assignment(word)) is not None:
            items.append(replace(split, exported=exported, local=local))
    return Assignments(tuple(items), span)


def unset(source: ParsedText, node: Node) -> Assignments:
    """``unset A B``; of ``unset A[1]`` the grammar makes two words."""
    items: list[Assignment] = []
    for child in node.children[1:]:
        text = source.text_of(child).strip("'\"")
        if _NAME.fullmatch(text):
            items.append(Assignment(text, None, source.span(child), unset=True))
        elif (match := _NAME.match(text)) is not None and text[match.end()] == "[":
            items.append(Assignment(match.group(), None, source.span(child), unset=True, index=text[match.end() + 1 :]))
        elif text.startswith("[") and items:
            items[-1] = replace(items[-1], index=text[1:])
    return Assignments(tuple(items), source.span(node))


def split_assignment(word: Word) -> Assignment | None:
    """``NAME=value`` in one word as an assignment (``env A=1``, ``export "A=1"``), or ``None``."""
    first = word.parts[0] if word.parts else None
    if not isinstance(first, Literal) or (match := _TARGET.match(first.text)) is None or match.group(2) is not None:
        return None
    rest = replace(first, text=first.text[match.end() :], column=first.column + match.end())
    return Assignment(match.group(1), Word((rest, *word.parts[1:]), word.span, True), word.span)
