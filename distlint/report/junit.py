"""JUnit XML: one suite per file, one case per finding. A finding of severity *note* is a case that passes."""

from __future__ import annotations

import re
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from distlint.model.finding import Finding, ProjectError, Severity
from distlint.model.report import Report
from distlint.report.formats import RenderOptions
from distlint.report.links import rule_url
from distlint.report.paths import report_path

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot carry, not even escaped."""


def render(report: Report, options: RenderOptions) -> str:
    """The whole document; without findings it has one case that passes, since an empty one counts as broken."""
    ranked = sorted(report.findings, key=lambda finding: finding.sort_key)
    suites = [
        _suite(report_path(report, file, options.base), [_case(report, finding) for finding in found])
        for file, found in (
            (file, list(group)) for file, group in groupby(ranked, key=lambda finding: finding.span.file)
        )
    ]
    if report.errors:
        suites.append(_suite("errors", [_error(error) for error in report.errors]))
    if not suites:
        suites.append(_suite("distlint", ['    <testcase name="no findings" classname="distlint"/>']))
    failures = sum(finding.severity is not Severity.NOTE for finding in ranked)
    total = max(len(ranked) + len(report.errors), 1)
    head = f'<testsuites name="distlint" tests="{total}" failures="{failures}" errors="{len(report.errors)}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>", ""])


def _suite(name: str, cases: list[str]) -> str:
    failures = sum("<failure" in case for case in cases)
    errors = sum("<error " in case for case in cases)
    head = f'  <testsuite name={_attribute(name)} tests="{len(cases)}" failures="{failures}" errors="{errors}">'
    return "\n".join([head, *cases, "  </testsuite>"])


def _case(report: Report, finding: Finding) -> str:
    rule = report.rules.get(finding.code)
    name = f"{finding.code} {rule.name if rule is not None else ''}".strip()
    places = [f"{place.span.file}:{place.span.line}:{place.span.column}: {place.message}" for place in finding.related]
    where = f"{finding.span.file}:{finding.span.line}:{finding.span.column}"
    body = _text(
        "\n".join(line for line in (where, finding.message, finding.help, *places, rule_url(finding.code)) if line)
    )
    title = _attribute(f"{name} at line {finding.span.line}")
    head = f"    <testcase name={title} classname={_attribute(finding.span.file)}>"
    if finding.severity is Severity.NOTE:
        return f"{head}\n      <system-out>{body}</system-out>\n    </testcase>"
    kind = _attribute(finding.severity.word)
    return f"{head}\n      <failure type={kind} message={_attribute(finding.message)}>{body}</failure>\n    </testcase>"


def _error(error: ProjectError) -> str:
    head = f'    <testcase name={_attribute(error.file or "project")} classname="distlint">'
    return f"{head}\n      <error message={_attribute(error.message)}></error>\n    </testcase>"


def _text(text: str) -> str:
    return escape(_ILLEGAL.sub("\ufffd", text))


def _attribute(text: str) -> str:
    return quoteattr(_ILLEGAL.sub("\ufffd", text))
