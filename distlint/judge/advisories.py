"""Advisories: known defects of released packages, as OSV documents that also say which code they matter to.

One file is one advisory, ``advisories/<package>/<ID>.json`` in the folder of the rules; what a run reads are the
folders of those packages that it asks for. The part that OSV leaves to a database (``database_specific.distlint``)
holds the symptom, the effect, a workaround and the uses that bring the defect about; ``docs/rule-files.md`` describes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from distlint.judge.errors import RuleFileError
from distlint.model.record import dataclass
from distlint.model.value import Confidence

FOLDER = "advisories"
MAX_LENGTH = 64 * 1024
MAX_FILES = 1000
SCHEMA_VERSIONS = ("1.6.", "1.7.")
SYMPTOMS = frozenset({"wrong-result", "corruption", "hang", "crash", "slow", "memory"})

_ECOSYSTEM = "PyPI"
_TOP = frozenset(
    {
        "schema_version",
        "id",
        "modified",
        "published",
        "withdrawn",
        "aliases",
        "related",
        "upstream",
        "summary",
        "details",
        "severity",
        "affected",
        "references",
        "credits",
        "database_specific",
    }
)
_OWN = frozenset({"symptom", "effect", "workaround", "uses", "with"})
_USE = frozenset({"subject", "calls", "signature", "derived", "names", "when", "at", "beside", "confidence"})


@dataclass(frozen=True, slots=True)
class UseOf:
    """One way to use the defective feature.

    Either ``subject`` (a kind of subject) with a condition, or ``calls`` (library functions, by dotted name; a method
    as ``pkg.Class().method``), whose arguments a condition may ask for by name, or ``names`` (imports and dotted
    expressions). ``signature`` names the positional parameters of the calls, ``derived`` includes the project's own
    subclasses, ``at`` says where to point. ``beside`` are calls or names one of which has to occur in the project too.
    ``confidence`` is how sure it is that the use brings the defect about (``likely``, ``possible``).
    """

    subject: str = ""
    calls: tuple[str, ...] = ()
    signature: tuple[str, ...] = ()
    derived: bool = False
    names: tuple[str, ...] = ()
    when: str = ""
    at: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    confidence: str = "certain"


@dataclass(frozen=True, slots=True)
class Range:
    """Releases from ``introduced`` (``"0"`` for the first) up to, but not in, ``fixed``, or up to and in ``last``."""

    introduced: str
    fixed: str = ""
    last: str = ""

    @property
    def specifier(self) -> str:
        """The range as a specifier of PEP 440; ``""`` for all releases."""
        parts = [f">={self.introduced}"] if self.introduced != "0" else []
        parts += [f"<{self.fixed}"] if self.fixed else []
        parts += [f"<={self.last}"] if self.last else []
        return ",".join(parts)


@dataclass(frozen=True, slots=True)
class Advisory:
    """One known defect. ``symptom`` is one of ``SYMPTOMS``, ``requires`` maps further packages to the releases with which it shows."""

    id: str
    summary: str
    details: str
    package: str
    ranges: tuple[Range, ...]
    references: tuple[tuple[str, str], ...]
    symptom: str
    effect: str
    uses: tuple[UseOf, ...]
    workaround: str = ""
    requires: Mapping[str, str] = {}
    published: str = ""
    withdrawn: bool = False
    source: str = ""

    @property
    def specifiers(self) -> tuple[str, ...]:
        """The ranges as specifiers."""
        return tuple(one.specifier for one in self.ranges)

    def fixed_after(self, version: str) -> str:
        """The first release without the defect that follows a version which has it; ``""`` where none is known."""
        from packaging.version import Version

        later = [one.fixed for one in self.ranges if one.fixed and Version(one.fixed) > Version(version)]
        return min(later, key=Version, default="")


def affected_packages(folder: Path) -> tuple[str, ...]:
    """The packages of which the folder ``advisories`` below a folder of rules knows defects, sorted."""
    try:
        with os.scandir(folder / FOLDER) as entries:
            return tuple(sorted(entry.name for entry in entries if entry.is_dir() and entry.name[0] not in "._"))
    except OSError:
        return ()


@lru_cache(maxsize=256)
def advisories_of(folder: Path, package: str) -> tuple[Advisory, ...]:
    """The advisories about one package that are in force, by id. Raises ``RuleFileError`` for a file that is wrong."""
    place = folder / FOLDER / package
    files = sorted(path for path in place.glob("*.json") if path.is_file())[:MAX_FILES]
    found = [_read(path, package) for path in files]
    return tuple(sorted((one for one in found if not one.withdrawn), key=lambda one: one.id))


def all_advisories(folder: Path) -> tuple[Advisory, ...]:
    """Every advisory below a folder of rules, by id. Raises ``RuleFileError`` for a file that is wrong."""
    found = [one for package in affected_packages(folder) for one in advisories_of(folder, package)]
    return tuple(sorted(found, key=lambda one: one.id))


def find_advisory(folder: Path, word: str) -> Advisory | None:
    """The advisory with an id, in any case. Raises ``RuleFileError`` for a file that is wrong."""
    wanted = word.strip().upper()
    return next((one for one in all_advisories(folder) if one.id.upper() == wanted), None)


def _read(path: Path, package: str) -> Advisory:
    source = f"{FOLDER}/{package}/{path.name}"
    try:
        if path.stat().st_size > MAX_LENGTH:
            raise RuleFileError(source, 1, f"longer than {MAX_LENGTH} bytes")
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise RuleFileError(source, 1, f"cannot be read: {error}") from None
    except json.JSONDecodeError as error:
        raise RuleFileError(source, error.lineno, f"not JSON: {error.msg}") from None
    try:
        return parse_advisory(data, package, source)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise RuleFileError(source, 1, f"is no advisory: {error}") from None


def parse_advisory(data: Mapping[str, Any], package: str, source: str = "") -> Advisory:
    """The advisory that an OSV document states about a package.

    Raises ``ValueError`` (or ``LookupError``, ``TypeError``) for a document that OSV does not allow, or that lacks our own part.
    """
    _only(data, _TOP, "field")
    if not data["schema_version"].startswith(SCHEMA_VERSIONS):
        raise ValueError(f"the schema version {data['schema_version']} is not read")
    own = data["database_specific"]["distlint"]
    _only(own, _OWN, "field of `distlint`")
    if own["symptom"] not in SYMPTOMS:
        raise ValueError(f"`{own['symptom']}` is no symptom")
    uses = tuple(_use(row) for row in own["uses"])
    if not uses:
        raise ValueError("no use is named")
    return Advisory(
        id=data["id"],
        summary=data["summary"],
        details=data["details"],
        package=package,
        ranges=tuple(_ranges(data["affected"], package)),
        references=tuple((row["type"], row["url"]) for row in data["references"]),
        symptom=own["symptom"],
        effect=own["effect"],
        uses=uses,
        workaround=own.get("workaround", ""),
        requires=dict(own.get("with", {})),
        published=data.get("published", ""),
        withdrawn="withdrawn" in data,
        source=source,
    )


def _only(data: Mapping[str, Any], known: Iterable[str], what: str) -> None:
    unknown = sorted(set(data) - set(known))
    if unknown:
        raise ValueError(f"unknown {what} `{unknown[0]}`")


def _use(row: Mapping[str, Any]) -> UseOf:
    _only(row, _USE, "part of a use")
    if sum(key in row for key in ("subject", "calls", "names")) != 1:
        raise ValueError("a use has one of `subject`, `calls` and `names`")
    if "subject" in row and not row.get("when"):
        raise ValueError("a use of a subject needs a condition")
    Confidence.parse(row.get("confidence", "certain"))
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return UseOf(**fields)


def _ranges(affected: Iterable[Mapping[str, Any]], package: str) -> Iterable[Range]:
    """The ranges of a package in the order of their events; ``introduced`` opens one, what follows it closes it."""
    for entry in affected:
        if (entry["package"]["ecosystem"], entry["package"]["name"]) != (_ECOSYSTEM, package):
            raise ValueError(f"it affects {entry['package']}, not {package}")
        for row in entry["ranges"]:
            opened = ""
            if row["type"] != "ECOSYSTEM":
                raise ValueError(f"ranges of the type {row['type']} are not read")
            for event in row["events"]:
                ((kind, version),) = event.items()
                if kind == "introduced" and not opened:
                    opened = version
                elif kind in ("fixed", "last_affected") and opened:
                    yield Range(opened, **{"fixed" if kind == "fixed" else "last": version})
                    opened = ""
                else:
                    raise ValueError(f"the event `{kind}` does not belong here")
            if opened:
                yield Range(opened)
