"""What becomes of the results of calls that processes make together."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.meetings import Suspicion, meetings
from distlint.model.finding import Related
from distlint.model.span import Span
from distlint.rehearsal.notes import OWN_ORDER, OWN_ROWS
from distlint.rehearsal.performance import Performance, unfinished

_FIXED_SALT = "PYTHONHASHSEED"
_IN_PLACE = {"all_reduce": "tensor", "broadcast": "tensor", "scatter": "tensor"}


def nothing_used(performance: Performance) -> Iterator[Suspicion]:
    """The ``None`` that a synchronous call gives is used as its result."""
    for stage in performance.stages:
        for fault in stage.faults:
            if fault.kind == "none":
                event = fault.event
                yield Suspicion(
                    event.span,
                    f"`{event.name}` gives nothing back, but its result is used",
                    (Related(fault.span, "the result, `None`, is used here"),),
                    event.name,
                )


def absent_values(performance: Performance) -> Iterator[Suspicion]:
    """A value that one process has is used by another, which has none."""
    for stage in performance.stages:
        for fault in stage.faults:
            if fault.kind == "absent" and fault.words["place"] in stage.shared.present:
                name = fault.event.name
                message = f"`{name}` {fault.words['how']} on rank {stage.rank}, but is used there as on the ranks that have it"
                yield Suspicion(fault.span, message, _way(fault.event.chain), name)
                break  # the process ends there


def _way(chain: tuple[Span, ...]) -> tuple[Related, ...]:
    return tuple(Related(span, "called from here") for span in chain[-2:])


def lost_results(performance: Performance) -> Iterator[Suspicion]:
    """A call works on a temporary copy, so that nobody sees what it did."""
    for met in meetings(performance):
        looks = [(rank, event, event.seen.get(_IN_PLACE.get(event.name, ""))) for rank, event in met]
        signs = {look["sign"] for _, _, look in looks if isinstance(look, dict) and "sign" in look}
        if None not in signs and len(signs) == 1:
            # the same constant everywhere: a call that is made to synchronise or to warm up
            continue
        for rank, event, look in looks:
            if not isinstance(look, dict) or not look.get("copied"):
                continue
            if event.name == "broadcast" and event.values.get("src") == rank:
                continue
            yield Suspicion(
                event.span,
                f"`{event.name}` changes a temporary copy that nothing refers to, so its result is lost",
                (),
                event.name,
            )


def not_waited(performance: Performance) -> Iterator[Suspicion]:
    """The result of an asynchronous call is read before it is waited for, or nobody ever waits."""
    for stage in performance.stages:
        for fault in stage.faults:
            if fault.kind == "early":
                event = fault.event
                yield Suspicion(
                    event.span,
                    f"the tensor of the asynchronous `{event.name}` is used before anything waits for it",
                    (Related(fault.span, "it is read here, while the operation is under way"),),
                    event.name,
                )
            if fault.kind == "changed":
                event = fault.event
                yield Suspicion(
                    event.span,
                    f"the tensor of the asynchronous `{event.name}` is changed before anything waits for it",
                    (Related(fault.span, "it is changed here, while the operation is under way"),),
                    event.name,
                )
        if not performance.complete:
            continue
        for work in unfinished(stage):
            event = work.event
            if event.sure and event.name not in ("isend", "barrier"):
                yield Suspicion(event.span, f"nothing ever waits for the asynchronous `{event.name}`", (), event.name)


def own_orders(performance: Performance) -> Iterator[Suspicion]:
    """Each process goes through things in an order of its own, and brings what belongs to the one that it is at."""
    if performance.stages[0].project.mentions(_FIXED_SALT):
        return
    for stage in performance.stages:
        for fault in stage.faults:
            if fault.kind == OWN_ROWS:
                yield Suspicion(
                    fault.event.span,
                    f"what `{fault.event.name}` adds up is lined up in {fault.words['why']}, which is another on each rank: "
                    "what meets here does not belong together",
                    (Related(fault.span, "the order comes from here"),),
                    fault.event.name,
                )
            elif fault.kind == OWN_ORDER:
                event = fault.event
                inside = len(event.chain) > fault.words["depth"]
                related = [Related(fault.span, "the order comes from here")]
                if inside:
                    related.insert(0, Related(event.span, f"comes to `{event.name}` here"))
                yield Suspicion(
                    event.chain[fault.words["depth"]] if inside else event.span,
                    f"`{event.name}` is called in {fault.words['why']}, which is another on each rank: "
                    "what meets here does not belong together",
                    tuple(related),
                    event.name,
                )
