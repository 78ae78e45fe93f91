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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kinds import KINDS, Task, make
from packages import PACKAGES, package_named
from packaging.version import Version
from table import INDEX, read_members, write_members

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / "distlint" / "knowledge" / "api.zip"


def main() -> int:
    """Harvests all packages, or those named."""
    options = _parser().parse_args()
    names = tuple(options.packages) or tuple(one.name for one in PACKAGES)
    old = read_members(options.target)
    index: dict[str, Any] = json.loads(old[INDEX])["packages"] if old else {}
    if options.check:
        return _check(names, index)
    if not options.offline:
        for name in names:
            _fetch(name, [] if options.from_scratch else index.get(name, {}).get("releases", []), options.folder)
    members = {name: content for name, content in old.items() if name != INDEX}
    notes: list[str] = []
    for kind in options.only or KINDS:
        task = Task(members, index, names, options.folder, options.from_scratch, options.workers, notes.append)
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


def _fetch(name: str, known: Sequence[str], folder: Path) -> None:
    import fetching

    since, have = Version(package_named(name).since), set(known)
    wanted = [one for one in fetching.all_releases(name) if one.version >= since and str(one.version) not in have]
    for _ in fetching.fetch(name, wanted, folder):
        pass


def _check(names: Sequence[str], index: Mapping[str, Any]) -> int:
    import fetching

    new = 0
    for name in names:
        since, have = Version(package_named(name).since), set(index.get(name, {}).get("releases", ()))
        for release in fetching.all_releases(name):
            if release.version >= since and str(release.version) not in have:
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
