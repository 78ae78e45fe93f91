"""Copies of a model that some processes update and others go on with as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.checks.meetings import Suspicion
from distlint.link.modules import FunctionRef
from distlint.model.finding import Related
from distlint.model.span import Span
from distlint.rehearsal.notes import BUFFERS_EVENED, LAYERS_USED, OWN_BUFFERS, WEIGHTS_CHANGED, WEIGHTS_EVENED
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Stage

_JOINING = ("all_reduce", "all_gather", "gather", "reduce", "reduce_scatter", "all_gather_into_tensor")


def averaged_by_each(performance: Performance) -> Iterator[Suspicion]:
    """Buffers into which each process puts its own batches, and with which a wrapped model goes on."""
    evened = set().union(*(stage.kept.get(BUFFERS_EVENED, ()) for stage in performance.stages))
    seen = set()
    for fault in (one for stage in performance.stages for one in stage.faults):
        if fault.kind != OWN_BUFFERS or fault.words["module"] in evened or fault.span in seen:
            continue
        if not performance.complete:
            return
        seen.add(fault.span)
        related = (
            Related(fault.words["wrapper"], "the wrapper is told to leave buffers alone"),
            Related(fault.words["backward"], "the gradients of ranks with different buffers are averaged"),
            *(Related(one, "on the way there") for one in reversed(fault.event.chain[-1:]) if one != fault.span),
        )
        name = fault.words["name"]
        message = f"the buffer `{name}` takes up the batches of its own rank only, and each rank goes on computing with its own"
        yield Suspicion(fault.span, message, related, "")


def changed_by_some(performance: Performance) -> Iterator[Suspicion]:
    """Weights that some processes change by hand are used by others, whose results count for all."""
    if not performance.complete:
        return
    seen = set()
    for stage in performance.stages:
        for key, change in stage.kept.get(WEIGHTS_CHANGED, {}).items():
            span = change.span
            found = ((other, _use(other, key)) for other in performance.stages)
            other, use = next(((one, use) for one, use in found if use is not None), (None, None))
            if use is None or other is None:
                continue
            entered = change.function < 0 or FunctionRef(change.file, change.function) in other.visited
            place = span if entered or not change.chain else change.chain[-1]
            if place in seen:
                continue
            seen.add(place)
            used, joined = use
            related = [
                *([Related(span, "the weights are changed here")] if span != place else ()),
                Related(used, "all ranks use them here, the others as they were"),
                *([Related(joined, "what comes of it is brought together here")] if joined is not None else ()),
            ]
            message = "only some ranks update these weights, and the others go on with what they were at the start"
            yield Suspicion(place, message, tuple(related), "")


def _use(stage: Stage, key: Any) -> tuple[Span, Span | None] | None:
    """Where a process that does not change the weights of a layer uses it for what all processes have together."""
    kept = stage.kept
    if key in kept.get(WEIGHTS_CHANGED, {}) or key in kept.get(WEIGHTS_EVENED, ()):
        return None
    for span, (before, trained) in kept.get(LAYERS_USED, {}).get(key, {}).items():
        after = next(iter(stage.events[before:]), None)
        if after is not None and (after.name.startswith(_JOINING) or (trained and after.name == "backward")):
            return span, after.span
    return None
