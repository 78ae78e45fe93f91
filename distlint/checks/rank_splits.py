"""Data that is parted between the ranks in a way that does not fit together.

The rule's ``fault`` is ``fixed`` (a sampler that is told the same rank, or one process only, on every rank, or a rank that several share),
``swapped`` (one that is told its rank as the number of processes) or ``order`` (an order that each rank draws for itself before it takes
its part).
Parameters: ``starts`` (calls that make processes a job), ``samplers``, for ``fixed`` those of ``shared_ranks``, and for ``order``
``draws`` (functions that draw an order: kind of random numbers, the argument that holds a generator, with its position where it has one;
the kind ``own`` for methods of a generator), ``seeds`` (by kind), ``takers`` (calls that deal out what they are given), ``trainers`` with
``several`` (see ``hooked``) and ``alone`` (hooks of classes below ``bases`` that a trainer calls on one process only).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import RANK_WORDS, derivation
from distlint.checks.divergence import DivergenceView
from distlint.checks.execution import body_of
from distlint.checks.hooked import trainers_of_several
from distlint.checks.programs import family
from distlint.checks.rank_values import UNKNOWN
from distlint.checks.rank_ways import all_ranks_go, may_be_for_rank_0, ways_to
from distlint.checks.ranks import FIRST, SECOND, Process
from distlint.checks.registry import CheckContext, check
from distlint.checks.seeds import seeds_before
from distlint.checks.shared_ranks import shared_rank
from distlint.checks.spread_names import Region, called_name, calls_of, forward, joins, mentions, regions
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef
from distlint.link.walking import below, bound_names, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


_DEALING = re.compile(r"scatter|(?:^|_)i?send(?:_|$)", re.IGNORECASE)
"""Names of functions by which one rank may hand out what it has drawn."""
_PROBES = (Process(5, 5, world=1009), Process(7, 7, world=1009))
_ON_OTHER_NODE = Process(13, 5, 8, node=1, per_node=8, world=16)


@check("rank-splits")
def rank_splits(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such part."""
    project: Project = context.project
    starts = list(project.calls_to(set(context.parameters["starts"])))
    if "trainers" in context.parameters:
        starts += trainers_of_several(context)
    if starts:
        yield from _FAULTS[context.parameters["fault"]](context, starts)


# A sampler of one rank ------------------------------------------------------------------------------------------------


def _fixed(context: CheckContext, starts: list[CallSite]) -> Iterator[Finding]:
    project: Project = context.project
    view = DivergenceView.of_project(project)
    for site in project.calls_to(set(context.parameters["samplers"])):
        call, file, function = site.site.call, site.file, site.site.function
        start = next((one for one in starts if one.file in family(project, file)), None)
        if start is None or may_be_for_rank_0(project, file, function, call.at):
            continue
        replicas, _ = find_argument(call, "num_replicas", 1)
        rank, _ = find_argument(call, "rank", 2)
        related = [Related(start.span, "the processes of the job meet here")]
        replicated = _on_both(view, replicas, file, function) if replicas is not None else ()
        if replicas is not None and replicated == (1, 1) and all(type(one) is int for one in replicated):
            yield context.finding(
                "this sampler is made for one process, so every rank goes through all of the data",
                ir.unpack(replicas.at, file),
                related=related,
            )
        elif rank is not None:
            first, second = _on_both(view, rank, file, function)
            # what is the same on some processes only is for those to share who share a part of the job, too
            other = view.view(_ON_OTHER_NODE).ask(rank, file, function)
            if type(first) is int and type(second) is int and first == second == other:
                yield context.finding(
                    f"this sampler is told that its rank is {first} on every rank, so all go through the same part",
                    ir.unpack(rank.at, file),
                    related=related,
                )
            else:
                shared = shared_rank(context, site, starts, start)
                if shared is not None:
                    yield shared


def _swapped(context: CheckContext, starts: list[CallSite]) -> Iterator[Finding]:
    """Samplers whose two numbers stand in each other's place."""
    project: Project = context.project
    views = [(process, DivergenceView.of_project(project).view(process)) for process in _PROBES]
    for site in project.calls_to(set(context.parameters["samplers"])):
        call, file, function = site.site.call, site.file, site.site.function
        start = next((one for one in starts if one.file in family(project, file)), None)
        replicas, _ = find_argument(call, "num_replicas", 1)
        rank, _ = find_argument(call, "rank", 2)
        if start is None or replicas is None or rank is None:
            continue
        if all(
            view.ask(replicas, file, function) == process.rank and view.ask(rank, file, function) == process.world
            for process, view in views
        ):
            yield context.finding(
                "the sampler is given the rank as the number of processes, and their number as its rank",
                ir.unpack(replicas.at, file),
                related=[Related(start.span, "the processes of the job meet here")],
            )


def _on_both(view: DivergenceView, expr: ir.Expr, file: str, function: int) -> tuple[object, object]:
    found = [view.view(process).ask(expr, file, function) for process in (FIRST, SECOND)]
    return (UNKNOWN, UNKNOWN) if UNKNOWN in found else (found[0], found[1])


# An order that each rank draws ----------------------------------------------------------------------------------------


def _order(context: CheckContext, starts: list[CallSite]) -> Iterator[Finding]:
    project: Project = context.project
    draws = context.parameters["draws"]
    for site in project.calls_to(set(draws)):
        kind, generator = draws[site.name]
        generator, _, position = generator.partition(":")
        call = site.site.call
        files = family(project, site.file)
        if not any(one.file in files for one in starts) or _is_on_one(context, site):
            continue
        if not all(all_ranks_go(project, way) for way in ways_to(project, site.file, site.site.function, call.at)):
            continue
        given, certain = (
            find_argument(call, generator, int(position) if position else None) if generator else (None, True)
        )
        if given is not None:
            differing = DivergenceView.of_project(project).of(given, site.file, site.site.function)
            seeded = [(span, True) for span in differing.places[:1]] if differing.differs else [(site.span, False)]
        elif kind == "own":
            seeded = _own_seeds(project, site)
        elif certain:
            seeded = seeds_before(project, site, context.parameters["seeds"][kind])
        else:
            continue
        if any(not by_rank for _, by_rank in seeded):
            continue
        taken = next(_taken(context, site), None)
        if taken is None and not (seeded and _is_split(context, site)):
            continue
        related = [Related(taken, "each rank takes its part by its rank here")] if taken is not None else []
        related += [Related(one, "the seed differs from rank to rank") for one, _ in seeded[:1]]
        if site.name in context.parameters["splits"]:
            why = "seeded by its rank" if seeded else "unseeded"
            message = f"every rank draws this split for itself, {why}: what one trains on another may evaluate on"
        else:
            why = "from a seed of its own" if seeded else "unseeded"
            message = f"every rank draws this order for itself, {why}: the parts that they take of it overlap"
        yield context.finding(message, site.span, related=related)


def _is_on_one(context: CheckContext, site: CallSite) -> bool:
    """Whether a call stands in a hook of a library's class that its trainer calls on one process only."""
    if site.site.function < 0 or "alone" not in context.parameters:
        return False
    function = context.project.module(site.file).functions[site.site.function]
    if function.owner < 0 or function.name not in context.parameters["alone"]:
        return False
    bases = context.project.modules.external_bases(ClassRef(site.file, function.owner))
    return bool(bases & set(context.parameters["bases"]))


def _own_seeds(project: Project, site: CallSite) -> list[tuple[Span, bool]]:
    """The seeds of the generator object that draws, and whether they differ from rank to rank."""
    func = site.site.call.func
    if type(func) is not ir.Attribute:
        return [(site.span, False)]
    found = []
    for one in options_of(project.evaluator(None).ask(func.base, site.file, site.site.function)):
        if not isinstance(one, Instance):
            return [(site.span, False)]
        given = one.call.args[0] if one.call.args else next((word.value for word in one.call.keywords), None)
        if given is not None:
            view = DivergenceView.of_project(project)
            differs = view.of(given, one.frame.file, one.frame.function).differs
            found.append((one.span(), bool(differs)))
    return found


def _is_split(context: CheckContext, site: CallSite) -> bool:
    """Whether a call splits data that all ranks have."""
    given = site.site.call.args[:1]
    if site.name not in context.parameters["splits"] or not given:
        return False
    made = derivation(context.project, given[0], site.file, site.site.function)
    return made.whole and not made.mentions_rank()


def _taken(context: CheckContext, site: CallSite) -> Iterator[Span]:
    """Where a rank takes its part of what was drawn."""
    project: Project = context.project
    call = site.site.call
    body = body_of(project, site.file, site.site.function)
    names = {
        name
        for statement in statements(body)
        if type(statement) is ir.Assign and statement.value is not None and ir.encloses(statement.value.at, call.at)
        for target in statement.targets
        for name in bound_names(target)
    }
    if not names and call.args and type(call.args[0]) is ir.Name:
        names = {call.args[0].id}
    found = list(regions(project, site.file, site.site.function, names))
    found += _of_class(project, site, names)
    if any(_sends(one, region.names) for region in found for one in calls_of(region.body(project))):
        return
    takers = {(one.file, one.site.call.at) for one in project.calls_to(set(context.parameters["takers"]))}
    for region in found:
        yield from _parts(context, region, takers)


def _of_class(project: Project, site: CallSite, names: set[str]) -> Iterator[Region]:
    """The other methods of a class, where what was drawn is kept in attributes of its objects."""
    kept = {name for name in names if name.startswith("self.")}
    functions = project.module(site.file).functions
    owner = functions[site.site.function].owner if site.site.function >= 0 else -1
    if kept and owner >= 0:
        for index, one in enumerate(functions):
            if one.owner == owner and index != site.site.function:
                yield Region(site.file, index, forward(one.body, kept))


def _sends(call: ir.Call, names: frozenset[str]) -> bool:
    """Whether a call may give all ranks what one of them has drawn."""
    name = called_name(call)
    if "reduce" in name or name.startswith("gather"):
        return False
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    deals = _DEALING.search(name) and any(mentions(one, names) for one in given)
    return bool(deals) or joins(call, names)


def _parts(context: CheckContext, region: Region, takers: set[tuple[str, ir.Position]]) -> Iterator[Span]:
    project: Project = context.project
    for statement in statements(region.body(project)):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Subscript and type(part.index) is ir.Slice and mentions(part.base, region.names):
                    if _names_rank(part.index):
                        yield ir.unpack(part.at, region.file)
                if type(part) is ir.Call and _is_sampler(context, part, region.file) and part.args:
                    if mentions(part.args[0], region.names):
                        yield ir.unpack(part.at, region.file)
                if type(part) is ir.Call and (region.file, part.at) in takers:
                    if any(mentions(one, region.names) for one in part.args):
                        yield ir.unpack(part.at, region.file)


def _is_sampler(context: CheckContext, call: ir.Call, file: str) -> bool:
    return context.project.modules.dotted(call.func, file) in context.parameters["samplers"]


def _names_rank(expr: ir.Expr) -> bool:
    for part in below(expr):
        word = part.id if type(part) is ir.Name else part.name if type(part) is ir.Attribute else ""
        if word and RANK_WORDS.search(word):
            return True
    return False


_FAULTS: dict[str, Callable[[CheckContext, list[CallSite]], Iterator[Finding]]] = {
    "fixed": _fixed,
    "swapped": _swapped,
    "order": _order,
}
