"""Optimizers that call a closure as often as what it gives asks for, in the rehearsal of a program.

Source: torch 2.13, ``optim/lbfgs.py``, ``step`` and ``_strong_wolfe``. The closure is called once, and again in each iteration but the
last; with a line search several times in each, as the losses say. Without one an iteration is the last if the loss has changed by less
than ``tolerance_change``. What else is asked of gradients is the same on all processes where these are averaged.
"""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.notes import OWN_SEARCH
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import source_of

_SEARCHING = "torch.optim.LBFGS()"
_FEWEST = 2
"""With no more iterations than that, or calls, the closure is called as often whatever the losses are."""


def called(player: Any, optimizer: Any, loss: Any, before: int, call: ir.Call, scope: Any) -> None:
    """``optimizer.step(closure)``: the closure has given a loss, and made the operations since ``before``."""
    stage = player.stage
    how = _search_of(optimizer)
    source = source_of([loss])
    met = [event for event in stage.events[before:] if event.name != "forward"]
    if not how or source is None or not met:
        return
    event = Event("step", call, scope.file, scope.function, {})
    event.chain = stage.chain
    words = {"why": source.why, "source": source.span, "met": met[0].span, "how": how}
    stage.faults.append(Fault(OWN_SEARCH, event.span, event, words))


def _search_of(optimizer: Any) -> str:
    """What the losses that a closure gives decide; nothing where they decide nothing, or that is not known."""
    given = optimizer.arguments
    if optimizer.name != _SEARCHING or given is None or given.open:
        return ""
    most = given.get("max_eval", 3, None)
    if most is not None and (type(most) is not int or most <= _FEWEST):
        return ""
    search = given.get("line_search_fn", 7, None)
    if search == "strong_wolfe":
        return "search"
    iterations, tolerance = given.get("max_iter", 2, 20), given.get("tolerance_change", 5, 1e-9)
    if search is not None or type(iterations) is not int or iterations <= _FEWEST:
        return ""
    return "end" if isinstance(tolerance, int | float) and tolerance > 0 else ""
