"""An optimizer that does not hold the parameters which a sharded model trains.

Parameters: ``wrappers`` (functions that shard a module), each with ``keeps`` (an argument that leaves the old
parameters in use) and ``in-place`` (it changes the module that it is given, so that a forward pass swaps the parameters
too); ``optimizers`` (prefixes of the names of optimizer classes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from distlint.checks.execution import body_of
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, calls_in, guards_of
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("order")
def order(context: CheckContext) -> Iterator[Finding]:
    """A finding for each optimizer that is made before its model is sharded, or after a forward pass of it."""
    project: Project = context.project
    wrappers: Mapping[str, Mapping[str, Any]] = context.parameters["wrappers"]
    for wrap in project.calls_to(set(wrappers)):
        settings = wrappers[wrap.name]
        model, _ = find_argument(wrap.site.call, "module", 0)
        if model is None or _keeps(project, wrap, settings.get("keeps", "")):
            continue
        target = _object(project, model, wrap)
        if target is None or not _is_straight(project, wrap):
            continue
        optimizers = [
            (site, made)
            for site in _optimizers(context, wrap.file, wrap.site.function)
            if (made := _parameters_of(project, site)) is not None and _is_straight(project, site)
        ]
        early = [site for site, made in optimizers if made.identity == target.identity and site.span < wrap.span]
        late = [site for site, _ in optimizers if site.span > wrap.span]
        if early and not late:
            yield context.finding(
                "the optimizer is made before the model is sharded, so it holds parameters that are not trained",
                early[-1].span,
                related=[Related(wrap.span, "the model is sharded here")],
            )
        elif settings.get("in-place") and late:
            yield from _after_forward(context, wrap, model, late)


def _after_forward(context: CheckContext, wrap: CallSite, model: ir.Expr, late: list[CallSite]) -> Iterator[Finding]:
    project: Project = context.project
    body = body_of(project, wrap.file, wrap.site.function)
    name = model.id if type(model) is ir.Name else ""
    for call in calls_in(body):
        span = ir.unpack(call.at, wrap.file)
        forward = type(call.func) is ir.Name and call.func.id == name and name
        if (
            forward
            and wrap.span < span < late[0].span
            and _is_straight(project, CallSite(wrap.file, ir.Site(call, wrap.site.function)))
        ):
            yield context.finding(
                "the optimizer is made after a forward pass of the sharded model: its parameters are not trained",
                late[0].span,
                related=[
                    Related(wrap.span, "the model is sharded here"),
                    Related(span, "the forward pass swaps the parameters"),
                ],
            )
            return


def _keeps(project: Project, wrap: CallSite, argument: str) -> bool:
    """Whether an argument leaves the old parameters in use, or may do so."""
    if not argument:
        return False
    given, certain = find_argument(wrap.site.call, argument, None)
    if given is None:
        return not certain
    return project.evaluator(None).value(given, wrap.file, wrap.site.function).only is not False


def _is_straight(project: Project, found: CallSite) -> bool:
    """Whether no test stands around a call."""
    guards = guards_of(body_of(project, found.file, found.site.function), found.site.call.at)
    return guards is not None and not any(
        guard.kind != "if" or "__name__" not in _names(guard.test) for guard in guards
    )


def _names(expr: ir.Expr | None) -> set[str]:
    return {part.id for part in below(expr) if type(part) is ir.Name} if expr is not None else set()


def _optimizers(context: CheckContext, file: str, function: int) -> Iterator[CallSite]:
    prefixes = tuple(context.parameters["optimizers"])
    project: Project = context.project
    for call in calls_in(body_of(project, file, function)):
        name = project.modules.dotted(call.func, file)
        if name.startswith(prefixes):
            yield CallSite(file, ir.Site(call, function), name)


def _parameters_of(project: Project, site: CallSite) -> Instance | None:
    """The module whose ``parameters()`` an optimizer is given."""
    given, _ = find_argument(site.site.call, "params", 0)
    if type(given) is not ir.Call or type(given.func) is not ir.Attribute or given.func.name != "parameters":
        return None
    return _object(project, given.func.base, site)


def _object(project: Project, expr: ir.Expr, site: CallSite) -> Instance | None:
    options = options_of(project.evaluator(None).ask(expr, site.file, site.site.function))
    return options[0] if len(options) == 1 and isinstance(options[0], Instance) else None
