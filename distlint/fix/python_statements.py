"""Inserting, removing and moving whole statements of a Python file, with comments and blank lines left alone."""

from __future__ import annotations

import ast
import re

from distlint.fix.edits import (
    Patch,
    begins_line,
    indentation,
    line_end,
    line_start,
    newline_of,
    whole_lines,
)
from distlint.fix.operations import CannotFixError
from distlint.fix.place import Place
from distlint.fix.python_tree import PythonTree, python_tree

_FOUR = re.compile(r"^(?:    )+")


def insert_statement(place: Place) -> list[Patch]:
    """Puts a statement before or behind the one at the place, or first or last into its body."""
    tree = python_tree(place.text)
    statement, _, _ = tree.statement(place.start, place.end)
    where = place.word("where", "before")
    if where in ("first", "last"):
        body = getattr(statement, "body", None)
        if not isinstance(body, list):
            raise CannotFixError("the statement at this place has no body")
        if where == "first" and not (isinstance(statement, ast.Match) or _is_docstring(statement, body[0])):
            return _before(tree, body[0], place.word("text"), inside=statement)
        return _behind(tree, body[0] if where == "first" else body[-1], place.word("text"))
    if where == "after":
        return _behind(tree, statement, place.word("text"))
    return _before(tree, statement, place.word("text"))


def remove_statement(place: Place) -> list[Patch]:
    """Removes the statement at the place."""
    return statement_removal(python_tree(place.text), place.start, place.end)


def move_statement(place: Place) -> list[Patch]:
    """Moves the statement at the place before or behind another one of the same indentation."""
    tree = python_tree(place.text)
    statement, _, _ = tree.statement(place.start, place.end)
    if "target" not in place.regions:
        raise CannotFixError("the statement to move to is missing")
    target, _, _ = tree.statement(*place.regions["target"])
    start, end = tree.statement_region(statement)
    low, high = tree.statement_region(target)
    if indentation(place.text, start) != indentation(place.text, low) or (low <= start and end <= high):
        raise CannotFixError("the statement cannot be moved to a block of another depth")
    text = place.text[start:end]
    moved = _verbatim(tree, target, text, before=place.word("where", "after") == "before")
    return [*statement_removal(tree, start, end), *moved]


def statement_removal(tree: PythonTree, start: int, end: int) -> list[Patch]:
    """Removes the statement that covers a region; a block that would be empty gets ``pass``."""
    statement, block, owner = tree.statement(start, end)
    low, high = tree.statement_region(statement)
    if len(block) == 1 and not isinstance(owner, ast.Module):
        return [Patch(low, high, "pass")]
    number = block.index(statement)
    if number + 1 < len(block):
        following = tree.statement_region(block[number + 1])[0]
        if line_start(tree.text, following) <= high:
            return [Patch(low, following, "")]
    if not begins_line(tree.text, low):
        return [Patch(tree.statement_region(block[number - 1])[1], high, "")]
    return [Patch(*whole_lines(tree.text, low, line_end(tree.text, high)), "")]


def _before(tree: PythonTree, statement: ast.stmt, text: str, inside: ast.stmt | None = None) -> list[Patch]:
    start = tree.statement_region(statement)[0]
    _must_begin_line(tree, start)
    indent, newline = indentation(tree.text, start), newline_of(tree.text)
    floor = tree.region(inside)[0] if inside is not None else 0
    at = _above_comments(tree.text, line_start(tree.text, start), indent, floor)
    return [Patch(at, at, newline.join(_indented(text, indent)) + newline)]


def _behind(tree: PythonTree, statement: ast.stmt, text: str) -> list[Patch]:
    start, end = tree.statement_region(statement)
    _must_begin_line(tree, start)
    at = line_end(tree.text, end)
    if tree.text[end:at].split("#")[0].strip():
        raise CannotFixError("the statement shares its line with another one")
    newline = newline_of(tree.text)
    return [Patch(at, at, newline + newline.join(_indented(text, indentation(tree.text, start))))]


def _verbatim(tree: PythonTree, target: ast.stmt, text: str, *, before: bool) -> list[Patch]:
    """Puts text that has its indentation already beside ``target``."""
    start, end = tree.statement_region(target)
    _must_begin_line(tree, start)
    newline, indent = newline_of(tree.text), indentation(tree.text, start)
    if before:
        at = line_start(tree.text, start)
        return [Patch(at, at, indent + text + newline)]
    at = line_end(tree.text, end)
    if tree.text[end:at].split("#")[0].strip():
        raise CannotFixError("the statement shares its line with another one")
    return [Patch(at, at, newline + indent + text)]


def _must_begin_line(tree: PythonTree, start: int) -> None:
    if not begins_line(tree.text, start):
        raise CannotFixError("the statement shares its line with another one")


def _above_comments(text: str, at: int, indent: str, floor: int) -> int:
    """Start of the comment lines directly above the line at ``at``; those at the top of a file are its heading."""
    first = at
    while first > floor:
        above = line_start(text, first - (2 if text[:first].endswith("\r\n") else 1))
        if above <= floor or not text.startswith(indent + "#", above):
            break
        first = above
    heading = first > 0 and line_start(text, first - 1) == 0 and text.startswith("#")
    return at if heading else first


def _indented(text: str, indent: str) -> list[str]:
    """The lines of a statement that was written with four spaces a level, in the manner of their new place."""
    step = "\t" if "\t" in indent else "    "
    return [
        indent + _FOUR.sub(lambda lead: step * (len(lead[0]) // 4), line) if line.strip() else ""
        for line in text.splitlines()
    ]


def _is_docstring(owner: ast.stmt, statement: ast.stmt) -> bool:
    return (
        isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        and isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
