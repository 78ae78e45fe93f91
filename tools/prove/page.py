"""The page ``docs/proof.md``: what was proven by running, and what can't be shown without GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from distlint.model.rule import Rule

HEAD = """# Proof by running

Every case of these rules was run for real, with two processes on the CPU that talk over gloo: each `bad-` case shows the
symptom, no `good-` case does, and the good ones end normally. The cases are the projects under `fixtures/`. `make prove` does
it again: `make prove RULES=PT501,PT7` for some rules, `make prove CHANGED=1` for what is not in the record.

"""
SYMPTOMS = {
    "hang": "hang",
    "exception": "exception",
    "diverging-ranks": "ranks diverge",
    "wrong-number": "wrong number",
}


def page(rules: Iterable[Rule], record: Mapping[str, Any]) -> str:
    """The text of the page."""
    ordered = sorted((rule for rule in rules if rule.proof is not None), key=lambda rule: rule.code)
    versions = ", ".join(f"{name} {version}" for name, version in sorted(record["versions"].items()))
    lines = [HEAD, f"Seen with {versions}.\n\n" if versions else ""]
    lines += ["| Rule | Symptom | Seen in a bad case | Cases |\n| --- | --- | --- | --- |\n"]
    lines += (_row(rule, record["rules"].get(rule.code)) for rule in ordered if _runs(rule))
    lines += ["\n## What can't be shown on CPUs\n\n| Rule | Why |\n| --- | --- |\n"]
    lines += _left_out(ordered)
    return "".join(lines)


def _runs(rule: Rule) -> bool:
    return rule.proof is not None and not rule.proof.unless


def _row(rule: Rule, noted: Mapping[str, Any] | None) -> str:
    symptom = SYMPTOMS[rule.proof.symptom] if rule.proof is not None else ""
    cases = noted["cases"] if noted else {}
    bad = [one["seen"] for name, one in cases.items() if name.startswith("bad-")]
    seen = _cell(bad[0]) if bad else "not run yet"
    return f"| {_link(rule)} | {symptom} | {seen} | {len(bad)} bad, {len(cases) - len(bad)} good |\n"


def _left_out(rules: Iterable[Rule]) -> Iterator[str]:
    for rule in rules:
        if rule.proof is not None and rule.proof.unless:
            yield f"| {_link(rule)} | {_cell(rule.proof.unless)} |\n"
        elif rule.proof is not None:
            for name, reason in sorted(rule.proof.without.items()):
                yield f"| {_link(rule)}, case `{name}` | {_cell(reason)} |\n"


def _link(rule: Rule) -> str:
    return f"[{rule.code}](rules/{rule.code}.md) {rule.name}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
