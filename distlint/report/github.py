"""GitHub workflow commands, which a job's log turns into annotations. GitHub shows ten of each kind per step.

No text from the repository can end a command or start another: line ends, ``%`` and, in properties, ``:`` and ``,``
are escaped as the runner decodes them, and other control characters are made visible.
"""

from __future__ import annotations

from distlint.model.finding import Finding, ProjectError, Severity
from distlint.model.report import Report
from distlint.report.formats import RenderOptions
from distlint.report.links import rule_url
from distlint.report.paths import report_path
from distlint.report.terminal import harmless

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report, options: RenderOptions) -> str:
    """One command per finding, the worst first, and one warning per error of the analysis."""
    ranked = sorted(report.findings, key=lambda finding: (-finding.severity, finding.sort_key))
    lines = [_finding(report, finding, options) for finding in ranked]
    lines += [_failure(report, error, options) for error in report.errors]
    return "\n".join([*lines, ""]) if lines else ""


def _finding(report: Report, finding: Finding, options: RenderOptions) -> str:
    span = finding.span
    rule = report.rules.get(finding.code)
    properties = {
        "file": report_path(report, span.file, options.base),
        "line": str(span.line),
        "endLine": str(span.end_line),
    }
    if span.line == span.end_line:  # GitHub takes columns only for annotations of one line
        properties |= {"col": str(span.column), "endColumn": str(max(span.end_column - 1, span.column))}
    properties["title"] = f"{finding.code} {rule.name}" if rule is not None else finding.code
    lines = [finding.message, finding.help] if finding.help else [finding.message]
    for place in finding.related:
        path = report_path(report, place.span.file, options.base)
        lines.append(f"{path}:{place.span.line}:{place.span.column}: {place.message}")
    if options.show_fixes and finding.plan is not None:
        lines.append(f"fix ({finding.plan.safety.word}): {finding.plan.title}")
    lines.append(rule_url(finding.code))
    return _command(_COMMANDS[finding.severity], properties, lines)


def _failure(report: Report, error: ProjectError, options: RenderOptions) -> str:
    properties = {"title": "distlint could not analyse this"}
    if error.file:
        properties = {"file": report_path(report, error.file, options.base)} | properties
        if error.line:
            properties["line"] = str(error.line)
    return _command("warning", properties, [error.message])


def _command(command: str, properties: dict[str, str], lines: list[str]) -> str:
    inner = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {inner}::" + "%0A".join(_data(line) for line in lines)


def _data(text: str) -> str:
    return harmless(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
