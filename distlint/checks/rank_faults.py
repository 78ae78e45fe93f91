"""What a mismatch between two ranks is called, and the words that walk the reader through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.collectives import Operation, text_of
from distlint.checks.rank_meetings import Mismatch
from distlint.checks.rank_paths import Event, Parting
from distlint.checks.rank_tests import PROCESSES, text_of_test
from distlint.model import python as ir
from distlint.model.finding import Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

SKIPPED, DIFFERENT, ROUNDS, EXCEPTION = "skipped", "different", "rounds", "exception"
"""The kinds of faults: some ranks leave a collective out; they come to different ones; a loop has more rounds on some; an exception
that only some meet leads past one."""


class Fault(NamedTuple):
    """A fault with all that a finding says; ``operation`` is the collective that is left out, or meets another one."""

    kind: str
    operation: Operation
    span: Span
    message: str
    related: tuple[Related, ...]
    symbol: str


class _Sides(NamedTuple):
    """What the two sides are called, and how many they are: those that come to the operation first."""

    those: str
    others: str
    plural: bool
    others_plural: bool


def fault_of(project: Project, found: Mismatch) -> Fault | None:
    """The fault that a mismatch shows; ``None`` where the collective is made under conditions that may not be met."""
    side, event, kind = _extra(found)
    if any(depth > found.parting.depth for depth in event.conditional):
        return None
    other = (found.theirs if side == 0 else found.ours)[:1]
    parting = found.parting
    sides = _sides(found, side)
    span, name, inner = _place(event, parting)
    related = [*_why(parting)]
    if inner is not None:
        related.append(Related(inner, f"comes to `{event.operation.what}` here"))
    gone = found.gone[1 - side]
    related += [
        Related(_span(one), f"{sides.others} {_verb('come', sides.others_plural)} to `{one.operation.what}` here")
        for one in other
        if one.operation.key != event.operation.key
    ]
    called = "call" if inner is None else f"call, which leads to `{event.operation.what}`"
    if kind == DIFFERENT:
        they = other[0]
        message = (
            f"{sides.those} {_verb('come', sides.plural)} to `{event.operation.what}` while {sides.others} "
            f"{_verb('come', sides.others_plural)} to `{they.operation.what}` in line {_line(they)}: the two never meet"
        )
        return Fault(kind, event.operation, span, message, tuple(related), name)
    after = _after(other, gone, sides, span.file)
    if kind == ROUNDS:
        message = (
            f"the loop makes more rounds on some ranks than on others{_reason(parting)}: those with more of them wait in the "
            f"`{name}` {called}, {after}"
        )
    elif parting.kind == "exception":
        message = (
            f"an exception that only some ranks meet{_reason(parting)} leads past the `{name}` {called}: "
            f"the others wait in it, {after}"
        )
    else:
        alone = "alone makes" if not sides.plural else "make"
        message = f"{sides.those} {alone} the `{name}` {called}, but every rank has to: {after}"
    return Fault(kind, event.operation, span, message, tuple(related), name)


def _extra(found: Mismatch) -> tuple[int, Event, str]:
    """The side that has a collective which the other leaves out, that collective, and the kind of the fault."""
    ours, theirs = found.ours, found.theirs
    if found.extra >= 0:
        return found.extra, (ours, theirs)[found.extra][0], _kind(found)
    if not theirs:
        return 0, ours[0], _kind(found)
    if not ours:
        return 1, theirs[0], _kind(found)
    one_later = _is_among(ours[0], theirs[1:])
    other_later = _is_among(theirs[0], ours[1:])
    if other_later and not one_later:
        return 0, ours[0], _kind(found)
    if one_later and not other_later:
        return 1, theirs[0], _kind(found)
    side = found.parting.side
    return side, (ours if side == 0 else theirs)[0], DIFFERENT


def _is_among(event: Event, events: tuple[Event, ...]) -> bool:
    return any(one.operation.spec.kind == event.operation.spec.kind for one in events)


def _kind(found: Mismatch) -> str:
    if found.parting.kind == "exception":
        return EXCEPTION
    is_loop = found.parting.kind == "loop" or type(found.parting.statement) is ir.While
    return ROUNDS if is_loop else SKIPPED


def _sides(found: Mismatch, side: int) -> _Sides:
    """What a message calls the ranks on the side that comes to the collective, and those on the other."""
    parting = found.parting
    decision = parting.decision
    if _kind(found) == EXCEPTION and type(parting.test) is ir.Call:
        return _Sides("a rank that meets none", "the rank that meets it", False, False)
    if decision.is_split and _kind(found) == ROUNDS:
        return _Sides("a rank with more rounds", "a rank with fewer of them", False, False)
    if decision.is_split:
        test = f"`{text_of_test(parting.test)[:80]}`" if parting.test is not None else "the test"
        holds = parting.holds is (parting.side == side)
        those, others = f"a rank where {test} holds", f"a rank where {test} does not hold"
        return _Sides(*((those, others) if holds else (others, those)), False, False)
    one, other = (PROCESSES[found.pair[index]].rank for index in (side, 1 - side))
    values = decision.values[:3]
    if None in values:
        return _Sides(f"rank {one}", f"rank {other}", False, False)
    alone = [rank for rank in range(3) if sum(value is values[rank] for value in values) == 1]
    if alone and alone[0] == one:
        return _Sides(f"rank {one}", "the other ranks", False, True)
    if alone and alone[0] == other:
        return _Sides(f"all ranks but {other}", f"rank {other}", True, False)
    return _Sides(f"rank {one}", f"rank {other}", False, False)


def _place(event: Event, parting: Parting) -> tuple[Span, str, Span | None]:
    """Where a finding points, the name of what is called there, and where the collective itself is called if elsewhere."""
    operation = event.operation
    own = ir.unpack(operation.call.at, operation.file)
    if parting.depth < len(event.chain):
        file, call = event.chain[parting.depth]
        return ir.unpack(call.at, file), text_of(call.func).rpartition(".")[2], own
    return own, operation.what, None


def _span(event: Event) -> Span:
    return ir.unpack(event.operation.call.at, event.operation.file)


def _line(event: Event) -> int:
    return ir.line_of(event.operation.call.at)


def _why(parting: Parting) -> list[Related]:
    span = ir.unpack(parting.at, parting.file)
    if parting.test is not None:
        span = ir.unpack(parting.test.at, parting.file)
    if parting.kind == "exception" and type(parting.test) is ir.Call:
        places = [
            Related(place, "this differs from rank to rank") for place in parting.decision.places[:2] if place != span
        ]
        return [Related(span, "this may fail on one rank and not on another"), *places]
    if parting.kind == "decorator":
        return [Related(span, "this decorator lets the function run on the main process only")]
    if parting.decision.is_split:
        why = parting.decision.why or "the data"
        what = "the number of rounds" if parting.kind == "loop" else "what is tested here"
        places = [Related(place, f"{why} comes in here") for place in parting.decision.places[:2] if place != span]
        return [Related(span, f"{what} differs from rank to rank: {why}"), *places]
    return [Related(span, "the rank is tested here")]


def _reason(parting: Parting) -> str:
    return f" ({parting.decision.why})" if parting.decision.why else ""


def _after(other: tuple[Event, ...], gone: bool, sides: _Sides, file: str) -> str:
    """What the other side does instead."""
    if other:
        event = other[0]
        where = (
            f"in line {_line(event)}" if event.operation.file == file else f"in {event.operation.file}:{_line(event)}"
        )
        return f"{sides.others} {_verb('go', sides.others_plural)} on to `{event.operation.what}` {where}"
    if gone:
        return f"{sides.others} {_verb('end', sides.others_plural)} without it"
    return f"{sides.others} never {_verb('come', sides.others_plural)} there"


def _verb(word: str, plural: bool) -> str:
    return word if plural else {"go": "goes", "come": "comes", "end": "ends"}[word]
