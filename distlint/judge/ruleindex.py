"""The rule index: many rule files as one file of JSON lines, of which a run parses only what it needs.

The first line lists the heads of all rules; each further line holds the rules of one framework in full.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from distlint.model.finding import Safety, Severity
from distlint.model.rule import CheckSpec, FixSpec, ProofSpec, Rule
from distlint.model.value import Confidence

FORMAT = 2
"""Raised whenever the shape of the index changes; an index of another format is made anew."""

_TEXTS = (
    "code",
    "name",
    "framework",
    "summary",
    "explanation",
    "silence",
    "bites",
    "root_cause",
    "symptom",
    "stage",
    "fix_pattern",
    "status",
    "since",
    "help",
    "replaced_by",
    "source",
)


_PROOF = ("symptom", "run", "script", "arguments", "shows", "without", "unless")


class RuleHead(NamedTuple):
    """What selection and dispatch need to know of a rule before it is loaded."""

    code: str
    name: str
    framework: str
    root_cause: str
    status: str
    replaced_by: str
    requires: tuple[str, ...]


class RuleIndex(NamedTuple):
    """An index that was read: the heads of all rules, and the unparsed line of each framework."""

    heads: tuple[RuleHead, ...]
    lines: Mapping[str, str]

    def rules(self, framework: str) -> list[Rule]:
        """The rules of one framework, in the order of their codes."""
        return list(_rules(self.lines[framework])) if framework in self.lines else []


def head_of(rule: Rule) -> RuleHead:
    """The head of a rule."""
    return RuleHead(rule.code, rule.name, rule.framework, rule.root_cause, rule.status, rule.replaced_by, rule.requires)


def write_index(rules: Iterable[Rule], key: str = "") -> str:
    """The text of an index. ``key`` says what it was made from, for ``read_index`` to compare."""
    ordered = sorted(rules, key=lambda rule: rule.code)
    frameworks = sorted({rule.framework for rule in ordered})
    header = {
        "format": FORMAT,
        "key": key,
        "frameworks": frameworks,
        "heads": [head_of(rule) for rule in ordered],
    }
    records = [[_record(rule) for rule in ordered if rule.framework == name] for name in frameworks]
    return "".join(f"{_dump(line)}\n" for line in (header, *records))


def read_index(text: str, key: str = "") -> RuleIndex | None:
    """The index in a text; ``None`` where it is damaged or made from something else than ``key``."""
    lines = text.split("\n")
    try:
        header = json.loads(lines[0])
        if header["format"] != FORMAT or header["key"] != key or len(lines) != len(header["frameworks"]) + 2:
            return None
        heads = tuple(RuleHead._make((*head[:6], tuple(head[6]))) for head in header["heads"])
        return RuleIndex(heads, dict(zip(header["frameworks"], lines[1:], strict=False)))
    except (ValueError, LookupError, TypeError):
        return None


def _dump(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str)


def _record(rule: Rule) -> dict[str, Any]:
    check, fix, proof = rule.check, rule.fix, rule.proof
    return {
        **{field: getattr(rule, field) for field in _TEXTS},
        "severity": rule.severity.word,
        "confidence": rule.confidence.word,
        "versions": dict(rule.versions),
        "evidence": rule.evidence,
        "requires": rule.requires,
        "check": [check.subject, check.when, check.at, check.related, check.message, check.python, check.parameters],
        "fix": None if fix is None else [fix.safety.word, fix.title, fix.steps],
        "proof": None if proof is None else {field: getattr(proof, field) for field in _PROOF},
    }


@lru_cache(maxsize=64)
def _rules(line: str) -> tuple[Rule, ...]:
    """The rules of a line; kept, since an editor's server asks for the same ones with every change."""
    return tuple(_rule(record) for record in json.loads(line))


def _rule(record: dict[str, Any]) -> Rule:
    subject, when, at, related, message, python, parameters = record["check"]
    fix, proof = record["fix"], record["proof"]
    return Rule(
        **{field: record[field] for field in _TEXTS},
        severity=Severity.parse(record["severity"]),
        confidence=Confidence.parse(record["confidence"]),
        versions=record["versions"],
        evidence=tuple(record["evidence"]),
        requires=tuple(record["requires"]),
        check=CheckSpec(subject, when, tuple(at), tuple(related), message, python, parameters),
        fix=None if fix is None else FixSpec(Safety.parse(fix[0]), fix[1], fix[2]),
        proof=None if proof is None else _proof(proof),
    )


def _proof(record: dict[str, Any]) -> ProofSpec:
    return ProofSpec(**{**record, "run": tuple(record["run"]), "arguments": tuple(record["arguments"])})
