"""Writes ``distlint/knowledge/api.zip`` from the released packages. Nothing of a package is run.

    python tools/harvest [PACKAGE ...] [--folder CACHE] [--from-scratch] [--check] [--report FILE]

Run it with Python 3.13 or later that has pip and packaging: it parses what the newest releases write.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
from pathlib import Path
from typing import Any

from api_rows import extended
from packages import PACKAGES
from sources import releases_in
from table import INDEX, members_of, read_members, rows_of, write_members

TARGET = Path(__file__).resolve().parent.parent.parent / "distlint" / "knowledge" / "api.zip"


def main() -> int:
    """Harvests all packages, or those named."""
    parser = argparse.ArgumentParser(prog="harvest", description="Harvest the APIs of released packages.")
    parser.add_argument("packages", nargs="*", help="only these; the others keep what is known of them")
    parser.add_argument("--folder", type=Path, default=Path("build/releases"), help="where releases are, or are put")
    parser.add_argument("--target", type=Path, default=TARGET, help="the table file")
    parser.add_argument("--from-scratch", action="store_true", help="read releases again that the table has")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes [default: 2]")
    options = parser.parse_args()
    wanted = [one for one in PACKAGES if not options.packages or one.name in options.packages]
    old = read_members(options.target)
    entries: dict[str, Any] = json.loads(old[INDEX])["packages"] if old else {}
    members = {name: content for name, content in old.items() if name != INDEX}
    for package in wanted:
        available = releases_in(options.folder, package.name)
        known = [] if options.from_scratch else entries.get(package.name, {}).get("releases", [])
        rows, versions = extended(
            package, rows_of(package.name, old) if known else {}, known, available, options.workers
        )
        if not versions:
            continue
        members = {name: content for name, content in members.items() if not name.startswith(f"api/{package.name}/")}
        members.update(members_of(package.name, rows))
        yanked = {one.version for one in available if one.yanked} | set(entries.get(package.name, {}).get("yanked", ()))
        entries[package.name] = {
            "releases": versions,
            "yanked": [one for one in versions if one in yanked],
            "tops": list(package.tops),
        }
    changed = write_members(options.target, members, entries, str(dt.datetime.now(dt.timezone.utc).date()))
    print(f"{options.target.name}: {options.target.stat().st_size} bytes" if changed else "nothing new")
    return 0


if __name__ == "__main__":
    sys.exit(main())
