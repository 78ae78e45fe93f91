"""Releases that an installer would pick together although one of them does not work with the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from distlint.checks.registry import CheckContext, check
from distlint.knowledge.releases import releases
from distlint.link.library_uses import uses_of
from distlint.model.finding import Finding, FixPlan, Operation, Related
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.environments import VersionView
    from distlint.link.project import Project

WHOLE_ENVIRONMENT = 4
"""So many packages that requirements name describe an environment rather than a need of one script."""


@dataclass(frozen=True)
class Conflict:
    """One row of the rule's ``conflicts`` parameter.

    ``packages`` maps distributions to the releases (a specifier) that don't go together. A conflict is found where the
    newest releases that the pins allow are all among them; at least the packages in ``pinned`` (by default the first)
    have to be pinned; the others are named by the project without a version, or are among ``implied``, which others
    bring along: an installer picks their newest release. With ``every`` all releases that the pins allow have
    to be among them, and all packages pinned, by different files or commands: no pair that fits can come of them. With
    ``always`` they have to be among them too, wherever they are pinned. ``uses`` are
    names one of which the project has to use for it to matter. ``why`` is the message, with ``{package}`` for versions.
    ``mend`` gives the specifier that would solve it, for one of the packages.
    """

    packages: Mapping[str, str]
    why: str
    pinned: tuple[str, ...] = ()
    implied: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    every: bool = False
    always: bool = False
    mend: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, row: Mapping[str, Any]) -> Conflict:
        """The conflict that a row states."""
        packages = dict(row["packages"])
        every = bool(row.get("every", False))
        pinned = tuple(row.get("pinned", tuple(packages) if every else tuple(packages)[:1]))
        implied, uses = tuple(row.get("implied", ())), tuple(row.get("uses", ()))
        always = bool(row.get("always", False))
        return cls(packages, row["why"], pinned, implied, uses, every, always, dict(row.get("mend", {})))


@check("pin-conflict")
def pin_conflict(context: CheckContext) -> Iterator[Finding]:
    """Pins that bring together releases which don't work together."""
    conflicts = [Conflict.parse(row) for row in context.parameters["conflicts"]]
    seen: set[tuple[Span, int]] = set()
    for view in context.project.environments.views():
        here = frozenset(view.packages())
        for number, conflict in enumerate(conflicts):
            if not here & conflict.packages.keys():
                continue
            found = _judged(context, view, conflict)
            if found is not None and (found.span, number) not in seen:
                seen.add((found.span, number))
                yield found


def _judged(context: CheckContext, view: VersionView, conflict: Conflict) -> Finding | None:
    if not all(view.is_pinned(package) for package in conflict.pinned):
        return None
    chosen = {package: view.newest(package) for package in conflict.packages}
    if not all(_is_among(chosen[package], specifier) for package, specifier in conflict.packages.items()):
        return None
    sure = conflict.every or conflict.always
    if sure and not all(view.test(package, wanted) for package, wanted in conflict.packages.items()):
        return None
    places = {package: place for package in conflict.packages if (place := view.span(package)) is not None}
    if not places or any(package not in places and package not in conflict.implied for package in conflict.packages):
        return None
    if conflict.every and _is_installed_at_once(view, conflict.packages):
        return None
    if conflict.uses and not _is_used(context.project, conflict.uses, places):
        return None
    first, *others = places
    related = [Related(places[package], f"`{package}` is required here") for package in others]
    picked = [package for package in conflict.packages if not view.is_pinned(package)]
    newest = "" if not picked else f" ({' and '.join(f'{p} {chosen[p]}' for p in picked)} is what an installer picks)"
    return context.finding(
        conflict.why.format(**{package.replace("-", "_"): version for package, version in chosen.items()}) + newest,
        places[first],
        related=related,
        confidence=_confidence(view, places, conflict, picked),
        plan=_plan(context, view, conflict, places),
        symbol=" ".join(conflict.packages),
    )


def _confidence(view: VersionView, places: Mapping[str, Span], conflict: Conflict, picked: list[str]) -> Confidence:
    """How sure it is that the releases meet.

    A package that nobody names is what an installer picks only where the requirements describe an environment; a few
    lines say what matters for one script, and the rest may come from anywhere.
    """
    if len(places) < len(conflict.packages) and len(view.packages()) < WHOLE_ENVIRONMENT:
        return Confidence.POSSIBLE
    return Confidence.LIKELY if picked else Confidence.CERTAIN


def _is_installed_at_once(view: VersionView, packages: Iterable[str]) -> bool:
    """Whether one file or command brings all packages: what releases declare is judged there, by ``requirement-sets``."""
    return len({(pin.span.file, pin.command) for package in packages for pin in view.pins(package)[:1]}) == 1


def _is_among(version: str, specifier: str) -> bool:
    from packaging.version import Version

    from distlint.link.version_sets import matches

    return bool(version) and matches(Version(version), specifier) is True


def _is_used(project: Project, names: tuple[str, ...], places: Mapping[str, Span]) -> bool:
    """Whether a file that runs with these pins mentions one of the names."""
    views = (project.environments.for_file(use.file) for use in uses_of(project, names))
    return any(all(view.span(package) == place for package, place in places.items()) for view in views)


def _plan(context: CheckContext, view: VersionView, conflict: Conflict, places: Mapping[str, Span]) -> FixPlan | None:
    for package, specifier in conflict.mend.items():
        if package in places:
            wanted = _narrowed(package, view.pins(package)[0].specifier, specifier)
            operation = Operation("set-specifier", places[package], {"specifier": wanted})
            return context.plan(operation, title=f"require `{package}{wanted}`")
    return None


def _narrowed(package: str, written: str, specifier: str) -> str:
    """A specifier that keeps the bounds which are written, where releases are left that satisfy both."""
    from packaging.specifiers import SpecifierSet

    bounds = [part.strip() for part in written.split(",") if part.strip().startswith((">", "<", "!="))]
    kept = [part for part in bounds if part[0] != specifier[0]]
    together = ",".join([*kept, specifier])
    return together if kept and any(SpecifierSet(together).filter(releases(package))) else specifier
