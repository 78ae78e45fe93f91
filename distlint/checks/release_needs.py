"""Releases whose import asks another package for something that the release beside it does not have.

Which releases lack what comes from ``knowledge.needs``. For each environment, the releases that an installer picks
count: of a pin the newest that it allows. Only what fails with them is told.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.registry import CheckContext, check
from distlint.knowledge.needs import Need, asked_by, asked_of, is_known, packages
from distlint.model.finding import Finding, FixPlan, Operation, Related
from distlint.model.record import dataclass
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.environments import VersionView
    from distlint.link.project import Project
    from distlint.link.release_picks import Wish

_MAX_PAIRS = 600
_MAX_TRIED = 12
_LOCAL = re.compile(r"\+[A-Za-z0-9._-]+")


class Pair(NamedTuple):
    """Two releases, the first of which imports what the second lacks."""

    package: str
    version: str
    other: str
    beside: str


@dataclass(frozen=True, slots=True)
class _Scene:
    """One environment of the project, and the Python that it is for where it names one."""

    project: Project
    view: VersionView
    assumed: frozenset[str] = frozenset()
    """Packages of which whatever a need asks for is taken to hold: something has to bring them."""

    def candidates(self, package: str) -> tuple[str, ...]:
        """The releases that the environment may have, newest first."""
        if package == "python":
            return _pythons(self.view)
        allowed = tuple(reversed(self.view.allowed(package))) if self.view.is_pinned(package) else ()
        if len(allowed) == 1 or (self.view.is_pinned(package) and not allowed):
            return allowed
        # with a choice, what the releases declare decides what an installer picks
        chosen = _picked(self.view).get(package, "")
        return (chosen, *(version for version in allowed if version != chosen)) if chosen else ()

    def is_named(self, package: str) -> bool:
        """Whether the environment says anything about a package."""
        return self.view.span(package) is not None

    def failure(self, pair: Pair) -> Need | None:
        """The first thing that the import asks for in vain; ``None`` if nobody knows of any."""
        for need in asked_by(pair.package, pair.version):
            if need.package == pair.other and need.is_lacking(pair.beside) and self._applies(pair, need):
                return need
        return None

    def _applies(self, pair: Pair, need: Need) -> bool:
        for package, _ in need.given:
            if package not in self.assumed and not any(
                need.holds(package, version) for version in self.candidates(package)[:1]
            ):
                return False
        return need.is_constant or self._is_used(pair.package, need.entries)

    def _is_used(self, package: str, names: tuple[str, ...]) -> bool:
        """Whether a file that runs with these pins mentions one of the names."""
        from distlint.link.library_uses import uses_of

        place, environments = self.view.span(package), self.project.environments
        return any(environments.for_file(use.file).span(package) == place for use in uses_of(self.project, names))


@check("release-needs")
def release_needs(context: CheckContext) -> Iterator[Finding]:
    """Pinned releases that import what the release of another package beside them has no longer, or not yet.

    ``gone`` says which of the two the rule is about. ``of`` are the only other packages that count, ``but`` those that
    other rules are about. ``assumed`` are packages on whose release a need may depend without being doubted.
    ``provided`` rows name what a third package brings: symbol, package, its releases.
    """
    only, but = tuple(context.parameters.get("of", ())), frozenset(context.parameters.get("but", ()))
    assumed = frozenset(context.parameters.get("assumed", ()))
    seen: set[object] = set()
    for view in context.project.environments.views():
        here = frozenset(view.packages())
        if not here:
            continue
        if not any(view.span(package) is not None for package in packages()):
            continue
        scene = _Scene(context.project, view, assumed)
        for package in sorted(packages()):
            place = view.span(package)
            if place is None:
                continue
            for other in sorted(asked_of(package)):
                beside = view.span(other)
                if other in but or (only and other not in only) or beside is None or not {package, other} & here:
                    continue
                found = _judged(context, scene, package, other)
                if found is not None and (found.span, other) not in seen:
                    seen.add((found.span, other))
                    yield found


def _judged(context: CheckContext, scene: _Scene, package: str, other: str) -> Finding | None:
    view = scene.view
    if not view.is_pinned(package) and not view.is_pinned(other):
        return None
    if not _are_together(view, package, other):
        return None
    own, beside = scene.candidates(package), scene.candidates(other)
    if not own or not beside:
        return None
    pair = Pair(package, own[0], other, beside[0])
    need = scene.failure(pair)
    if need is None or _is_provided(context, view, need) or _is_refused(pair):
        return None
    if need.is_gone(pair.beside) is not context.parameters["gone"]:
        return None
    every = len(own) * len(beside) <= _MAX_PAIRS and all(
        scene.failure(Pair(package, version, other, release)) is not None for version in own for release in beside
    )
    places = {name: span for name in (package, other) if (span := view.span(name)) is not None}
    gone = need.is_gone(pair.beside)
    fits = _fitting(scene, pair, gone)
    at = _told_at(view, package, other, gone)
    return context.finding(
        _message(pair, need, view, every) + _advice(fits, pair),
        places[at],
        related=[Related(places[name], f"`{name}` is required here") for name in places],
        confidence=Confidence.CERTAIN if every else Confidence.LIKELY,
        plan=_plan(context, view, fits, pair),
        symbol=need.symbol,
    )


def _are_together(view: VersionView, package: str, other: str) -> bool:
    """Whether two requirements belong to one installation: files of one folder, or an image and what is put on it."""
    one, two = view.pins(package), view.pins(other)
    if "python" in (package, other) or not one or not two:
        return True
    if "lock" in (one[0].origin, two[0].origin):
        return one[0].span.file == two[0].span.file
    if "dockerfile" in (one[0].origin, two[0].origin):
        return True
    return posixpath.dirname(one[0].span.file) == posixpath.dirname(two[0].span.file)


def _told_at(view: VersionView, package: str, other: str, gone: bool) -> str:
    """The package whose requirement is to be changed first: the one that is too old, if it is pinned."""
    first, second = (package, other) if gone or other == "python" else (other, package)
    return first if view.is_pinned(first) else second


def _is_provided(context: CheckContext, view: VersionView, need: Need) -> bool:
    """Whether a third package brings what is missing, by the rule's ``provided`` rows: symbol, package, its releases."""
    for symbol, package, specifier in context.parameters.get("provided", ()):
        if need.symbol.partition(".")[0] == symbol and view.span(package) is not None:
            version = view.newest(package)
            if not specifier or (version and _is_within(version, specifier)):
                return True
    return False


def _is_within(version: str, specifier: str) -> bool:
    """Whether a release is within a specifier."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(specifier).contains(version, prereleases=True)


def _wishes(view: VersionView, fixed: Mapping[str, str]) -> list[Wish]:
    """The requirements of an environment, with some packages at a release."""
    from distlint.link.release_picks import Wish
    from distlint.link.version_sets import NO_PACKAGES

    found = [Wish(package, f"=={version}") for package, version in fixed.items() if package not in NO_PACKAGES]
    for package in view.packages():
        pins = view.pins(package)
        if package in fixed or package in NO_PACKAGES or len(pins) != 1 or pins[0].dynamic or pins[0].url:
            continue
        found.append(Wish(package, _LOCAL.sub("", pins[0].specifier), pins[0].extras))
    return found


def _picked(view: VersionView) -> Mapping[str, str]:
    """The releases that an installer picks in an environment."""
    return _solved(tuple(_wishes(view, {})), view.pythons()) or {}


@lru_cache(maxsize=256)
def _solved(wishes: tuple[Wish, ...], pythons: tuple[str, ...]) -> Mapping[str, str] | None:
    from distlint.link.release_sets import UndecidedError
    from distlint.link.set_conflicts import Judge

    try:
        return Judge(wishes, pythons).chosen()
    except (UndecidedError, ValueError):
        return None


def _message(pair: Pair, need: Need, view: VersionView, every: bool) -> str:
    asked = f"{pair.package} {pair.version} imports `{need.symbol}`"
    who = f"Python {pair.beside}" if need.package == "python" else f"{pair.other} {pair.beside}"
    if need.is_gone(pair.beside):
        lacking = f"{who} no longer has (gone since {need.edge(pair.beside)})"
    else:
        lacking = f"{who} does not have yet (it comes with {need.first})"
    text = f"{asked} (`{need.place}`), which {lacking}"
    entry = "" if need.is_constant else f" by `{need.entries[0]}`"
    picked = "" if every else "; the newest releases that the pins allow are what an installer picks"
    return text.replace(" imports ", f"{entry} imports ", 1) + picked


def _advice(fits: list[tuple[str, str]], pair: Pair) -> str:
    texts = [f"{name} {version}" for name, version in fits]
    return f"; {' or '.join(texts)} would fit" if texts else ""


def _fitting(scene: _Scene, pair: Pair, gone: bool) -> list[tuple[str, str]]:
    """For each of the two packages the nearest release that works with the other one; first the one that is too old."""
    from distlint.knowledge.releases import releases

    found = []
    both = ((pair.package, pair.version), (pair.other, pair.beside))
    for changed, now in both if gone else reversed(both):
        if changed == "python":
            continue
        line = releases(changed)
        at = line.index(now) if now in line else -1
        if at < 0:
            continue
        # the one that is too old goes up, the other one down
        raised = (changed == pair.package) is gone
        order = range(at + 1, len(line)) if raised else range(at - 1, -1, -1)
        tried = 0
        for position in order:
            other = (
                pair._replace(version=line[position])
                if changed == pair.package
                else pair._replace(beside=line[position])
            )
            if not is_known(other.package, other.version) or tried > _MAX_TRIED or not _is_peaceful(scene, other):
                continue
            tried += 1
            if _is_declared(scene.view, other):
                found.append((changed, line[position]))
                break
    return found


def _is_peaceful(scene: _Scene, pair: Pair) -> bool:
    """Whether none of the two fails with the other, or with what else the environment picks."""
    fixed = {pair.package: pair.version, pair.other: pair.beside}
    for package in fixed.keys() & packages():
        for other in asked_of(package):
            beside = fixed.get(other) or next(iter(scene.candidates(other)), "") if scene.is_named(other) else ""
            if beside and scene.failure(Pair(package, fixed[package], other, beside)) is not None:
                return False
    return True


def _is_refused(pair: Pair) -> bool:
    """Whether what the two releases declare excludes the pair already: an installer says so, and so do other rules."""
    from distlint.knowledge.requirements import PYTHONS
    from distlint.link.release_picks import Wish
    from distlint.link.version_sets import NO_PACKAGES

    if {pair.package, pair.other} & NO_PACKAGES:
        return False
    wishes = (Wish(pair.package, f"=={pair.version}"), Wish(pair.other, f"=={pair.beside}"))
    return _solved(wishes, PYTHONS) is None


def _is_declared(view: VersionView, pair: Pair) -> bool:
    """Whether an installer takes the pair, with what else the environment asks for."""
    fixed = {
        name: version for name, version in ((pair.package, pair.version), (pair.other, pair.beside)) if name != "python"
    }
    return _solved(tuple(_wishes(view, fixed)), view.pythons()) is not None


def _plan(context: CheckContext, view: VersionView, fits: list[tuple[str, str]], pair: Pair) -> FixPlan | None:
    for name, version in fits:
        span = view.span(name)
        pins = view.pins(name)
        if span is None or not pins or pins[0].url:
            continue
        wanted = _changed(name, pins[0].specifier, version, pair.version if name == pair.package else pair.beside)
        operation = Operation("set-specifier", span, {"specifier": wanted})
        return context.plan(operation, title=f"require `{name}{wanted}`")
    return None


def _changed(package: str, written: str, version: str, now: str) -> str:
    """A specifier for the release that fits: exact where the written one is, else with the bounds that can stay."""
    from packaging.version import Version

    from distlint.knowledge.releases import releases

    if "==" in written:
        return f"=={version}"
    raised = Version(version) > Version(now)
    kept = [
        part.strip() for part in written.split(",") if part.strip().startswith(("<", "!=") if raised else (">", "!="))
    ]
    together = ",".join([*kept, f">={version}" if raised else f"<={version}"])
    from packaging.specifiers import SpecifierSet

    return together if any(SpecifierSet(together).filter(releases(package))) else f"=={version}"


def _pythons(view: VersionView) -> tuple[str, ...]:
    """The minor versions of Python that the environment names, newest first; ``()`` where it leaves them open."""
    pins = view.pins("python")
    if len(pins) != 1 or pins[0].dynamic or "==" not in pins[0].specifier:
        return ()
    return tuple(reversed(view.pythons()))
