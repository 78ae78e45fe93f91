"""Every case under ``fixtures/`` behaves as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import FIXTURES, Case, cases, check, copy_case, expectations, shown, tree

BAD = cases("bad")
GOOD = cases("good")


@pytest.fixture
def project(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the case, as the current folder."""
    copied = copy_case(case.folder, tmp_path / case.folder.name)
    monkeypatch.chdir(copied)
    return copied


@pytest.mark.parametrize("case", BAD, ids=str)
def test_a_bad_case_yields_what_it_expects_and_nothing_else(case: Case, project: Path) -> None:
    expected = expectations(case.folder)
    assert case.code in {item.code for item in expected}, "a bad case expects its own rule somewhere"
    findings = check()["findings"]
    missing = [item for item in expected if not item.todo and not any(item.met_by(finding) for finding in findings)]
    unexpected = [
        finding
        for finding in findings
        if finding["severity"] != "note" and not any(item.met_by(finding) for item in expected if not item.todo)
    ]
    assert not missing, f"not found: {missing}\nfound:\n{shown(findings)}"
    assert not unexpected, f"not expected:\n{shown(unexpected)}"


@pytest.mark.parametrize("case", GOOD, ids=str)
def test_a_good_case_is_silent(case: Case, project: Path) -> None:
    assert not expectations(case.folder), "a good case expects nothing"
    findings = [item for item in check()["findings"] if item["severity"] != "note" or item["code"] == case.code]
    assert not findings, shown(findings)


@pytest.mark.parametrize("case", BAD, ids=str)
def test_fixing_a_bad_case_ends_in_its_fixed_twin(case: Case, project: Path) -> None:
    before = check()
    after = check("--fix", "--unsafe-fixes")
    fixable = [item for item in after["findings"] if item["fix"] and item["fix"]["safety"] != "suggestion"]
    assert not fixable, f"left although they have a fix:\n{shown(fixable)}"
    assert after["errors"] == before["errors"], "every file parses as well as before"
    known = {item["code"] for item in before["findings"]}
    added = [item for item in after["findings"] if item["code"] not in known and item["severity"] != "note"]
    assert not added, f"new after fixing:\n{shown(added)}"
    fixed = tree(project)
    expected = tree(case.fixed) if case.fixed.exists() else tree(case.folder)
    assert fixed == expected
    check("--fix", "--unsafe-fixes")
    assert tree(project) == fixed, "a second run changes nothing"


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
