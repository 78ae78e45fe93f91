"""Settings: where they are found, what they may say, what wins, and where each came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from distlint.model.finding import Severity
from distlint.model.value import Confidence
from distlint.settings import FilePattern, SettingsError, find_root, load_settings


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / "pkg" / "deep").mkdir(parents=True)
    return root


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_is_needed(repo: Path) -> None:
    settings = load_settings(repo)
    assert settings.file is None
    assert settings.root == repo
    assert (settings.fail_on, settings.min_confidence) == (Severity.WARNING, Confidence.LIKELY)
    assert {origin for _, _, origin in settings.describe()} == {"default"}


@pytest.mark.parametrize("name", ["distlint.toml", ".distlint.toml", "pyproject.toml"])
def test_the_nearest_file_above_wins(repo: Path, name: str) -> None:
    header = "[tool.distlint]\n" if name == "pyproject.toml" else ""
    write(repo / "distlint.toml", "world-size = 4\n")
    near = write(repo / "pkg" / name, f"{header}world-size = 8\n")
    script = write(repo / "pkg" / "deep" / "train.py", "")
    assert load_settings(script).world_size == 8
    assert load_settings(script).file == near
    assert load_settings(repo).world_size == 4


def test_other_projects_do_not_count(repo: Path) -> None:
    write(repo.parent / "distlint.toml", "world-size = 2\n")
    assert load_settings(repo / "pkg").world_size is None


def test_a_worktree_has_a_file_for_git(tmp_path: Path) -> None:
    write(tmp_path / "tree" / ".git", "gitdir: elsewhere\n")
    (tmp_path / "tree" / "a").mkdir()
    assert find_root(tmp_path / "tree" / "a") == tmp_path / "tree"


@pytest.mark.parametrize("name", ["distlint.toml", "pyproject.toml"])
def test_a_folder_can_be_a_project_of_its_own(repo: Path, name: str) -> None:
    header = "[tool.distlint]\n" if name == "pyproject.toml" else ""
    file = write(repo / "pkg" / name, f'{header}root = true\nexclude = ["old/"]\n')
    settings = load_settings(repo / "pkg" / "deep")
    assert (settings.root, settings.file) == (repo / "pkg", file)
    assert settings.exclude == (FilePattern("old/", ""),)
    assert load_settings(repo).root == repo


def test_a_file_that_is_named_or_extended_moves_no_root(repo: Path) -> None:
    base = write(repo / "base.toml", "root = true\n")
    write(repo / "pkg" / "deep" / "distlint.toml", 'extend = "../../base.toml"\n')
    assert load_settings(repo / "pkg" / "deep").root == repo
    write(repo / "pkg" / "other.toml", "root = true\n")
    assert load_settings(repo, config=repo / "pkg" / "other.toml").root == repo
    assert load_settings(repo / "pkg", config=base).root == repo


def test_settings_from_elsewhere_are_about_the_project_at_hand(repo: Path, tmp_path: Path) -> None:
    write(tmp_path / "shared" / "base.toml", "world-size = 4\n")
    shared = write(tmp_path / "shared" / "x.toml", 'extend = "base.toml"\nexclude = ["old/"]\n')
    settings = load_settings(repo / "pkg", config=shared)
    assert (settings.root, settings.world_size) == (repo, 4)
    assert settings.exclude == (FilePattern("old/", ""),)


def test_a_pyproject_of_other_tools_is_passed_over(repo: Path) -> None:
    write(repo / "pyproject.toml", "[tool.other]\nx = 1\n")
    assert load_settings(repo).file is None


def test_all_keys(repo: Path) -> None:
    (repo / "rules").mkdir()
    write(
        repo / "pkg" / "distlint.toml",
        """\
select = ["DS1"]
extend-select = ["PT5"]
exclude = ["third_party/"]
world-size = 16
gpus-per-node = 8
min-confidence = "likely"
fail-on = "error"
rules = ["../rules"]
installed-rules = true
require-reason = true
pin = ["torch==2.4", "Flash_Attn>=2"]

[severity]
DS1 = "note"

[per-file-ignores]
"examples/*" = ["DS"]

[frameworks]
deepspeed = ">=0.14"

[[ignore]]
rule = "DS101"
file = "ds.json"
path = "/zero/stage"
reason = "known"
""",
    )
    settings = load_settings(repo / "pkg")
    assert settings.layers[0].select == ("DS1",)
    assert settings.layers[0].extend_select == ("PT5",)
    assert settings.exclude == (FilePattern("third_party/", "pkg"),)
    assert (settings.world_size, settings.gpus_per_node) == (16, 8)
    assert (settings.min_confidence, settings.fail_on) == (Confidence.LIKELY, Severity.ERROR)
    assert settings.rule_folders == (repo / "rules",)
    assert settings.installed_rules
    assert settings.require_reason
    assert settings.pins == {"deepspeed": ">=0.14", "torch": "==2.4", "flash-attn": ">=2"}
    assert settings.severity == {"DS1": Severity.NOTE}
    assert settings.per_file_ignores == ((FilePattern("examples/*", "pkg"), ("DS",)),)
    (entry,) = settings.ignores
    assert (entry.rule, entry.file, entry.path) == ("DS101", FilePattern("ds.json", "pkg"), "/zero/stage")
    assert (entry.reason, entry.where) == ("known", "pkg/distlint.toml:22")


def test_the_command_line_beats_the_file(repo: Path) -> None:
    write(repo / "distlint.toml", 'world-size = 4\nselect = ["DS"]\nseverity = { DS1 = "note" }\n')
    settings = load_settings(
        repo,
        overrides={"world-size": 8, "select": ("PT",), "ignore": [], "fail-on": None},
        assignments=["severity.PT=error", "gpus-per-node=2", "exclude=a,b", "min-confidence=likely"],
    )
    assert (settings.world_size, settings.gpus_per_node) == (8, 2)
    assert [layer.select for layer in settings.layers] == [("DS",), ("PT",)]
    assert settings.severity == {"DS1": Severity.NOTE, "PT": Severity.ERROR}
    assert [pattern.pattern for pattern in settings.exclude] == ["a", "b"]
    origins = {key: origin for key, _, origin in settings.describe()}
    assert origins["world-size"] == "command line"
    assert origins["fail-on"] == "default"
    assert settings.origin("severity", "DS1") == "distlint.toml:3"


def test_config_and_isolated(repo: Path, tmp_path: Path) -> None:
    write(repo / "distlint.toml", "world-size = 4\n")
    other = write(tmp_path / "other.toml", "world-size = 2\n")
    assert load_settings(repo, config=other).world_size == 2
    assert load_settings(repo, isolated=True).world_size is None
    with pytest.raises(SettingsError, match="no such settings file"):
        load_settings(repo, config=tmp_path / "nowhere.toml")


def test_extend(repo: Path) -> None:
    write(repo / "base.toml", 'world-size = 4\nfail-on = "error"\nexclude = ["x"]\n[severity]\nDS = "note"\n')
    write(repo / "pkg" / "distlint.toml", 'extend = "../base.toml"\nworld-size = 8\n[severity]\nPT = "note"\n')
    settings = load_settings(repo / "pkg")
    assert (settings.world_size, settings.fail_on) == (8, Severity.ERROR)
    assert set(settings.severity) == {"DS", "PT"}
    assert settings.exclude == (FilePattern("x", ""),)
    assert settings.origin("fail-on") == "base.toml:2"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("\nworld-sice = 4\n", 2, "unknown setting `world-sice`; did you mean `world-size`"),
        ("world-size = 0\n", 1, "whole number above 0"),
        ("world-size = true\n", 1, "whole number above 0"),
        ('select = "DS"\n', 1, "list of strings"),
        ('# x\nfail-on = "eror"\n', 2, "did you mean `error`"),
        ('[severity]\nDS = "fatal"\n', 1, "has to be one of"),
        ('[frameworks]\ntorch = "new"\n', 1, "version specifier"),
        ('pin = ["=="]\n', 1, "no requirement"),
        ('[[ignore]]\nfile = "x"\n', 1, "needs the field `rule`"),
        ('[[ignore]]\nrule = "x"\npaht = "x"\n', 1, "did you mean `path`"),
        ("world-size = \n", 1, "not TOML"),
        ('extend = "../../x.toml"\n', 1, "outside the repository"),
        ('extend = "nowhere.toml"\n', 1, "no file"),
        ('extend = "distlint.toml"\n', 1, "extends itself"),
        ('rules = ["/"]\n', 1, "outside the repository"),
        ('rules = ["nowhere"]\n', 1, "no rule folder"),
    ],
)
def test_errors_name_file_and_line(repo: Path, text: str, line: int, message: str) -> None:
    write(repo / "distlint.toml", text)
    with pytest.raises(SettingsError) as caught:
        load_settings(repo)
    assert message in caught.value.message
    assert caught.value.where == f"distlint.toml:{line}"


def test_lines_in_pyproject_are_those_of_the_file(repo: Path) -> None:
    write(repo / "pyproject.toml", '[tool.other]\nfail-on = 1\n\n[tool.distlint]\nfail-on = "eror"\n')
    with pytest.raises(SettingsError) as caught:
        load_settings(repo)
    assert caught.value.where == "pyproject.toml:5"


@pytest.mark.parametrize(
    ("assignments", "overrides"),
    [(["world-size"], {}), (["=1"], {}), (["nothing=1"], {}), (["world-size=many"], {}), ([], {"fail-on": "eror"})],
)
def test_errors_on_the_command_line(repo: Path, assignments: list[str], overrides: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="--"):
        load_settings(repo, assignments=assignments, overrides=overrides)


def test_bytes_that_are_no_text(repo: Path) -> None:
    (repo / "distlint.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not UTF-8"):
        load_settings(repo)
