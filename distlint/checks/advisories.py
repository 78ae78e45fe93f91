"""Known defects of the releases in use, told to the code that uses the defective feature.

Parameter ``symptoms``: the symptoms of the advisories that the rule is about. A defect counts for a place where the
newest release that the place's pins allow has it; where only the oldest one has it, the finding is a note about the bound,
which is shown only on demand (confidence *possible*).
Without a pin the newest release counts. A place in Python counts only where such a release reaches it
(``link.version_guards``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from distlint.checks.registry import CheckContext, check
from distlint.frameworks.general import argument_settings
from distlint.judge.advisories import Advisory, UseOf, advisories_of, affected_packages
from distlint.judge.declared import judge_declared
from distlint.judge.rulebook import rules_folder
from distlint.judge.versions import satisfies
from distlint.link.library_uses import calls_of, uses_of
from distlint.link.version_guards import Reach
from distlint.model import python as ir
from distlint.model.finding import Finding, FixPlan, Operation, Related, Severity
from distlint.model.record import dataclass
from distlint.model.rule import CheckSpec
from distlint.model.span import Span
from distlint.model.subject import Subject
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.environments import VersionView
    from distlint.link.project import CallSite, Project

MAX_PLACES = 8
"""Further uses of the same feature in a file that are shown with the first."""


@dataclass(frozen=True)
class Place:
    """A use of a feature: where, with which versions, and in Python the file and position (for tests of the version around it).

    The argument of a call may stand in another file than the call, one that is no Python.
    """

    span: Span
    versions: VersionView
    used_at: tuple[str, ir.Position] | None = None
    related: tuple[Related, ...] = ()
    confidence: Confidence = Confidence.CERTAIN
    runs: tuple[str, ...] = ()


@check("advisories")
def advisories(context: CheckContext) -> Iterator[Finding]:
    """The defects of releases in use of which the project uses the feature."""
    symptoms = frozenset(context.parameters["symptoms"])
    project: Project = context.project
    folder = rules_folder()
    views = [project.environments.for_file("."), *project.environments.views()]
    imported = _imported(project)
    for package in affected_packages(folder):
        modules = {package.replace("-", "_"), package.partition("-")[0]}
        if not modules & imported and not any(view.is_pinned(package) for view in views):
            continue  # nothing is read about packages that the project has nothing to do with
        known = [one for one in advisories_of(folder, package) if one.symptom in symptoms]
        concerned = [one for one in known if any(_may_have(one, view) for view in views)]
        if concerned:
            judge = _Judge(context, package)
            for advisory in concerned:
                yield from judge.findings(advisory)


def _imported(project: Project) -> frozenset[str]:
    """The outermost modules that the project imports."""
    items = (item for file in project.python_files for item in project.module(file).imports)
    return frozenset(item.module.partition(".")[0] for item in items)


def _may_have(advisory: Advisory, versions: VersionView) -> bool:
    """Whether a release that is in use, or that the pins allow, has the defect."""
    ends = {versions.newest(advisory.package)}
    if versions.is_pinned(advisory.package):
        ends.add(versions.oldest(advisory.package))
    return any(_has(advisory, version) for version in ends)


def _has(advisory: Advisory, version: str) -> bool | None:
    from packaging.version import Version

    from distlint.link.version_sets import matches

    if not version:
        return None
    answers = [matches(Version(version), one) for one in advisory.specifiers]
    return True if True in answers else None if None in answers else False


@dataclass
class _Judge:
    context: CheckContext
    package: str
    _found: dict[tuple[str, ...], bool] = field(default_factory=dict)

    @cached_property
    def project(self) -> Project:
        project: Project = self.context.project
        return project

    @cached_property
    def reach(self) -> Reach:
        return self.project.reach(self.package)

    def findings(self, advisory: Advisory) -> Iterator[Finding]:
        """One finding for each pin that brings the defect to places which use the feature: it is mended there."""
        groups: dict[tuple[Span | None, str], list[Place]] = {}
        for use in advisory.uses:
            if use.beside and not self._occurs(use.beside):
                continue
            most = Confidence.parse(use.confidence)
            for place in self._places(use):
                version = self._fault(advisory, place)
                if version:
                    held = replace(place, confidence=min(place.confidence, most))
                    groups.setdefault((place.versions.span(self.package), version), []).append(held)
        for (_, version), places in groups.items():
            yield self._finding(advisory, version, sorted(places, key=lambda place: place.span))

    # Versions ----------------------------------------------------------------------------------------------------

    def _fault(self, advisory: Advisory, place: Place) -> str:
        """The release that has the defect and reaches the place: the newest that the pins allow, or else the oldest."""
        versions = place.versions
        if not all(satisfies(versions, package, wanted) for package, wanted in advisory.requires.items()):
            return ""
        newest = versions.newest(self.package)
        for version in (newest, self._bound(versions)):
            if self._is_concerned(advisory, place, version):
                return version
        return ""

    def _bound(self, versions: VersionView) -> str:
        """The oldest release that the pins allow, where they name a lower bound; ``""`` where they don't."""
        named = any(sign in pin.specifier for pin in versions.pins(self.package) for sign in (">", "~", "^"))
        return versions.oldest(self.package) if named and versions.is_pinned(self.package) else ""

    def _is_concerned(self, advisory: Advisory, place: Place, version: str) -> bool:
        from packaging.version import Version

        if not version or Version(version).is_prerelease or not _has(advisory, version):
            return False
        if any(name == self.package for name, _ in place.versions.caps):
            # a fork has what the original had when it left, which may be any release up to the cap
            if not any(place.versions.test(self.package, one) for one in advisory.specifiers):
                return False
        return place.used_at is None or self.reach.reached(*place.used_at, version, None) is True

    def _finding(self, advisory: Advisory, version: str, places: list[Place]) -> Finding:
        first = places[0]
        is_newest = version == first.versions.newest(self.package)
        pinned = first.versions.is_pinned(self.package)
        where = ", the oldest that the pins allow"
        if is_newest:
            where = first.versions.standing(self.package, is_newest=True)
        related = [*first.related]
        spans = dict.fromkeys(place.span for place in places[1:] if place.span != first.span)
        related += [Related(span, "it is used here too") for span in list(spans)[:MAX_PLACES]]
        pin = first.versions.span(self.package)
        if pin is not None:
            related.append(Related(pin, f"`{self.package}` is required here"))
        severity = self.context.rule.severity
        # A low bound is often meant as it is, and what gets installed is the newest release.
        sure = Confidence.POSSIBLE if not is_newest else Confidence.CERTAIN if pinned else Confidence.LIKELY
        fixed = _released(self.package, advisory.fixed_after(version))
        return self.context.finding(
            f"{self.package} {version}{where}: {advisory.summary} ({advisory.id})",
            first.span,
            related=related,
            confidence=min(first.confidence, sure),
            severity=severity if is_newest else min(severity, Severity.NOTE),
            plan=self._plan(first.versions, fixed) if is_newest else None,
            help=_help(advisory, fixed),
            symbol=advisory.id,
            runs=first.runs,
        )

    def _plan(self, versions: VersionView, fixed: str) -> FixPlan | None:
        """Raises the pin where there is one and it names one release."""
        from distlint.link.version_sets import is_exact

        pins = [pin for pin in versions.pins(self.package) if pin.specifier]
        if not fixed or len(pins) != 1 or pins[0].url or pins[0].origin == "lock" or not is_exact(pins[0]):
            return None
        operation = Operation("set-specifier", pins[0].span, {"specifier": f"=={fixed}"})
        return self.context.plan(operation, title=f"require `{self.package}=={fixed}`")

    # Uses --------------------------------------------------------------------------------------------------------

    def _occurs(self, names: tuple[str, ...]) -> bool:
        """Whether the project calls or mentions one of the names."""
        if names not in self._found:
            plain = [name for name in names if "()" not in name]
            mentioned = bool(plain) and next(uses_of(self.project, plain), None) is not None
            self._found[names] = mentioned or next(self.project.calls_to(frozenset(names)), None) is not None
        return self._found[names]

    def _places(self, use: UseOf) -> Iterator[Place]:
        if use.names:
            for found in uses_of(self.project, use.names):
                yield Place(found.span, self.project.environments.for_file(found.file), (found.file, found.at))
        elif use.calls:
            for site in self._calls(use):
                yield from self._called(use, site)
        else:
            for subject in self.context.subjects(use.subject):
                yield from self._judged(use, subject, None)

    def _calls(self, use: UseOf) -> list[CallSite]:
        """The calls by the names that distlint knows functions by, and by those that the files spell."""
        plain = [name for name in use.calls if "()" not in name]
        sites = [*self.project.calls_to(frozenset(use.calls)), *calls_of(self.project, plain, derived=use.derived)]
        return list({site.span: site for site in sites}.values())

    def _called(self, use: UseOf, site: CallSite) -> Iterator[Place]:
        versions = self.project.environments.for_file(site.file)
        if not use.when:
            yield Place(site.span, versions, (site.file, site.site.call.at))
            return
        settings, is_open = argument_settings(self.project, site, use.signature, None)
        blocks = frozenset({""}) if is_open else frozenset()
        subject = Subject("call", site.name, site.span, settings, versions, open_blocks=blocks)
        yield from self._judged(use, subject, (site.file, site.site.call.at))

    def _judged(self, use: UseOf, subject: Subject, used_at: tuple[str, ir.Position] | None) -> Iterator[Place]:
        from distlint.link.environments import VersionView

        spec = CheckSpec(subject=subject.kind, when=use.when, at=use.at, message=" ")
        found = judge_declared(replace(self.context.rule, check=spec, versions={}, fix=None, help=""), subject)
        if found is not None:
            # a subject may have a view of its own, of one package only
            view = subject.versions if isinstance(subject.versions, VersionView) else None
            versions = view or self.project.environments.for_file(found.span.file)
            yield Place(found.span, versions, used_at, found.related, found.confidence, found.runs)


def _released(package: str, version: str) -> str:
    """The first release from a version on that installers take."""
    from packaging.version import Version

    from distlint.knowledge.releases import releases

    if not version:
        return ""
    return next((one for one in releases(package) if Version(one) >= Version(version)), version)


def _help(advisory: Advisory, fixed: str) -> str:
    mend = [f"{advisory.package} {fixed} has the fix"] if fixed else ["no release is known to have a fix"]
    if advisory.workaround:
        mend.append(f"or {advisory.workaround}" if fixed else advisory.workaround)
    return f"{advisory.effect}: {', '.join(mend)}"
