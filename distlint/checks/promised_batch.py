"""Batches that the program calls those of all processes together, and each process gets as its own, at once or over several rounds.

Parameters: ``loaders`` with their ``signature``, ``samplers`` (classes that part the data between the processes), ``prepare`` (calls that
do), ``settings`` (calls with the parameter that is the batch of one process), ``several`` (names that only programs with several processes
have).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.accumulated_twice import rounds_of_loops
from distlint.checks.derivations import Part
from distlint.checks.loaders import argument_of, made_at
from distlint.checks.made_of import made_of, name_of, sources
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.scaled_twice import divider, is_given
from distlint.checks.world_degree import Degrees
from distlint.link.abstract import Instance
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

_PROMISING = re.compile(
    r"^(?:global|total|effective|overall)_?(?:train(?:ing)?_?)?(?:batch|bs)(?:_?size)?$", re.IGNORECASE
)
"""Names of the batch of all processes together."""
_DIVIDING = re.compile(
    r"world|ranks?(?:_|$)|gpus?(?:_|$)|devices?(?:_|$)|nodes?(?:_|$)|proc|replica|parallel|shard|worker|(?:^|_)(?:dp|ddp|local)(?:_|$)",
    re.IGNORECASE,
)
"""Names that may stand for the number of processes, or say that something is a part."""
_PER_PROCESS = re.compile(r"(?:_|^)per_(?:gpu|device|rank|process|proc|worker|replica|node)(?=_|$)", re.IGNORECASE)
"""What says of the batch of one round that it is that of one process."""
_AROUND = frozenset({"max", "int", "ceil", "floor", "round"})


@check("promised-batch")
def promised_batch(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such batch."""
    for given, site, related in _batches(context):
        promised = _promised(context.project, given, site.file, site.site.function)
        if promised is None:
            continue
        yield context.finding(
            f"each process gets `{name_of(promised.expr)}` samples at once, so all together take more by their number",
            ir.unpack(given.at, site.file),
            related=related,
            symbol=name_of(promised.expr),
        )
    yield from _rounds(context)


def _rounds(context: CheckContext) -> Iterator[Finding]:
    """A finding for each number of rounds that brings every process to the batch of all."""
    project: Project = context.project
    signature = context.parameters["signature"]
    told = set()
    for site in project.calls_to(set(context.parameters["loaders"])):
        given, _ = find_argument(site.site.call, "batch_size", signature.index("batch_size"))
        parted = None if given is None else _parted(context, site)
        if given is None or parted is None:
            continue
        degree = Degrees(project).of(given, site.file, site.site.function)
        if degree is None or degree.power != 0:
            continue
        for rounds in rounds_of_loops(context, site):
            found = None if rounds.degree.power != 0 else _quotient(project, rounds.number)
            if found is None or (found.expr.at, found.file) in told:
                continue
            whole, round_of = found.expr.operands  # type: ignore[union-attr]
            promised = _promised(project, whole, found.file, found.function)
            if promised is None or not _is_round(project, found._replace(expr=round_of), given, site):
                continue
            told.add((found.expr.at, found.file))
            yield context.finding(
                f"each process adds up `{name_of(promised.expr)}` samples before a step, so all together take more by their number",
                ir.unpack(found.expr.at, found.file),
                related=[
                    Related(ir.unpack(given.at, site.file), "this is the batch of one process in one round"),
                    Related(parted, "this gives each process its part of the data"),
                ],
                symbol=name_of(promised.expr),
                help="each step takes more samples than the name says, by the number of processes: divide the rounds by the world size",
            )


def _quotient(project: Project, number: Part) -> Part | None:
    """The only division that a number can come from."""
    for _ in range(8):
        expr = number.expr
        if type(expr) is ir.Operation:
            return number if expr.operators in (("//",), ("/",)) else None
        if type(expr) is ir.Call and name_of(expr.func) in _AROUND:
            found = [number._replace(expr=one) for one in expr.args if type(one) is not ir.Constant]
        else:
            found = sources(project, number)
        if len(found) != 1:
            return None
        number = found[0]
    return None


def _is_round(project: Project, part: Part, given: ir.Expr, site: CallSite) -> bool:
    """Whether what something is divided by is the batch that a loader is given, and has nothing to do with the number of processes."""
    names = set()
    for one in made_of(project, part):
        name = name_of(one.expr)
        if one.fixed or _DIVIDING.search(_PER_PROCESS.sub("", name)):
            return False
        names.add(name)
    batch = {name_of(one.expr) for one in made_of(project, Part(given, site.file, site.site.function))}
    return bool((names & batch) - {""})


def _batches(context: CheckContext) -> Iterator[tuple[ir.Expr, CallSite, list[Related]]]:
    """The batches of one process: what is given as such, where, and what makes it one of several."""
    project: Project = context.project
    settings = context.parameters["settings"]
    for site in project.calls_to(set(settings)):
        given, _ = find_argument(site.site.call, settings[site.name], None)
        if given is not None and _has_several(context, site.file):
            yield given, site, []
    signature = context.parameters["signature"]
    for site in project.calls_to(set(context.parameters["loaders"])):
        given, _ = find_argument(site.site.call, "batch_size", signature.index("batch_size"))
        if given is not None and type(given) is not ir.Constant:
            parted = _parted(context, site)
            if parted is not None:
                yield given, site, [Related(parted, "this gives each process its part of the data")]


def _parted(context: CheckContext, site: CallSite) -> Span | None:
    """What parts the data of a loader between the processes, where that leaves the size of its batches as it is."""
    project: Project = context.project
    _, options, _ = argument_of(project, made_at(project, site), "sampler", context.parameters["signature"])
    evaluator = project.evaluator(None)
    made = [one for one in options if isinstance(one, Instance)]
    names = tuple(context.parameters["samplers"])
    if made and all(evaluator.instance_name(one).startswith(names) for one in made):
        return ir.unpack(made[0].call.at, made[0].frame.file)
    if divider(context, site) is None:
        for found in project.calls_to(set(context.parameters["prepare"])):
            if is_given(project, found, site):
                return found.span
    return None


def _has_several(context: CheckContext, file: str) -> bool:
    """Whether a program is seen to be one of several processes."""
    project: Project = context.project
    if any(isinstance(run.world_size.only, int) and run.world_size.only > 1 for run in project.runs_reaching(file)):
        return True
    texts = [project.text_of(one) for one in family(project, file) if one in project.facts]
    return any(name in text for name in context.parameters["several"] for text in texts)


def _promised(project: Project, given: ir.Expr, file: str, function: int) -> Part | None:
    """The name of the batch of all processes that a batch is made of, where nothing else in it may be their number."""
    found = None
    for part in made_of(project, Part(given, file, function)):
        name = name_of(part.expr)
        if part.fixed or _DIVIDING.search(name):
            return None
        if found is None and _PROMISING.match(name):
            found = part
    if found is None:
        return None
    degree = Degrees(project).of(given, file, function)
    return found if degree is not None and degree.power == 0 else None
