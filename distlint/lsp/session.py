"""When a project is analysed: a moment after its last change, off the event loop, and only the newest state counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from distlint.lsp.snapshot import Analyse, Analysis, Snapshot, analyse_snapshot
from distlint.model.record import dataclass

QUIET_SECONDS = 0.3
"""How long a project must be left alone before it is analysed."""


@dataclass(slots=True)
class _Project:
    generation: int = 0
    timer: asyncio.TimerHandle | None = None
    task: asyncio.Task[None] | None = None
    analysis: Analysis | None = None


class Session:
    """Schedules analyses. Everything but ``analyse`` itself runs on the event loop.

    ``snapshot`` freezes the present state of a project, ``publish`` is called with each analysis that is still up to
    date when it ends, ``failed`` with the exception of one that broke.
    """

    def __init__(
        self,
        analyse: Analyse,
        snapshot: Callable[[Path, int], Snapshot],
        publish: Callable[[Analysis], None],
        failed: Callable[[Path, Exception], None],
    ) -> None:
        self._analyse = analyse
        self._snapshot = snapshot
        self._publish = publish
        self._failed = failed
        self._projects: dict[Path, _Project] = {}
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="analysis")

    def touch(self, folder: Path, delay: float = QUIET_SECONDS) -> None:
        """Says that something of a project has changed: results under way are out of date, a new analysis is due."""
        project = self._projects.setdefault(folder, _Project())
        project.generation += 1
        if project.timer is not None:
            project.timer.cancel()
        project.timer = asyncio.get_running_loop().call_later(delay, self._start, folder, project)

    def forget(self, folder: Path) -> None:
        """Drops a project; an analysis of it that is under way ends unseen."""
        project = self._projects.pop(folder, None)
        if project is not None:
            project.generation += 1
            if project.timer is not None:
                project.timer.cancel()

    def folders(self) -> list[Path]:
        """The projects that are being looked after."""
        return list(self._projects)

    def latest(self, folder: Path) -> Analysis | None:
        """The analysis of a project as it is now, or ``None`` while there is none."""
        project = self._projects.get(folder)
        if project is None or project.analysis is None:
            return None
        return project.analysis if project.analysis.snapshot.generation == project.generation else None

    async def fresh(self, folder: Path) -> Analysis | None:
        """The analysis of a project as it is now, made at once if need be; ``None`` if it fails."""
        project = self._projects.get(folder)
        while project is not None and self.latest(folder) is None:
            generation = project.generation
            self._start(folder, project)
            if project.task is not None:
                await project.task
            if project.generation == generation:
                break
        return self.latest(folder)

    def _start(self, folder: Path, project: _Project) -> None:
        if project.timer is not None:
            project.timer.cancel()
            project.timer = None
        if project.task is None or project.task.done():
            project.task = asyncio.get_running_loop().create_task(self._run(folder, project))

    async def _run(self, folder: Path, project: _Project) -> None:
        """Analyses until the result is up to date, or until a timer will start the next analysis anyway."""
        while project.timer is None and self._projects.get(folder) is project:
            snapshot = self._snapshot(folder, project.generation)
            try:
                analysis = await asyncio.get_running_loop().run_in_executor(
                    self._worker, analyse_snapshot, snapshot, self._analyse
                )
            except Exception as error:
                self._failed(folder, error)
                if project.generation == snapshot.generation:
                    return
                continue
            if project.generation == snapshot.generation:
                project.analysis = analysis
                self._publish(analysis)
                return
