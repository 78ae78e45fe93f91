"""What the rehearsal of whole programs clears: functions in which all processes met everywhere, and places without a kind of fault."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.checks.trace_lines import matters
from distlint.checks.traces import compared, settled
from distlint.link.modules import FunctionRef
from distlint.model.span import Span
from distlint.rehearsal.performance import Performance, Rehearsal
from distlint.rehearsal.stage import Stage
from distlint.rehearsal.trace import MAYBE, Attempt, Branch, Frame, Hole, Laps, Round, is_idle, is_private

if TYPE_CHECKING:
    from distlint.link.project import Project


MORE = 4
"""Processes of the rehearsal in which those have to meet too that make only some of the calls: a group of some of two is one process."""


class Cleared(NamedTuple):
    """Functions of which every program was followed to its end on all processes, and there all of them met; and the calls they met in.

    Calls in which a process misses nobody are among them (``Stage.excused``). Whoever thinks that they don't meet, looking at a part
    of a program, is wrong. The index of the top level of a file is -1. Of the calls that are ``told`` nobody knows whether they meet: one
    process tells the others what to do next.
    """

    functions: frozenset[FunctionRef]
    calls: frozenset[tuple[str, int]]
    told: frozenset[tuple[str, int]]


def cleared(project: Project) -> Cleared:
    """What is cleared, worked out once."""
    kept = project.kept.get(Cleared)
    if kept is None:
        good: set[FunctionRef] = set()
        bad: set[FunctionRef] = set()
        calls: set[tuple[str, int]] = set()
        told: set[tuple[str, int]] = set()
        rehearsal = Rehearsal.of(project)
        for performance in rehearsal.performances():
            visited = [_visited(stage) for stage in performance.stages]
            if _is_clear(project, performance):
                good |= set.intersection(*visited) if visited else set()
                some = set.union(*visited) - good
                if some and _is_clear(project, rehearsal.with_processes(performance, MORE)):
                    good |= some
            else:
                bad |= set.union(*visited) if visited else set()
            calls |= {(event.file, event.call.at) for stage in performance.stages for event in stage.events}
            calls |= {place for stage in performance.stages for place in stage.excused}
            told |= compared(project, performance).told if performance.function < 0 else set()
        kept = project.kept[Cleared] = Cleared(frozenset(good - bad), frozenset(calls), frozenset(told))
    assert isinstance(kept, Cleared)  # noqa: S101 - stored just above
    return kept


class _InOrder(frozenset[tuple[str, Span]]):
    """Kinds of faults, and places that certainly have none of them."""

    __slots__ = ()


def in_order(project: Project, kind: str) -> frozenset[Span]:
    """The places of which every program that comes there, followed to its end on all processes, has seen that there is no such fault.

    ``kind`` is that of the rehearsal's faults (``Stage.looked_at``).
    """
    found = project.kept.get(_InOrder)
    if found is None:
        known: dict[tuple[str, Span], bool] = {}
        for performance in Rehearsal.of(project).performances():
            whole = performance.complete and performance.function < 0
            for stage in performance.stages:
                for place, fits in stage.in_order.items():
                    known[place] = known.get(place, True) and fits is True and whole
        found = project.kept[_InOrder] = _InOrder(place for place, fits in known.items() if fits)
    assert isinstance(found, _InOrder)  # noqa: S101 - stored just above
    return frozenset(span for one, span in found if one == kind)


def _visited(stage: Stage) -> set[FunctionRef]:
    return {*stage.visited, *(FunctionRef(file, -1) for file in stage.modules)}


def _is_clear(project: Project, performance: Performance) -> bool:
    """Whether all processes were followed to their ends, on all ways, and met there."""
    if not performance.complete or performance.function >= 0 or len(performance.stages) < 2:
        return False
    if any(_is_doubtful(stage.trace, stage) for stage in performance.stages):
        return False
    found = compared(project, performance)
    return found.whole and not found.clashes


def _is_doubtful(nodes: list[Any], stage: Stage) -> bool:
    """Whether a trace has tests or loops of which it is not known whether they are the same on all processes."""
    for node in nodes:
        if is_idle(node):
            continue
        if isinstance(node, Hole):
            if matters(node, stage):
                return True
        elif isinstance(node, Branch):
            unknown = node.source is None and (_is_place(node.key) or settled(node) == MAYBE)
            if unknown or any(_is_doubtful(arm, stage) for arm in node.arms):
                return True
        elif isinstance(node, Round):
            unknown = node.source is None and node.count is None and _is_place(node.key) and not _is_endless(node)
            if unknown or _is_doubtful(node.body, stage):
                return True
        elif isinstance(node, Laps):
            if any(_is_doubtful(turn, stage) for turn in node.turns):
                return True
        elif isinstance(node, Attempt):
            if node.handlers or any(_is_doubtful(inner, stage) for inner in (node.body, node.orelse, node.final)):
                return True
        elif isinstance(node, Frame) and not is_private(node.body) and _is_doubtful(node.body, stage):
            return True
    return False


def _is_endless(node: Round) -> bool:
    return isinstance(node.key, tuple) and bool(node.key) and node.key[0] == "endless"


def _is_place(key: Hashable) -> bool:
    return isinstance(key, tuple) and bool(key) and key[0] in ("at", "loop at")
