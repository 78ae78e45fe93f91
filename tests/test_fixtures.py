"""Every case under ``fixtures/`` behaves as it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fixture_cases import FIXTURES, Case, cases, check, copy_case, expectations, shown, tree

BAD = cases("bad")
FIXED = [case for case in BAD if case.fixed.exists()]
UNFIXED = [case for case in BAD if not case.fixed.exists()]
GOOD = cases("good")
LARGE = 64 * 1024
"""Bytes; what a person writes for a case stays far below."""


@pytest.fixture
def project(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the case, as the current folder."""
    copied = copy_case(case.folder, tmp_path / case.folder.name)
    monkeypatch.chdir(copied)
    return copied


@pytest.mark.parametrize("case", UNFIXED, ids=str)
def test_a_bad_case_yields_what_it_expects_and_nothing_else_and_has_nothing_to_fix(case: Case, project: Path) -> None:
    """Asked to mend what it can, distlint reports the same as without, as it does where there is nothing to mend."""
    report = check("--fix", "--unsafe-fixes")
    _yields_what_it_expects(case, report)
    _has_no_fix_left(report)
    assert tree(project) == tree(case.folder)


@pytest.mark.parametrize("case", FIXED, ids=str)
def test_a_bad_case_yields_what_it_expects_and_fixing_it_ends_in_its_fixed_twin(case: Case, project: Path) -> None:
    before = check()
    _yields_what_it_expects(case, before)
    after = check("--fix", "--unsafe-fixes")
    _has_no_fix_left(after)
    assert after["errors"] == before["errors"], "every file parses as well as before"
    known = {item["code"] for item in before["findings"]}
    added = [item for item in after["findings"] if item["code"] not in known and item["severity"] != "note"]
    assert not added, f"new after fixing:\n{shown(added)}"
    fixed = tree(project)
    assert fixed == tree(case.fixed)
    check("--fix", "--unsafe-fixes")
    assert tree(project) == fixed, "a second run changes nothing"


def _yields_what_it_expects(case: Case, report: dict[str, Any]) -> None:
    expected = expectations(case.folder)
    assert case.code in {item.code for item in expected}, "a bad case expects its own rule somewhere"
    findings = report["findings"]
    missing = [item for item in expected if not item.todo and not any(item.met_by(finding) for finding in findings)]
    unexpected = [
        finding
        for finding in findings
        if finding["severity"] != "note" and not any(item.met_by(finding) for item in expected if not item.todo)
    ]
    assert not missing, f"not found: {missing}\nfound:\n{shown(findings)}"
    assert not unexpected, f"not expected:\n{shown(unexpected)}"


def _has_no_fix_left(report: dict[str, Any]) -> None:
    fixable = [item for item in report["findings"] if item["fix"] and item["fix"]["safety"] != "suggestion"]
    assert not fixable, f"left although they have a fix:\n{shown(fixable)}"


@pytest.mark.parametrize("case", GOOD, ids=str)
def test_a_good_case_is_silent(case: Case, project: Path) -> None:
    assert not expectations(case.folder), "a good case expects nothing"
    findings = [item for item in check()["findings"] if item["severity"] != "note" or item["code"] == case.code]
    assert not findings, shown(findings)


def test_every_folder_of_a_rule_holds_cases_only() -> None:
    strays = [
        folder.relative_to(FIXTURES).as_posix()
        for folder in FIXTURES.glob("*/*")
        if folder.parent.name != "showcase" and not folder.name.startswith(("bad-", "good-", "fixed-"))
    ]
    twins = [
        folder.relative_to(FIXTURES).as_posix()
        for folder in FIXTURES.glob("*/fixed-*")
        if not folder.with_name(folder.name.replace("fixed-", "bad-", 1)).is_dir()
    ]
    assert not strays
    assert not twins, "a fixed case has a bad one of the same name"


def test_no_file_of_a_case_is_large() -> None:
    """What a script wrote that was run in its folder (weights, checkpoints) does not belong to the case."""
    large = [path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob("*") if path.stat().st_size > LARGE]
    assert not large
