"""What samplers that shuffle are told of the epoch in the rehearsal of a program, and how often their loaders are gone through.

Source: torch 2.13, ``utils/data/distributed.py``: the order of a pass follows from the seed and the epoch that was told last.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from distlint.model.span import Span
from distlint.rehearsal.epochs import SAMPLERS, UNSEEN, Round, Shuffled, opened
from distlint.rehearsal.values import Given, signature


def shuffled(stage: Any, given: Given, span: Span) -> Shuffled | None:
    """What is remembered of a new sampler; ``None`` for one that does not shuffle for certain."""
    if given.open or given.get("shuffle", 3, True) is not True:
        return None
    made = Shuffled(span)
    stage.kept.setdefault(SAMPLERS, []).append(made)
    return made


def told(stage: Any, sampler: Shuffled, value: Any, span: Span) -> None:
    """``set_epoch``."""
    sampler.calls += 1
    sampler.told = (signature(value), stage.way, span)


def begun(stage: Any, sampler: Shuffled, span: Span) -> None:
    """A pass over the loader begins: a new order is drawn."""
    if stage.asked_again:
        return
    before = sampler.rounds[-1] if sampler.rounds else None
    if before is not None and before.calls == sampler.calls:
        epoch = before.epoch
    else:
        epoch = _epoch(stage, sampler)
    _opened(stage, sampler, epoch, span)


def drawn(stage: Any, sampler: Shuffled, epoch: Hashable, span: Span) -> None:
    """A pass begins over what a sampler of the project's own draws, in the order that ``epoch`` tells."""
    if not stage.asked_again:
        _opened(stage, sampler, epoch, span)


def _opened(stage: Any, sampler: Shuffled, epoch: Hashable, span: Span) -> None:
    one = Round(stage, epoch, sampler.calls, span)
    sampler.rounds.append(one)
    opened(stage, one)


def _epoch(stage: Any, sampler: Shuffled) -> Hashable:
    """What tells the epoch that a sampler was told last."""
    if sampler.told is None:
        return ("epoch", signature(0))
    sign, way, _ = sampler.told
    now = stage.way
    if sign is None or way[0] > now[0] or way[1:] != now[1 : len(way)]:
        return ("not known", len(sampler.rounds))
    return ("epoch", sign)


def unseen(stage: Any) -> None:
    """Something that nobody knows is told an epoch: it may be any sampler."""
    stage.kept[UNSEEN] = True
