"""Lists that a loop fills with an item in each turn: afterwards they are as long as what it goes through, or longer.

This matters where a loop goes through something that has another length on each process, such as a dictionary to which each adds
keys of its own, or the rows of its part of the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.link.walking import access_path, calls_in, statements
from distlint.model import python as ir
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Items, Thing, combined, source_of

_SHORTENING = frozenset({"pop", "popleft", "clear", "remove"})
_Path = tuple[str, ...]


def filled_by(loop: ir.For | ir.While, variables: dict[str, Any], count: Any) -> None:
    """Says of the lists into which each turn of a loop has put something that they are as long as the loop made turns.

    That is said only of a number of turns that differs between processes.
    """
    source = source_of([count]) if isinstance(count, Opaque) else None
    if source is None or any(type(one) in (ir.Jump, ir.Return) for one in statements(loop.body)):
        return
    if any(type(one.func) is ir.Attribute and one.func.name in _SHORTENING for one in calls_in(loop.body)):
        return
    for path in dict.fromkeys(_filled(loop.body)):
        listed = _value_at(path, variables)
        if isinstance(listed, Items) and listed.items is None and source_of([listed.size]) is None:
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
