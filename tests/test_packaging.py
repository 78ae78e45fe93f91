"""The files that other tools read agree with each other and with the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import tomli
import yaml

from distlint import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomli.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_the_same_everywhere() -> None:
    assert PROJECT["version"] == __version__
    assert re.search(
        rf"^## \[({re.escape(__version__)}|Unreleased)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )


def test_the_licence_is_there_in_full() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_hook_runs_once_on_the_whole_project() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["id"] == "distlint"
    assert hook["language"] == "python"
    assert hook["pass_filenames"] is False
    assert hook["require_serial"] is True
    assert hook["entry"].split()[0] in PROJECT["scripts"]


def test_continuous_integration_does_what_a_developer_does() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert script.read_text().startswith("#!/usr/bin/env bash\n")
    assert "make test" in script.read_text()


def test_without_the_extra_the_language_server_says_what_to_install(tmp_path: Path) -> None:
    """An interpreter that cannot find the packages of the extra stands for an installation without them."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['pygls'] = sys.modules['lsprotocol'] = None\n")
    done = subprocess.run(
        [sys.executable, "-m", "distlint", "lsp"],
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 2
    assert "distlint[lsp]" in done.stderr
    assert not done.stdout
