"""Batches of which both the size and the rounds that they are added up over are divided by the number of processes.

Rounds are counted by an object that is given both numbers, by one that is given the rounds and handed the loader, or by the
loop over the loader itself. Parameters: ``counted`` (tables with ``calls`` and the names of ``batch`` and ``steps``, which the
call itself is given, or what it has as its ``argument``, at ``position``), ``rounds`` (classes that are given a number of
rounds, each with the name of it), ``takers`` (their methods that are handed loaders), ``hooks`` (methods that give loaders to
a trainer); ``loaders`` and ``signature``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.derivations import Part
from distlint.checks.execution import body_of
from distlint.checks.loaders import Pass, handed_on, loader_classes, loaders_in, loops
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext
from distlint.checks.world_degree import Degrees
from distlint.checks.world_degree_held import Degree
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.project import CallSite
from distlint.link.walking import below, calls_in, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project


class Rounds(NamedTuple):
    """How often gradients are added up: where that stands, the factors of the number of processes in it, and the number itself."""

    span: Span
    degree: Degree
    number: Part


def given_together(context: CheckContext) -> Iterator[Finding]:
    """Objects that are given both the size and the rounds."""
    project: Project = context.project
    told: set[str] = set()
    for table in context.parameters["counted"]:
        degrees = Degrees(project, frozenset(table.get("makers", table["calls"])))
        for site in project.calls_to(set(table["calls"])):
            call, file = site.site.call, site.file
            held: ir.Expr | None = call
            if "argument" in table:
                held, _ = find_argument(call, table["argument"], table["position"])
            if held is None or ("argument" in table and file in told):
                continue
            batch, steps = (degrees.held(held, table[name], file, site.site.function) for name in ("batch", "steps"))
            if batch is None or steps is None or batch.power > 0 or steps.power > 0 or batch.power + steps.power > -2:
                continue
            told |= family(project, file)
            sizes, counts = (find_argument(call, table[name], None)[0] for name in ("batch", "steps"))
            number = counts if counts is not None else held
            rounds = Rounds(ir.unpack(number.at, file), steps, Part(number, file, site.site.function))
            yield _finding(context, ir.unpack((sizes if sizes is not None else held).at, file), batch, rounds)


def counted_apart(context: CheckContext, site: CallSite, given: ir.Expr, batch: Degree) -> Iterator[Finding]:
    """The rounds of a loader with a size that is divided by the number of processes."""
    for rounds in (*_of_takers(context, site), *_of_hooks(context, site), *rounds_of_loops(context, site)):
        if rounds.degree.power <= -1:
            yield _finding(context, ir.unpack(given.at, site.file), batch, rounds)
            return


def _finding(context: CheckContext, span: Span, batch: Degree, rounds: Rounds) -> Finding:
    places = dict.fromkeys((*batch.places, *rounds.degree.places))
    message = "the batch size and the rounds that gradients are added up over are both divided by the number of ranks"
    if not batch.power or not rounds.degree.power:
        what = "batch size is" if batch.power else "rounds that gradients are added up over are"
        message = f"the {what} divided by the number of ranks twice"
    return context.finding(
        message,
        span,
        related=[
            *([Related(rounds.span, "this is the number of rounds")] if rounds.span != span else ()),
            *(Related(place, "a division by the number of ranks") for place in places if place != span),
        ],
    )


def _of_takers(context: CheckContext, site: CallSite) -> Iterator[Rounds]:
    """The rounds of objects that are handed the loader."""
    project: Project = context.project
    evaluator = project.evaluator(None)
    for found in project.calls_to(set(context.parameters["takers"])):
        func = found.site.call.func
        given = (*found.site.call.args, *(word.value for word in found.site.call.keywords))
        if type(func) is ir.Attribute and any(_is_loader(project, one, found, site) for one in given):
            for maker in options_of(evaluator.ask(func.base, found.file, found.site.function)):
                if isinstance(maker, Instance):
                    yield from _rounds(context, maker.call, maker.frame.file, maker.frame.function)


def _of_hooks(context: CheckContext, site: CallSite) -> Iterator[Rounds]:
    """The rounds of trainers that ask for the loader by the name of a method."""
    project: Project = context.project
    if site.site.function < 0:
        return
    if project.module(site.file).functions[site.site.function].name in context.parameters["hooks"]:
        files = family(project, site.file)
        for found in project.calls_to({name for name, _ in context.parameters["rounds"]}):
            if found.file in files:
                yield from _rounds(context, found.site.call, found.file, found.site.function)


def _rounds(context: CheckContext, call: ir.Call, file: str, function: int) -> Iterator[Rounds]:
    """The rounds that an object is made with."""
    name = context.project.modules.dotted(call.func, file)
    for made, word in context.parameters["rounds"]:
        given = find_argument(call, word, None)[0] if made == name else None
        degree = Degrees(context.project).of(given, file, function) if given is not None else None
        if given is not None and degree is not None:
            yield Rounds(ir.unpack(given.at, file), degree, Part(given, file, function))


def _is_loader(project: Project, given: ir.Expr, found: CallSite, site: CallSite) -> bool:
    return any(
        isinstance(one, Instance) and (one.frame.file, one.call.at) == (site.file, site.site.call.at)
        for one in options_of(project.evaluator(None).ask(given, found.file, found.site.function))
    )


def rounds_of_loops(context: CheckContext, site: CallSite) -> Iterator[Rounds]:
    """The rounds that loops over the loader count before they step."""
    project: Project = context.project
    names = loader_classes(project, context.parameters["loaders"])
    wanted = (site.file, site.site.call.at)
    for one in loops(project, family(project, site.file)):
        found = loaders_in(project, one.iterable, one.file, one.function, names)
        if any((loader.frame.file, loader.call.at) == wanted for loader in found):
            yield from _tested(project, one)
    yield from _drawn(context, site)


def _tested(project: Project, place: Pass) -> Iterator[Rounds]:
    """The divisors of the tests that let an optimizer step: ``(step + 1) % rounds == 0``."""
    flow = project.flow(place.file, place.function)
    for call in calls_in(place.body):
        if type(call.func) is not ir.Attribute or call.func.name != "step":
            continue
        for guard in guards_of(place.body, call.at) or ():
            if guard.test is None or guard.kind == "for":
                continue
            for name in below(guard.test):
                for part in below(followed(name, flow.before(guard.test.at)) if type(name) is ir.Name else name):
                    if type(part) is ir.Operation and part.operators == ("%",):
                        yield from _number(project, part.operands[1], place.file, place.function)


def _drawn(context: CheckContext, site: CallSite) -> Iterator[Rounds]:
    """The lengths of loops that take batches one by one (``next(batches)``) and go backward with each."""
    project: Project = context.project
    for file in sorted(family(project, site.file)):
        if file not in project.facts or project.facts[file].module is None or "next" not in project.text_of(file):
            continue
        for function in range(-1, len(project.module(file).functions)):
            for loop in statements(body_of(project, file, function)):
                if type(loop) is ir.For and _length(loop) is not None and _draws(context, loop, file, function, site):
                    yield from _number(project, _length(loop), file, function)  # type: ignore[arg-type]


def _length(loop: ir.For) -> ir.Expr | None:
    """What a loop over ``range(number)`` is given."""
    over = loop.iterable
    if type(over) is ir.Call and type(over.func) is ir.Name and over.func.id == "range" and len(over.args) == 1:
        return over.args[0]
    return None


def _draws(context: CheckContext, loop: ir.For, file: str, function: int, site: CallSite) -> bool:
    """Whether a loop takes a batch of the loader in each turn and goes backward with it."""
    project: Project = context.project
    names = loader_classes(project, context.parameters["loaders"])
    calls = list(calls_in(loop.body))
    if not any(type(one.func) is ir.Attribute and one.func.name == "backward" for one in calls):
        return False
    for one in calls:
        if type(one.func) is ir.Name and one.func.id == "next" and one.args:
            for made in _iterated(project, one.args[0], file, function):
                found = loaders_in(project, made, file, function, names)
                if any((loader.frame.file, loader.call.at) == (site.file, site.site.call.at) for loader in found):
                    return True
    return False


def _iterated(project: Project, given: ir.Expr, file: str, function: int) -> Iterator[ir.Expr]:
    """What an iterator goes through: all that its variable was ever set to in the function."""
    if type(given) is not ir.Name:
        yield given
        return
    for statement in statements(body_of(project, file, function)):
        if type(statement) is ir.Assign and statement.value is not None:
            if any(type(one) is ir.Name and one.id == given.id for one in statement.targets):
                yield from handed_on(statement.value)


def _number(project: Project, expr: ir.Expr, file: str, function: int) -> Iterator[Rounds]:
    degree = Degrees(project).of(expr, file, function)
    if degree is not None:
        yield Rounds(ir.unpack(expr.at, file), degree, Part(expr, file, function))
