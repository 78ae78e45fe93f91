"""Launchers, and options of them, that the release in use does not have.

Parameters: none. Which options a launcher takes is in ``knowledge/launcher_options.json.gz``; one that no release has is
another rule's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from distlint.checks.registry import CheckContext, check
from distlint.knowledge.release_tables import ReleaseTable, section
from distlint.link.project import Project
from distlint.model.finding import Finding, Related, Severity
from distlint.model.framework import LauncherSpec
from distlint.model.launch import Launch
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.environments import VersionView

_TABLE = "launcher_options"


@check("launcher-release")
def launcher_release(context: CheckContext) -> Iterator[Finding]:
    """A finding for each launcher or launcher option that the newest allowed release, or an older one, lacks."""
    project: Project = context.project
    specs: dict[str, LauncherSpec] = {one.name: one for spec in project.specs for one in spec.launchers}
    for launch in project.launches:
        spec, options = specs.get(launch.launcher), _options_of(launch)
        if spec is None or options is None:
            continue
        versions = project.environments.for_file(launch.file or launch.span.file)
        lacking = _lacking(options, versions, "", spec.abbreviations)
        if lacking is not None:
            yield _finding(context, launch, lacking, versions, options, f"`{launch.program}`", launch.span, "")
            continue
        for given in launch.options.values():
            if not given.flag.startswith("-") or not options.is_known(given.flag, spec.abbreviations):
                continue
            lacking = _lacking(options, versions, given.flag, spec.abbreviations)
            if lacking is not None:
                named = f"`{launch.program}` does not know `{given.flag}`"
                yield _finding(context, launch, lacking, versions, options, named, given.span, given.flag)


@dataclass(frozen=True)
class _Lacking:
    """The release without it, whether it is what a fresh install picks, and whether the project pins it."""

    release: str
    is_newest: bool
    is_pinned: bool


class LauncherOptions:
    """The options of one launcher, release by release."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.package = str(data["package"])
        self._table = ReleaseTable(data)
        self._flags = tuple(name for name in self._table.names if name)

    def is_known(self, flag: str, abbreviations: bool) -> bool:
        """Whether some release takes the flag."""
        return any(_fits(flag, name, abbreviations) for name in self._flags)

    def takes(self, flag: str, release: str, abbreviations: bool) -> bool:
        """Whether the release takes the flag as it is spelled; for ``""``, whether it has the launcher.

        A build between two releases has what either has.
        """
        names = self._names(flag, abbreviations)
        return any(self._table.entry(name, at) is not None for at in self._table.indexes(release) for name in names)

    def change(self, flag: str, abbreviations: bool) -> str:
        """Since when a flag (``""`` for the launcher itself) is there, or from when on it is not, for a message."""
        names = self._names(flag, abbreviations)
        gone = [self._table.until(name) for name in names]
        if all(gone):
            return f"gone since {gone[0]}"
        since = [label for name in names if (label := self._table.since(name))]
        return f"there since {since[0]}" if since else ""

    def _names(self, flag: str, abbreviations: bool) -> list[str]:
        return [name for name in self._flags if _fits(flag, name, abbreviations)] if flag else [""]


def _fits(flag: str, name: str, abbreviations: bool) -> bool:
    return name == flag or (abbreviations and flag.startswith("--") and name.startswith(flag))


@cache
def _options(program: str) -> LauncherOptions | None:
    number = section(_TABLE, 0)["programs"].get(program)
    return LauncherOptions(section(_TABLE, number)) if number is not None else None


def _options_of(launch: Launch) -> LauncherOptions | None:
    return _options(launch.program) or _options(launch.launcher)


def _lacking(options: LauncherOptions, versions: VersionView, flag: str, abbreviations: bool) -> _Lacking | None:
    """The newest allowed release that lacks a flag (``""``: the launcher); the newest of all without a pin."""
    pinned = versions.is_pinned(options.package)
    for position, release in enumerate(reversed(versions.allowed(options.package))):
        if position and not pinned:
            break
        if not options.takes(flag, release, abbreviations):
            return _Lacking(release, position == 0, pinned)
    return None


def _finding(
    context: CheckContext,
    launch: Launch,
    lacking: _Lacking,
    versions: VersionView,
    options: LauncherOptions,
    what: str,
    span: Span,
    flag: str,
) -> Finding:
    pin = versions.span(options.package)
    change = options.change(flag, abbreviations=bool(flag))
    message = (
        f"{what} in {options.package} {lacking.release}"
        if flag
        else f"{options.package} {lacking.release} has no {what}"
    )
    where = versions.standing(options.package, is_newest=lacking.is_newest)
    return context.finding(
        message + where + (f" ({change})" if change else ""),
        span,
        related=[Related(pin, f"`{options.package}` is required here")] if pin is not None else [],
        confidence=Confidence.CERTAIN if lacking.is_pinned else Confidence.LIKELY,
        severity=None if lacking.is_newest else min(context.rule.severity, Severity.WARNING),
        symbol=flag or launch.program,
    )
