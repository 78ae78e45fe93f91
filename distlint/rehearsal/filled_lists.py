"""Lists that a loop fills with an item in each turn: afterwards they are as long as what it goes through, or longer.

This matters where a loop goes through something that has another length on each process, such as a dictionary to which each adds
keys of its own, the rows of its part of the data, or the files that it takes of a folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.link.walking import access_path, below, calls_in, expressions_of, statements
from distlint.model import python as ir
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Items, Thing, combined, source_of

_SHORTENING = frozenset({"pop", "popleft", "clear", "remove"})
_Path = tuple[str, ...]


def empty_lists(variables: dict[str, Any], count: Any) -> dict[str, Items]:
    """The variables that hold empty lists before a loop with so many turns; none where that number is not known."""
    if not isinstance(count, int) or isinstance(count, bool):
        return {}
    return {name: one for name, one in variables.items() if isinstance(one, Items) and one.items == []}


def filled_by(loop: ir.For | ir.While, lists: dict[str, Items], variables: dict[str, Any], count: Any) -> None:
    """Says of the lists into which each turn of a loop has put something how many items they hold, or what that depends on.

    Of a number of turns that is not known that is said only where it differs between processes; of a known one of lists that were empty.
    """
    source = source_of([count]) if isinstance(count, Opaque) else None
    if (source is None and not lists) or any(type(one) in (ir.Jump, ir.Return) for one in statements(loop.body)):
        return
    if any(type(one.func) is ir.Attribute and one.func.name in _SHORTENING for one in calls_in(loop.body)):
        return
    paths = list(_filled(loop.body))
    for path in dict.fromkeys(paths):
        listed = _value_at(path, variables)
        if not isinstance(listed, Items) or listed.items is not None:
            continue
        if source is None and lists.get(path[0]) is listed and paths.count(path) == 1 and _mentions(loop, path[0]) == 1:
            listed.size = count
        elif source is not None and source_of([listed.size]) is None:
            listed.size = Opaque(combined("filled", [count, listed.size]), source)


def _filled(body: tuple[ir.Stmt, ...]) -> Iterator[_Path]:
    """The names and attributes that hold lists to which a body adds something whatever the case."""
    for statement in body:
        if type(statement) is ir.With:
            yield from _filled(statement.body)
        elif type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
            yield from _path_of(statement.value.func, ".append")
        elif type(statement) is ir.AugAssign and statement.operator == "+" and type(statement.value) is ir.ListDisplay:
            yield from _path_of(statement.target, "")


def _path_of(expr: ir.Expr, last: str) -> Iterator[_Path]:
    root, steps = access_path(expr)
    names = [one for one in steps if isinstance(one, str) and one.startswith(".")]
    if root and len(names) == len(steps) and (not last or names[-1:] == [last]):
        yield (root, *(one[1:] for one in (names[:-1] if last else names)))


def _value_at(path: _Path, variables: dict[str, Any]) -> Any:
    found = variables.get(path[0])
    for name in path[1:]:
        found = found.attributes.get(name) if isinstance(found, Thing) else None
    return found


def _mentions(loop: ir.For | ir.While, name: str) -> int:
    """How many expressions of a loop's body name a variable."""
    return sum(
        type(part) is ir.Name and part.id == name
        for statement in statements(loop.body)
        for expr in expressions_of(statement)
        for part in below(expr)
    )
