"""Numbers that are scaled by the number of processes twice: a learning rate, a batch, gradients.

The rule's ``fault`` says which: ``rate``, ``batch`` or ``gradients``. Parameters: ``optimizers`` (prefixes of the names
of optimizer classes) and ``classes`` (the last names), ``schedulers`` (schedulers that take a function of the step),
``settings`` (see ``held_rates``), ``loaders`` with their ``signature``, ``prepare`` (calls that hand each rank its part of the
batches), and those of ``accumulated_twice``; those of gradients: ``scaled_gradients``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from distlint.checks.accumulated_twice import counted_apart, given_together
from distlint.checks.execution import body_of
from distlint.checks.held_rates import rates_of_settings
from distlint.checks.loaders import argument_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.scaled_gradients import scaled_gradients
from distlint.checks.world_degree import Degrees
from distlint.link.abstract import Instance, LambdaValue, Reference, options_of
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite
from distlint.link.walking import below, statements
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
    yield from rates_of_settings(context)
    for site in _optimizers(context):
        file, function = site.file, site.site.function
        found = [(rate, Degrees(project).of(rate, file, function)) for rate in _rates(project, site)]
        found += [(rate, Degrees(project).held(rate, "lr", file, function)) for rate in _spread(site)]
        rate, degree = max(found, key=lambda one: one[1].power if one[1] is not None else 0, default=(None, None))
        if rate is None or degree is None or degree.power < 1:
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


def _rates(project: Project, site: CallSite) -> Iterator[ir.Expr]:
    """The rates that an optimizer is given: its own, and those of its groups of parameters."""
    rate, _ = find_argument(site.site.call, "lr", 1)
    if rate is not None:
        yield rate
    groups, _ = find_argument(site.site.call, "params", 0)
    if groups is not None:
        groups = followed(groups, project.flow(site.file, site.site.function).before(groups.at))
        for part in below(groups):
            if type(part) is ir.DictDisplay:
                yield from (
                    value
                    for key, value in zip(part.keys, part.values, strict=True)
                    if type(key) is ir.Constant and key.value == "lr"
                )


def _spread(site: CallSite) -> Iterator[ir.Expr]:
    """The mappings whose items are arguments of a call (``**settings``), where it is given no rate of its own."""
    if find_argument(site.site.call, "lr", 1)[0] is None:
        yield from (one.value for one in site.site.call.keywords if one.name is None)


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
    """``group["lr"] *= world`` and ``group["lr"] = group["lr"] * world``, where that is a group of an optimizer's parameters."""
    if type(statement) is ir.AugAssign and statement.operator == "*" and _is_rate(statement.target):
        targets: tuple[ir.Expr, ...] = (statement.target,)
    elif type(statement) is ir.Assign and statement.value is not None and any(map(_is_rate, statement.targets)):
        targets = statement.targets if any(_is_rate(part) for part in below(statement.value)) else ()
    else:
        return False
    if not any(_is_of_group(project, one, file, function) for one in targets if type(one) is ir.Subscript):
        return False
    degree = degrees.of(statement.value, file, function)  # type: ignore[arg-type]
    return degree is not None and degree.power >= 1


def _is_of_group(project: Project, item: ir.Subscript, file: str, function: int) -> bool:
    """Whether what holds the item is a group of parameters, and no dictionary of settings, which may have a rate as well."""
    if type(item.base) is not ir.Name:
        return _are_groups(project, item.base, file, function)
    loops = (
        one
        for one in statements(body_of(project, file, function))
        if type(one) is ir.For and ir.encloses(one.at, item.at)
    )
    name = item.base.id
    over = next((one.iterable for one in loops if any(_is_name(part, name) for part in below(one.target))), None)
    return _are_groups(project, over if over is not None else item.base, file, function)


def _are_groups(project: Project, expr: ir.Expr, file: str, function: int) -> bool:
    flow = project.flow(file, function)
    shown = [expr, *(followed(one, flow.before(one.at)) for one in below(expr) if type(one) is ir.Name)]
    for part in (part for one in shown for part in below(one)):
        if type(part) is ir.Attribute and part.name == "param_groups":
            return True
        if type(part) is ir.DictDisplay and any(type(k) is ir.Constant and k.value == "params" for k in part.keys):
            return True
    return False


def _is_name(expr: ir.Expr, name: str) -> bool:
    return type(expr) is ir.Name and expr.id == name


def _is_rate(expr: ir.Expr) -> bool:
    return type(expr) is ir.Subscript and type(expr.index) is ir.Constant and expr.index.value == "lr"


# The batch ------------------------------------------------------------------------------------------------------------


def _batch(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    signature = list(context.parameters["signature"])
    yield from given_together(context)
    for site in project.calls_to(set(context.parameters["loaders"])):
        file, function = site.file, site.site.function
        size, _ = find_argument(site.site.call, "batch_size", signature.index("batch_size"))
        if size is not None:
            found = [(size, Degrees(project).of(size, file, function))]
        else:
            spread = [one.value for one in site.site.call.keywords if one.name is None]
            found = [(one, Degrees(project).held(one, "batch_size", file, function)) for one in spread]
        for given, degree in found:
            if degree is not None and degree.power <= -2:
                yield context.finding(
                    "the batch size is divided by the number of ranks twice",
                    ir.unpack(given.at, file),
                    related=[Related(span, "a division by the number of ranks") for span in degree.places],
                )
            elif degree is not None and degree.power == -1:
                again = divider(context, site)
                if again is None:
                    yield from counted_apart(context, site, given, degree)
                else:
                    yield context.finding(
                        "the batch size is divided by the number of ranks, and `split_batches` divides each batch again",
                        ir.unpack(given.at, file),
                        related=[Related(again, "this makes the ranks share each batch of the loader")],
                    )


def divider(context: CheckContext, site: CallSite) -> Span | None:
    """What divides the batches of a loader between the processes: ``split_batches`` of what it is handed to."""
    project: Project = context.project
    evaluator = project.evaluator(None)
    for found in project.calls_to(set(context.parameters["prepare"])):
        if type(found.site.call.func) is not ir.Attribute or not is_given(project, found, site):
            continue
        for one in options_of(evaluator.ask(found.site.call.func.base, found.file, found.site.function)):
            if isinstance(one, Instance):
                _, settings, _ = argument_of(project, one, "dataloader_config", ())
                for config in settings:
                    switch = find_argument(config.call, "split_batches", 0)[0] if isinstance(config, Instance) else None
                    if switch is not None and type(switch) is ir.Constant and switch.value is True:
                        return ir.unpack(switch.at, config.frame.file)  # type: ignore[union-attr]
    return None


def is_given(project: Project, found: CallSite, site: CallSite) -> bool:
    """Whether a call is handed the loader that another one makes."""
    return any(
        isinstance(one, Instance) and (one.frame.file, one.call.at) == (site.file, site.site.call.at)
        for given in found.site.call.args
        for one in options_of(project.evaluator(None).ask(given, found.file, found.site.function))
    )


_FAULTS: dict[str, Callable[[CheckContext], Iterator[Finding]]] = {
    "rate": _rate,
    "batch": _batch,
    "gradients": scaled_gradients,
}
