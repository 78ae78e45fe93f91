"""Losses of a library's training loop that a subclass works out itself, and that nobody divides by the number of accumulated batches.

Parameters: ``bases`` (library classes with that loop), ``method`` (the one that is replaced), ``count`` (its parameter for the number of
items in all accumulated batches), ``item`` (the key of batches for which the loop counts them), ``loops`` (methods of the loop that a
class must not replace), ``words`` (attributes by which a program tells the loop what the loss is), ``own-words`` (attributes by which
a class divides itself), ``makers`` (what makes the arguments), ``steps`` (the argument that says how many batches are accumulated),
``library`` and ``models`` (the package and the ends of the names of models that take the count).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


@check("unscaled-losses")
def unscaled_losses(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such method, where batches are accumulated and the model takes the count."""
    project: Project = context.project
    words = context.parameters["words"]
    bases = frozenset(context.parameters["bases"])
    if any(word in project.text_of(file) for file in project.python_files for word in words):
        return
    for file in project.python_files:
        for number in range(len(project.module(file).classes)):
            owner = ClassRef(file, number)
            if not bases & project.modules.external_bases(owner) or not _is_own(context, owner):
                continue
            method = project.modules.method(owner, context.parameters["method"])
            if method is None:
                continue
            for site in project.sites(project.class_(owner).name):
                if project.modules.resolve(site.site.call.func, site.file) != owner:
                    continue
                steps = accumulated(context, site)
                if steps is not None and _takes_count(context, site):
                    function = project.function(method)
                    yield context.finding(
                        f"`{function.name}` leaves `{context.parameters['count']}` out, so the loss is divided neither by it nor by"
                        f" the {steps[0]} accumulated batches",
                        ir.unpack(function.name_at, method.file),
                        related=[
                            Related(steps[1], "batches are accumulated"),
                            Related(site.span, "the Trainer is made here"),
                        ],
                    )
                    break


def _is_own(context: CheckContext, owner: ClassRef) -> bool:
    """Whether a class works out the loss itself, and leaves the count out."""
    project: Project = context.project
    parameters = context.parameters
    method = project.modules.method(owner, parameters["method"])
    if method is None or any(project.modules.method(owner, name) is not None for name in parameters["loops"]):
        return False
    function = project.function(method)
    if not any(one.name == parameters["count"] for one in function.parameters):
        return False
    labels = False
    for other in (one for one in project.module(method.file).functions if one.owner == function.owner):
        for statement in statements(other.body):
            for expr in expressions_of(statement):
                for part in below(expr):
                    name = part.id if type(part) is ir.Name else part.name if type(part) is ir.Attribute else ""
                    if name in parameters["own-words"] or (
                        other is function and name in (parameters["count"], "super")
                    ):
                        return False
                    labels |= other is function and type(part) is ir.Constant and part.value == parameters["item"]
    return labels and not any(one.kind == "var-keyword" for one in function.parameters)


def accumulated(context: CheckContext, site: CallSite) -> tuple[int, Span] | None:
    """How many batches a Trainer accumulates, where that is known and more than one, and where it is said."""
    project: Project = context.project
    evaluator = project.evaluator(None)
    given, _ = find_argument(site.site.call, "args", 1)
    options = options_of(evaluator.ask(given, site.file, site.site.function)) if given is not None else ()
    only = options[0] if len(options) == 1 else None
    makers = {f"{name}()" for name in context.parameters["makers"]}
    if not isinstance(only, Instance) or evaluator.instance_name(only) not in makers:
        return None
    steps, _ = find_argument(only.call, context.parameters["steps"], None)
    if steps is None:
        return None
    value = evaluator.value(steps, only.frame.file, only.frame.function)
    known = value.is_known and isinstance(value.only, int) and value.only > 1
    return (value.only, ir.unpack(steps.at, only.frame.file)) if known else None


def _takes_count(context: CheckContext, site: CallSite) -> bool:
    """Whether the model is one that takes the count, so that the loop leaves the division to it."""
    project: Project = context.project
    evaluator = project.evaluator(None)
    given, _ = find_argument(site.site.call, "model", 0)
    options = options_of(evaluator.ask(given, site.file, site.site.function)) if given is not None else ()
    return bool(options) and all(isinstance(one, Instance) and _is_taking(context, one) for one in options)


def _is_taking(context: CheckContext, model: Instance) -> bool:
    project: Project = context.project
    if isinstance(model.callee, ClassRef):
        forward = project.modules.method(model.callee, "forward") if not model.part else None
        return forward is not None and any(one.kind == "var-keyword" for one in project.function(forward).parameters)
    name = project.evaluator(None).instance_name(model).removesuffix("()")
    owner, _, last = name.rpartition(".")
    kind = owner if last in ("from_pretrained", "from_config") else name
    return kind.startswith(context.parameters["library"]) and kind.endswith(tuple(context.parameters["models"]))
