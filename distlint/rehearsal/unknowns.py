"""Values that a rehearsed program has and that are not known, with what tells two of them apart."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from distlint.model.span import Span


class Source(NamedTuple):
    """Why a value differs between processes, for a message, and where that comes in.

    ``counted`` says that it was read out of a tensor, or is a word of a text: where such values are keys or members, there are others on
    each process.
    ``indirect`` says that it is not a part of the data alone that decides: what a model makes of them does, or whether something fails
    with them, or they are dealt out in turn. ``drawn`` says that it is a random number, or was made of one. ``few`` says that what was
    read out of a tensor chose it among a few: each process meets other ones in one batch, and all of them sooner or later.
    """

    why: str
    span: Span | None
    counted: bool = False
    indirect: bool = False
    drawn: bool = False
    few: bool = False


class Bound(NamedTuple):
    """What a number is at most, or at least; ``strict``: it is not that number itself."""

    value: Any
    strict: bool


class Bounds(NamedTuple):
    """What a number is at most, and at least: numbers, and values that are not known either."""

    most: tuple[Bound, ...]
    least: tuple[Bound, ...]


class Comparisons(NamedTuple):
    """The comparisons that a test makes (symbol and both sides): ``joined`` by ``and`` or ``or``; ``""`` where it is one."""

    joined: str
    parts: tuple[tuple[str, Any, Any], ...]


class Opaque:
    """A value that is not known. Two processes have the same one if ``sign`` is the same; ``None`` where that is open.

    ``source`` says why it is another on each process, where that is so, ``measured`` that numbers of a tensor decide what it is,
    ``chance`` that it is drawn anew each time. ``among`` are the plain values, and the numbers of a kind, that it is one of,
    where these are known and few; ``told`` tells which one it is then. ``bounds`` are those of a number, or of how long a row
    is (``rehearsal.bounds``), ``compares`` is what a test asks.
    """

    __slots__ = ("among", "bounds", "chance", "compares", "measured", "sign", "source", "told")

    def __init__(self, sign: Hashable = None, source: Source | None = None, *, measured: bool = False) -> None:
        self.sign = sign
        self.source = source
        self.measured = measured
        self.chance = False
        self.among: tuple[Any, ...] = ()
        self.told: Opaque | None = None
        self.bounds: Bounds | None = None
        self.compares: Comparisons | None = None


class OneOf(Opaque):
    """One of a few functions: which one is not known, but what tells it is."""

    __slots__ = ("choices",)

    def __init__(self, choices: list[Any], told: Opaque) -> None:
        super().__init__(told.sign, told.source)
        self.choices = choices


UNKNOWN = Opaque()


class Opposite(Opaque):
    """What is true where ``value`` counts as false, and the other way round."""

    __slots__ = ("value",)

    def __init__(self, value: Opaque, sign: Hashable) -> None:
        super().__init__(sign, value.source, measured=value.measured)
        self.value = value
        self.chance = value.chance


class Number(Opaque):
    """A number of a kind (``int`` or ``float``) that is not known."""

    __slots__ = ("kind",)

    def __init__(self, kind: type, told: Opaque) -> None:
        super().__init__(told.sign, told.source, measured=told.measured)
        self.kind = kind
        self.chance = told.chance
        self.bounds = told.bounds


class RowSize(Opaque):
    """How long one of several rows is, of which nobody knows whether they are of one length."""

    __slots__ = ()


class OwnLength(Opaque):
    """How long something of this process is, of which nothing is known but which length that is: only its copies have its ``mark``."""

    __slots__ = ("mark",)

    def __init__(self, length: Opaque) -> None:
        self.mark = object()
        super().__init__(None, length.source, measured=length.measured)
        self.chance, self.among, self.told, self.bounds = length.chance, length.among, length.told, length.bounds


def told_by(value: Opaque) -> Hashable:
    """What tells a number from others on this process; ``None`` where nothing does."""
    return value.mark if isinstance(value, OwnLength) else value.sign


class Named(Opaque):
    """One of the names of a family: those of another family are all different from it. ``text`` is the name, where it is known."""

    __slots__ = ("family", "text")

    def __init__(self, family: str, place: int | None = None, text: str | None = None) -> None:
        super().__init__(("name of a parameter", family, place))
        self.family = family
        self.text = text


class Words(Opaque):
    """The words of a text that is not known: as a whole they differ where the text does; which ones there are does so too."""

    __slots__ = ()

    def __init__(self, told: Opaque) -> None:
        super().__init__(told.sign, told.source, measured=told.measured)

    @property
    def word(self) -> Opaque:
        """Any of them."""
        sign = None if self.sign is None else hash(("word", self.sign))
        return Opaque(sign, None if self.source is None else self.source._replace(counted=True))


class InMemory(Opaque):
    """A stream over bytes or a text that a program has at hand: reading it gives what these tell, and goes to no file."""

    __slots__ = ()

    def __init__(self, told: Opaque) -> None:
        super().__init__(told.sign, told.source, measured=told.measured)


class Ranged(Opaque):
    """A ``range`` whose number of items is not known: ``count`` is that number."""

    __slots__ = ("count",)

    def __init__(self, count: Opaque) -> None:
        super().__init__(count.sign, count.source)
        self.count = count


class Perhaps(Opaque):
    """``None`` or a value: what is asked of it, or done with it, is asked of that value, because ``None`` has nothing of it.

    ``missing`` tells which of both it is.
    """

    __slots__ = ("missing", "value")

    def __init__(self, value: Any, sign: Hashable, source: Source | None, missing: Opaque | None = None) -> None:
        super().__init__(sign, source)
        self.value = value
        self.missing = missing if missing is not None else Opaque(sign, source)


class Absent(Perhaps):
    """What a dictionary has under a key, where it has the key: ``missing`` tells whether it does."""

    __slots__ = ()


class Sent(int):
    """What tells a value that processes have made of what all of them brought, or that one of them has sent, and what follows from it."""

    __slots__ = ()


def is_text(value: Any) -> bool:
    """Whether a value is certainly a text."""
    among = value.among if isinstance(value, Opaque) else ()
    return isinstance(value, str | Named) or (bool(among) and all(isinstance(one, str) for one in among))


def kinds_of(value: Any) -> frozenset[type]:
    """The kinds of numbers that a value may be; none where it may be something else."""
    if isinstance(value, bool | int | float):
        return frozenset({type(value)})
    if isinstance(value, Number):
        return frozenset({value.kind})
    every = [kinds_of(one) for one in value.among] if isinstance(value, Opaque) else []
    return frozenset().union(*every) if every and all(every) else frozenset()
