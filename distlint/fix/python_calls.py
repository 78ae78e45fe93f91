"""Edits of calls in Python: arguments by name, and another callee."""

from __future__ import annotations

import ast

from distlint.fix.edits import Patch, difference, indentation, patched
from distlint.fix.items import with_item, without_item
from distlint.fix.literals import python_literal
from distlint.fix.operations import CannotFixError
from distlint.fix.place import Place
from distlint.fix.python_imports import imported_elsewhere, importing, reference, removed_import, uses
from distlint.fix.python_settings import replacement
from distlint.fix.python_tree import PythonTree, call_items, python_tree


def set_argument(place: Place) -> list[Patch]:
    """Gives an argument: its value is replaced where it is there, by name or by position, else it is added by name."""
    tree = python_tree(place.text)
    call = _call(tree, place)
    items, arguments = call_items(tree, call)
    name, number = place.word("name"), _number(tree, call, place)
    if number >= 0:
        if "value" in place.arguments:
            return replacement(tree, arguments[number].node, place.arguments["value"])
        start, end = tree.region(arguments[number].node)
        return [Patch(start, end, place.word("text"))] if place.text[start:end] != place.word("text") else []
    if any(item.star for item in arguments):
        raise CannotFixError("the call takes further arguments from `*` or `**`")
    quote = "'" if place.covered.count("'") > place.covered.count('"') else '"'
    given = "value" in place.arguments
    text = python_literal(place.arguments["value"], quote) if given else place.word("text")
    return with_item(items, f"{name}={text}", outer=indentation(place.text, items.start), step="    ")


def remove_argument(place: Place) -> list[Patch]:
    """Takes an argument away; one given by position only where no other position depends on it."""
    tree = python_tree(place.text)
    call = _call(tree, place)
    items, arguments = call_items(tree, call)
    number = _number(tree, call, place)
    if number < 0:
        raise CannotFixError(f"the call has no argument `{place.word('name')}`")
    if arguments[number].name is None and number != len(call.args) - 1:
        raise CannotFixError(f"`{place.word('name')}` is given by position, and others follow it")
    return without_item(items, number)


def rename_argument(place: Place) -> list[Patch]:
    """Gives a keyword argument another name."""
    tree = python_tree(place.text)
    call = _call(tree, place)
    items, arguments = call_items(tree, call)
    name, to = place.word("name"), place.word("to")
    if any(item.name == to for item in arguments):
        raise CannotFixError(f"`{to}` is given already")
    for (start, _), item in zip(items.items, arguments, strict=True):
        if item.name == name:
            return [Patch(start, start + len(name), to)]
    raise CannotFixError(f"the call has no argument `{name}`")


def replace_callee(place: Place) -> list[Patch]:
    """Calls something else: by a name that is imported already, or by a new import."""
    tree, to = python_tree(place.text), place.word("to")
    callee = _callee(tree, place)
    start, end = tree.region(callee)
    root = callee
    while isinstance(root, ast.Attribute):
        root = root.value
    name = root.id if isinstance(root, ast.Name) else ""
    if callee is root and name == to.rpartition(".")[2] and uses(tree, name) == 1:
        return imported_elsewhere(tree, name, to)
    written, missing = reference(tree, to, name if callee is not root else "")
    text = patched(place.text, [Patch(start, end, written)])
    if missing:
        text = patched(text, importing(text, missing, whole=missing != to))
    changed = python_tree(text)
    if name and not uses(changed, name):
        text = patched(text, removed_import(changed, name))
    return difference(place.text, text)


def _call(tree: PythonTree, place: Place) -> ast.Call:
    call = tree.covering(ast.Call, place.start, place.end)
    if call is None:
        raise CannotFixError("there is no call at this place")
    return call


def _callee(tree: PythonTree, place: Place) -> ast.expr:
    node = tree.covering((ast.Call, ast.Name, ast.Attribute), place.start, place.end)
    if isinstance(node, ast.Call) and tree.region(node) != (place.start, place.end):
        node = None
    if node is None:
        raise CannotFixError("there is no call at this place")
    return node.func if isinstance(node, ast.Call) else node


def _number(tree: PythonTree, call: ast.Call, place: Place) -> int:
    """The number of the argument in the order of the text, or -1.

    Raises:
        CannotFixError: its position lies behind a ``*`` argument.
    """
    _, arguments = call_items(tree, call)
    name, position = place.word("name"), place.arguments.get("position")
    for number, item in enumerate(arguments):
        if item.name == name:
            return number
    if not isinstance(position, int) or not call.args:
        return -1
    if any(isinstance(node, ast.Starred) for node in call.args[: position + 1]):
        raise CannotFixError("the call takes further arguments from `*`")
    return position if position < len(call.args) else -1
