"""Where a name is in the releases that lack it at its old place: rows ``module:Name>`` with a dotted path for each stretch.

A place is taken for the new (or the older) home of a name when some release has both and they are the same definition, or when the
release has just one definition of that name, of the same kind and with like parameters (or bases and members). A module's is the one
of the same name with half its names.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from intervals import Spans, as_json

SHORTEST_NAME = 4
MOST_PLACES = 40
"""A name that stands in more modules than this says nothing (``main``, ``Config``)."""

_DEEPEST = 10

Span = tuple[int, int]


def without_moves(rows: Mapping[str, Spans]) -> dict[str, Spans]:
    """The rows that say what releases have."""
    return {key: spans for key, spans in rows.items() if not key.endswith(">")}


def moves_of(rows: Mapping[str, Spans], count: int) -> dict[str, Spans]:
    """The rows of moves for the rows of a package with ``count`` releases."""
    return _Moves(rows, count).all()


class _Moves:
    def __init__(self, rows: Mapping[str, Spans], count: int) -> None:
        self._rows, self._count = rows, count
        self._starts = {key: [span[0] for span in spans] for key, spans in rows.items()}
        self._places: dict[str, list[str]] = defaultdict(list)
        self._modules: dict[str, list[str]] = defaultdict(list)
        self._names: dict[str, list[str]] = defaultdict(list)
        self._members: dict[str, list[str]] = defaultdict(list)
        for key in rows:
            module, colon, name = key.partition(":")
            if name.count(".") == 1:
                owner, _, member = key.rpartition(".")
                self._members[owner].append(member)
            if not colon:
                self._modules[module.rpartition(".")[2]].append(module)
            elif "." not in name and name != "*":
                self._places[name].append(key)
                if not name.startswith("_"):
                    self._names[module].append(key)
        self._value = cache(json.loads)

    def all(self) -> dict[str, Spans]:
        out: dict[str, Spans] = {}
        for name, places in self._places.items():
            if name.startswith("_") or not len(name) >= SHORTEST_NAME or not 1 < len(places) <= MOST_PLACES:
                continue
            for key in places:
                last = self._rows[key][-1][1]
                home = self._home(key, last)
                if home != key and not _is_above(key, home):
                    continue  # readers follow an import that is gone by themselves
                if self._kind(key) not in ("f", "c") and not (
                    name.isupper() and self._home(key, self._rows[key][-1][1]) == key
                ):
                    continue
                spans = [span for gap in self._gaps(key) for span in self._filled(key, gap, places)]
                if spans:
                    out[f"{key}>"] = _merged(spans)
        for modules in self._modules.values():
            if 1 < len(modules) <= MOST_PLACES:
                for module in modules:
                    spans = [span for gap in self._gaps(module) for span in self._module(module, gap, modules)]
                    if spans:
                        out[f"{module}>"] = _merged(spans)
        return out

    def at(self, key: str, release: int) -> dict[str, Any] | None:
        """The value of a row in a release; words of a text count as nothing."""
        starts = self._starts.get(key)
        position = bisect_right(starts, release) - 1 if starts else -1
        if position < 0:
            return None
        _, last, text = self._rows[key][position]
        value = self._value(text) if release <= last else None
        return None if value is None or value.get("k") == "t" else value

    def _gaps(self, key: str) -> Iterator[Span]:
        """The stretches of releases that lack a row which others have."""
        spans = [(first, last) for first, last, text in self._rows[key] if text != '{"k":"t"}']
        free = 0
        for first, last in spans:
            if first > free:
                yield free, first - 1
            free = max(free, last + 1)
        if spans and free < self._count:
            yield free, self._count - 1

    def _segments(self, gap: Span, keys: list[str]) -> Iterator[Span]:
        """A gap cut wherever one of the rows begins or ends, newest first within what one value fills."""
        cuts = {gap[0], gap[1] + 1}
        for key in keys:
            for first, last, _ in self._rows[key]:
                cuts.update(at for at in (first, last + 1) if gap[0] < at <= gap[1])
        ordered = sorted(cuts)
        yield from ((first, after - 1) for first, after in pairwise(ordered))

    def _filled(self, key: str, gap: Span, places: list[str]) -> Iterator[tuple[int, int, str]]:
        others = [one for one in places if one != key]
        for first, last in self._segments(gap, others):
            there = [one for one in others if self.at(one, first) is not None]
            best = self._best(key, there, first) if there else ""
            if best:
                yield first, last, as_json(best.replace(":", "."))

    def _best(self, key: str, there: list[str], release: int) -> str:
        linked = [one for one in there if self._same_once(key, one)]
        kind = self._kind(key)
        if not linked:
            if kind not in ("f", "c"):
                return ""
            homes = {self._home(one, release) for one in there}
            if len(homes) != 1 or not self._is_alike(key, next(iter(homes)), release):
                return ""
            linked = there
        else:
            homes = {self._home(one, release) for one in linked}
            linked += [one for one in there if one not in linked and self._home(one, release) in homes]
        home = min(homes, key=_order)
        linked = [one for one in linked if one == home or _is_above(one, home)]
        return min(linked, key=_order) if linked else home

    def _kind(self, key: str, release: int | None = None) -> str:
        """``f``, ``c``, … of what a row leads to in a release, or in the last one that has it; ``""`` if it leaves the package."""
        at = self._rows[key][-1][1] if release is None and key in self._rows else release
        value = None if at is None else self.at(self._home(key, at), at)
        kind = value.get("k", "") if value else ""
        if value and kind == "alt":
            kind = value["of"][0].get("k", "")
        return str(kind)

    def _is_alike(self, key: str, other: str, release: int) -> bool:
        """Whether a row's last value before a gap, or first after it, and that of another place are alike enough for one thing.

        They must be of one kind and share half of their parameters; classes without a constructor of their own share bases and
        half of their members.
        """
        at = self._rows[key][-1][1]
        home = self._home(key, at)
        old, new = self.at(home, at), self.at(other, release)
        if old is None or new is None or old.get("k") != new.get("k"):
            return False
        if "p" in old and "p" in new:
            left, right = _names(old["p"]), _names(new["p"])
            if left or right:
                return 2 * len(left & right) >= len(left | right)
        elif old.get("k") != "c" or "p" in old or "p" in new:
            return False
        if old.get("k") != "c":
            return "p" in old
        if {_last(one) for one in old.get("b", ())} != {_last(one) for one in new.get("b", ())}:
            return False
        mine, others = self._members_at(home, at), self._members_at(other, release)
        return bool(mine and others) and 2 * len(mine & others) >= len(mine | others)

    def _members_at(self, key: str, release: int) -> set[str]:
        return {one for one in self._members.get(key, ()) if self.at(f"{key}.{one}", release) is not None}

    def _same_once(self, left: str, right: str) -> bool:
        """Whether some release has both, as one definition."""
        for first, last, _ in self._rows[left]:
            for start, end, _ in self._rows[right]:
                both = min(last, end)
                if max(first, start) <= both:
                    home = self._home(left, both)
                    if home == self._home(right, both) and self.at(home, both) is not None:
                        return True
        return False

    def _home(self, key: str, release: int) -> str:
        """Where re-exports of a row end."""
        for _ in range(_DEEPEST):
            value = self.at(key, release)
            if value is None or value.get("k") != "a":
                break
            key = value["to"]
        return key

    def _module(self, module: str, gap: Span, modules: list[str]) -> Iterator[tuple[int, int, str]]:
        last_seen = max((last for _, last, _ in self._rows[module] if last < gap[0]), default=self._rows[module][0][0])
        names = self._names_at(module, last_seen)
        if not names:
            return
        others = [one for one in modules if one != module]
        for first, last in self._segments(gap, others):
            rated = []
            for one in others:
                if self.at(one, first) is not None:
                    shared = len(names & self._names_at(one, first)) / len(names)
                    if shared >= 0.5:
                        rated.append((-round(shared, 1), *_order(one), one))
            if rated:
                yield first, last, as_json(min(rated)[-1])

    def _names_at(self, module: str, release: int) -> set[str]:
        return {key.rpartition(":")[2] for key in self._names.get(module, ()) if self.at(key, release) is not None}


def _names(texts: list[str]) -> set[str]:
    return {name for text in texts if (name := text.lstrip("*/").partition("=")[0]) and name not in ("args", "kwargs")}


def _last(target: str) -> str:
    return target.replace(":", ".").rpartition(".")[2]


def _is_above(key: str, home: str) -> bool:
    """Whether a row is a re-export by a package above the definition, and not an import that another module needs."""
    return home.partition(":")[0].startswith(key.partition(":")[0] + ".")


def _order(key: str) -> tuple[bool, int, str]:
    """Public paths first, then short ones."""
    parts = key.replace(":", ".").split(".")
    return any(part.startswith("_") for part in parts), len(parts), key


def _merged(spans: Spans) -> Spans:
    out: Spans = []
    for first, last, text in sorted(spans):
        if out and out[-1][1] + 1 == first and out[-1][2] == text:
            out[-1] = (out[-1][0], last, text)
        else:
            out.append((first, last, text))
    return out
