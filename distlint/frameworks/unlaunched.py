"""Findings at places that no known launch, or no release that the pins allow, comes to.

The former hold for whoever starts the program in another way, and stop nobody now; the latter hold for nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.frameworks.reaching import is_passed_by
from distlint.link.library_uses import function_around
from distlint.model import python as ir
from distlint.model.finding import Finding, Severity

if TYPE_CHECKING:
    from distlint.link.project import Project


def is_left_out(project: Project, finding: Finding, packages: Iterable[str]) -> bool:
    """Whether tests on the way to a finding's place keep all releases of one of the packages away from it that the pins allow.

    Only where some test asks for what a release decides: others say nothing about releases.
    """
    span = finding.span
    if not span.file.endswith(".py"):
        return False
    at = ir.pack(span.line, span.column, span.end_line, span.end_column)
    versions = project.environments.for_file(span.file)
    for package in packages:
        allowed = versions.allowed(package)
        reach = project.reach(package)
        if allowed and not any(reach.reached_versions(span.file, at, allowed, None)):
            if reach.depends_on_release(span.file, at):
                return True
    return False


def tempered(project: Project, finding: Finding) -> Finding:
    """The finding as a warning where launches of its file are known and none of them is known to lead to its place."""
    span = finding.span
    if finding.severity is not Severity.ERROR or not span.file.endswith(".py"):
        return finding
    at = ir.pack(span.line, span.column, span.end_line, span.end_column)
    if not is_passed_by(project, span.file, function_around(project.module(span.file), at), at):
        return finding
    return replace(
        finding, severity=Severity.WARNING, message=f"{finding.message} (no launch that the project has comes here)"
    )
