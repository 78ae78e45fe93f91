"""Rows of many releases as stretches: a value stands once for all releases in a row that have it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Spans = list[tuple[int, int, str]]
"""(first release, last release, value as JSON), both included, in order."""


def as_json(value: Any) -> str:
    """The one spelling of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def moved_to(rows: Mapping[str, Spans], old: Sequence[str], new: Sequence[str]) -> dict[str, Spans]:
    """Rows over a list of releases, renumbered for a longer list; stretches are cut where a release came in between."""
    at = {release: position for position, release in enumerate(new)}
    position = [at[release] for release in old]
    if list(old) == list(new[: len(old)]):
        return {key: list(spans) for key, spans in rows.items()}
    out: dict[str, Spans] = {}
    for key, spans in rows.items():
        cut: Spans = []
        for first, last, value in spans:
            start = first
            for one in range(first, last + 1):
                if one == last or position[one + 1] != position[one] + 1:
                    cut.append((position[start], position[one], value))
                    start = one + 1
        out[key] = cut
    return out


def joined(*parts: Mapping[str, Spans]) -> dict[str, Spans]:
    """Rows that speak of different releases, as one: touching stretches with the same value become one."""
    out: dict[str, Spans] = {}
    for rows in parts:
        for key, spans in rows.items():
            out.setdefault(key, []).extend(spans)
    return {key: _merged(spans) for key, spans in out.items()}


def _merged(spans: Spans) -> Spans:
    out: Spans = []
    for first, last, value in sorted(spans):
        if out and out[-1][1] + 1 == first and out[-1][2] == value:
            out[-1] = (out[-1][0], last, value)
        else:
            out.append((first, last, value))
    return out


def lines(rows: Mapping[str, Spans]) -> list[str]:
    """Rows as lines of a member, sorted by key."""
    out = []
    for key in sorted(rows):
        spans = ",".join(f"[{first},{last},{value}]" for first, last, value in rows[key])
        out.append(f"[{as_json(key)},[{spans}]]")
    return out


def parsed(text: str) -> dict[str, Spans]:
    """The rows of a member."""
    out: dict[str, Spans] = {}
    for line in text.splitlines():
        key, spans = json.loads(line)
        out[key] = [(first, last, as_json(value)) for first, last, value in spans]
    return out
