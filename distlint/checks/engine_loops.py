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

from distlint.checks.call_levels import MAX_MEANT, Asked, Levels, Way, bound_by
from distlint.checks.divided_losses import Division, divisions
from distlint.checks.engines import configurations, handed_over, receivers, tests_name
from distlint.checks.registry import CheckContext, check
from distlint.judge.conditions import compile_condition
from distlint.judge.view import View
from distlint.judge.wording import compile_template
from distlint.link.abstract import Frame, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite, Project
from distlint.link.walking import below
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
    """A call of an engine's method, what made the engine, where to point and why; ``number`` is what the program goes by.

    ``named`` says that of the number only the name is known under which it stands in settings.
    """

    found: CallSite
    made: Instance
    at: Span
    why: Related
    number: tuple[ir.Expr, Frame] | None = None
    named: bool = False


def _judged(context: CheckContext, place: _Place) -> Iterator[Finding]:
    found, made, at, why, number, named = place
    condition = compile_condition(context.parameters["when"])
    message = compile_template(context.parameters["message"])
    subjects = configurations(context, made)
    verdicts = [(one, condition.judge(one)) for one in subjects]
    if not verdicts or not all(verdict.holds for _, verdict in verdicts):
        return
    subject, verdict = verdicts[0]
    confidence = min(verdict.confidence, Confidence.LIKELY) if named else verdict.confidence
    if number is not None and all(_is_same_option(context, number, one) for one in subjects):
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


def _is_same_option(context: CheckContext, number: tuple[ir.Expr, Frame], subject: Subject) -> bool:
    """Whether a number and the setting with the number of batches are what one option of the command line gives."""
    setting = subject.settings.get(context.parameters["steps"]) if "steps" in context.parameters else None
    value = Levels.of_project(context.project).value(*number, subject.run)
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


# The engine is stepped at intervals ---------------------------------------------------------------------------------


def _at_intervals(context: CheckContext) -> Iterator[_Place]:
    """Steps behind a test of a remainder, where the backward pass of the same engine is not behind it."""
    levels = Levels.of_project(context.project)
    passes = list(_of_engine(context, "backward"))
    for found, made in _of_engine(context, "step"):
        for other, other_made in passes:
            if other_made.identity != made.identity:
                continue
            test = next(
                (one for one in _only_tests(levels, found, other) if _is_remainder(one.expr, holds=one.holds)), None
            )
            if test is not None:
                why = Related(other.span, "the backward pass is made every time")
                yield _Place(found, made, found.span, why, _modulus(test))
                break


def _only_tests(levels: Levels, found: CallSite, other: CallSite) -> Iterator[Asked]:
    """The one test on a way to a call that is not on the way to another one beside it, where it is only one."""
    for way in levels.ways(other):
        for own, one, level in levels.beside(way, found):
            around = {(frame.file, guard.at) for guard, frame in levels.guards(way[: own + 1])}
            tests = [
                (guard, frame)
                for guard, frame in levels.guards(one[: level + 1])
                if (frame.file, guard.at) not in around
            ]
            asked = [part for guard, frame in tests for part in levels.asked(guard, frame)]
            if len(asked) == 1 and all(guard.kind in ("if", "exit", "expression") for guard, _ in tests):
                yield asked[0]


def _modulus(test: Asked) -> tuple[ir.Expr, Frame] | None:
    """The number after which a remainder is nought again."""
    parts = [one for one in below(test.expr) if type(one) is ir.Operation and one.operators == ("%",)]
    return (parts[0].operands[1], test.frame) if len(parts) == 1 else None


def _is_remainder(test: ir.Expr, *, holds: bool) -> bool:
    """``i % n == 0`` and the like, or the opposite that must not hold: so once in n times; also with ``or`` beside it, for the last."""
    if not isinstance(test, ir.Operation):
        return False
    if test.operators == ("not",):
        return _is_remainder(test.operands[0], holds=not holds)
    if test.operators[0] == ("or" if holds else "and"):
        return any(_is_remainder(part, holds=holds) for part in test.operands)
    if test.operators == ("%",):
        return not holds
    sides = [part for part in test.operands if isinstance(part, ir.Operation) and part.operators[0] == "%"]
    return test.operators[0] == ("==" if holds else "!=") and bool(sides)


# The loss is divided ------------------------------------------------------------------------------------------------


def _divided(context: CheckContext) -> Iterator[_Place]:
    """Losses that are divided by a number that is the configuration's, before the engine divides them."""
    project: Project = context.project
    for found, made in _of_engine(context, "backward"):
        loss, _ = find_argument(found.site.call, "loss", 0)
        scales, certain = find_argument(found.site.call, *context.parameters["scaling"])
        if not certain or (scales is not None and not (type(scales) is ir.Constant and scales.value is True)):
            continue
        if loss is None or tests_name(project, found, context.parameters.get("mode-words", ())):
            continue
        levels = Levels.of_project(project)
        told = set()
        for way in levels.ways(found):
            for division in divisions(levels, loss, way[0].frame, lambda one, frame: _last(project, one, frame)):
                if division.span not in told and _is_steps(context, levels, division, made):
                    told.add(division.span)
                    why = Related(found.span, "the engine divides it again here")
                    yield _Place(found, made, division.span, why, named=_is_only_named(context, levels, division))


def _is_steps(context: CheckContext, levels: Levels, division: Division, made: Instance) -> bool:
    """Whether a divisor is the number of batches with each configuration of the engine."""
    number = levels.value(division.divisor, division.frame)
    for subject in configurations(context, made):
        setting = subject.settings.get(context.parameters["steps"])
        steps = setting.value.only if setting is not None else None
        told = steps == number.only or _asks_engine(context, division) or _is_only_named(context, levels, division)
        if steps in (None, 1) or not told:
            return False
    return True


def _is_only_named(context: CheckContext, levels: Levels, division: Division) -> bool:
    """Whether a divisor is what a mapping has under the name of the setting, which the program reads from a file that we do not know."""
    if levels.value(division.divisor, division.frame).is_known or _asks_engine(context, division):
        return False
    expr: object = division.divisor
    wanted = context.parameters["steps"]
    for _ in range(MAX_MEANT):
        if type(expr) is ir.Name:
            expr = _last(context.project, expr, division.frame)
        elif type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id in ("int", "float") and expr.args:
            expr = expr.args[0]
        else:
            break
    index = expr.index if type(expr) is ir.Subscript else None
    if type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name == "get" and expr.args:
        index = expr.args[0]
    return type(index) is ir.Constant and index.value == wanted


def _asks_engine(context: CheckContext, division: Division) -> bool:
    """Whether a divisor is what the engine itself gives as the number of the batches (``accessors`` are the methods that do)."""
    evaluator = context.project.evaluator(None)
    options = options_of(evaluator.ask_in(division.divisor, division.frame))
    names = {evaluator.instance_name(one) if isinstance(one, Instance) else "" for one in options}
    engine = context.parameters["engine"]
    return bool(names) and names <= {f"{engine}.{one}" for one in context.parameters["accessors"]}


def _last(project: Project, expr: ir.Expr, frame: Frame) -> ir.Expr | ir.AugAssign | None:
    """What a variable was last given, where one assignment did."""
    bound = bound_by(expr, project.flow(frame.file, frame.function).before(expr.at)) if type(expr) is ir.Name else None
    if bound is None or (bound.part and not isinstance(bound.expr, ir.AugAssign)):
        return None
    return bound.expr if isinstance(bound.expr, ir.Expr | ir.AugAssign) else None


# Gradients are cleared, or clipped ----------------------------------------------------------------------------------


def _cleared(context: CheckContext) -> Iterator[_Place]:
    """``zero_grad`` between a backward pass and the next step of one engine, in one block."""
    project: Project = context.project
    clearers = {f"{context.parameters['engine']}.zero_grad", *context.parameters["clearers"]}
    steps = list(_of_engine(context, "step"))
    passes = list(_of_engine(context, "backward"))
    levels = Levels.of_project(project)
    for found in project.calls_to(clearers):
        made = {option.identity[:2] for option in receivers(project, found)}
        for way in levels.ways(found) if len(made) == 1 else ():
            done = _done_beside(levels, way, passes)
            stepped = _done_beside(levels, way, steps)
            last = next((one for one in done if not one.behind), None)
            first = next((one for one in stepped if one.behind), None)
            if last is None or first is None or {last.made.identity[:2], first.made.identity[:2]} != made:
                continue
            if not any(one.distance < last.distance for one in stepped if not one.behind):
                yield _Place(found, last.made, found.span, Related(last.site.span, "the gradients are computed here"))
                break


class _Done(NamedTuple):
    """A call of an engine under the same tests as another call, before that or behind it, and how far from it."""

    distance: tuple[int, int]
    behind: bool
    site: CallSite
    made: Instance


def _done_beside(levels: Levels, way: Way, calls: list[tuple[CallSite, Instance]]) -> list[_Done]:
    """Those of some calls that are made under the same tests as another call on a way, the nearest ones first."""
    done = []
    for site, made in calls:
        for own, other, level in levels.beside(way, site):
            tests = [
                [(guard.at, guard.holds) for guard, _ in levels.guards(one)]
                for one in (way[: own + 1], other[: level + 1])
            ]
            if tests[0] == tests[1]:
                distance = other[level].at - way[own].at
                done.append(_Done((own, abs(distance)), distance > 0, site, made))
    return sorted(done, key=lambda one: one.distance)


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
