"""What each of some processes of a script does: the rehearsal of a whole program, for every process."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.link.modules import FunctionRef
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.rehearsal.entities import FunctionValue, Work
from distlint.rehearsal.files import met
from distlint.rehearsal.libraries import Libraries
from distlint.rehearsal.player import Player
from distlint.rehearsal.shared import Shared
from distlint.rehearsal.stage import CONTINUED, MAX_EXACT, Enough, Event, Left, Stage
from distlint.rehearsal.trace import End
from distlint.rehearsal.twins import twins
from distlint.rehearsal.values import Given, escape

if TYPE_CHECKING:
    from distlint.link.project import Project

OTHER_WORLD = 8
"""Where the number of processes is not known, what is wrong has to be wrong for two and for so many."""

PER_NODE = 2
"""Processes on each of the nodes that a program is rehearsed on."""
OTHER_SIZES = (4, 8, 3)
"""Where a program refuses to run with two processes, these are tried."""

MAX_DECLARED = 64
MAX_WORLD = 8
"""Processes that are followed; of larger jobs the first ones and the last."""

MAX_TOTAL = 900_000
"""Steps for the whole project."""

MAX_USUAL = 300_000
"""Steps for the programs of the project as they are started without options."""

MAX_CHEAP = 4_000
"""Steps of a process of which not all turns of loops were followed, so that they may be."""

MAX_EXACT_STEPS = 24_000

MAX_EVENTS = 500
"""Operations of a process of which all turns of loops were followed, so that they can be compared."""

MAX_ALONE = 200
"""Functions that are looked at by themselves."""


class Performance(NamedTuple):
    """What the processes of a script do. ``world`` is their number, ``told`` whether the project says so."""

    file: str
    function: int
    world: int
    told: bool
    stages: tuple[Stage, ...]
    complete: bool
    """Whether every process was followed to its end."""
    usual: bool = False
    """Whether options that nobody is known to give have their defaults, settings are those of the project's files, and lists have some
    length that tests may leave."""

    @property
    def refused(self) -> bool:
        """Whether the program ends every process with an exception (an ``assert`` of its number, most often)."""
        return all(stage.refused for stage in self.stages)

    def supposes(self, *, counts: bool = False) -> str:
        """What is supposed of the program, for the end of a message; ``counts`` says whether lengths of lists may matter."""
        words = []
        if self.usual and any(stage.has_defaults for stage in self.stages):
            words.append("with the defaults of the options")
        files = sorted({file for stage in self.stages for file in stage.configurations}) if self.usual else []
        if files:
            words.append(f"with the settings of {' and '.join(f'`{file}`' for file in files)}")
        if counts and self.usual and any(stage.has_left_over for stage in self.stages):
            words.append("where a test leaves a number of items that can't be dealt out evenly")
        return f" ({', '.join(words)})" if words else ""


class _Job(NamedTuple):
    """What is rehearsed, and with how many processes; ``per_node`` of them on a node, all where it is zero.

    ``told`` and ``usual`` are as in ``Performance``.
    """

    file: str
    function: int
    world: int
    told: bool
    usual: bool
    per_node: int = 0


class Rehearsal:
    """The performances of a project, made once."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._left = {False: MAX_TOTAL, True: MAX_USUAL}
        """Steps that are left for programs as such, and for programs started without options."""
        self._found: list[Performance] | None = None
        self._again: dict[_Job, Performance | None] = {}
        self._by_default: dict[tuple[str, int], Performance | None] = {}
        names = [spec.rehearsed for spec in project.specs if spec.rehearsed]
        self.models = Libraries(project, [importlib.import_module(name).MODELS for name in names]) if names else None
        self.words = tuple(word for spec in project.specs for word in spec.rehearsed_calls)

    @classmethod
    def of(cls, project: Project) -> Rehearsal:
        """The rehearsal of a project."""
        found = project.kept.get(cls)
        if found is None:
            found = project.kept[cls] = cls(project)
        assert isinstance(found, Rehearsal)  # noqa: S101 - stored just above
        return found

    def performances(self) -> list[Performance]:
        """For each script, and each function that no script was seen to reach, what its processes do.

        A module that calls such operations while it runs is a script as well.

        Where the number of processes is not known it is taken to be two; see ``again``.
        """
        if self._found is None:
            self._found = []
            if self.models is not None:
                self._find(self._found)
        return self._found

    def again(self, first: Performance) -> Performance | None:
        """The same with more processes, where their number is not known; ``None`` where the program itself says it."""
        return self._of_size(first, OTHER_WORLD)

    def with_processes(self, first: Performance, processes: int) -> Performance:
        """The same with a number of processes, where it is not known; where the program says another, that one."""
        return self._of_size(first, processes) or first

    def on_nodes(self, first: Performance) -> Performance | None:
        """The same on two nodes with two processes each; ``None`` where the program says where it runs, or minds no nodes."""
        minds = any(stage.minds_nodes for stage in first.stages)
        return self._of_size(first, 2 * PER_NODE, PER_NODE) if minds else None

    def by_default(self, first: Performance) -> Performance | None:
        """The same program as it usually goes; ``None`` where it does so anyway.

        It is started without options, so that these have their defaults, with the settings that stand in the project's files,
        and tests leave some number of a list's items.
        """
        key = (first.file, first.function)
        if key not in self._by_default:
            asks = first.function < 0 and any(_supposes_more(stage) for stage in first.stages)
            found = self._performed(*key, set(), usual=True) if asks else None
            self._by_default[key] = found
        return self._by_default[key]

    def every_performance(self) -> Iterator[Performance]:
        """The programs, and after them those that ask for options, started without any.

        What is wrong with the defaults is wrong; what is right with them may still be wrong without.
        """
        yield from self.performances()
        for first in self.performances():
            found = self.by_default(first)
            if found is not None:
                yield found

    def _of_size(self, first: Performance, processes: int, per_node: int = 0) -> Performance | None:
        job = _Job(first.file, first.function, processes, told=False, usual=first.usual, per_node=per_node)
        if job not in self._again:
            other = None if first.told else self._one(job, set())
            if other is not None and any(stage.declared for stage in other.stages):
                other = None
            if other is not None and other.refused and not first.refused:
                other = None
            self._again[job] = other
        return self._again[job]

    def _find(self, found: list[Performance]) -> None:
        project = self.project
        holders = self._holders()
        if not holders:
            return
        files = {ref[0] for ref in holders}
        visited: set[FunctionRef] = set()
        for file in project.python_files:
            if not ((file, -1) in holders or self._starts(file, holders)) or files.isdisjoint(project.closure(file)):
                continue
            made = self._performed(file, -1, visited)
            if made is not None and any(stage.events or stage.faults for stage in made.stages):
                found.append(made)
        alone = 0
        for file, function in sorted(holders):
            ref = FunctionRef(file, function)
            if function < 0 or ref in visited or alone >= MAX_ALONE:
                continue
            alone += 1
            made = self._performed(file, function, visited)
            if made is not None and any(stage.events or stage.faults for stage in made.stages):
                found.append(made)

    def _starts(self, file: str, holders: set[tuple[str, int]]) -> bool:
        """Whether a file is a program: it has a main block, calls its own functions as it is read, or a launch starts it.

        One that calls, as it is read, a function of another module that makes such operations is a program as well.
        """
        module = self.project.module(file)
        if module.is_script or _calls_itself(module) or any(run.script_file == file for run in self.project.runs):
            return True
        top = [site.call for sites in module.calls.values() for site in sites if site.function < 0]
        found = (self.project.modules.resolve(call.func, file) for call in top)
        return any(isinstance(ref, FunctionRef) and (ref.file, ref.index) in holders for ref in found)

    def _holders(self) -> set[tuple[str, int]]:
        """The functions with calls of operations that processes make together, by the last names of these."""
        found = set()
        for word in self.words:
            for site in self.project.sites(word):
                found.add((site.file, site.site.function))
        return found

    def _performed(
        self, file: str, function: int, visited: set[FunctionRef], *, usual: bool = False
    ) -> Performance | None:
        sizes = {run.world_size.only for run in self.project.runs_reaching(file)}
        known = sorted(size for size in sizes if isinstance(size, int) and size > 1)
        told = len(known) == 1 and len(sizes) == 1
        job = _Job(file, function, known[0] if told else 2, told=told, usual=usual)
        first = self._one(job, visited)
        declared = None if first is None else next((one.declared for one in first.stages if one.declared), None)
        if declared is not None and 1 < declared <= MAX_DECLARED and not told:
            return self._one(job._replace(world=declared, told=True), visited)
        if first is not None and first.refused and not told:
            for size in OTHER_SIZES:
                other = self._one(job._replace(world=size, told=True), visited)
                if other is not None and not other.refused:
                    return other
        return first

    def _one(self, job: _Job, visited: set[FunctionRef]) -> Performance | None:
        shared = Shared()
        found = self._all(job, visited, shared)
        if found is None:
            return None
        differing = shared.found(len(found.stages) if found.complete else 0)
        wanted = frozenset(place for place, ranks in shared.absent.items() if len(ranks) < len(found.stages))
        others = twins(found.stages)
        if differing or wanted or others:
            found = self._all(job, visited, Shared(differing, wanted, others))
            if found is None:
                return None
        return self._exactly(found, job, visited, Shared(differing, wanted, others)) or found

    def _exactly(self, found: Performance, job: _Job, visited: set[FunctionRef], shared: Shared) -> Performance | None:
        """The same turn by turn, where loops are short enough for that and a turn costs little; ``None`` where not.

        So many turns are followed that lists which a program goes through in parts are told apart as well, if that does not cost too much.
        """
        longest = max(stage.longest for stage in found.stages)
        listed = max(stage.listed for stage in found.stages)
        costs = max(stage.steps for stage in found.stages)
        if not found.complete or costs > MAX_CHEAP or longest > MAX_EXACT:
            return None
        tried = [listed] if listed > longest else []
        tried += [longest] if longest else []
        made = (self._turn_by_turn(job, visited, shared, turns) for turns in tried)
        return next((one for one in made if one is not None), None)

    def _turn_by_turn(self, job: _Job, visited: set[FunctionRef], shared: Shared, turns: int) -> Performance | None:
        """So many turns of each loop, one by one; ``None`` where that is too much."""
        shared = Shared(shared.differing, shared.wanted, shared.twins)
        made = self._all(job, visited, shared, turns=turns)
        more = shared.found(len(made.stages) if made is not None else 0) - shared.differing
        if made is not None and made.complete and more:
            shared = Shared(shared.differing | more, shared.wanted, shared.twins)
            made = self._all(job, visited, shared, turns=turns)
        fits = made is not None and made.complete and all(len(one.events) <= MAX_EVENTS for one in made.stages)
        return made if fits else None

    def _all(self, job: _Job, visited: set[FunctionRef], shared: Shared, *, turns: int = 0) -> Performance | None:
        world = job.world
        ranks = range(world) if world <= MAX_WORLD else (0, 1, world - 1)
        stages: list[Stage] = []
        complete = True
        for rank in ranks:
            if self._left[job.usual] < 0:
                return None
            if not complete and len(stages) > 1:
                break
            stage = Stage(self.project, job.file, rank, world, job.per_node)
            stage.alone = job.function >= 0
            stage.shared = shared
            stage.usual = job.usual
            if turns:
                # a loop in which nothing is done together is followed no less than before
                stage.turns, stage.most = max(turns, stage.turns), MAX_EXACT_STEPS
            player = Player(stage, self.models)
            complete = follow(player, job.file, job.function) and complete
            met(stage)
            self._left[job.usual] -= stage.steps
            visited |= stage.visited
            stages.append(stage)
        whole = complete and world <= MAX_WORLD
        return Performance(job.file, job.function, world, job.told, tuple(stages), whole, job.usual)


def _supposes_more(stage: Stage) -> bool:
    """Whether more is known of a process where a program goes as it usually does."""
    return stage.has_defaults or stage.has_left_over or bool(stage.configurations)


def _calls_itself(module: ir.Module) -> bool:
    """Whether the top level of a module calls a function of the module and has no use for what that gives: ``main()``.

    It may stand in a loop, under a test or in a block: ``for stage in STAGES: train(stage)``.
    """
    own = {one.name for one in module.functions if one.owner < 0 and one.parent < 0}
    return any(type(one) is ir.Evaluate and _calls_any(one.value, own) for one in statements(module.body))


def _calls_any(expr: ir.Expr, names: set[str]) -> bool:
    """Whether an expression is a call of one of some functions, or of something with what one of them gives (``sys.exit(main())``)."""
    if type(expr) is not ir.Call:
        return False
    named = type(expr.func) is ir.Name and expr.func.id in names
    return named or any(_calls_any(one, names) for one in expr.args)


def follow(player: Player, file: str, function: int) -> bool:
    """Follows one process; false where not to its end."""
    trace = player.stage.trace
    try:
        if function < 0:
            player.module_scope(file)
        else:
            _start(player, FunctionRef(file, function))
    except Left as left:
        trace.append(End(left.kind))
        player.stage.refused |= left.kind == "raise"
    except Enough:
        trace.append(End("cut"))
        return False
    except RecursionError:
        trace.append(End("cut"))
        return False
    return True


def unfinished(stage: Stage) -> list[Work]:
    """Operations under way that a process certainly never waits for.

    Of a function inside another one that is followed without its callers, what is around it may wait for them.
    """
    return [
        work
        for event in stage.events
        if isinstance(work := event.seen.get("work"), Work) and not work.done and not work.loose
        if CONTINUED not in event.seen and not (stage.alone and _is_inner(stage, event))
    ]


def _is_inner(stage: Stage, event: Event) -> bool:
    return event.function >= 0 and stage.project.module(event.file).functions[event.function].parent >= 0


def _start(player: Player, ref: FunctionRef) -> None:
    """Follows one function of whose callers nothing is known."""
    module = player.module_scope(ref.file)
    found = player.call_function(FunctionValue(ref, module), Given([], {}, is_open=True), None, module)
    escape(found)  # the callers may wait for what they are given
