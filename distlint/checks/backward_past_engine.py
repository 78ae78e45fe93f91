"""The loss of a model inside an engine is differentiated directly, not by the engine.

Parameters: ``engine`` (what makes it, as ``pkg.function()[0]``), ``step`` (the method that trains with it, if it is not the engine's
own ``step``), ``subject`` (the configurations), ``when`` (the condition over them for it to matter), ``message`` (where it is not a
method of the engine that was to be called).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.call_levels import handed_by
from distlint.checks.engines import unseen
from distlint.checks.execution import body_of
from distlint.checks.loaders import GRADIENTS_OFF
from distlint.checks.registry import CheckContext, check
from distlint.judge.conditions import Verdict, compile_condition
from distlint.link.abstract import Instance, options_of
from distlint.link.origins import origins_of
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, calls_in, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, FixPlan, Operation, Related
from distlint.model.span import Span
from distlint.model.subject import Subject

MAX_CALLERS = 5
"""Functions that a loss is followed up through."""


@check("backward-past-engine")
def backward_past_engine(context: CheckContext) -> Iterator[Finding]:
    """A finding for each ``loss.backward()`` whose loss comes from a call of an engine that is trained in the same program."""
    project: Project = context.project
    engine = context.parameters["engine"]
    called = project.modules.canonical(f"{engine}.__call__")
    stepped = {found.file for found in project.calls_to({context.parameters.get("step", f"{engine}.step")})}
    for found in project.sites("backward"):
        func = found.site.call.func
        if type(func) is not ir.Attribute or found.site.call.args or not _are_together(project, found.file, stepped):
            continue
        origins = origins_of(project, func.base, found.file, found.site.function)
        forwards = sorted(origin.span for origin in origins if origin.name == called)
        if not forwards or f"{engine}.scale" in {origin.name for origin in origins}:
            continue
        if any(_without_gradients(project, found, span) for span in forwards) or _is_other_arm(project, found):
            continue
        if not all(_is_only(project, engine, span) for span in forwards):
            continue
        if _is_given_other(project, func.base, found.file, found.site.function, called):
            continue
        reason = _reason(context, project, found)
        if reason is not None:
            yield _finding(context, project, found, forwards[0], reason)


def _are_together(project: Project, file: str, others: set[str]) -> bool:
    """Whether a file is one of the others, or one of the two imports the other, directly or not."""
    return file in others or any(file in project.closure(one) or one in project.closure(file) for one in others)


def _is_given_other(project: Project, expr: ir.Expr, file: str, function: int, called: str, depth: int = 0) -> bool:
    """Whether a loss is a parameter to which some caller, near or far, may hand a loss that no engine made."""
    for caller, given in handed_by(project, expr, file, function):
        place = (caller.file, caller.site.function)
        origins = origins_of(project, given, *place) if given is not None else ()
        if given is None or called not in {origin.name for origin in origins}:
            return True
        if depth < MAX_CALLERS and _is_given_other(project, given, *place, called, depth + 1):
            return True
    return False


def _reason(context: CheckContext, project: Project, found: CallSite) -> tuple[Subject, Verdict] | None:
    """The configuration with which it matters; ``None`` where it does not, or may not, with one of them."""
    condition = compile_condition(context.parameters["when"])
    kind = context.parameters["subject"]
    subjects = [one for one in context.subjects(kind) if _is_of(one, found.file, project)]
    verdicts = [(one, condition.judge(one)) for one in subjects or [unseen(project, kind, found)]]
    return verdicts[0] if all(verdict.holds for _, verdict in verdicts) else None


def _is_of(subject: Subject, file: str, project: Project) -> bool:
    made = subject.extra.get("made-by")
    return isinstance(made, Span) and (_are_together(project, file, {made.file}))


def _without_gradients(project: Project, found: CallSite, forward: Span) -> bool:
    """Whether a forward pass stands where no gradients are kept, so that it only gives constants; elsewhere: not known."""
    if forward.file != found.file:
        return False
    for statement in statements(body_of(project, found.file, found.site.function)):
        if type(statement) is ir.With and _covers(ir.unpack(statement.at, found.file), forward):
            for context, _ in statement.items:
                names = {part.name for part in below(context) if type(part) is ir.Attribute}
                names |= {part.id for part in below(context) if type(part) is ir.Name}
                if names.intersection(GRADIENTS_OFF):
                    return True
    return False


def _is_other_arm(project: Project, found: CallSite) -> bool:
    """Whether a ``backward(loss)`` stands on a branch that excludes this one: then this one is for another way of training."""
    body = body_of(project, found.file, found.site.function)
    own = {guard.at: guard.holds for guard in guards_of(body, found.site.call.at) or ()}
    for other in project.sites("backward"):
        if (other.file, other.site.function) == (found.file, found.site.function) and other.site.call.args:
            for guard in guards_of(body, other.site.call.at) or ():
                if own.get(guard.at, guard.holds) is not guard.holds:
                    return True
    return False


def _is_only(project: Project, engine: str, forward: Span) -> bool:
    """Whether what is called at a place is the engine and can't be a plain model instead."""
    module = project.module(forward.file)
    bodies = [(-1, module.body), *((index, function.body) for index, function in enumerate(module.functions))]
    evaluator = project.evaluator(None)
    for function, body in bodies:
        for call in calls_in(body):
            if ir.unpack(call.at, forward.file) == forward:
                options = options_of(evaluator.ask(call.func, forward.file, function))
                return all(
                    isinstance(one, Instance) and project.modules.canonical(evaluator.instance_name(one)) == engine
                    for one in options
                )
    return False


def _covers(outer: Span, inner: Span) -> bool:
    return (outer.line, outer.column) <= (inner.line, inner.column) and (inner.end_line, inner.end_column) <= (
        outer.end_line,
        outer.end_column,
    )


def _finding(
    context: CheckContext, project: Project, found: CallSite, forward: Span, reason: tuple[Subject, Verdict]
) -> Finding:
    subject, verdict = reason
    pin = subject.versions.span(context.parameters["package"])
    places = [Related(forward, "the loss comes from the engine here")]
    places += [Related(used.key_span, f"`{used.path}` is set here") for used in verdict.used if used.key_span]
    if pin is not None:
        places.append(Related(pin, f"`{context.parameters['package']}` is required here"))
    return context.finding(
        context.parameters.get(
            "message", "`backward()` of the loss is called instead of the engine's `backward(loss)`"
        ),
        found.span,
        related=places,
        confidence=verdict.confidence,
        plan=_plan(context, project, found, forward) if context.rule.fix is not None else None,
        runs=(subject.label,) if subject.run is not None else (),
    )


def _plan(context: CheckContext, project: Project, found: CallSite, forward: Span) -> FixPlan | None:
    """``engine.backward(loss)``, where both have a plain name in the same function and nothing else is asked for."""
    loss = found.site.call.func
    assert isinstance(loss, ir.Attribute)  # noqa: S101 - tested when the site was chosen
    if not isinstance(loss.base, ir.Name) or found.site.call.keywords:
        return None
    for call in calls_in(body_of(project, found.file, found.site.function)):
        if ir.unpack(call.at, found.file) == forward and isinstance(call.func, ir.Name):
            return context.plan(Operation("replace", found.span, {"text": f"{call.func.id}.backward({loss.base.id})"}))
    return None
