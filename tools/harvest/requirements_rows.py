"""The members of the kind ``requires``: what releases require, of the covered packages and of those around them.

Releases that the folder has are read; of the others the table keeps what it knows. Equal metadata gives equal bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from kinds import Task
from requirements_reader import Metadata, as_document, from_document, metadata_of
from sources import METADATA, releases_in

_FOLDER = "requires/"


def make(task: Task) -> dict[str, bytes]:
    """The members of all packages; those of the wanted ones are made again."""
    documents: dict[str, dict[str, Any]] = {
        Path(name).stem: json.loads(content) for name, content in task.members.items() if name.startswith(_FOLDER)
    }
    for name in task.wanted:
        releases = _releases(name, documents.get(name), task)
        if releases:
            documents[name] = as_document(releases)
    # Changing a package that many others require touches most of a set.
    asked = Counter(name for document in documents.values() for name in {row[0] for row in document["rows"]})
    return {
        f"{_FOLDER}{name}.json": json.dumps(
            {**document, "required_by": asked[name]}, separators=(",", ":"), sort_keys=True
        ).encode()
        for name, document in documents.items()
    }


def _releases(name: str, old: dict[str, Any] | None, task: Task) -> dict[str, Metadata]:
    known = from_document(old) if old else {}
    for version, withdrawn in task.listed.get(name, {}).items():
        known[version] = replace(known.get(version, Metadata()), yanked=withdrawn)
    local = [*releases_in(task.folder / METADATA, name), *releases_in(task.folder, name)]
    fresh = {one.version: metadata_of(one.folder) for one in local}
    added = sorted(fresh.keys() - known.keys())
    if old and added:
        task.note(f"{name}: requirements of {', '.join(added)} are new\n")
    return {**known, **fresh}
