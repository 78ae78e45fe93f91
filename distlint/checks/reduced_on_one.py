"""What is reduced to one rank, and taken for the result by all of them.

Parameters: ``reducing`` (functions that give their result to one rank), ``schedulers`` (that follow a figure), ``stepping`` (prefix of
the names of optimizers), ``sending`` (names of calls that give the others what one rank has).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.gradient_models import models_of
from distlint.checks.programs import family
from distlint.checks.rank_ways import may_be_for_rank_0
from distlint.checks.reduced_figures import reached, root_of
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import called_name, calls_of, mentions
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import Project


@check("reduced-on-one")
def reduced_on_one(context: CheckContext) -> Iterator[Finding]:
    """A finding for each reduction to one rank after which all ranks go on with what they hold."""
    project: Project = context.project
    sending = re.compile(context.parameters["sending"])
    for site in project.calls_to(set(context.parameters["reducing"])):
        models = models_of(project, site)
        if models:
            if any(sending.search(name) for file in family(project, site.file) for name in _called(project, file)):
                continue
            step = next(_steps(context, site), None)
            if step is not None:
                yield context.finding(
                    "the gradients are brought together on one rank only, and all ranks make a step with what they hold",
                    site.span,
                    related=[
                        Related(models[0].span(), "the model whose gradients they are"),
                        Related(step.span, "every rank makes its step here"),
                    ],
                )
            continue
        yield from _followed(context, site, sending)


def _called(project: Project, file: str) -> Iterator[str]:
    if file in project.facts and project.facts[file].module is not None:
        yield from project.module(file).calls


def _steps(context: CheckContext, site: CallSite) -> Iterator[CallSite]:
    """The steps of optimizers that every rank makes."""
    project: Project = context.project
    files = family(project, site.file)
    evaluator = project.evaluator(None)
    for found in project.sites("step"):
        func = found.site.call.func
        if found.file in files and type(func) is ir.Attribute:
            options = options_of(evaluator.ask(func.base, found.file, found.site.function))
            names = [evaluator.instance_name(one) for one in options if isinstance(one, Instance)]
            if names and all(name.startswith(context.parameters["stepping"]) for name in names):
                if not may_be_for_rank_0(project, found.file, found.site.function, found.site.call.at):
                    yield found


def _followed(context: CheckContext, site: CallSite, sending: re.Pattern[str]) -> Iterator[Finding]:
    """Schedules that follow, on all ranks, a figure that one of them has."""
    project: Project = context.project
    tensor, _ = find_argument(site.site.call, "tensor", 0)
    root = root_of(tensor)
    if not root:
        return
    wanted = {f"{name}()" for name in context.parameters["schedulers"]}
    evaluator = project.evaluator(None)
    for region, around in reached(project, site.file, site.site.function, {root}):
        body = region.body(project)
        if any(sending.search(called_name(call)) for call in calls_of(body)):
            return
        for call in calls_of(body):
            func = call.func
            if type(func) is not ir.Attribute or func.name != "step" or not call.args:
                continue
            if not mentions(call.args[0], region.names) and not any(ir.encloses(call.at, one.at) for one in around):
                continue
            options = options_of(evaluator.ask(func.base, region.file, region.function))
            made = [one for one in options if isinstance(one, Instance) and evaluator.instance_name(one) in wanted]
            if made and not may_be_for_rank_0(project, region.file, region.function, call.at):
                yield context.finding(
                    "the figure is brought together on one rank only, and every rank's learning rate follows what it holds",
                    ir.unpack(call.at, region.file),
                    related=[
                        Related(site.span, "the result is on one rank, the others keep something of their own"),
                        Related(made[0].span(), "the schedule is made here"),
                    ],
                )
                return
