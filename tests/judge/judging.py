"""Subjects and rules for the tests of judging."""

from __future__ import annotations

from typing import Any

from packaging.specifiers import SpecifierSet

from distlint.judge.rulefile import parse_rule
from distlint.model.rule import Rule
from distlint.model.span import Span
from distlint.model.subject import Setting, Subject, SubjectKind
from distlint.model.value import Value, absent, known

FILE = "config.json"

RULE = """\
code = "XY101"
name = "offload-needs-stage3"
framework = "engine"
root-cause = "configuration-error"
symptom = "crash"
stage = "initialization"
bites = "start-up"
severity = "error"
confidence = "certain"
fix-pattern = "parameter"
status = "stable"
since = "0.1"
evidence = ["engine#1"]
summary = "Offloading works with stage 3 only"
explanation = "It aborts."
silence = "Where the stage is not known."
help = "the engine aborts at start-up: use stage 3"

[check]
subject = "engine"
when = "enabled(zero.offload) and zero.stage != 3"
at = "zero.offload"
message = "`offload` needs stage 3, but `stage` is {zero.stage}"

[fix]
safety = "unsafe"
title = "set `stage` to 3"
set = { "zero.stage" = 3 }
"""


class FakeVersions:
    """Versions as pins allow them, oldest first, by package."""

    def __init__(self, pinned: bool = True, **allowed: list[str]) -> None:
        self._allowed = allowed
        self._pinned = pinned

    def is_pinned(self, package: str) -> bool:
        return self._pinned and package in self._allowed

    def test(self, package: str, specifier: str) -> bool | None:
        answers = {SpecifierSet(specifier).contains(version) for version in self._allowed.get(package, [])}
        return answers.pop() if len(answers) == 1 else None

    def newest(self, package: str) -> str:
        return (self._allowed.get(package) or [""])[-1]

    def allowed(self, package: str) -> list[str]:
        return self._allowed.get(package, [])

    def span(self, package: str) -> Span | None:
        return Span("requirements.txt", 1, 1, 1, 9) if package in self._allowed else None


def place(line: int, file: str = FILE) -> Span:
    return Span(file, line, 3, line, 9)


def setting(path: str, value: Any, line: int, **more: Any) -> Setting:
    held = value if isinstance(value, Value) else known(value)
    return Setting(path, held, place(line), Span(FILE, line, 11, line, 14), **more)


def subject(settings: dict[str, Any] | None = None, **more: Any) -> Subject:
    """A subject whose settings stand on the lines 1, 2, 3 … in their order."""
    defaults = more.pop("defaults", {})
    written = {
        path: value if isinstance(value, Setting) else setting(path, value, line)
        for line, (path, value) in enumerate((settings or {}).items(), 1)
    }
    more.setdefault("versions", FakeVersions())
    more.setdefault("default", lambda path: defaults.get(path, absent()))
    return Subject("engine", FILE, Span(FILE, 1, 1, 1, 1), written, **more)


def rule(text: str = RULE, *changes: tuple[str, str]) -> Rule:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_rule(text, "rules/XY101.toml")


def kind(*subjects: Subject) -> SubjectKind:
    return SubjectKind("engine", "engine", lambda path: not path.startswith("typo"), lambda project: subjects)
