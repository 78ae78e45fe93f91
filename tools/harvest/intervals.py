"""Rows of many releases as stretches: a value stands once for all releases in a row that have it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Spans = list[tuple[int, int, str]]
"""(first release, last release, value as JSON), both included, in order."""


_MERE = '{"k":"n"}'


def as_json(value: Any) -> str:
    """The one spelling of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def told(rows: Mapping[str, Spans]) -> dict[str, Spans]:
    """The rows without those of private members of classes, of which nothing is said."""
    return {key: spans for key, spans in rows.items() if not is_private_member(key)}


def is_private_member(key: str) -> bool:
    """Whether a row is about a member of a class that is private by its name."""
    name = key.partition(":")[2]
    return "." in name and name.rpartition(".")[2].startswith("_")


def gathered(rows: Mapping[str, Spans]) -> dict[str, Spans]:
    """Rows with the names that modules merely import (``{"k":"n"}``) in one row per module, without stretches.

    Such a name is never absent from its module, so that it need not be known which releases import it.
    """
    out: dict[str, Spans] = {}
    names: dict[str, set[str]] = {}
    for key, spans in rows.items():
        module, _, name = key.partition(":")
        if name == "*":
            for *_, text in spans:
                names.setdefault(module, set()).update(json.loads(text)["names"].split())
            continue
        kept = [span for span in spans if span[2] != _MERE]
        if len(kept) < len(spans):
            names.setdefault(module, set()).add(name)
        if kept:
            out[key] = kept
    for module, found in names.items():
        out[f"{module}:*"] = [(0, 0, as_json({"k": "n", "names": " ".join(sorted(found))}))]
    return out


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
