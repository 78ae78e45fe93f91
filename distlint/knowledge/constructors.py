"""What the constructors take to which a configuration hands a block of free parameters.

The table is made by ``tools/harvest_constructors.py`` from released packages: a name is ``deepspeed.FusedAdam``, or
``torch.optim.SGD``; what the caller fills in itself is left out.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from distlint.knowledge.config_schema import version_order
from distlint.model.record import dataclass


@dataclass(frozen=True, slots=True)
class Signature:
    """The names that a constructor can't do without, and those that it may be given."""

    needs: tuple[str, ...]
    takes: tuple[str, ...]

    @property
    def names(self) -> frozenset[str]:
        """All of them."""
        return frozenset((*self.needs, *self.takes))


def signature(table: str, name: str, version: str = "") -> Signature | None:
    """What a constructor takes in a release (``""``: the newest); ``None`` where that release has none of this name.

    Between two harvested releases the older one counts. Raises ``FileNotFoundError`` if there is no such table.
    """
    data = _load(table)
    releases = data["releases"]
    at = len(releases) - 1
    if order := version_order(version):
        at = max([number for number, release in enumerate(releases) if version_order(release) <= order], default=0)
    for first, end, found in data["constructors"].get(name, ()):
        if first <= at and (end is None or at < end):
            return Signature(tuple(found["needs"]), tuple(found["takes"]))
    return None


@cache
def _load(table: str) -> dict[str, Any]:
    text = (Path(__file__).parent / f"{table}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
