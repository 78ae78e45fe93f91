"""The plans of the runs that a report is about."""

from __future__ import annotations

from distlint.model.report import Report
from distlint.planning.run_plan import RunPlan, make_plans


def plans_of(report: Report) -> list[RunPlan]:
    """The plans of the runs that touch the paths which were asked for, in the order of their places."""
    from distlint.frameworks import subject_kinds

    subjects = []
    for kind in subject_kinds(report.frameworks).values():
        subjects += [subject for subject in kind.build(report.project) if subject.sketch is not None]
    plans = make_plans(report.project, subjects)
    if not report.scopes or "" in report.scopes:
        return plans
    return [plan for plan in plans if any(_lies_in(file, scope) for file in plan.files for scope in report.scopes)]


def _lies_in(file: str, scope: str) -> bool:
    return file == scope or file.startswith(scope + "/")
