"""Hooks of parameters in the rehearsal of a program: functions that each backward pass calls.

Source: torch 2.13, ``_tensor.py``: ``register_hook`` gives the gradient, ``register_post_accumulate_grad_hook`` the parameter that
has got it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from distlint.frameworks.torch.rehearsed_gradients import gradient_of
from distlint.frameworks.torch.rehearsed_weights import Weight
from distlint.model import python as ir
from distlint.rehearsal.driven import widen
from distlint.rehearsal.entities import FunctionValue, LambdaOf, Partial
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Tensor

HOOKS = ("register_hook", "register_post_accumulate_grad_hook")
MAX_HOOKS = 64
"""Hooks of parameters that are called in a backward pass: programs count how often theirs were."""
_HOOKED = "hooks of parameters"


class _Hook(NamedTuple):
    """A function that is called with a parameter, or with its gradient; ``several`` where that one stands for more of them."""

    callback: Any
    tensor: Tensor
    name: str
    several: bool


def passed_back(player: Any, call: ir.Call, scope: Any) -> None:
    """A backward pass is made: the hooks are called."""
    for hook in list(player.stage.kept.get(_HOOKED, ())):
        _called_back(player, hook, call, scope)


def hooked(player: Any, tensor: Tensor, name: str, given: Given) -> Any:
    """A function is to be called with a parameter, or its gradient, whenever that is made."""
    callback = given.get("hook", 0, UNKNOWN)
    kept = player.stage.kept.setdefault(_HOOKED, [])
    if len(kept) < MAX_HOOKS and not any(_is_there(one.callback, callback, one.tensor, tensor) for one in kept):
        one_of_many = isinstance(tensor, Weight) and bool(tensor.owners) and not tensor.name
        other_turn = not isinstance(tensor, Weight) and player.stage.unsure > 0
        kept.append(_Hook(callback, tensor, name, one_of_many or other_turn))
    return UNKNOWN


def _called_back(player: Any, hook: _Hook, call: ir.Call, scope: Any) -> None:
    """A hook is called: how often, and so how many things it puts where, is not known where it stands for those of several."""
    stage = player.stage
    value = hook.tensor if hook.name == HOOKS[1] else gradient_of(player, hook.tensor)
    outer = stage.touched
    stage.touched = [] if hook.several else outer
    try:
        player.apply(hook.callback, Given([value], {}), call, scope)
    finally:
        touched, stage.touched = stage.touched, outer
    if hook.several and touched:
        if outer is not None:
            outer.extend(touched)
        widen(player, touched, (ir.unpack(call.at, scope.file), stage.chain))


def _is_there(value: Any, callback: Any, one: Tensor, tensor: Tensor) -> bool:
    """Whether a hook is one that is there: of the same parameter, or put on another that stands for the same ones in another turn."""
    if one is tensor:
        return bool(value == callback)
    if not (isinstance(one, Weight) and isinstance(tensor, Weight)) or one.name or tensor.name or not tensor.owners:
        return False
    return list(map(id, one.owners)) == list(map(id, tensor.owners)) and _code_of(value) == _code_of(callback)


def _code_of(callback: Any) -> Any:
    """What is executed where a function is called, whatever it was given before."""
    if isinstance(callback, Partial):
        return _code_of(callback.callee)
    if isinstance(callback, LambdaOf):
        return callback.expr
    return callback.ref if isinstance(callback, FunctionValue) else callback
