"""A rule: everything that distlint knows about one kind of fault, as its TOML file states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from distlint.model.finding import Safety, Severity
from distlint.model.record import dataclass
from distlint.model.value import Confidence


@dataclass(frozen=True, slots=True)
class FixSpec:
    """The ``[fix]`` table: title, safety, and the declared steps (``set``, ``remove``, ``rename`` … by setting path or argument name).

    A rule with a Python check has no steps here: the check makes the plan, with this safety and title unless it knows better.
    """

    safety: Safety
    title: str = ""
    steps: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """The ``[check]`` table: a condition over a subject, or the name of a Python check with its parameters."""

    subject: str = ""
    when: str = ""
    at: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    message: str = ""
    python: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProofSpec:
    """The ``[proof]`` table: what a real run of the rule's cases has to show, or (``unless``) why none can on CPUs.

    ``run`` is the launcher and its options, ``script`` the script that it starts (empty: the one at the top of the case),
    ``arguments`` what that one is given, ``shows`` a regular expression for the output, and ``without`` says of single
    cases why they are not run.
    """

    symptom: str = ""
    run: tuple[str, ...] = ("torchrun",)
    script: str = ""
    arguments: tuple[str, ...] = ()
    shows: str = ""
    without: Mapping[str, str] = field(default_factory=dict)
    unless: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule file. Field meanings are in ``docs/rule-files.md``; ``source`` is the path of the file, for error messages."""

    code: str
    name: str
    framework: str
    summary: str
    explanation: str
    silence: str
    severity: Severity
    confidence: Confidence
    bites: str
    root_cause: str
    symptom: str
    stage: str
    fix_pattern: str
    status: str
    since: str
    versions: Mapping[str, str]
    evidence: tuple[str, ...]
    check: CheckSpec
    help: str = ""
    fix: FixSpec | None = None
    proof: ProofSpec | None = None
    requires: tuple[str, ...] = ()
    """Frameworks that must occur in the project for the rule to be loaded; the rule's own framework when empty."""
    replaced_by: str = ""
    source: str = ""
