"""In which order rows stand: that of a whole data set, that in which a sampler deals them out, or one rank after the other.

A sampler that deals rows out in turn gives process ``r`` of ``n`` the rows ``r``, ``r + n``, ``r + 2 * n`` and so on. What each
works out of its share is brought together in one of two orders: one share after the other, or one row of each in turn, which is
the order that the rows were dealt out in.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

from distlint.model.span import Span
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Perhaps
from distlint.rehearsal.values import Items, Made, Table, Tensor

OWN = "own"
"""Rows of the shares of some ranks, each by itself: ``ranks`` has one."""
PARTS = "parts"
"""The shares in a row, or along a dimension of their own."""
TURNED = "turned"
"""For each row of a share those of all ranks."""
JOINED = "joined"
"""One share after the other."""
IN_TURN = "in turn"
"""One row of each share in turn."""

MISPAIRED = "rows in different orders"
"""What ``Stage.kept`` holds of rows that were put beside those of a whole data set."""
_DEPTH = 3


class Turn:
    """The turn in which something is gone through; ``sign`` tells its number, where there is one."""

    __slots__ = ("sign",)

    def __init__(self, sign: Hashable = None) -> None:
        self.sign = sign


class Column:
    """An order that some rows have in common; ``data`` are the data sets whose rows stand in it."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data: list[Any] = []


class Dealt(NamedTuple):
    """How rows are dealt out: of which data set, by which sampler, in batches of which size.

    ``shuffled`` says whether in an order drawn at random, ``rows`` how many there are.
    """

    data: Any
    sampler: Span
    shuffled: bool | None
    batch: Any
    rows: Any


class Share(NamedTuple):
    """Rows of the shares of some ranks. ``piece``: of one batch; ``stepped``: the ranks' rows were brought together batch by batch.

    ``gathered`` and ``joined`` are where that was done, ``last`` is the turn of the row that was put there last,
    ``cut`` says that what fills up the shares was cut off.
    """

    dealt: Dealt
    ranks: tuple[int, ...]
    how: str = OWN
    piece: bool = True
    stepped: bool = False
    gathered: Span | None = None
    joined: Span | None = None
    last: Hashable = None
    cut: bool = False


class Mark(NamedTuple):
    """The order of the rows of a value; of a single row of these ``at`` tells which one it is."""

    order: Column | Share
    at: Any = None

    @property
    def place(self) -> Any:
        """Equal for rows that have the same number in their orders."""
        return self.at.sign if isinstance(self.at, Turn) and self.at.sign is not None else self.at


class Mispaired(NamedTuple):
    """Rows that were put beside those of a whole data set, and where that is done first."""

    share: Share
    span: Span


class RowOrders:
    """What one process knows of the orders of its values."""

    def __init__(self) -> None:
        self._marks: dict[int, tuple[Any, Mark | None]] = {}
        self._shared: dict[int, list[Tensor]] = {}
        self._parts: dict[tuple[int, str], Column] = {}
        self._asked: dict[int, tuple[Any, Any]] = {}
        self._pairs: dict[int, Any] = {}
        self._counted: dict[int, Any] = {}
        self._held: list[Any] = []
        self._sizes: dict[int, tuple[Any, Any]] = {}

    @property
    def dealing(self) -> bool:
        """Whether a sampler has dealt rows out: before that nothing can go wrong."""
        return bool(self._sizes)

    def deals(self, how: Dealt) -> None:
        """A sampler deals out the rows of a data set: what that holds under names are its columns."""
        if id(how.data) not in self._sizes:
            for (base, _), column in self._parts.items():
                if base == id(how.data) and not column.data:
                    column.data.append(how.data)
        self._sizes[id(how.data)] = (how.data, how.rows)

    def rows_of(self, data: Any) -> Any:
        """How many rows a data set has that a sampler deals out; ``None`` for others."""
        found = self._sizes.get(id(data))
        return found[1] if found is not None else None

    def of(self, value: Any) -> Mark | None:
        """The order of a value's rows; ``None`` where nothing is known of it."""
        value = value.value if isinstance(value, Perhaps) else value
        found = self._marks.get(id(value))
        return found[1] if found is not None else None

    def within(self, value: Any, depth: int = 0) -> Mark | None:
        """The order of a value's rows, or of those of what stands in it: a record of columns, or of parts of one row."""
        found = self.of(value)
        if found is not None or depth > _DEPTH:
            return found
        if isinstance(value, Items):
            parts: Iterable[Any] = value.items[:8] if value.items is not None else ()
        else:
            parts = value.items.values() if isinstance(value, Table) else value if type(value) is tuple else ()
        marks = (self.within(one, depth + 1) for one in parts)
        return next((mark for mark in marks if mark is not None and isinstance(mark.order, Share)), None)

    def give(self, value: Any, mark: Mark | None, depth: int = 0) -> None:
        """Says in which order a value's rows stand, and those of what stands in it."""
        value = value.value if isinstance(value, Perhaps) else value
        if mark is None or value is UNKNOWN:
            return
        if isinstance(value, Tensor | Items | Opaque | Made | Generated):
            self._marks[id(value)] = (value, mark)
            if isinstance(value, Tensor):
                self._shared.setdefault(id(value.whole), []).append(value)
        elif type(value) is tuple and depth < _DEPTH:
            for one in value:
                self.give(one, mark, depth + 1)
        elif isinstance(value, Table) and depth < _DEPTH:
            for one in value.items.values():
                self.give(one, mark, depth + 1)

    def hand(self, value: Any, mark: Mark | None) -> None:
        """The same for what has no order yet."""
        if mark is None:
            return
        if type(value) is tuple:
            for one in value:
                self.hand(one, mark)
        elif isinstance(value, Table):
            for one in value.items.values():
                self.hand(one, mark)
        elif self.of(value) is None:
            self.give(value, mark)

    def forget(self, value: Any) -> None:
        """The rows of a value were changed where they lie: their order is not known any more."""
        for one in self._shared.get(id(value.whole), ()) if isinstance(value, Tensor) else (value,):
            known = self._marks.get(id(one))
            if known is not None:
                self._marks[id(one)] = (one, None)

    def column(self, value: Any) -> Mark | None:
        """The order of a value's rows, to which a name is given if it has none."""
        value = value.value if isinstance(value, Perhaps) else value
        known = self._marks.get(id(value))
        if known is not None:
            return known[1]
        if not isinstance(value, Tensor | Items | Opaque | Made | Generated) or value is UNKNOWN:
            return None
        self.give(value, Mark(Column()))
        return self.of(value)

    def part(self, base: Any, name: str) -> Mark:
        """The order of what something holds under a name."""
        found = self._parts.get((id(base), name))
        if found is None:
            found = self._parts[id(base), name] = Column()
            self._held.append(base)  # so that no other object gets its `id`
            if id(base) in self._sizes:
                found.data.append(base)
        return Mark(found)

    def whole(self, data: Any) -> Mark:
        """The order of a data set."""
        mark = self.part(data, "")
        assert isinstance(mark.order, Column)  # noqa: S101 - made so
        if not mark.order.data:
            mark.order.data.append(data)
        return mark

    def counts(self, listed: Any) -> None:
        """The items of a list are made of their numbers."""
        self._counted[id(listed)] = listed

    def is_counted(self, listed: Any) -> bool:
        """Whether the items of a list are made of their numbers."""
        return id(listed) in self._counted

    def pairs(self, listed: Any) -> None:
        """The items of a list are rows with one part of each of several orders."""
        self._pairs[id(listed)] = listed

    def holds_pairs(self, listed: Any) -> bool:
        """Whether the items of a list are such rows."""
        return id(listed) in self._pairs

    def stands(self, value: Any, data: Any) -> None:
        """The rows of a value stand in the order of a data set."""
        mark = self.column(value)
        if mark is not None and isinstance(mark.order, Column) and mark.at is None:
            if not any(one is data for one in mark.order.data):
                mark.order.data.append(data)

    def asks(self, index: Any, data: Any) -> None:
        """A data set is asked for its row with a number: what it looks up by that number stands in its order."""
        self._asked[id(index)] = (index, data)

    def asked(self, index: Any) -> Any:
        """The data set that was asked for the row with a number; ``None`` for others."""
        found = self._asked.get(id(index)) if type(index) is Opaque else None
        return found[1] if found is not None else None


def added(before: Share | None, mark: Mark | None, span: Span) -> Share | None:
    """The order of some rows (``None``: there are none) when others are put behind them; ``None`` where it is not known."""
    new = mark.order if mark is not None else None
    if mark is None or not isinstance(new, Share) or (mark.at is not None and not isinstance(mark.at, Turn)):
        return None
    if before is None:
        return new._replace(piece=False, last=mark.place) if new.how in (OWN, JOINED, IN_TURN) else None
    if before.dealt.data is not new.dealt.data or before.dealt.sampler != new.dealt.sampler:
        return None
    same_turn = mark.at is not None and mark.place == before.last
    if new.how != OWN:
        return before if before.how == new.how and new.how in (JOINED, IN_TURN) else None
    if before.how == OWN:
        if before.ranks == new.ranks:
            return before._replace(last=mark.place)
        how = IN_TURN if same_turn else JOINED
        return before._replace(ranks=before.ranks + new.ranks, how=how, joined=span, last=mark.place)
    if before.how == JOINED:
        if new.ranks[0] not in before.ranks:
            return None if same_turn else before._replace(ranks=before.ranks + new.ranks, last=mark.place)
        return before._replace(last=mark.place) if new.ranks[0] == before.ranks[-1] or before.stepped else None
    if before.how == IN_TURN and mark.at is not None:
        return before._replace(ranks=tuple(dict.fromkeys(before.ranks + new.ranks)), last=mark.place)
    return None


def together(marks: Iterable[Mark | None], span: Span) -> Share | None:
    """The order of some rows, and others behind them, and so on."""
    found: Share | None = None
    for mark in marks:
        found = added(found, mark, span)
        if found is None:
            return None
    return found


def is_dealt_whole(share: Share, world: int) -> bool:
    """Whether rows are those of all ranks."""
    return world > 1 and set(share.ranks) == set(range(world))


def is_out_of_order(share: Share, world: int) -> bool:
    """Whether rows of all ranks certainly stand in another order than that of the data set."""
    if not is_dealt_whole(share, world) or share.how not in (JOINED, IN_TURN):
        return False
    if share.dealt.shuffled is True:
        return True
    one_by_one = share.stepped and not (isinstance(share.dealt.batch, int) and share.dealt.batch > 1)
    return share.how == JOINED and not one_by_one
