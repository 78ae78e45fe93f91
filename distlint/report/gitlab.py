"""GitLab's code quality report."""

from __future__ import annotations

import json
from typing import Any

from distlint.model.finding import Finding, Severity
from distlint.model.report import Report
from distlint.report.fingerprint import report_fingerprints
from distlint.report.formats import RenderOptions
from distlint.report.links import rule_url
from distlint.report.paths import report_path

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


def render(report: Report, options: RenderOptions) -> str:
    """A JSON list with one object per finding; fingerprints differ, as GitLab demands."""
    marks, _ = report_fingerprints(report)
    issues = [_issue(report, finding, mark, options) for finding, mark in zip(report.findings, marks, strict=True)]
    return json.dumps(issues, indent=2) + "\n"


def _issue(report: Report, finding: Finding, fingerprint: str, options: RenderOptions) -> dict[str, Any]:
    body = "\n".join(
        [finding.message, finding.help]
        + [f"{place.span.file}:{place.span.line}:{place.span.column}: {place.message}" for place in finding.related]
        + [rule_url(finding.code)]
    )
    return {
        "type": "issue",
        "description": f"{finding.code}: {finding.message}",
        "check_name": finding.code,
        "content": {"body": body},
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": report_path(report, finding.span.file, options.base),
            "lines": {"begin": finding.span.line, "end": finding.span.end_line},
        },
    }
