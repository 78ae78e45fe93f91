"""The rulebook: what is loaded when, the index cache, and rules from elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from judging import RULE

from distlint.judge import rulebook as module
from distlint.judge.errors import RuleFileError
from distlint.judge.rulebook import INDEX_NAME, Rulebook, compile_folder
from distlint.judge.rulefile import parse_rule
from distlint.judge.ruleindex import read_index, write_index


def write(folder: Path, code: str, name: str, **changes: str) -> Path:
    text = RULE.replace("XY101", code).replace("offload-needs-stage3", name)
    for key, value in changes.items():
        text = text.replace(key, value)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{code}.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands in for the built-in rules."""
    folder = tmp_path / "own"
    write(folder / "engine", "XY101", "first-fault")
    write(folder / "other", "ZZ101", "other-fault", **{'framework = "engine"': 'framework = "other"'})
    monkeypatch.setattr(module, "rules_folder", lambda: folder)
    return folder


def test_an_index_gives_back_the_same_rules() -> None:
    rule = parse_rule(RULE, "a.toml")
    index = read_index(write_index([rule]))
    assert index is not None
    assert index.rules("engine") == [rule]
    assert index.rules("unheard") == []


@pytest.mark.parametrize("damage", ["", "{}", "[]", "null", '{"format": 0}', "\x00", "{", "1\n2\n3"])
def test_a_damaged_index_is_no_index(damage: str) -> None:
    assert read_index(damage) is None
    assert read_index(write_index([parse_rule(RULE, "a.toml")], "key"), "another key") is None


def test_only_rules_of_present_frameworks_are_loaded(own: Path) -> None:
    book = Rulebook.load()
    assert [rule.code for rule in book.for_frameworks(["engine"])] == ["XY101"]
    assert [rule.code for rule in book.for_frameworks([])] == []
    assert [rule.code for rule in book.all()] == ["XY101", "ZZ101"]
    by_name, by_code = book.rule("other-fault"), book.rule("ZZ101")
    assert by_name is not None
    assert by_name == by_code
    assert book.rule("QQ101") is None


def test_a_rule_may_require_several_frameworks(own: Path) -> None:
    write(own / "engine", "XY102", "both", **{'symptom = "': 'requires = ["engine", "other"]\nsymptom = "'})
    book = Rulebook.load()
    assert "XY102" not in [rule.code for rule in book.for_frameworks(["engine"])]
    assert "XY102" in [rule.code for rule in book.for_frameworks(["engine", "other"])]


def test_changed_files_are_read_again_and_unchanged_ones_are_not(own: Path, cache_home: str) -> None:
    assert Rulebook.load().rule("XY101") is not None
    cached = list(Path(cache_home, "distlint").iterdir())
    assert len(cached) == 1
    text = cached[0].read_text(encoding="utf-8")
    cached[0].write_text(text.replace("first-fault", "cached-fault"), encoding="utf-8")
    assert Rulebook.load().rule("cached-fault") is not None
    os.utime(own / "engine" / "XY101.toml", ns=(1, 1))
    assert Rulebook.load().rule("cached-fault") is None
    (own / "engine" / "XY101.toml").unlink()
    assert Rulebook.load().rule("XY101") is None


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe\x00", b"{}\n"])
def test_a_damaged_cache_is_made_anew(own: Path, cache_home: str, damage: bytes) -> None:
    Rulebook.load()
    cached = next(Path(cache_home, "distlint").iterdir())
    cached.write_bytes(damage)
    assert Rulebook.load().rule("XY101") is not None
    assert cached.read_bytes() != damage


def test_a_cache_that_cannot_be_written_is_no_failure(own: Path, cache_home: str) -> None:
    Path(cache_home).rmdir()
    Path(cache_home).write_text("a file where the folder should be", encoding="utf-8")
    assert Rulebook.load().rule("XY101") is not None


def test_an_index_beside_the_files_is_used_as_it_is(own: Path) -> None:
    text = compile_folder(own, built_in=True)
    (own / INDEX_NAME).write_text(text.replace("first-fault", "indexed-fault"), encoding="utf-8")
    assert Rulebook.load().rule("indexed-fault") is not None
    (own / INDEX_NAME).write_text("damaged", encoding="utf-8")
    assert Rulebook.load().rule("first-fault") is not None


def test_rules_of_users(own: Path, tmp_path: Path) -> None:
    write(tmp_path / "mine", "TEAM101", "our-own-fault")
    book = Rulebook.load([tmp_path / "mine"])
    assert [rule.code for rule in book.for_frameworks(["engine"])] == ["TEAM101", "XY101"]


@pytest.mark.parametrize(
    ("code", "name", "message"),
    [
        ("XY101", "another", "code or name of another rule"),
        ("TEAM101", "first-fault", "code or name of another rule"),
        ("XY999", "another", "kept for built-in rules"),
    ],
)
def test_rules_of_users_must_not_shadow_built_in_ones(
    own: Path, tmp_path: Path, code: str, name: str, message: str
) -> None:
    write(tmp_path / "mine", code, name)
    with pytest.raises(RuleFileError, match=message) as caught:
        Rulebook.load([tmp_path / "mine"])
    assert caught.value.source == f"{code}.toml"


def test_a_code_or_name_used_twice_is_an_error(own: Path) -> None:
    write(own / "engine" / "more", "XY101", "again")
    with pytest.raises(RuleFileError, match="`XY101` is also the rule in"):
        Rulebook.load(cache=False)


def test_a_missing_folder_is_an_error(own: Path, tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match="no folder of rule files"):
        Rulebook.load([tmp_path / "nowhere"])


def test_links_are_not_followed(own: Path, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", "XY103", "outside")
    (own / "engine" / "XY103.toml").symlink_to(outside)
    assert Rulebook.load().rule("XY103") is None


def test_the_built_in_rules_load() -> None:
    assert Rulebook.load().rule("unused-suppression") is not None
