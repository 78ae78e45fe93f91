"""Averages of a model's weights that the library keeps, in the rehearsal of a program.

Sources: torch 2.13, ``optim/swa_utils.py``: an ``AveragedModel`` holds a deep copy of the model as its ``module``.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch import rehearsed_copies as copies
from distlint.frameworks.torch import rehearsed_modules as modules
from distlint.model import python as ir
from distlint.rehearsal.copies import DEEP, duplicate
from distlint.rehearsal.values import Given, Made

NAME = "torch.optim.swa_utils.AveragedModel"


class Averaged(Made):
    """``AveragedModel``."""

    __slots__ = ("inner",)

    def __init__(self, call: ir.Call, given: Given, inner: Any) -> None:
        super().__init__(f"{NAME}()", call, given)
        self.inner = inner

    def attribute(self, player: Any, name: str, expr: ir.Expr, scope: Any) -> Any:
        """The copy."""
        return self.inner if name == "module" else NotImplemented

    def method(self, player: Any, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
        """An update changes the copy; the rest is what every module has, under the names of one that is wrapped."""
        if name == "update_parameters":
            copies.updated(player, modules.parts_of_model(self.inner), ir.unpack(call.at, scope.file), scope)
            return None
        found = modules.module_method(player, self.inner, name, given, call, scope)
        if isinstance(found, modules.Parameters):
            found.family = modules.WRAPPED if found.family == modules.BARE else ""
        return self if found is self.inner else found

    def called(self, player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
        """A forward pass of the copy."""
        return player.apply(self.inner, given, call, scope)


def averaged(given: Given, call: ir.Call) -> Any:
    """``AveragedModel(model)``; ``NotImplemented`` where the model is not known."""
    model = given.get("model", 0, None)
    model = getattr(model, "inner", model)
    inner = duplicate(model, DEEP)
    return NotImplemented if inner is model else Averaged(call, given, inner)
