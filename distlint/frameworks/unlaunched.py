"""Findings at places that no known launch comes to: they hold for whoever starts the program in another way, and stop nobody now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.frameworks.reaching import comes_to
from distlint.link.library_uses import function_around
from distlint.link.project import CallSite
from distlint.model import python as ir
from distlint.model.finding import Finding, Severity
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project


def tempered(project: Project, finding: Finding) -> Finding:
    """The finding as a warning where launches of its file are known and the options of none of them lead to its place."""
    if finding.severity is not Severity.ERROR or not finding.span.file.endswith(".py"):
        return finding
    found = _site(project, finding.span)
    runs = project.runs_reaching(finding.span.file) if found is not None else ()
    if found is None or not runs or any(comes_to(project, found, run) for run in runs):
        return finding
    return replace(
        finding, severity=Severity.WARNING, message=f"{finding.message} (no launch that the project has comes here)"
    )


def _site(project: Project, span: Span) -> CallSite | None:
    """A place as one of a call in the innermost function around it; ``None`` at the top level, where every run comes."""
    at = ir.pack(span.line, span.column, span.end_line, span.end_column)
    function = function_around(project.module(span.file), at)
    if function < 0:
        return None
    return CallSite(span.file, ir.Site(ir.Call(ir.Name("", at), (), (), at), function))
