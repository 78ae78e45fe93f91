"""How Accelerate deals out batches, as the rehearsal of a program sees it.

Sources: accelerate 1.15.0, ``accelerator.py``, ``utils/dataclasses.py`` (``DataLoaderConfiguration``), ``data_loader.py``
(``prepare_data_loader``); before 1.0 the object itself took what the configuration takes.
"""

from __future__ import annotations

from typing import Any

from distlint.frameworks.torch.rehearsed_dealt import DEALING, Dealing
from distlint.model.span import Span
from distlint.rehearsal.libraries import Excusing
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Made

_CONFIGURATION = "DataLoaderConfiguration()"
_FIELDS = {"split_batches": (0, False), "dispatch_batches": (1, None), "even_batches": (2, True)}
"""Positions and defaults in the configuration."""

_ELSEWHERE = ("parallelism_config", "gradient_accumulation_plugin")
"""Arguments that say how many ranks get other data, or how many passes make a step, in ways that aren't looked into."""


def dealing_of(accelerator: Made, *, parts: bool) -> Dealing:
    """How an accelerator deals out the batches of the loaders that it prepares.

    ``parts`` says that ranks may hold parts of the model: then it is not known who gets which data, nor when gradients are exchanged.
    """
    given = accelerator.arguments
    if given is None or given.open:
        return Dealing(None, None, None)
    split, dispatch, even = (_field(accelerator, name) for name in _FIELDS)
    if even is False and (dispatch not in (False, None) or parts or any(name in given.keywords for name in _ELSEWHERE)):
        # where one rank reads for all of them, each gets a part of what it reads, and as many
        even = True if dispatch is True else None
    steps = accelerator.stored.get("gradient_accumulation_steps", given.get("gradient_accumulation_steps", 3, 1))
    return Dealing(
        even if isinstance(even, bool) else None,
        split if isinstance(split, bool) else None,
        steps if isinstance(steps, int) and steps > 0 else None,
        dispatch if isinstance(dispatch, bool) else None,
    )


def _field(accelerator: Made, name: str) -> Any:
    """What the object, or the configuration of its loaders, says; an attribute of either may be set later."""
    position, default = _FIELDS[name]
    given = accelerator.arguments
    assert given is not None  # noqa: S101 - asked before
    found = accelerator.stored.get(name, given.get(name, 1 if name == "split_batches" else None, UNKNOWN))
    config = accelerator.stored.get("dataloader_config", given.get("dataloader_config", 5, None))
    if found is UNKNOWN and isinstance(config, Made) and config.name.endswith(_CONFIGURATION) and config.arguments:
        found = config.stored.get(name, config.arguments.get(name, position, default))
    elif found is UNKNOWN and config is None:
        found = default
    return found


class Joining(Excusing):
    """``join_uneven_inputs``: who has fewer batches keeps up with the others, and how they are dealt out may be another way for now."""

    __slots__ = ("before", "even")

    def __init__(self, name: str, even: Any) -> None:
        super().__init__(name)
        self.even = even
        self.before: dict[str, Any] = {}

    def entered(self, player: Any, span: Span) -> Any:
        """Loaders that are prepared already deal out their batches as the context says."""
        kept = player.stage.kept
        self.before = {DEALING: kept[DEALING]} if DEALING in kept else {}
        if self.even is not None:
            kept[DEALING] = self.even if isinstance(self.even, bool) else None
        return super().entered(player, span)

    def left(self, player: Any, span: Span) -> None:
        """They deal them out as before."""
        player.stage.kept.pop(DEALING, None)
        player.stage.kept.update(self.before)
        super().left(player, span)
