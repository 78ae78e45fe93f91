"""Hooks of parameters in the rehearsal of a program: functions that each backward pass calls.

Source: torch 2.13, ``_tensor.py``: ``register_hook`` gives the gradient, ``register_post_accumulate_grad_hook`` the parameter that
has got it; ``utils/hooks.py``, ``RemovableHandle``: ``remove``, or the end of the context that it is, takes the function away.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_gradients import gradient_of
from distlint.frameworks.torch.rehearsed_weights import Weight
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.driven import widen
from distlint.rehearsal.entities import FunctionValue, LambdaOf, MethodOf, Partial
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Made, Tensor

HOOKS = ("register_hook", "register_post_accumulate_grad_hook")
MAX_HOOKS = 64
"""Hooks of parameters that are called in a backward pass: programs count how often theirs were."""
_HOOKED = "hooks of parameters"


class _Hook(Made):
    """A function that is called with a parameter, or with its gradient, as the handle that a program has of it.

    ``several`` where the parameter stands for more of them, ``tests`` those behind which it was put there, ``doubted`` once it may have
    been taken away.
    """

    __slots__ = ("callback", "doubted", "several", "tensor", "tests", "way")

    def __init__(self, callback: Any, tensor: Tensor, way: str, tests: list[Any], *, several: bool) -> None:
        super().__init__("torch.utils.hooks.RemovableHandle()")
        self.callback = callback
        self.tensor = tensor
        self.way = way
        self.several = several
        self.tests = tests
        self.doubted = False

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """``remove`` takes it away."""
        return _taken_away(player, self) if name == "remove" else NotImplemented

    def entered(self, player: Any, span: Span) -> Any:
        """Itself."""
        return self

    def left(self, player: Any, span: Span) -> None:
        """It is taken away at the end of the context."""
        _taken_away(player, self)


def passed_back(player: Any, call: ir.Call, scope: Any) -> None:
    """A backward pass is made: the hooks are called."""
    for hook in list(player.stage.kept.get(_HOOKED, ())):
        if hook.doubted:
            _perhaps_called_back(player, hook, call, scope)
        else:
            _called_back(player, hook, call, scope)


def hooked(player: Any, tensor: Tensor, name: str, given: Given) -> Any:
    """A function is to be called with a parameter, or its gradient, whenever that is made."""
    callback = given.get("hook", 0, UNKNOWN)
    kept = player.stage.kept.setdefault(_HOOKED, [])
    for one in kept:
        if _is_there(one.callback, callback, one.tensor, tensor):
            return one
    if len(kept) >= MAX_HOOKS:
        return UNKNOWN
    one_of_many = isinstance(tensor, Weight) and bool(tensor.owners) and not tensor.name
    other_turn = not isinstance(tensor, Weight) and player.stage.unsure > 0
    made = _Hook(callback, tensor, name, list(player.stage.reasons), several=one_of_many or other_turn)
    kept.append(made)
    return made


def missed(player: Any, callee: Any) -> None:
    """Something that nobody knows is removed: it may be a hook."""
    if isinstance(callee, MethodOf) and callee.name == "remove" and isinstance(callee.receiver, Opaque):
        for one in player.stage.kept.get(_HOOKED, ()):
            one.doubted = True


def handed(value: Any) -> None:
    """A hook goes where nobody sees what becomes of it."""
    if isinstance(value, _Hook):
        value.doubted = True


def _taken_away(player: Any, hook: _Hook) -> None:
    """A hook is no longer called: perhaps only, where a test says so."""
    kept = player.stage.kept.get(_HOOKED, [])
    tests = player.stage.reasons
    if len(tests) <= len(hook.tests) and all(one is other for one, other in zip(tests, hook.tests, strict=False)):
        kept[:] = [one for one in kept if one is not hook]
    else:
        hook.doubted = True


def _perhaps_called_back(player: Any, hook: _Hook, call: ir.Call, scope: Any) -> None:
    """A hook is called, if it is still there."""
    stage = player.stage
    test = Opaque()
    branch = player.parting(test, call, scope)
    grown = stage.grown
    player.perhaps(lambda: _called_back(player, hook, call, scope), branch.arms[0], test)
    if stage.grown > grown:
        stage.mark(branch)


def _called_back(player: Any, hook: _Hook, call: ir.Call, scope: Any) -> None:
    """A hook is called: how often, and so how many things it puts where, is not known where it stands for those of several."""
    stage = player.stage
    value = hook.tensor if hook.way == HOOKS[1] else gradient_of(player, hook.tensor)
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
