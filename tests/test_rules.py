"""Every rule file is complete, and keeps to the style that all rules share."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from distlint.judge.rulebook import Rulebook
from distlint.model.finding import Safety
from distlint.model.rule import Rule
from distlint.report.page import page_markdown
from tests.fixture_cases import FIXTURES, cases

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "rules").rglob("*.toml"))
RULES = {rule.code: rule for rule in Rulebook.load(cache=False).all()}
CASES = Counter((case.code, case.kind) for kind in ("bad", "good", "fixed") for case in cases(kind))

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)


def test_every_rule_file_is_loaded_and_stands_where_its_fields_say() -> None:
    present = {path.relative_to(ROOT / "rules").as_posix() for path in FILES}
    assert present == {f"{rule.framework}/{rule.code}-{rule.name}.toml" for rule in RULES.values()}
    assert len(FILES) == len(RULES), "a code is used twice"


def test_names_are_unique() -> None:
    counts = Counter(rule.name for rule in RULES.values())
    assert not [name for name, count in counts.items() if count > 1]


def test_every_folder_of_fixtures_belongs_to_a_rule() -> None:
    folders = {folder.name for folder in FIXTURES.iterdir() if folder.is_dir()} - {"showcase"}
    assert folders <= set(RULES)


@every_rule
def test_codes_and_names_are_well_formed(rule: Rule) -> None:
    assert re.fullmatch(r"(DS|MG|CAI|PT|HF|RUN)[1-8][0-9]{2}|LINT0[0-9]{2}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)


@every_rule
def test_a_rule_has_cases(rule: Rule) -> None:
    assert CASES[rule.code, "bad"] >= 1
    assert CASES[rule.code, "good"] >= 2
    if rule.fix is not None and rule.fix.safety is not Safety.SUGGESTION:
        assert CASES[rule.code, "fixed"] >= 1, "a rule with a fix shows what it does"


@every_rule
def test_a_rule_says_what_proves_it_and_when_it_is_silent(rule: Rule) -> None:
    assert rule.evidence
    assert all(item.strip() for item in rule.evidence)
    assert rule.explanation.strip()
    assert rule.silence.strip()


@every_rule
def test_no_text_holds_the_marks_of_a_conflict_between_edits(rule: Rule) -> None:
    text = (ROOT / "rules" / rule.source).read_text(encoding="utf-8")
    assert not [line for line in text.splitlines() if line.startswith(("<<<<<<<", "=======", ">>>>>>>"))]


@every_rule
def test_summary_and_message_keep_to_the_style(rule: Rule) -> None:
    summary, message = rule.summary, rule.check.message
    assert re.match(r"[A-Z`0-9]", summary)
    assert "\n" not in summary
    assert len(summary) <= 100
    assert not summary.endswith(".")
    assert not message.endswith(".")
    assert not re.match(r"[A-Z][a-z]+ [a-z]", message), "a message starts in lower case"
    assert not any(code in text for text in (summary, message, rule.help) for code in RULES), "no codes in words"


@every_rule
def test_the_page_is_present_and_current(rule: Rule) -> None:
    page = ROOT / "docs" / "rules" / f"{rule.code}.md"
    assert page.is_file(), "write it with `make docs`"
    assert page.read_text(encoding="utf-8") == page_markdown(rule), "write it anew with `make docs`"
