"""Settings in Python: keys of dict displays, keyword arguments of calls, and assignments to a subscript."""

from __future__ import annotations

import ast
from typing import Any

from distlint.fix.edits import Patch, difference, indentation, patched
from distlint.fix.items import ItemList, with_item, without_item
from distlint.fix.literals import Verbatim, python_literal
from distlint.fix.operations import CannotFixError
from distlint.fix.place import Place
from distlint.fix.python_statements import statement_removal
from distlint.fix.python_tree import PythonTree, call_items, dict_items, python_tree

Carrier = ast.Dict | ast.Call


def set_key(place: Place) -> list[Patch]:
    """Sets a key below a dict display or a call, making the dicts on the way where they are missing."""
    tree = python_tree(place.text)
    carrier = tree.covering((ast.Dict, ast.Call), place.start, place.end)
    if not isinstance(carrier, (ast.Dict, ast.Call)):
        raise CannotFixError("there is no dict display or call at this place")
    return _set(tree, carrier, place.keys("path"), place.arguments["value"])


def set_value(place: Place) -> list[Patch]:
    """Puts another value in the place of the expression that the place covers."""
    tree = python_tree(place.text)
    node = tree.covering(ast.expr, place.start, place.end)
    if node is None or tree.region(node) != (place.start, place.end):
        raise CannotFixError("there is no value at this place")
    return replacement(tree, node, place.arguments["value"])


def move_key(place: Place) -> list[Patch]:
    """Moves the dict entry at the place to another path of the outermost dict display around it."""
    tree, path = python_tree(place.text), place.keys("to_path")
    found = _at_key(tree, place)
    display, number = (None, 0) if isinstance(found, ast.stmt) else found
    if not isinstance(display, ast.Dict):
        raise CannotFixError("only an entry of a dict display can be moved")
    start, end = tree.region(display.values[number])
    outer = [node for node in ast.walk(tree.module) if isinstance(node, ast.Dict) and _holds(tree, node, start, end)]
    root = min(outer, key=tree.region)
    if _exists(root, path):
        raise CannotFixError(f"`{'.'.join(map(str, path))}` is set already")
    text = patched(place.text, without_item(_items(tree, display), number))
    rest = python_tree(text)
    at = tree.region(root)[0]
    after = next(
        (node for node in ast.walk(rest.module) if isinstance(node, ast.Dict) and rest.region(node)[0] == at), None
    )
    if after is None:
        raise CannotFixError("the dict display is gone")
    return difference(place.text, patched(text, _set(rest, after, path, Verbatim(place.text[start:end]))))


def remove_key(place: Place) -> list[Patch]:
    """Removes the dict entry, the keyword argument or the subscript assignment whose key stands at the place."""
    tree = python_tree(place.text)
    found = _at_key(tree, place)
    if isinstance(found, ast.stmt):
        return statement_removal(tree, *tree.region(found))
    carrier, number = found
    return without_item(_items(tree, carrier), number)


def rename_key(place: Place) -> list[Patch]:
    """Renames the key at the place; refuses where the new one is there already."""
    tree, to = python_tree(place.text), place.word("to")
    found = _at_key(tree, place)
    if not isinstance(found, ast.stmt):
        carrier, number = found
        if _value_of(carrier, to) is not None:
            raise CannotFixError(f"`{to}` is set already")
        if isinstance(carrier, ast.Call):
            start = _items(tree, carrier).items[number][0]
            name = call_items(tree, carrier)[1][number].name or ""
            return [Patch(start, start + len(name), _identifier(to))]
    quote = "'" if place.covered.rstrip().endswith("'") else '"'
    return [Patch(place.start, place.end, python_literal(to, quote))]


def replacement(tree: PythonTree, node: ast.expr, value: Any) -> list[Patch]:
    """Writes a value in the place of an expression; nothing where it says so already."""
    start, end = tree.region(node)
    try:
        old = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    else:
        if type(old) is type(value) and old == value:
            return []
    return [Patch(start, end, python_literal(value, _quote(tree.text[start:end])))]


def _set(tree: PythonTree, carrier: Carrier, path: tuple[Any, ...], value: Any) -> list[Patch]:
    key, rest = path[0], path[1:]
    found = _value_of(carrier, key)
    if found is not None and not rest:
        return replacement(tree, found, value)
    if isinstance(found, (ast.Dict, ast.Call)):
        return _set(tree, found, rest, value)
    if found is not None:
        raise CannotFixError(f"the value of `{key}` is not written out here")
    if rest and _is_open(carrier):
        raise CannotFixError(f"`{key}` may come from `**`")
    for name in reversed(rest):
        value = {name: value}
    items = _items(tree, carrier)
    quote = _quote(tree.text[items.start : items.end] or tree.text)
    if isinstance(carrier, ast.Dict):
        item = f"{python_literal(key, quote)}: {python_literal(value, quote)}"
    else:
        if _is_open(carrier):
            raise CannotFixError("the call takes further arguments from `**`")
        item = f"{_identifier(key)}={python_literal(value, quote)}"
    return with_item(items, item, outer=indentation(tree.text, items.start), step="    ")


def _value_of(carrier: Carrier, key: Any) -> ast.expr | None:
    if isinstance(carrier, ast.Call):
        return next((keyword.value for keyword in carrier.keywords if keyword.arg == key), None)
    value = None
    covered = False
    for name, item in zip(carrier.keys, carrier.values, strict=True):
        if isinstance(name, ast.Constant) and type(name.value) is type(key) and name.value == key:
            value, covered = item, False
        elif name is None:
            covered = value is not None
    if covered:
        raise CannotFixError(f"a `**` behind `{key}` may set it again")
    return value


def _is_open(carrier: Carrier) -> bool:
    if isinstance(carrier, ast.Dict):
        return None in carrier.keys
    return any(keyword.arg is None for keyword in carrier.keywords)


def _exists(carrier: Carrier, path: tuple[Any, ...]) -> bool:
    found: ast.expr | None = carrier
    for key in path:
        found = _value_of(found, key) if isinstance(found, (ast.Dict, ast.Call)) else None
    return found is not None


def _holds(tree: PythonTree, node: ast.expr, start: int, end: int) -> bool:
    low, high = tree.region(node)
    return low <= start and end <= high


def _items(tree: PythonTree, carrier: Carrier) -> ItemList:
    return dict_items(tree, carrier) if isinstance(carrier, ast.Dict) else call_items(tree, carrier)[0]


def _at_key(tree: PythonTree, place: Place) -> tuple[Carrier, int] | ast.stmt:
    """The carrier and the number of the item whose key stands at the place, or the assignment to that subscript."""
    start = place.start
    for node in ast.walk(tree.module):
        if isinstance(node, ast.Dict):
            for number, key in enumerate(node.keys):
                if key is not None and tree.region(key)[0] == start:
                    return node, number
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg is not None and tree.region(keyword)[0] == start:
                    _, arguments = call_items(tree, node)
                    number = next(i for i, item in enumerate(arguments) if item.node is keyword.value)
                    return node, number
        elif (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Subscript)
            and tree.region(node.targets[0].slice)[0] == start
        ):
            return node
    raise CannotFixError("there is no key at this place")


def _identifier(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise CannotFixError(f"{name!r} cannot be the name of an argument")
    return name


def _quote(text: str) -> str:
    return "'" if text.count("'") > text.count('"') else '"'
