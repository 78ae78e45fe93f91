"""Reads many files in several processes. Files are independent and facts are picklable, so the result is the same as in one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from distlint.model.facts import FileFacts
from distlint.model.source import Source
from distlint.read.python import PythonInterests
from distlint.read.reader import read_source

_interests: PythonInterests | None = None


def _start(interests: PythonInterests) -> None:
    import gc

    global _interests  # noqa: PLW0603 - a worker process serves one pool
    _interests = interests
    gc.disable()


def _read_chunk(chunk: list[Source]) -> list[FileFacts]:
    assert _interests is not None  # noqa: S101 - set by the pool's initializer
    return [read_source(source, _interests) for source in chunk]


def read_in_processes(
    sources: list[Source], interests: PythonInterests, jobs: int, progress: Callable[[str, int, int], None]
) -> list[FileFacts]:
    """The facts of all sources, in their order. Large files go first, so that no worker is left with one at the end."""
    order = sorted(range(len(sources)), key=lambda index: (-len(sources[index].data), sources[index].path))
    size = max(1, min(24, len(order) // (jobs * 4) or 1))
    chunks = [order[start : start + size] for start in range(0, len(order), size)]
    facts: list[FileFacts | None] = [None] * len(sources)
    with ProcessPoolExecutor(jobs, initializer=_start, initargs=(interests,)) as pool:
        results = pool.map(_read_chunk, ([sources[index] for index in chunk] for chunk in chunks))
        done = 0
        for chunk, result in zip(chunks, results, strict=True):
            for index, one in zip(chunk, result, strict=True):
                facts[index] = one
            done += len(chunk)
            progress("reading", done, len(sources))
    return [one for one in facts if one is not None]
