"""A file is loaded in a way that does not fit what its name says of its content."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.texts import texts_behind
from distlint.model import python as ir
from distlint.model.finding import Finding, FixPlan, Operation, Related, Severity
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.environments import VersionView
    from distlint.link.project import CallSite, Project


@check("load-by-file-name")
def load_by_file_name(context: CheckContext) -> Iterator[Finding]:
    """Calls of ``callee`` whose file name (its first argument) fits the regular expression ``pattern``.

    ``unless`` names an argument that makes it right if it is given as false, or may be; ``beside`` names a method that
    has to be called in the same function for it to matter. ``message`` is what is wrong, with ``{name}``. The rule's
    ``versions`` are those of the packages for which it holds.
    """
    project: Project = context.project
    parameters = context.parameters
    pattern = re.compile(parameters["pattern"])
    for found in project.calls_to(set(parameters["callee"])):
        expr, _ = find_argument(found.site.call, "f", 0)
        if expr is None or _is_excused(project, found, parameters.get("unless", "")):
            continue
        texts = texts_behind(project, expr, found.file, found.site.function)
        fitting = [text for text in texts if pattern.search(text.value)]
        if not fitting or not _is_beside(project, found, parameters.get("beside", "")):
            continue
        graded = _graded(context, found)
        if graded is None:
            continue
        severity, confidence, related = graded
        others = any(_is_file_name(text.value) and text not in fitting for text in texts)
        place = ir.unpack(fitting[0].at, found.file)
        yield context.finding(
            parameters["message"].format(name=fitting[0].value.rpartition("/")[2]),
            found.span,
            related=[Related(place, "the file is named here"), *related],
            severity=severity,
            confidence=Confidence.POSSIBLE if others else confidence,
            plan=_plan(context, found),
            symbol=found.name,
        )


def _is_file_name(text: str) -> bool:
    return bool(re.search(r"\.(?:pt|pth|bin|ckpt|safetensors)$", text))


def _is_excused(project: Project, found: CallSite, name: str) -> bool:
    if not name:
        return False
    call = found.site.call
    expr, certain = find_argument(call, name, None)
    if expr is None:
        return not certain
    value = project.evaluator(None).value(expr, found.file, found.site.function)
    return value.only is not True


def _is_beside(project: Project, found: CallSite, method: str) -> bool:
    if not method:
        return True
    sites = project.sites(method)
    return any(one.file == found.file and one.site.function == found.site.function for one in sites)


def _graded(context: CheckContext, found: CallSite) -> tuple[Severity, Confidence, list[Related]] | None:
    """How bad and how sure by the versions that the rule is about; ``None`` where they are not allowed."""
    versions: VersionView = context.project.environments.for_file(found.file)
    severity, confidence = context.rule.severity, Confidence.CERTAIN
    related: list[Related] = []
    for package, specifier in context.rule.versions.items():
        answer = versions.test(package, specifier)
        if answer is False:
            return None
        place = versions.span(package)
        if answer is None and not _is_newest(versions, package, specifier):
            if not versions.is_pinned(package):
                return None
            severity = min(severity, Severity.WARNING)
        if place is None:
            confidence = Confidence.LIKELY
        else:
            related.append(Related(place, f"`{package}` is required here"))
    return severity, confidence, related


def _is_newest(versions: VersionView, package: str, specifier: str) -> bool:
    from packaging.specifiers import SpecifierSet

    newest = versions.newest(package)
    return bool(newest) and SpecifierSet(specifier).contains(newest)


def _plan(context: CheckContext, found: CallSite) -> FixPlan | None:
    name = context.parameters.get("unless", "")
    return context.plan(Operation("set-argument", found.span, {"name": name, "value": False})) if name else None
