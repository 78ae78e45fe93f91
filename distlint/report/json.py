"""The JSON report: a contract.

Fields may be added, never changed in meaning; ``SCHEMA_VERSION`` grows if one ever has to be.
"""

from __future__ import annotations

import json
from typing import Any

from distlint.model.finding import Edit, Finding, Fix, FixPlan, ProjectError
from distlint.model.report import Report, Suppressed
from distlint.model.span import Span
from distlint.report.fingerprint import report_fingerprints
from distlint.report.fixes import worked_out
from distlint.report.formats import RenderOptions
from distlint.report.links import rule_url
from distlint.report.paths import shown_root
from distlint.report.summary import summarise

SCHEMA_VERSION = 1


def render(report: Report, options: RenderOptions) -> str:
    """One JSON object, in ASCII so that every pipe and file can carry it.

    Paths are relative to the project root; ``root`` is where that is, seen from the working directory.
    """
    written = as_object(report, show_fixes=options.show_fixes)
    written["root"] = shown_root(report, options.base)
    return json.dumps(written, indent=2) + "\n"


def as_object(report: Report, *, show_fixes: bool = True) -> dict[str, Any]:
    """The report as plain dicts and lists. Working out fixes costs time: ``show_fixes=False`` leaves them ``None``."""
    from distlint import __version__

    marks, silenced_marks = report_fingerprints(report)
    counts = summarise(report)
    return {
        "schema_version": SCHEMA_VERSION,
        "distlint_version": __version__,
        "findings": [
            _finding(report, finding, mark, show_fixes) for finding, mark in zip(report.findings, marks, strict=True)
        ],
        "suppressed": [
            _finding(report, item.finding, mark, show_fixes=False) | {"suppression": _suppression(item)}
            for item, mark in zip(report.suppressed, silenced_marks, strict=True)
        ],
        "errors": [_error(error) for error in report.errors],
        "summary": {
            "findings": counts.findings,
            "error": counts.errors,
            "warning": counts.warnings,
            "note": counts.notes,
            "suppressed": counts.suppressed,
            "fixable": counts.fixable,
            "fixable_unsafe": counts.fixable_unsafe,
            "errors": counts.failures,
            "statistics": dict(sorted(report.statistics.items())),
        },
    }


def _finding(report: Report, finding: Finding, fingerprint: str, show_fixes: bool) -> dict[str, Any]:
    rule = report.rules.get(finding.code)
    fix = worked_out(report, finding) if show_fixes else None
    return {
        "code": finding.code,
        "name": rule.name if rule is not None else finding.code,
        "severity": finding.severity.word,
        "confidence": finding.confidence.word,
        "message": finding.message,
        "help": finding.help,
        **_place(finding.span),
        "related": [{**_place(place.span), "message": place.message} for place in finding.related],
        "symbol": finding.symbol,
        "runs": list(finding.runs),
        "framework": rule.framework if rule is not None else "",
        "root_cause": rule.root_cause if rule is not None else "",
        "symptom": rule.symptom if rule is not None else "",
        "stage": rule.stage if rule is not None else "",
        "bites": rule.bites if rule is not None else "",
        "url": rule_url(finding.code),
        "fingerprint": fingerprint,
        "fix": _fix(finding.plan, fix),
    }


def _fix(plan: FixPlan | None, fix: Fix | None) -> dict[str, Any] | None:
    if plan is None or fix is None:
        return None
    return {"safety": fix.safety.word, "title": fix.title, "edits": [_edit(edit) for edit in fix.edits]}


def _edit(edit: Edit) -> dict[str, Any]:
    return {**_place(edit.span), "text": edit.text}


def _place(span: Span) -> dict[str, Any]:
    return {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def _suppression(item: Suppressed) -> dict[str, Any]:
    if item.where is None:
        return {"kind": "setting", "reason": item.reason, "file": None, "line": None}
    span = item.where.span
    return {"kind": "comment", "reason": item.where.reason or item.reason, "file": span.file, "line": span.line}


def _error(error: ProjectError) -> dict[str, Any]:
    return {"file": error.file, "line": error.line, "message": error.message, "internal": error.internal}
