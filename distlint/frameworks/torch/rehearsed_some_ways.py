"""A backward pass of a loss that came out of the wrapped model on some processes only, in the rehearsal of a program.

Source: torch 2.13, ``csrc/distributed/c10d/reducer.cpp``: gradients are reduced when those of the parameters are made; where no parameter
had a part in the loss, none are, and the others wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from distlint.frameworks.torch.rehearsed_outputs import note
from distlint.model import python as ir
from distlint.rehearsal.some_ways import SomeWays
from distlint.rehearsal.values import Tensor


def passed_back(player: Any, loss: Any, call: ir.Call, scope: Any) -> None:
    """Processes meet where the test that chose the loss went the way on which it came out of a wrapped model."""
    mark = mark_of(player, loss)
    if mark is not None:
        wrapper = next((one for one in mark.marks if hasattr(one, "inner") and one.group is not None), None)
        if wrapper is not None:
            met(player, mark, lambda: note(player, "backward", call, scope, wrapper.group))


def mark_of(player: Any, loss: Any) -> SomeWays | None:
    """What says that a loss may be a number that no parameter has part in, where it is known which test chooses that.

    Behind a test that came later nothing is known: by it, all may have agreed that they go on only where no loss is such a number.
    """
    marks = loss.through if isinstance(loss, Tensor) else ()
    if any(hasattr(one, "inner") for one in marks):
        return None
    tested = player.stage.tested
    found = next((one for one in marks if isinstance(one, SomeWays) and id(one.test) in tested), None)
    return found if found is not None and len(player.stage.reasons) <= tested[id(found.test)].behind else None


def met(player: Any, mark: SomeWays, noted: Callable[[], None]) -> None:
    """Notes something on the way of a test on which the loss came out of the model."""
    test = player.stage.tested[id(mark.test)]
    branch = player.parting(test.value, test.at, test.scope)
    player.perhaps(noted, branch.arms[mark.way], test.value)
    player.stage.mark(branch)
