"""The values that a rehearsed program has: tensors, lists, dictionaries, objects, and what tells their content."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from distlint.model.span import Span
from distlint.rehearsal.entities import ClassValue, Group, Library, MethodOf, Work
from distlint.rehearsal.unknowns import UNKNOWN, Named, Number, Opaque, Sent, Source, is_text

if TYPE_CHECKING:
    from distlint.link.modules import ClassRef
    from distlint.model import python as ir
    from distlint.rehearsal.iterators import Later

MAX_ITEMS = 256
"""A list with more items than this is only known by its length."""

MAX_INNER = 16
"""Items of a list in a list that are looked at."""

MAX_EITHER = 32
"""Lists that one may be."""


class Tensor:
    """A tensor: its shape (``None``: not known; a size may be ``Opaque``), its type (``""``: not known), what tells its content.

    ``whole`` is the tensor whose memory it shares, ``pending`` the operation under way that will fill it, ``lent`` one that only reads it,
    ``nowhere`` says that no variable can reach it (a temporary copy), ``partial`` the operation that left a meaningful
    result on another process only, ``packed`` whether its memory is contiguous, ``through`` the wrapped models that it came out of,
    ``sharded`` whether each process holds a part of it,
    ``ragged`` one of its sizes that the data of each process decides,
    ``typed`` what tells which of several types it has, where that is not known,
    ``pointed`` whether it certainly holds numbers with a point, though of which type is not known,
    ``level`` whether all of its numbers are the same one, ``placed`` why one of them stands at another place on each process then
    (of the tensor whose memory it shares), ``lined`` why its rows are lined up in another order on each process (of that one too).
    ``cut`` says that it is one of several parts of that memory which have nothing in common (``chunk``).
    ``named`` is the key under which it was last read in a dictionary, ``chance`` says that it is one number that was drawn,
    ``drawn`` that each of its numbers was drawn for itself.
    """

    __slots__ = (
        "_numbers",
        "at",
        "chance",
        "copied",
        "cut",
        "drawn",
        "dtype",
        "gradient",
        "lent",
        "level",
        "lined",
        "named",
        "packed",
        "partial",
        "pending",
        "placed",
        "pointed",
        "ragged",
        "shape",
        "sharded",
        "sign",
        "source",
        "summed",
        "through",
        "typed",
        "whole",
    )

    def __init__(
        self,
        shape: tuple[Any, ...] | None,
        dtype: str = "",
        at: Span | None = None,
        sign: Hashable = None,
        source: Source | None = None,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.at = at
        self.sign = sign
        self.source = source
        self.whole: Tensor = self
        self.pending: Work | None = None
        self.lent: Work | None = None
        self.named = ""
        self.chance = False
        self.drawn = False
        self.partial: Any = None
        self.summed: Any = None
        self.through: tuple[Any, ...] = ()
        self.gradient: bool | None = None
        self.packed: bool | None = True
        self.copied = False
        self.cut = False
        self.sharded = False
        self.typed: Opaque | None = None
        self.ragged: Opaque | None = None
        self.pointed = False
        self.level = False
        self.placed: Source | None = None
        self.lined: Source | None = None
        self._numbers: tuple[Hashable, tuple[int, ...]] | None = None

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """The numbers of a short row of integers, where they are known and nothing was done to it since."""
        known = self._numbers
        return known[1] if known is not None and known[0] == self.whole.sign else None

    @property
    def floating(self) -> bool:
        """Whether it certainly holds numbers with a point."""
        return self.pointed or self.dtype.startswith(("float", "bfloat"))

    def seen_as(self, source: Source) -> Tensor:
        """The same tensor, which differs between processes for this reason."""
        other = copy(self)
        other.source = source
        return other

    def holds(self, numbers: tuple[int, ...]) -> None:
        """Says what the numbers are now."""
        self._numbers = (self.whole.sign, numbers)


class Array(Tensor):
    """An array of numpy: it is known as far as a tensor is."""

    __slots__ = ()


class Items:
    """A list or set. ``items`` is ``None`` where they are not known; ``size`` its length then (``Opaque``: not known).

    Of a list whose items are not known, ``sample`` is what one of them is like, and ``whole`` what tells its content and
    why that differs between processes (an ``Opaque``).
    """

    __slots__ = (
        "at",
        "distinct",
        "either",
        "items",
        "later",
        "made_in",
        "most",
        "ordered",
        "picked",
        "repeated",
        "sample",
        "size",
        "whole",
    )

    def __init__(self, items: list[Any] | None, size: Any = UNKNOWN, at: Span | None = None) -> None:
        self.items = items
        self.size = len(items) if items is not None else size
        self.repeated = False
        self.picked = True
        """Whether nothing is put in without a test, in a loop of which not all turns are followed."""
        self.at = at
        self.sample: Any = None
        self.whole: Opaque = UNKNOWN
        self.distinct = False
        """Whether it is a set."""
        self.ordered: Source | None = None
        """Why its order is another on each process."""
        self.most: int | None = None
        """How many items it keeps (``deque(maxlen=...)``)."""
        self.made_in: tuple[int, ...] = ()
        """As that of ``Thing``."""
        self.either: tuple[Items, ...] = ()
        """The lists that it may be one of, and those that these may be: each once."""
        self.later: Later | None = None
        """What works out ``sample``, until somebody goes through it (``map``)."""

    def open(self, held: Any = None) -> None:
        """Forgets what is in it, except why that differs between processes; what is ``held`` will stand for all."""
        source = source_of(self.items or (self.whole,))
        for item in self.items if self.items is not None else (self.sample,):
            if item is not held:
                escape(item)
        self.items = None
        self.size = UNKNOWN
        self.sample = None
        self.whole = UNKNOWN if source is None else Opaque(None, source)

    def empties(self) -> None:
        """Takes out what is in it, which others may hold as well."""
        self.items, self.size, self.sample, self.whole = [], 0, None, UNKNOWN

    def shuffled(self, whole: Opaque) -> None:
        """Forgets the order of its items: ``whole`` tells it now."""
        size, sample = self.length(), self.items[0] if self.items else self.sample
        self.open()
        self.size, self.whole = size, whole
        if isinstance(sample, int | float | Number) and not isinstance(sample, bool):
            kind = sample.kind if isinstance(sample, Number) else type(sample)
            sample = Number(kind, derived("item", [whole]))
        self.sample = None if is_known(sample) or type(sample) is Opaque else sample

    def received(self, value: Any) -> None:
        """Something was added to what is not known: what is in the list differs where that does."""
        source = source_of([value])
        if self.items is None and self.whole.source is None and source is not None:
            self.whole = Opaque(None, source)
        for one in self.either:
            one.open()
            one.sample = value
            if one.whole.source is None and source is not None:
                one.whole = Opaque(None, source)

    def may_be(self, lists: Iterable[Items]) -> None:
        """It is one of some lists: what is put in later comes into one of these. Of more than a few nothing is known any more."""
        found = {id(one): one for each in lists for one in (each, *each.either)}
        self.either = tuple(found.values())
        if len(found) > MAX_EITHER:
            for one in self.either:
                one.open()
            self.either = ()

    @property
    def order(self) -> Source | None:
        """Why its items are in another order on each process; ``None`` where the order is the same.

        A set gives its strings in the order of their hashes, which every process salts anew.
        """
        several = is_text(self.sample) if self.items is None else sum(map(is_text, self.items)) > 1
        return self.in_own_order() if self.distinct and several else self.ordered

    def in_own_order(self) -> Source:
        """Why a set of strings gives them in another order on each process."""
        return Source("the order of a set of strings", self.at)

    def length(self) -> Any:
        """How many items it has."""
        return len(self.items) if self.items is not None else self.size


class Table:
    """A dictionary with plain keys; ``open`` if there may be others, ``missing`` what makes the value of a new key.

    ``whole`` tells what the others are like, and why they differ between processes, ``keyed`` why there are other keys on each.
    ``family`` is that of all the names that are its keys, where it has no others (``Named``).
    """

    __slots__ = (
        *("batch", "family", "items", "keyed", "led", "made_in", "missing"),
        *("open", "order", "perhaps", "sample", "unread", "whole"),
    )
    is_dict = True
    """Whether its class is derived from ``dict``."""

    def __init__(self, items: dict[Any, Any] | None = None, *, is_open: bool = False) -> None:
        self.items = items if items is not None else {}
        self.open = is_open
        self.missing: Any = None
        self.whole: Opaque = UNKNOWN
        self.made_in: tuple[int, ...] = ()
        """As that of ``Thing``."""
        self.batch: Hashable = None
        """``Stage.batch`` where it is made."""
        self.keyed: Source | None = None
        self.family: str | None = None
        self.order: Source | None = None
        """Why its keys are in another order on each process."""
        self.sample: Thing | Tensor | Work | None = None
        """What the values under keys that are not known are like, where they are objects of the project, or tensors."""
        self.led = False
        """Whether its first key is another one on each process."""
        self.perhaps: dict[Any, Any] | None = None
        """The keys that it may have besides, with what stands there (``Absent``), where it is open only because of tests."""
        self.unread: set[Any] | None = None
        """Keys that were given a value out of sight, and that nobody read since."""

    def read(self, key: Any = None) -> None:
        """The value of a key is read; without one any may be. A tensor goes by the name that it was last read under."""
        for name in self.items if key is None else (key,):
            value = self.items.get(name)
            if isinstance(value, Tensor) and isinstance(name, str):
                value.named = name
        if self.unread is not None:
            self.unread = self.unread - {key} if key is not None else None

    def gets(self, key: Any, value: Any, order: Source | None = None, batch: Hashable = None) -> None:
        """A value is put under a key that is not known; ``order`` says why others come first on other processes.

        ``batch`` is ``Stage.batch`` now. Tensors are told apart by which object they are, and not by their numbers.
        """
        key = Opaque() if isinstance(key, Tensor) else key
        if (self.led or not self.items) and not self.open:
            self.order = order
            self.sample = Thing(value.cls, is_open=True) if isinstance(value, Thing) else None
        if len(self.items) > 1 or (self.open and self.keyed is None):
            self.batch = None  # the few names that a batch chooses from may be those that are there before
        self.keyed = self.keyed or counted_in(key, few=batch is not None and batch == self.batch)
        family = key.family if isinstance(key, Named) and not self.items and self.family in (None, key.family) else ""
        family = "" if self.open and self.family is None else family
        if (
            isinstance(value, Work)
            and not self.items
            and not (isinstance(self.sample, Work) and not self.sample.is_over)
        ):
            self.sample = value  # the first one that nobody waited for stands for all
        self.opens(key, UNKNOWN if value is self.sample and isinstance(value, Work) else value)
        self.family = family or ""

    def key(self) -> Opaque:
        """Any of its keys, where they are not known: one of each process's own only where what they are made of is."""
        own = self.keyed if self.keyed is not None and self.keyed.counted else None
        return Opaque(combined("key", [self.whole]), own)

    def length(self) -> Any:
        """How many keys it has."""
        return Opaque(combined("keys", [self.whole]), self.keyed) if self.open else len(self.items)

    def own_method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What a method gives that no plain dictionary has; ``NotImplemented`` for the others."""
        return NotImplemented

    def attribute(self, player: Any, name: str) -> Any:
        """An attribute that is no method of plain dictionaries; ``NotImplemented`` for all others."""
        return NotImplemented

    def has(self, name: str) -> bool | None:
        """``hasattr(table, name)``; ``None`` where that is not known."""
        return hasattr(dict, name)

    def keeps(self, player: Any, name: str, value: Any) -> bool:
        """Whether an attribute is stored as a key; that of other dictionaries is not seen."""
        return False

    def like(self, items: dict[Any, Any], *, is_open: bool) -> Table:
        """Another one of its kind, with these items."""
        return Table(items, is_open=is_open)

    def loses(self) -> None:
        """Nothing is known any more of what stands under its keys."""
        self.items.clear()

    def opens(self, *why: Any) -> None:
        """Something unknown is added or taken away, which these values tell."""
        for item in [*self.items.values(), *why]:
            escape(item)
        self.whole = derived("opened", [*([self.whole] if self.open else ()), *why])
        if self.whole.source is not None and self.whole.source.few:
            # its keys are asked for as they are: ``keyed`` says whether they differ
            self.whole.source = self.whole.source._replace(few=False)
        self.open = True
        self.perhaps = None
        self.family = ""


class Thing:
    """An object of a class of the project.

    ``fields`` are the names that a record's constructor takes, ``content`` the dictionary or list that an object of a
    class derived from these holds, ``sample`` what iterating over it gives where its items are not known, and ``count`` what
    tells their number.
    """

    __slots__ = ("attributes", "born", "cls", "content", "count", "fields", "made_in", "names", "open", "sample")

    def __init__(self, cls: ClassRef, *, is_open: bool = False) -> None:
        self.cls = cls
        self.attributes: dict[str, Any] = {}
        self.born: Span | None = None
        """Where it is made."""
        self.made_in: tuple[int, ...] = ()
        """What made it unsure that the process comes there (``Stage.contexts``)."""
        self.open = is_open
        self.fields: tuple[str, ...] | None = None
        self.content: Table | Items | None = None
        self.names: Table | None = None
        """Its attributes as a dictionary, once somebody asked for that."""
        self.sample: Any = UNKNOWN
        self.count: Any = UNKNOWN


class Made:
    """What a library function or class gave: its name (``pkg.Class()``), and what it was given.

    A framework's own objects are classes derived from this one: they say what their attributes, methods and calls give
    (``NotImplemented``: not known), and what iterating over them does. ``sign`` and ``source`` are as those of ``Opaque``.
    ``file`` and ``function`` say where the call stands, ``stored`` holds the attributes that the program sets.
    """

    __slots__ = ("arguments", "call", "file", "function", "name", "sign", "source", "stored")
    turns = 0
    """Turns of a loop over it that are followed one by one, where these are more than of other loops."""
    lazy = False
    """Whether what it gives is told only by going through it: it may be another one by then."""
    written_by_first: frozenset[str] = frozenset()
    """Its methods that write a file on the first process only, whoever calls them."""

    def __init__(self, name: str, call: ir.Call | None = None, arguments: Given | None = None) -> None:
        self.name = name
        self.call = call
        self.arguments = arguments
        self.sign: Hashable = None
        self.source: Source | None = None
        self.stored: dict[str, Any] = {}
        self.file = ""
        self.function = -1

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """``made.name``, where it is no method."""
        return NotImplemented

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """``made.name(...)``."""
        return NotImplemented

    def called(self, player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """``made(...)``."""
        return NotImplemented

    def or_else(self, every: Sequence[Any]) -> Any:
        """One of several values of which it is the first, nobody knows which."""
        return NotImplemented

    def or_other(self, other: Made, joined: Callable[[Any, Any], Any]) -> Any:
        """It or another one, as a test says; ``joined`` gives what is one of two values then."""
        return NotImplemented

    def part(self, player: Any, index: Any, span: Span) -> Any:
        """``made[index]``."""
        return NotImplemented

    def put(self, player: Any, index: Any, value: Any) -> None:
        """``made[index] = value``."""
        escape(value)

    def has(self, name: str) -> bool | None:
        """``hasattr(made, name)``; ``None`` where that is not known."""
        return None

    def is_a(self, name: str) -> bool | None:
        """Whether it is of a class of a library, by the name of that; ``None`` where that is not known."""
        return None

    def begins(self, player: Any, span: Span) -> None:
        """Somebody starts to go through it; ``span`` is where it is named."""

    def items(self, player: Any) -> list[Any] | None:
        """What iterating over it gives, where that is known."""
        return None

    def item(self, player: Any) -> Any:
        """Some item of it."""
        return NotImplemented

    def length(self, player: Any) -> Any:
        """``len(made)``."""
        return NotImplemented

    def processes(self, player: Any) -> Group | None:
        """The group of processes that it stands for."""
        return None

    def entered(self, player: Any, span: Span) -> Any:
        """What it gives when it is entered as a context."""
        return NotImplemented

    def left(self, player: Any, span: Span) -> None:
        """The context that it made is left."""

    def copied(self, duplicated: Callable[[Any], Any]) -> Any:
        """A deep copy; ``duplicated`` makes those of what it holds. Others are taken to be what they are copies of."""
        return self


class Given:
    """The arguments of a call, worked out; ``open`` if some stand behind ``*`` or ``**`` of something unknown."""

    __slots__ = ("keywords", "open", "places", "positional", "rest")

    def __init__(self, positional: list[Any], keywords: dict[str, Any], *, is_open: bool = False) -> None:
        self.positional = positional
        self.keywords = keywords
        self.open = is_open
        self.rest: list[Any] = []
        """What stands behind ``*`` and ``**`` and is not known."""
        self.places: dict[int | str, Span] = {}
        """Where arguments stand that an earlier call gave (``partial``), by position or name."""

    def get(self, name: str, position: int | None = None, default: Any = None) -> Any:
        """An argument by name or position; the default where it is certainly not given, else unknown."""
        if name in self.keywords:
            return self.keywords[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return UNKNOWN if self.open else default

    def values(self) -> Iterable[Any]:
        """All of them."""
        return [*self.positional, *self.keywords.values()]

    def perhaps(self, name: str) -> Any:
        """What a parameter gets that only something unknown may hold."""
        return derived("argument", [name, *self.rest]) if self.rest else UNKNOWN


def escape(value: Any, depth: int = 0) -> None:
    """Takes it that whatever is under way in a value may be waited for, and what is in it changed, where we don't see it."""
    if depth > 4:
        return
    most = MAX_INNER if depth else MAX_ITEMS
    if isinstance(value, MethodOf) and isinstance(value.receiver, Work):
        value = value.receiver
    if isinstance(value, Work):
        value.begun.loose = True
    elif isinstance(value, Tensor):
        value.whole.placed, value.whole.lined, value.gradient = None, None, value.gradient or None
    elif isinstance(value, Items):
        later = value.later.values if value.later is not None else ()
        for item in value.items[:most] if value.items is not None else (value.sample, *later):
            escape(item, depth + 1)
    elif isinstance(value, tuple) and not hasattr(value, "_fields"):
        for item in value[:most]:
            escape(item, depth + 1)
    elif isinstance(value, Table):
        value.read()
        for item in (*list(value.items.values())[:most], value.sample):
            escape(item, depth + 1)
    elif isinstance(value, Thing):
        for item in list(value.attributes.values())[:most]:
            escape(item, depth + 1)


def holds_work(value: Any) -> bool:
    """Whether a value is an operation under way, a method of one (``work.wait``), or a row with one."""
    if isinstance(value, MethodOf):
        return isinstance(value.receiver, Work)
    return isinstance(value, Work) or (type(value) is tuple and any(isinstance(one, Work) for one in value))


def signature(value: Any, depth: int = 0) -> Hashable:
    """What tells a value's content: equal for equal values; ``None`` where nothing can be told."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        # one that is no number equals nothing, not even itself
        return (type(value).__name__, value if value == value else "nan")
    if isinstance(value, Opaque | Tensor | Made):
        return value.sign
    if isinstance(value, Library):
        return value.name
    if isinstance(value, ClassValue):
        return value
    if isinstance(value, MethodOf):
        return combined(f".{value.name}", [value.receiver], depth)
    if depth > 3:
        return None
    return _signature_of_parts(value, depth)


def _signature_of_parts(value: Any, depth: int) -> Hashable:
    most = MAX_INNER if depth else MAX_ITEMS
    if isinstance(value, Items) and value.items is None:
        return value.whole.sign
    items = value.items if isinstance(value, Items) else value if type(value) is tuple else None
    if items is not None:
        return combined("items", items, depth + 1) if len(items) <= most else None
    if isinstance(value, Table) and (not value.open or value.whole.sign is not None) and len(value.items) <= most:
        return combined("table", [value.whole if value.open else None, *value.items, *value.items.values()], depth + 1)
    if isinstance(value, Thing) and value.content is not None:
        return None
    if isinstance(value, Thing) and not value.open and depth < 2 and len(value.attributes) <= MAX_INNER:
        return combined("thing", [ClassValue(value.cls), *value.attributes, *value.attributes.values()], depth + 1)
    if isinstance(value, range | slice):
        return combined(type(value).__name__, (value.start, value.stop, value.step), depth)
    return None


def combined(name: str, values: Iterable[Any], depth: int = 0) -> Hashable:
    """The signature of what an operation makes of values, ``None`` where one of theirs is."""
    signs = [signature(value, depth) for value in values]
    if None in signs:
        return None
    found = hash((name, *signs))
    return Sent(found) if any(isinstance(sign, Sent) for sign in signs) else found


MEASURING = frozenset({"size", "numel", "nelement", "dim", "ndimension"})
"""Methods by which a tensor says how large it is."""


def measured_by(name: str, value: Opaque, given: Iterable[Any]) -> Opaque:
    """How large something is that is not seen into: what is in it may be each process's own, and its shape is not for that."""
    return Opaque(combined(name, [value, *given]) if value.source is None else None)


OWN_PLACE = "each rank has filled only its own place"
"""Why what stands where in a row differs between processes."""

MEMBERS = "which ones each rank has met in its part of the data"


def counted_in(*values: Any, few: bool = False) -> Source | None:
    """Why there are other keys or members on each process, where these values are among them; ``few``: all are of one batch."""
    source = source_of(values)
    counted = source is not None and (source.counted or (few and source.few))
    return Source(MEMBERS, source.span, True) if source is not None and counted else None


def source_of(values: Iterable[Any], depth: int = 0) -> Source | None:
    """The first reason among values for which they differ between processes."""
    for value in values:
        if isinstance(value, Opaque | Tensor | Made):
            if value.source is not None:
                return value.source
        elif depth < 3:
            found = source_of(_parts(value), depth + 1)
            if found is not None:
                return found
    return None


def _parts(value: Any) -> Iterable[Any]:
    """What a value is made of, as far as one looks."""
    if isinstance(value, Items):
        return value.items[:MAX_INNER] if value.items is not None else (value.whole,)
    if type(value) is tuple:
        return value[:MAX_INNER]
    if isinstance(value, Table):
        return [*list(value.items.values())[:MAX_INNER], value.whole]
    if isinstance(value, MethodOf):
        return (value.receiver,)
    if isinstance(value, slice):
        return (value.start, value.stop, value.step)
    return ()


def is_own_batch(value: Any, depth: int = 0) -> bool:
    """Whether it holds tensors that are each process's own: a batch of its part of the data."""
    if isinstance(value, Tensor):
        return value.source is not None
    return depth < 3 and any(is_own_batch(part, depth + 1) for part in _parts(value))


def is_known(value: Any) -> bool:
    """Whether a value is a plain one that is known."""
    return value is None or isinstance(value, bool | int | float | str | bytes)


def derived(name: str, values: Iterable[Any]) -> Opaque:
    """The unknown value that an operation makes of values."""
    values = list(values)
    made = Opaque(combined(name, values), source_of(values), measured=any(map(is_measured, values)))
    made.chance = any(map(is_by_chance, values))
    return made


def is_by_chance(value: Any) -> bool:
    """Whether what a value is, or what is in a list, is drawn anew each time."""
    return value.whole.chance if isinstance(value, Items) else isinstance(value, Opaque | Tensor) and value.chance


def is_measured(value: Any) -> bool:
    """Whether numbers that a program computes decide what a value is, so that it may be any."""
    return isinstance(value, Tensor) or (isinstance(value, Opaque) and value.measured)
