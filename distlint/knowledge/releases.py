"""Which releases packages have.

The lists are made by ``tools/harvest_releases.py``; a release that is newer than the harvest is not in them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _packages() -> dict[str, Any]:
    data = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    packages: dict[str, Any] = data["packages"]
    return packages


@cache
def releases(package: str) -> tuple[str, ...]:
    """The final releases of a package that are not withdrawn, oldest first; ``()`` for an unknown package.

    ``package`` is the normalised name (``flash-attn``).
    """
    entry = _packages().get(package)
    return tuple(version for version, _ in entry["releases"]) if entry else ()


def requires_python(package: str, version: str) -> str:
    """The Python versions that a release asks for, as a specifier; ``""`` where it says nothing or is unknown."""
    entry = _packages().get(package)
    return next((str(asked) for known, asked in entry["releases"] if known == version), "") if entry else ""


def yanked(package: str) -> tuple[str, ...]:
    """The releases that were withdrawn, oldest first: installers take one only where it is asked for exactly."""
    entry = _packages().get(package)
    return tuple(entry["yanked"]) if entry else ()


def packages() -> tuple[str, ...]:
    """The packages whose releases are known, sorted."""
    return tuple(_packages())
