"""Models whose gradients are averaged by hand, and which start from different weights on each rank.

Parameters: ``summing`` (functions that add a tensor up over the ranks), ``seeds`` (calls that seed the weights), ``aligning`` (names of
calls that give all ranks the same weights), ``wrappers`` (that do so themselves), ``group`` (the parameter of ``summing`` that
says between whom, with its position).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.gradient_models import models_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.seeds import seeds_before
from distlint.link.abstract import Instance
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, Target
from distlint.link.project import CallSite
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import Project


@check("different-starts")
def different_starts(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such model."""
    project: Project = context.project
    reported: set[tuple[object, ...]] = set()
    for site in project.calls_to(set(context.parameters["summing"])):
        models = models_of(project, site)
        if len(models) != 1 or _is_aligned(context, site.file):
            continue
        model = models[0]
        if model.identity in reported:
            continue
        made = CallSite(model.frame.file, ir.Site(model.call, model.frame.function))
        if _draws_by_itself(project, model):
            continue
        seeds = seeds_before(project, made, context.parameters["seeds"])
        if any(not by_rank for _, by_rank in seeds) or (seeds and _is_for_some(context, site)):
            continue
        reported.add(model.identity)
        related = [Related(site.span, "only the gradients are brought together, not the weights")]
        related += [Related(one, "the seed differs from rank to rank") for one, _ in seeds[:1]]
        why = "from a seed of its own" if seeds else "without a common seed"
        yield context.finding(
            f"every rank draws the first weights of this model {why}, and nothing makes them equal",
            model.span(),
            related=related,
        )


def _draws_by_itself(project: Project, model: Instance) -> bool:
    """Whether the class of a model draws what it starts with from a generator of its own, whose seed is not the common one."""
    owner: Target | None = model.callee
    expr = model.call
    while not isinstance(owner, ClassRef) and type(expr.func) is ir.Attribute and type(expr.func.base) is ir.Call:
        expr = expr.func.base  # Model().to(device)
        owner = project.modules.resolve(expr.func, model.frame.file)
    if not isinstance(owner, ClassRef):
        return False
    module = project.module(owner.file)
    return any(
        keyword.name == "generator"
        for sites in module.calls.values()
        for site in sites
        if site.function >= 0 and module.functions[site.function].owner == owner.index
        for keyword in site.call.keywords
    )


def _is_for_some(context: CheckContext, site: CallSite) -> bool:
    """Whether gradients are summed up within a group: the seed may be one for each group, and only its members have to agree."""
    name, position = context.parameters["group"]
    given, certain = find_argument(site.site.call, name, position)
    return given is not None or not certain


def _is_aligned(context: CheckContext, file: str) -> bool:
    """Whether something in a program may give all ranks the same weights."""
    project: Project = context.project
    files = family(project, file)
    if any(site.file in files for site in project.calls_to(set(context.parameters["wrappers"]))):
        return True
    if not any(site.file in files for site in project.sites("step")):
        return True  # nothing is trained, so nothing has to be alike
    return any(site.file in files for name in context.parameters["aligning"] for site in project.sites(name))
