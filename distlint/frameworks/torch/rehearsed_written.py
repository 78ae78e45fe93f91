"""Weights that a program writes itself behind what the processes brought together, in the rehearsal of a program.

Who averages weights now and then (local SGD) does so in many ways: parameter by parameter, in one vector, by a state or by copies. What
they have in common is that weights are written once training is under way, and that more than a few figures were brought together before.

Sources: torch 2.13, ``nn/utils/convert_parameters.py``; runs with gloo on two processes: the weights are the same after each such average.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from distlint.frameworks.torch.rehearsed_weights import Weight
from distlint.rehearsal.amounts import brings_much
from distlint.rehearsal.notes import WEIGHTS_BY_HAND
from distlint.rehearsal.values import Items

_BEGAN = "what the processes had brought together before the first backward pass"


def passed_back(stage: Any) -> None:
    """A backward pass: training is under way."""
    stage.kept.setdefault(_BEGAN, len(stage.events))


def handed(stage: Any, values: Iterable[Any]) -> None:
    """Values go to code that nobody sees: a list of weights may be averaged there, once training is under way."""
    if _BEGAN not in stage.kept or stage.kept.get(WEIGHTS_BY_HAND):
        return
    lists = [value.items if isinstance(value, Items) else value for value in values if isinstance(value, Items | tuple)]
    if any(isinstance(one, Weight) for row in lists for one in row or ()):
        stage.kept[WEIGHTS_BY_HAND] = True


def written(stage: Any) -> None:
    """Weights get other values than an optimizer gives them: an average, perhaps."""
    began = stage.kept.get(_BEGAN)
    if began is None or stage.kept.get(WEIGHTS_BY_HAND):
        return
    if any(brings_much(event, unknown=True) for event in stage.events[began:]):
        stage.kept[WEIGHTS_BY_HAND] = True
