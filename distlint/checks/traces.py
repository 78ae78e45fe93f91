"""Where the traces of two processes of a rehearsal part and their collectives no longer meet.

Two lines of events are compared: those of two processes on the same way through every test that is not known (they part where the rank
is tested), or those of one process on the two ways of a test that differs between processes. Messages between two processes are
others' business (``meeting_messages``), and so are groups with members that we don't know.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.checks.collectives import Collectives
from distlint.checks.meetings import ALONE
from distlint.checks.rank_tests import mode_of
from distlint.link.modules import FunctionRef
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.failing import ENDING
from distlint.rehearsal.performance import Performance, Rehearsal
from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.trace import TURNS, Attempt, Branch, Choice, End, Frame, Hole, Laps, Round, Took, follow

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_PLACES = 60
"""Tests and loops that are looked at in one trace."""

MAX_NODES = 6_000

MAX_LOOKED = 400_000
"""Nodes of the trace of one process that are gone through for all ways together."""


class Part(NamedTuple):
    """Where lines part: the test or loop, the calls that lead there, and why it differs (``None``: because of the rank).

    ``fails`` says that it is no test, but a place that may raise an exception.
    """

    span: Span
    chain: tuple[Span, ...]
    why: str
    source: Span | None
    is_loop: bool
    fails: bool = False


class Clash(NamedTuple):
    """An event of one line that the other does not have: ``other`` is what comes there instead, ``later`` whether it comes further on.

    ``rank`` makes the event, ``without`` does not; both are the same where one process may go either way.
    """

    event: Event
    other: Event | None
    different: bool
    gone: bool
    part: Part | None
    rank: int
    without: int


class _Line(NamedTuple):
    events: list[Event | Took | Hole]
    ended: str


def clashes(performance: Performance) -> Iterator[Clash]:
    """Events that do not meet, each place once."""
    seen: set[tuple[Any, ...]] = set()
    for found in (*_between_ways(performance), *_between_ranks(performance)):
        key = (found.event.file, found.event.call.at)
        if key not in seen:
            seen.add(key)
            yield found


# One process, a test that differs ----------------------------------------------------------------------------------


def _between_ways(performance: Performance) -> Iterator[Clash]:
    for stage in performance.stages[:2]:
        for node, needed in islice(_places(stage.trace, {}, [0]), MAX_PLACES):
            if node.source is None:
                continue
            fails = isinstance(node, Branch) and bool(node.fails)
            turns = isinstance(node, Round) or node.fails == ENDING
            part = Part(node.span, node.chain, node.source.why, node.source.span, turns, fails and not turns)
            for usual in (0, 1):
                found = _of_place(stage, node, needed, usual, part)
                if found is not None:
                    yield found
                    break


def _of_place(stage: Stage, node: Branch | Round, needed: dict[Hashable, int], usual: int, part: Part) -> Clash | None:
    if isinstance(node, Round):
        if _has_limit(node.body):
            return None
        lines = [_line(stage, Choice(needed, {node.key: turns}, usual)) for turns in (TURNS, TURNS - 1)]
        return _clash(lines[0], lines[1], stage.rank, stage.rank, stage, part)
    if node.fails:
        return _of_failure(stage, node, needed, usual, part)
    lines = [_line(stage, Choice({**needed, node.key: arm}, None, usual)) for arm in range(len(node.arms))]
    for one in range(len(lines)):
        for other in range(one + 1, len(lines)):
            found = _clash(lines[one], lines[other], stage.rank, stage.rank, stage, part)
            if found is not None:
                return found
    return None


def _has_limit(body: list[Any]) -> bool:
    """Whether a comparison that is the same everywhere, as that of the turn with a limit, may end a loop before its end."""
    for node in body:
        if isinstance(node, Attempt) and _has_limit(node.body):
            return True
        if not isinstance(node, Branch):
            continue
        test = node.test
        compares = type(test) is ir.Operation and not {"<", "<=", ">", ">=", "=="}.isdisjoint(test.operators)
        for arm in node.arms:
            leaves = bool(arm) and isinstance(arm[-1], End) and arm[-1].kind in ("break", "return")
            if (leaves and compares and node.source is None) or _has_limit(arm):
                return True
    return False


def _of_failure(stage: Stage, node: Branch, needed: dict[Hashable, int], usual: int, part: Part) -> Clash | None:
    """An exception that one process meets once, and goes on behind it: to others that the rest come to, not to its end."""
    choice = Choice({**needed, node.key: 1}, None, usual)
    usually, failed = _line(stage, Choice(needed, None, usual)), _line(stage, choice)
    if choice.failed is None:
        return None
    later = any(_counts(one, stage.rank, stage.rank) for one in failed.events[choice.failed :])
    if not later and node.fails != ENDING:
        return None
    return _clash(usually, failed, stage.rank, stage.rank, stage, part)


def _places(
    nodes: list[Any], needed: dict[Hashable, int], count: list[int]
) -> Iterator[tuple[Branch | Round, dict[Hashable, int]]]:
    """The tests and loops of a trace, each with the arms that lead there."""
    for node in nodes:
        count[0] += 1
        if count[0] > MAX_NODES:
            return
        if isinstance(node, Branch):
            yield node, needed
            for number, arm in enumerate(node.arms):
                yield from _places(arm, {**needed, node.key: number}, count)
        elif isinstance(node, Round):
            yield node, needed
            yield from _places(node.body, needed, count)
        elif isinstance(node, Frame):
            yield from _places(node.body, needed, count)
        elif isinstance(node, Laps):
            for turn in node.turns:
                yield from _places(turn, needed, count)
        elif isinstance(node, Attempt):
            for inner in (node.body, *node.handlers, node.orelse, node.final):
                yield from _places(inner, needed, count)


# Two processes -----------------------------------------------------------------------------------------------------


def _between_ranks(performance: Performance) -> Iterator[Clash]:
    first, *others = performance.stages
    for other in others:
        for choice in _choices(first, other):
            found = _of_ranks(first, other, *choice)
            if found is not None:
                yield found


def _choices(first: Stage, other: Stage) -> Iterator[tuple[dict[Hashable, int], int]]:
    """Ways through tests that are not known: the usual ones, and each that a single test opens."""
    yield {}, 0
    yield {}, 1
    seen = set()
    for stage in (first, other):
        for node, needed in islice(_places(stage.trace, {}, [0]), MAX_PLACES):
            if not isinstance(node, Branch):
                continue
            for arm in range(len(node.arms)):
                if (node.key, arm) not in seen:
                    seen.add((node.key, arm))
                    yield {**needed, node.key: arm}, 0


def _of_ranks(first: Stage, other: Stage, arms: dict[Hashable, int], usual: int) -> Clash | None:
    choices = [Choice(arms, None, usual), Choice(arms, None, usual)]
    lines = [_line(stage, choice) for stage, choice in zip((first, other), choices, strict=True)]
    more = _more_turns(*choices)
    if any(more):
        choices = [Choice(arms, turns, usual) for turns in more]
        lines = [_line(stage, choice) for stage, choice in zip((first, other), choices, strict=True)]
    return _clash(lines[0], lines[1], first.rank, other.rank, first, None)


def _more_turns(one: Choice, other: Choice) -> tuple[dict[Hashable, int], dict[Hashable, int]]:
    """Loops of which one process is known to make more turns than the other."""
    more: tuple[dict[Hashable, int], dict[Hashable, int]] = ({}, {})
    for key, loop in one.rounds.items():
        again = other.rounds.get(key)
        if again is None or loop.count is None or again.count is None or loop.count == again.count:
            continue
        if not _has_limit(loop.body):
            more[0 if loop.count > again.count else 1][key] = TURNS + 1
    return more


# Lines -------------------------------------------------------------------------------------------------------------


def _line(stage: Stage, choice: Choice) -> _Line:
    events: list[Event | Took | Hole] = []
    stage.looked += stage.grown
    if stage.looked > MAX_LOOKED:
        return _Line(events, "cut")
    choice.settled = _settled
    return _Line(events, follow(stage.trace, choice, events))


def _settled(branch: Branch) -> int | None:
    """The arm that a job of several processes takes of a test that asks whether there are several; -1 where it may ask that."""
    if branch.source is not None:
        return None
    mode = mode_of(branch.test)
    if mode is True:
        return 0
    return -1 if mode is not None and _names_a_mode(branch.test) else None


_MODES = ("single", "distribut", "multi", "parallel", "ddp", "fsdp", "launch", "initialized", "deepspeed")
"""Words of flags that say whether there are several processes; ranks and their number are known here."""


def _names_a_mode(test: ir.Expr) -> bool:
    names = [
        part.id if isinstance(part, ir.Name) else part.name
        for part in below(test)
        if isinstance(part, ir.Name | ir.Attribute)
    ]
    return any(word in name.lower() for name in names for word in _MODES)


def _counts(event: Event | Took | Hole, rank: int, other: int) -> bool:
    """Whether an event is one that both processes have to make."""
    if not isinstance(event, Event) or event.name in ALONE:
        return False
    group = event.group
    if group is None or group.ranks is None or len(group.ranks) < 2:
        return False
    return rank in group.ranks and other in group.ranks


def _same(one: Event, other: Event) -> bool:
    alike = one.group is not None and other.group is not None and one.group.ranks == other.group.ranks
    return one.name == other.name and alike


def _clash(one: _Line, other: _Line, rank: int, again: int, stage: Stage, part: Part | None) -> Clash | None:
    ours = [(at, event) for at, event in enumerate(one.events) if _counts(event, rank, again)]
    theirs = [(at, event) for at, event in enumerate(other.events) if _counts(event, rank, again)]
    turn = 0
    while turn < min(len(ours), len(theirs)) and _same(ours[turn][1], theirs[turn][1]):  # type: ignore[arg-type]
        turn += 1
    if turn == len(ours) and turn == len(theirs):
        return None
    mine = ours[turn][1] if turn < len(ours) else None
    yours = theirs[turn][1] if turn < len(theirs) else None
    assert mine is None or isinstance(mine, Event)  # noqa: S101 - others do not count
    assert yours is None or isinstance(yours, Event)  # noqa: S101
    if (mine is None and one.ended in ("raise", "cut")) or (yours is None and other.ended in ("raise", "cut")):
        return None
    start = (ours[turn - 1][0], theirs[turn - 1][0]) if turn else (0, 0)
    rests = (
        one.events[start[0] : ours[turn][0] if turn < len(ours) else None],
        other.events[start[1] : theirs[turn][0] if turn < len(theirs) else None],
    )
    hidden = [any(isinstance(node, Hole) and _matters(node, stage) for node in rest) for rest in rests]
    if part is None:
        ends = (ours[turn][0] if turn < len(ours) else len(one.events), theirs[turn][0] if turn < len(theirs) else None)
        part = _parting(one.events[: ends[0]], other.events[: ends[1]])
    later = {
        "mine": mine is not None and any(_same(mine, event) for _, event in theirs[turn + 1 :]),  # type: ignore[arg-type]
        "yours": yours is not None and any(_same(yours, event) for _, event in ours[turn + 1 :]),  # type: ignore[arg-type]
    }
    if yours is None or (mine is not None and later["yours"] and not later["mine"]):
        assert mine is not None  # noqa: S101 - one of them is
        return None if hidden[1] else Clash(mine, yours, False, other.ended == "exit", part, rank, again)
    if mine is None or (later["mine"] and not later["yours"]):
        return None if hidden[0] else Clash(yours, mine, False, one.ended == "exit", part, again, rank)
    return None if any(hidden) else Clash(mine, yours, True, False, part, rank, again)


def _parting(one: list[Event | Took | Hole], other: list[Event | Took | Hole]) -> Part | None:
    """The last test of the rank that sent two processes different ways."""
    ours = [node for node in one if isinstance(node, Took)]
    theirs = [node for node in other if isinstance(node, Took)]
    for mine, yours in zip(ours, theirs, strict=False):
        if mine.span != yours.span or mine.chain != yours.chain:
            return None
        if mine.way != yours.way:
            found = Part(mine.span, mine.chain, "", None, False)
            rest = _parting(*_behind(one, other, mine, yours))
            return rest or found
    return None


def _behind(
    one: list[Event | Took | Hole], other: list[Event | Took | Hole], mine: Took, yours: Took
) -> tuple[list[Event | Took | Hole], list[Event | Took | Hole]]:
    """What comes behind the place where two ways meet again: the first test that both of them come to after a parting."""
    rest = one[one.index(mine) + 1 :], other[other.index(yours) + 1 :]
    places = {(node.span, node.chain): at for at, node in reversed([*enumerate(rest[1])]) if isinstance(node, Took)}
    for at, node in enumerate(rest[0]):
        if isinstance(node, Took) and (node.span, node.chain) in places:
            return rest[0][at:], rest[1][places[node.span, node.chain] :]
    return [], []


class _Leading(frozenset[str]):
    """The names of functions that may lead to an operation."""

    __slots__ = ()


def _matters(hole: Hole, stage: Stage) -> bool:
    """Whether a call that we don't see into may lead to an operation."""
    project = stage.project
    if _Leading not in project.kept:
        project.kept[_Leading] = _Leading(_leading(project))
    return not hole.name or hole.name in project.kept[_Leading]


def _leading(project: Project) -> set[str]:
    """Names of functions with an operation, and of those that call something so named."""
    found: set[str] = set()
    waiting = {(one.file, one.function) for one in Collectives.of_project(project).operations.values()}
    waiting |= {(site.file, site.site.function) for word in ("send", "recv") for site in project.sites(word)}
    while waiting:
        names = {_name_of(project, file, function) for file, function in waiting if function >= 0} - found
        found |= names
        waiting = {(site.file, site.site.function) for name in names for site in project.sites(name)}
    return found


def _name_of(project: Project, file: str, function: int) -> str:
    module = project.module(file)
    definition = module.functions[function]
    if definition.name in ("__init__", "__call__", "__enter__", "__exit__", "forward") and definition.owner >= 0:
        return module.classes[definition.owner].name
    return definition.name


class Followed(NamedTuple):
    """Functions of which every program was followed to its end on all processes, and there all of them met; and the calls they met in.

    Whoever thinks that they don't, looking at a part of a program, is wrong. The index of the top level of a file is -1.
    """

    functions: frozenset[FunctionRef]
    calls: frozenset[tuple[str, int]]


def followed(project: Project) -> Followed:
    """What was followed, worked out once."""
    kept = project.kept.get(Followed)
    if kept is None:
        good: set[FunctionRef] = set()
        bad: set[FunctionRef] = set()
        calls: set[tuple[str, int]] = set()
        for performance in Rehearsal.of(project).performances():
            visited = set.intersection(*(_visited(stage) for stage in performance.stages))
            (good if _is_clear(performance) else bad).update(visited)
            calls |= {(event.file, event.call.at) for stage in performance.stages for event in stage.events}
        kept = project.kept[Followed] = Followed(frozenset(good - bad), frozenset(calls))
    assert isinstance(kept, Followed)  # noqa: S101 - stored just above
    return kept


def _visited(stage: Stage) -> set[FunctionRef]:
    return {*stage.visited, *(FunctionRef(file, -1) for file in stage.modules)}


def _is_clear(performance: Performance) -> bool:
    if not performance.complete or performance.function >= 0 or len(performance.stages) < 2:
        return False
    if any(_is_doubtful(stage.trace, stage) for stage in performance.stages):
        return False
    return next(clashes(performance), None) is None


def _is_doubtful(nodes: list[Any], stage: Stage) -> bool:
    """Whether a trace has tests or loops of which it is not known whether they are the same on all processes."""
    for node in nodes:
        if isinstance(node, Hole):
            if _matters(node, stage):
                return True
        elif isinstance(node, Branch):
            unknown = node.source is None and (_is_place(node.key) or _settled(node) == -1)
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
        elif isinstance(node, Frame) and _is_doubtful(node.body, stage):
            return True
    return False


def _is_endless(node: Round) -> bool:
    return isinstance(node.key, tuple) and bool(node.key) and node.key[0] == "endless"


def _is_place(key: Hashable) -> bool:
    return isinstance(key, tuple) and bool(key) and key[0] in ("at", "loop at")
