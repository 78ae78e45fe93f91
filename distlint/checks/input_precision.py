"""Tensors of full precision are fed to a model that an engine has converted to half precision.

Parameters: ``engine`` (what makes it, as ``pkg.function()[0]``), ``loader`` (the data loader that the same call gives) and ``data``
(the argument that it is made of, with its position); ``creators`` (functions that make such tensors unless they are told a type),
``typed-creators`` (functions that do so only if they are told), ``carriers`` (functions that hand tensors on), ``wide`` (the names of
the type), ``defaults`` (functions that change the type of new tensors), ``contexts`` (last names of contexts that convert),
``subject``, ``when``, ``message``.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.engines import configurations, is_inside
from distlint.checks.execution import body_of
from distlint.checks.registry import CheckContext, check
from distlint.judge.conditions import compile_condition
from distlint.judge.view import View
from distlint.judge.wording import compile_template
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.flow import Bind, Env, Join
from distlint.link.modules import External, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, calls_in, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

MAX_DEPTH = 12
_KEEPING = frozenset({"cuda", "cpu", "view", "reshape", "unsqueeze", "squeeze", "detach", "requires_grad_", "repeat"})
"""Methods of a tensor that keep its type."""

_PLACES = ("device", "rank", "cuda", "gpu")
"""Parts of names that stand for a device where a tensor is moved."""


@check("input-precision")
def input_precision(context: CheckContext) -> Iterator[Finding]:
    """A finding for the first such argument of each engine."""
    project: Project = context.project
    parameters = context.parameters
    makers = list(project.calls_to({parameters["engine"].partition("()")[0]}))
    if not makers or any(True for _ in project.calls_to(set(parameters["defaults"]))):
        return
    condition = compile_condition(parameters["when"])
    message = compile_template(parameters["message"])
    for file in sorted({made.file for made in makers}):
        seen: set[object] = set()
        for found, engine in _forwards(context, file):
            subjects = configurations(context, engine)
            verdicts = [condition.judge(one) for one in subjects]
            if engine.identity in seen or not verdicts or not all(verdict.holds for verdict in verdicts):
                continue
            if is_inside(project, found, frozenset(parameters["contexts"])) or not _is_of_library(project, engine):
                continue
            origin = next(
                (place for one in found.site.call.args if (place := _wide(context, one, found)) is not None), None
            )
            if origin is None:
                continue
            seen.add(engine.identity)
            used = [Related(one.key_span, f"`{one.path}` is set here") for one in verdicts[0].used if one.key_span]
            yield context.finding(
                message.render(View.of(subjects[0])),
                found.span,
                related=[Related(origin, "the tensor is made here"), *used],
                confidence=verdicts[0].confidence,
                runs=(subjects[0].label,) if subjects[0].run is not None else (),
            )


def _forwards(context: CheckContext, file: str) -> Iterator[tuple[CallSite, Instance]]:
    """The calls ``engine(...)`` of a file, with the engine."""
    project: Project = context.project
    evaluator = project.evaluator(None)
    module = project.module(file)
    for function in range(-1, len(module.functions)):
        for call in calls_in(body_of(project, file, function)):
            if type(call.func) not in (ir.Name, ir.Attribute) or not call.args:
                continue
            if project.modules.dotted(call.func, file):
                continue
            options = options_of(evaluator.ask(call.func, file, function))
            only = options[0] if len(options) == 1 else None
            if isinstance(only, Instance):
                name = project.modules.canonical(evaluator.instance_name(only))
                if name == context.parameters["engine"]:
                    yield CallSite(file, ir.Site(call, function)), only


def _is_of_library(project: Project, engine: Instance) -> bool:
    """Whether the engine's model is of a library's class: a class of the project may convert its inputs."""
    expr, _ = find_argument(engine.call, "model", 1)
    if expr is None:
        return False
    options = options_of(project.evaluator(None).ask(expr, engine.frame.file, engine.frame.function))
    return all(isinstance(one, Instance) and isinstance(one.callee, External) for one in options)


def _wide(context: CheckContext, expr: ir.Expr, found: CallSite) -> Span | None:
    """Where a tensor of full precision is made, if an argument certainly is one."""
    loaded = _loaded(context, expr, found)
    if loaded is not None:
        expr, file, function = loaded
        return _made(context, expr, file, function, context.project.flow(file, function).before(expr.at), 0)
    state = context.project.flow(found.file, found.site.function).before(expr.at)
    return _made(context, expr, found.file, found.site.function, state, 0)


def _made(context: CheckContext, expr: ir.Expr, file: str, function: int, state: Env, depth: int) -> Span | None:
    """Where a tensor of full precision is made that an expression is, or that it is made of."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(expr, ir.Name):
        return _bound(context, expr.id, file, function, state, depth)
    if not isinstance(expr, ir.Call):
        return None
    target = context.project.modules.resolve(expr.func, file)
    if isinstance(target, FunctionRef):
        flow = context.project.flow(target.file, target.index)
        if len(flow.returns) != 1 or flow.exit is not None or flow.returns[0][0].value is None:
            return None
        statement, end = flow.returns[0]
        return _made(context, statement.value, target.file, target.index, end, depth + 1)
    if isinstance(target, External):
        if target.name in context.parameters["carriers"] and expr.args:
            return _made(context, expr.args[0], file, function, state, depth + 1)
        return ir.unpack(expr.at, file) if _is_wide(context, target.name, expr) else None
    if isinstance(expr.func, ir.Attribute) and _keeps(expr, expr.func.name):
        return _made(context, expr.func.base, file, function, state, depth + 1)
    return None


def _bound(context: CheckContext, name: str, file: str, function: int, state: Env, depth: int) -> Span | None:
    """The same for a variable, where one plain assignment or one loop gave it its value."""
    place: Env | None = state
    while place is not None and not (isinstance(place, Bind) and place.name == name):
        if isinstance(place, Join) and name in place.touched:
            return None
        place = place.prev
    if not isinstance(place, Bind) or place.prev is None or isinstance(place.expr, ir.AugAssign | None):
        return None
    value = place.expr
    if len(place.part) == 1 and isinstance(place.part[0], int) and isinstance(value, ir.ListDisplay):
        value = value.items[place.part[0]] if place.part[0] < len(value.items) else None  # type: ignore[assignment]
    elif place.part and place.part != ("*",):
        return None
    return None if value is None else _made(context, value, file, function, place.prev, depth + 1)  # type: ignore[arg-type]


def _loaded(context: CheckContext, expr: ir.Expr, found: CallSite) -> tuple[ir.Expr, str, int] | None:
    """What the engine's own loader was made of, where an argument is an item of it."""
    project: Project = context.project
    names = {part.id for part in below(expr) if isinstance(part, ir.Name)}
    for statement in statements(body_of(project, found.file, found.site.function)):
        if not isinstance(statement, ir.For) or not isinstance(statement.iterable, ir.Name | ir.Attribute):
            continue
        if not names & {part.id for part in below(statement.target) if isinstance(part, ir.Name)}:
            continue
        evaluator = project.evaluator(None)
        options = options_of(evaluator.ask(statement.iterable, found.file, found.site.function))
        only = options[0] if len(options) == 1 else None
        if isinstance(only, Instance):
            name = project.modules.canonical(evaluator.instance_name(only))
            argument, position = context.parameters["data"]
            data, _ = find_argument(only.call, argument, position)
            if name == context.parameters["loader"] and data is not None and not _is_changed(statement, names):
                return data, only.frame.file, only.frame.function
    return None


def _is_changed(loop: ir.For, names: set[str]) -> bool:
    """Whether a loop gives its items another type before it uses them: by anything but moving them."""
    for statement in statements(loop.body):
        if isinstance(statement, ir.Assign) and statement.value is not None:
            given = {part.id for target in statement.targets for part in below(target) if isinstance(part, ir.Name)}
            if given & names:
                calls = [part for part in below(statement.value) if isinstance(part, ir.Call)]
                if not all(isinstance(call.func, ir.Attribute) and _keeps(call, call.func.name) for call in calls):
                    return True
    return False


def _is_wide(context: CheckContext, name: str, call: ir.Call) -> bool:
    """Whether a creator makes a tensor of full precision: by its default, or because it is told to."""
    if any(keyword.name is None for keyword in call.keywords):
        return False
    given = next((keyword.value for keyword in call.keywords if keyword.name == "dtype"), None)
    if given is None:
        return name in context.parameters["creators"]
    known = name in context.parameters["creators"] or name in context.parameters["typed-creators"]
    return known and isinstance(given, ir.Attribute) and given.name in context.parameters["wide"]


def _keeps(call: ir.Call, method: str) -> bool:
    """Whether a method keeps the type of a tensor; ``to`` does where it names a device only."""
    if method in _KEEPING:
        return True
    if method != "to" or len(call.args) != 1 or any(keyword.name != "non_blocking" for keyword in call.keywords):
        return False
    given = call.args[0]
    if isinstance(given, ir.Constant):
        return True
    word = given.id if isinstance(given, ir.Name) else given.name if isinstance(given, ir.Attribute) else ""
    return any(place in word.lower() for place in _PLACES)
