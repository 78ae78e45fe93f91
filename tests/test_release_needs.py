"""What releases import of each other, and that pins are judged by it."""

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from distlint.knowledge import needs
from distlint.knowledge.needs import Need


def _need(*lacking: tuple[str, str]) -> Need:
    return Need("torch", "torch.thing", "pkg/a.py:1", lacking, (), "1.11.0", ("",))


@pytest.mark.parametrize(
    ("version", "lacks", "gone"),
    [
        ("1.9.0", True, False),
        ("1.10.0", True, False),
        ("1.11.0", False, False),
        ("2.4.0", True, True),
        ("2.99", True, True),
    ],
)
def test_spans_have_open_ends(version: str, lacks: bool, gone: bool) -> None:
    need = _need(("", "1.10.0"), ("2.4.0", ""))
    assert need.is_lacking(version) is lacks
    if lacks:
        assert need.is_gone(version) is gone


def test_what_is_not_a_version_lacks_nothing() -> None:
    assert not _need(("", "")).is_lacking("nightly")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        ["torch", "torch.old", "pkg/a.py:1", [["2.0.0", ""]], [], "1.8.0", [[[[0, 1]], [""]]]],
        ["torch", "torch.new", "pkg/b.py:2", [["", "1.9.0"]], [], "1.10.0", [[[[1, 3]], ["pkg.trainer"]]]],
    ]
    path = tmp_path / "needs.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("pkg.json", json.dumps({"releases": ["1.0", "1.1", "1.4", "2.0"], "rows": rows}))
    monkeypatch.setattr(needs, "PATH", path)
    for function in (needs._archive, needs._table, needs.packages, needs.asked_by, needs.asked_of):
        function.cache_clear()
    yield
    for function in (needs._archive, needs._table, needs.packages, needs.asked_by, needs.asked_of):
        function.cache_clear()


def test_rows_hold_for_spans_of_releases(table: None) -> None:
    assert [need.symbol for need in needs.asked_by("pkg", "1.1")] == ["torch.old", "torch.new"]
    assert [need.symbol for need in needs.asked_by("pkg", "2.0")] == ["torch.new"]
    assert needs.asked_of("pkg") == {"torch"}


def test_a_release_that_was_not_read_is_what_both_neighbours_are(table: None) -> None:
    assert [need.symbol for need in needs.asked_by("pkg", "1.2")] == ["torch.new"]
    assert needs.asked_by("pkg", "0.9") == ()
    assert needs.asked_by("pkg", "3.0") == ()
    assert needs.is_known("pkg", "1.2")
    assert not needs.is_known("pkg", "3.0")


def test_an_unknown_package_needs_nothing(table: None) -> None:
    assert needs.asked_by("other", "1.0") == ()
    assert needs.asked_of("other") == frozenset()


def test_a_missing_table_says_nothing(tmp_path: Path, table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "PATH", tmp_path / "none.zip")
    needs._archive.cache_clear()
    needs.packages.cache_clear()
    needs._table.cache_clear()
    assert needs.packages() == frozenset()
    assert needs.asked_by("else", "1.0") == ()
