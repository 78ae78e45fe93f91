"""Which parameters need a gradient, as far as the program has said it, in the rehearsal of a program.

Sources: torch 2.13, ``nn/parameter.py``: a parameter needs one from the start; ``nn/modules/module.py``, ``requires_grad_``: what is said
of a module is said of all its parameters.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Tensor

FROZEN = "layers and parameters that were frozen at some time"

_SAID = "what was said of the gradients of parameters"
_IN_PART = "whether parameters were told of their gradients in loops of which not all turns are followed"
_ALL = ""
_MOST = 2_000
_WHOLE = ("int", "uint", "bool")


def said(player: Any, what: Any, parts: Iterable[Any], wanted: Any) -> None:
    """It is said of a parameter, or of a module with its ``parts``; of which of them, and what, may not be known."""
    stage = player.stage
    kept = stage.kept.setdefault(_SAID, {})
    if stage.loops or stage.unsure:
        stage.kept[_IN_PART] = True
    value = wanted if isinstance(wanted, bool) and not stage.unsure else UNKNOWN
    name = getattr(what, "name", _ALL)
    owners = getattr(what, "owners", ())
    parts = list(parts)
    for one in (what, *parts):
        if isinstance(one, Tensor) and not owners:
            one.gradient = value if isinstance(value, bool) else None
    for part in parts:
        if id(part) not in kept and len(kept) >= _MOST:
            continue
        about = kept.setdefault(id(part), (part, {}))[1]
        if not owners:
            about.clear()
            about[_ALL] = value
        elif len(owners) == 1 and name:
            about[name] = value
        else:
            about.clear()
            about[_ALL] = UNKNOWN  # one of several, or one that stands for all
    if not owners and hasattr(what, "owners") and len(kept) < _MOST:
        kept[id(what)] = (what, {_ALL: value})


def was_told_in_part(player: Any) -> bool:
    """Whether something was said of parameters on some way, or in some turn of a loop, so that there may be more of it."""
    return bool(player.stage.kept.get(_IN_PART))


def has_none(value: Tensor) -> bool:
    """Whether a tensor needs no gradient: it is said so of it, or it holds whole numbers, which never do."""
    return value.gradient is False or value.dtype.startswith(_WHOLE)


def certainly_needs(player: Any, weight: Any) -> bool:
    """Whether a parameter certainly needs a gradient now."""
    return needs_gradient(player, weight) is True


def all_frozen(player: Any, layer: Any, weights: Iterable[tuple[str, Any]] | None) -> bool:
    """Whether none of the parameters of a layer needs a gradient now; ``weights`` is ``None`` where they are not known one by one."""
    if weights is None:
        found = player.stage.kept.get(_SAID, {}).get(id(layer))
        return found is not None and set(found[1]) == {_ALL} and found[1][_ALL] is False
    return all(needs_gradient(player, one) is False for _, one in weights)


def parted(player: Any, whole: Any, part: Any) -> None:
    """A part of a module comes into sight: what was said of the module was said of it."""
    kept = player.stage.kept
    frozen, about = kept.get(FROZEN, {}), kept.get(_SAID, {}).get(id(whole))
    if id(whole) in frozen:
        frozen[id(part)] = part
    if about is not None:
        kept[_SAID][id(part)] = (part, dict(about[1]))


def needs_gradient(player: Any, weight: Any) -> Any:
    """Whether a parameter needs a gradient now: true, false, or not known."""
    kept = player.stage.kept
    frozen = kept.get(FROZEN, {})
    if not weight.owners:
        found = kept.get(_SAID, {}).get(id(weight))
        unsaid = UNKNOWN if id(weight) in frozen else True
        return unsaid if found is None else found[1][_ALL]
    if not any(id(one) in frozen for one in (weight, *weight.owners)):
        return True
    about = kept.get(_SAID, {}).get(id(weight.owners[0]), (None, {}))[1]
    if len(weight.owners) > 1 or not weight.name:
        return UNKNOWN
    # a layer of which another parameter was frozen has the rest as it was
    return about.get(weight.name, about.get(_ALL, True if about else UNKNOWN))
