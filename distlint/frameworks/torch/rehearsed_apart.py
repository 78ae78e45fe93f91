"""Parameters that a sharded model ignores, in the rehearsal of a program.

Sources: torch 2.13, ``distributed/fsdp``: parameters that are ignored are neither sharded nor reduced.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.frameworks.torch.rehearsed_modules import Layer, Parameters, parts_of_model
from distlint.frameworks.torch.rehearsed_needs import FROZEN
from distlint.frameworks.torch.rehearsed_weights import Weight
from distlint.model import python as ir
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Items, Thing

IGNORED = "ignored parameters trained"
"""Fault: parameters that nobody reduces are stepped."""

_ASIDE = "parameters that sharded models ignore"
_GIVEN = ("ignored_modules", "ignored_states", "ignored_parameters", "ignored_params")


def ignored(player: Any, wrapper: Any) -> None:
    """A model is sharded, perhaps without some of its parameters."""
    given = wrapper.arguments
    if given is None or given.open or player.stage.unsure:
        return
    for listed in _listed(given):
        parts = _parts_of_list(player, listed)
        if parts:
            player.stage.kept.setdefault(_ASIDE, []).append((wrapper, parts))


def left_aside(player: Any, wrapper: Any) -> list[Any] | None:
    """The layers and parameters that are left alone where a model is sharded; ``None`` where they are not known."""
    found: list[Any] = []
    for listed in _listed(wrapper.arguments) if wrapper.arguments is not None else ():
        parts = _parts_of_list(player, listed)
        if not parts:
            return None
        found += parts
    return found


def _listed(given: Any) -> Iterator[Any]:
    for name in _GIVEN:
        listed = given.get(name, None, None)
        if listed is not None:
            yield listed


def _parts_of_list(player: Any, listed: Any) -> list[Any]:
    rows: Any = player.items_of(listed) if isinstance(listed, Items | Parameters) else None
    if isinstance(listed, Parameters) and rows is None:
        return list(parts_of_model(listed.module))
    if isinstance(listed, Items) and rows is None:
        return _parts(listed.sample)  # one of a set
    return [part for row in rows or () for part in _parts(row)]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Weight):
        return [value]
    if isinstance(value, Layer | Thing):
        return [one for one in parts_of_model(value) if isinstance(one, Weight) or one.has_parameters]
    return []


def stepped(player: Any, parameters: Any, call: ir.Call, scope: Any) -> None:
    """An optimizer steps all parameters of a module: those too that a wrapper leaves to each process."""
    stage = player.stage
    module = parameters.module if isinstance(parameters, Parameters) else None
    if module is None or stage.unsure or not stage.kept.get("backward"):
        return
    frozen = stage.kept.get(FROZEN, {})
    for wrapper, parts in stage.kept.get(_ASIDE, ()):
        own = [one for one in parts if id(one) not in frozen and not any(id(it) in frozen for it in _owners(one))]
        if own and module in (wrapper, wrapper.inner) and wrapper.group is stage.everyone:
            event = Event("step", call, scope.file, scope.function, {})
            event.chain = stage.chain
            stage.faults.append(Fault(IGNORED, wrapper.span, event, {"step": event.span}))


def _owners(part: Any) -> list[Any]:
    found: list[Any] = getattr(part, "owners", [])
    return found
