"""Tensors of a model that a wrapper does not know, in the rehearsal of a program: each process keeps what it drew.

Source: torch 2.13, ``nn/parallel/distributed.py``, ``__init__``, and ``distributed/utils.py``, ``_sync_module_states``: parameters and
buffers are sent to all processes when a model is wrapped. A tensor that is an attribute only is neither. Buffers that the wrapper is told
not to send (``broadcast_buffers=False``) are left alone: each process may be meant to have its own.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_empty import only_reads, things_in
from distlint.link.modules import FunctionRef
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.libraries import GRADIENTS_KEPT
from distlint.rehearsal.notes import KEPT_BY_EACH
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Given, Tensor, Thing

BUFFERS = "names of buffers by their modules"
_PLAIN = "tensors in wrapped models that nobody sends"
_MOST = 500


def registered(player: Any, module: Thing, given: Given) -> None:
    """``register_buffer``: the module refers to the tensor from here on."""
    name, value = given.get("name", 0), given.get("tensor", 1, None)
    if isinstance(value, Tensor):
        value.copied = False
    player.stage.kept.setdefault(BUFFERS, {}).setdefault(id(module), (module, set()))[1].add(name)


def wrapped(player: Any, wrapper: Any) -> None:
    """A model was wrapped: what each process drew for itself, and the wrapper does not send, stays as it is."""
    stage = player.stage
    given = wrapper.arguments
    if stage.unsure or given is None or given.open or wrapper.group is not stage.everyone:
        return
    buffers = stage.kept.get(BUFFERS, {})
    kept = stage.kept.setdefault(_PLAIN, {})
    for thing in things_in(wrapper.inner):
        own = buffers.get(id(thing), (None, ()))[1]
        for name, value in thing.attributes.items():
            if type(value) is not Tensor or value.gradient or name in own:
                continue
            if value.source is not None and value.source.drawn and len(kept) < _MOST:
                kept[id(thing), name] = [thing, value, wrapper, stage.strangers, False]


def called(player: Any, thing: Thing, method: Any) -> None:
    """An object of the project is called: its own method reads the tensors that it names."""
    stage = player.stage
    kept = stage.kept.get(_PLAIN)
    if not kept or stage.unsure or not isinstance(getattr(method, "ref", None), FunctionRef):
        return
    for (owner, name), row in list(kept.items()):
        _, tensor, wrapper, strangers, _ = row
        if owner != id(thing):
            continue
        untouched = thing.attributes.get(name) is tensor and stage.strangers == strangers
        if not untouched or not only_reads(stage.project, thing, method.ref, name):
            del kept[owner, name]
        elif wrapper.calls and not stage.kept.get(GRADIENTS_KEPT):
            row[-1] = True


def passed_back(player: Any, wrapper: Any, call: ir.Call, scope: Any) -> None:
    """A backward pass through a wrapper: the gradients of different functions are averaged."""
    stage = player.stage
    kept = stage.kept.get(_PLAIN)
    if not kept or stage.unsure:
        return
    for key, (thing, tensor, own, _, used) in list(kept.items()):
        if own is not wrapper or not used:
            continue
        del kept[key]
        if tensor.source is None or not tensor.source.drawn or thing.attributes.get(key[1]) is not tensor:
            continue
        event = Event("backward", call, scope.file, scope.function, {})
        event.chain = stage.chain
        span: Span = tensor.at or event.span
        words = {
            "name": key[1],
            "wrapper": wrapper.span,
            "seed": tensor.source.span,
            "why": tensor.source.why,
        }
        stage.faults.append(Fault(KEPT_BY_EACH, span, event, words))
