"""Parameters and their gradients in the rehearsal of a program."""

from __future__ import annotations

from typing import Any

from distlint.model.span import Span
from distlint.rehearsal.unknowns import Source
from distlint.rehearsal.values import Tensor


class Weight(Tensor):
    """A parameter. ``synced``: its gradient is the same on all processes.

    ``owners`` are the layers of which it may be one: what is sent to it is sent to them. ``name`` is the one that a layer has for it,
    ``began`` how far the process was (``Stage.steps``) when it began to go through those for which this one stands, ``taken`` where the
    program asked the module for it. ``sharded`` says whether its layer was sharded then, perhaps: what sharding puts there is another one.
    """

    __slots__ = ("began", "name", "owners", "synced", "taken")

    def __init__(self, shape: Any, at: Span | None, sign: Any, source: Source | None) -> None:
        super().__init__(shape, "float32", at, sign, source)
        self.gradient = True
        self.synced = False
        self.name, self.began = "", 0
        self.owners: list[Any] = []
        self.taken: Span | None = None


class Stated(Weight):
    """A parameter in a state: of a model that is sharded behind a wrapper it may be whole."""

    __slots__ = ()


class Gradient(Tensor):
    """The gradient of a parameter, which may be one of ``owners``."""

    __slots__ = ("owners",)

    def __init__(self, shape: Any, dtype: str, at: Span | None, sign: Any = None, source: Source | None = None) -> None:
        super().__init__(shape, dtype, at, sign, source)
        self.owners: list[Any] = []
