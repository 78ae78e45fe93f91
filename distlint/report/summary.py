"""Counts over a report, and the sentence that they make."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from distlint.model.finding import Safety, Severity
from distlint.model.report import Report


class Summary(NamedTuple):
    """Numbers of findings by severity, of those that a fix exists for by safety, of suppressed ones, and of errors."""

    errors: int
    warnings: int
    notes: int
    fixable: int
    fixable_unsafe: int
    suggestions: int
    suppressed: int
    failures: int

    @property
    def findings(self) -> int:
        """Number of findings of any severity."""
        return self.errors + self.warnings + self.notes


def summarise(report: Report) -> Summary:
    """Counts what the report holds."""
    severities = Counter(finding.severity for finding in report.findings)
    safeties = Counter(finding.plan.safety for finding in report.findings if finding.plan is not None)
    return Summary(
        errors=severities[Severity.ERROR],
        warnings=severities[Severity.WARNING],
        notes=severities[Severity.NOTE],
        fixable=safeties[Safety.SAFE],
        fixable_unsafe=safeties[Safety.UNSAFE],
        suggestions=safeties[Safety.SUGGESTION],
        suppressed=len(report.suppressed),
        failures=len(report.errors),
    )


def sentence(summary: Summary) -> str:
    """The summary for people, such as ``2 errors, 1 warning (1 fixable with --fix); 1 suppressed``."""
    counts = [
        counted(number, word)
        for number, word in ((summary.errors, "error"), (summary.warnings, "warning"), (summary.notes, "note"))
        if number
    ]
    parts = [("Found " + ", ".join(counts) if counts else "No problems found") + _fixable(summary)]
    if summary.suppressed:
        parts.append(f"{summary.suppressed} suppressed")
    if summary.failures:
        parts.append(f"{counted(summary.failures, 'place')} could not be analysed")
    return "; ".join(parts)


def counted(number: int, word: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _fixable(summary: Summary) -> str:
    parts = []
    if summary.fixable:
        parts.append(f"{summary.fixable} fixable with --fix")
    if summary.fixable_unsafe:
        parts.append(f"{summary.fixable_unsafe} {'more ' if parts else 'fixable '}with --fix --unsafe-fixes")
    return f" ({', '.join(parts)})" if parts else ""
