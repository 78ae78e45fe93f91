"""The record of what was proven, and whether rules and cases still are what they were when they ran."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from distlint.judge.vocabulary import PROVEN_SYMPTOMS
from distlint.model.rule import Rule

HERE = Path(__file__).resolve().parent
RECORD = HERE / "record.json"
FIXTURES = HERE.parent.parent / "fixtures"

NEEDS_PROOF = re.compile(r"PT[123567]\d\d|HF(?:108|20[89]|2[1-9]\d|[356]\d\d)")
"""The codes of rules about what a program does when it runs: these have to be proven, or to say why they can't be."""


def cases_of(rule: Rule, fixtures: Path = FIXTURES) -> list[Path]:
    """The folders of a rule's cases, except those that its ``[proof]`` leaves out."""
    left_out = rule.proof.without if rule.proof is not None else {}
    folders = (fixtures / rule.code).glob("*")
    return sorted(one for one in folders if one.name.startswith(("bad-", "good-")) and one.name not in left_out)


def mentions(rule: Rule, word: str) -> bool:
    """Whether a script of a rule's cases has a word."""
    return any(word in path.read_text(encoding="utf-8") for case in cases_of(rule) for path in case.rglob("*.py"))


def script_of(rule: Rule, case: Path) -> str:
    """The script of a case by its path in the case's folder."""
    if rule.proof is not None and rule.proof.script:
        return rule.proof.script
    scripts = sorted(path.name for path in case.glob("*.py"))
    return scripts[0] if len(scripts) == 1 else "train.py"


def hash_of(rule: Rule, case: Path) -> str:
    """What a run of a case depends on, in short."""
    proof = rule.proof
    said = [proof.symptom, proof.run, script_of(rule, case), proof.arguments, proof.shows] if proof is not None else []
    found = hashlib.sha256(json.dumps(said).encode())
    for path in sorted(case.rglob("*")):
        name = path.relative_to(case).as_posix()
        if path.is_file() and name != "expect.txt" and "__pycache__" not in name:
            found.update(f"\0{name}\0".encode() + path.read_bytes())
    return found.hexdigest()[:16]


def read(path: Path = RECORD) -> dict[str, Any]:
    """The record; an empty one where there is none."""
    if not path.exists():
        return {"versions": {}, "rules": {}}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write(record: Mapping[str, Any], path: Path = RECORD) -> None:
    """Writes the record, in the order of the codes."""
    rules = record["rules"]
    ordered = {**record, "rules": {code: rules[code] for code in sorted(rules)}}
    text = json.dumps(ordered, indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def is_current(rule: Rule, record: Mapping[str, Any], fixtures: Path = FIXTURES) -> bool:
    """Whether the record says of all cases of a rule what they show as they are now."""
    noted = record["rules"].get(rule.code, {"cases": {}})["cases"]
    wanted = {case.name: hash_of(rule, case) for case in cases_of(rule, fixtures)}
    return {name: one["hash"] for name, one in noted.items()} == wanted


def complaints(rules: Iterable[Rule], record: Mapping[str, Any], fixtures: Path = FIXTURES) -> list[str]:
    """What is wrong between rules, cases and the record; empty if all is proven that has to be."""
    found = []
    by_code = {rule.code: rule for rule in rules}
    for code, rule in by_code.items():
        if rule.proof is None:
            if NEEDS_PROOF.fullmatch(code):
                found.append(f"{code}: no [proof]")
        elif not rule.proof.unless:
            found.extend(f"{code}: {text}" for text in _of_rule(rule, record, fixtures))
    proven = {code for code, rule in by_code.items() if rule.proof is not None and not rule.proof.unless}
    found.extend(f"{code}: in the record, but has no proof" for code in sorted({*record["rules"]} - proven))
    return found


def _of_rule(rule: Rule, record: Mapping[str, Any], fixtures: Path) -> Iterable[str]:
    assert rule.proof is not None  # noqa: S101
    if rule.symptom not in PROVEN_SYMPTOMS[rule.proof.symptom]:
        yield f"its symptom is {rule.symptom}, which the run ({rule.proof.symptom}) does not bear out"
    for name in rule.proof.without:
        if not (fixtures / rule.code / name).is_dir():
            yield f"no case {name}"
    kinds = {case.name.split("-")[0] for case in cases_of(rule, fixtures)}
    if kinds != {"bad", "good"}:
        yield "neither bad nor good cases may be missing"
    if not is_current(rule, record, fixtures):
        yield "not in the record as it is now: run `make prove`"
