"""Losses that a gradient scaler multiplies, and what is done with their gradients, in the rehearsal of a program.

Sources: torch 2.13, ``amp/grad_scaler.py``: gradients are as large as the scale until ``unscale_`` or ``step``; each optimizer is unscaled
and stepped at most once between two calls of ``update``, which refuses to go on where none was.
"""

from __future__ import annotations

from typing import Any

from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import LEFT_ON_RANK, SCALED_USE, SCALER_ORDER
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Tensor

_SCALED = "scaled gradients"
PARTLY = "scaled gradients of which those of some optimizers are unscaled"
_OFF = "a scaler that is switched off has had the loss"
_CLIPPED = "a clipping by the side of scaled gradients, which is a fault once their optimizer steps"
_BY_NUMBERS = frozenset({"mul_", "div_", "*", "/"})
"""Changes in place by which tensors that differ go on to differ."""
_READY, _UNSCALED, _STEPPED = "ready", "unscaled", "stepped"


class Scaling:
    """That a loss was scaled, among the wrappers that it came out of (``Tensor.through``)."""

    __slots__ = ("group", "scaler", "span")

    def __init__(self, scaler: Any, span: Span) -> None:
        self.scaler = scaler
        self.span = span
        self.group = None
        """Nobody meets here."""


class Phases:
    """How far a scaler is with each optimizer since its last ``update``."""

    __slots__ = ("held", "known", "last", "looked", "spans", "strangers")

    def __init__(self, strangers: int = 0) -> None:
        self.known: dict[int, str] = {}
        self.spans: dict[int, Span] = {}
        self.held: list[Any] = []
        self.looked: bool | None = False
        """Whether it has looked at the gradients of some optimizer; ``None`` where that is not known."""
        self.last: Span | None = None
        """Its last update."""
        self.strangers = strangers
        """How much nobody saw had happened by then; -1 once the scaler went where nobody sees what is done with it."""


def scaled(scaler: Any, loss: Tensor, span: Span) -> Tensor:
    """``scaler.scale(loss)``."""
    loss.through = (*loss.through, Scaling(scaler, span))
    return loss


def passed_back(player: Any, loss: Tensor, span: Span) -> None:
    """A backward pass: the gradients are scaled, or they are not."""
    stage = player.stage
    marks = [one for one in loss.through if isinstance(one, Scaling)]
    stage.kept.pop(PARTLY, None)
    stage.kept.pop(_CLIPPED, None)
    sure = bool(marks) and not stage.unsure and is_on(marks[-1].scaler)
    stage.kept[_SCALED] = (span, loss.through) if sure else None if stage.unsure or loss.through == () else ()
    stage.kept[_OFF] = bool(marks) and not stage.unsure and all(_is_off(one.scaler) for one in marks)


def is_on(scaler: Any) -> bool:
    """Whether a scaler is not switched off: where that is an option, it is meant to be on."""
    given = scaler.arguments
    return given is not None and not given.open and not _is_off(scaler)


def _is_off(scaler: Any) -> bool:
    """Whether a scaler is certainly switched off: it gives losses back as they are, and divides nothing."""
    given = scaler.arguments
    return given is not None and given.get("enabled", 4 if ".cuda." in scaler.name else 5, True) is False


def plain(player: Any) -> None:
    """The gradients are cleared, or changed by the program itself."""
    player.stage.kept.pop(LEFT_ON_RANK, None)
    player.stage.kept.pop(PARTLY, None)
    player.stage.kept[_SCALED] = None if player.stage.unsure else ()


def changed(player: Any, how: str, others: list[Any]) -> None:
    """Gradients are changed in place: each process still has its own where a number does that, but for one that is 0 perhaps."""
    left = player.stage.kept.get(LEFT_ON_RANK)
    plain(player)
    if left and how in _BY_NUMBERS and all(type(one) in (int, float) and one != 0 for one in others):
        player.stage.kept[LEFT_ON_RANK] = left


def used(
    player: Any, name: str, parameters: Any, call: ir.Call, scope: Any, left: tuple[Span, Any] | None = None
) -> None:
    """Gradients of some parameters are clipped, or an optimizer steps past the scaler.

    ``left`` is an optimizer whose gradients are among them and were left scaled, with the backward pass that made them.
    """
    stage = player.stage
    found = stage.kept.get(_SCALED)
    own = any(_names_scale(one) for one in _given(call))
    module = getattr(parameters, "module", None)
    if left is not None and not own and not stage.unsure and not stage.alone:
        stage.kept.pop(PARTLY, None)
        place = ir.unpack(left[1].call.at, left[1].file)
        stage.kept[_CLIPPED] = left[1], _made(player, SCALED_USE, name, left[0], call, scope, left=place)
        return
    wrappers = [one for one in found[1] if hasattr(one, "inner")] if found else []
    other = module is not None and bool(wrappers) and not any(module in (one, one.inner) for one in wrappers)
    harmless = not found or stage.unsure or stage.alone or own or other
    fits = harmless and not stage.unsure and (own or other or (not found and stage.kept.get(_OFF, False)))
    stage.looked_at(SCALED_USE, ir.unpack(call.at, scope.file), fits=fits)
    if harmless:
        return
    stage.kept[_SCALED] = None
    _fault(player, SCALED_USE, name, found[0], call, scope)


def _given(call: ir.Call) -> tuple[ir.Expr, ...]:
    return (*call.args, *(word.value for word in call.keywords))


def _names_scale(expr: ir.Expr) -> bool:
    """Whether an argument is worked out with a scale: a limit for scaled gradients."""
    for part in below(expr):
        name = part.id if type(part) is ir.Name else part.name if type(part) is ir.Attribute else ""
        if "scale" in name and name != "scaler":
            return True
    return False


def asked(player: Any, scaler: Any, phases: Phases, name: str, optimizer: Any, call: ir.Call, scope: Any) -> None:
    """``unscale_``, ``step`` and ``update``."""
    stage = player.stage
    span = ir.unpack(call.at, scope.file)
    if name in ("unscale_", "step"):
        _unscaled(stage, scaler, name, optimizer)
        stage.kept[_SCALED] = None if stage.unsure else ()
    if name == "update" or stage.unsure or not is_on(scaler) or optimizer in (None, UNKNOWN):
        phases.known.clear()
        if stage.unsure and name != "update":
            phases.known[0] = ""  # which optimizer it was is open
        return
    if 0 in phases.known:
        return
    before = phases.known.get(id(optimizer), _READY)
    if before == _STEPPED or (before == _UNSCALED and name == "unscale_"):
        words = "stepped" if before == _STEPPED else "unscaled"
        _fault(player, SCALER_ORDER, name, phases.spans[id(optimizer)], call, scope, words)
        phases.known[0] = ""  # the program ends here
        return
    phases.known[id(optimizer)] = _UNSCALED if name == "unscale_" else _STEPPED
    phases.spans[id(optimizer)] = span
    phases.held.append(optimizer)


def _unscaled(stage: Any, scaler: Any, name: str, optimizer: Any) -> None:
    """The gradients of an optimizer are unscaled, those of others stay as they are: that is known until one steps."""
    found = stage.kept.pop(PARTLY, None)
    left, fault = stage.kept.get(_CLIPPED, (None, None))
    if name == "step" and fault is not None and left is optimizer and not stage.unsure and not any(stage.attempts):
        stage.faults.append(fault)
        del stage.kept[_CLIPPED]
    if name == "step" or stage.unsure or not is_on(scaler) or getattr(optimizer, "arguments", None) is None:
        return
    scaled = stage.kept.get(_SCALED)
    if scaled:
        stage.kept[PARTLY] = (*scaled, [optimizer])
    elif found is not None:
        stage.kept[PARTLY] = (*found[:2], [*found[2], optimizer])


def updated(player: Any, scaler: Any, phases: Phases, given: Given, call: ir.Call, scope: Any) -> None:
    """``update``: it goes by what was found in the gradients since the last one, unless it is given a scale."""
    stage = player.stage
    span = ir.unpack(call.at, scope.file)
    plain = not given.open and given.get("new_scale", 0, None) is None
    unseen = phases.strangers != stage.strangers or bool(stage.costly)
    if phases.looked is False and plain and not unseen and not stage.unsure and not stage.alone and is_on(scaler):
        made = ir.unpack(scaler.call.at, scaler.file)
        _fault(player, SCALER_ORDER, "update", phases.last or made, call, scope, "updated" if phases.last else "made")
    phases.looked = None if stage.unsure else False
    phases.last = None if stage.unsure else span
    if phases.strangers >= 0:
        phases.strangers = stage.strangers


def looked(player: Any, phases: Phases) -> None:
    """``unscale_`` or ``step``: the gradients of an optimizer are looked at."""
    phases.looked = phases.looked or (None if player.stage.unsure else True)


def handed(value: Any) -> None:
    """A scaler goes where nobody sees what is done with it."""
    if isinstance(getattr(value, "phases", None), Phases):
        value.phases.strangers = -1


def _fault(player: Any, kind: str, name: str, first: Span, call: ir.Call, scope: Any, before: str = "") -> None:
    if not any(player.stage.attempts):
        player.stage.faults.append(_made(player, kind, name, first, call, scope, before))


def _made(
    player: Any,
    kind: str,
    name: str,
    first: Span,
    call: ir.Call,
    scope: Any,
    before: str = "",
    left: Span | None = None,
) -> Fault:
    event = Event(name, call, scope.file, scope.function, {})
    event.chain = player.stage.chain
    return Fault(kind, event.span, event, {"first": first, "before": before, "left": left})
