"""Worked-out fixes of a report's findings, for the formats that carry edits."""

from __future__ import annotations

from distlint.model.finding import Finding, Fix
from distlint.model.report import Report


def worked_out(report: Report, finding: Finding) -> Fix | None:
    """The fix of a finding as edits on the analysed text; ``None`` if it has none or it cannot be worked out."""
    if finding.plan is None:
        return None
    from distlint.fix.planning import build_fix

    fix = build_fix(finding.plan, report.text)
    return fix if isinstance(fix, Fix) else None
