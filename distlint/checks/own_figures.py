"""Schedules that follow a figure which is shown to differ from rank to rank, whatever it is worked out from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.divergence import DivergenceView
from distlint.checks.rank_ways import all_ranks_go, in_many_processes, ways_to
from distlint.link.abstract import Instance, options_of
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project


def followed_figures(context: CheckContext) -> Iterator[Finding]:
    """A finding for each step of such a schedule that all ranks make with a figure of their own."""
    project: Project = context.project
    starts = list(project.calls_to(set(context.parameters["starts"])))
    wanted = {f"{name}()" for name in context.parameters["schedulers"]}
    if not starts or not any(project.sites(name.rpartition(".")[2]) for name in context.parameters["schedulers"]):
        return
    evaluator = project.evaluator(None)
    view = DivergenceView.of_project(project)
    for site in project.sites("step"):
        call, file, function = site.site.call, site.file, site.site.function
        given = call.args[0] if call.args else next((k.value for k in call.keywords if k.name == "metrics"), None)
        if type(call.func) is not ir.Attribute or given is None:
            continue
        options = options_of(evaluator.ask(call.func.base, file, function))
        made = [one for one in options if isinstance(one, Instance) and evaluator.instance_name(one) in wanted]
        if not made or len(made) != len(options):
            continue
        figure = view.of(given, file, function)
        if not figure.differs:
            continue
        ways = ways_to(project, file, function, call.at)
        if not any(in_many_processes(project, way, starts) and all_ranks_go(project, way) for way in ways):
            continue
        yield context.finding(
            f"each rank's learning rate follows a figure of its own ({figure.why}), which nothing brings together",
            site.span,
            related=[
                *(Related(place, "here it comes to differ between the ranks") for place in figure.places[:2]),
                Related(made[0].span(), "the schedule is made here"),
            ],
        )
