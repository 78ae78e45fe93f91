"""Optimizers that were made before their model was sharded, or got other layers, in the rehearsal of a program.

Sources: torch 2.13, ``distributed/fsdp/_fully_shard/_fsdp_param.py`` and ``distributed/fsdp/_flat_param.py``: sharding puts new parameters
into the modules; ``optim/optimizer.py``, ``add_param_group``: an optimizer keeps the tensors that it was made with.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_apart import left_aside
from distlint.frameworks.torch.rehearsed_beside import has_weights, modules_held, modules_of
from distlint.frameworks.torch.rehearsed_modules import Layer, with_parts
from distlint.frameworks.torch.rehearsed_needs import FROZEN
from distlint.frameworks.torch.rehearsed_regrouped import regroups
from distlint.frameworks.torch.rehearsed_weights import Weight
from distlint.link.modules import FunctionRef
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.iterators import Generated
from distlint.rehearsal.notes import REPLACED_BEHIND, SHARDED_BEHIND
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Items, Table, Thing

_MADE = "optimizers, and the calls that lead to where they are made"
_SHARDED = "layers that were sharded, and where"
_STALE = "optimizers whose parameters were sharded since they were made"
_REPLACED = "optimizers whose layers were replaced since they were made"
_MOST = 64


def made(player: Any, optimizer: Any) -> None:
    """An optimizer is made: it takes all that an iterator gives."""
    given = optimizer.arguments.get("params", 0)
    if isinstance(given, Generated):
        optimizer.held = tuple(player.items_of(given) or ())
    for group in (player.items_of(given) or ()) if isinstance(given, Items | tuple) else optimizer.held or ():
        if isinstance(group, Table):
            takes_all(player, group)
    rows = player.stage.kept.setdefault(_MADE, [])
    if len(rows) < _MOST:
        rows.append((optimizer, player.stage.chain))
    player.stage.kept.pop(_REPLACED, None)  # the new layers are this one's, perhaps
    _holds_old(player, optimizer, optimizer.held or given)


def takes_all(player: Any, group: Table) -> None:
    """A group that an optimizer gets has a list of all that an iterator gives."""
    params = group.items.get("params")
    if isinstance(params, Generated) and (found := player.items_of(params)) is not None:
        group.items["params"] = tuple(found)


def added(player: Any, optimizer: Any, group: Any) -> None:
    """An optimizer certainly gets a group."""
    _holds_old(player, optimizer, group)


def _holds_old(player: Any, optimizer: Any, given: Any) -> None:
    """Some parameters that an optimizer gets were taken from their layers before these were sharded: they are in no layer any more."""
    shards = player.stage.kept.get(_SHARDED)
    for one in modules_of(player, given, sampled=True, apart=True) if shards else ():
        if (
            isinstance(one, Weight)
            and one.owners
            and one.taken is not None
            and not one.sharded
            and all(id(it) in shards for it in one.owners)
        ):
            _, span = shards[id(one.owners[0])]
            stale = player.stage.kept.setdefault(_STALE, {})
            stale[id(optimizer)] = (optimizer, span, player.stage.chain, one.taken)
            return


def all_made(stage: Any) -> list[Any]:
    """The optimizers that were made so far."""
    return [optimizer for optimizer, _ in stage.kept.get(_MADE, ())]


def sharded(player: Any, wrapper: Any) -> None:
    """A module is sharded: the parameters that optimizers took before are no longer its own."""
    stage, span = player.stage, wrapper.span
    aside = left_aside(player, wrapper)
    if stage.unsure or aside is None:
        return
    alone = {id(part) for one in aside for part in (one, *getattr(one, "owners", ()))}
    own = {id(part) for part in with_parts(wrapper.inner)} - alone
    split = stage.kept.setdefault(_SHARDED, {})
    split.update((id(part), (part, span)) for part in with_parts(wrapper.inner) if id(part) in own)
    stale = stage.kept.setdefault(_STALE, {})
    for optimizer, chain in stage.kept.get(_MADE, ()):
        given = optimizer.held or optimizer.arguments.get("params", 0)
        if isinstance(given, Generated):
            given = (given.sample,)
        if any(is_taken(one, own) for one in modules_of(player, given, sampled=True)):
            stale[id(optimizer)] = (optimizer, span, chain, None)


def is_taken(one: Any, own: set[int]) -> bool:
    """Whether some parameters of a module, or what stands for one of several, are certainly among those that are sharded."""
    if isinstance(one, Weight) and one.owners:
        return all(id(part) in own for part in one.owners)  # whichever it is
    return any(id(part) in own for part in with_parts(one))


def put_in(player: Any, base: Thing, name: str, layer: Any, span: Span) -> None:
    """A layer certainly becomes an attribute of a module: in place of one that optimizers hold, perhaps."""
    stage, old = player.stage, base.attributes.get(name)
    if not isinstance(old, Thing | Layer) or old is layer:
        return
    before = {id(part) for part in with_parts(old)}
    new = [one for one in with_parts(layer) if id(one) not in before and has_weights(one)]
    if not new:
        return
    replaced = stage.kept.setdefault(_REPLACED, {})
    for optimizer, chain in stage.kept.get(_MADE, ()):
        held = list(modules_held(player, optimizer))
        if any(is_taken(one, before) for one in held) and not any(is_taken(one, {id(layer)}) for one in held):
            replaced[id(optimizer)] = (optimizer, span, chain, new)


def _stepped_without(player: Any, optimizer: Any, event: Event) -> None:
    """An optimizer takes a step; a layer of its model that came later is not among what it holds."""
    stage = player.stage
    _, span, chain, new = stage.kept.get(_REPLACED, {}).pop(id(optimizer), (None, None, (), ()))
    if span is None or stage.unsure or optimizer.call is None or optimizer.hooks:
        return
    still = stage.kept.get(FROZEN, {})
    # since it was put in, a layer may have been frozen, or been given weights that another one has
    if any(has_weights(one) and id(one) not in still for one in new):
        event.chain = chain
        made = ir.unpack(optimizer.call.at, optimizer.file)
        stage.faults.append(Fault(REPLACED_BEHIND, span, event, {"made": made, "step": event.span}))


def refilled(player: Any, optimizer: Any) -> None:
    """An optimizer is given other parameters."""
    player.stage.kept.pop(_REPLACED, None)
    found = player.stage.kept.get(_STALE, {}).pop(id(optimizer), None)
    if found is not None and optimizer.call is not None:
        player.stage.looked_at(SHARDED_BEHIND, ir.unpack(optimizer.call.at, optimizer.file), fits=True)


def groups_asked(player: Any, optimizer: Any, scope: Any) -> None:
    """A function asks for the groups of an optimizer: to put the new parameters there, perhaps."""
    if any(id(optimizer) in player.stage.kept.get(one, {}) for one in (_STALE, _REPLACED)):
        if regroups(player.stage.project, FunctionRef(scope.file, scope.function)):
            refilled(player, optimizer)


def stepped(player: Any, optimizer: Any, call: ir.Call, scope: Any) -> None:
    """An optimizer takes a step over what it holds."""
    stage = player.stage
    _stepped_without(player, optimizer, Event("step", call, scope.file, scope.function, {}))
    _, span, chain, taken = stage.kept.get(_STALE, {}).pop(id(optimizer), (None, None, (), None))
    if span is None or stage.unsure or optimizer.call is None or optimizer.hooks:
        return
    event = Event("step", call, scope.file, scope.function, {})
    event.chain = chain
    place = ir.unpack(optimizer.call.at, optimizer.file)
    stage.looked_at(SHARDED_BEHIND, place, fits=False)
    stage.faults.append(Fault(SHARDED_BEHIND, place, event, {"sharded": span, "step": event.span, "taken": taken}))
