"""Numbers that are scaled by the number of processes twice: a learning rate, a batch, gradients.

The rule's ``fault`` says which: ``rate``, ``batch`` or ``gradients``. Parameters: ``optimizers`` (prefixes of the names
of optimizer classes) and ``classes`` (the last names), ``schedulers`` (schedulers that take a function of the step),
``loaders`` with their ``signature``, ``wrappers`` (what averages gradients over the ranks), ``summing`` (functions that
add a tensor up over the ranks).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import Derivation, derivation
from distlint.checks.execution import body_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import names_world, scales_by_world
from distlint.checks.world_degree import Degrees
from distlint.link.abstract import Instance, LambdaValue, Reference, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import External, FunctionRef
from distlint.link.project import CallSite
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project


@check("scaled-twice")
def scaled_twice(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such number."""
    yield from _FAULTS[context.parameters["fault"]](context)


# The learning rate ----------------------------------------------------------------------------------------------------


def _rate(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    if not project.mentions("world") and not project.mentions("WORLD") and not project.mentions("num_processes"):
        return
    for site in _optimizers(context):
        call, file, function = site.site.call, site.file, site.site.function
        rate, _ = find_argument(call, "lr", 1)
        if rate is None:
            continue
        degree = Degrees(project).of(rate, file, function)
        if degree is None or degree.power < 1:
            continue
        once = [Related(span, "a factor of the number of ranks") for span in degree.places]
        if degree.power >= 2:
            yield context.finding(
                "the learning rate is multiplied by the number of ranks twice",
                ir.unpack(rate.at, file),
                related=once,
            )
            continue
        again = next(iter(_again(context, site)), None)
        if again is not None:
            yield context.finding(
                "the learning rate, which holds the number of ranks as a factor already, is multiplied by it again",
                again,
                related=[Related(ir.unpack(rate.at, file), "the optimizer is made with the scaled rate"), *once],
            )


def _optimizers(context: CheckContext) -> Iterator[CallSite]:
    project: Project = context.project
    prefixes = tuple(context.parameters["optimizers"])
    for name in context.parameters["classes"]:
        for found in project.sites(name):
            if project.modules.dotted(found.site.call.func, found.file).startswith(prefixes):
                yield found


def _again(context: CheckContext, made: CallSite) -> Iterator[Span]:
    """Where the rate of an optimizer, or what a scheduler makes of it, is multiplied by the number of processes."""
    project: Project = context.project
    files = family(project, made.file)
    wanted = (made.file, made.site.call.at)
    degrees = Degrees(project)
    for file in sorted(files):
        if file not in project.facts or project.facts[file].module is None or "lr" not in project.text_of(file):
            continue
        for function in range(-1, len(project.module(file).functions)):
            for statement in statements(body_of(project, file, function)):
                if _is_rate_scaled(project, statement, file, function, degrees):
                    yield ir.unpack(statement.at, file)
    for site in project.calls_to(set(context.parameters["schedulers"])):
        if site.file not in files:
            continue
        optimizer, _ = find_argument(site.site.call, "optimizer", 0)
        factor, _ = find_argument(site.site.call, "lr_lambda", 1)
        if optimizer is None or factor is None or not _is(project, optimizer, site, wanted):
            continue
        body = _function_of(project, factor, site)
        if body is not None and _power(degrees, body) >= 1:
            yield ir.unpack(factor.at, site.file)


def _power(degrees: Degrees, body: tuple[ir.Expr, str, int]) -> int:
    degree = degrees.of(*body)
    return degree.power if degree is not None else 0


def _is(project: Project, expr: ir.Expr, site: CallSite, wanted: tuple[str, int]) -> bool:
    options = options_of(project.evaluator(None).ask(expr, site.file, site.site.function))
    return any(isinstance(one, Instance) and (one.frame.file, one.call.at) == wanted for one in options)


def _function_of(project: Project, expr: ir.Expr, site: CallSite) -> tuple[ir.Expr, str, int] | None:
    """What a lambda or a function with one ``return`` gives."""
    if type(expr) is ir.Lambda:
        return expr.body, site.file, site.site.function
    for one in options_of(project.evaluator(None).ask(expr, site.file, site.site.function)):
        if isinstance(one, LambdaValue):
            return one.lambda_.body, one.frame.file, one.frame.function
        if isinstance(one, Reference) and isinstance(one.target, FunctionRef):
            body = project.function(one.target).body
            returned = [part.value for part in statements(body) if type(part) is ir.Return and part.value is not None]
            if len(returned) == 1:
                return returned[0], one.target.file, one.target.index
    return None


def _is_rate_scaled(project: Project, statement: ir.Stmt, file: str, function: int, degrees: Degrees) -> bool:
    """``group["lr"] *= world`` and ``group["lr"] = group["lr"] * world``."""
    if type(statement) is ir.AugAssign and statement.operator == "*" and _is_rate(statement.target):
        degree = degrees.of(statement.value, file, function)
        return degree is not None and degree.power >= 1
    if type(statement) is ir.Assign and statement.value is not None and any(map(_is_rate, statement.targets)):
        if any(_is_rate(part) for part in below(statement.value)):
            degree = degrees.of(statement.value, file, function)
            return degree is not None and degree.power >= 1
    return False


def _is_rate(expr: ir.Expr) -> bool:
    return type(expr) is ir.Subscript and type(expr.index) is ir.Constant and expr.index.value == "lr"


# The batch ------------------------------------------------------------------------------------------------------------


def _batch(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    signature = list(context.parameters["signature"])
    for site in project.calls_to(set(context.parameters["loaders"])):
        size, _ = find_argument(site.site.call, "batch_size", signature.index("batch_size"))
        if size is None or type(size) is ir.Constant:
            continue
        degree = Degrees(project).of(size, site.file, site.site.function)
        if degree is not None and degree.power <= -2:
            yield context.finding(
                "the batch size is divided by the number of ranks twice",
                ir.unpack(size.at, site.file),
                related=[Related(span, "a division by the number of ranks") for span in degree.places],
            )


# Gradients ------------------------------------------------------------------------------------------------------------


def _gradients(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    wraps = {f"{name}()" for name in context.parameters["wrappers"]}
    sites = list(project.calls_to(set(context.parameters["wrappers"])))
    if not sites or project.mentions("no_sync"):
        return
    files = frozenset().union(*(family(project, one.file) for one in sites))
    for site in project.sites("backward"):
        func = site.site.call.func
        if site.file not in files or type(func) is not ir.Attribute:
            continue
        loss = site.site.call.args[0] if site.site.call.args else func.base
        degree = Degrees(project).of(loss, site.file, site.site.function)
        if degree is None or degree.power >= 0:
            continue
        made = derivation(project, loss, site.file, site.site.function)
        wrapped = next(
            (
                one
                for part in made.parts
                if type(part.expr) is ir.Call
                for one in _wrapped(project, part.expr.func, part.file, part.function, wraps)
            ),
            None,
        )
        if wrapped is not None:
            yield context.finding(
                "the loss is divided by the number of ranks, and the wrapper averages the gradients over them as well",
                _division(project, made, site) or site.span,
                related=[
                    Related(wrapped.span(), "this averages the gradients of the ranks"),
                    Related(site.span, "the backward pass of the divided loss"),
                ],
            )
    yield from _summed(context, wraps)


def _division(project: Project, made: Derivation, site: CallSite) -> Span | None:
    """Where a loss is divided by the number of processes."""
    degrees = Degrees(project)
    for statement in statements(body_of(project, site.file, site.site.function)):
        if type(statement) is ir.AugAssign and statement.operator == "/":
            degree = degrees.of(statement.value, site.file, site.site.function)
            if degree is not None and degree.power > 0:
                return ir.unpack(statement.at, site.file)
    for part in made.parts:
        if type(part.expr) is ir.Operation and part.expr.operators[-1] == "/":
            degree = degrees.of(part.expr.operands[-1], part.file, part.function)
            if degree is not None and degree.power > 0:
                return ir.unpack(part.expr.at, part.file)
    return None


def _wrapped(project: Project, expr: ir.Expr, file: str, function: int, names: set[str]) -> list[Instance]:
    evaluator = project.evaluator(None)
    return [
        one
        for one in options_of(evaluator.ask(expr, file, function))
        if isinstance(one, Instance)
        and isinstance(one.callee, External)
        and f"{one.callee.name}()" in names
        and one.part in ((), (".module",))
    ]


def _summed(context: CheckContext, wraps: set[str]) -> Iterator[Finding]:
    """Gradients of a wrapped model that are added up over the ranks once more."""
    project: Project = context.project
    for site in project.calls_to(set(context.parameters["summing"])):
        call, file, function = site.site.call, site.file, site.site.function
        tensor, _ = find_argument(call, "tensor", 0)
        operation, _ = find_argument(call, "op", 1)
        if operation is not None and any(type(one) is ir.Attribute and one.name != "SUM" for one in (operation,)):
            continue
        while type(tensor) is ir.Attribute and tensor.name == "data":
            tensor = tensor.base
        if type(tensor) is not ir.Attribute or tensor.name != "grad" or type(tensor.base) is not ir.Name:
            continue
        loop = _loop_of(body_of(project, file, function), tensor.base.id, call.at)
        if loop is None or _divides(loop.body):
            continue
        iterable = loop.iterable
        if type(iterable) is not ir.Call or type(iterable.func) is not ir.Attribute:
            continue
        if iterable.func.name not in ("parameters", "named_parameters"):
            continue
        for made in _wrapped(project, iterable.func.base, file, function, wraps):
            yield context.finding(
                "gradients that the wrapper has averaged over the ranks already are added up over them once more",
                site.span,
                related=[Related(made.span(), "this averages the gradients of the ranks")],
            )
            break


def _loop_of(body: tuple[ir.Stmt, ...], name: str, at: ir.Position) -> ir.For | None:
    found = None
    for statement in statements(body):
        if type(statement) is ir.For and ir.encloses(statement.at, at):
            if any(type(part) is ir.Name and part.id == name for part in below(statement.target)):
                found = statement
    return found


def _divides(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether something in a loop is divided, or scaled by the number of processes."""
    if scales_by_world(body, ()):
        return True
    for statement in statements(body):
        if type(statement) is ir.AugAssign and statement.operator in ("/", "*"):
            return True
        for expr in expressions_of(statement):
            if names_world(expr) or any(type(one) is ir.Operation and "/" in one.operators for one in below(expr)):
                return True
    return False


_FAULTS: dict[str, Callable[[CheckContext], Iterator[Finding]]] = {
    "rate": _rate,
    "batch": _batch,
    "gradients": _gradients,
}
