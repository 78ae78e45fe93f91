"""One table of what names mean in many releases, in the form that ``distlint.knowledge.release_tables`` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def combined(tables: Sequence[Mapping[str, Any]], labels: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The tables of all releases in one: per name its spans ``[first release, end or null, entry]``, by index.

    ``labels`` says of each table how messages call the release, and its order.
    """
    numbers: dict[str, int] = {}
    names: dict[str, Any] = {}
    for name in sorted({name for table in tables for name in table}):
        spans: list[list[int | None]] = []
        for index, table in enumerate(tables):
            if name not in table:
                continue
            number = numbers.setdefault(json.dumps(table[name], sort_keys=True), len(numbers))
            if spans and spans[-1][1] == index and spans[-1][2] == number:
                spans[-1][1] = index + 1
            else:
                spans.append([index, index + 1, number])
        for span in spans:
            span[1] = None if span[1] == len(tables) else span[1]
        # one entry that holds for all releases is given by its number
        names[name] = spans[0][2] if spans[0][:2] == [0, None] else spans
    return {
        "releases": [list(label) for label in labels],
        "entries": [json.loads(entry) for entry in numbers],
        "names": names,
    }
