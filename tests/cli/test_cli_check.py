from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import distlint
from distlint.cli import main
from distlint.settings import SettingsError, load_settings


def run(*arguments: str, text: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main.commands, ["check", *arguments], input=text)


@pytest.mark.parametrize(
    ("content", "arguments", "code"),
    [
        ("x = 1\n", (), 0),
        ("BAD\n", (), 1),
        ("SLOW\n", (), 1),
        ("HM\n", (), 0),
        ("HM\n", ("--fail-on", "note"), 1),
        ("SLOW\n", ("--fail-on", "error"), 0),
        ("BAD\n", ("--exit-zero",), 0),
        ("BAD\n", ("--min-confidence", "certain"), 0),
        ("BAD\n", ("--set", "fail-on=eror"), 2),
        ("BAD\n", ("--set", "world-size"), 2),
        ("CRASH\n", (), 2),
        ("CRASH\n", ("--exit-zero",), 2),
        ("BAD\n", ("--fix", "--diff"), 2),
        ("BAD\n", ("--unsafe-fixes",), 1),
        ("BAD\n", ("--config", "gone.toml"), 2),
        ("BAD\n", ("--isolated", "--config", "x"), 2),
    ],
)
def test_exit_code(project, content, arguments, code):
    (project / "a.py").write_text(content)
    assert run(*arguments).exit_code == code


@pytest.mark.parametrize("name", ["text", "concise", "json", "sarif", "github", "gitlab", "junit"])
def test_exit_code_is_the_same_in_every_format(project, name):
    (project / "a.py").write_text("BAD\n")
    result = run("--output-format", name)
    assert result.exit_code == 1
    assert "DS103" in result.stdout
    assert result.stderr == ""


def test_paths_are_analysed_and_shown_from_the_working_directory(project, monkeypatch):
    (project / "sub").mkdir()
    (project / "sub" / "a.py").write_text("BAD\n")
    (project / "b.py").write_text("BAD\n")
    assert "--> sub/a.py:1:1" in run("sub").stdout
    assert "b.py" not in run("sub").stdout
    monkeypatch.chdir(project / "sub")
    assert "--> a.py:1:1" in run(".").stdout
    assert "--> ../b.py:1:1" in run("../b.py").stdout


def test_folder_without_relevant_files_is_fine_and_says_so(project):
    result = run()
    assert result.exit_code == 0
    assert result.stdout == "No problems found\n"
    assert result.stderr.startswith("note: nothing here")
    assert run("--quiet").stderr == ""


def test_named_file_that_cannot_be_read_is_exit_2(project):
    (project / "a.py").write_text("MOJIBAKE\n")
    assert run("a.py").exit_code == 2
    assert run(".").exit_code == 0
    assert "warning: a.py: is not UTF-8 text" in run(".").stderr


def test_reports_go_to_several_files_at_once(project):
    (project / "a.py").write_text("BAD\n")
    result = run("--output", "json=out/report.json", "--output", "sarif=r.sarif", "--output-format", "concise")
    assert result.stdout.startswith("a.py:1:1: error DS103")
    assert json.loads(Path("out/report.json").read_text())["findings"][0]["code"] == "DS103"
    assert json.loads(Path("r.sarif").read_text())["version"] == "2.1.0"


def test_output_file_takes_the_report_off_the_screen(project):
    (project / "a.py").write_text("BAD\n")
    result = run("--output-file", "report.txt")
    assert result.stdout == ""
    assert "error[DS103]" in Path("report.txt").read_text()
    assert result.exit_code == 1


def test_unwritable_output_is_exit_2(project):
    result = run("--output", "json=.git")
    assert result.exit_code == 2
    assert "cannot write `.git`" in result.stderr


def test_color_only_if_forced(project, monkeypatch):
    (project / "a.py").write_text("BAD\n")
    assert "\x1b" not in CliRunner().invoke(main.commands, ["check"], color=True).stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1;31m" in CliRunner().invoke(main.commands, ["check"], color=True).stdout


def test_fix_writes_safe_fixes_and_reports_what_is_left(project):
    (project / "a.py").write_text("BAD\nSLOW\n")
    result = run("--fix")
    assert (project / "a.py").read_text() == "good\nSLOW\n"
    assert "Fixed 1 finding in 1 file" in result.stderr
    assert "DS201" in result.stdout
    assert "DS103" not in result.stdout
    assert result.exit_code == 1


def test_everything_fixed_is_exit_0_and_a_second_run_changes_nothing(project):
    (project / "a.py").write_text("BAD\nSLOW\n")
    assert run("--fix", "--unsafe-fixes").exit_code == 0
    assert (project / "a.py").read_text() == "good\ngood\n"
    again = run("--fix", "--unsafe-fixes")
    assert again.exit_code == 0
    assert "Fixed 0 findings in 0 files" in again.stderr


def test_suggestions_are_never_applied(project):
    (project / "a.py").write_text("HM\n")
    run("--fix", "--unsafe-fixes")
    assert (project / "a.py").read_text() == "HM\n"


def test_diff_shows_and_writes_nothing(project):
    (project / "a.py").write_text("BAD\n")
    result = run("--diff")
    assert result.stdout == "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-BAD\n+good\n"
    assert (project / "a.py").read_text() == "BAD\n"
    assert result.exit_code == 1


def test_fix_refuses_a_file_that_changed_meanwhile(project, monkeypatch):
    import fake_engine

    (project / "a.py").write_text("BAD\n")
    original = fake_engine.analyse

    def analyse(request):
        report = original(request)
        (project / "a.py").write_text("BAD # edited\n")
        return report

    monkeypatch.setattr(fake_engine, "analyse", analyse)
    result = run("--fix")
    assert result.exit_code == 2
    assert "has changed since it was read" in result.stderr
    assert (project / "a.py").read_text() == "BAD # edited\n"


def test_standard_input_stands_for_a_file(project):
    (project / "a.py").write_text("x\n")
    result = run("-", "--stdin-filename", "a.py", text="BAD\n")
    assert result.exit_code == 1
    assert "--> a.py:1:1" in result.stdout
    assert "-BAD" in run("-", "--stdin-filename", "new/b.py", "--diff", text="BAD\n").stdout
    assert run("-", "--stdin-filename", "a.py", "--fix", text="BAD\n").exit_code == 2


def test_standard_input_that_cannot_be_used(project):
    result = run("-", "--stdin-filename", "a.py", text=b"\xff\xfe\xfa")
    assert result.exit_code == 2
    assert "distlint failed" not in result.stderr


def test_command_line_beats_the_settings_file(project):
    (project / "distlint.toml").write_text('fail-on = "note"\nworld-size = 4\n')
    (project / "a.py").write_text("HM\n")
    assert run().exit_code == 1
    assert run("--fail-on", "warning").exit_code == 0
    assert run("--set", "fail-on=warning").exit_code == 0
    assert run("--isolated").exit_code == 0


def test_wrong_settings_name_their_place(project):
    (project / "distlint.toml").write_text('selct = ["DS"]\n')
    result = run()
    assert result.exit_code == 2
    assert "distlint.toml:1" in result.stderr
    assert "did you mean `select`?" in result.stderr


def test_show_settings_tells_origins(project):
    (project / "distlint.toml").write_text("world-size = 4\n")
    shown = run("--show-settings", "--select", "DS1,PT").stdout
    assert "world-size = 4  # distlint.toml:1\n" in shown
    assert 'select = ["DS1", "PT"]  # command line\n' in shown
    assert 'fail-on = "warning"  # default\n' in shown


def test_show_files(project):
    (project / "a.py").write_text("")
    (project / "b.sh").write_text("")
    result = run("--show-files")
    assert result.stdout == "a.py: python: because\nb.sh: not read: because\n"
    assert result.exit_code == 0


def test_verbose_groups_reasons_for_silence(project):
    for name in ("a.py", "b.py"):
        (project / name).write_text("")
    assert "note: looks irrelevant\n  a.py\n  b.py\n" in run("--verbose").stderr
    assert "irrelevant" not in run().stderr


def test_statistics_count_rules(project):
    for name in ("a.py", "b.py"):
        (project / name).write_text("BAD\n")
    (project / "c.py").write_text("SLOW\n")
    lines = [line.split()[:2] for line in run("--statistics").stderr.splitlines()]
    assert lines[:2] == [["2", "DS103"], ["1", "DS201"]]


def test_graph(project):
    (project / "a.py").write_text("")
    result = CliRunner().invoke(main.commands, ["graph", "--output-format", "json"])
    assert result.exit_code == 0
    assert [node["label"] for node in json.loads(result.stdout)["nodes"]] == ["a.py"]


class TestPythonInterface:
    def test_one_path_or_several(self, project):
        (project / "a.py").write_text("BAD\n")
        (project / "b.py").write_text("BAD\n")
        assert len(distlint.check().findings) == 2
        assert len(distlint.check("a.py").findings) == 1
        assert len(distlint.check([Path("a.py"), project / "b.py"]).findings) == 2

    def test_settings_by_key_or_as_loaded(self, project):
        (project / "a.py").write_text("BAD\n")
        assert not distlint.check(settings={"min-confidence": "certain"}).findings
        assert distlint.check(settings=load_settings(project, isolated=True)).findings

    def test_overlays_stand_for_files(self, project):
        (project / "a.py").write_text("x\n")
        assert distlint.check(overlays={"a.py": "BAD\n"}).findings

    def test_errors(self, project):
        with pytest.raises(FileNotFoundError):
            distlint.check("gone")
        with pytest.raises(SettingsError):
            distlint.check(settings={"worldsize": 8})


def test_the_memory_of_a_device_can_be_given(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "run.sh").write_text(
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 80 --hidden-size 8192 --num-attention-heads 64"
        " --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --train-iters 10 --bf16 --lr 1e-4"
        " --eval-interval 10 --tokenizer-type NullTokenizer --vocab-size 32000\n"
    )
    found = [run(str(tmp_path), "--select", "RUN610", "--gpu-memory", size).exit_code for size in ("80GB", "4TB", "x")]
    assert found == [1, 0, 2]
