"""Messages that one process certainly waits for, and the other may leave out because of numbers of its own.

The ways of two processes can't always be compared test by test: what one is told decides what it does next. But whatever a process is
told, it stands in a call that comes on each of its ways; and the other never comes to the matching one where its own numbers
lead past it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from distlint.checks.meetings import Suspicion
from distlint.checks.message_rows import PASSING, SENDING, is_told, peer_of
from distlint.checks.message_ways import Ways
from distlint.checks.trace_lines import matters
from distlint.model.finding import Related
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.trace import Attempt, Branch, End, Frame, Hole, Laps, Round

_Wanted = Callable[[Event], bool]
_Ends = frozenset[str]
"""How ways end that came along without a message: ``""`` stands for going on."""

_GOES_ON: _Ends = frozenset({""})
_FAILS = frozenset({"raise", "exit"})


def left_out(performance: Performance) -> Iterator[Suspicion]:
    """A finding for each two processes of which one may leave out all messages that the other certainly waits for."""
    ways = Ways(performance)
    for stage in performance.stages:
        for other in performance.stages:
            if stage is not other:
                for sends in (True, False):
                    found = _left_out(ways, stage, other, sends=sends)
                    if found is not None:
                        yield found


def _left_out(ways: Ways, stage: Stage, other: Stage, *, sends: bool) -> Suspicion | None:
    """``other`` may leave out what it sends to ``stage``, or takes from it, while ``stage`` waits for that."""
    passed = [event for event in other.events if _is_one(event, stage.rank, sends=sends)]
    if not passed or not all(
        map(is_told, (event for one in (stage, other) for event in one.events if event.name in PASSING))
    ):
        return None
    waiting = _Waiting(lambda event: _is_one(event, other.rank, sends=not sends), _loops(other.trace))
    if not waiting.ways(stage.trace) <= _FAILS or waiting.first is None:
        return None
    silence = _Silence(lambda event: _is_one(event, stage.rank, sends=sends), ways, other)
    if silence.ways(other.trace) is None or silence.test is None:
        return None
    event, test = waiting.first, silence.test
    why = f" ({test.source.why})" if test.source is not None else ""
    verb, its_verb = ("sends", "receives") if sends else ("takes", "sends")
    related = (
        Related(event.span, f"rank {stage.rank} waits here"),
        Related(passed[0].span, f"rank {other.rank} {verb} here, if at all"),
    )
    message = (
        f"rank {other.rank} may go past `{passed[0].name}`{why}, but rank {stage.rank} {its_verb} on each way that it goes: "
        f"it waits in `{event.name}` for ever"
    )
    return Suspicion(test.span, message, related, passed[0].name)


def _is_one(event: Event, peer: int, *, sends: bool) -> bool:
    """Whether a call passes a message to, or takes one from, a process."""
    return event.name in PASSING and (event.name in SENDING) is sends and peer_of(event) == peer


def _loops(nodes: list[Any]) -> frozenset[Hashable]:
    """What tells the number of turns of the loops that hold messages."""
    found: set[Hashable] = set()
    for node in nodes:
        for body in _bodies(node):
            found |= _loops(body)
            if isinstance(node, Round) and _passes(body):
                found.add(node.key)
    return frozenset(found)


def _passes(nodes: list[Any]) -> bool:
    return any(node.name in PASSING if isinstance(node, Event) else any(map(_passes, _bodies(node))) for node in nodes)


def _bodies(node: Any) -> list[list[Any]]:
    if isinstance(node, Branch):
        return node.arms
    if isinstance(node, Round | Frame):
        return [node.body]
    if isinstance(node, Laps):
        return node.turns
    if isinstance(node, Attempt):
        return [node.body, *node.handlers, node.orelse, node.final]
    return []


class _Waiting:
    """How the ways of a process end on which it does not come to a call: ``first`` is one of those that it comes to otherwise.

    ``shared`` tells the loops that the other process makes as many turns of: where they make none, nobody waits.
    """

    def __init__(self, wanted: _Wanted, shared: frozenset[Hashable]) -> None:
        self.wanted = wanted
        self.shared = shared
        self.first: Event | None = None

    def ways(self, nodes: list[Any]) -> _Ends:
        """Of some steps one after the other."""
        ends: set[str] = set()
        for node in nodes:
            found = self._of(node)
            ends |= found - _GOES_ON
            if "" not in found:
                return frozenset(ends)
        return frozenset(ends) | _GOES_ON

    def _of(self, node: Any) -> _Ends:
        if isinstance(node, Event):
            if not self.wanted(node) or node.values.get("async_op") or node.name in ("isend", "irecv"):
                return _GOES_ON
            self.first = self.first or node
            return frozenset()
        if isinstance(node, End):
            return frozenset({node.kind})
        if isinstance(node, Branch):
            arms = node.arms[:1] if node.fails else node.arms
            return frozenset().union(*map(self.ways, arms))
        if isinstance(node, Frame):
            return _renamed(self.ways(node.body), "return")
        if isinstance(node, Round):
            found = _renamed(self.ways(node.body), "break", "continue")
            return found if node.key in self.shared or node.count else found | _GOES_ON
        if isinstance(node, Laps):
            return self._turns(node.turns)
        if isinstance(node, Attempt):
            return self._attempt(node)
        return _GOES_ON

    def _turns(self, turns: list[list[Any]]) -> _Ends:
        ends: set[str] = set()
        for turn in turns:
            found = _renamed(self.ways(turn), "continue")
            ends |= {"" if end == "break" else end for end in found if end}
            if "" not in found:
                return frozenset(ends)
        return frozenset(ends) | _GOES_ON

    def _attempt(self, node: Attempt) -> _Ends:
        found = self.ways([*node.body, *node.orelse])
        if "raise" in found:
            found = found.union(*map(self.ways, node.handlers)) - ({"raise"} if node.handlers else set())
        final = self.ways(node.final)
        return found if "" in final else frozenset(final)


class _Silence:
    """How a process may come along without any of some calls, whatever tests say that are not its own to decide.

    ``test`` is the last one that has to go another way for that.
    """

    def __init__(self, wanted: _Wanted, all_ways: Ways, stage: Stage) -> None:
        self.wanted = wanted
        self.all_ways = all_ways
        self.stage = stage
        self.test: Branch | None = None

    def ways(self, nodes: list[Any]) -> _Ends | None:
        """How ways end without a call; ``None`` where one may come up."""
        ends: set[str] = set()
        for node in nodes:
            found = self._of(node)
            if found is None:
                return None
            ends |= found - _GOES_ON
            if "" not in found:
                return frozenset(ends)
        return frozenset(ends) | _GOES_ON

    def _of(self, node: Any) -> _Ends | None:
        if isinstance(node, Event):
            return None if self.wanted(node) else _GOES_ON
        if isinstance(node, Hole):
            return None if matters(node, self.stage) else _GOES_ON
        if isinstance(node, End):
            return frozenset({node.kind})
        if isinstance(node, Branch):
            return self._arm(node)
        if isinstance(node, Frame):
            found = self.ways(node.body)
            return None if found is None else _renamed(found, "return")
        if isinstance(node, Round | Laps):
            turns = [self.ways(body) for body in _bodies(node)]
            known = [one for one in turns if one is not None]
            if len(known) < len(turns):
                return None
            return _renamed(frozenset().union(*known), "break", "continue") | _GOES_ON
        if isinstance(node, Attempt):
            found = self.ways([*node.body, *node.orelse, *node.final])
            return found if all(self.ways(one) is not None for one in node.handlers) else None
        return _GOES_ON

    def _arm(self, node: Branch) -> _Ends | None:
        arms = [self.ways(arm) for arm in (node.arms[:1] if node.fails else node.arms)]
        silent = [one for one in arms if one is not None]
        if node.fails or not self.all_ways.decides_alone(node, self.stage):
            return frozenset().union(*silent) if len(silent) == len(arms) else None
        if not silent:
            return None
        leaving = [one for one in silent if "" not in one and not one & _FAILS]
        if leaving or len(silent) < len(arms):
            self.test = node
        return leaving[0] if leaving else frozenset().union(*silent)


def _renamed(ends: _Ends, *kinds: str) -> _Ends:
    """Ends that only end a loop or call: behind it the way goes on."""
    return ends - set(kinds) | _GOES_ON if not ends.isdisjoint(kinds) else ends
