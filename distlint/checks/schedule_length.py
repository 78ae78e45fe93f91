"""A schedule that is sized with the batches of one process, under an object that moves it on once for every process.

Parameters: ``prepare`` (see ``preparing``), ``schedulers`` (prefixes of what makes a schedule), ``switches`` (arguments of the preparing
object that may change how often it moves a schedule on), ``counts`` (names of the number of processes).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.derivations import Part, derivation
from distlint.checks.preparing import Preparations, last_name
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance
from distlint.link.project import CallSite, Project
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span


@check("schedule-length")
def schedule_length(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such schedule that is handed over."""
    found = Preparations.of_context(context)
    prefixes = tuple(context.parameters["schedulers"])
    for handed in found.handed:
        made = handed.instance
        if (
            made is None
            or not found.things.made_by(made).startswith(prefixes)
            or _is_switched(context, found, handed.found)
        ):
            continue
        counted = _counted(context, found, made)
        if counted is not None:
            yield context.finding(
                "the schedule is as long as the batches of one process, but moves on once for each process in every step",
                made.span(),
                related=[
                    Related(counted, "the prepared loader has the batches of one process only"),
                    Related(
                        handed.found.span, "a schedule that is prepared moves on as many steps as there are processes"
                    ),
                ],
            )


def _is_switched(context: CheckContext, found: Preparations, site: CallSite) -> bool:
    """Whether the preparing object may be told to move schedules on otherwise, or is not known."""
    func = site.site.call.func
    if type(func) is not ir.Attribute:
        return True
    makers = found.objects(func.base, site.file, site.site.function)
    switches = context.parameters["switches"]
    return not makers or any(word.name is None or word.name in switches for one in makers for word in one.call.keywords)


def _counted(context: CheckContext, found: Preparations, made: Instance) -> Span | None:
    """Where the length of a prepared loader goes into a schedule; ``None`` if it does not, or the processes do too."""
    project: Project = context.project
    counted = None
    for given in (*made.call.args[1:], *(word.value for word in made.call.keywords if word.name != "optimizer")):
        parts = derivation(project, given, made.frame.file, made.frame.function).parts
        for part in parts:
            if last_name(part.expr) in context.parameters["counts"]:
                return None
            one = part.expr
            if _is_behind(part, made):
                continue
            if type(one) is ir.Call and type(one.func) is ir.Name and one.func.id == "len" and len(one.args) == 1:
                objects = found.objects(one.args[0], part.file, part.function)
                if objects and all(found.is_prepared(thing) for thing in objects):
                    counted = ir.unpack(one.at, part.file)
    return counted


def _is_behind(part: Part, made: Instance) -> bool:
    """Whether an expression is evaluated after a schedule was made: lengths are often worked out anew behind ``prepare``."""
    together = (part.file, part.function) == (made.frame.file, made.frame.function)
    return together and part.expr.at > made.call.at
