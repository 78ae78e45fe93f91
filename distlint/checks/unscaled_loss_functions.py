"""Functions that a training loop is given for the loss, and that take the mean of one batch where the loop does not divide.

Parameters: ``trainers`` (classes with that loop), ``argument`` (of these: the function), ``count`` (its parameter for the number of items
in all accumulated batches of all processes), ``own-words`` (names by which such a function divides otherwise), ``words`` (attributes by
which a program tells the loop what the loss is), ``makers`` and ``steps`` (as in ``unscaled-losses``), ``means`` (as in ``mean_losses``),
``wrappers`` (library functions that bind arguments of a function).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.mean_losses import is_mean
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import calls_of
from distlint.checks.unscaled_losses import accumulated
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


@check("unscaled-loss-functions")
def unscaled_loss_functions(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such function, where batches are accumulated."""
    project: Project = context.project
    parameters = context.parameters
    for site in _trainers(context):
        given, _ = find_argument(site.site.call, parameters["argument"], None)
        ref = _function(context, given, site) if given is not None else None
        if ref is None or not _is_mean_of_batch(context, ref):
            continue
        files = family(project, site.file)
        if any(word in project.text_of(file) for word in parameters["words"] for file in files):
            continue
        steps = accumulated(context, site)
        if steps is None:
            continue
        function = project.function(ref)
        yield context.finding(
            f"`{function.name}` leaves `{parameters['count']}` out: its mean of one batch is not divided by the {steps[0]} accumulated "
            "batches, and multiplied by the number of processes",
            ir.unpack(function.name_at, ref.file),
            related=[
                Related(site.span, "the Trainer takes what it gives for the share of all accumulated batches"),
                Related(steps[1], "batches are accumulated"),
            ],
        )


def _trainers(context: CheckContext) -> Iterator[CallSite]:
    """The calls that make a trainer, of a class of the program too."""
    project: Project = context.project
    names = frozenset(context.parameters["trainers"])
    yield from project.calls_to(names)
    for file in project.python_files:
        for number, made in enumerate(project.module(file).classes):
            owner = ClassRef(file, number)
            if made.bases and names & project.modules.external_bases(owner):
                yield from (
                    one
                    for one in project.sites(made.name)
                    if project.modules.resolve(one.site.call.func, one.file) == owner
                )


def _function(context: CheckContext, given: ir.Expr, site: CallSite) -> FunctionRef | None:
    """The function of the project that is given: by its name, with arguments bound to it, or as an object that can be called."""
    project: Project = context.project
    target = project.modules.resolve(given, site.file)
    if isinstance(target, FunctionRef):
        return target
    made = followed(given, project.flow(site.file, site.site.function).before(site.site.call.at))
    if type(made) is ir.Call and project.modules.dotted(made.func, site.file) in context.parameters["wrappers"]:
        bound = project.modules.resolve(made.args[0], site.file) if made.args else None
        return bound if isinstance(bound, FunctionRef) else None
    options = options_of(project.evaluator(None).ask(given, site.file, site.site.function))
    only = options[0] if len(options) == 1 else None
    if not isinstance(only, Instance) or only.part:
        return None
    if isinstance(only.callee, ClassRef):
        return project.modules.method(only.callee, "__call__") or project.modules.method(only.callee, "forward")
    return None


def _is_mean_of_batch(context: CheckContext, ref: FunctionRef) -> bool:
    """Whether a function takes the mean of a batch and does nothing with the number of items."""
    function = context.project.function(ref)
    words = {context.parameters["count"], *context.parameters["own-words"]}
    spread = {one.name for one in function.parameters if one.kind in ("var-keyword", "var-positional")}
    for statement in statements(function.body):
        for expr in expressions_of(statement):
            for part in below(expr):
                name = part.id if type(part) is ir.Name else part.name if type(part) is ir.Attribute else ""
                if name in words or name in spread:
                    return False
                if type(part) is ir.Constant and part.value == "sum":
                    return False
    takes = any(one.name == context.parameters["count"] for one in function.parameters) or bool(spread)
    return takes and _gives_mean(context, ref)


def _gives_mean(context: CheckContext, ref: FunctionRef) -> bool:
    """Whether what a function returns is such a mean, or computed from such means alone."""
    body = context.project.function(ref).body
    means = [one for one in calls_of(body) if is_mean(context, one, ref.file, ref.index)]
    returned = [one.value for one in statements(body) if type(one) is ir.Return]
    if not means or len(returned) != 1 or returned[0] is None:
        return False
    names = {
        target.id
        for one in statements(body)
        if type(one) is ir.Assign
        and one.value is not None
        and any(ir.encloses(one.value.at, made.at) for made in means)
        for target in one.targets
        if type(target) is ir.Name
    }
    value = returned[0]
    inside = any(part is made for part in below(value) for made in means)
    return inside or any(type(part) is ir.Name and part.id in names for part in below(value))
