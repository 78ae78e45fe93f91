"""Functions with gradients of their own in the rehearsal of a program: classes derived from ``torch.autograd.Function``.

Source: torch 2.13, ``autograd/function.py``: ``apply`` calls ``forward`` with a context first, or, where the class has ``setup_context``,
without one; nothing in it is recorded for gradients, and its results hang on what it is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.frameworks.torch.rehearsed_communication import operation_of
from distlint.frameworks.torch.rehearsed_recording import Recording, is_recorded
from distlint.frameworks.torch.rehearsed_weights import Weight
from distlint.link.modules import FunctionRef
from distlint.link.walking import calls_in
from distlint.model import python as ir
from distlint.rehearsal.entities import ClassValue
from distlint.rehearsal.notes import GRADIENTS_BY_HAND
from distlint.rehearsal.some_ways import alone
from distlint.rehearsal.values import Given, Made, Tensor

if TYPE_CHECKING:
    from distlint.link.project import Project

_BASE = "torch.autograd.Function"

MAX_INSIDE = 2
"""Functions inside each other in which operations of several processes are looked for."""


def applied(player: Any, receiver: Any, given: Given, call: ir.Call, scope: Any) -> Any:
    """``Class.apply(...)``; ``NotImplemented`` for other classes."""
    modules = player.stage.project.modules
    if not isinstance(receiver, ClassValue) or _BASE not in modules.external_bases(receiver.ref):
        return NotImplemented
    if modules.method(receiver.ref, "forward") is None:
        return NotImplemented
    with_context = modules.method(receiver.ref, "setup_context") is None
    first = [Made("context of a function")] if with_context else []
    whole = Given([*first, *given.positional], given.keywords, is_open=given.open)
    forward = player.bound(player.class_attribute(receiver.ref, "forward"), receiver)
    unrecorded, span = Recording("torch.no_grad()", wanted=False), ir.unpack(call.at, scope.file)
    player.entered(unrecorded, span)
    try:
        found = player.apply(forward, whole, call, scope)
    finally:
        player.left(unrecorded, span)
    backward = modules.method(receiver.ref, "backward")
    weighed = any(isinstance(one, Weight) for one in given.values())
    if weighed and backward is not None and _exchanges(player.stage.project, backward):
        # the gradients of these weights are brought together, or dealt out, by the function itself
        player.stage.kept[GRADIENTS_BY_HAND] = True
    for one in found if type(found) is tuple else (found,):
        if isinstance(one, Tensor):
            _hang(one, given)
            one.gradient = _needs(given) if is_recorded(player) else one.gradient
    return found


def _exchanges(project: Project, ref: FunctionRef, depth: int = 0) -> bool:
    """Whether a function, or one that it calls, brings something of several processes together."""
    for call in calls_in(project.function(ref).body):
        target = project.modules.resolve(call.func, ref.file)
        if isinstance(target, FunctionRef):
            if depth < MAX_INSIDE and _exchanges(project, target, depth + 1):
                return True
        elif operation_of(project.modules.dotted(call.func, ref.file)):
            return True
    return False


def _needs(given: Given) -> bool | None:
    """Whether a result needs a gradient: if something that was given does."""
    kept = [one.gradient for one in given.values() if isinstance(one, Tensor)]
    return True if True in kept else None


def _hang(result: Tensor, given: Given) -> None:
    """A result came out of the wrapped models that what was given came out of."""
    for one in given.values():
        if isinstance(one, Tensor):
            result.through = (*result.through, *(other for other in one.through if other not in result.through))
    alone(result, given.values())
