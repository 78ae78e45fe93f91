"""Models that get another type after they were wrapped, in the rehearsal of a program.

Sources: torch 2.13, ``nn/modules/module.py``, ``_apply`` sets ``param.data``; ``csrc/autograd/variable.cpp``, ``set_data``: a tensor of
another type or device gets a new gradient accumulator; ``nn/parallel/distributed.py``: the hooks of the reducer sit on those of the wrap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from distlint.frameworks.torch.rehearsed_shapes import DTYPES, dtype_of
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.rehearsal.notes import CONVERTED_BEHIND
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Given, Tensor

_TYPES = "types of the parameters of layers"
_BEHIND = "layers that got another type since their model was wrapped"
_DEFAULTS = ("set_default_dtype", "set_default_tensor_type")
_FLOATING = frozenset({"float16", "float32", "float64", "bfloat16"})
_PLACES = re.compile(r"device|^dev$|cuda|gpu|rank", re.IGNORECASE)
_MOST = 2_000
_OWN = ("half", "float", "double", "bfloat16")


def converted(player: Any, parts: Iterable[Any], name: str, given: Given, call: ir.Call, scope: Any) -> None:
    """A method that may give a module another type is called of it; ``parts`` are its layers and parameters."""
    wanted = _wanted(name, given, call)
    if wanted is None:
        return
    stage, span = player.stage, ir.unpack(call.at, scope.file)
    types, behind = stage.kept.setdefault(_TYPES, {}), stage.kept.setdefault(_BEHIND, {})
    for part in parts:
        before = _type_of(stage, part)
        if id(part) in types or len(types) < _MOST:
            types[id(part)] = (part, wanted if not stage.unsure else "")
        if not wanted or not before or stage.unsure or not part.synced or part.sharded:
            behind.pop(id(part), None)
        elif wanted != before and getattr(part, "has_parameters", True):
            behind[id(part)] = (part, span, stage.chain, before, wanted)


def _wanted(name: str, given: Given, call: ir.Call) -> str | None:
    """The type that a call asks for; ``None`` where it asks for none, ``""`` where it is not known."""
    if name in _OWN:
        return DTYPES[name]
    if name not in ("to", "type"):
        return None
    asked = [*given.positional, *(given.keywords[word] for word in ("dtype", "dst_type") if word in given.keywords)]
    found = [_named(one) for one in asked]
    known = [one for one in found if one]
    if given.open or known:
        return known[0] if known else ""
    # what is not known and goes by such a name is where the model goes to, not what it becomes
    if len(asked) == 1 and call.args and _is_place(call.args[0]):
        return None
    return "" if "" in found else None


def _named(value: Any) -> str | None:
    """The type that an argument is; ``None`` for what is none, ``""`` for what may be one."""
    if value is None or isinstance(value, bool | int | str):
        return None
    if isinstance(value, Tensor):
        return value.dtype
    found = dtype_of(value) or ""
    return found if found in _FLOATING else ""


def _is_place(expr: ir.Expr) -> bool:
    """Whether an expression is a device, as far as names tell."""
    words = (
        part.id
        if type(part) is ir.Name
        else part.name
        if type(part) is ir.Attribute
        else part.value
        if type(part) is ir.Constant
        else ""
        for part in below(expr)
    )
    return any(isinstance(word, str) and _PLACES.search(word) for word in words)


def _type_of(stage: Any, part: Any) -> str:
    """The type of the parameters of a layer, or of a parameter; ``""`` where it is not known."""
    known = stage.kept.get(_TYPES, {}).get(id(part))
    if known is not None:
        return str(known[1])
    if isinstance(part, Tensor):
        return part.dtype
    given = part.arguments
    if given is None or given.open or "dtype" in given.keywords or part.stored:
        return ""
    return "" if any(stage.project.sites(name) for name in _DEFAULTS) else "float32"


def rewrapped(player: Any, parts: Iterable[Any]) -> None:
    """A wrapper is made of layers: its hooks are on what they are now."""
    behind = player.stage.kept.get(_BEHIND, {})
    for part in parts:
        behind.pop(id(part), None)


def passed_back(player: Any, wrapper: Any, parts: Iterable[Any], call: ir.Call, scope: Any) -> None:
    """A backward pass through a wrapper: nothing tells it of the gradients of layers that got another type."""
    stage = player.stage
    behind = stage.kept.get(_BEHIND, {})
    if not behind or stage.unsure or wrapper.sharded or wrapper.group is not stage.everyone:
        return
    found = next((behind[id(one)] for one in parts if id(one) in behind), None)
    if found is None:
        return
    _, span, chain, before, after = found
    behind.clear()
    event = Event("backward", call, scope.file, scope.function, {})
    event.chain = chain
    words = {"wrapper": wrapper.span, "backward": event.span, "before": before, "after": after}
    stage.faults.append(Fault(CONVERTED_BEHIND, span, event, words))
