"""The plans of the runs that a report is about."""

from __future__ import annotations

from dataclasses import replace

from distlint.model.finding import ProjectError
from distlint.model.report import Report
from distlint.model.subject import Subject
from distlint.planning.run_plan import RunPlan, make_plans


def plans_of(report: Report) -> tuple[list[RunPlan], Report]:
    """The plans of the runs that touch the paths which were asked for, in the order of their places.

    The report comes back with what failed among its errors.
    """
    from distlint.frameworks import subject_kinds

    errors: list[ProjectError] = []
    subjects: list[Subject] = []
    for kind in subject_kinds(report.frameworks).values():
        try:
            subjects += [subject for subject in kind.build(report.project) if subject.sketch is not None]
        except Exception as error:  # one framework that fails must not end the others
            message = f"the subjects of kind {kind.name!r} could not be built: {type(error).__name__}: {error}"
            errors.append(ProjectError("", message, internal=True))

    def failed(subject: Subject, error: Exception) -> None:
        message = f"what {subject.kind} knows of this could not be told: {type(error).__name__}: {error}"
        errors.append(ProjectError(subject.span.file, message, subject.span.line, internal=True))

    plans = make_plans(report.project, subjects, failed)
    report = replace(report, errors=(*report.errors, *errors))
    if not report.scopes or "" in report.scopes:
        return plans, report
    return [
        plan for plan in plans if any(_lies_in(file, scope) for file in plan.files for scope in report.scopes)
    ], report


def _lies_in(file: str, scope: str) -> bool:
    return file == scope or file.startswith(scope + "/")
