"""What a check says, and how it could be mended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum
from typing import Any

from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import Confidence


class Severity(IntEnum):
    """How bad it is if true."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        """The word used in reports and rule files."""
        return self.name.lower()

    @classmethod
    def parse(cls, word: str) -> Severity:
        """The severity for a word; raises ``ValueError`` for any other."""
        try:
            return cls[word.upper()]
        except KeyError:
            raise ValueError(f"unknown severity {word!r}: use error, warning or note") from None


class Safety(IntEnum):
    """Whether a fix may be applied unasked: ``--fix`` applies safe ones, ``--unsafe-fixes`` unsafe ones too, a suggestion is only shown."""

    SUGGESTION = 1
    UNSAFE = 2
    SAFE = 3

    @property
    def word(self) -> str:
        """The word used in reports and rule files."""
        return self.name.lower()

    @classmethod
    def parse(cls, word: str) -> Safety:
        """The safety for a word; raises ``ValueError`` for any other."""
        try:
            return cls[word.upper()]
        except KeyError:
            raise ValueError(f"unknown fix safety {word!r}: use safe, unsafe or suggestion") from None


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the text of a span; an empty span inserts, an empty text deletes."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a fix, in words of the thing that it changes; ``fix/`` turns it into edits when somebody wants them.

    ``kind`` is one of the names in ``fix.operations.OPERATIONS``; ``span`` the place that it works on; ``arguments`` the rest.
    """

    kind: str
    span: Span
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FixPlan:
    """A fix that has not been worked out yet: all of its operations are applied, or none."""

    title: str
    safety: Safety
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Fix:
    """A fix as edits on the text that was analysed, sorted by place, none overlapping."""

    title: str
    safety: Safety
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that the verdict rests on, and what it contributes."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: which rule, where the user should edit, what is wrong with the values here, and why we believe it.

    ``symbol`` is the configuration path or the enclosing function, for fingerprints that survive edits elsewhere. ``runs`` are
    labels of the runs that it concerns. ``help`` is the second line: what happens, and what to do. ``flow`` says that the related
    places are, in their order, the steps of a path that ends at the span (a chain of calls), not just places.
    """

    code: str
    message: str
    span: Span
    severity: Severity
    confidence: Confidence
    related: tuple[Related, ...] = ()
    help: str = ""
    plan: FixPlan | None = None
    symbol: str = ""
    runs: tuple[str, ...] = ()
    flow: bool = False

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Orders findings by place, then code, then text: the same whatever order they were found in."""
        return (*self.span, self.code, self.message)


@dataclass(frozen=True, slots=True)
class ProjectError:
    """A file that could not be read or a rule that failed; the rest of the analysis went on. ``internal`` marks our own failures."""

    file: str
    message: str
    line: int = 0
    internal: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """Why distlint was silent somewhere: a file left out, a value that stayed unknown. Shown by ``--verbose``."""

    span: Span
    message: str
