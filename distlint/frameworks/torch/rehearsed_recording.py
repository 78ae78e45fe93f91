"""Whether gradients are recorded, and which tensors need one, in the rehearsal of a program.

Sources: torch 2.13, ``autograd/grad_mode.py``: contexts, which are decorators as well; ``set_grad_enabled`` works as soon as it is called.
A run: what is computed under ``no_grad`` has ``requires_grad`` false, and ``grad`` of such a tensor is ``None``.
"""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Made, Tensor

CONTEXTS = ("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.set_grad_enabled")
_MODE = "whether gradients are recorded"
_UNRECORDED = "tensors made since gradients are not recorded"
_MOST = 10_000


class Recording(Made):
    """``with torch.no_grad()``: while it is entered gradients are recorded, or not, or nobody knows (``wanted``)."""

    __slots__ = ("before", "wanted")

    def __init__(self, name: str, wanted: bool | None, call: ir.Call | None = None, given: Given | None = None) -> None:
        super().__init__(name, call, given)
        self.wanted = wanted
        self.before: Any = None

    def entered(self, player: Any, span: Span) -> Any:
        """From here on."""
        self.begins_here(player)
        return None

    def begins_here(self, player: Any) -> None:
        """What it is now is remembered."""
        self.before = player.stage.kept.get(_MODE)
        _switch(player, (self.wanted, tuple(player.stage.contexts)))

    def left(self, player: Any, span: Span) -> None:
        """It is as it was before."""
        _switch(player, self.before)


class _Switched(Recording):
    """``torch.set_grad_enabled(...)``: it works at once; as a context it is taken back at the end."""

    __slots__ = ()

    def entered(self, player: Any, span: Span) -> Any:
        """It works already."""
        return None


def _switch(player: Any, mode: Any) -> None:
    """Gradients are recorded from now on, or not."""
    player.stage.kept[_MODE] = mode
    player.stage.kept.pop(_UNRECORDED, None)


def made(player: Any, name: str, given: Given, call: ir.Call) -> Any:
    """What a function gives that switches it, or asks for it; ``NotImplemented`` for others."""
    if name == "torch.is_grad_enabled":
        recorded = None if player.stage.alone else is_recorded(player)
        return UNKNOWN if recorded is None else recorded
    if name not in CONTEXTS:
        return NotImplemented
    last = name.rpartition(".")[2]
    asked: Any = last == "enable_grad"
    if last in ("inference_mode", "set_grad_enabled"):
        asked = given.get("mode", 0, True if last == "inference_mode" else UNKNOWN)
        asked = (not asked if last == "inference_mode" else asked) if isinstance(asked, bool) else None
    elif given.values():
        return NotImplemented  # a function that is called so from now on
    if last != "set_grad_enabled":
        return Recording(f"{name}()", asked, call, given)
    switched = _Switched(f"{name}()", asked, call, given)
    switched.begins_here(player)
    return switched


def is_recorded(player: Any) -> bool | None:
    """Whether gradients are recorded now; ``None`` where that is not known."""
    stage = player.stage
    mode = stage.kept.get(_MODE)
    if mode is None:
        return True
    wanted: bool | None
    wanted, contexts = mode
    # who is here came past the place where that was said
    return wanted if tuple(stage.contexts[: len(contexts)]) == contexts else None


def is_silent(player: Any) -> bool:
    """Whether what is computed now certainly has no gradients."""
    return is_recorded(player) is False


def computed(player: Any, found: Any, *sources: Any) -> Any:
    """The same result of a computation from some sources: it needs a gradient only where these are recorded."""
    if type(found) is tuple:
        return tuple(computed(player, one, *sources) for one in found)
    if type(found) is not Tensor or any(found is one for one in sources):
        return found
    recorded = is_recorded(player)
    if recorded is not True and found.gradient is not False:
        found.gradient = recorded
    _noted(player, found)
    return found


def created(player: Any, found: Any, given: Given) -> Any:
    """The same new tensor, which needs a gradient if that is asked for, whatever is recorded."""
    asked = given.get("requires_grad", None, False)
    if type(found) is Tensor and asked is not False:
        said(found, asked)
        _noted(player, found)
        return found
    return computed(player, found, *given.values())


def _noted(player: Any, tensor: Tensor) -> None:
    kept = player.stage.kept.setdefault(_UNRECORDED, {})
    if is_silent(player) and len(kept) < _MOST:
        kept[id(tensor)] = tensor


def said(tensor: Tensor, wanted: Any) -> None:
    """It is said of a tensor whether it needs a gradient."""
    tensor.gradient = wanted if isinstance(wanted, bool) else None


def has_none(player: Any, tensor: Tensor) -> bool:
    """Whether a tensor that is no parameter certainly has no gradient: it needs none, or nothing was recorded since it was made."""
    return tensor.gradient is False or id(tensor) in player.stage.kept.get(_UNRECORDED, ())


def needs_one(player: Any, tensor: Tensor, *, all_trained: bool) -> Any:
    """``tensor.requires_grad``."""
    if tensor.gradient is False:
        return False
    return True if tensor.gradient and all_trained and not player.stage.alone else UNKNOWN


def changed(tensor: Tensor, others: list[Any]) -> None:
    """A tensor was changed in place: it hangs on the others now."""
    if tensor.gradient is False and any(isinstance(one, Tensor) and one.gradient is not False for one in others):
        tensor.gradient = None
