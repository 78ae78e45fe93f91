"""What the configuration objects and functions of ``megatron.core`` take, by release."""

from __future__ import annotations

from functools import cache

from distlint.knowledge.release_tables import ReleaseTable, section
from distlint.model.record import dataclass
from distlint.model.value import Value, absent, known, unknown


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of one callable in the releases that a version may mean; it may be given those that any has."""

    takes: frozenset[str]
    positional: tuple[str, ...]


@cache
def table() -> ReleaseTable:
    """Names are ``callable#parameter``, and ``callable#`` for the callable itself."""
    return ReleaseTable(section("megatron_arguments", 2))


@cache
def signature(name: str, version: str) -> Signature | None:
    """What a callable takes; ``None`` where a release that the version may mean does not have it."""
    releases = table()
    indexes = releases.indexes(version)
    if any(releases.entry(f"{name}#", index) is None for index in indexes):
        return None
    takes: set[str] = set()
    order: dict[str, int] = {}
    for path in releases.names:
        owner, _, parameter = path.partition("#")
        if owner != name or not parameter:
            continue
        for index in indexes:
            entry = releases.entry(path, index)
            if entry is not None:
                takes.add(parameter)
                order[parameter] = entry.get("at", len(order))
    return Signature(frozenset(takes), tuple(sorted(order, key=order.__getitem__)))


def field_default(name: str, field: str, version: str) -> Value | None:
    """What a field of a configuration object has where it is not given; ``None`` where no release has the field."""
    releases = table()
    path = f"{name}#{field}"
    if path not in releases.names:
        return None
    values = []
    for index in releases.indexes(version):
        entry = releases.entry(path, index)
        if entry is None or entry.get("default") is None:
            values.append(unknown("the default is computed") if entry and entry.get("computed") else absent())
        else:
            values.append(known(entry["default"]))
    return values[0] if all(value == values[0] for value in values) else unknown("the default depends on the version")


@cache
def field_names() -> frozenset[str]:
    """Every parameter of any of them in any release."""
    return frozenset(path.partition("#")[2] for path in table().names)
