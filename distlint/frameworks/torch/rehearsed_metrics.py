"""Metrics of torchmetrics in the rehearsal of a program: what they counted is gathered over all processes when it is asked.

Sources: torchmetrics 1.9, ``metric.py``: ``_wrap_compute``, ``sync_context``, ``sync``, ``forward``, ``reset``.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_outputs import note
from distlint.model import python as ir
from distlint.rehearsal.libraries import together
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import Given, Made, source_of

PREFIX = "torchmetrics."
SINGLE = "a trainer of one process"
"""Under this name a process remembers that its trainer starts no others."""
_OWN = ("distributed_available_fn", "dist_sync_fn", "process_group")
"""Arguments with which a metric gathers in a way of its own, among others, or not at all."""
_APART = ("MetricCollection", "MetricTracker", "CompositionalMetric", "Running")
"""What holds other metrics and asks them in ways of its own."""


class Metric(Made):
    """A metric: ``compute`` gathers its state, and keeps the result until something more is counted."""

    __slots__ = ("kept",)

    def __init__(self, name: str, call: ir.Call, given: Given) -> None:
        super().__init__(name, call, given)
        self.kept: Any = None

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """What the metric does."""
        if name in ("update", "reset"):
            self.kept = None
            return None
        if name in ("to", "cuda", "cpu", "float", "eval", "train"):
            return self
        if name == "compute" and not self._gathers(player, "sync_on_compute"):
            return Opaque(None)
        if name == "compute":
            if self.kept is None:
                sign = together(player, call, scope)
                note(player, "compute of a metric", call, scope)
                self.kept = Opaque(sign)
            return self.kept
        return NotImplemented

    def called(self, player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """A metric that is called counts, and gives what it is of the batch alone unless it gathers at each step."""
        self.kept = None
        if self._gathers(player, "dist_sync_on_step", usual=False):
            sign = together(player, call, scope)
            note(player, "call of a metric", call, scope)
            return Opaque(sign)
        return Opaque(None, source_of([*given.values(), *given.rest]))

    def _gathers(self, player: Any, switch: str, *, usual: bool = True) -> bool:
        if player.stage.initialized is not True or player.stage.kept.get(SINGLE):
            return False  # a metric of one process gathers nothing
        asked = self.arguments
        if asked is None or asked.open or any(word in asked.keywords for word in _OWN):
            return False
        return asked.keywords.get(switch, usual) is True


def made(player: Any, name: str, given: Given, call: ir.Call) -> Any:
    """What a class of metrics gives; ``NotImplemented`` for what is none."""
    last = name.rpartition(".")[2]
    if not last[:1].isupper() or last in _APART or "wrappers" in name:
        return NotImplemented
    return Metric(f"{name}()", call, given)
