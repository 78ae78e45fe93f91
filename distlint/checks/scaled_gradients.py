"""Gradients that are averaged over the ranks, and divided or added up once more; or added up and never averaged.

Parameters: ``wrappers`` (what averages gradients over the ranks), ``summing`` (functions that add a tensor up over the
ranks), ``both-ways`` (those that add its gradient up as well), ``means`` (functions and classes whose result is a mean over
the batch, by dotted names).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import Derivation, derivation
from distlint.checks.execution import body_of
from distlint.checks.gradient_models import models_of
from distlint.checks.mean_losses import is_mean
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import called_name, names_world, scales_by_world
from distlint.checks.world_degree import Degrees
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import External
from distlint.link.project import CallSite
from distlint.link.walking import access_path, below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

_FIGURE = re.compile(r"loss|acc|metric|total|correct|avg|mean|batch|len|size$|count|steps?$|epochs?$", re.IGNORECASE)
"""Names of figures that are shown, and of sizes."""
_SCALING = frozenset({"div", "div_", "mul", "mul_", "true_divide"})


def scaled_gradients(context: CheckContext) -> Iterator[Finding]:
    """A finding for each model whose gradients are scaled once more than they should be."""
    project: Project = context.project
    if project.mentions("no_sync") or project.mentions("register_comm_hook"):
        return  # the wrapper may not average
    wraps = {f"{name}()" for name in context.parameters["wrappers"]}
    sites = list(project.calls_to(set(context.parameters["wrappers"])))
    files = frozenset().union(*(family(project, one.file) for one in sites)) if sites else frozenset()
    for site in project.sites("backward"):
        loss = _loss_of(site)
        degree = Degrees(project).of(loss, site.file, site.site.function) if loss is not None else None
        if loss is None or degree is None or degree.power >= 0:
            continue
        made = derivation(project, loss, site.file, site.site.function)
        if any(_sums_both_ways(context, part.expr, part.file) for part in made.parts):
            continue
        if site.file in files:
            why = _averaged_by_wrapper(project, made, wraps)
            text = (
                "the loss is divided by the number of ranks, and the wrapper averages the gradients over them as well"
            )
        else:
            why = _averaged_by_hand(context, site)
            text = (
                "the loss is divided by the number of ranks, and the program averages the gradients over them as well"
            )
        if why is not None:
            related = [why, Related(site.span, "the backward pass of the divided loss")]
            yield context.finding(text, _division(project, made, site) or site.span, related=related)
    if sites:
        yield from _summed_again(context, wraps)


def _sums_both_ways(context: CheckContext, expr: ir.Expr, file: str) -> bool:
    """Whether a loss is added up over the ranks with its gradient: the division makes good for that."""
    return type(expr) is ir.Call and context.project.modules.dotted(expr.func, file) in context.parameters["both-ways"]


def _loss_of(site: CallSite) -> ir.Expr | None:
    call = site.site.call
    if type(call.func) is not ir.Attribute:
        return None
    return call.args[0] if call.args else call.func.base


def _averaged_by_wrapper(project: Project, made: Derivation, wraps: set[str]) -> Related | None:
    """The wrapper that a loss comes through."""
    for part in made.parts:
        if type(part.expr) is ir.Call:
            for one in _wrapped(project, part.expr.func, part.file, part.function, wraps):
                return Related(one.span(), "this averages the gradients of the ranks")
    return None


def _averaged_by_hand(context: CheckContext, site: CallSite) -> Related | None:
    """Where the program of a backward pass adds gradients up over the ranks and divides them by their number."""
    project: Project = context.project
    files = family(project, site.file)
    for found in project.calls_to(set(context.parameters["summing"])):
        if found.file in files and _is_average(project, found) and models_of(project, found):
            return Related(found.span, "the gradients are added up here, and divided by the number of ranks")
    return None


def _is_average(project: Project, site: CallSite) -> bool:
    operation, _ = find_argument(site.site.call, "op", 1)
    if operation is not None and type(operation) is ir.Attribute and operation.name == "AVG":
        return True
    tensor, _ = find_argument(site.site.call, "tensor", 0)
    root = access_path(tensor)[0] if tensor is not None else ""
    for one in statements(body_of(project, site.file, site.site.function)):
        if type(one) is ir.AugAssign and one.operator == "/" and names_world(one.value) and _reads(one.target, root):
            return True
        for expr in expressions_of(one):
            if any(_divides_by_world(part) and _reads(part, root) for part in below(expr)):
                return True
    return False


def _reads(expr: ir.Expr, name: str) -> bool:
    """Whether an expression has to do with gradients, or with a variable."""
    return any(
        (type(part) is ir.Attribute and part.name == "grad") or (type(part) is ir.Name and part.id == name)
        for part in below(expr)
    )


def _divides_by_world(part: ir.Expr) -> bool:
    if type(part) is ir.Operation:
        return "/" in part.operators and names_world(part.operands[-1])
    return type(part) is ir.Call and called_name(part) in _SCALING and names_world(part)


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
    options = options_of(project.evaluator(None).ask(expr, file, function))
    return [one for one in options if isinstance(one, Instance) and _is_wrapper(one, names)]


def _is_wrapper(one: Instance, names: set[str]) -> bool:
    return isinstance(one.callee, External) and f"{one.callee.name}()" in names and one.part in ((), (".module",))


def _summed_again(context: CheckContext, wraps: set[str]) -> Iterator[Finding]:
    """Gradients of a wrapped model that are added up over the ranks once more."""
    project: Project = context.project
    for site in project.calls_to(set(context.parameters["summing"])):
        if not _is_sum(site.site.call) or _divides(body_of(project, site.file, site.site.function)):
            continue
        made = models_of(project, site)
        if made and all(_is_wrapper(one, wraps) for one in made):
            yield context.finding(
                "gradients that the wrapper has averaged over the ranks already are added up over them once more",
                site.span,
                related=[Related(made[0].span(), "this averages the gradients of the ranks")],
            )


def _is_sum(call: ir.Call) -> bool:
    operation, certain = find_argument(call, "op", 1)
    if operation is None:
        return certain
    return type(operation) is ir.Attribute and operation.name == "SUM"


def _divides(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether something in a function is divided, or scaled by the number of processes."""
    if scales_by_world(body, ()):
        return True
    for statement in statements(body):
        if type(statement) is ir.AugAssign and statement.operator in ("/", "*"):
            return True
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Operation and "/" in part.operators:
                    return True
                if type(part) is ir.Call and called_name(part) in _SCALING:
                    return True
    return False


@check("gradients-not-averaged")
def gradients_not_averaged(context: CheckContext) -> Iterator[Finding]:
    """A finding for each model whose gradients of a mean loss are added up over the ranks and never divided."""
    project: Project = context.project
    reported: set[object] = set()
    for site in project.calls_to(set(context.parameters["summing"])):
        if not _is_sum(site.site.call):
            continue
        made = models_of(project, site)
        if len(made) != 1 or made[0].identity in reported:
            continue
        files = family(project, site.file)
        if any(one.file in files for one in project.calls_to(set(context.parameters["wrappers"]))):
            continue
        if _may_average(project, site, files):
            continue
        loss = next(iter(mean_losses(context, files)), None)
        if loss is not None:
            reported.add(made[0].identity)
            yield context.finding(
                "the gradients of all ranks are added up here and never divided by the number of ranks",
                site.span,
                related=[
                    Related(made[0].span(), "the model whose gradients they are"),
                    Related(loss, "the loss is a mean over the batch of one rank"),
                ],
            )


def _may_average(project: Project, site: CallSite, files: frozenset[str]) -> bool:
    """Whether sums of gradients may be scaled, where they are made or anywhere else in the program."""
    return _divides(body_of(project, site.file, site.site.function)) or scales_anywhere(project, files)


def scales_anywhere(project: Project, files: frozenset[str]) -> bool:
    """Whether gradients, or what is multiplied with them, may be scaled anywhere in some files."""
    modules = (
        project.module(file) for file in files if file in project.facts and project.facts[file].module is not None
    )
    return any(_scales(body) for one in modules for body in (one.body, *(inner.body for inner in one.functions)))


def _scales(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether something is scaled that may be gradients: figures of the training and sizes are none."""
    for statement in statements(body):
        if type(statement) is ir.AugAssign and statement.operator in ("/", "*") and _concerns(statement):
            return True
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Operation and {"/", "*"} & set(part.operators) and _is_factor(part):
                    return True
                if type(part) is ir.Call and called_name(part) in _SCALING and _is_factor(part):
                    return True
    return False


def _concerns(statement: ir.AugAssign) -> bool:
    words = [*_words(statement.target), *_words(statement.value)]
    return any("grad" in word.lower() for word in words) or (
        names_world(statement.value) and not any(_FIGURE.search(word) for word in words)
    )


def _is_factor(expr: ir.Expr) -> bool:
    words = list(_words(expr))
    return any("grad" in word.lower() for word in words) or (
        names_world(expr) and not any(_FIGURE.search(word) for word in words)
    )


def _words(expr: ir.Expr) -> Iterator[str]:
    for part in below(expr):
        if type(part) in (ir.Name, ir.Attribute) and not names_world(part):
            yield part.id if type(part) is ir.Name else part.name  # type: ignore[union-attr]


def mean_losses(context: CheckContext, files: frozenset[str]) -> Iterator[Span]:
    """The losses of backward passes that are means over a batch."""
    project: Project = context.project
    for site in project.sites("backward"):
        loss = _loss_of(site) if site.file in files else None
        if loss is None:
            continue
        degree = Degrees(project).of(loss, site.file, site.site.function)
        if degree is None or degree.power:
            return
        made = derivation(project, loss, site.file, site.site.function)
        if any(name in ("sum", "reduction", "no_sync") for name in made.names()):
            return
        for part in made.parts:
            if type(part.expr) is ir.Call and is_mean(context, part.expr, part.file, part.function):
                yield ir.unpack(part.expr.at, part.file)
                break
