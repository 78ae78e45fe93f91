"""Training loops that do beside an engine what the engine does itself.

The rule's ``fault`` says what: ``interval`` (the engine is stepped every n-th time only), ``divided`` (the loss is divided by the
number of accumulated batches; ``accessors`` give it, and ``scaling`` is the argument, with its position, that keeps the engine from
it), ``cleared`` (gradients are cleared between the backward pass and the step), ``clipped`` (gradients
are clipped that are no longer there). Further parameters: ``engine`` (what makes it), ``subject``, ``when`` (the condition over the
configuration), ``steps`` (the setting with the number of batches), ``given-as`` (the argument through which the engine takes the
model over, with its position), ``message``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from distlint.checks.engines import configurations, handed_over, receivers, tests_name
from distlint.checks.execution import body_of
from distlint.checks.registry import CheckContext, check
from distlint.judge.conditions import compile_condition
from distlint.judge.view import View
from distlint.judge.wording import compile_template
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.flow import Bind, Env, Join
from distlint.link.project import CallSite, Project
from distlint.link.walking import Guard, below, guards_of
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span
from distlint.model.subject import Subject
from distlint.model.value import Confidence


@check("engine-loops")
def engine_loops(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such place, under a configuration for which it matters."""
    for place in _FAULTS[context.parameters["fault"]](context):
        yield from _judged(context, place)


class _Place(NamedTuple):
    """A call of an engine's method, what made the engine, where to point and why; ``number`` is what the program goes by."""

    found: CallSite
    made: Instance
    at: Span
    why: Related
    number: ir.Expr | None = None


def _judged(context: CheckContext, place: _Place) -> Iterator[Finding]:
    found, made, at, why, number = place
    condition = compile_condition(context.parameters["when"])
    message = compile_template(context.parameters["message"])
    subjects = configurations(context, made)
    verdicts = [(one, condition.judge(one)) for one in subjects]
    if not verdicts or not all(verdict.holds for _, verdict in verdicts):
        return
    subject, verdict = verdicts[0]
    confidence = verdict.confidence
    if number is not None and all(_is_same_option(context, found, number, one) for one in subjects):
        # whatever number is given, the program and the engine go by it alike
        confidence = max(confidence, Confidence.LIKELY)
    places = [Related(used.key_span, f"`{used.path}` is set here") for used in verdict.used if used.key_span]
    yield context.finding(
        message.render(View.of(subject)),
        at,
        related=[why, *places],
        confidence=confidence,
        help=compile_template(context.rule.help).render(View.of(subject)),
        symbol=found.name,
        runs=(subject.label,) if subject.run is not None else (),
    )


def _is_same_option(context: CheckContext, found: CallSite, number: ir.Expr, subject: Subject) -> bool:
    """Whether a number and the setting with the number of batches are what one option of the command line gives."""
    setting = subject.settings.get(context.parameters["steps"]) if "steps" in context.parameters else None
    value = context.project.evaluator(subject.run).value(number, found.file, found.site.function)
    if setting is None or not value.is_known or setting.value.only != value.only:
        return False
    return bool(value.spans) and bool(setting.value.spans) and value.spans[-1] == setting.value.spans[-1]


def _only_maker(project: Project, found: CallSite, engine: str) -> Instance | None:
    """The one engine that a method is called of; ``None`` where it may be another object."""
    made = list(receivers(project, found))
    func = found.site.call.func
    assert isinstance(func, ir.Attribute)  # noqa: S101 - methods are found by their attribute
    options = options_of(project.evaluator(None).ask(func.base, found.file, found.site.function))
    if len(made) != 1 or len(options) != 1:
        return None
    name = project.modules.canonical(project.evaluator(None).instance_name(made[0]))
    return made[0] if name == engine else None


def _of_engine(context: CheckContext, method: str) -> Iterator[tuple[CallSite, Instance]]:
    engine = context.parameters["engine"]
    for found in context.project.calls_to({f"{engine}.{method}"}):
        made = _only_maker(context.project, found, engine)
        if made is not None:
            yield found, made


def _guards(project: Project, found: CallSite) -> list[Guard] | None:
    return guards_of(body_of(project, found.file, found.site.function), found.site.call.at)


# The engine is stepped at intervals ---------------------------------------------------------------------------------


def _at_intervals(context: CheckContext) -> Iterator[_Place]:
    """Steps behind a test of a remainder, where the backward pass of the same engine is not behind it."""
    project: Project = context.project
    passes = list(_of_engine(context, "backward"))
    for found, made in _of_engine(context, "step"):
        guards = _guards(project, found) or []
        for other, other_made in passes:
            together = (other.file, other.site.function) == (found.file, found.site.function)
            if not together or other_made.identity != made.identity:
                continue
            around = {guard.at for guard in _guards(project, other) or ()}
            own = [guard for guard in guards if guard.at not in around]
            test = next((guard.test for guard in own if _asks_for_remainder(guard)), None)
            if test is not None and len(own) == 1:
                why = Related(other.span, "the backward pass is made every time")
                yield _Place(found, made, found.span, why, _modulus(test))
                break


def _modulus(test: ir.Expr) -> ir.Expr | None:
    """The number after which a remainder is nought again."""
    parts = [one for one in below(test) if type(one) is ir.Operation and one.operators == ("%",)]
    return parts[0].operands[1] if len(parts) == 1 else None


def _asks_for_remainder(guard: Guard) -> bool:
    """``i % n == 0`` and the like: true once in n times; also with ``or`` beside it, for the last time."""
    return guard.holds and guard.kind == "if" and _is_remainder(guard.test)


def _is_remainder(test: ir.Expr | None) -> bool:
    if not isinstance(test, ir.Operation) or len(test.operands) < 2:
        return False
    if test.operators[0] == "or":
        return any(_is_remainder(part) for part in test.operands)
    sides = [part for part in test.operands if isinstance(part, ir.Operation) and part.operators[0] == "%"]
    return test.operators[0] == "==" and bool(sides)


# The loss is divided ------------------------------------------------------------------------------------------------


def _divided(context: CheckContext) -> Iterator[_Place]:
    """Losses that are divided by a number that is the configuration's, before the engine divides them."""
    project: Project = context.project
    for found, made in _of_engine(context, "backward"):
        loss, _ = find_argument(found.site.call, "loss", 0)
        division = _division(project, loss, found) if loss is not None else None
        scales, certain = find_argument(found.site.call, *context.parameters["scaling"])
        if not certain or (scales is not None and not (type(scales) is ir.Constant and scales.value is True)):
            continue
        if division is None or tests_name(project, found, context.parameters.get("mode-words", ())):
            continue
        by = division.operands[1] if isinstance(division, ir.Operation) else division.value
        number = project.evaluator(None).value(by, found.file, found.site.function)
        for subject in configurations(context, made):
            setting = subject.settings.get(context.parameters["steps"])
            steps = setting.value.only if setting is not None else None
            if steps in (None, 1) or not (steps == number.only or _asks_engine(context, by, found)):
                break
        else:
            place = ir.unpack(division.at, found.file)
            yield _Place(found, made, place, Related(found.span, "the engine divides it again here"))


def _asks_engine(context: CheckContext, number: ir.Expr, found: CallSite) -> bool:
    """Whether a number is what the engine itself gives as that of the batches (``accessors`` are the methods that do)."""
    evaluator = context.project.evaluator(None)
    options = options_of(evaluator.ask(number, found.file, found.site.function))
    names = {evaluator.instance_name(one) if isinstance(one, Instance) else "" for one in options}
    engine = context.parameters["engine"]
    return bool(names) and names <= {f"{engine}.{one}" for one in context.parameters["accessors"]}


def _division(project: Project, loss: ir.Expr, found: CallSite) -> ir.Operation | ir.AugAssign | None:
    """The division that a loss comes from at once: ``a / b`` itself, or the last assignment to the name."""
    state: Env | None = project.flow(found.file, found.site.function).before(found.site.call.at)
    if isinstance(loss, ir.Name):
        while state is not None and not (isinstance(state, Bind) and state.name == loss.id):
            if isinstance(state, Join) and loss.id in state.touched:
                return None
            state = state.prev
        if not isinstance(state, Bind):
            return None
        if isinstance(state.expr, ir.AugAssign):
            return state.expr if state.expr.operator == "/" else None
        if state.part:
            return None
        loss = state.expr  # type: ignore[assignment]
    if isinstance(loss, ir.Operation) and loss.operators[0] == "/" and len(loss.operands) == 2:
        return loss
    return None


# Gradients are cleared, or clipped ----------------------------------------------------------------------------------


def _cleared(context: CheckContext) -> Iterator[_Place]:
    """``zero_grad`` between a backward pass and the next step of one engine, in one block."""
    project: Project = context.project
    clearers = {f"{context.parameters['engine']}.zero_grad", *context.parameters["clearers"]}
    steps = list(_of_engine(context, "step"))
    passes = list(_of_engine(context, "backward"))
    for found in project.calls_to(clearers):
        made = {option.identity[:2] for option in receivers(project, found)}
        before = [one for one in passes if _in_step(project, one[0], found) and one[0].span < found.span]
        behind = [one for one in steps if _in_step(project, one[0], found) and one[0].span > found.span]
        if len(made) != 1 or not before or not behind:
            continue
        last, first = before[-1], behind[0]
        between = [one for one in steps if last[0].span < one[0].span < found.span]
        if {last[1].identity[:2], first[1].identity[:2]} == made and not between:
            why = Related(last[0].span, "the gradients are computed here")
            yield _Place(found, last[1], found.span, why)


def _in_step(project: Project, one: CallSite, other: CallSite) -> bool:
    """Whether two calls are made under the same conditions."""
    if (one.file, one.site.function) != (other.file, other.site.function):
        return False
    ways = [[(guard.at, guard.holds) for guard in _guards(project, call) or ()] for call in (one, other)]
    return ways[0] == ways[1]


def _clipped(context: CheckContext) -> Iterator[_Place]:
    """Library functions that clip the gradients of an engine's parameters, or of the model that it took over."""
    project: Project = context.project
    engine = context.parameters["engine"]
    argument, position = context.parameters["given-as"]
    taken = {
        (found.file, found.site.call.at): made
        for made, found in handed_over(project, {f"{engine}.parameters"}, argument, position)
    }
    for found in project.calls_to(set(context.parameters["clippers"])):
        given, _ = find_argument(found.site.call, "parameters", 0)
        if type(given) is not ir.Call or type(given.func) is not ir.Attribute or given.func.name != "parameters":
            continue
        if tests_name(project, found, context.parameters.get("mode-words", ())):
            continue
        made = taken.get((found.file, given.at)) or _engine_of(project, given.func.base, found, engine)
        if made is not None:
            yield _Place(found, made, found.span, Related(made.span(), "the engine is made here"))


def _engine_of(project: Project, expr: ir.Expr, found: CallSite, engine: str) -> Instance | None:
    """The one engine that an expression is, or whose module it is."""
    options = options_of(project.evaluator(None).ask(expr, found.file, found.site.function))
    only = options[0] if len(options) == 1 else None
    if not isinstance(only, Instance):
        return None
    name = project.modules.canonical(project.evaluator(None).instance_name(only))
    return only if name in (engine, f"{engine}.module") else None


_FAULTS: dict[str, Callable[[CheckContext], Iterator[_Place]]] = {
    "interval": _at_intervals,
    "divided": _divided,
    "cleared": _cleared,
    "clipped": _clipped,
}
