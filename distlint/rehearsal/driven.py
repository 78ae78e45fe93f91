"""Loops that a library makes around what the program gave it: so many turns, in each of which it calls the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.merging import merged
from distlint.rehearsal.trace import Branch, Round, Stops
from distlint.rehearsal.unknowns import UNKNOWN, Number, Opaque, kinds_of
from distlint.rehearsal.values import Items, derived, holds_work, is_known, is_measured, signature, source_of


def driven(player: Any, span: Span, count: Any, turn: Callable[[], None], *, any_turn: bool = False) -> None:
    """Follows one turn, which stands for all of them, of a loop of ``count`` turns over what is made at ``span``.

    It is the first one, unless it is to be ``any_turn``, before which others may have changed what they keep.
    """
    stage = player.stage
    known = count if isinstance(count, int) and not isinstance(count, bool) else None
    sign = signature(count)
    key = ("loop at", span, stage.chain) if sign is None or is_known(count) else ("loop", sign)
    node = Round(span, stage.chain, key, source_of([count]) if known is None else None, known)
    node.driven = True
    if any_turn:
        turned(player, span, turn)
    grown = stage.grown
    stage.trace.append(node)

    def body() -> str:
        turn()
        return ""

    player.within(node.body, body)
    if stage.grown == grown and stage.trace[-1:] == [node]:
        stage.trace.pop()


def told_to_stop(player: Any, value: Any, span: Span) -> None:
    """At ``span`` the loop is told by a value whether to end with this turn."""
    stage = player.stage
    if value is True:
        stage.mark(Stops())
    elif not is_known(value) and (source := source_of([value])) is not None:
        branch = Branch(ir.Constant(None, 0), span, stage.chain, ("at", span, stage.chain), source, 2)
        branch.measured = is_measured(value)
        branch.arms[0].append(Stops())
        stage.mark(branch)


def turned(player: Any, span: Span, turn: Callable[[], None]) -> None:
    """Follows a turn for what it changes alone: whether it was changed so before is not known then."""
    stage = player.stage
    events, waits, faults, noted = len(stage.events), len(stage.waits), len(stage.faults), dict(stage.in_order)
    outer, stage.touched, trace, stage.trace = stage.touched, [], stage.trace, []
    stage.quiet += 1
    stage.repeating += 1
    try:
        turn()
    finally:
        stage.quiet -= 1
        stage.repeating -= 1
        stage.trace = trace
        touched, stage.touched = stage.touched, outer
        if outer is not None:
            outer.extend(touched)
    del stage.events[events:], stage.waits[waits:], stage.faults[faults:]
    stage.in_order = noted
    widen(player, touched, (span, stage.chain))


def widen(player: Any, touched: list[Any], place: tuple[Any, ...], tests: Sequence[Any] = ()) -> None:
    """Takes what a loop changes in lists, and in attributes of objects, to be unknown.

    It is equal on all processes where all that it is made of is.
    """
    turn = Opaque(("turns", place))
    for changed in touched:
        if isinstance(changed, Items):
            size = either(changed.size, changed.length(), [turn, *tests])
            whole = derived("turns", [turn, *tests, changed])
            held = changed.sample if changed.items is None else next(iter(changed.items), None)
            sample = held if holds_work(held) else player.item_of(changed)
            changed.open(sample)
            changed.size = size if not is_known(size) else UNKNOWN
            changed.sample, changed.whole = sample, whole
        elif isinstance(changed, tuple):
            variables, name, earlier = changed
            variables[name] = either(earlier, variables.get(name, UNKNOWN), [turn, *tests])


def either(earlier: Any, value: Any, tests: list[Any]) -> Any:
    """What is one of two values, even where both look the same now: a loop goes on."""
    if earlier is value:
        return value
    found = merged(earlier, value, tests, ())
    if type(found) is Opaque and any(isinstance(one, int | float) and not isinstance(one, bool) for one in found.among):
        # a number may go on with each turn: of what it is only the kind is known
        kinds = kinds_of(found)
        found.among = tuple(Number(kind, found) for kind in sorted(kinds, key=str))
    return found
