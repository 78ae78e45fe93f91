"""The result of a check, as every face of distlint shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from distlint.model.facts import Suppression
from distlint.model.finding import Finding, Note, ProjectError, Severity
from distlint.model.record import dataclass
from distlint.model.rule import Rule


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that a comment or a setting silences: ``where`` is the comment, or ``None`` for a setting with its ``reason``."""

    finding: Finding
    where: Suppression | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run of distlint found out.

    ``text`` gives the analysed text of a project file (an editor's buffer where there is one), which renderers and fixes need.
    ``statistics`` are counts for the summary: files seen, read and skipped, runs, seconds are never part of it.
    """

    root: str
    findings: tuple[Finding, ...]
    rules: Mapping[str, Rule]
    text: Callable[[str], str]
    suppressed: tuple[Suppressed, ...] = ()
    errors: tuple[ProjectError, ...] = ()
    notes: tuple[Note, ...] = ()
    statistics: Mapping[str, int] = field(default_factory=dict)
    project: Any = None
    frameworks: frozenset[str] = frozenset()
    """The frameworks that some file of the project names."""
    scopes: tuple[str, ...] = ()
    """The paths that were asked for, relative to the root; ``""`` for all of it."""

    def worst(self) -> Severity | None:
        """The highest severity among the findings."""
        return max((finding.severity for finding in self.findings), default=None)
