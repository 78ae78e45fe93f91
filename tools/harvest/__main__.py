"""Writes ``distlint/knowledge/api.zip`` from the released packages. Nothing of a package is run.

    python tools/harvest [PACKAGE ...] [--folder CACHE] [--check] [--report FILE]

Releases that the table has are not read again. The others are brought from the package index that pip is configured for, unless
``--offline`` says to take what the folder has. Run it with Python 3.13 or later that has pip and packaging: it parses what the
newest releases write.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinds import KINDS, Task, make
from packages import METADATA_ONLY, PACKAGES, package_named
from packaging.version import Version
from sources import METADATA
from table import INDEX, read_members, write_members

if TYPE_CHECKING:
    from index import Release

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / "distlint" / "knowledge" / "api.zip"


def main() -> int:
    """Harvests all packages, or those named."""
    options = _parser().parse_args()
    names = tuple(options.packages) or (*(one.name for one in PACKAGES), *METADATA_ONLY)
    old = read_members(options.target)
    index: dict[str, Any] = json.loads(old[INDEX])["packages"] if old else {}
    if options.check:
        return _check(names, index, old)
    listed: dict[str, dict[str, bool]] = {}
    if not options.offline:
        for name in names:
            known = {} if options.from_scratch else _known(name, index, old)
            listed[name] = _fetch(name, known, options.folder)
    members = {name: content for name, content in old.items() if name != INDEX}
    notes: list[str] = []
    for kind in options.only or KINDS:
        task = Task(members, index, names, options.folder, options.from_scratch, options.workers, notes.append, listed)
        members = make(kind, task)
    today = str(dt.datetime.now(dt.timezone.utc).date())
    changed = write_members(options.target, members, dict(sorted(index.items())), today)
    _tell(notes, options.report)
    print(f"{options.target.name}: {options.target.stat().st_size} bytes" if changed else "nothing new")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="harvest", description="Harvest the APIs of released packages.")
    parser.add_argument(
        "packages", nargs="*", metavar="PACKAGE", help="only these; the others keep what is known of them"
    )
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "releases", help="where releases are, or are put"
    )
    parser.add_argument("--target", type=Path, default=TARGET, help="the table file")
    parser.add_argument(
        "--only", action="append", choices=tuple(KINDS), help="make only this kind of members (repeatable)"
    )
    parser.add_argument("--offline", action="store_true", help="take the releases that the folder has, fetch none")
    parser.add_argument("--from-scratch", action="store_true", help="read releases again that the table has")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; name new releases and exit 1 if there are any"
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write what new releases changed there too")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes [default: 2]")
    return parser


def _known(name: str, index: Mapping[str, Any], members: Mapping[str, bytes]) -> dict[str, str]:
    """The releases that the table has of a package, with the best kind of members that speaks of them."""
    document = json.loads(members.get(f"requires/{name}.json", "{}"))
    read = (one for one in document.get("releases", ()) if one not in document["unread"])
    return {**dict.fromkeys(read, "requires"), **dict.fromkeys(index.get(name, {}).get("releases", ()), "api")}


def _fetch(name: str, known: Mapping[str, str], folder: Path) -> dict[str, bool]:
    """Brings the releases that are wanted, and gives all that the index has, with whether they were withdrawn."""
    import fetching

    releases = fetching.all_releases(name)
    full, bare = _wanted(name, releases, known)
    for _ in fetching.fetch(name, full, folder):
        pass
    for _ in fetching.fetch(name, bare, folder / METADATA, metadata_only=True):
        pass
    return {str(one.version): one.yanked for one in releases}


def _wanted(name: str, releases: Iterable[Release], known: Mapping[str, str]) -> tuple[list[Release], list[Release]]:
    """The releases whose sources are wanted, and those of which only the metadata is."""
    since = None if name in METADATA_ONLY else Version(package_named(name).since)
    full = [one for one in releases if since is not None and one.version >= since]
    bare = [one for one in releases if since is None or one.version < since]
    return (
        [one for one in full if known.get(str(one.version)) != "api"],
        [one for one in bare if str(one.version) not in known],
    )


def _check(names: Sequence[str], index: Mapping[str, Any], members: Mapping[str, bytes]) -> int:
    import fetching

    new = 0
    for name in names:
        full, bare = _wanted(name, fetching.all_releases(name), _known(name, index, members))
        for release in (*full, *bare):
            print(f"{name} {release.version} is new")
            new += 1
    if not new:
        print("up to date")
    return 1 if new else 0


def _tell(notes: Sequence[str], report: Path | None) -> None:
    for note in notes:
        print(note, end="")
    if report is not None:
        report.write_text("".join(notes), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
