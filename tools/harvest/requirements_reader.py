"""What releases require by their own metadata: other packages, Pythons, and the Pythons that their wheels are for.

Markers are decided here, for CPython on Linux x86_64, as far as they hang on something else than the Python version and
the extra: what is left of a requirement is a row ``[package, its extras, specifier, extra that asks for it, Pythons]``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

PYTHONS = tuple(f"3.{minor}" for minor in range(6, 17))
"""The Pythons that are told apart; a set of them is a number with one bit for each."""

ALL_PYTHONS = (1 << len(PYTHONS)) - 1

Row = tuple[str, str, str, str, int]
"""A requirement: package, its extras (``a,b``), specifier, the extra that asks for it (``""``: always), Pythons."""

_SECTION = re.compile(r"\[([^:\]]*)(?::(.*))?\]")
_DEVELOPMENT = re.compile(
    r"(?:dev|develop|test|tests|testing|doc|docs|quality|lint|typing|readthedocs|mypy)(?:[-_.].*)?"
)
"""Extras for those who work on the package itself."""

_LEGACY_SPECIFIER = re.compile(r"([<>=!~]=?|===)\s*([0-9][^\s,;]*?)\.\*")


@dataclass(frozen=True)
class Metadata:
    """What one release says: requirements (``None``: not known), Pythons that it asks for and that its wheels are for."""

    rows: tuple[Row, ...] | None = None
    python: str = ""
    wheels: str = ""
    yanked: bool = False


def metadata_of(folder: Path) -> Metadata:
    """What an unpacked release says, from its folder with ``release.json``."""
    record = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    read = requirements_of(folder)
    return Metadata(
        None if read is None else tuple(dict.fromkeys(row for text in read for row in rows_of(text))),
        _specifier(record["requires_python"]),
        _wheel_pythons(record["files"]),
        bool(record["yanked"]),
    )


def as_document(releases: Mapping[str, Metadata]) -> dict[str, Any]:
    """The document of one package, by the texts of its versions.

    In it, ``releases`` are all, oldest first; ``yanked`` and ``unread`` some of them; ``python`` and ``wheels`` spans
    ``[first, last, value]``; ``rows`` the requirements, each with its spans. Positions count from 0 and both ends belong
    to a span.
    """
    order = sorted((text for text in releases if not Version(text).epoch), key=Version)
    rows: dict[Row, list[int]] = {}
    for position, version in enumerate(order):
        for row in releases[version].rows or ():
            rows.setdefault(row, []).append(position)
    return {
        "releases": order,
        "yanked": [version for version in order if releases[version].yanked],
        "unread": [version for version in order if releases[version].rows is None],
        "python": _spans([releases[version].python for version in order]),
        "wheels": _spans([releases[version].wheels for version in order]),
        "rows": [[*row, _runs(positions)] for row, positions in sorted(rows.items())],
    }


def from_document(document: Mapping[str, Any]) -> dict[str, Metadata]:
    """What ``as_document`` was made from."""
    order, unread, yanked = document["releases"], set(document["unread"]), set(document["yanked"])
    rows: dict[str, list[Row]] = {version: [] for version in order}
    for name, extras, specifier, extra, pythons, runs in document["rows"]:
        for first, last in runs:
            for version in order[first : last + 1]:
                rows[version].append((name, extras, specifier, extra, pythons))
    values: dict[str, dict[str, str]] = {"python": {}, "wheels": {}}
    for key, found in values.items():
        for first, last, value in document[key]:
            found.update(dict.fromkeys(order[first : last + 1], value))
    return {
        version: Metadata(
            None if version in unread else tuple(rows[version]),
            values["python"].get(version, ""),
            values["wheels"].get(version, ""),
            version in yanked,
        )
        for version in order
    }


def requirements_of(folder: Path) -> list[str] | None:
    """The requirements of an unpacked release as PEP 508 texts; ``None`` where it has no metadata that says so.

    What the Linux wheel says goes before what another wheel says. A source archive says it in ``requires.txt`` of its
    ``egg-info``, which lacks where nothing is required.
    """
    for pattern in ("linux/*.dist-info/METADATA", "*.dist-info/METADATA"):
        for path in sorted(folder.glob(pattern)):
            return _headers(path).get_all("Requires-Dist", [])
    information = [path for path in sorted(folder.rglob("*.egg-info")) if path.is_dir()]
    for path in information:
        listed = path / "requires.txt"
        if listed.is_file():
            return list(_from_requires_text(listed.read_text(encoding="utf-8", errors="replace")))
    own = folder / "PKG-INFO"
    if own.is_file():
        asked: list[str] = _headers(own).get_all("Requires-Dist", [])
        return asked if asked or information else None
    return None


def _headers(path: Path) -> Any:
    return HeaderParser().parsestr(path.read_text(encoding="utf-8", errors="replace"))


def _from_requires_text(text: str) -> Iterator[str]:
    """``requires.txt`` has a section for each extra and marker: ``[extra:marker]``."""
    condition = ""
    for line in text.splitlines():
        line = line.strip()
        section = _SECTION.fullmatch(line)
        if section is not None:
            extra, marker = section.group(1).strip(), (section.group(2) or "").strip()
            parts = [f"extra == '{extra}'"] * bool(extra) + [f"({marker})"] * bool(marker)
            condition = " and ".join(parts)
        elif line and not line.startswith("#"):
            yield f"{line} ; {condition}" if condition else line


def rows_of(text: str) -> list[Row]:
    """The rows that a requirement becomes: one for each extra that asks for it, none where Linux has no need of it."""
    try:
        parsed = Requirement(_LEGACY_SPECIFIER.sub(_repaired, text))
    except InvalidRequirement:
        return []
    name, extras = canonicalize_name(parsed.name), ",".join(sorted(canonicalize_name(one) for one in parsed.extras))
    if parsed.url:
        return []
    specifier = ",".join(sorted(str(one) for one in parsed.specifier))
    marker = parsed.marker
    if marker is None:
        return [(name, extras, specifier, "", ALL_PYTHONS)]
    always = _pythons_where(marker, "")
    found = [(name, extras, specifier, "", always)] if always else []
    for extra in sorted(set(re.findall(r"""extra\s*==\s*['"]([^'"]+)['"]""", str(marker)))):
        pythons = _pythons_where(marker, extra) & ~always
        if pythons and not _DEVELOPMENT.fullmatch(canonicalize_name(extra)):
            found.append((name, extras, specifier, canonicalize_name(extra), pythons))
    return found


def _repaired(match: re.Match[str]) -> str:
    """Old metadata has ``>=3.*``, which nobody accepts any more; installers read it without the star."""
    operator, version = match.group(1), match.group(2)
    return match.group(0) if operator in ("==", "!=") else f"{operator}{version}"


def _pythons_where(marker: Marker, extra: str) -> int:
    """The Pythons for which a marker holds with their first and with their last patch release."""
    found = 0
    for bit, python in enumerate(PYTHONS):
        holds = all(
            marker.evaluate(
                {
                    "python_version": python,
                    "python_full_version": f"{python}.{patch}",
                    "implementation_version": f"{python}.{patch}",
                    "sys_platform": "linux",
                    "platform_system": "Linux",
                    "os_name": "posix",
                    "platform_machine": "x86_64",
                    "implementation_name": "cpython",
                    "platform_python_implementation": "CPython",
                    "platform_release": "6.1.0",
                    "platform_version": "1",
                    "extra": extra,
                }
            )
            for patch in (0, 30)
        )
        found |= holds << bit
    return found


def _specifier(text: str) -> str:
    text = _LEGACY_SPECIFIER.sub(_repaired, text)
    try:
        return ",".join(sorted(str(one) for one in SpecifierSet(text)))
    except InvalidSpecifier:
        return ""


def _wheel_pythons(files: Iterable[str]) -> str:
    """The Pythons (``3.8 3.9``) that a release without source archive has wheels for; ``""`` where any may do.

    Linux x86_64 decides where the release has wheels for it, else all platforms together.
    """
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for file in files:
        if not file.endswith(".whl"):
            if file.endswith((".tar.gz", ".zip", ".tar.bz2")):
                return ""
            continue
        try:
            tags = parse_wheel_filename(file)[3]
        except InvalidWheelFilename:
            return ""
        for tag in tags:
            linux = tag.platform == "any" or ("linux" in tag.platform and tag.platform.endswith("x86_64"))
            found[linux].update(_tag_pythons(tag.interpreter, tag.abi))
    pythons = found[True] or found[False]
    return "" if pythons >= set(PYTHONS) else " ".join(python for python in PYTHONS if python in pythons)


def _tag_pythons(interpreter: str, abi: str) -> list[str]:
    match = re.fullmatch(r"(cp|py)3(\d*)", interpreter)
    if match is None:
        return []
    least = int(match.group(2) or 0)
    minors = [int(python[2:]) for python in PYTHONS]
    if match.group(1) == "py" or abi in ("abi3", "none"):
        return [f"3.{minor}" for minor in minors if minor >= least]
    return [f"3.{least}"] if abi != f"cp3{least}t" else []


def _runs(positions: list[int]) -> list[list[int]]:
    """Consecutive positions joined to ``[first, last]``."""
    runs: list[list[int]] = []
    for position in positions:
        if runs and runs[-1][1] == position - 1:
            runs[-1][1] = position
        else:
            runs.append([position, position])
    return runs


def _spans(values: list[str]) -> list[list[Any]]:
    """Equal neighbours joined to ``[first, last, value]``, without those that say nothing."""
    spans: list[list[Any]] = []
    for position, value in enumerate(values):
        if spans and spans[-1][2] == value:
            spans[-1][1] = position
        else:
            spans.append([position, position, value])
    return [span for span in spans if span[2]]
