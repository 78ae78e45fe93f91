"""SARIF 2.1.0, as code-scanning services read it.

GitHub keeps 5,000 results of a run and refuses files with more than 25,000, so the worst 5,000 are written and a
notification says how many were left out. Columns count code points; regions end before their end column, in SARIF as
in distlint.
"""

from __future__ import annotations

import json
import re
from itertools import groupby
from typing import Any

from distlint.model.finding import Finding, Fix, ProjectError
from distlint.model.report import Report, Suppressed
from distlint.model.rule import Rule
from distlint.model.span import Span
from distlint.model.value import Confidence
from distlint.report.fingerprint import report_fingerprints
from distlint.report.fixes import worked_out
from distlint.report.formats import RenderOptions
from distlint.report.links import rule_url
from distlint.report.page import page_markdown
from distlint.report.paths import report_path, uri

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
INFORMATION = "https://distlint.readthedocs.io"
MAX_RESULTS = 5000
MAX_TAGS = 10
MAX_PLACES = 100
"""More locations per result are not shown by code scanning."""

_PRECISIONS = {Confidence.CERTAIN: "very-high", Confidence.LIKELY: "high", Confidence.POSSIBLE: "medium"}
_PROBLEM_SEVERITIES = {"error": "error", "warning": "warning", "note": "recommendation"}


def render(report: Report, options: RenderOptions) -> str:
    """The log file with one run."""
    return json.dumps(as_log(report, options), indent=2) + "\n"


def as_log(report: Report, options: RenderOptions) -> dict[str, Any]:
    """The log file as plain dicts and lists."""
    from distlint import __version__

    entries = _ranked(report)
    kept = entries[:MAX_RESULTS]
    codes = sorted({finding.code for finding, _, _ in kept})
    positions = {code: index for index, code in enumerate(codes)}
    results = _Results(report, options)
    run = {
        "tool": {
            "driver": {
                "name": "distlint",
                "version": __version__,
                "semanticVersion": __version__,
                "informationUri": INFORMATION,
                "rules": [_rule(code, report.rules.get(code)) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The folder that all paths are relative to."}}},
        "invocations": [_invocation(report, options, left_out=len(entries) - len(kept))],
        "results": [
            results.result(finding, mark, silenced) | {"ruleIndex": positions[finding.code]}
            for finding, mark, silenced in kept
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _ranked(report: Report) -> list[tuple[Finding, str, Suppressed | None]]:
    """Findings with their fingerprints and what silences them: open ones before silenced ones, the worst first."""
    marks, silenced_marks = report_fingerprints(report)
    entries: list[tuple[Finding, str, Suppressed | None]] = [
        (finding, mark, None) for finding, mark in zip(report.findings, marks, strict=True)
    ]
    entries += [(item.finding, mark, item) for item, mark in zip(report.suppressed, silenced_marks, strict=True)]
    return sorted(entries, key=lambda entry: (entry[2] is not None, -entry[0].severity, entry[0].sort_key))


def _rule(code: str, rule: Rule | None) -> dict[str, Any]:
    """The descriptor of a rule; of one without a rule file, only what its code says."""
    if rule is None:
        return {"id": code, "helpUri": rule_url(code), "shortDescription": {"text": code}}
    tags = [rule.framework, rule.root_cause, rule.symptom, rule.stage, f"bites-{rule.bites}" if rule.bites else ""]
    page = page_markdown(rule, examples=False)
    return {
        "id": code,
        "name": "".join(part.capitalize() for part in re.split(r"[-_]", rule.name)),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.explanation.strip() or rule.summary},
        "help": {"text": f"{rule.summary}\n\n{rule.explanation.strip()}\n\n{rule_url(code)}", "markdown": page},
        "helpUri": rule_url(code),
        "defaultConfiguration": {"level": rule.severity.word},
        "properties": {
            "precision": _PRECISIONS[rule.confidence],
            "problem.severity": _PROBLEM_SEVERITIES[rule.severity.word],
            "tags": list(dict.fromkeys(tag for tag in tags if tag))[:MAX_TAGS],
        },
    }


class _Results:
    """Writes results of one report; paths are relative to the folder that the options name."""

    def __init__(self, report: Report, options: RenderOptions) -> None:
        self._report = report
        self._options = options

    def result(self, finding: Finding, fingerprint: str, silenced: Suppressed | None) -> dict[str, Any]:
        """One result object, but for the index of its rule."""
        related = finding.related[:MAX_PLACES]
        written: dict[str, Any] = {
            "ruleId": finding.code,
            "level": finding.severity.word,
            "message": {"text": _message(finding)},
            "locations": [self._location(finding.span)],
            "partialFingerprints": {"distlint/v1": fingerprint},
            "properties": {"confidence": finding.confidence.word},
        }
        if finding.symbol:
            written["locations"][0]["logicalLocations"] = [{"fullyQualifiedName": finding.symbol}]
        if related:
            written["relatedLocations"] = [
                self._location(place.span, place.message) | {"id": index} for index, place in enumerate(related, 1)
            ]
        if finding.flow and related:
            written["codeFlows"] = [self._flow(finding)]
        if silenced is not None:
            written["suppressions"] = [self._suppression(silenced)]
        elif self._options.show_fixes and (fix := worked_out(self._report, finding)) is not None:
            written["fixes"] = [self._fix(fix)]
        return written

    def _flow(self, finding: Finding) -> dict[str, Any]:
        steps = [self._location(place.span, place.message) for place in finding.related[:MAX_PLACES]]
        steps.append(self._location(finding.span, finding.message))
        return {"threadFlows": [{"locations": [{"location": step} for step in steps]}]}

    def _fix(self, fix: Fix) -> dict[str, Any]:
        by_file = groupby(sorted(fix.edits, key=lambda edit: edit.span), key=lambda edit: edit.span.file)
        changes = [
            {
                "artifactLocation": self._artifact(file),
                "replacements": [
                    {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in edits
                ],
            }
            for file, edits in by_file
        ]
        return {"description": {"text": f"{fix.title} ({fix.safety.word})"}, "artifactChanges": changes}

    def _suppression(self, silenced: Suppressed) -> dict[str, Any]:
        if silenced.where is None:
            return {"kind": "external", "status": "accepted", "justification": silenced.reason}
        reason = silenced.where.reason or silenced.reason
        return {"kind": "inSource", "justification": reason, "location": self._location(silenced.where.span)}

    def _location(self, span: Span, message: str = "") -> dict[str, Any]:
        place = {"physicalLocation": {"artifactLocation": self._artifact(span.file), "region": _region(span)}}
        return place | ({"message": {"text": message}} if message else {})

    def _artifact(self, file: str) -> dict[str, str]:
        return {"uri": uri(report_path(self._report, file, self._options.base)), "uriBaseId": "%SRCROOT%"}


def _region(span: Span) -> dict[str, int]:
    line, column = max(span.line, 1), max(span.column, 1)
    return {
        "startLine": line,
        "startColumn": column,
        "endLine": max(span.end_line, line),
        "endColumn": max(span.end_column, column if span.end_line <= line else 1),
    }


def _message(finding: Finding) -> str:
    """Message and help, then links to the related locations by their ids."""
    text = _without_links(finding.message)
    if finding.help:
        text += f". {_without_links(finding.help)}"
    if finding.related:
        links = (
            f"[{_link_text(place.message)}]({index})" for index, place in enumerate(finding.related[:MAX_PLACES], 1)
        )
        text += f"\nSee {', '.join(links)}"
    return text


def _without_links(text: str) -> str:
    """Brackets that would read as a link are escaped; others stay as they are."""
    return text.replace("[", "\\[").replace("]", "\\]") if "](" in text else text


def _link_text(text: str) -> str:
    return (text or "here").replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _invocation(report: Report, options: RenderOptions, left_out: int) -> dict[str, Any]:
    notifications = [_notification(error, report, options) for error in report.errors]
    if left_out:
        text = f"{left_out} results are left out: only the {MAX_RESULTS} worst are written"
        notifications.append({"level": "warning", "message": {"text": text}})
    successful = not any(error.internal for error in report.errors)
    return {"executionSuccessful": successful, "toolExecutionNotifications": notifications}


def _notification(error: ProjectError, report: Report, options: RenderOptions) -> dict[str, Any]:
    written: dict[str, Any] = {"level": "error" if error.internal else "warning", "message": {"text": error.message}}
    if error.file:
        place: dict[str, Any] = {
            "artifactLocation": {"uri": uri(report_path(report, error.file, options.base)), "uriBaseId": "%SRCROOT%"}
        }
        if error.line:
            place["region"] = {"startLine": error.line}
        written["locations"] = [{"physicalLocation": place}]
    return written
