"""Tables of what names mean in which releases of a package, packed beside this module.

A table file has one JSON document per line, its sections, and each is read when it is asked for. A section, or a part of
one, holds ``releases`` (``[how messages call it, its order]``), ``entries``, and ``names``: spans
``[first release, end or null, entry]`` by index, or the number of an entry that holds for all releases.
"""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from distlint.knowledge.config_schema import version_order


class ReleaseTable:
    """What names mean, release by release."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._labels: list[str] = [label for label, _ in data["releases"]]
        self._versions: list[str] = [order for _, order in data["releases"]]
        self._orders = [version_order(order) for _, order in data["releases"]]
        self._entries: list[dict[str, Any]] = data["entries"]
        self._names: dict[str, int | list[list[Any]]] = data["names"]

    @property
    def names(self) -> Mapping[str, object]:
        """Every name that any release has, in order."""
        return self._names

    @property
    def all(self) -> tuple[int, ...]:
        """The indexes of all releases."""
        return tuple(range(len(self._labels)))

    def indexes(self, version: str) -> tuple[int, ...]:
        """The releases that a version may mean: itself, or its two neighbours; the newest for one that can't be read.

        Versions outside the table are taken for its nearest end.
        """
        order = version_order(version)
        at = bisect_right(self._orders, order) if order else len(self._labels)
        if at == 0:
            return (0,)
        if at == len(self._labels) or self._orders[at - 1] == order:
            return (at - 1,)
        return (at - 1, at)

    def entry(self, name: str, index: int) -> Mapping[str, Any] | None:
        """What a release says of a name; ``None`` where it does not have it."""
        spans = self._names.get(name)
        if isinstance(spans, int):
            return self._entries[spans]
        for first, end, number in spans or ():
            if first <= index and (end is None or index < end):
                found: dict[str, Any] = self._entries[number]
                return found
        return None

    def since(self, name: str) -> str:
        """The first release with a name, as messages call it; ``""`` if the oldest one has it, or none."""
        first = self.first_index(name) if name in self._names else 0
        return self._labels[first] if first else ""

    def until(self, name: str) -> str:
        """The first release without a name that earlier ones had; ``""`` if the newest one has it, or none."""
        spans = self._names.get(name)
        end: int | None = None if spans is None or isinstance(spans, int) else spans[-1][1]
        return "" if end is None else self._labels[end]

    def first_index(self, name: str) -> int:
        """The index of the first release with a name that some release has."""
        spans = self._names[name]
        first: int = 0 if isinstance(spans, int) else spans[0][0]
        return first

    def version(self, index: int) -> str:
        """The version at which a release stands."""
        return self._versions[index]

    def label(self, index: int) -> str:
        """How messages call a release."""
        return self._labels[index]


@cache
def section(table: str, number: int) -> Mapping[str, Any]:
    """One line of a table file beside this module; raises ``FileNotFoundError`` if there is no such table."""
    loaded: Mapping[str, Any] = json.loads(_lines(table)[number])
    return loaded


@cache
def _lines(table: str) -> list[bytes]:
    return gzip.decompress((Path(__file__).parent / f"{table}.json.gz").read_bytes()).split(b"\n")
