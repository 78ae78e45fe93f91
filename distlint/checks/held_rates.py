"""Learning rates that settings hold for a library that makes the optimizer itself.

Parameters: ``settings``, a list of tables. ``calls`` are what takes the rate: an object of settings, or who is handed one as its
``argument`` at ``position``. ``rate`` are the names that lead to it in there, and ``makers`` the classes of such objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from distlint.checks.programs import family
from distlint.checks.registry import CheckContext
from distlint.checks.world_degree import Degrees
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef
from distlint.link.project import CallSite
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project


def rates_of_settings(context: CheckContext) -> Iterator[Finding]:
    """A finding for each rate in settings that holds the number of processes as a factor twice."""
    project: Project = context.project
    told: set[Span] = set()
    programs: set[str] = set()
    for table in context.parameters.get("settings", ()):
        handed = "argument" in table
        degrees = Degrees(project, frozenset(table.get("makers", table["calls"])))
        for site in _takers(project, table):
            held: ir.Expr | None = site.site.call
            if handed:
                own = isinstance(project.modules.resolve(site.site.call.func, site.file), ClassRef)
                held, _ = find_argument(site.site.call, table["argument"], None if own else table["position"])
            # what an object was made with is told there; who it is handed to may have had it changed
            if held is None or (handed and site.file in programs):
                continue
            degree = degrees.held(held, tuple(table["rate"]), site.file, site.site.function)
            if degree is None or degree.power < 2:
                continue
            programs |= family(project, site.file)
            taken = ir.unpack(held.at, site.file)
            again = next((one for one in reversed(degree.places) if one.file == site.file), taken)
            if again in told:
                continue
            told.add(again)
            related = [Related(one, "a factor of the number of ranks") for one in degree.places if one != again]
            if taken != again:
                related.append(Related(taken, "the rate is taken from these settings"))
            yield context.finding(
                "the learning rate is multiplied by the number of ranks twice", again, related=related
            )


def _takers(project: Project, table: dict[str, Any]) -> Iterator[CallSite]:
    """The calls of a table, and those of the project's own classes that are made of one of them."""
    wanted = set(table["calls"])
    yield from project.calls_to(wanted)
    if "argument" not in table:
        return
    for file in project.python_files:
        for index, one in enumerate(project.module(file).classes):
            owner = ClassRef(file, index)
            if one.bases and wanted & project.modules.external_bases(owner):
                for site in project.sites(one.name):
                    if project.modules.resolve(site.site.call.func, site.file) == owner:
                        yield site
