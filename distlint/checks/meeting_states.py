"""Checkpoints that processes save and load together: their folders, and what becomes of what was loaded."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.meetings import Suspicion, meetings
from distlint.model.finding import Related
from distlint.rehearsal.notes import FOLDER_DRAWN, SAVE_UNDER_WAY, SHARD_SAVED
from distlint.rehearsal.performance import Performance


def own_folders(performance: Performance) -> Iterator[Suspicion]:
    """Processes make one checkpoint together, and each gives a folder of its own."""
    for met in meetings(performance):
        folders = [one.event.seen.get("folder") for one in met]
        first = met[0].event
        if None in folders or len(set(folders)) < len(folders) or len({one.event.name for one in met}) > 1:
            continue
        what = "saved" if "save" in first.name else "loaded"
        drawn = first.seen.get(FOLDER_DRAWN)
        at = None if drawn is None else drawn.span
        yield Suspicion(
            first.span,
            f"one checkpoint is {what} by all ranks together, but each gives a folder of its own: no folder holds all of it",
            (Related(at, "each rank draws the name for itself here"),) if at is not None else (),
            first.name,
            supposed=drawn is not None,
        )


def not_sent(performance: Performance) -> Iterator[Suspicion]:
    """Rank 0 holds the state that is loaded into the model, the others hold none, and nobody sends it."""
    here = {fault.span for stage in performance.stages if stage.rank == 0 for fault in stage.faults}
    seen = set()
    for stage in performance.stages:
        for fault in stage.faults:
            if fault.kind != "state of one process" or fault.span in here or fault.span in seen:
                continue
            seen.add(fault.span)
            name = fault.event.name
            related = tuple(Related(span, "on the way there") for span in fault.event.chain[-1:])
            yield Suspicion(
                fault.span, f"`{name}` gets the state on rank 0 only: rank {stage.rank} has an empty one", related, name
            )


def save_under_way(performance: Performance) -> Iterator[Suspicion]:
    """Nobody waits for a checkpoint that is written in the background before the next is saved, or this one is loaded."""
    seen = set()
    for stage in performance.stages:
        for fault in stage.faults:
            if fault.kind != SAVE_UNDER_WAY or fault.span in seen:
                continue
            seen.add(fault.span)
            loaded = fault.words.get("loaded")
            before = "it is loaded" if loaded else "the next one is saved"
            there = (
                Related(loaded, "it is loaded here")
                if loaded
                else Related(fault.words["saved"], "the next one begins here")
            )
            yield Suspicion(
                fault.span,
                f"nothing waits for this checkpoint before {before}: it may still be under way",
                (there, *(Related(span, "on the way there") for span in fault.event.chain[-1:])),
                "async_save",
            )


def shards_saved(performance: Performance) -> Iterator[Suspicion]:
    """A file gets what one process has of a state of which each has a part: no process but one saves it, or all save into one file."""
    if not performance.complete or performance.function >= 0 or len(performance.stages) < 2:
        return
    rows = [[fault for fault in stage.faults if fault.kind == SHARD_SAVED] for stage in performance.stages]
    files = [{fault.words["file"] for fault in row} for row in rows]
    shared = set.intersection(*files) - {None}
    some = not all(rows)
    seen = set()
    for fault in (fault for row in rows for fault in row):
        if fault.span in seen or not (some or fault.words["file"] in shared):
            continue
        seen.add(fault.span)
        taken = Related(fault.words["taken"], "each rank has the state of its own part here")
        related = (taken, *(Related(span, "on the way there") for span in fault.event.chain[-1:]))
        yield Suspicion(
            fault.span,
            "the file holds the optimizer's state of one rank's part only: those of the others are lost",
            related,
            "save",
        )


def never_taken(performance: Performance) -> Iterator[Suspicion]:
    """A number of a checkpoint is loaded into a dictionary, nobody reads it there, and training goes on."""
    if not performance.complete or performance.function >= 0:
        return
    for stage in performance.stages:
        for event, numbers, before in stage.watched:
            if stage.kept.get("backward", 0) <= before:
                continue
            keys = [key for table, key in numbers if key in (table.unread or ())]
            if keys:
                name = f'`"{keys[0]}"`' if isinstance(keys[0], str) else f"`{keys[0]}`"
                yield Suspicion(
                    event.span,
                    f"the value of {name} is loaded into the dictionary only, and nothing reads it from there",
                    (),
                    event.name,
                )
