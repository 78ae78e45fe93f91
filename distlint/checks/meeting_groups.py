"""How processes start together, and the groups that they make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.checks.meeting_arguments import is_number
from distlint.checks.meetings import Suspicion, listed
from distlint.checks.trace_faults import fault_of_clash
from distlint.checks.traces import compared
from distlint.model.finding import Related
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import signature, source_of

_WRAPPING = ("DistributedDataParallel()", "DistributedDataParallel")


def different_groups(performance: Performance) -> Iterator[Suspicion]:
    """The processes do not make the same groups in the same order."""
    rows = []
    for stage in performance.stages:
        made = [event for event in stage.events if event.name == "new_group" and _is_for_all(event)]
        if any(not event.sure or event.repeated or not event.seen.get("ranks") for event in made):
            return
        rows.append((stage, made))
    if not rows:
        return
    for turn in range(max(len(made) for _, made in rows)):
        there = [(stage, made[turn]) for stage, made in rows if turn < len(made)]
        missing = [stage for stage, made in rows if turn >= len(made)]
        if missing and not all(_is_alone(event) for _, event in there):
            event = there[0][1]
            yield Suspicion(
                event.span,
                f"rank {there[0][0].rank} makes this group, but rank {missing[0].rank} does not call `new_group` for it",
                (),
                event.name,
            )
            return
        kinds = [(stage.rank, sorted(event.seen["ranks"])) for stage, event in there]
        if len({tuple(ranks) for _, ranks in kinds}) > 1 and not all(_is_alone(event) for _, event in there):
            first = there[0][1]
            spans = dict.fromkeys(event.span for _, event in there[1:] if event.span != first.span)
            yield Suspicion(
                first.span,
                f"the ranks make different groups in the same turn: {listed(kinds)}",
                tuple(Related(span, "another rank makes its group here") for span in spans),
                first.name,
            )
            return
    yield from _out_of_turn(performance)


def _out_of_turn(performance: Performance) -> Iterator[Suspicion]:
    """All processes make the same groups, but some of them while others are in another operation of the whole job."""
    if performance.function >= 0 or not performance.complete:
        return
    for clash in compared(performance.stages[0].project, performance).clashes:
        made = [one for one in (clash.event, clash.other) if one is not None and one.name == "new_group"]
        if len(made) != 1 or not clash.different or not _is_for_all(made[0]) or _is_alone(made[0]):
            continue
        fault = fault_of_clash(performance, clash)
        shown = {fault.span, *(one.span for one in fault.related)}
        calls = [span for span in made[0].chain[:2] if span not in shown and clash.part is None]
        related = (*fault.related, *(Related(span, "this call leads to it") for span in calls))
        yield Suspicion(fault.span, fault.message, related, fault.symbol)
        return


def outside_groups(performance: Performance) -> Iterator[Suspicion]:
    """A process uses a group that it is not in where that fails: to wrap a model, or the -1 that stands for its place."""
    for stage in performance.stages:
        for event in stage.events:
            ranks = event.group.ranks if event.group is not None else None
            if event.name in _WRAPPING and ranks is not None and stage.rank not in ranks and event.sure:
                yield _outside(stage.rank, event, f"`{event.name}` refuses it")
        for fault in stage.faults:
            if fault.kind == "outside":
                yield _outside(stage.rank, fault.event, fault.words["what"])


def _outside(rank: int, event: Event, what: str) -> Suspicion:
    group = event.group
    assert group is not None  # noqa: S101 - known to be another's
    assert group.ranks is not None  # noqa: S101
    related = (Related(group.span, "the group is made here"),) if group.span is not None else ()
    return Suspicion(
        event.span,
        f"rank {rank} is not in the group of ranks {list(group.ranks)} that it uses: {what}",
        related,
        event.name,
    )


def _is_alone(event: Event) -> bool:
    return len(event.seen["ranks"]) == 1


def _is_for_all(event: Event) -> bool:
    given = event.values.get("use_local_synchronization")
    return given is None or given is False


def different_starts(performance: Performance) -> Iterator[Suspicion]:
    """The processes do not agree on where they meet, who they are or how many."""
    rows = []
    for stage in performance.stages:
        starts = [event for event in stage.events if event.name == "init_process_group"]
        # a start by a library's own function is not seen into
        if len(starts) != 1 or not starts[0].sure or "environment" not in starts[0].seen:
            return
        rows.append((stage, starts[0]))
    if len(rows) < 2:
        return
    first = rows[0][1]
    if len({event.place for _, event in rows}) == 1 and not performance.stages[0].alone:
        yield from _ranks(rows, first)
    for name in ("MASTER_PORT", "MASTER_ADDR"):
        values = [event.seen["environment"].get(name) for _, event in rows]
        if _differ(values):
            source = source_of(values)
            why = f" ({source.why})" if source is not None else ""
            related = (Related(source.span, "it comes from here"),) if source is not None and source.span else ()
            yield Suspicion(
                first.span, f"`{name}` differs between the ranks{why}, so they never meet", related, first.name
            )
    for name in ("init_method", "world_size"):
        values = [event.values.get(name) for _, event in rows]
        if None not in values and _differ(values):
            shown = listed([(stage.rank, value) for (stage, _), value in zip(rows, values, strict=True)])
            text = f": {shown}" if not any(isinstance(value, Opaque) for value in values) else ""
            yield Suspicion(first.span, f"`{name}` differs between the ranks{text}", (), first.name)


def _ranks(rows: list[tuple[Stage, Event]], first: Event) -> Iterator[Suspicion]:
    ranks = [event.values.get("rank") for _, event in rows]
    sizes = [event.values.get("world_size") for _, event in rows]
    if not all(size is None or (is_number(size) and int(size or 0) > 1) for size in sizes):
        # a job of one process, or perhaps
        return
    if all(is_number(rank) and int(rank or 0) >= 0 for rank in ranks) and len(set(ranks)) == 1:
        yield Suspicion(
            first.span, f"every process starts as rank {ranks[0]}: `rank` is the same for all of them", (), first.name
        )


def _differ(values: list[Any]) -> bool:
    signs = [signature(value) for value in values]
    return None not in signs and None not in values and len(set(signs)) > 1
