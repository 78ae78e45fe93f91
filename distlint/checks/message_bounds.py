"""Messages that one process certainly waits for, and the other may leave out because of numbers of its own.

The ways of two processes can't always be compared test by test: what one is told decides what it does next. But whatever a process is
told, it stands in a call that comes on each of its ways; and the other never comes to the matching one where its own numbers
lead past it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from distlint.checks.meetings import Suspicion
from distlint.checks.message_rows import PASSING, SENDING, Step, is_told, peer_of
from distlint.checks.message_ways import Ways
from distlint.checks.trace_lines import matters
from distlint.model.finding import Related
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.trace import Attempt, Branch, End, Frame, Hole, Laps, Round

_Wanted = Callable[[Event], bool]
_Ends = frozenset[str]
"""How ways end: kinds of ``End``, ``""`` for going on behind the last step, ``_CALL`` where they come to a wanted call."""

_CALL = "call"
_COMES: _Ends = frozenset({_CALL})
_GOES_ON: _Ends = frozenset({""})
_FAILS: _Ends = frozenset({"raise", "exit"})


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
    waits = [event for event in stage.events if _is_one(event, other.rank, sends=not sends) and Step(event).blocks]
    messages = (event for one in (stage, other) for event in one.events if event.name in PASSING)
    if not passed or not waits or not all(map(is_told, messages)):
        return None
    waiting = _Walk(waits.__contains__, ways.loops(other))
    ends = waiting.ways(stage.trace)
    if _CALL not in ends or not ends <= _COMES | _FAILS:
        return None
    silence = _Silence(passed.__contains__, ways, other)
    if _CALL in silence.ways(other.trace) or silence.test is None:
        return None
    event, test = waits[0], silence.test
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


class _Walk:
    """How the ways of a process end that come to a wanted call, or go past all of them, whatever it is told.

    ``turning`` tells the loops that are taken to make turns.
    """

    def __init__(self, wanted: _Wanted, turning: frozenset[Hashable]) -> None:
        self.wanted = wanted
        self.turning = turning

    def ways(self, nodes: list[Any]) -> _Ends:
        """Of some steps one after the other."""
        ends: _Ends = frozenset()
        for node in nodes:
            found = self._of(node)
            ends |= found - _GOES_ON
            if "" not in found:
                return ends
        return ends | _GOES_ON

    def _of(self, node: Any) -> _Ends:
        if isinstance(node, Event):
            return _COMES if self.wanted(node) else _GOES_ON
        if isinstance(node, Hole):
            return self._hidden(node)
        if isinstance(node, End):
            return frozenset({node.kind})
        if isinstance(node, Branch):
            # an exception that is not certain keeps nobody from waiting, and lets nobody off
            return self.ways(node.arms[0]) if node.fails else self._chosen(node, [*map(self.ways, node.arms)])
        if isinstance(node, Frame):
            return _renamed(self.ways(node.body), "return")
        if isinstance(node, Round):
            found = self._turns([node.body])
            return found if node.key in self.turning or node.count else found | _GOES_ON
        if isinstance(node, Laps):
            return self._turns(node.turns)
        if isinstance(node, Attempt):
            return self._attempt(node)
        return _GOES_ON

    def _hidden(self, hole: Hole) -> _Ends:
        """Of a call that is not seen into."""
        return _GOES_ON

    def _chosen(self, branch: Branch, arms: list[_Ends]) -> _Ends:
        """Of a test: any of its arms."""
        return frozenset().union(*arms)

    def _turns(self, turns: list[list[Any]]) -> _Ends:
        """Of turns of a loop one after the other."""
        ends: _Ends = frozenset()
        for turn in turns:
            found = _renamed(self.ways(turn), "continue")
            ends |= _renamed(found - _GOES_ON, "break")
            if "" not in found:
                return ends
        return ends | _GOES_ON

    def _attempt(self, node: Attempt) -> _Ends:
        """Of ``try``: handlers take what its body certainly raises, and all but a failure of a context come to its end."""
        found = self.ways(node.body)
        if "raise" in found and node.handlers:
            found = frozenset().union(found - {"raise"}, *map(self.ways, node.handlers))
        if "" in found:
            found = found - _GOES_ON | self.ways(node.orelse)
        leaving = found - _COMES - (_FAILS if node.unless_raised else frozenset())
        if not leaving:
            return found
        final = self.ways(node.final)
        return found - leaving | final - _GOES_ON | (leaving if "" in final else frozenset())


class _Silence(_Walk):
    """How a process may go past all wanted calls, whatever tests say that are not its own to decide.

    ``test`` is the last one that has to go another way for that.
    """

    def __init__(self, wanted: _Wanted, all_ways: Ways, stage: Stage) -> None:
        super().__init__(wanted, frozenset())
        self.all_ways = all_ways
        self.stage = stage
        self.test: Branch | None = None

    def _hidden(self, hole: Hole) -> _Ends:
        """It may be one of them."""
        return _COMES if matters(hole, self.stage) else _GOES_ON

    def _chosen(self, branch: Branch, arms: list[_Ends]) -> _Ends:
        """The arms that go past the calls where the process decides alone, those that end a loop or function first."""
        silent = [one for one in arms if _CALL not in one]
        if not silent or not self.all_ways.decides_alone(branch, self.stage):
            return super()._chosen(branch, arms)
        leaving = [one for one in silent if "" not in one and one.isdisjoint(_FAILS)]
        if leaving or len(silent) < len(arms):
            self.test = branch
        return leaving[0] if leaving else super()._chosen(branch, silent)


def _renamed(ends: _Ends, kind: str) -> _Ends:
    """Ends that only end a loop or call: behind it the way goes on."""
    return ends - {kind} | _GOES_ON if kind in ends else ends
