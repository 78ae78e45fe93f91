"""Follows the orders of rows through lists, comprehensions and calls of what is not of the project (``rows_followed``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import Library, MethodOf
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.row_orders import (
    IN_TURN,
    JOINED,
    OWN,
    PARTS,
    TURNED,
    Column,
    Mark,
    RowOrders,
    Share,
    Turn,
    added,
    together,
)
from distlint.rehearsal.rows_followed import first_rows, fresh, is_spread, mark_of, of_data, paired, place_of
from distlint.rehearsal.unknowns import Opaque, Ranged
from distlint.rehearsal.values import Given, Items, Made, Table

_KEEPING = frozenset({"list", "tuple", "iter"})
_EACH = frozenset({"float", "int", "str", "round", "abs", "bool", "repr"})
_ADDING = frozenset({"append", "extend"})
_LOOKING = frozenset({"index", "count", "__len__", "__getitem__", "__contains__"})
_WRITING = frozenset({"writerows"})


def followed(player: Any, callee: Any, given: Given, call: ir.Call, scope: Any, leaving: Callable[..., Any]) -> Any:
    """Calls what is no function of the project, and says in which order the rows of the result stand."""
    listed = callee.receiver if isinstance(callee, MethodOf) and callee.name in _ADDING else None
    was_empty = isinstance(listed, Items) and listed.items == []
    found = leaving(callee, given, call, scope)
    if isinstance(listed, Items):
        _put_in(player, callee.name, listed, given, ir.unpack(call.at, scope.file), was_empty=was_empty)
    else:
        _called(player, callee, given, found, ir.unpack(call.at, scope.file))
    return found


# Lists ----------------------------------------------------------------------------------------------------------------


def _put_in(player: Any, method: str, listed: Items, given: Given, span: Span, *, was_empty: bool) -> None:
    """A method puts something behind the items of a list."""
    if method == "append":
        _put_behind(player, listed, given.positional[:1], span, was_empty=was_empty)
    elif given.positional:
        extended(player, listed, given.positional[0], span, was_empty=was_empty)


def _put_behind(player: Any, listed: Items, values: Iterable[Any], span: Span, *, was_empty: bool) -> None:
    """Values are put behind the items of a list that had none, or had some."""
    rows: RowOrders = player.stage.rows
    before = rows.of(listed)
    order = before.order if before is not None else None
    marks = [rows.within(value) for value in values]
    if order is None and not was_empty:
        return
    if marks and all(mark is not None and isinstance(mark.order, Column) for mark in marks):
        _put_rows(player, listed, order, marks)
        return
    found: Share | None = order if isinstance(order, Share) else None
    if isinstance(order, Column):
        rows.forget(listed)
        return
    for mark in marks:
        found = added(found, mark, span)
        if found is None:
            break
    if found is not None:
        rows.give(listed, Mark(found))
    elif marks:
        rows.forget(listed)


def _put_rows(player: Any, listed: Items, order: Any, marks: list[Any]) -> None:
    """Rows are put in a list one by one, in the order that they have elsewhere."""
    stage = player.stage
    same = order is None or all(mark.order is order for mark in marks)
    always = len(stage.reasons) == stage.reasons_around
    if same and always and all(isinstance(mark.at, Turn) for mark in marks):
        stage.rows.give(listed, Mark(marks[0].order))
    else:
        stage.rows.forget(listed)


def _listed(player: Any, value: Any) -> list[Any]:
    """What is put in where all items of something are: the items of a row that is known, else that as a whole."""
    if player.stage.rows.of(value) is None:
        if type(value) is tuple:
            return list(value)
        if isinstance(value, Items) and value.items:
            return list(value.items)
    return [value]


def extended(player: Any, listed: Items, other: Any, span: Span, *, was_empty: bool) -> None:
    """All items of something are put behind those of a list."""
    if not isinstance(other, Items) or other.items != []:
        _put_behind(player, listed, _listed(player, other), span, was_empty=was_empty)


def comprehended(
    player: Any, expr: ir.Comprehension, first: Any, inner: Any, found: list[Any], made: Any, span: Span
) -> None:
    """What a comprehension gives."""
    rows: RowOrders = player.stage.rows
    if expr.kind not in ("list", "generator") or any(tests for _, _, tests in expr.generators):
        return
    source = rows.of(first) or of_data(player, first)
    if len(expr.generators) == 1 and source is not None and isinstance(source.order, Column) and source.at is None:
        rows.give(made, source)
        return
    marks = [rows.within(one) for one in found]
    if _is_of_numbers(expr, first):
        rows.counts(made)
    counted = _by_numbers(expr, first, inner, marks)
    if counted is not None:
        rows.give(made, Mark(counted))
        return
    order = together(marks, span) if marks else None
    if order is not None:
        apart = len(marks) > 1 and order.how == JOINED and all(mark is not None and mark.at is None for mark in marks)
        rows.give(made, Mark(order._replace(how=PARTS) if apart and len(expr.generators) == 1 else order))


def _is_of_numbers(expr: ir.Comprehension, first: Any) -> bool:
    """Whether a comprehension goes through the numbers from zero on (``for i in range(n)``)."""
    target, over, _ = expr.generators[0]
    plain = type(over) is ir.Call and type(over.func) is ir.Name and over.func.id == "range" and len(over.args) == 1
    single = len(expr.generators) == 1 and type(target) is ir.Name
    return plain and single and isinstance(first, range | Ranged)


def _by_numbers(expr: ir.Comprehension, first: Any, inner: Any, marks: list[Any]) -> Column | Share | None:
    """The order of ``rows[i] for i in range(n)``."""
    target = expr.generators[0][0]
    if not _is_of_numbers(expr, first) or type(target) is not ir.Name:
        return None
    if not marks or any(mark is None or mark.order is not marks[0].order for mark in marks):
        return None
    if len(marks) == 1:
        numbers = [place_of(inner.variables.get(target.id))]
    else:
        numbers = [place_of(number) for number in range(len(marks))]
    if [mark.place for mark in marks] != numbers:
        return None
    found: Column | Share = marks[0].order
    return found if isinstance(found, Column) or found.how in (JOINED, IN_TURN, OWN) else None


# Calls ----------------------------------------------------------------------------------------------------------------


def _called(player: Any, callee: Any, given: Given, found: Any, span: Span) -> None:
    rows: RowOrders = player.stage.rows
    if isinstance(callee, Library) and callee.name.startswith("builtins."):
        _called_builtin(player, callee.name[len("builtins.") :], given, found, span)
        return
    if isinstance(callee, Library) and callee.name.startswith("itertools."):
        _called_itertools(player, callee.name[len("itertools.") :], given, found, span)
        return
    if isinstance(callee, MethodOf) and isinstance(callee.receiver, Items):
        if callee.name == "copy":
            rows.hand(found, rows.of(callee.receiver))
        elif callee.name not in _LOOKING:
            rows.forget(callee.receiver)
        return
    if rows.dealing:
        values = [*given.values(), *([callee.receiver] if isinstance(callee, MethodOf) else [])]
        paired(player, values, span, rows=True)
        for value in given.values():
            if isinstance(value, Table):
                paired(player, value.items.values(), span, rows=True)
        if isinstance(callee, MethodOf) and callee.name in _WRITING and given.positional:
            _numbers_written(player, given.positional[0], span)
    player.models.rows(player, callee, given, found, span)


def _called_builtin(player: Any, name: str, given: Given, found: Any, span: Span) -> None:
    rows: RowOrders = player.stage.rows
    values = given.positional
    if not values:
        return
    mark = mark_of(player, values[0])
    if name in _KEEPING:
        if found is not values[0]:
            rows.hand(found, mark or (rows.column(values[0]) if isinstance(values[0], Items | Opaque | Made) else None))
    elif name in _EACH:
        rows.hand(found, mark)
    elif name == "zip":
        _zipped(player, given, found, span)
    elif name == "enumerate":
        _enumerated(player, mark or of_data(player, values[0]), found)
    elif name == "map" and len(values) == 2:
        of = mark_of(player, values[1])
        rows.hand(found, of if of is not None and of.at is None and not is_spread(of.order) else None)
    elif name == "sum" and len(values) == 2 and isinstance(values[0], Items) and values[0].items:
        order = together([rows.within(one) for one in values[0].items], span)
        rows.hand(found, Mark(order) if order is not None else None)
    elif name == "dict":
        _numbers_written(player, values[0], span)


def _called_itertools(player: Any, name: str, given: Given, found: Any, span: Span) -> None:
    rows: RowOrders = player.stage.rows
    values = given.positional
    parts: list[Any] = []
    if name == "chain":
        parts = values
    elif name == "chain.from_iterable" and values:
        parts = player.items_of(values[0]) or []
        mark = rows.of(values[0])
        if not parts and mark is not None and isinstance(mark.order, Share) and not is_spread(mark.order):
            rows.hand(found, mark)
    elif name == "islice" and len(values) == 2:
        mark = rows.of(values[0])
        rows.hand(found, first_rows(mark, slice(None, values[1])) if mark is not None and mark.at is None else None)
    order = together([rows.within(one) for one in parts], span) if parts and not given.open else None
    rows.hand(found, Mark(order) if order is not None else None)


def _zipped(player: Any, given: Given, found: Any, span: Span) -> None:
    rows: RowOrders = player.stage.rows
    values = given.positional
    paired(player, values, span)
    marks = [mark_of(player, value) for value in values]
    known = [mark for mark in marks if mark is not None and mark.at is None]
    turn = Turn()
    if isinstance(found, Items) and type(found.sample) is tuple and len(found.sample) == len(values):
        parts = []
        for mark, part in zip(marks, found.sample, strict=True):
            own = fresh(part)
            if mark is not None and mark.at is None:
                rows.give(own, Mark(mark.order, turn))
            parts.append(own)
        found.sample = tuple(parts)
        rows.pairs(found)
    ranks = [mark.order.ranks for mark in known if isinstance(mark.order, Share) and mark.order.how == OWN]
    if len(ranks) == len(values) > 1 and len(set(ranks)) == len(ranks):
        first = known[0].order
        assert isinstance(first, Share)  # noqa: S101 - tested above
        order = first._replace(how=TURNED, ranks=tuple(rank for one in ranks for rank in one))
        rows.hand(found, Mark(order))
    elif len(known) == len(values):
        rows.hand(found, next((mark for mark in known if isinstance(mark.order, Share)), known[0]))


def _enumerated(player: Any, mark: Mark | None, found: Any) -> None:
    """The rows of something with their numbers: those of the data set, where as many are left as that has."""
    if mark is None or mark.at is not None:
        return
    rows: RowOrders = player.stage.rows
    if is_spread(mark.order):
        return
    sample = found.sample if isinstance(found, Items | Generated) else None
    if type(sample) is not tuple or len(sample) != 2:
        return
    number, row = fresh(sample[0]), fresh(sample[1])
    turn = Turn(place_of(number))
    rows.give(row, Mark(mark.order, turn))
    if isinstance(mark.order, Share) and mark.order.cut:
        rows.give(number, Mark(rows.whole(mark.order.dealt.data).order, turn))
    found.sample = (number, row)
    rows.pairs(found)


def _numbers_written(player: Any, listed: Any, span: Span) -> None:
    """Rows are kept by their numbers."""
    sample = listed.sample if isinstance(listed, Items | Generated) else None
    if player.stage.rows.dealing and type(sample) is tuple:
        paired(player, sample, span, rows=True)
