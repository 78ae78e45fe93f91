"""Distributions to draw from: ``torch.distributions``.

From the sources of torch 2.13: ``Distribution.sample`` draws from the process's generator of random numbers, in the shape asked for
followed by that of the parameters (``_extended_shape``). ``Normal`` and ``Bernoulli`` bring these to one shape (``broadcast_all``,
a number has none); ``Categorical`` draws an index into their last dimension, ``OneHotCategorical`` a row of it.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_shapes import broadcast_shapes, fresh, sizes_of
from distlint.model import python as ir
from distlint.rehearsal.values import Given, Made, Tensor, combined, is_known, source_of

PREFIX = "torch.distributions."
_DRAWING = ("sample", "rsample")
_COMPUTED = ("log_prob", "entropy", "cdf", "icdf")
_TOLD = ("mode", "mean", "stddev", "variance", "logits", "probs")


class Distribution(Made):
    """One that is made with parameters."""

    __slots__ = ()

    @property
    def told(self) -> list[Any]:
        """Its parameters."""
        return list(self.arguments.values()) if self.arguments is not None else []

    def _shape(self) -> tuple[Any, ...] | None:
        """The sizes of what is drawn at once."""
        kind = self.name.rpartition(".")[2].removesuffix("()")
        sizes: tuple[Any, ...] | None = ()
        for one in self.told:
            sizes = broadcast_shapes(sizes, one.shape if isinstance(one, Tensor) else () if is_known(one) else None)
        if kind == "Categorical":
            return sizes[:-1] if sizes else None
        return sizes if kind in ("Normal", "Bernoulli", "OneHotCategorical") else None

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """``made.mean`` and other tensors that the parameters tell."""
        return fresh(name, None, "", [self], player.span(expr, scope)) if name in _TOLD else NotImplemented

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """``made.sample(...)``, and what is computed of values."""
        span = ir.unpack(call.at, scope.file)
        if name in _COMPUTED:
            return fresh(name, None, "", [self, *given.values()], span)
        if name not in _DRAWING:
            return NotImplemented
        drawn, reason = player.stage.drawn(span)
        more = given.get("sample_shape", 0, ())
        before, behind = sizes_of([more]) if more != () else (), self._shape()
        shape = None if before is None or behind is None else (*before, *behind)
        found = fresh(name, shape, "", [self, *given.values()], span)
        found.sign = None if drawn is None or found.sign is None else hash((found.sign, drawn))
        found.source = found.source or reason
        return found


def made(name: str, given: Given, call: ir.Call) -> Any:
    """What a function of the library gives; ``NotImplemented`` for those that make no distribution."""
    if not name.rpartition(".")[2][:1].isupper():
        return NotImplemented
    found = Distribution(f"{name}()", call, given)
    found.sign, found.source = combined(name, given.values()), source_of(given.values())
    return found
