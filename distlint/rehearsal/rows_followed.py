"""Follows the orders of rows (``row_orders``) through a program, and notes where rows of two orders are put together."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

from distlint.model.span import Span
from distlint.rehearsal.entities import MethodOf
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.merging import alike
from distlint.rehearsal.row_orders import (
    MISPAIRED,
    OWN,
    PARTS,
    TURNED,
    Column,
    Mark,
    Mispaired,
    RowOrders,
    Share,
    Turn,
    is_out_of_order,
    together,
)
from distlint.rehearsal.unknowns import UNKNOWN, Number, Opaque
from distlint.rehearsal.values import Items, Made, Table, Tensor, Thing, signature

_ELEMENTWISE = frozenset({"+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^"})


# Pairs ----------------------------------------------------------------------------------------------------------------


def paired(player: Any, values: Iterable[Any], span: Span, *, rows: bool = False) -> None:
    """Values are put together row by row; ``rows``: only if they are single rows with the same number."""
    marks = [mark for value in values if (mark := mark_of(player, value) or of_data(player, value)) is not None]
    for mark in marks:
        share = mark.order
        if not isinstance(share, Share) or (rows and mark.at is None) or _is_end(mark, share):
            continue
        for other in marks:
            column = other.order
            if not isinstance(column, Column) or other.place != mark.place:
                continue
            if not any(one is share.dealt.data for one in column.data):
                continue
            if is_out_of_order(share, player.stage.world):
                kept = player.stage.kept.setdefault(MISPAIRED, {})
                kept.setdefault((share.joined, share.dealt.sampler), Mispaired(share, span))


def _is_end(mark: Mark, share: Share) -> bool:
    """Whether a row is the first one, or the last: those are so in each order."""
    kind, number = mark.place if type(mark.place) is tuple else ("", None)
    known = number[1] if kind == "row" and type(number) is tuple and number[0] == "int" else None
    rows = share.dealt.rows
    return isinstance(known, int) and (known <= 0 or (isinstance(rows, int) and known >= rows - 1))


# Values ---------------------------------------------------------------------------------------------------------------


def item_taken(player: Any, source: Any, found: Any) -> Any:
    """Any item of something that is gone through: one of its rows, or a batch of them."""
    rows: RowOrders = player.stage.rows
    mark = rows.of(source) or of_data(player, source)
    if rows.holds_pairs(source) and type(found) is tuple and type(source.sample) is tuple:
        for like, part in zip(source.sample, found, strict=False):
            rows.give(part, rows.of(like))
        return found
    if mark is None or mark.at is not None or is_spread(mark.order):
        return _own(rows, found) if isinstance(source, Items | Generated) else found
    found = _own(rows, found)
    rows.give(found, Mark(mark.order, Turn()))
    return found


def rows_taken(player: Any, source: Tensor, found: list[Any]) -> None:
    """All rows of a tensor that is gone through."""
    mark = player.stage.rows.of(source)
    if mark is not None and mark.at is None and not is_spread(mark.order):
        for number, row in enumerate(found):
            player.stage.rows.give(row, Mark(mark.order, Turn(place_of(number))))


def of_data(player: Any, value: Any) -> Mark | None:
    """The order of a data set."""
    is_data = isinstance(value, Thing) or (isinstance(value, Made) and player.models.is_data(value))
    return player.stage.rows.whole(value) if is_data else None


def numbered(player: Any, thing: Thing, number: int, found: Any) -> Any:
    """The row with a number of a data set of the project's own, which is gone through."""
    found = _own(player.stage.rows, found)
    player.stage.rows.give(found, Mark(player.stage.rows.whole(thing).order, Turn(place_of(number))))
    return found


def is_spread(order: Column | Share) -> bool:
    """Whether rows stand in several shares that are still apart."""
    return isinstance(order, Share) and order.how in (PARTS, TURNED)


def _own(rows: RowOrders, value: Any) -> Any:
    """The same value as an object of its own, without an order: what is like all items stands for several of them."""
    if type(value) is tuple:
        return tuple(_own(rows, one) for one in value)
    if isinstance(value, Table) and not value.open and any(rows.of(one) is not None for one in value.items.values()):
        return Table({key: _own(rows, one) for key, one in value.items.items()})
    return copy(value) if type(value) in (Opaque, Number) and rows.of(value) is not None else value


def fresh(value: Any) -> Any:
    """The same value as an object of its own."""
    return copy(value) if type(value) in (Opaque, Number) else value


def taken_apart(player: Any, value: Any, found: Any) -> Any:
    """A part of a record that is unpacked."""
    mark = player.stage.rows.of(value)
    if mark is not None and isinstance(found, Opaque):
        found = _own(player.stage.rows, found)
        player.stage.rows.give(found, mark)
    return found


def attribute(player: Any, base: Any, name: str, found: Any) -> None:
    """``base.name``."""
    rows: RowOrders = player.stage.rows
    if isinstance(base, Tensor | Made | Opaque) and not isinstance(found, MethodOf):
        rows.hand(found, player.models.attribute_rows(player, base, name))
    elif isinstance(base, Thing) and isinstance(found, Items) and rows.rows_of(base) is not None:
        if rows.is_counted(found) and alike(player.length(found), rows.rows_of(base)):
            rows.stands(found, base)


def mark_of(player: Any, value: Any) -> Mark | None:
    """The order of a value's rows; of a part of something by what that is a part of."""
    rows: RowOrders = player.stage.rows
    if not isinstance(value, MethodOf):
        return rows.of(value)
    found: Mark | None = player.models.attribute_rows(player, value.receiver, value.name)
    inner = mark_of(player, value.receiver) if found is None else None
    if inner is not None and isinstance(inner.order, Share) and inner.order.how == OWN:
        return inner if isinstance(value.receiver, Opaque | Made | MethodOf) else None  # what a model gives has parts
    return found


def subscripted(player: Any, base: Any, index: Any, found: Any) -> None:
    """``base[index]``."""
    rows: RowOrders = player.stage.rows
    first = index[0] if type(index) is tuple and index else index
    data = rows.asked(first)
    if data is not None:
        looked_up = base.receiver if isinstance(base, MethodOf) else base
        rows.stands(looked_up, data)
        mark = mark_of(player, looked_up)
        if mark is not None and isinstance(mark.order, Column) and mark.at is None:
            rows.give(found, Mark(mark.order, Turn()))
        return
    mark = mark_of(player, base)
    if mark is None and not isinstance(index, str):
        mark = of_data(player, base)
    if isinstance(index, str) and isinstance(base, Made | Opaque) and (mark is None or _is_whole(mark)):
        rows.hand(found, _column_of(player, base, index))
        return
    if mark is None:
        return
    rows.give(found, _part_of(player, mark, index, first))


def _is_whole(mark: Mark) -> bool:
    return isinstance(mark.order, Column) and mark.at is None


def _column_of(player: Any, base: Any, name: str) -> Mark | None:
    """The order of what something holds under a name: that of a table is the table's own."""
    rows: RowOrders = player.stage.rows
    if player.models.is_data(base):
        return rows.whole(base)
    return rows.column(base) if player.models.is_table(base) else rows.part(base, name)


def _part_of(player: Any, mark: Mark, index: Any, first: Any) -> Mark | None:
    if isinstance(index, str):
        return mark
    if mark.at is not None:
        return mark if isinstance(index, int) else None
    if type(index) is tuple and None in [part for part in index if not isinstance(part, Tensor)]:
        return mark if isinstance(mark.order, Share) and mark.order.how == OWN else None
    if first is Ellipsis:
        return mark
    if isinstance(first, slice):
        return first_rows(mark, first)
    if is_spread(mark.order):
        return None
    if isinstance(first, int) or type(first) in (Opaque, Number):
        return _numbered(mark, first)
    return None


def _numbered(mark: Mark, number: Any) -> Mark | None:
    """The row with a number."""
    place = place_of(number)
    return None if place is None else Mark(mark.order, place)


def place_of(number: Any) -> tuple[str, Any] | None:
    """What tells the number of a row; ``None`` where nothing does."""
    sign = signature(number)
    if sign is None and isinstance(number, Opaque) and number is not UNKNOWN:
        return ("row", number)
    return None if sign is None else ("row", sign)


def first_rows(mark: Mark, part: slice) -> Mark | None:
    """The first of some rows, or all."""
    if part.start not in (None, 0) or part.step not in (None, 1):
        return None
    if is_spread(mark.order):
        return mark if part.stop is None else None
    if part.stop is None or not isinstance(mark.order, Share):
        return mark
    return mark._replace(order=mark.order._replace(cut=mark.order.cut or alike(part.stop, mark.order.dealt.rows)))


def operated(player: Any, symbol: str, one: Any, two: Any, found: Any, span: Span) -> None:
    """``one symbol two``."""
    rows: RowOrders = player.stage.rows
    mine, yours = mark_of(player, one), mark_of(player, two)
    if isinstance(one, Items) and isinstance(two, Items) and symbol == "+":
        marks = [mark for value, mark in ((one, mine), (two, yours)) if value.items != []]
        order = together(marks, span)
        rows.hand(found, Mark(order) if order is not None else None)
        return
    if symbol == "@" and not (isinstance(one, Tensor) and one.shape is not None and len(one.shape) < 2):
        rows.hand(found, mine if mine is not None and mine.at is None and not is_spread(mine.order) else None)
    if symbol not in _ELEMENTWISE or (mine is None and yours is None):
        return
    if not _are_spread_out(one, two):
        paired(player, [one, two], span)
    if isinstance(one, Items | str) or isinstance(two, Items):
        return
    rows.hand(found, of_several([mine, yours]))


def _are_spread_out(one: Any, two: Any) -> bool:
    """Whether one of two tensors is repeated along a dimension that the other has, so that each row may meet each other one."""
    shapes = [value.shape for value in (one, two) if isinstance(value, Tensor)]
    return len(shapes) == 2 and None not in shapes and len(shapes[0] or ()) != len(shapes[1] or ())


def of_several(marks: Iterable[Mark | None]) -> Mark | None:
    """The order of what is worked out row by row of several values; ``None`` where their orders differ."""
    known = [mark for mark in marks if mark is not None]
    shares = [mark for mark in known if isinstance(mark.order, Share)]
    for mark in shares[1:]:
        one, other = shares[0].order, mark.order
        assert isinstance(one, Share) and isinstance(other, Share)  # noqa: S101, PT018 - picked so
        if (one.ranks, one.how) != (other.ranks, other.how) or one.dealt.data is not other.dealt.data:
            return None
    return shares[0] if shares else known[0] if known else None


def displayed(player: Any, values: Iterable[Any], span: Span) -> None:
    """Values stand in one row of a table, or in one text."""
    if player.stage.rows.dealing:
        paired(player, values, span, rows=True)


def put(player: Any, base: Any, index: Any, value: Any, span: Span) -> None:
    """``base[index] = value``."""
    rows: RowOrders = player.stage.rows
    if not rows.dealing:
        return
    if isinstance(index, str) or type(index) is tuple:
        # a column of a table
        paired(player, [base.receiver if isinstance(base, MethodOf) else base, value], span)
    else:
        paired(player, [base, index, value], span, rows=True)
    if isinstance(base, Tensor | Items):
        rows.forget(base)
