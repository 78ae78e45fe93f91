"""Calls that set the epoch of a sampler, and which sampler each of them comes to.

Parameters (of the rule): ``loaders``, ``samplers`` and ``batchers`` (the classes),
``signature`` (the positional parameters of a loader), ``setter`` (the method that tells a sampler its epoch).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from distlint.checks.loaders import argument_of, is_none
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext
from distlint.link.abstract import Abstract, Instance, options_of
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import last_name, statements
from distlint.model import python as ir

_Identity = tuple[str, int]
_ITSELF = ("self",)
"""The part of an object that stands for it in its own methods."""


class Setting(NamedTuple):
    """A call that sets the epoch, and how it concerns a sampler: ``own``, ``other`` or ``maybe``."""

    site: CallSite
    relation: str
    receiver: Instance | None


def settings_of(context: CheckContext, made: CallSite) -> Iterator[Setting]:
    """The calls in a program that set an epoch and may be made, each with how it concerns the sampler that is made somewhere."""
    project: Project = context.project
    files = family(project, made.file)
    evaluator = project.evaluator(None)
    wanted = (made.file, made.site.call.at)
    receivers = {
        site: options_of(evaluator.ask(site.site.call.func.base, site.file, site.site.function))
        for site in project.sites(context.parameters["setter"])
        if site.file in files and type(site.site.call.func) is ir.Attribute
    }
    for site, options in receivers.items():
        if not _is_reached(context, site, receivers):
            continue
        relations = {relation_of(context, option, wanted) for option in options if not is_none(option)}
        receiver = next((one for one in options if isinstance(one, Instance)), None)
        for word in ("own", "maybe", "other"):
            if word in relations:
                yield Setting(site, word, receiver)
                break


def _is_reached(context: CheckContext, site: CallSite, receivers: Mapping[CallSite, tuple[Abstract, ...]]) -> bool:
    """Whether the call may be made: one in a method that itself is told the epoch is made only if somebody tells such an object."""
    project: Project = context.project
    setter = context.parameters["setter"]
    definition = project.module(site.file).functions[site.site.function] if site.site.function >= 0 else None
    if definition is None or definition.owner < 0 or definition.name != setter:
        return True
    owner = ClassRef(site.file, definition.owner)
    others = [one for one in receivers if (one.file, one.site.function) != (site.file, site.site.function)]
    return any(_may_be(context, option, owner) for one in others for option in receivers[one] or (None,))


def _may_be(context: CheckContext, option: object, owner: ClassRef) -> bool:
    """Whether an object may be of a class of the project."""
    if not isinstance(option, Instance):
        return True
    modules = context.project.modules
    if isinstance(option.callee, ClassRef):
        own = not option.part or option.part == _ITSELF
        return not own or owner in modules.ancestry(option.callee) or option.callee in modules.ancestry(owner)
    if not option.part:
        return False
    whole = Instance(option.callee, option.call, option.frame, option.state)
    if not _is_loader(context, whole):
        return True
    if option.part == (".batch_sampler",):
        _, batches, certain = argument_of(context.project, whole, "batch_sampler", context.parameters["signature"])
        return not certain or any(_may_be(context, one, owner) for one in batches if not is_none(one))
    return option.part != (".sampler",) or not _gives_batches(context, whole)


def _is_loader(context: CheckContext, whole: Instance) -> bool:
    name: str = context.project.evaluator(None).instance_name(whole)
    return name.removesuffix("()") in context.parameters["loaders"]


def _only_passes_on(project: Project, method: FunctionRef, setter: str) -> bool:
    """Whether a method does nothing but set the epoch of others, whose calls are looked at by themselves."""
    for statement in statements(project.function(method).body):
        if type(statement) is ir.Evaluate:
            if type(statement.value) is ir.Call and last_name(statement.value.func) not in (setter, "print"):
                return False
        elif type(statement) not in (ir.If, ir.For, ir.Try, ir.Jump):
            return False
    return True


def relation_of(context: CheckContext, option: object, wanted: _Identity) -> str:
    """Whether an object is the wanted sampler, also as the attribute of its loader."""
    if not isinstance(option, Instance):
        return "maybe"
    evaluator = context.project.evaluator(None)
    place = (option.frame.file, option.call.at)
    name = evaluator.instance_name(Instance(option.callee, option.call, option.frame, option.state))
    is_loader = name.removesuffix("()") in context.parameters["loaders"]
    if option.part == (".batch_sampler",) and is_loader:
        whole = Instance(option.callee, option.call, option.frame, option.state)
        _, batches, _ = argument_of(context.project, whole, "batch_sampler", context.parameters["signature"])
        return relation_of(context, batches[0], wanted) if len(batches) == 1 and not is_none(batches[0]) else "other"
    if option.part in ((".sampler",), (".batch_sampler", ".sampler")) and is_loader:
        whole = Instance(option.callee, option.call, option.frame, option.state)
        if len(option.part) == 1 and _gives_batches(context, whole):
            return "other"  # beside what gives whole batches the loader has a sampler that nobody asks
        sampler = sampler_of(context, whole)
        if sampler is None:
            return "maybe"
        return "own" if (sampler.frame.file, sampler.call.at) == wanted else "other"
    if place == wanted and not option.part:
        return "own"
    if isinstance(option.callee, External) and (name.removesuffix("()") in context.parameters["samplers"]):
        return "other" if not option.part else "maybe"
    if isinstance(option.callee, External) and name.removesuffix("()") in context.parameters["batchers"]:
        return "other" if not option.part else "maybe"
    if isinstance(option.callee, ClassRef) and (not option.part or option.part == _ITSELF):
        # an object of the project's own that has no such method; one that has it may tell the sampler
        method = context.project.modules.method(option.callee, context.parameters["setter"])
        passes_on = method is None or _only_passes_on(context.project, method, context.parameters["setter"])
        return "other" if passes_on else "maybe"
    inner = option.part in ((".dataset",), (".batch_sampler",))
    return "other" if is_loader and (not option.part or inner) else "maybe"


def sampler_of(context: CheckContext, loader: Instance) -> Instance | None:
    """The only sampler object of a loader; ``None`` where it may be another."""
    _, options, _ = argument_of(context.project, loader, "sampler", context.parameters["signature"])
    if all(is_none(one) for one in options):
        options = _behind_batches(context, loader)
    samplers = [one for one in options if isinstance(one, Instance) and _is_class(context, one)]
    rest = [one for one in options if not (isinstance(one, Instance) or is_none(one))]
    return samplers[0] if len(samplers) == 1 and not rest else None


def _behind_batches(context: CheckContext, loader: Instance) -> tuple[Abstract, ...]:
    """The samplers that the batch sampler of a loader gets its indices from: the library's, or one of the project that is given one."""
    project: Project = context.project
    _, options, _ = argument_of(project, loader, "batch_sampler", context.parameters["signature"])
    made = [one for one in options if isinstance(one, Instance) and not one.part]
    if len(made) != 1 or len(options) != 1:
        return ()
    batches = made[0]
    if isinstance(batches.callee, External):
        if batches.callee.name not in context.parameters["batchers"]:
            return ()
        return argument_of(project, batches, "sampler", ("sampler", "batch_size", "drop_last"))[1]
    evaluator = project.evaluator(None)
    given = (*batches.call.args, *(word.value for word in batches.call.keywords))
    found = [one for part in given for one in options_of(evaluator.ask_in(part, batches.frame, batches.state))]
    return tuple(one for one in found if isinstance(one, Instance) and _is_class(context, one))


def _gives_batches(context: CheckContext, loader: Instance) -> bool:
    """Whether a loader certainly has a batch sampler that the program gives it."""
    _, options, certain = argument_of(context.project, loader, "batch_sampler", context.parameters["signature"])
    return certain and bool(options) and all(isinstance(one, Instance) for one in options)


def _is_class(context: CheckContext, one: Instance) -> bool:
    return isinstance(one.callee, External) and one.callee.name in context.parameters["samplers"]
