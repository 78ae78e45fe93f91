"""A schedule whose length is that of all of the data, in a program in which each process goes through a part of them.

A schedule is what makes the rate of a step: a scheduler of a library that is moved on in a loop over batches, or a number that such a
loop writes into the optimizer's groups. Parameters: ``loaders`` with their ``signature``, ``schedulers`` (prefixes of what makes a
schedule), ``step`` (the method that moves it on), ``groups`` (the key of a rate). What parts the data: ``samplers``, or calls that give a
loader for the part of each process (``prepare``; ``switches``: arguments of theirs, or of their object, by which they may do otherwise).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.derivations import Part
from distlint.checks.execution import body_of
from distlint.checks.loaders import Around, handed_on, loader_classes, loaders_in, loops_around
from distlint.checks.preparing import Handed, Preparations, splits_batches
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.schedule_numbers import (
    Number,
    handed,
    is_behind,
    is_length_of,
    is_of_many,
    names_in,
    numbers_of,
    places_of,
    reached,
    targets_of,
)
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.project import Project
from distlint.link.walking import below, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

_ADDED_UP = re.compile(r"accum", re.IGNORECASE)
_PARTING = frozenset({"//", "/"})


class Source(NamedTuple):
    """A loader that gives each process its part of some data, and what parts them."""

    data: tuple[Instance, ...]
    parting: Span
    size: Part
    """The size of a batch."""
    whole: Instance | None = None
    """The loader of all batches, from which the one of each process was made."""


class Schedule(NamedTuple):
    """Where a schedule is made and moved on, the loop in which it is, and the numbers that make it."""

    made: Span
    moved: Span
    around: Around
    numbers: tuple[Number, ...]


@check("schedule-of-all-samples")
def schedule_of_all_samples(context: CheckContext) -> Iterator[Finding]:
    """A finding for the number of steps of each such schedule."""
    project: Project = context.project
    parting = (*context.parameters.get("samplers", ()), *context.parameters.get("prepare", ()))
    if not any(project.mentions(one.rpartition(".")[2]) for one in parting):
        return
    found = dict[Span, Finding]()
    for schedule in (*_moved(context), *_written(context)):
        for source in _sources(context, schedule.around):
            length = _length(context, source, schedule.numbers)
            if length is not None and length not in found:
                places = [
                    Related(source.parting, "each process has its part of the batches only"),
                    Related(schedule.made, "the schedule is made with it"),
                    Related(schedule.moved, "it moves on once for a batch of one process"),
                ]
                if schedule.made == schedule.moved:
                    del places[1]
                found[length] = context.finding(_MESSAGE, length, related=places)
    yield from (found[span] for span in sorted(found))


_MESSAGE = (
    "the steps of the schedule are counted over all of the data: it is as many times too long as there are processes"
)


def _moved(context: CheckContext) -> Iterator[Schedule]:
    """The schedules of a library that are moved on in a loop, with the numbers that they are made with."""
    project: Project = context.project
    evaluator = project.evaluator(None)
    prefixes = tuple(context.parameters["schedulers"])
    for site in project.sites(context.parameters["step"]):
        func = site.site.call.func
        if type(func) is not ir.Attribute:
            continue
        options = options_of(evaluator.ask(func.base, site.file, site.site.function, everywhere=True))
        made = [one for one in options if isinstance(one, Instance) and not one.part]
        for one in made:
            if evaluator.instance_name(one).startswith(prefixes):
                places = places_of(one)
                numbers = tuple(
                    number
                    for numbers in numbers_of(evaluator, one)
                    for number in numbers
                    if number.late or not is_behind(number.part, places)
                )
                for around in loops_around(project, site.file, site.site.function, site.site.call.at):
                    yield Schedule(one.span(), site.span, around, numbers)


def _written(context: CheckContext) -> Iterator[Schedule]:
    """The rates that a loop works out and writes into the groups of an optimizer."""
    project: Project = context.project
    key = context.parameters["groups"]
    for file in project.python_files:
        if project.facts[file].module is None or key not in project.text_of(file):
            continue
        for index, function in enumerate((None, *project.module(file).functions), -1):
            body = project.module(file).body if function is None else function.body
            for statement in statements(body):
                if type(statement) is not ir.Assign or statement.value is None:
                    continue
                if any(_is_rate(target, key) for target in statement.targets):
                    numbers = (Number(Part(statement.value, file, index)),)
                    span = ir.unpack(statement.at, file)
                    for around in _beyond_groups(project, file, index, statement.at):
                        yield Schedule(span, span, around, numbers)


def _is_rate(expr: ir.Expr, key: str) -> bool:
    return type(expr) is ir.Subscript and type(expr.index) is ir.Constant and expr.index.value == key


def _beyond_groups(project: Project, file: str, function: int, at: ir.Position) -> Iterator[Around]:
    """The loops around a place, but for those over the groups of an optimizer."""
    for around in loops_around(project, file, function, at):
        loop = around.loop
        over = list(handed_on(loop.iterable)) if type(loop) is ir.For else []
        if any(last_name(one) == "param_groups" for one in over):
            yield from _beyond_groups(project, around.file, around.function, loop.at)
        else:
            yield around


def _sources(context: CheckContext, around: Around) -> Iterator[Source]:
    """The loaders that a loop goes over, if each process has its part of their batches."""
    loop = around.loop
    if type(loop) is ir.For:
        yield from _sampled(context, loop, around) if "samplers" in context.parameters else ()
        yield from _prepared(context, loop, around) if "prepare" in context.parameters else ()


def _sampled(context: CheckContext, loop: ir.For, around: Around) -> Iterator[Source]:
    project: Project = context.project
    names = loader_classes(project, context.parameters["loaders"])
    samplers = loader_classes(project, context.parameters["samplers"])
    evaluator = project.evaluator(None)
    for loader in loaders_in(project, loop.iterable, around.file, around.function, names):
        sampler, size = (_given(context, loader, name) for name in ("sampler", "batch_size"))
        if sampler is None or size is None:
            continue
        for one in options_of(evaluator.ask_in(sampler, loader.frame, loader.state)):
            if isinstance(one, Instance) and evaluator.instance_name(one) in samplers:
                data = _data(project, find_argument(one.call, "dataset", 0)[0], one)
                yield Source(data, one.span(), Part(size, loader.frame.file, loader.frame.function))


def _prepared(context: CheckContext, loop: ir.For, around: Around) -> Iterator[Source]:
    found = Preparations.of_context(context)
    names = loader_classes(context.project, context.parameters["loaders"])
    for part in handed_on(loop.iterable):
        for one in found.objects(part, around.file, around.function):
            handing = found.given_for(one) if found.is_prepared(one) else None
            loader = handing.instance if handing is not None else None
            if handing is None or loader is None or found.things.evaluator.instance_name(loader) not in names:
                continue
            data, size = (_given(context, loader, name) for name in ("dataset", "batch_size"))
            parts = _parts_whole(context, handing, loader) and splits_batches(context, found, handing.found) is False
            if size is not None and parts:
                things = _data(context.project, data, loader)
                yield Source(things, handing.found.span, Part(size, loader.frame.file, loader.frame.function), loader)


def _given(context: CheckContext, loader: Instance, name: str) -> ir.Expr | None:
    return find_argument(loader.call, name, list(context.parameters["signature"]).index(name))[0]


def _data(project: Project, data: ir.Expr | None, holder: Instance) -> tuple[Instance, ...]:
    """The objects that are the data of a sampler or a loader."""
    things = options_of(project.evaluator(None).ask_in(data, holder.frame, holder.state)) if data is not None else ()
    return tuple(one for one in things if isinstance(one, Instance))


def _parts_whole(context: CheckContext, handing: Handed, loader: Instance) -> bool:
    """Whether a call that takes a loader over parts its batches: it is told nothing else, and the loader has no sampler of its own."""
    words = [word.name for word in handing.found.site.call.keywords]
    if any(word is None or word in context.parameters["switches"] for word in words):
        return False
    return all(_given(context, loader, name) is None for name in ("sampler", "batch_sampler"))


def _length(context: CheckContext, source: Source, numbers: tuple[Number, ...]) -> Span | None:
    """The number of batches of all of the data, in the numbers of a schedule."""
    project: Project = context.project
    if any(_tells_of_many(project, number) for number in (*numbers, Number(source.size))):
        return None
    if _is_divided(project, source.size):
        return None
    for number in numbers:
        for part in reached(project, number):
            expr = part.expr
            if source.whole is not None and is_length_of(project, part, (source.whole,)):
                return ir.unpack(expr.at, part.file)
            if type(expr) is ir.Operation and set(expr.operators) <= _PARTING and len(expr.operands) == 2:
                first, second = (Part(one, part.file, part.function) for one in expr.operands)
                if _is_batch(project, second, source.size) and any(
                    is_length_of(project, one, source.data) for one in reached(project, Number(first))
                ):
                    return ir.unpack(expr.at, part.file)
    return None


def _tells_of_many(project: Project, number: Number) -> bool:
    """Whether a number of processes may have a part in a number, as far as names tell."""
    return any(is_of_many(name) for part in reached(project, number) for name in names_in(part.expr))


def _is_divided(project: Project, size: Part) -> bool:
    """Whether a program divides the size of a batch somewhere, or puts another one in its place (``args.batch_size //= world``)."""
    name = last_name(size.expr)
    for file in sorted(family(project, size.file)) if name else ():
        if file not in project.facts or project.facts[file].module is None:
            continue
        for function in range(-1, len(project.module(file).functions)):
            for statement in statements(body_of(project, file, function)):
                if type(statement) is ir.Assign or type(statement) is ir.AugAssign:
                    value = statement.value if any(last_name(one) == name for one in targets_of(statement)) else None
                    if value is not None and any(map(is_of_many, names_in(value))):
                        return True
    return False


def _is_batch(project: Project, part: Part, size: Part) -> bool:
    """Whether a number is the batch of one process, or several of them that are added up."""
    expr = part.expr
    if type(expr) is ir.Operation and set(expr.operators) == {"*"}:
        parts = [Part(one, part.file, part.function) for one in expr.operands]
        batches = [one for one in parts if _is_batch(project, one, size)]
        others = [one for one in parts if one not in batches]
        return len(batches) == 1 and all(_is_added_up(one) for one in others)
    mine = [one.expr for one in handed(project, part)]
    its = [one.expr for one in handed(project, size)]
    return any(_is_same(one, other) for one in mine for other in its)


def _is_same(one: ir.Expr, other: ir.Expr) -> bool:
    """Whether two expressions are the same number, or fields and variables of one name."""
    if type(one) is ir.Constant and type(other) is ir.Constant:
        return bool(one.value == other.value)
    return bool(last_name(one)) and last_name(one) == last_name(other)


def _is_added_up(part: Part) -> bool:
    return type(part.expr) is ir.Constant or any(_ADDED_UP.search(last_name(one)) for one in below(part.expr))
