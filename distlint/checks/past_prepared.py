"""A training step that uses an object which ``prepare`` never gave: the model itself, or an optimizer of its own.

Parameters: ``prepare`` and ``unwrap`` (calls, see ``preparing``), ``backward`` (methods that differentiate a loss for prepared models),
``modules`` (classes of networks), ``optimizers`` (prefix of their names), ``reducing`` (calls by which gradients may be averaged by hand).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.preparing import Preparations, is_module, is_thrown_away, texts_of
from distlint.checks.programs import family
from distlint.checks.protocol_sources import Use
from distlint.checks.registry import CheckContext, check
from distlint.checks.rehearsed import rehearsed
from distlint.link.abstract import Instance
from distlint.link.modules import External
from distlint.link.project import CallSite, Project
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("past-prepared")
def past_prepared(context: CheckContext) -> Iterator[Finding]:
    """A finding for each backward pass of a loss that a model other than a prepared one computed.

    What the rehearsal of the program shows besides is told where nothing else is said of a line (``fault``, see ``rehearsed``).
    """
    known = _thrown_away(context)
    for finding in _walked(context):
        known |= {(one.file, one.line) for one in (finding.span, *(other.span for other in finding.related))}
        yield finding
    for finding in rehearsed(context):
        places = {(one.file, one.line) for one in (finding.span, *(other.span for other in finding.related))}
        if not places & known:
            yield finding


def _thrown_away(context: CheckContext) -> set[tuple[str, int]]:
    """Where something is prepared and what that gives is not used, which is another fault."""
    sites = Preparations.of_context(context).sites
    return {(one.span.file, one.span.line) for one in sites if is_thrown_away(context.project, one)}


def _walked(context: CheckContext) -> Iterator[Finding]:
    """What is found by following objects backwards from each backward pass."""
    project: Project = context.project
    found = Preparations.of_context(context)
    if not found.sites:
        return
    reported = set()
    for site in project.calls_to(set(context.parameters["backward"])):
        loss = site.site.call.args[0] if site.site.call.args else None
        if loss is None or type(loss) is ir.Starred or _reduces(context, site):
            continue
        frame = found.things.evaluator.frame(site.file, site.site.function)
        uses = list(found.things.sources(loss, frame).values())
        called = [use for use in uses if not use.method]
        if any(found.is_prepared(use.instance) for use in uses):
            continue
        for use in called:
            finding = _judged(context, found, site, use)
            if finding is not None and finding.span not in reported:
                reported.add(finding.span)
                yield finding


def _judged(context: CheckContext, found: Preparations, site: CallSite, use: Use) -> Finding | None:
    project: Project = context.project
    evaluator = found.things.evaluator
    span = ir.unpack(use.call.at, use.frame.file)
    name = texts_of(use.call.func) or "the model"
    backward = Related(site.span, "the backward pass of its loss averages no gradients")
    unwrapped = evaluator.instance_name(use.instance)
    if any(unwrapped.startswith(f"{one}()") for one in context.parameters["unwrap"]):
        return context.finding(
            f"the loss is computed by `{name}(...)`, which is the model without its wrapper: its gradients are not averaged",
            span,
            related=[Related(use.instance.span(), "the wrapper is taken off here"), backward],
        )
    if not is_module(project, use.instance, context.parameters["modules"], context.parameters["layers"]):
        return None
    handed = found.handed_as(use.instance)
    if handed is not None:
        if is_thrown_away(project, handed.found):
            return None
        return context.finding(
            f"`{name}` is the model as it was before `prepare`: its gradients are not averaged over the processes",
            span,
            related=[Related(handed.found.span, "what this gives back has to be used"), backward],
        )
    made = _optimizer_of(context, found, use.instance, site)
    prepared = next((one for one in found.sites if one.file in family(project, site.file)), None)
    if made is None or prepared is None or _may_be_handed(found):
        return None
    return context.finding(
        f"`{name}` was never given to `prepare`: its gradients are not averaged over the processes",
        span,
        related=[
            Related(use.instance.span(), "the model is made here"),
            Related(made.span, "an optimizer steps its parameters"),
            Related(prepared.span, "the model is not among what is prepared"),
            backward,
        ],
    )


def _may_be_handed(found: Preparations) -> bool:
    """Whether something that is prepared is not known."""
    for site in found.sites:
        if any(type(one) is ir.Starred for one in site.site.call.args):
            return True
    return any(one.instance is None for one in found.handed)


def _optimizer_of(context: CheckContext, found: Preparations, model: Instance, near: CallSite) -> CallSite | None:
    """The call that makes an optimizer of a model's parameters."""
    project: Project = context.project
    prefix = context.parameters["optimizers"]
    files = family(project, near.file)
    for site in project.sites("parameters"):
        func = site.site.call.func
        if site.file not in files or type(func) is not ir.Attribute:
            continue
        if not any(one.identity == model.identity for one in found.objects(func.base, site.file, site.site.function)):
            continue
        for sites in project.module(site.file).calls.values():
            for one in sites:
                if one.function == site.site.function and ir.encloses(one.call.at, site.site.call.at):
                    name = project.modules.dotted(one.call.func, site.file)
                    if name.startswith(prefix):
                        return CallSite(site.file, one, name)
    return None


def _reduces(context: CheckContext, site: CallSite) -> bool:
    """Whether the program may average gradients itself: a reducing call with something of ``.grad`` in its arguments."""
    project: Project = context.project
    files = family(project, site.file)
    for name in context.parameters["reducing"]:
        for one in project.sites(name):
            if one.file in files and any(
                type(part) is ir.Attribute and part.name == "grad"
                for argument in one.site.call.args
                for part in below(argument)
            ):
                return True
    return False


def is_library_object(instance: Instance, prefix: str) -> bool:
    """Whether a library class whose name starts with ``prefix`` made an object."""
    return isinstance(instance.callee, External) and instance.callee.name.startswith(prefix) and not instance.part
