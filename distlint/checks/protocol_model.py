"""The protocols that rule files declare: objects, the events of their lives, states, moves between them, and faults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from distlint.model.record import dataclass

State = tuple[str, ...]
"""The values of a protocol's variables, in their order."""


class Role(NamedTuple):
    """Another object that belongs to the one that is followed.

    ``argument`` and ``position`` name the argument of the call that made it; ``parameters`` says that this holds the
    parameters of the object rather than the object itself. ``family`` says that wrappers around it, and what it
    wraps itself, count as well.
    """

    name: str
    argument: str
    position: int | None
    parameters: bool
    family: bool


class Pattern(NamedTuple):
    """One way in which an event shows in the program; see ``docs/protocols.md``."""

    methods: frozenset[str]
    of: str
    makers: tuple[str, ...]
    made_with: str
    calls: tuple[str, ...]
    object: str
    takes: str
    takes_parameters: str
    source: str
    not_source: str
    block: str
    stores: frozenset[str]
    words: tuple[tuple[str, int | None, Any], ...]
    without: frozenset[str]
    passes: tuple[tuple[str, int | None], ...]
    given: tuple[int, int]
    source_calls: frozenset[str]
    not_source_calls: frozenset[str]
    source_made_by: tuple[str, ...]
    reach: str
    value: Any
    value_made_by: tuple[str, ...]
    some_ranks: bool
    takes_made_by: tuple[str, ...]
    takes_holder: bool

    @property
    def is_told(self) -> bool:
        """Whether it is a method that is told by one argument, true or false, to be this event."""
        return bool(self.methods) and len(self.words) == 1 and isinstance(self.words[0][2], bool)


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """What an event does to the state, under conditions on it; ``says`` is the note for a message.

    ``chained``: a fault that rests on it counts only if nothing but such a move may come in the state before.
    """

    event: str
    when: Mapping[int, frozenset[str]]
    set: Mapping[int, str]
    says: str
    chained: bool


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """An event that must not come in a state.

    ``at`` is where to point: ``event``, ``source``, ``made``, or a variable (where it got its value). ``says``, ``source_says`` and
    ``made`` are the notes for the event, the source and the call that made the object, where these are shown beside. ``in_rounds``:
    it also counts where it comes in the passes between those that begin or end a round. ``alone``: it counts only where the program has no
    second such call, and ``unless_called`` are last names of calls that may do what it leaves undone.
    """

    event: str
    when: Mapping[int, frozenset[str]]
    message: str
    at: str
    ways: str
    says: str
    source_says: str
    made: str
    in_rounds: bool
    alone: bool
    unless_called: frozenset[str]


class Protocol(NamedTuple):
    """A protocol as a rule file declares it."""

    makers: tuple[str, ...]
    program: bool
    part: tuple[int | str, ...]
    roles: Mapping[str, Role]
    variables: tuple[str, ...]
    start: State
    events: Mapping[str, tuple[Pattern, ...]]
    moves: tuple[Move, ...]
    faults: tuple[Fault, ...]
    harmless: tuple[str, ...]
    needs: frozenset[str]
    needs_any: frozenset[str]
    given_to: tuple[str, ...]
    argument: tuple[str, int]
    except_given: frozenset[str]
    idle: Mapping[str, Any]
    known: tuple[str, ...]
    first_only: bool
    often: bool
    stops: bool
    tells: Mapping[str, Mapping[int, frozenset[str]]]

    def names(self) -> set[str]:
        """The last names of the calls and methods by which events show."""
        found: set[str] = set()
        for patterns in self.events.values():
            for one in patterns:
                found |= one.methods
                found |= {name.rpartition(".")[2] for name in one.calls}
        return found | {name.rpartition(".")[2] for name in self.makers}

    def stored(self) -> tuple[set[str], set[str]]:
        """The attributes whose assignment is an event, and the last names of what is assigned where any attribute will do."""
        patterns = [one for every in self.events.values() for one in every]
        names = {name for one in patterns for name in one.stores if name != "*"}
        return names, {made for one in patterns if "*" in one.stores for made in one.value_made_by}


def protocol_of(parameters: Mapping[str, Any]) -> Protocol:
    """Reads a rule's parameters, equal ones once. Raises ``ValueError`` where they name what is not declared."""
    return _protocol(json.dumps(parameters))


@lru_cache(maxsize=512)
def _protocol(text: str) -> Protocol:
    parameters = json.loads(text)
    made = parameters.get("object", ())
    program = made == "program"
    start = parameters.get("start", {})
    variables = tuple(start)
    events = {name: tuple([_pattern(one) for one in given]) for name, given in parameters["events"].items()}
    moves = tuple(
        [
            Move(
                event,
                _when(one.get("when", {}), variables),
                _set(one["set"], variables),
                one.get("says", ""),
                bool(one.get("chained", False)),
            )
            for one in parameters.get("moves", ())
            for event in _listed(one["on"])
        ]
    )
    faults = tuple(
        [
            Fault(
                event,
                _when(one.get("when", {}), variables),
                one["message"],
                one.get("at", "event"),
                one.get("ways", "either"),
                one.get("says", ""),
                one.get("source-says", ""),
                one.get("made-says", ""),
                bool(one.get("in-rounds", False)),
                bool(one.get("alone", False)),
                frozenset(_listed(one.get("unless-called", ()))),
            )
            for one in parameters["faults"]
            for event in _listed(one["on"])
        ]
    )
    for event in {one.event for one in moves} | {one.event for one in faults}:
        if event not in events and event not in ("end", "made"):
            raise ValueError(f"no event {event!r} is declared")
    return Protocol(
        makers=() if program else tuple(_listed(made)),
        program=program,
        part=tuple(parameters.get("part", ())),
        roles={name: _role(name, one) for name, one in parameters.get("roles", {}).items()},
        variables=variables,
        start=tuple(start.values()),
        events=events,
        moves=moves,
        faults=faults,
        harmless=tuple(parameters.get("harmless", ("torch.", "torchvision.", "numpy.", "logging.", "tqdm."))),
        needs=frozenset(parameters.get("needs", ())),
        needs_any=frozenset(parameters.get("starts", ())),
        given_to=tuple(parameters.get("given-to", ())),
        argument=(parameters.get("argument", "module"), parameters.get("position", 0)),
        except_given=frozenset(parameters.get("unless-given", ())),
        idle=parameters.get("idle-with", {}),
        known=tuple(parameters.get("known", ())),
        first_only=bool(parameters.get("first-only", False)),
        often=bool(parameters.get("often", False)),
        stops=bool(parameters.get("stops", False)),
        tells={name: _when(one, variables) for name, one in parameters.get("tells", {}).items()},
    )


def _role(name: str, given: Mapping[str, Any]) -> Role:
    return Role(
        name,
        given.get("argument", ""),
        given.get("position"),
        bool(given.get("parameters", False)),
        bool(given.get("family", False)),
    )


def _pattern(given: Mapping[str, Any]) -> Pattern:
    of = given.get("of", "self")
    makers = () if isinstance(of, str) else tuple(of)
    words = given.get("given", {})
    return Pattern(
        methods=frozenset(_listed(given.get("method", ()))),
        of="" if makers else of,
        makers=makers,
        made_with=given.get("made-with", ""),
        calls=tuple(_listed(given.get("call", ()))),
        object=given.get("object", ""),
        takes=given.get("takes", ""),
        takes_parameters=given.get("takes-parameters", ""),
        source=given.get("from", ""),
        not_source=given.get("not-from", ""),
        block=given.get("block", ""),
        stores=frozenset(_listed(given.get("store", ()))),
        words=tuple([(name, given.get("positions", {}).get(name), value) for name, value in words.items()]),
        without=frozenset(_listed(given.get("without", ()))),
        passes=tuple(given.get("passes", {}).items()),
        given=(given.get("least", 0), given.get("most", 1_000)),
        source_calls=frozenset(_listed(given.get("from-call", ()))),
        not_source_calls=frozenset(_listed(given.get("not-from-call", ()))),
        source_made_by=tuple(_listed(given.get("from-made-by", ()))),
        reach=given.get("reach", ""),
        value=given.get("value"),
        value_made_by=tuple(_listed(given.get("value-made-by", ()))),
        some_ranks=given.get("ranks", "") == "some",
        takes_made_by=tuple(_listed(given.get("takes-made-by", ()))),
        takes_holder=bool(given.get("takes-holder", False)),
    )


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, str) else list(given)


def _when(given: Mapping[str, Any], variables: tuple[str, ...]) -> dict[int, frozenset[str]]:
    return {_index(name, variables): frozenset(_listed(values)) for name, values in given.items()}


def _set(given: Mapping[str, str], variables: tuple[str, ...]) -> dict[int, str]:
    return {_index(name, variables): value for name, value in given.items()}


def _index(name: str, variables: tuple[str, ...]) -> int:
    if name not in variables:
        raise ValueError(f"no variable {name!r} is declared under `start`")
    return variables.index(name)
