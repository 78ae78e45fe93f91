"""What a release changed, from the rows: names that came, went, moved, have other parameters or became deprecated."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from intervals import Spans

_HEADINGS = {
    "added": "added",
    "removed": "removed",
    "moved": "moved",
    "changed": "other parameters",
    "deprecated": "deprecated",
    "undeprecated": "no longer deprecated",
}


def changes(rows: Mapping[str, Spans], release: int) -> dict[str, list[str]]:
    """The public changes of a release against the one before it, by kind, sorted."""
    out: dict[str, list[str]] = {kind: [] for kind in _HEADINGS}
    for key in sorted(rows):
        if key.endswith((">", ":*")) or any(part.startswith("_") for part in key.replace(":", ".").split(".")):
            continue
        old, new = _at(rows[key], release - 1), _at(rows[key], release)
        if old == new:
            continue
        name = key.replace(":", ".")
        if old is None:
            out["added"].append(name)
        elif new is None:
            target = _at(rows.get(f"{key}>", []), release)
            out["moved" if target else "removed"].append(f"{name} -> {target}" if target else name)
        else:
            if old.get("p") != new.get("p") and "p" in old and "p" in new:
                out["changed"].append(f"{name}: {_difference(old['p'], new['p'])}")
            if bool(old.get("dep")) != bool(new.get("dep")):
                out["deprecated" if new.get("dep") else "undeprecated"].append(name)
            for one in sorted(set(new.get("depp", ())) - set(old.get("depp", ()))):
                out["deprecated"].append(f"{name} ({one}=)")
    return {kind: names for kind, names in out.items() if names}


def as_text(package: str, release: str, found: Mapping[str, Sequence[str]]) -> str:
    """A report of one release."""
    lines = [f"{package} {release}"]
    for kind, names in found.items():
        lines.append(f"  {_HEADINGS[kind]} ({len(names)})")
        lines.extend(f"    {name}" for name in names)
    return "\n".join(lines) + "\n"


def _at(spans: Spans, release: int) -> Any:
    for first, last, text in spans:
        if first <= release <= last:
            value = json.loads(text)
            return None if isinstance(value, dict) and value.get("k") == "t" else value
    return None


def _difference(old: Sequence[str], new: Sequence[str]) -> str:
    gone = [f"-{one}" for one in old if one not in new]
    came = [f"+{one}" for one in new if one not in old]
    return " ".join([*gone, *came]) or "another order"
