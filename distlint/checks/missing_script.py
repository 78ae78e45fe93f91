"""Launches of a script that is not in the project, while one with nearly the same name is.

Parameters: none. A script that is made or fetched at run time is common, so a missing file alone says nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from difflib import get_close_matches

from distlint.checks.registry import CheckContext, check
from distlint.link.project import Project
from distlint.model.finding import Finding
from distlint.model.launch import Launch

NEARNESS = 0.85
"""How alike two names have to be (``difflib``'s ratio) for one to be taken for a misspelling of the other."""


@check("missing-script")
def missing_script(context: CheckContext) -> Iterator[Finding]:
    """A finding for each launch whose script is certainly missing and has a likely namesake in its folder."""
    project: Project = context.project
    scripts = [path for path in project.paths if path.endswith(".py")]
    by_folder: dict[str, set[str]] = {}
    for path in scripts:
        folder, name = posixpath.split(path)
        by_folder.setdefault(folder, set()).add(name)
    for launch in project.launches:
        near = _namesake(launch, by_folder)
        if near:
            yield context.finding(
                f"there is no `{launch.script.only}` here, but `{near}`",
                launch.script.spans[0] if launch.script.spans else launch.span,
                symbol=str(launch.script.only),
            )


def _namesake(launch: Launch, by_folder: dict[str, set[str]]) -> str:
    """The file that was probably meant; ``""`` where the script may exist, or nothing is near."""
    written = launch.script.only
    if launch.script_file or launch.is_module or not isinstance(written, str) or not written.endswith(".py"):
        return ""
    if written.startswith(("/", "~")) or any(letter in written for letter in "$*?{"):
        return ""
    found = ""
    # A script is mostly started from the project's root or from its own folder.
    usual = {posixpath.dirname(launch.file), ""}
    for base in sorted({launch.directory or "", *usual}):
        folder, name = posixpath.split(posixpath.normpath(posixpath.join(base, written)))
        names = by_folder.get(folder, set())
        if name in names:
            return ""
        close = get_close_matches(name, sorted(names), n=1, cutoff=NEARNESS)
        if close and (launch.directory is None or base == launch.directory):
            found = posixpath.join(posixpath.dirname(written), close[0])
    return found
