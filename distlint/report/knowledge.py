"""What the table of released APIs covers, and the history of a name in it, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from textwrap import wrap
from typing import Any

from distlint.judge.suggestion import did_you_mean
from distlint.knowledge.api import Api, Param, Symbol
from distlint.model.record import dataclass


@dataclass(frozen=True)
class Coverage:
    """The edition of the table and its packages. ``state`` is ``right``, ``wrong`` or ``""`` (not computed)."""

    version: str
    harvested: str
    checksum: str
    state: str
    packages: tuple[tuple[str, tuple[str, ...], tuple[str, ...], int], ...]
    """Name, releases oldest first, withdrawn ones, number of names."""
    requirements: tuple[tuple[str, int, str], ...]
    """Packages of which it is known what they require: name, number of releases, the newest of these."""


@dataclass(frozen=True)
class Stretch:
    """Releases in a row in which a name is the same. ``lines`` say what it is and what became of it."""

    first: str
    last: str
    state: str
    signature: str
    deprecated: str
    deprecated_parameters: tuple[tuple[str, str], ...]
    moved: str


@dataclass(frozen=True)
class History:
    """A name through the releases of its package."""

    name: str
    package: str
    stretches: tuple[Stretch, ...]


def coverage_of(table: Api, package: str, *, verify: bool) -> Coverage:
    """What the table covers; only one package if it is named."""
    edition = table.edition
    names = [one for one in table.packages if package in ("", one)]
    return Coverage(
        edition.version,
        edition.harvested,
        edition.checksum,
        ("right" if table.is_intact() else "wrong") if verify else "",
        tuple((one, table.releases(one), table.yanked(one), table.size(one)) for one in names),
        _requirements_of(package),
    )


def _requirements_of(package: str) -> tuple[tuple[str, int, str], ...]:
    from distlint.knowledge.requirements import required_packages, requirements

    found = []
    for name in required_packages():
        known = requirements(name) if package in ("", name) else None
        if known is not None:
            read = known.line.all & ~known.unread
            found.append((name, read.bit_count(), known.line.newest(read)))
    return tuple(found)


def history_of(table: Api, name: str) -> History:
    """The history of a dotted name. Raises ``LookupError`` for one that no release in the table has."""
    package = table.package_of(name.partition(".")[0])
    if package is None:
        raise LookupError(
            f"no package in the table has a module `{name.partition('.')[0]}`{did_you_mean(name, table.packages)}"
        )
    withdrawn = set(table.yanked(package))
    stretches: list[Stretch] = []
    for release in table.releases(package):
        if release in withdrawn:
            continue
        found = table.find(name, release)
        symbol = found.symbol
        here = Stretch(
            release,
            release,
            found.state,
            signature_of(symbol) if symbol else "",
            symbol.deprecated if symbol else "",
            tuple(sorted(symbol.deprecated_parameters.items())) if symbol else (),
            table.moved(name, release) if found.state == "absent" else "",
        )
        before = stretches[-1] if stretches else None
        if before and _facts(before) == _facts(here):
            stretches[-1] = Stretch(before.first, release, *_facts(here))
        else:
            stretches.append(here)
    if all(one.state != "present" for one in stretches):
        raise LookupError(f"no release of {package} in the table has `{name}`")
    return History(name, package, tuple(stretches))


def _facts(stretch: Stretch) -> tuple[Any, ...]:
    return (
        stretch.state,
        stretch.signature,
        stretch.deprecated,
        stretch.deprecated_parameters,
        stretch.moved,
    )


def signature_of(symbol: Symbol) -> str:
    """A symbol in one line: its kind, its name, and its parameters where they are known."""
    if symbol.alternatives and symbol.parameters is None:
        return " | ".join(dict.fromkeys(signature_of(one) for one in symbol.alternatives))
    shown = "" if symbol.parameters is None else f"({', '.join(_shown(symbol.parameters))})"
    unknown = "(?)" if symbol.parameters is None and symbol.kind in ("function", "class") else ""
    return f"{symbol.kind} {symbol.name}{shown}{unknown}"


def _shown(parameters: tuple[Param, ...]) -> list[str]:
    out: list[str] = []
    positional = starred = False
    for one in parameters:
        if positional and one.kind != "positional":
            out.append("/")
        positional = one.kind == "positional"
        if one.kind == "keyword" and not starred:
            out.append("*")
        starred = starred or one.kind in ("keyword", "var-positional")
        mark = {"var-positional": "*", "var-keyword": "**"}.get(one.kind, "")
        out.append(f"{mark}{one.name}" + (f"={one.default}" if one.default is not None else ""))
    return [*out, "/"] if positional else out


def _coverage_text(coverage: Coverage) -> str:
    if not coverage.packages and not coverage.requirements:
        return "no table of released APIs is installed\n"
    state = {"right": ", which is right", "wrong": ", which is WRONG: the file was changed or damaged"}
    lines = [
        f"table of released APIs, edition {coverage.version}, harvested {coverage.harvested}",
        f"checksum {coverage.checksum}{state.get(coverage.state, '')}",
        "",
    ]
    rows = [("package", "releases", "oldest", "newest", "withdrawn", "names")]
    for name, releases, withdrawn, names in coverage.packages:
        rows.append((name, str(len(releases)), releases[0], releases[-1], str(len(withdrawn)), str(names)))
    rows = rows if coverage.packages else []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0] if rows else ()))]
    numeric = (1, 4, 5)
    for row in rows:
        cells = (
            cell.rjust(w) if at in numeric else cell.ljust(w)
            for at, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    if coverage.requirements:
        told = ", ".join(f"{name} (to {newest})" for name, _, newest in coverage.requirements)
        lines += ["", "what releases require of others and of Python is known of:", *wrap(told, 110)]
    lines += ["", "`distlint knowledge NAME` tells the history of a name, such as `package.module.function`."]
    return "\n".join(lines) + "\n"


def _coverage_json(coverage: Coverage) -> str:
    document = {
        "version": coverage.version,
        "harvested": coverage.harvested,
        "checksum": coverage.checksum,
        "checksum_state": coverage.state or None,
        "packages": {
            name: {"releases": list(releases), "withdrawn": list(withdrawn), "names": names}
            for name, releases, withdrawn, names in coverage.packages
        },
        "requirements": {name: {"releases": count, "newest": newest} for name, count, newest in coverage.requirements},
    }
    return json.dumps(document, indent=2) + "\n"


def _history_text(history: History) -> str:
    lines = [f"{history.name} ({history.package})"]
    for one in history.stretches:
        span = one.first if one.first == one.last else f"{one.first} to {one.last}"
        what = one.signature if one.state == "present" else {"absent": "not there", "unknown": "not known"}[one.state]
        lines.append(f"  {span}: {what}")
        if one.moved:
            lines.append(f"    have `{one.moved}` instead")
        if one.deprecated:
            lines.append(f"    deprecated: {one.deprecated}")
        lines.extend(f"    parameter `{name}` deprecated: {text}" for name, text in one.deprecated_parameters)
    return "\n".join(lines) + "\n"


def _history_json(history: History) -> str:
    document = {
        "name": history.name,
        "package": history.package,
        "history": [
            {
                "first": one.first,
                "last": one.last,
                "state": one.state,
                "signature": one.signature or None,
                "deprecated": one.deprecated or None,
                "deprecated_parameters": dict(one.deprecated_parameters),
                "moved": one.moved or None,
            }
            for one in history.stretches
        ],
    }
    return json.dumps(document, indent=2) + "\n"


RENDER_COVERAGE: dict[str, Callable[[Coverage], str]] = {"text": _coverage_text, "json": _coverage_json}
RENDER_HISTORY: dict[str, Callable[[History], str]] = {"text": _history_text, "json": _history_json}
