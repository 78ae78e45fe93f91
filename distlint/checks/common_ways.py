"""On which ways all ranks of a job come to a place at about the same time.

Parameters of a rule that asks: ``starts`` (calls that make processes a job), ``perhaps`` (calls that do so if the program is started in
several processes, which ``signs``, words of the program, or a launch tell), ``trainers``, ``several`` and ``bases`` (see
``module_hooks``: trainers that call hooks of the program's classes in every process) with ``hooks`` (their names),
``waiting`` (names of calls that wait for the other ranks).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.hooked import hooked_classes
from distlint.checks.programs import is_started_together
from distlint.checks.rank_ways import Way, all_ranks_go, in_many_processes, only_rank_0_goes, waits_by_turns, ways_to
from distlint.link.modules import FunctionRef
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.finding import Related

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import CallSite, Project


class Jobs(NamedTuple):
    """What makes the processes of a project's programs jobs: calls, and hooks that a library calls in every process of one."""

    starts: list[CallSite]
    hooks: Mapping[FunctionRef, CallSite]
    waiting: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.starts or self.hooks)


def jobs_of(context: CheckContext) -> Jobs:
    """The jobs of a project, for a rule with the parameters of this module."""
    project: Project = context.project
    parameters = context.parameters
    starts = list(project.calls_to(set(parameters["starts"])))
    for one in project.calls_to(set(parameters.get("perhaps", ()))):
        if is_started_together(project, one.file, parameters["signs"]):
            starts.append(one)
    hooks = dict[FunctionRef, "CallSite"]()
    for hooked in hooked_classes(context) if "trainers" in parameters else ():
        for name, index in hooked.indexes.items():
            if name in parameters["hooks"]:
                hooks[FunctionRef(hooked.owner.file, index)] = hooked.trainer
    return Jobs(starts, hooks, tuple(parameters["waiting"]))


def ways_of_all(project: Project, found: CallSite, jobs: Jobs) -> Iterator[tuple[Way, CallSite]]:
    """The ways on which all ranks of a job come to a call, with the call that starts the job.

    Where rank 0 comes there alone too, and the call is made only if something is not there yet, that was done for the others.
    """
    ways = list(ways_to(project, found.file, found.site.function, found.site.call.at, entries=frozenset(jobs.hooks)))
    prepared = any(only_rank_0_goes(project, way) is not None for way in ways)
    for way in ways:
        hook = jobs.hooks.get(way.entered[0]) if way.entered else None
        start = hook if hook is not None else in_many_processes(project, way, jobs.starts)
        if start is None or not all_ranks_go(project, way) or (prepared and any(True for _ in tests_of(way))):
            continue
        if not _goes_by_turns(project, way, jobs.waiting):
            yield way, start


def _goes_by_turns(project: Project, way: Way, waiting: tuple[str, ...]) -> bool:
    """Whether a function on a way lets ranks wait for each other, so that one of them goes first."""
    places = [(way.top, -1), *((one.file, one.index) for one in way.entered)]
    return any(waits_by_turns(project, file, function, waiting) for file, function in places)


def tests_of(way: Way) -> Iterator[Related]:
    """The tests whether something is there: they may find the same on all ranks."""
    for test in way.tests:
        expr = test.guard.test
        if expr is not None and any(
            type(part) is ir.Attribute and part.name in ("exists", "isdir", "is_dir", "isfile", "is_file")
            for part in below(expr)
        ):
            yield Related(
                ir.unpack(expr.at, test.file), "several ranks may pass this test before one of them has done it"
            )
