"""Files that one process of a rehearsal makes or removes while another one reads them.

Two processes wait for each other in the operations that they make together. What one does with a file between two of them
may come before or behind what the other does there: a file that is read in the same stretch in which another process makes it
may not be there yet, and one that is removed may be gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from distlint.checks.trace_lines import Line, alike, counts, matters
from distlint.checks.traces import Comparison
from distlint.model.finding import Related
from distlint.rehearsal.paths import ASKS, MAKES, READS, REMOVES, WAITS
from distlint.rehearsal.performance import Performance, Rehearsal
from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.trace import Hole, Touch

if TYPE_CHECKING:
    from distlint.checks.meetings import Suspicion
    from distlint.link.project import Project
    from distlint.rehearsal.trace import Step

MAX_WAYS = 200
_END = "destroy_process_group"
"""The one operation beside messages that no process waits for others in."""


def too_early(project: Project) -> Iterator[Suspicion]:
    """Each read of a file that another process may still be making, and each removal of one that others may still read."""
    rehearsal = Rehearsal.of(project)
    for performance in rehearsal.performances():
        if performance.function >= 0 or performance.world < 2:
            continue
        found = list(_of_performance(performance))
        if found and not performance.told:
            other = rehearsal.again(performance)
            if other is not None:
                spans = {one.span for one in _of_performance(other)}
                found = [one for one in found if one.span in spans]
        yield from found


def _of_performance(performance: Performance) -> Iterator[Suspicion]:
    seen = set()
    touches = set[str]().union(*(stage.touches for stage in performance.stages))
    if READS not in touches or not {MAKES, REMOVES} & touches:
        return
    ways = Comparison(performance, files=True).lines_of_two()
    for first, other, mine, yours in islice(ways, MAX_WAYS):
        for found in (*_between(mine, yours, first, other), *_between(yours, mine, other, first)):
            if found.span not in seen:
                seen.add(found.span)
                yield found


def _between(mine: Line, yours: Line, reader: Stage, maker: Stage) -> Iterator[Suspicion]:
    """What one process reads while another may be making it: both lines are gone through stretch by stretch."""
    from distlint.checks.meetings import Suspicion

    known: set[tuple[object, ...]] = set()
    asked: set[tuple[object, ...]] = set()
    theirs: set[tuple[object, ...]] = set()
    for ours, others in _stretches(mine, yours, reader.rank, maker.rank):
        if ours is None or others is None:
            return
        made = {node.path: node for node in others if isinstance(node, Touch) and node.kind == MAKES}
        removed = {node.path: node for node in others if isinstance(node, Touch) and node.kind == REMOVES}
        for node in others:
            if isinstance(node, Touch) and node.kind == READS and node.path not in made:
                theirs.add(node.path)
        first = [node for node in others if isinstance(node, Touch)]
        # where all of them sleep, nobody waits for another one
        waits = {node.span for node in first if node.kind == WAITS}
        for number, node in enumerate(ours):
            if isinstance(node, Hole) and matters(node, reader):
                break
            if not isinstance(node, Touch):
                continue
            if node.kind == WAITS and node.span not in waits:
                break
            if node.kind in (MAKES, ASKS):
                (known if node.kind == MAKES else asked).add(node.path)
            if node.kind != READS or _lies_in(node.path, asked):
                continue
            maker_of = None if _lies_in(node.path, known) else _holder(node.path, made)
            if maker_of is not None and maker_of.path not in theirs and not _is_read_before(maker_of, first):
                yield Suspicion(
                    node.span,
                    f"{_others(reader.rank)} here while {_one(maker.rank)} may still be {_making(maker_of, node)}",
                    (
                        Related(
                            maker_of.span,
                            f"{_one(maker.rank)} makes it here, and nothing makes the others wait for that",
                        ),
                        *(Related(span, "on the way there") for span in reversed(node.chain[-2:])),
                    ),
                )
            remover = _holder(node.path, removed)
            if remover is not None and not _is_removed(remover, ours[number:]) and remover.path not in made:
                yield Suspicion(
                    remover.span,
                    f"{_one(maker.rank)} removes this while other ranks may still read it",
                    (
                        Related(
                            node.span, "it is read here, and nothing makes the ranks wait for each other in between"
                        ),
                    ),
                )


def _stretches(mine: Line, yours: Line, rank: int, other: int) -> Iterator[tuple[list[Step] | None, list[Step] | None]]:
    """What two processes do between the operations that they make together; ``None`` where it is not known that they do."""
    rows = [_split(line, rank, other) for line in (mine, yours)]
    for (ours, end), (others, again) in zip(*rows, strict=False):
        clear = all(not isinstance(node, Event) or node.name == _END for node in (*ours, *others))
        yield (ours, others) if clear else ([], [])
        if end is None or again is None or not alike(end, again):
            return


def _split(line: Line, rank: int, other: int) -> Iterator[tuple[list[Step], Event | None]]:
    row: list[Step] = []
    for node in line.events:
        if isinstance(node, Event) and counts(node, rank, other):
            yield row, node
            row = []
        else:
            row.append(node)
    yield row, None


def _holder(path: tuple[object, ...], table: dict[tuple[object, ...], Touch]) -> Touch | None:
    """What was done with a path or with a folder that it lies in."""
    for length in range(len(path), 0, -1):
        if path[:length] in table:
            return table[path[:length]]
    return None


def _lies_in(path: tuple[object, ...], known: set[tuple[object, ...]]) -> bool:
    """Whether a process has itself made a path, or asked for it, or for a folder that it lies in or something in it."""
    return any(path[: len(one)] == one or one[: len(path)] == path for one in known)


def _is_read_before(made: Touch, row: list[Touch]) -> bool:
    """Whether the process that makes a file reads it before: then it was there."""
    for node in row:
        if node is made:
            return False
        if node.kind == READS and node.path == made.path:
            return True
    return False


def _is_removed(removed: Touch, row: list[Step]) -> bool:
    """Whether the other process removes it too."""
    return any(isinstance(node, Touch) and node.kind == REMOVES and node.path == removed.path for node in row)


def _one(rank: int) -> str:
    return f"rank {rank}"


def _others(rank: int) -> str:
    return "rank 0 comes" if rank == 0 else "the other ranks come"


def _making(made: Touch, read: Touch) -> str:
    return "writing this file" if made.path == read.path else "making the folder that it lies in"
