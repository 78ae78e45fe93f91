"""Under which other names packages are distributed: conda's names, repositories, container images.

The table is written by hand. What is in an NVIDIA image is in NVIDIA's release notes for it; a build that they name
``2.3.0a0+…`` lies between two releases.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return table


def conda_package(name: str) -> str:
    """The package that conda's ``name`` (normalised) stands for: another name for some, the same for most."""
    return str(_table()["conda"].get(name, name))


def repository_package(repository: str) -> str:
    """The package that a source repository (``owner/name``) builds, where its own name differs; else ``""``."""
    return str(_table()["repositories"].get("/".join(repository.lower().split("/")[-2:]), ""))


def image_version(image: str) -> tuple[str, str] | None:
    """The package that a container image brings and its version's specifier; ``None`` for an image that says nothing.

    ``image`` is a reference as in a Dockerfile, with or without registry and digest.
    """
    reference, _, tag = image.partition("@")[0].rpartition(":")
    parts = reference.split("/")
    if len(parts) > 1 and ("." in parts[0] or ":" in parts[0]):
        parts = parts[1:]
    path = "/".join(parts).removeprefix("library/")
    for entry in _table()["images"]:
        match = re.fullmatch(entry["tag"], tag) if entry["image"] == path else None
        if match is not None:
            version = match.group(1)
            if "versions" in entry:
                version = entry["versions"].get(version, "")
            return (entry["package"], exactly(version)) if version else None
    return None


def exactly(version: str) -> str:
    """The specifier for a version that is named: ``2.1`` may be any 2.1, ``2.1.0`` is that one."""
    return f"=={version}" if version.count(".") > 1 else f"=={version}.*"
