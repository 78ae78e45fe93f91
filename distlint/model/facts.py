"""What reading one file yields: everything later steps may know of it.

Facts depend on nothing but the file's path, kind and bytes; they are immutable and picklable. That gives the cache, the
worker pool, determinism, and trees that die as soon as they were read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.model.record import dataclass
from distlint.model.source import SourceKind
from distlint.model.span import Span

if TYPE_CHECKING:  # a project without shell scripts should not pay for their classes
    from distlint.model.document import Document
    from distlint.model.pin import Include, Pin
    from distlint.model.python import Module
    from distlint.model.shell import Carried, ShellFacts


@dataclass(frozen=True, slots=True)
class ReadError:
    """A file, or a part of it, that could not be read; what could be read is in the facts all the same.

    ``internal`` marks a failure of our own reader.
    """

    span: Span
    message: str
    internal: bool = False


@dataclass(frozen=True, slots=True)
class Suppression:
    """A ``distlint:`` comment.

    ``form`` is ``ignore``, ``ignore-file``, ``disable`` or ``enable``; ``codes`` what stands in the brackets; ``reason`` the text
    behind them. ``problem`` is non-empty for a comment that is malformed. ``covers`` are the first and last line that it silences
    (for ``disable``: its own line; the matching ``enable`` ends it).
    """

    form: str
    codes: tuple[str, ...]
    reason: str
    span: Span
    covers: tuple[int, int]
    problem: str = ""
    alone: bool = False
    """Whether nothing but the comment stands on its line."""
    margin: int = 0
    """How many blanks stand between the code and the comment."""
    codes_span: Span | None = None
    """Where the codes stand, without the brackets."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The facts of one file. Which of the fields are filled follows from its kind."""

    path: str
    kind: SourceKind
    documents: tuple[Document, ...] = ()
    module: Module | None = None
    shell: ShellFacts | None = None
    pins: tuple[Pin, ...] = ()
    includes: tuple[Include, ...] = ()
    errors: tuple[ReadError, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    loaders: tuple[str, ...] = ()
    """For configuration files: the loaders that accept the text as it is (``json``, ``hjson``, ``yaml`` …)."""
    carried: tuple[Carried, ...] = ()
    """The commands in a file that is no shell script: recipes, steps of workflows, what a container starts."""
