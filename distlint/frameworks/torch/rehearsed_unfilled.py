"""States of optimizers that have nothing for a checkpoint to be loaded into, in the rehearsal of a program.

Sources: torch 2.13, ``distributed/checkpoint/state_dict_loader.py`` (``load`` fills what the given state holds, and leaves the
rest in the checkpoint; of objects with a ``state_dict`` it takes that, and loads it into them afterwards), ``optim/optimizer.py``
(``state_dict`` has no entry of a parameter that was never stepped), ``distributed/checkpoint/state_dict.py`` (``_init_optim_state``: the
functions there make the entries first).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from distlint.frameworks.torch.rehearsed_resumed import Resumed
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.entities import FunctionValue
from distlint.rehearsal.held import held_in
from distlint.rehearsal.notes import UNFILLED
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Made, Table, Thing

_LATE = frozenset(
    f"torch.optim.{name}()"
    for name in [
        "Adam",
        "AdamW",
        "Adamax",
        "NAdam",
        "RAdam",
        "RMSprop",
        "Adadelta",
        "Rprop",
        "ASGD",
        "Adafactor",
        "SparseAdam",
        "Muon",
    ]
)
"""Optimizers whose first step makes the entries of their state; those of ``Adagrad`` are there from the start."""
_LOOKING = frozenset({"get", "items", "keys", "values"})
_MOMENTUM = "torch.optim.SGD()"
_DEEP = 3
_FOUND = "checkpoints loaded into what has no entries"


class Entries(Resumed):
    """What has a state with entries of parameters, as an optimizer has."""

    __slots__ = ("lacking", "touched")

    def __init__(self, name: str, call: ir.Call, given: Given) -> None:
        super().__init__(name, call, given)
        self.touched = False
        """Whether there may be entries: it has stepped, or somebody may have put them in."""
        self.lacking: State | None = None
        """What it has loaded without the entries that a checkpoint has."""


class View(Made):
    """``optimizer.state``: its entries, which the program may look at and may put in by itself."""

    __slots__ = ("owner",)

    def __init__(self, owner: Entries) -> None:
        super().__init__("entries of an optimizer")
        self.owner = owner
        owner.handled += 1

    def part(self, player: Any, index: Any, span: Span) -> Any:
        """The entry of a parameter: asked for, it is there."""
        self.owner.touched = True
        return UNKNOWN

    def put(self, player: Any, index: Any, value: Any) -> None:
        """An entry is put in."""
        self.owner.touched = True

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """Entries may be put in, other than by those that give what is there."""
        self.owner.touched = self.owner.touched or name not in _LOOKING
        return NotImplemented


class State(Made):
    """What ``optimizer.state_dict()`` gave: ``empty`` if no parameter has an entry."""

    __slots__ = ("empty", "filled", "owner", "span")

    def __init__(self, owner: Entries, call: ir.Call, span: Span, *, empty: bool) -> None:
        super().__init__("state of an optimizer", call)
        self.owner = owner
        self.span = span
        self.empty = empty
        self.filled: Filling | None = None


class Filling(NamedTuple):
    """Where a checkpoint was loaded into a state, the calls that lead there, the way of tests that did, and what these rest on."""

    span: Span
    chain: tuple[Span, ...]
    way: tuple[int, ...]
    reasons: tuple[Any, ...]


def taken(player: Any, optimizer: Entries, call: ir.Call, scope: Any) -> Any:
    """``optimizer.state_dict()``."""
    optimizer.handled += 1
    return State(optimizer, call, ir.unpack(call.at, scope.file), empty=_is_empty(player, optimizer))


def _is_empty(player: Any, optimizer: Entries) -> bool:
    """Whether an optimizer certainly has no entries yet, and will have some: in a later turn of a loop it may have stepped."""
    if (
        optimizer.touched
        or "state" in optimizer.stored
        or (player.stage.unsure and (player.stage.loops or player.stage.repeating))
        or optimizer.arguments is None
        or optimizer.arguments.open
    ):
        return False
    if optimizer.name == _MOMENTUM:
        momentum = optimizer.arguments.get("momentum", 2, 0)
        return isinstance(momentum, float) and momentum > 0
    return optimizer.name in _LATE


def touched(values: Iterable[Any]) -> None:
    """Values, and what is in them, go where entries may be made."""
    for value in held_in(values):
        touch(value)


def touch(value: Any) -> None:
    """An optimizer goes where entries may be made, or another state be loaded."""
    if isinstance(value, View):
        value.owner.touched = True
    elif isinstance(value, Entries):
        value.touched = True
    if isinstance(value, Resumed):
        value.handled += 1


def filled(player: Any, state: Table, call: ir.Call, scope: Any, *, objects: bool, depth: int = 0) -> None:
    """A checkpoint is loaded into a dictionary; with ``objects`` also into those that give a state and take one."""
    span = ir.unpack(call.at, scope.file)
    for value in list(state.items.values()) if depth < _DEEP else ():
        if isinstance(value, Table):
            filled(player, value, call, scope, objects=objects, depth=depth + 1)
        elif isinstance(value, State):
            _fill(player, value, span)
        elif objects and isinstance(value, Thing):
            _through(player, value, call, scope, depth)
        elif objects and isinstance(value, Entries):
            inner = taken(player, value, call, scope)
            _fill(player, inner, span)
            loaded(player, value, inner)


def _fill(player: Any, state: State, span: Span) -> None:
    stage = player.stage
    state.filled = Filling(span, stage.chain, tuple(stage.contexts), tuple(stage.reasons))
    found = stage.kept.get(_FOUND, {}).get((id(state.owner), span))
    if found is not None and not state.empty and found in stage.faults:
        stage.faults.remove(found)  # in a later turn of a loop there is something to be filled


def _through(player: Any, thing: Thing, call: ir.Call, scope: Any, depth: int) -> None:
    """An object of the project gives its state, and takes it when the checkpoint was loaded into that."""
    methods = [player.stage.project.modules.method(thing.cls, name) for name in ("state_dict", "load_state_dict")]
    if None in methods:
        return
    given, taking = (FunctionValue(method, None, thing) for method in methods)
    state = player.call_function(given, Given([], {}), call, scope)
    if isinstance(state, Table):
        filled(player, state, call, scope, objects=False, depth=depth + 1)
        player.call_function(taking, Given([state], {}), call, scope)


def loaded(player: Any, optimizer: Entries, state: Any) -> None:
    """``optimizer.load_state_dict(state)``."""
    filled = state.filled if isinstance(state, State) and state.empty else None
    if filled is not None and player.stage.is_sure_for(filled.way) and _is_empty(player, optimizer):
        optimizer.lacking = state
    else:
        optimizer.touched = True


def _comes_behind(player: Any, filling: Filling) -> bool:
    """Whether what is done here is done behind the way on which a state was filled, and not on another way of its tests."""
    stage = player.stage
    here = tuple(stage.contexts)
    common = next((at for at, pair in enumerate(zip(here, filling.way, strict=False)) if pair[0] != pair[1]), len(here))
    if common >= len(filling.way):
        return True
    return not any(one is other for one in stage.reasons for other in filling.reasons[common:])


def stepped(player: Any, optimizer: Entries, call: ir.Call, scope: Any) -> None:
    """An optimizer takes a step: with no entries it begins anew."""
    state, optimizer.lacking = optimizer.lacking, None
    if (
        state is not None
        and state.filled is not None
        and not optimizer.touched
        and _comes_behind(player, state.filled)
        and optimizer.call is not None
    ):
        place, chain = state.filled[:2]
        event = Event("load", call, scope.file, scope.function, {})
        event.chain = chain
        made = ir.unpack(optimizer.call.at, optimizer.file)
        fault = Fault(UNFILLED, place, event, {"made": made, "taken": state.span, "step": event.span})
        player.stage.faults.append(fault)
        player.stage.kept.setdefault(_FOUND, {})[(id(optimizer), place)] = fault
    optimizer.touched = True
