"""Lists of tensors and objects that are handed to calls that processes make together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.checks.meeting_arguments import is_number, root_of
from distlint.checks.meetings import Suspicion, listed, meetings, others
from distlint.model.finding import Related
from distlint.rehearsal.notes import DIVISORS, LEFT_PIECES
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Items

_AT_ROOT = {
    "gather": "gather_list",
    "gather_object": "object_gather_list",
    "scatter": "scatter_list",
    "scatter_object_list": "scatter_object_input_list",
}
_EVERYWHERE = {
    "all_gather": ("tensor_list",),
    "reduce_scatter": ("input_list",),
    "all_to_all": ("output_tensor_list", "input_tensor_list"),
    "all_gather_object": ("object_list",),
}
_FILLED = {
    "all_gather": "tensor_list",
    "gather": "gather_list",
    "all_to_all": "output_tensor_list",
}


def misplaced_lists(performance: Performance) -> Iterator[Suspicion]:
    """A list that belongs to the root alone is missing there, or given on another rank."""
    for stage in performance.stages:
        for event in stage.events:
            parameter = _AT_ROOT.get(event.name)
            root = root_of(event)[1]
            if parameter is None or not is_number(root) or not _takes_part(stage.rank, event):
                continue
            if not _takes_part(root, event):
                continue  # it is refused before anybody looks for the list
            if root_of(event)[0] not in ("src", "dst"):
                continue
            value = event.values[parameter]
            side = "destination" if root_of(event)[0] == "dst" else "source"
            if stage.rank == root and value is None:
                yield Suspicion(
                    event.span,
                    f"`{event.name}` is not given `{parameter}` on rank {stage.rank}, its {side}",
                    (),
                    event.name,
                )
            elif stage.rank != root and event.name != "scatter_object_list" and _holds_something(value):
                at = value.at
                yield Suspicion(
                    event.span,
                    f"`{event.name}` is given `{parameter}` on rank {stage.rank} too, though rank {root} is its {side}",
                    (Related(at, "the list is made here, on every rank"),) if at is not None else (),
                    event.name,
                )


def _holds_something(value: Any) -> bool:
    return isinstance(value, Items) and isinstance(value.length(), int) and value.length() > 0


def _takes_part(rank: int, event: Event) -> bool:
    return event.group is not None and event.group.ranks is not None and rank in event.group.ranks


def wrong_lengths(performance: Performance) -> Iterator[Suspicion]:
    """A list has not as many places as the group has processes, or another length on another rank."""
    for stage in performance.stages:
        for event in stage.events:
            if not _takes_part(stage.rank, event) or event.group is None or event.group.ranks is None:
                continue
            size = len(event.group.ranks)
            for parameter in _lists_of(event, stage.rank):
                look = event.seen.get(parameter)
                length = look.get("length") if isinstance(look, dict) else None
                if look and _may_have_more(performance, stage, length, size):
                    related = (Related(look["at"], "the list is made here"),) if look.get("at") else ()
                    yield Suspicion(
                        event.span,
                        f"`{parameter}` of `{event.name}` has one piece for each process, and one more where something is left over",
                        related,
                        event.name,
                        supposed=True,
                    )
                if (
                    not isinstance(length, int)
                    or length == size
                    or (event.name == "all_gather_object" and length > size)
                ):
                    continue
                if event.name == "gather_object" and length > size:
                    continue
                whole = "the group" if event.group is not stage.everyone else "the job"
                related = (Related(look["at"], "the list is made here"),) if look and look.get("at") else ()
                items = "item" if length == 1 else "items"
                yield Suspicion(
                    event.span,
                    f"`{parameter}` of `{event.name}` has {length} {items}, but {whole} has {_count(performance, event, size, stage)}",
                    related,
                    event.name,
                )
            if event.name == "scatter_object_list":
                slots = event.values.get("scatter_object_output_list")
                if isinstance(slots, Items) and slots.length() == 0:
                    yield Suspicion(event.span, "the output list of `scatter_object_list` has no place", (), event.name)
    yield from _different_lengths(performance)


def _may_have_more(performance: Performance, stage: Stage, length: Any, size: int) -> bool:
    """Whether a list has the pieces of something that is dealt out to so many, and nobody asks what is left over of anything."""
    if not isinstance(length, Opaque) or length.sign is None:
        return False
    parts = stage.kept.get(LEFT_PIECES, {}).get(length.sign, 0)
    return parts == size and not any(parts in one.kept.get(DIVISORS, ()) for one in performance.stages)


def _count(performance: Performance, event: Event, size: int, stage: Any) -> str:
    return (
        f"{size} processes" if performance.told or event.group is not stage.everyone else "another number of processes"
    )


def _lists_of(event: Event, rank: int) -> tuple[str, ...]:
    if event.name in _AT_ROOT:
        return (_AT_ROOT[event.name],) if root_of(event)[1] == rank else ()
    return _EVERYWHERE.get(event.name, ())


def _different_lengths(performance: Performance) -> Iterator[Suspicion]:
    for met in meetings(performance):
        if met[0].event.name != "broadcast_object_list":
            continue
        looks = [(one.rank, one.event.seen.get("object_list")) for one in met]
        lengths = [(rank, look["length"]) for rank, look in looks if isinstance(look, dict)]
        known = len(lengths) == len(met) and all(isinstance(length, int) for _, length in lengths)
        if known and len({length for _, length in lengths}) > 1:
            yield Suspicion(
                met[0].event.span,
                f"the lists of `broadcast_object_list` differ in length: {listed(lengths)}",
                others(met, "and here on another rank"),
                met[0].event.name,
            )


def aliased_slots(performance: Performance) -> Iterator[Suspicion]:
    """The places of a list that is filled are one and the same tensor."""
    for stage in performance.stages:
        for event in stage.events:
            look = event.seen.get(_FILLED.get(event.name, ""))
            if isinstance(look, dict) and look.get("shared") and _takes_part(stage.rank, event):
                yield Suspicion(
                    event.span,
                    f"the places of the list that `{event.name}` fills are one and the same tensor",
                    (Related(look["at"], "the list repeats one tensor here"),) if look.get("at") else (),
                    event.name,
                )
