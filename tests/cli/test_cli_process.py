"""The command line as a process, on a real project, with everything in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = 'import torch.distributed as dist\n\ndist.init_process_group("nccl")\n# distlint: enable[ALL]\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one finding of severity *warning* that has a safe fix."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def run(project: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    hidden = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_ACTIONS", "CI")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"PYTHONPATH": str(Path(__file__).parents[2]), "XDG_CACHE_HOME": str(project / ".git" / "cache")}
    return subprocess.run(
        [sys.executable, "-m", "distlint", *arguments],
        cwd=project,
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


def test_findings_go_to_standard_output_and_nothing_else_does(project):
    done = run(project, "check", "--output-format", "json")
    assert done.returncode == 1
    assert [finding["code"] for finding in json.loads(done.stdout)["findings"]] == ["LINT001"]
    assert done.stderr == ""


def test_fix_leaves_nothing_to_do(project):
    assert run(project, "check", "--fix").returncode == 0
    assert (project / "train.py").read_text() == TRAIN.replace("# distlint: enable[ALL]\n", "")
    assert run(project, "check").stdout == "No problems found\n"


def test_any_number_of_jobs_and_any_cache_give_the_same_bytes(project):
    for number in range(4):
        (project / f"train{number}.py").write_text(TRAIN)
    outputs = {run(project, "check", *more).stdout for more in ((), (), ("--jobs", "3"), ("--jobs", "1", "--no-cache"))}
    assert len(outputs) == 1
    assert outputs.pop().count("LINT001") >= 5


def test_unknown_selector_is_exit_2(project):
    done = run(project, "check", "--select", "LINT01")
    assert done.returncode == 2
    assert "LINT01" in done.stderr
    assert "distlint failed" not in done.stderr


def test_reader_that_stops_reading_is_no_error(project):
    command = f"{sys.executable} -m distlint check | head -c 0; exit ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        ["bash", "-c", command], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == ""


def test_binary_file_that_was_named_is_exit_2(project):
    (project / "torch.py").write_bytes(b"import torch\n\xff\xfe\x00\x01")
    assert run(project, "check", "torch.py").returncode == 2


def test_missing_rule_is_exit_2(project):
    assert run(project, "rule", "XX000").returncode == 2


def test_settings_and_files_can_be_shown(project):
    assert "train.py: python: " in run(project, "check", "--show-files").stdout
    assert "fail-on = " in run(project, "check", "--show-settings").stdout


def test_python_interface_gives_the_same_findings(project):
    code = "import distlint; print([f.code for f in distlint.check().findings])"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "['LINT001']\n"
