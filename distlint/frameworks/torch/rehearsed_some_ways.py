"""A backward pass of a loss that came out of the wrapped model on some processes only, in the rehearsal of a program.

Source: torch 2.13, ``csrc/distributed/c10d/reducer.cpp``: gradients are reduced when those of the parameters are made; where no parameter
had a part in the loss, none are, and the others wait.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_outputs import note
from distlint.model import python as ir
from distlint.rehearsal.some_ways import SomeWays
from distlint.rehearsal.values import Tensor


def passed_back(player: Any, loss: Any, call: ir.Call, scope: Any) -> None:
    """Processes meet where the test that chose the loss went the way on which it came out of the model."""
    stage = player.stage
    for mark in loss.through if isinstance(loss, Tensor) else ():
        if not isinstance(mark, SomeWays) or id(mark.test) not in stage.tested:
            continue
        wrapper = next((one for one in mark.marks if hasattr(one, "inner") and one.group is not None), None)
        if wrapper is None:
            continue
        test, at, where = stage.tested[id(mark.test)]
        branch = player.parting(test, at, where)
        player.perhaps(lambda group=wrapper.group: note(player, "backward", call, scope, group), branch.arms[0], test)
        stage.mark(branch)
