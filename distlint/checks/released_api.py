"""Code against the released APIs: names, arguments, deprecations and defaults in the releases that the pins allow.

What the releases have is in ``knowledge.api``; a rule names the packages that it speaks for and one kind of fault.
Rows of rules with the check ``api-by-version`` say the same of chosen names in better words, so what they say is left
to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from distlint.checks.registry import CheckContext, check
from distlint.checks.released_defaults import changed_defaults
from distlint.checks.released_faults import Fault, Faults, faults_of
from distlint.checks.released_hooks import narrow_hooks
from distlint.checks.released_rows import CuratedRows
from distlint.checks.released_words import message_of, replacement_of
from distlint.frameworks.reaching import is_passed_by
from distlint.link.library_uses import is_below
from distlint.model.finding import Finding, Operation, Related, Safety, Severity
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_PLACES = 8
"""Further uses of the same name in a file that are shown with the first."""

_KINDS = {
    "names": frozenset({"name"}),
    "arguments": frozenset({"argument", "missing", "crowded", "module"}),
    "refused": frozenset({"foreign", "wanting", "surplus"}),
    "deprecated": frozenset({"deprecated", "deprecated-argument"}),
}


@check("released-api")
def released_api(context: CheckContext) -> Iterator[Finding]:
    """Uses of a library that some release that the pins allow does not serve.

    Parameters: ``packages``, ``about`` (``names``, ``arguments``, ``refused`` for calls that no release takes,
    ``deprecated`` or ``defaults``), ``required`` for
    packages of which only those count that a requirement names, ``within`` for the modules that come from nowhere but
    the package (all by default), ``except`` for names of which the table can't tell, or another rule does, ``judged`` for
    such names without what is below them, ``told`` for names of which another rule judges the plain calls, ``provided``
    for modules that another package adds where a release lacks them, for defaults ``changes``, see ``released_defaults.Change``,
    ``made`` for classes of which another rule judges what a run makes them with, and for methods that a library calls
    ``hooks``, see ``released_hooks.Hook``.
    """
    project: Project = context.project
    faults = faults_of(project)
    packages = frozenset(context.parameters["packages"])
    if not packages & faults.used_packages:
        return
    about = context.parameters["about"]
    if about == "defaults":
        yield from changed_defaults(context, faults)
        return
    rows = CuratedRows.of(context)
    required = context.parameters.get("required", False)
    excepted = context.parameters.get("except", ())
    judged = frozenset(context.parameters.get("judged", ()))
    provided = context.parameters.get("provided", ())
    made = context.parameters.get("made", ())
    told = context.parameters.get("told", ())
    within = context.parameters.get("within", ())
    found = [
        fault
        for fault in faults.all()
        if fault.package in packages and fault.kind in _KINDS[about] and not rows.tell(fault)
        # What is not required anywhere may come from a checkout, whose release nobody knows.
        if fault.allowed.pin is not None or not required
        if fault.name not in judged
        if fault.subject not in provided and not any(is_below(fault.name, name) for name in excepted)
        if fault.mention.indirect or not any(is_below(fault.name, name) for name in told)
        if fault.mention.run is None or not any(is_below(fault.name, name) for name in made)
        if not within or any(is_below(fault.name, name) for name in within)
    ]
    for group in _grouped(found):
        yield _finding(context, faults, group)
    yield from narrow_hooks(context, faults)


def _grouped(found: Iterable[Fault]) -> list[list[Fault]]:
    """The faults of one file that are about one thing, as one."""
    groups: dict[tuple[object, ...], list[Fault]] = {}
    for fault in found:
        # A call is wrong where it stands; what is absent or deprecated is so in the whole file.
        is_call = fault.kind in _KINDS["arguments"] | _KINDS["refused"]
        key = (fault.mention.at, fault.candidate.version) if is_call else (fault.kind, fault.argument)
        groups.setdefault((fault.span.file, fault.subject, *key), []).append(fault)
    return list(groups.values())


def _finding(context: CheckContext, faults: Faults, group: list[Fault]) -> Finding:
    # What a launch comes to tells more than what none does.
    group = sorted(group, key=lambda one: _is_passed_by(context.project, one))
    fault = group[0]
    replacement = replacement_of(fault, faults.table)
    related = _related(group)
    if fault.allowed.pin is not None:
        related.append(Related(fault.allowed.pin, f"`{fault.package}` is required here"))
    severity = context.rule.severity
    if not fault.candidate.is_newest:
        severity = min(severity, Severity.WARNING)
    operations = _operations(group, faults)
    safety = None if replacement.is_same and _is_in_all(fault, faults, replacement.path) else Safety.UNSAFE
    words = [word for word in (replacement.advice, context.rule.help) if word]
    return context.finding(
        message_of(group, faults.table),
        fault.span,
        related=related,
        confidence=Confidence.CERTAIN if fault.allowed.is_pinned else Confidence.LIKELY,
        severity=severity,
        plan=context.plan(*operations, safety=safety) if operations else None,
        help="; ".join(words),
        symbol=f"{fault.name}({fault.argument})" if fault.argument else fault.name,
    )


def _is_passed_by(project: Project, fault: Fault) -> bool:
    return is_passed_by(project, fault.mention.file, fault.mention.function, fault.mention.at)


def _related(group: list[Fault]) -> list[Related]:
    seen = {group[0].span}
    related: list[Related] = []
    for other in group[1:]:
        if other.span not in seen and len(related) < MAX_PLACES:
            seen.add(other.span)
            related.append(Related(other.span, f"`{other.argument or other.name}` is used here too"))
    return related


def _operations(group: list[Fault], faults: Faults) -> list[Operation]:
    """The imports from the new places; none where one of the uses can't be mended by an import statement."""
    operations = []
    for fault in group:
        item = fault.mention.item
        replacement = replacement_of(fault, faults.table)
        if item is None or not item.name or item.name == "*" or not replacement.is_alike:
            return []
        operations.append(Operation("replace-import", fault.span, {"to": replacement.path}))
    return operations


def _is_in_all(fault: Fault, faults: Faults, replacement: str) -> bool:
    """Whether the oldest release that is allowed has the replacement too."""
    oldest = fault.allowed.candidates[-1]
    return all(faults.table.find(replacement, version).state == "present" for version in oldest.stands)
