"""Collectives that the ranks of a job do not meet in: some skip one, or they come to different ones.

Parameters: ``faults`` (which of ``skipped``, ``different``, ``rounds``, ``exception`` the rule is about); ``configured`` (a label of
collectives that are such only under a configuration; the rule is about those alone), with ``subject`` and ``when`` (the condition over the
configurations of the object that is called; where it has none, over those of the program), or with a table ``configurations`` of conditions
by subject, one of which has to hold; ``except`` (kinds of collectives that other rules are about).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.cleared import cleared
from distlint.checks.collectives import CALLED, Collectives, Operation
from distlint.checks.engines import configurations
from distlint.checks.programs import runs_alone
from distlint.checks.rank_faults import EXCEPTION, Fault, fault_of
from distlint.checks.rank_meetings import Meetings
from distlint.checks.registry import CheckContext, check
from distlint.checks.trace_faults import TraceFaults
from distlint.judge.conditions import compile_condition
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import FunctionRef
from distlint.link.project import Project
from distlint.model import python as ir
from distlint.model.finding import Finding
from distlint.model.span import Span
from distlint.model.subject import Subject
from distlint.model.value import Confidence


class _Faults(dict[str, tuple[Fault, ...]]):
    """The faults of a project by the label of the collectives that count besides the plain ones."""


@check("rank-matching")
def rank_matching(context: CheckContext) -> Iterator[Finding]:
    """A finding for each place where the ways of two ranks come to collectives that don't meet."""
    project: Project = context.project
    label = context.parameters.get("configured", "")
    wanted = set(context.parameters["faults"])
    others = set(context.parameters.get("except", ()))
    for fault in _faults(context, label):
        spec = fault.operation.spec
        if fault.kind not in wanted or spec.configured != label or spec.kind in others:
            continue
        if runs_alone(project, fault.span.file) or (not label and _is_refuted(project, fault)):
            continue
        yield context.finding(
            fault.message, fault.span, related=fault.related, confidence=Confidence.LIKELY, symbol=fault.symbol
        )
    yield from _traced(context, wanted, others, label)


def _is_refuted(project: Project, fault: Fault) -> bool:
    """Whether the rehearsal of the whole program shows that the ranks meet after all, or that one tells the others whether to come."""
    operation = fault.operation
    known = cleared(project)
    if operation.key in known.told:
        return True
    if fault.kind == EXCEPTION or FunctionRef(operation.file, operation.function) not in known.functions:
        return False
    return operation.key in known.calls


def _traced(context: CheckContext, wanted: set[str], others: set[str], label: str) -> Iterator[Finding]:
    """What the rehearsal of whole programs shows besides: where nothing was found of the same call, or of the same test."""
    project: Project = context.project
    every = Collectives.of_project(project).operations.values()
    configured = {(one.key, one.spec.kind): one.spec.configured for one in every if one.spec.configured}
    known = {place for fault in _faults(context, label) for place in (fault.span, *(one.span for one in fault.related))}
    for fault in TraceFaults.of_project(project):
        if configured.get((fault.call, fault.name), "") != label:
            continue  # collective under another configuration only, which other rules look at
        places = {fault.span, *(one.span for one in fault.related)}
        if fault.kind not in wanted or fault.name in others or places & known or runs_alone(project, fault.span.file):
            continue
        yield context.finding(
            fault.message, fault.span, related=fault.related, confidence=Confidence.LIKELY, symbol=fault.symbol
        )


def _faults(context: CheckContext, label: str) -> tuple[Fault, ...]:
    project: Project = context.project
    kept = project.kept.setdefault(_Faults, _Faults())
    if label not in kept:
        every = Collectives.of_project(project).operations
        counting = {
            key: one
            for key, one in every.items()
            if not one.spec.configured or (one.spec.configured == label and _is_so_configured(context, one))
        }
        matters = not label or any(one.spec.configured for one in counting.values())
        found = Meetings(project, counting).mismatches() if counting and matters else iter(())
        by_place: dict[Span, Fault] = {}
        for one in found:
            fault = fault_of(project, one)
            if fault is not None:
                by_place.setdefault(fault.span, fault)
        kept[label] = tuple(by_place.values())
    faults: tuple[Fault, ...] = kept[label]
    return faults


def _is_so_configured(context: CheckContext, one: Operation) -> bool:
    """Whether the object of a call was made with configurations for all of which the rule's condition holds."""
    project: Project = context.project
    func = one.call.func
    thing = func.base if type(func) is ir.Attribute and not one.spec.name.endswith(CALLED) else func
    if one.spec.name.count(".") > 1 and ".module." in one.spec.name and type(thing) is ir.Attribute:
        thing = thing.base
    options = options_of(project.evaluator(None).ask(thing, one.file, one.function))
    made = [option for option in options if isinstance(option, Instance)]
    if len(made) != len(options):
        return False
    parameters = context.parameters
    wanted = (
        parameters["configurations"] if "configurations" in parameters else {parameters["subject"]: parameters["when"]}
    )
    return any(_all_hold(context, one, made, kind, condition) for kind, condition in wanted.items())


def _all_hold(context: CheckContext, one: Operation, made: list[Instance], kind: str, condition: str) -> bool:
    """Whether a condition holds for all configurations of a kind that a call has to do with, of which there are some."""
    subjects = [subject for option in made for subject in configurations(context, option, kind)]
    subjects = subjects or _of_program(context, one, kind)
    compiled = compile_condition(condition)
    return bool(subjects) and all(compiled.judge(subject).holds for subject in subjects)


def _of_program(context: CheckContext, one: Operation, kind: str) -> list[Subject]:
    """The configurations of the runs that reach a call, and those that the program of the call makes itself."""
    found = []
    for subject in context.subjects(kind):
        made = subject.extra.get("made-by", subject.extra.get("call"))
        script = subject.run.script_file if subject.run is not None else made.file if isinstance(made, Span) else ""
        if script and one.file in context.project.closure(script):
            found.append(subject)
    return found
