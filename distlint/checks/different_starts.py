"""Models whose gradients are averaged by hand, and which start from different weights on each rank.

Parameters: ``summing`` (functions that add a tensor up over the ranks), ``seeds`` (calls that seed the weights), ``aligning`` (names of
calls that give all ranks the same weights), ``wrappers`` (that do so themselves).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.seeds import seeds_before
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite
from distlint.link.walking import below, statements
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
        model = _model_of_gradient(project, site)
        if model is None or model.identity in reported or _is_aligned(context, site.file):
            continue
        made = CallSite(model.frame.file, ir.Site(model.call, model.frame.function))
        seeds = seeds_before(project, made, context.parameters["seeds"])
        if any(not by_rank for _, by_rank in seeds):
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


def _model_of_gradient(project: Project, site: CallSite) -> Instance | None:
    """The model over whose parameters a loop goes that brings their gradients together."""
    tensor, _ = find_argument(site.site.call, "tensor", 0)
    while type(tensor) is ir.Attribute and tensor.name == "data":
        tensor = tensor.base
    if type(tensor) is not ir.Attribute or tensor.name != "grad" or type(tensor.base) is not ir.Name:
        return None
    for statement in statements(body_of(project, site.file, site.site.function)):
        if type(statement) is not ir.For or not ir.encloses(statement.at, site.site.call.at):
            continue
        named = any(type(part) is ir.Name and part.id == tensor.base.id for part in below(statement.target))
        if named:
            for part in below(statement.iterable):
                if type(part) is ir.Attribute and part.name in ("parameters", "named_parameters"):
                    options = options_of(project.evaluator(None).ask(part.base, site.file, site.site.function))
                    made = [one for one in options if isinstance(one, Instance)]
                    return made[0] if len(made) == len(options) == 1 else None
    return None


def _is_aligned(context: CheckContext, file: str) -> bool:
    """Whether something in a program may give all ranks the same weights."""
    project: Project = context.project
    files = family(project, file)
    if any(site.file in files for site in project.calls_to(set(context.parameters["wrappers"]))):
        return True
    if not any(site.file in files for site in project.sites("step")):
        return True  # nothing is trained, so nothing has to be alike
    return any(site.file in files for name in context.parameters["aligning"] for site in project.sites(name))
