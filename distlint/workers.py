"""Reads many files in several processes.

Files are independent and facts are picklable, so the result is the same as in one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress

from distlint.model.facts import FileFacts
from distlint.model.source import Source
from distlint.read.reader import read_source

MAX_JOBS = 61
"""More processes than the largest pool of any system are not started."""


def _start() -> None:
    import gc

    gc.disable()


def _read_chunk(chunk: list[Source]) -> list[FileFacts]:
    return [read_source(source) for source in chunk]


def read_in_processes(sources: list[Source], jobs: int, progress: Callable[[str, int, int], None]) -> list[FileFacts]:
    """The facts of all sources, in their order. Large files go first, so that no worker is left with one at the end.

    What no process can be had for, or what a process can't hand back, is read in this one.
    """
    order = sorted(range(len(sources)), key=lambda index: (-len(sources[index].data), sources[index].path))
    size = max(1, min(24, len(order) // (jobs * 4) or 1))
    chunks = [order[start : start + size] for start in range(0, len(order), size)]
    facts: dict[int, FileFacts] = {}
    with _pool(min(jobs, len(chunks), MAX_JOBS)) as submit:
        futures = [submit([sources[index] for index in chunk]) for chunk in chunks]
        for chunk, future in zip(chunks, futures, strict=True):
            facts.update(zip(chunk, _result(future, [sources[index] for index in chunk]), strict=True))
            progress("reading", len(facts), len(sources))
    return [facts[index] for index in range(len(sources))]


@contextmanager
def _pool(jobs: int) -> Iterator[Callable[[list[Source]], Future[list[FileFacts]] | None]]:
    """Worker processes, as a function that gives a chunk to them; it gives ``None`` where no process can be started."""
    # A process that is started anew looks for modules in the working directory first, and that may be what we analyse.
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    pool: ProcessPoolExecutor | None = None
    try:
        pool = ProcessPoolExecutor(jobs, initializer=_start)
    except (ImportError, OSError, NotImplementedError):
        pool = None

    def submit(chunk: list[Source]) -> Future[list[FileFacts]] | None:
        try:
            return pool.submit(_read_chunk, chunk) if pool is not None else None
        except (OSError, RuntimeError):
            return None

    try:
        yield submit
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _result(future: Future[list[FileFacts]] | None, chunk: list[Source]) -> list[FileFacts]:
    if future is not None:
        with suppress(Exception):  # the process died, or facts are nested too deeply to be handed over
            return future.result()
    return [read_source(source) for source in chunk]
