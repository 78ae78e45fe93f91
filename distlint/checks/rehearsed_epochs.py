"""Samplers that were seen to draw one order for every pass, or another one for each, where a program was rehearsed."""

from __future__ import annotations

from typing import NamedTuple

from distlint.model.finding import Related
from distlint.model.span import Span
from distlint.rehearsal.epochs import SAMPLERS, UNSEEN, Round, Shuffled, closed
from distlint.rehearsal.performance import Performance, Rehearsal
from distlint.rehearsal.stage import Stage


class Order(NamedTuple):
    """A sampler that draws the order of its first training pass again in every other; ``made`` is where it is made."""

    made: Span
    message: str
    span: Span
    related: tuple[Related, ...]


class Orders(NamedTuple):
    """Samplers that draw one order, and where samplers were made that draw another in each pass."""

    same: tuple[Order, ...]
    changing: frozenset[Span]


def orders(rehearsal: Rehearsal) -> Orders:
    """What the programs of a project were seen to do."""
    same: dict[Span, Order] = {}
    changing: set[Span] = set()
    for performance in rehearsal.every_performance():
        if not performance.complete or performance.function >= 0 or not performance.stages:
            continue
        stage = performance.stages[0]
        for sampler in stage.kept.get(SAMPLERS, ()):
            closed(stage, None)
            rounds = [one for one in sampler.rounds if one.trains]
            epochs = {one.epoch for one in rounds}
            if len(epochs) > 1 and not performance.usual:
                changing |= {sampler.span} if len(epochs) == len(rounds) else set()
            elif len(epochs) == 1 and len(rounds) > 1 and sampler.span not in same and not _may_be_told(stage, sampler):
                same[sampler.span] = _order(performance, stage, sampler, rounds)
    return Orders(tuple(same[span] for span in sorted(same)), frozenset(changing))


def _may_be_told(stage: Stage, sampler: Shuffled) -> bool:
    """Whether the epoch may be set where nobody sees it."""
    rounds = sampler.rounds
    return bool(stage.kept.get(UNSEEN)) or sampler.changed or rounds[0].strangers != rounds[-1].strangers


def _order(performance: Performance, stage: Stage, sampler: Shuffled, rounds: list[Round]) -> Order:
    drawn = Related(rounds[-1].span, "its loader is gone through here, again and again")
    end = performance.supposes()
    if sampler.told is None:
        message = f"`set_epoch` is never called for this {sampler.what}, so every epoch has the order of the first"
        others = [one.told[2] for one in stage.kept[SAMPLERS] if one.told is not None]
        wrong = [Related(span, "this sets the epoch of another object") for span in dict.fromkeys(others)]
        return Order(sampler.span, message + end, sampler.span, (drawn, *wrong[:2]))
    again = rounds[-1].calls > rounds[0].calls
    message = (
        "`set_epoch` gets the same number in every epoch, so every epoch has the same order"
        if again
        else "`set_epoch` is not called between the epochs, so every epoch has the same order"
    )
    made = Related(sampler.span, "the sampler is made here")
    return Order(sampler.span, message + end, sampler.told[2], (made, drawn))
