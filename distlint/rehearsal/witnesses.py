"""The witnesses of a project's runs: each run followed once, as far as the project's budget goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.abstract import Abstract, Frame
from distlint.model import python as ir
from distlint.model.finding import Note
from distlint.model.launch import Run
from distlint.model.span import whole_line
from distlint.rehearsal.performance import Rehearsal, follow
from distlint.rehearsal.player import Player
from distlint.rehearsal.shared import Shared
from distlint.rehearsal.stage import Stage
from distlint.rehearsal.witness import Witness, may_improve, opinion

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.project import Project

MAX_RUNS = 16
"""Runs of a project that are followed, in the order in which it has them."""

MAX_EACH = 20_000
"""Steps of one process."""

UNKNOWN_WORLDS = (2, 8)
"""Where a launch does not tell the number of processes, what it comes to has to be the same with so many."""

MAX_STEPS = 160_000
"""Steps for all of them together."""


class Witnesses:
    """Answers for a project; all runs are followed when the first question comes."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._found: dict[Run, Witness] | None = None
        self._left = MAX_STEPS

    @classmethod
    def of(cls, project: Project) -> Witnesses:
        """Those of a project."""
        found: Witnesses = project.kept.setdefault(cls, cls(project))
        return found

    def of_run(self, run: Run | None) -> Witness | None:
        """The witness of a run; ``None`` where the run was not followed, or is being followed now."""
        if self._found is None:
            self._found = {}  # what is asked meanwhile has no second opinion
            found = {}
            for one in self._project.runs[:MAX_RUNS]:
                made = self._followed(one)
                if made is not None:
                    found[one] = made
            self._found = found
        return self._found.get(run) if run is not None else None

    def _followed(self, run: Run) -> Witness | None:
        if run.script_file not in self._project.facts or run.launch is None:
            return None
        known = run.world_size.only
        worlds = (known,) if isinstance(known, int) and known > 0 else UNKNOWN_WORLDS
        agreed: Witness | None = None
        for world in worlds:
            for rank in sorted({0, world - 1}):
                seen = self._process(run, rank, world)
                if seen is None:
                    return None
                agreed = seen if agreed is None else agreed.agreed(seen)
        return agreed

    def _process(self, run: Run, rank: int, world: int) -> Witness | None:
        if self._left <= 0:
            return None
        stage = Stage(self._project, run.script_file, rank, world)
        stage.shared = Shared()
        stage.usual, stage.run, stage.witness = True, run, Witness()
        stage.most = min(MAX_EACH, self._left)
        try:
            whole = follow(Player(stage, Rehearsal.of(self._project).models), run.script_file, -1)
        except Exception as error:  # the first answers stand, and whoever asks why is told
            message = f"the run of {run.script_file} was not followed: {type(error).__name__}: {error}"
            self._project.notes.append(Note(whole_line(run.script_file), message))
            return None
        self._left -= stage.steps
        stage.witness.entered, stage.witness.is_whole = frozenset(stage.visited), whole
        return stage.witness


def second_opinion(
    project: Project, run: Run, evaluator: Evaluator, expr: ir.Expr, frame: Frame, found: Abstract
) -> Abstract | None:
    """What an argument was seen to be in a run, where nothing better is known; ``None`` where that is not known either."""
    if not may_improve(found):
        return None
    witness = Witnesses.of(project).of_run(run)
    return opinion(witness, evaluator, expr, frame, found) if witness is not None else None
