"""How the path of a project file is shown, and written as a URI."""

from __future__ import annotations

import os
from pathlib import Path

from distlint.model.report import Report


def report_path(report: Report, file: str, base: str) -> str:
    """The path for other programs: relative to ``base`` if the project lies in it, else to the project.

    Never leaves the tree that it is relative to, because code-scanning services refuse such paths.
    """
    prefix = _root_below(report.root, base)
    return f"{prefix}/{file}" if prefix else file


def shown_path(report: Report, file: str, base: str) -> str:
    """The path for people, who want to open it from ``base``; absolute where neither folder lies in the other."""
    if not base or _root_below(report.root, base) is not None:
        return report_path(report, file, base)
    if _root_below(base, report.root) is not None:
        return Path(os.path.relpath(Path(report.root) / file, base)).as_posix()
    return (Path(report.root) / file).as_posix()


def shown_root(report: Report, base: str) -> str:
    """The project root as seen from ``base``: ``.``, a path below or above it, or an absolute path elsewhere."""
    if not base:
        return "."
    related = _root_below(report.root, base) is not None or _root_below(base, report.root) is not None
    return Path(os.path.relpath(report.root, base)).as_posix() if related else Path(report.root).as_posix()


def uri(path: str) -> str:
    """A relative path as a URI reference: every byte outside the unreserved characters is percent-encoded."""
    from urllib.parse import quote

    return quote(os.fsencode(path), safe="/")


def _root_below(root: str, base: str) -> str | None:
    """``root`` relative to ``base``: ``""`` if they are the same or there is no base, ``None`` if it lies elsewhere."""
    if not base:
        return ""
    try:
        relative = Path(root).relative_to(base).as_posix()
    except ValueError:
        return None
    return "" if relative == "." else relative
