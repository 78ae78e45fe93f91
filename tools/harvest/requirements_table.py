"""Writes ``distlint/knowledge/requires.zip``: what the releases of packages require, by their own metadata.

    python tools/harvest/requirements_table.py [PACKAGE ...] [--folder CACHE] [--offline]

Only metadata is brought for releases that the folder lacks. Nothing of a package is run. Equal metadata gives equal bytes.
"""

from __future__ import annotations

import argparse
import json
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from requirements_reader import requires_member

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / "distlint" / "knowledge" / "requires.zip"
_MEMBER = "requires/{}.json"
_TIME = (1980, 1, 1, 0, 0, 0)


def main() -> int:
    """Makes the members of all packages that the file has, or of those named, again."""
    parser = argparse.ArgumentParser(description="Harvest what releases require.")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="only these, which may be new")
    parser.add_argument("--folder", type=Path, action="append", help="where releases are; the last gets new ones")
    parser.add_argument("--offline", action="store_true", help="take the releases that the folders have, fetch none")
    options = parser.parse_args()
    folders = options.folder or [ROOT / "build" / "releases"]
    documents = _documents()
    for name in options.packages or sorted(documents):
        documents[name] = _made(name, folders, documents.get(name), options.offline)
        print(f"{name}: {len(documents[name]['releases'])} releases, {len(documents[name]['rows'])} requirements")
    _count(documents)
    _write(documents)
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes")
    return 0


def _documents() -> dict[str, dict[str, Any]]:
    if not TARGET.exists():
        return {}
    with zipfile.ZipFile(TARGET) as opened:
        return {Path(name).stem: json.loads(opened.read(name)) for name in opened.namelist()}


def _made(name: str, folders: list[Path], old: dict[str, Any] | None, offline: bool) -> dict[str, Any]:
    known = [(text, text in old["yanked"]) for text in old["releases"]] if old else []
    if not offline:
        import fetching

        releases = fetching.all_releases(name)
        known = [(str(release.version), release.yanked) for release in releases]
        here = {path.name for folder in folders for path in folder.glob(f"{name}-*")}
        missing = [release for release in releases if f"{name}-{release.version}" not in here]
        for _ in fetching.fetch(name, missing, folders[-1], metadata_only=True):
            pass
    found: dict[str, Path] = {}
    for folder in folders:
        for version, _ in known:
            path = folder / f"{name}-{version}"
            if (path / "release.json").is_file():
                found.setdefault(version, path)
    return requires_member(found.values(), known)


def _count(documents: dict[str, dict[str, Any]]) -> None:
    """Notes of every package how many others require it: changing such a one touches most."""
    asked = Counter(name for document in documents.values() for name in {row[0] for row in document["rows"]})
    for name, document in documents.items():
        document["required_by"] = asked[name]


def _write(documents: dict[str, dict[str, Any]]) -> None:
    with zipfile.ZipFile(TARGET, "w") as opened:
        for name, document in sorted(documents.items()):
            entry = zipfile.ZipInfo(_MEMBER.format(name), _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            content = json.dumps(document, separators=(",", ":"), sort_keys=True)
            opened.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    sys.exit(main())
