"""Lists that a loop fills with an item in each turn: afterwards they are as long as what it goes through, or longer.

This matters where a loop goes through something that has another length on each process, such as a dictionary to which each adds
keys of its own, the rows of its part of the data, or the files that it takes of a folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.link.walking import access_path, below, calls_in, expressions_of, statements
from distlint.model import python as ir
from distlint.rehearsal.failing import more_of
from distlint.rehearsal.sums import Sum, added, is_summand
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Items, Thing, combined, source_of

if TYPE_CHECKING:
    from distlint.model.span import Span
    from distlint.rehearsal.stage import Stage

_SHORTENING = frozenset({"pop", "popleft", "clear", "remove"})
_Path = tuple[str, ...]


class Before(NamedTuple):
    """A list that a loop fills, and how long it is before that: a number, or one that is known by what it is added to."""

    listed: Items
    length: Any


def lists_before(loop: ir.For | ir.While, variables: dict[str, Any], count: Any) -> dict[_Path, Before]:
    """The lists into which each turn of a loop puts one item, of which the length can be told then; none where the turns can't be."""
    if isinstance(count, bool) or not isinstance(count, int | Sum):
        return {}
    paths = list(_filled(loop.body))
    found = {
        path: _value_at(path, variables) for path in paths if paths.count(path) == 1 and _is_filled_alone(loop, path)
    }
    lengths = {path: one.length() for path, one in found.items() if isinstance(one, Items)}
    told = {path: length for path, length in lengths.items() if type(length) is int or isinstance(count, Sum)}
    return {path: Before(found[path], length) for path, length in told.items()}


def is_filled(loop: ir.While, listed: ir.Expr) -> bool:
    """Whether each turn of a loop puts one item into a list, and nothing else is done with it there."""
    paths = list(_path_of(listed, ""))
    every = list(_filled(loop.body))
    return bool(paths) and every.count(paths[0]) == 1 and _is_filled_alone(loop, paths[0])


def filled_by(
    stage: Stage, loop: ir.For | ir.While, lists: dict[_Path, Before], variables: dict[str, Any], count: Any, span: Span
) -> None:
    """Says of the lists that a loop fills how many items they hold, or what that depends on.

    Each turn puts one item into ``lists``. Of a number of turns that is not known that is said only where it differs between processes;
    files of which some processes have more give more items. ``span`` is what the loop goes through.
    """
    source = source_of([count]) if isinstance(count, Opaque) else None
    if any(type(one) in (ir.Jump, ir.Return) for one in statements(loop.body)):
        return
    if any(type(one.func) is ir.Attribute and one.func.name in _SHORTENING for one in calls_in(loop.body)):
        return
    if source is None and isinstance(count, int):
        for path in dict.fromkeys(_growing(loop.body)):
            listed = _value_at(path, variables)
            more = more_of(stage, count, listed.whole, span) if isinstance(listed, Items) and not listed.items else None
            if more is not None and path not in lists and source_of([listed.size]) is None:
                listed.size = more
    for path in dict.fromkeys(_filled(loop.body)):
        listed = _value_at(path, variables)
        if not isinstance(listed, Items) or listed.items is not None:
            continue
        total = added(lists[path].length, count) if path in lists and lists[path].listed is listed else None
        if is_summand(total) and source_of([total]) is None:
            listed.size = total  # what it lacked of a number that all agree on leaves no trace
        elif source is not None and source_of([listed.size]) is None:
            listed.size = Opaque(combined("filled", [count, listed.size]), source)


def _growing(body: tuple[ir.Stmt, ...]) -> Iterator[_Path]:
    """The names and attributes that hold lists to which a body adds something, however deep."""
    for call in calls_in(body):
        for method in (".append", ".extend"):
            yield from _path_of(call.func, method)
    for statement in statements(body):
        if type(statement) is ir.AugAssign and statement.operator == "+":
            yield from _path_of(statement.target, "")


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


def _is_filled_alone(loop: ir.For | ir.While, path: _Path) -> bool:
    """Whether a loop names a list once only, and nothing in it may fill that by another name or method."""
    exprs = [part for statement in statements(loop.body) for expr in expressions_of(statement) for part in below(expr)]
    named = sum(type(part) is ir.Name and part.id == path[0] for part in exprs)
    if len(path) == 1:
        return named == 1
    attributes = [part for part in exprs if type(part) is ir.Attribute and _is_root(part.base, path[0])]
    called = {id(part.func) for part in exprs if type(part) is ir.Call}
    own = sum(part.name == path[1] for part in attributes)
    return own == 1 and len(attributes) == named and not any(id(part) in called for part in attributes)


def _is_root(expr: ir.Expr, name: str) -> bool:
    return type(expr) is ir.Name and expr.id == name
