"""Which releases a file may run with, in the terms of the table of released APIs."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.knowledge.api import Api
    from distlint.link.environments import VersionView
    from distlint.link.project import Project
    from distlint.model.span import Span


@dataclass(frozen=True, slots=True)
class Candidate:
    """A release that the pins allow, with the releases of the table that stand for it.

    That is the release itself; for one that was not harvested (a pre-release, a patch) its neighbours, of which all
    have to agree.
    """

    version: str
    stands: tuple[str, ...]
    is_newest: bool


@dataclass(frozen=True, slots=True)
class Allowed:
    """The releases of one package that a file may run with, newest first, and where the pin stands.

    ``standing`` is how messages tell why the newest of them is in use, as in ``VersionView.standing``.
    """

    package: str
    candidates: tuple[Candidate, ...]
    is_pinned: bool
    pin: Span | None
    is_installed: bool = False
    standing: str = ""

    @property
    def ends(self) -> tuple[Candidate, ...]:
        """The newest and the oldest."""
        return self.candidates[:1] if len(self.candidates) < 2 else (self.candidates[0], self.candidates[-1])


class AllowedReleases:
    """Answers for a project, remembered by environment."""

    def __init__(self, project: Project, table: Api) -> None:
        self._project = project
        self._table = table
        self._known: dict[tuple[str, int], Allowed] = {}
        self._decided: dict[tuple[str, int], tuple[object, Allowed]] = {}
        self._orders: dict[str, list[Any]] = {}

    def of(self, package: str, file: str) -> Allowed:
        """What a file may run with; no candidates where that can't be told.

        Without a pin only the newest release counts, which is what an installer picks.
        """
        view: VersionView = self._project.environments.for_file(file)
        key = (package, id(view))
        if key not in self._known:
            decision = view.decision(package)
            # The decision is kept, so that no other one gets its identity.
            if (package, id(decision)) not in self._decided:
                self._decided[package, id(decision)] = (decision, self._allowed(package, view))
            self._known[key] = self._decided[package, id(decision)][1]
        return self._known[key]

    def _allowed(self, package: str, view: VersionView) -> Allowed:
        from packaging.version import Version

        pinned = view.is_pinned(package)
        versions = list(reversed(view.allowed(package)))
        final = [version for version in versions if not Version(version).is_prerelease]
        # A pre-release counts only where nothing else is allowed.
        versions = final or versions
        if not pinned:
            versions = versions[:1] or list(self._table.releases(package)[-1:])
        elif not view.has_lower_bound(package):
            # Nobody said that old releases do: what counts is what an installer picks.
            versions = versions[:1]
        candidates = [
            Candidate(version, stands, index == 0)
            for index, version in enumerate(versions)
            if (stands := self._standing(package, version))
        ]
        installed, standing = view.is_installed(package), view.standing(package)
        return Allowed(package, tuple(candidates), pinned, view.span(package), installed, standing)

    def _standing(self, package: str, version: str) -> tuple[str, ...]:
        if self._table.covers(package, version):
            return (version,)
        from packaging.version import Version

        releases = self._table.releases(package)
        if package not in self._orders:
            self._orders[package] = [Version(release) for release in releases]
        place = bisect_left(self._orders[package], Version(version))
        if 0 < place < len(releases):
            return (releases[place - 1], releases[place])
        return ()
