"""Samplers that are told a rank which several processes of the job have in common: the number of their node, or their place on it.

Whether two processes share it is seen by asking for it on each process of a job of some shape: that of a known launch, or where there is
none of jobs of two and of eight processes, all of which have to show it. What a program joins its job with says more: in
``rank=number * count + local`` the number is that of the node.
Parameters: ``starts`` (calls that make processes a job), ``variables`` (one of which a launcher tells its processes that starts
several with one command line).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.divergence import DivergenceView
from distlint.checks.option_definitions import option_definition
from distlint.checks.preparing import texts_of
from distlint.checks.programs import family
from distlint.checks.rank_names import PER_PROCESS
from distlint.checks.rank_values import UNKNOWN
from distlint.checks.ranks import SECOND_NODE, Process, RankView
from distlint.checks.registry import CheckContext
from distlint.link.arguments import find_argument
from distlint.link.flow import Bind, Env, Join
from distlint.link.followed import followed
from distlint.link.walking import below, last_name
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.launch import Launch

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_PROCESSES = 64
_ONE_NODE = ((1, 2), (1, 8))
_TWO_NODES = ((2, 2), (2, 8))
_OF_A_NODE = "all processes of a node go through the same part"


class _Shown(NamedTuple):
    """What shows that processes share a number: the message, and the places that lead there."""

    message: str
    related: tuple[Related, ...]


class _Told(NamedTuple):
    """What a sampler is told for its rank: where that stands, and whether it is an option or the number of a node."""

    expr: ir.Expr
    file: str
    function: int
    option: CallSite | None = None
    joined: CallSite | None = None


def shared_rank(context: CheckContext, site: CallSite, starts: list[CallSite], start: CallSite) -> Finding | None:
    """A finding where a sampler is told a rank that it shares with that of another process."""
    call, file, function = site.site.call, site.file, site.site.function
    rank, _ = find_argument(call, "rank", 2)
    replicas, _ = find_argument(call, "num_replicas", 1)
    if rank is None or type(rank) is ir.Constant:
        return None
    search = _Search(context, [one for one in starts if one.file in family(context.project, file)])
    told = search.told(rank, file, function)
    if told is None:
        return None
    for shapes, launch in search.jobs(told):
        shown = search.shared(told, replicas, site, shapes)
        if shown is not None:
            related = [*shown.related]
            if start.span not in {one.span for one in related}:
                related.append(Related(start.span, "the processes of the job meet here"))
            if launch is not None:
                related.append(Related(launch.span, "this starts the processes of the job"))
            return context.finding(shown.message, ir.unpack(rank.at, file), related=related)
    return None


class _Search:
    def __init__(self, context: CheckContext, starts: list[CallSite]) -> None:
        self._context = context
        self._project: Project = context.project
        self._starts = starts

    # What is told ------------------------------------------------------------------------------------------------

    def told(self, rank: ir.Expr, file: str, function: int) -> _Told | None:
        """What a sampler is told; ``None`` where something may still change that."""
        state = self._project.flow(file, function).before(rank.at)
        expr = followed(rank, state)
        option = None
        if type(expr) is ir.Attribute:
            option = option_definition(self._project, expr, file, function)
            if option is not None and self._may_be_set(expr.name, file):
                return None
        joined = next((one for one in self._starts if self._is_node_of(one, expr, option, file, function)), None)
        return _Told(expr, file, function, option, joined)

    def _may_be_set(self, name: str, file: str) -> bool:
        """Whether a program may set an option itself, after the command line was read."""
        files = family(self._project, file)
        if any(one in files for one, _ in self._project.outside_stores(name)):
            return True
        stores = re.compile(
            rf"""^[^=(\n]{{0,200}}\.{name}\s*(?:,[^=(\n]*)?[-+*/%]*=(?!=)|['"]{name}['"]|\bsetattr\(""", re.MULTILINE
        )
        return any(stores.search(self._project.text_of(one)) for one in files)

    def _is_node_of(self, start: CallSite, expr: ir.Expr, option: CallSite | None, file: str, function: int) -> bool:
        """Whether the rank that a job is joined with is worked out from the number as that of a node (``number * count + local``)."""
        given, _ = find_argument(start.site.call, "rank", None)
        if given is None or not texts_of(expr):
            return False
        state = self._project.flow(start.file, start.site.function).before(given.at)
        formula = followed(given, state)
        factors = [
            operand
            for part in below(formula)
            if type(part) is ir.Operation and part.operators == ("*",)
            for operand in part.operands
        ]
        if not any(texts_of(one) == texts_of(expr) for one in factors):
            return False
        if option is None and not (
            type(expr) is ir.Name
            and (start.file, start.site.function) == (file, function)
            and _is_kept(expr.id, self._project.flow(file, function).before(start.site.call.at))
        ):
            return False
        view = RankView(self._project, SECOND_NODE, guess=False, counted=True)
        return bool(view.ask(given, start.file, start.site.function) == SECOND_NODE.rank)

    # Jobs --------------------------------------------------------------------------------------------------------

    def jobs(self, told: _Told) -> Iterator[tuple[tuple[tuple[int, int], ...], Launch | None]]:
        """The shapes (nodes, processes on each) that the job may have, together with what shows them."""
        runs = self._project.runs_reaching(told.file)
        launches = [run.launch for run in runs if run.launch is not None]
        spawning = [one for one in launches if one.launcher.rpartition(".")[2] in PER_PROCESS]
        for launch in launches:
            if launch not in spawning and not launch.provides & set(self._context.parameters["variables"]):
                continue
            nodes, count = launch.nodes.only, launch.processes_per_node.only
            known_nodes = nodes if type(nodes) is int else 1
            if type(count) is int and 1 < known_nodes * count <= MAX_PROCESSES:
                yield ((known_nodes, count),), launch
            elif launch in spawning and type(count) is not int:
                yield _ONE_NODE, launch
        if len(spawning) == len(launches) and (told.option is None or told.joined is not None):
            if not launches:
                yield _ONE_NODE, None
            if self._is_of_nodes():
                yield _TWO_NODES, None

    def _is_of_nodes(self) -> bool:
        """Whether a program works out the rank that it joins its job with from the number of a node."""
        view = RankView(self._project, SECOND_NODE, guess=False, counted=True)
        for one in self._starts:
            given, _ = find_argument(one.site.call, "rank", None)
            if given is not None:
                state = self._project.flow(one.file, one.site.function).before(given.at)
                formula = followed(given, state)
                if any(type(part) is ir.Operation and part.operators == ("*",) for part in below(formula)):
                    if view.ask(given, one.file, one.site.function) == SECOND_NODE.rank:
                        return True
        return False

    # Sharing -----------------------------------------------------------------------------------------------------

    def shared(
        self, told: _Told, replicas: ir.Expr | None, site: CallSite, shapes: tuple[tuple[int, int], ...]
    ) -> _Shown | None:
        """What is said of a number that processes share in jobs of all of some shapes."""
        found: _Shown | None = None
        for nodes, count in shapes:
            processes = [
                Process(rank, rank % count, count, rank // count, nodes, count, nodes * count)
                for rank in range(nodes * count)
            ]
            values = []
            for process in processes:
                view = DivergenceView.of_project(self._project).view(process)
                values.append(self._value(told, view))
                if not self._is_for_all(replicas, site, view) or type(values[-1]) is not int:
                    return None
            found = self._said(told, processes, values)
            if found is None:
                return None
        return found

    def _value(self, told: _Told, view: RankView) -> object:
        if told.joined is not None:
            return view.process.node
        if told.option is None:
            return view.ask(told.expr, told.file, told.function)
        return self._default(told.option, view)

    def _default(self, option: CallSite, view: RankView) -> object:
        """What an option is on a process that is not told it; the processes of one command are told the same."""
        default, _ = find_argument(option.site.call, "default", None)
        if default is None:
            return UNKNOWN
        return view.ask(default, option.file, option.site.function)

    def _is_for_all(self, replicas: ir.Expr | None, site: CallSite, view: RankView) -> bool:
        """Whether a sampler deals out to all processes of the job."""
        if replicas is None or (type(replicas) is ir.Constant and replicas.value is None):
            return True
        file, function = site.file, site.site.function
        asked = view.ask(replicas, file, function)
        if type(replicas) is ir.Attribute and asked is UNKNOWN:
            option = option_definition(self._project, replicas, file, function)
            if option is not None and not self._may_be_set(replicas.name, file):
                asked = self._default(option, view)
        if type(asked) is int:
            return asked == view.process.world
        sizes = [find_argument(one.site.call, "world_size", None)[0] for one in self._starts]
        return any(texts_of(replicas) == (texts_of(one) if one is not None else last_name(replicas)) for one in sizes)

    def _said(self, told: _Told, processes: list[Process], values: list[object]) -> _Shown | None:
        """What is said where two of the processes have the same number."""
        first: dict[object, Process] = {}
        for process, value in zip(processes, values, strict=True):
            before = first.setdefault(value, process)
            if before is not process:
                return _message(told, before, process, value, processes, values)
        return None


def _message(
    told: _Told, one: Process, other: Process, value: object, processes: list[Process], values: list[object]
) -> _Shown:
    if told.joined is not None:
        place = Related(told.joined.span, "the rank of the process is worked out from the number of the node here")
        return _Shown(f"this sampler is told the number of the node for its rank, so {_OF_A_NODE}", (place,))
    if told.option is not None:
        place = Related(told.option.span, "all processes of one command line have the same value of this option")
        return _Shown(
            f"this sampler is told its rank by an option, which tells no process from another, so {_OF_A_NODE}",
            (place,),
        )
    if all(value == process.node for process, value in zip(processes, values, strict=True)):
        return _Shown(f"this sampler is told the number of the node for its rank, so {_OF_A_NODE}", ())
    if all(value == process.local_rank for process, value in zip(processes, values, strict=True)):
        message = "this sampler is told the rank on the node for that of the job, so processes of different nodes go through the same part"
        return _Shown(message, ())
    shared = f"this sampler is told that its rank is {value} on ranks {one.rank} and {other.rank}"
    return _Shown(f"{shared}, so both go through the same part", ())


def _is_kept(name: str, state: Env) -> bool:
    """Whether a variable is bound once before a place, on all ways."""
    place: Env | None = state
    found = 0
    while place is not None:
        if isinstance(place, Join) and name in place.touched:
            return False
        found += isinstance(place, Bind) and place.name == name
        place = place.prev
    return found <= 1
