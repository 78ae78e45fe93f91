"""What an expression can evaluate to.

A tree of values, an object that a call made, a reference, or several of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Sequence_
from dataclasses import field
from typing import TYPE_CHECKING

from distlint.link.modules import Target
from distlint.model import python as ir
from distlint.model.document import Leaf, Mapping, Node, Sequence, alternatives
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import MAX_OPTIONS, Value, unknown

if TYPE_CHECKING:
    from distlint.link.flow import Env


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """Where an expression is evaluated.

    A file, the function around it (-1: module level), and what its parameters are, if known.

    ``bindings`` maps parameters to what the caller gave; a parameter that is not in it is looked up at all callers.
    ``depth`` counts the calls that led here. ``instance`` is what ``self`` (or ``cls``) is.
    """

    file: str
    function: int
    bindings: dict[str, Delayed] = field(default_factory=dict)
    depth: int = 0
    instance: Instance | Reference | None = None
    bound: bool = False
    """Whether the call is known, so that a parameter that it does not give has its default."""
    outer: Frame | None = None
    """The frame of the enclosing function, where it is known: a closure sees that one's variables."""
    local: dict[str, Delayed] = field(default_factory=dict)
    """Variables of the comprehensions and lambdas around the expression; they hide all others."""


@dataclass(frozen=True, eq=False, slots=True)
class Delayed:
    """An argument that is evaluated when somebody asks.

    An expression with where it stands, or a value that is already there.

    ``attributes`` are attributes of it that were worked out already, by their path.
    """

    expr: ir.Expr | None = None
    frame: Frame | None = None
    state: Env | None = None
    value: Abstract | None = None
    attributes: dict[tuple[str, ...], Abstract] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Instance:
    """What a call gave that we do not look into: an object of a class, or a library function's result.

    ``part`` are the steps into the result (an index of an unpacked tuple, ``.name`` of an attribute that is not
    known). ``frame`` and ``state`` are where the call stands, so that its arguments can be evaluated later.
    """

    callee: Target
    call: ir.Call
    frame: Frame
    state: Env
    part: tuple[int | str, ...] = ()
    copy: ir.Position = 0
    """The call that copied the object that was made, for a copy of it."""

    @property
    def identity(self) -> tuple[str, int, tuple[int | str, ...]]:
        """Equal for two mentions of one object: the place of the call that made it, and the part."""
        return (self.frame.file, self.call.at, (*self.part, "copy", self.copy) if self.copy else self.part)

    def span(self) -> Span:
        """The call that made it."""
        return ir.unpack(self.call.at, self.frame.file)


@dataclass(frozen=True, slots=True)
class Reference:
    """A function, class or module itself, with the place where it was named.

    ``receiver`` is the object of a bound method.
    """

    target: Target
    span: Span
    receiver: Instance | Reference | None = None
    scope: Frame | None = None
    """For a function that is defined inside another: the frame of that one."""


@dataclass(frozen=True, slots=True)
class LambdaValue:
    """A lambda with where it stands."""

    lambda_: ir.Lambda
    frame: Frame
    state: Env


@dataclass(frozen=True, slots=True)
class PartialValue:
    """``partial(callee, ...)``: a callable with some of its arguments; ``call`` is the call of ``partial``."""

    callee: Abstract
    call: ir.Call
    frame: Frame
    state: Env


@dataclass(frozen=True, slots=True)
class ObjectLeaf(Leaf):
    """An object inside a tree of values: an unknown leaf for whoever wants values, the object itself for us."""

    object: Abstract | None = None


@dataclass(frozen=True, slots=True)
class Several:
    """One of several things, of which not all are plain values."""

    options: tuple[Abstract, ...]


Abstract = Leaf | Mapping | Sequence | Instance | Reference | LambdaValue | PartialValue | Several


NEVER_CALLED = "nobody in the project is seen to call it"
"""Why the parameters of such a function are unknown; what it would do is no concern of any run."""

NOTHING = Leaf(unknown("no value reaches here"), Span("", 1, 1, 1, 1))
"""What a name is on the way back of a loop that leaves it alone: adds nothing to the other ways. Compared by
identity."""


def node_of(value: Abstract, span: Span) -> Node:
    """The tree of values; an object is an unknown leaf."""
    if isinstance(value, (Leaf, Mapping, Sequence)):
        return value
    if isinstance(value, Several):
        if any(not isinstance(option, (Leaf, Mapping, Sequence)) for option in value.options):
            return ObjectLeaf(unknown("differs by path", span), span, value)
        return alternatives([node_of(option, span) for option in value.options])
    return ObjectLeaf(unknown("an object", span), span, value)


def lifted(value: Abstract) -> Abstract:
    """What was put into a tree: an object that stands there for itself."""
    return value.object if isinstance(value, ObjectLeaf) and value.object is not None else value


def options_of(value: Abstract) -> tuple[Abstract, ...]:
    """The possibilities one by one."""
    return value.options if isinstance(value, Several) else (value,)


def several(values: Iterable[Abstract], span: Span) -> Abstract:
    """One thing that is any of these; plain values join into one leaf or mapping."""
    given = [value for value in values if value is not NOTHING]
    if given and all(value is given[0] for value in given):
        return given[0]
    unique: list[Abstract] = []
    for value in given:
        for option in options_of(value):
            if not any(_same(option, other) for other in unique):
                unique.append(option)
    if not unique:
        return Leaf(unknown("no value reaches here", span), span)
    if len(unique) == 1:
        return unique[0]
    if len(unique) > MAX_OPTIONS:
        return Leaf(unknown("too many possibilities", span), span)
    if all(isinstance(option, Sequence) for option in unique):
        return _any_sequence([option for option in unique if isinstance(option, Sequence)])
    if any(isinstance(option, ObjectLeaf) for option in unique):
        return several([lifted(option) for option in unique], span)
    if all(isinstance(option, (Leaf, Mapping, Sequence)) for option in unique):
        return alternatives([option for option in unique if isinstance(option, (Leaf, Mapping, Sequence))])
    return Several(tuple(unique))


def _any_sequence(options: list[Sequence]) -> Abstract:
    """One of several lists: item by item where they are equally long, else a list of which only the kind is known."""
    length = len(options[0].items)
    if any(option.open for option in options) or any(len(option.items) != length for option in options):
        joined = alternatives(list(options))
        known_ones = isinstance(joined, Leaf) and not joined.value.is_unknown
        return joined if known_ones else Sequence((), options[0].span, open=True)
    return alternatives(list(options))


def separate(values: Sequence_[Abstract], span: Span) -> Abstract:
    """One thing that is any of these, mappings kept apart: each stands for an execution of its own (another caller).

    ``several`` would merge mappings key by key and lose which values belong together.
    """
    unique: list[Abstract] = []
    for value in values:
        unique.extend(option for option in options_of(value) if not any(_same(option, other) for other in unique))
    if 1 < len(unique) <= MAX_OPTIONS and all(isinstance(option, Mapping) for option in unique):
        return Several(tuple(unique))
    return several(values, span)


def _same(one: Abstract, other: Abstract) -> bool:
    if one is other:
        return True
    if isinstance(one, Instance) and isinstance(other, Instance):
        return one.identity == other.identity
    if isinstance(one, Reference) and isinstance(other, Reference):
        return one.target == other.target
    return isinstance(one, Leaf) and isinstance(other, Leaf) and one.value == other.value


def leaf(value: Value, span: Span) -> Leaf:
    """A leaf that rests on ``span`` as well as on what the value already rests on."""
    return Leaf(value if value.spans else value.at(span), span)
