"""Samplers that shuffle in the same order in every epoch, because nobody tells them the epoch (or not in time).

Parameters: ``loaders`` and ``samplers`` (the classes), ``signature`` (the positional parameters of a loader),
``setter`` (the method that tells a sampler its epoch).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from distlint.checks.called_places import joining_calls
from distlint.checks.cycled_loaders import cycled
from distlint.checks.derivations import Part, derivation
from distlint.checks.divergence import DivergenceView
from distlint.checks.epoch_settings import relation_of, sampler_of, settings_of
from distlint.checks.execution import body_of
from distlint.checks.loaders import (
    Around,
    Loop,
    Pass,
    evaluates,
    loader_classes,
    loaders_in,
    loop_head,
    loops_around,
    passes,
    starts_once,
)
from distlint.checks.programs import family
from distlint.checks.ranks import FIRST
from distlint.checks.registry import CheckContext, check
from distlint.checks.rehearsed_epochs import Order, orders
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, expressions_below, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.rehearsal.performance import Rehearsal

_TRAINING = re.compile(r"_?train", re.IGNORECASE)
_FOLLOWING = frozenset({"next", "pop", "popleft", "get", "choice", "sample", "shuffle"})
"""Calls that give something else in each turn of a loop."""
_EPOCH_STORED = re.compile(r"sampler\w*\.epoch\s*=[^=]")

_Identity = tuple[str, int]


class Sampler(NamedTuple):
    """A sampler that shuffles, a loader that draws from it, and a loop over that loader inside another loop."""

    made: CallSite
    loader: Instance
    place: Pass
    outer: Around


@check("sampler-epochs")
def sampler_epochs(context: CheckContext) -> Iterator[Finding]:
    """A finding for each sampler whose loader is gone through again and again in one order."""
    project: Project = context.project
    words = {name.rpartition(".")[2] for name in context.parameters["samplers"]}
    if not any(project.mentions(word) for word in (*words, context.parameters["setter"])):
        return
    found = [
        (sampler.made.span, finding)
        for sampler in _used(context, words)
        if not any(_EPOCH_STORED.search(project.text_of(one)) for one in family(project, sampler.made.file))
        for finding in _judged(context, sampler)
    ]
    found += [(one.span, finding) for one, finding in cycled(context, _shuffles, {span for span, _ in found})]
    seen = orders(Rehearsal.of(project))
    made = {span for span, _ in found}
    for order in seen.same:
        if order.made not in made:
            related = (*order.related, *_missed(context, order))
            related = (*related, *joining_calls(project, order.span, related))
            yield context.finding(order.message, order.span, related=related)
    yield from (finding for span, finding in found if span not in seen.changing)


def _missed(context: CheckContext, order: Order) -> list[Related]:
    """The calls in the program that were to set an epoch, where none was seen to come to a sampler of its own."""
    if order.span != order.made or len(order.related) > 1:
        return []
    files = family(context.project, order.made.file)
    sites = [one for one in context.project.sites(context.parameters["setter"]) if one.file in files]
    return [Related(one.span, "this does not come to it") for one in sites[:2]]


def _shuffles(project: Project, site: CallSite) -> bool:
    """Whether a sampler certainly shuffles, with a seed that is the same whenever it is made."""
    seed, _ = find_argument(site.site.call, "seed", 4)
    if seed is not None and not project.evaluator(None).value(seed, site.file, site.site.function).is_known:
        if type(seed) is not ir.Attribute:  # an option such as `args.seed` does not change with the epoch
            return False
    given, certain = find_argument(site.site.call, "shuffle", 3)
    if given is None:
        return certain
    return project.evaluator(None).value(given, site.file, site.site.function).only is True


def _used(context: CheckContext, words: Collection[str]) -> list[Sampler]:
    """The samplers that shuffle, with a repeated pass over their loader; one entry each, training passes first."""
    project: Project = context.project
    names = loader_classes(project, context.parameters["loaders"])
    makers = [one for one in project.python_files if _names_any(project.module(one), words)]
    files: set[str] = set()
    for file in makers:
        if file not in files:
            files |= family(project, file)
    found: dict[_Identity, Sampler] = {}
    to_train = {one for file in makers for one in _called_for_training(project, file, words)}
    for place in passes(project, files):
        loaders = loaders_in(project, place.iterable, place.file, place.function, names)
        if not loaders or (not to_train and evaluates(project, place)):
            continue
        outer = next(iter(loops_around(project, place.file, place.function, place.at)), None)
        if outer is None or is_once(project, outer):
            continue
        for loader in loaders:
            sampler = sampler_of(context, loader)
            if sampler is None:
                continue
            if (sampler.frame.file, sampler.call.at) not in to_train and evaluates(project, place):
                continue
            site = CallSite(sampler.frame.file, ir.Site(sampler.call, sampler.frame.function))
            key = (sampler.frame.file, sampler.call.at)
            if key not in found and _shuffles(project, site) and not _has_own_data(project, site, outer):
                found[key] = Sampler(site, loader, place, outer)
    return [found[key] for key in sorted(found)]


def _called_for_training(project: Project, file: str, words: Collection[str]) -> Iterator[_Identity]:
    """Samplers that the program itself calls those of its training (``train_sampler = ...``), whoever goes through them."""
    for function in range(-1, len(project.module(file).functions)):
        for statement in statements(body_of(project, file, function)):
            if type(statement) is not ir.Assign or type(statement.value) is not ir.Call:
                continue
            names = [last_name(target) for target in statement.targets]
            if last_name(statement.value.func) in words and any(_TRAINING.match(name) for name in names):
                yield (file, statement.value.at)


def _has_own_data(project: Project, made: CallSite, outer: Around) -> bool:
    """Whether each round of a loop makes a sampler for data of its own: another file, another shard.

    Not where the data come round again after some rounds (``files[index % len(files)]``).
    """
    given, _ = find_argument(made.site.call, "dataset", 0)
    loop = outer.loop
    around = loops_around(project, made.file, made.site.function, made.site.call.at)
    if given is None or not any((one.file, one.loop.at) == (outer.file, loop.at) for one in around):
        return False
    targets = {one.id for one in below(loop.target) if type(one) is ir.Name} if type(loop) is ir.For else set()
    parts = derivation(project, given, made.file, made.site.function).parts
    if any(_comes_round(project, part) for part in parts):
        return False
    for part in parts:
        if (part.file, part.function) != (outer.file, outer.function) or not ir.encloses(loop.at, part.expr.at):
            continue
        if type(part.expr) is ir.Name and part.expr.id in targets:
            return True
        if type(part.expr) is ir.Call and (type(loop) is not ir.For or last_name(part.expr.func) in _FOLLOWING):
            return True
    return False


def _comes_round(project: Project, part: Part) -> bool:
    """``number % len(things)``, but not in what gives the items of a data set."""
    if type(part.expr) is not ir.Operation or "%" not in part.expr.operators or part.function < 0:
        return False
    last = part.expr.operands[-1]
    is_length = type(last) is ir.Call and last_name(last.func) == "len"
    return is_length and project.module(part.file).functions[part.function].name != "__getitem__"


def _is_handed_on(context: CheckContext, sampler: Sampler) -> bool:
    """Whether the method that sets the epoch is handed to somebody who may call it, or asked for by its name."""
    project: Project = context.project
    setter = context.parameters["setter"]
    evaluator = project.evaluator(None)
    wanted = (sampler.made.file, sampler.made.site.call.at)
    for file in sorted(family(project, sampler.made.file)):
        for function in range(-1, len(project.module(file).functions)):
            for part in expressions_below(body_of(project, file, function)):
                if type(part) is ir.Call:
                    named = any(type(one) is ir.Constant and one.value == setter for one in part.args)
                    if named and last_name(part.func) != "hasattr":
                        return True
                    given = (*part.args, *(word.value for word in part.keywords))
                elif type(part) is ir.ListDisplay:
                    given = part.items
                else:
                    continue
                for one in given:
                    if type(one) is ir.Attribute and one.name == setter:
                        options = options_of(evaluator.ask(one.base, file, function))
                        if any(relation_of(context, option, wanted) != "other" for option in options):
                            return True
    return False


def _in_lambda(project: Project, site: CallSite) -> bool:
    """Whether a call is made when somebody calls the lambda around it."""
    parts = expressions_below(body_of(project, site.file, site.site.function))
    return any(type(part) is ir.Lambda and ir.encloses(part.at, site.site.call.at) for part in parts)


def _names_any(module: ir.Module, words: Collection[str]) -> bool:
    """Whether a file names one of some classes in its code."""
    return any(word in module.calls or word in module.attributes for word in words) or any(
        item.name in words for item in module.imports
    )


def is_once(project: Project, around: Around) -> bool:
    """Whether a loop is known to make one round at most."""
    if type(around.loop) is not ir.For:
        return False
    length = DivergenceView.of_project(project).view(FIRST).length(around.loop.iterable, around.file, around.function)
    return length is not None and length <= 1


def _judged(context: CheckContext, sampler: Sampler) -> Iterator[Finding]:
    project: Project = context.project
    settings = list(settings_of(context, sampler.made))
    if any(setting.relation == "maybe" for setting in settings):
        return
    own = [setting.site for setting in settings if setting.relation == "own"]
    made = sampler.made.span
    drawn = Related(ir.unpack(sampler.place.iterable.at, sampler.place.file), "its loader is gone through here")
    counted = Related(loop_head(sampler.outer), "again in each round of this loop")
    if not own:
        if _is_handed_on(context, sampler):
            return
        wrong = [
            Related(one.site.span, "this sets the epoch of another object")
            for one in settings
            if one.relation == "other" and one.site.file == sampler.outer.file
        ]
        places = [drawn, counted, *wrong[:2]]
        yield context.finding(
            "`set_epoch` is never called for this sampler, so every epoch has the order of the first",
            made,
            related=[*places, *joining_calls(project, made, places)],
        )
        return
    reasons = [_fault_of(project, site, sampler) for site in own]
    if all(reasons):
        yield context.finding(
            reasons[0],
            own[0].span,
            related=[Related(made, "the sampler is made here"), drawn, counted],
        )


def _fault_of(project: Project, site: CallSite, sampler: Sampler) -> str:
    """What is wrong with a call that sets the epoch of the right sampler; ``""`` for nothing."""
    call, function = site.site.call, site.site.function
    given, _ = find_argument(call, "epoch", 0)
    if starts_once(project, site.file, function, call.at) and not _in_lambda(project, site):
        return "`set_epoch` is called once, outside the loop over the epochs, so every epoch has the same order"
    if given is None:
        return ""
    if type(given) is ir.Constant or _is_fixed(project, given, site):
        return "`set_epoch` gets the same number in every epoch, so every epoch has the same order"
    outer, place = sampler.outer, sampler.place
    together = (outer.file, outer.function) == (site.file, function) == (place.file, place.function)
    if together and ir.encloses(outer.loop.at, call.at) and _counts_from_zero(outer.loop, given):
        if ir.encloses(place.at, call.at) and place.body:
            return (
                "`set_epoch` is called when the pass has begun and its order is drawn: "
                "the first two epochs have the same order"
            )
        if call.at >> 44 > place.at >> 44 and _is_straight(outer.loop, place, call):
            return "`set_epoch` is called behind the pass over the data, so the first two epochs have the same order"
    return ""


def _is_fixed(project: Project, given: ir.Expr, site: CallSite) -> bool:
    """Whether an expression is one known number whenever it is evaluated.

    What comes out of a loop or from the caller may have been evaluated for a single round (``range(args.epochs)`` with 1 by default).
    """
    module = project.module(site.file)
    function = module.functions[site.site.function] if site.site.function >= 0 else None
    moving = {parameter.name for parameter in function.parameters} if function is not None else set()
    for statement in statements(function.body if function is not None else module.body):
        if type(statement) is ir.For:
            moving |= {part.id for part in below(statement.target) if type(part) is ir.Name}
    if any(type(part) is ir.Name and part.id in moving for part in below(given)):
        return False
    value = project.evaluator(None).value(given, site.file, site.site.function)
    return value.is_known and isinstance(value.only, int)


def _counts_from_zero(loop: Loop, given: ir.Expr) -> bool:
    """Whether an expression is the variable of a loop over ``range(n)``."""
    if type(loop) is not ir.For or type(loop.target) is not ir.Name or type(given) is not ir.Name:
        return False
    iterable = loop.iterable
    if type(iterable) is not ir.Call or type(iterable.func) is not ir.Name or iterable.func.id != "range":
        return False
    return loop.target.id == given.id and len(iterable.args) == 1


def _is_straight(loop: Loop, place: Pass, call: ir.Call) -> bool:
    """Whether pass and call are both direct parts of the loop's body."""
    if isinstance(loop, ir.Comprehension):
        return False
    direct = [one.at for one in loop.body]
    return place.at in direct and any(type(one) is ir.Evaluate and one.value.at == call.at for one in loop.body)
