"""A line on the terminal that says how far a long analysis has come, and that leaves no trace."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

DELAY = 1.0
"""Seconds before anything is shown: most runs are over by then."""
INTERVAL = 0.1
"""Seconds between two updates."""


@contextmanager
def progress_line(
    wanted: bool, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[str, int, int], None] | None]:
    """A callback (stage, done, total) that draws the line; ``None`` if nobody wants it or would see it."""
    out = stream if stream is not None else sys.stderr
    if not wanted or not out.isatty():
        yield None
        return
    line = _Line(out, clock)
    try:
        yield line.update
    finally:
        line.clear()


class _Line:
    def __init__(self, out: TextIO, clock: Callable[[], float]) -> None:
        self._out = out
        self._clock = clock
        self._next = clock() + DELAY
        self._shown = False

    def update(self, stage: str, done: int, total: int) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + INTERVAL
        self._shown = True
        counts = f" {done}/{total}" if total else ""
        self._out.write(f"\r\x1b[K{stage}{counts}")
        self._out.flush()

    def clear(self) -> None:
        if self._shown:
            self._out.write("\r\x1b[K")
            self._out.flush()
