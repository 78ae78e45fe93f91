"""Lists that a loop fills with one item in each turn: afterwards they are as long as what it goes through.

This matters where a loop goes through something that has another length on each process, such as a dictionary to which each adds
keys of its own, or the files that each process takes of a folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.link.walking import access_path, below, expressions_of, statements
from distlint.model import python as ir
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Items, combined, source_of


def empty_lists(variables: dict[str, Any], count: Any) -> dict[str, Items]:
    """The variables that hold empty lists before a loop with so many turns; none where that number is not known and no process's own."""
    if not _is_number(count) and (not isinstance(count, Opaque) or source_of([count]) is None):
        return {}
    return {name: one for name, one in variables.items() if isinstance(one, Items) and one.items == []}


def filled_by(loop: ir.For | ir.While, lists: dict[str, Items], variables: dict[str, Any], count: Any) -> None:
    """Says of the lists into which each turn of a loop has put one item how many they hold."""
    if not lists or any(type(one) in (ir.Jump, ir.Return) for one in statements(loop.body)):
        return
    names = list(_filled(loop.body))
    for name, listed in lists.items():
        once = names.count(name) == 1 and _mentions(loop, name) == 1
        if once and variables.get(name) is listed and listed.items is None:
            listed.size = count if _is_number(count) else Opaque(combined("filled", [count]), source_of([count]))


def _is_number(count: Any) -> bool:
    return isinstance(count, int) and not isinstance(count, bool)


def _filled(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    """The names of lists to which a body adds an item whatever the case."""
    for statement in body:
        if type(statement) is ir.With:
            yield from _filled(statement.body)
        elif type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
            root, path = access_path(statement.value.func)
            if path == (".append",) and len(statement.value.args) == 1:
                yield root


def _mentions(loop: ir.For | ir.While, name: str) -> int:
    """How many expressions of a loop's body name a variable."""
    return sum(
        type(part) is ir.Name and part.id == name
        for statement in statements(loop.body)
        for expr in expressions_of(statement)
        for part in below(expr)
    )
