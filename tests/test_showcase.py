"""The showcase yields what ``tests/data/showcase.txt`` says; what is generated is up to date.

After a change of the showcase or of a rule, ``UPDATE_SHOWCASE=1 pytest tests/test_showcase.py`` writes the list anew,
and ``python tools/picture.py`` the picture. Read the difference.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from distlint.cli.main import commands

ROOT = Path(__file__).resolve().parents[1]
SHOWCASE = ROOT / "fixtures" / "showcase"
EXPECTED = ROOT / "tests" / "data" / "showcase.txt"


def concise(*arguments: str) -> str:
    """What ``distlint check`` prints with one line per finding."""
    result = CliRunner().invoke(commands, ["check", *arguments, "--no-cache", "--output-format", "concise"])
    assert result.exit_code == 1, result.stderr
    return result.stdout


def test_the_showcase_yields_what_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SHOWCASE)
    found = concise()
    if os.environ.get("UPDATE_SHOWCASE"):
        EXPECTED.write_text(found, encoding="utf-8", newline="\n")
    assert found == EXPECTED.read_text(encoding="utf-8")


def test_the_showcase_is_a_project_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    inside = concise("fixtures/showcase")
    shutil.copytree(SHOWCASE, tmp_path / "fixtures" / "showcase")
    monkeypatch.chdir(tmp_path)
    assert concise("fixtures/showcase") == inside


def test_the_showcase_holds_faults_of_many_kinds_between_files() -> None:
    lines = EXPECTED.read_text(encoding="utf-8").splitlines()
    codes = {match.group(1) for line in lines if (match := re.search(r" (?:error|warning) ([A-Z]+[0-9]+) ", line))}
    assert len(codes) >= 12
    assert {re.sub(r"[0-9]+", "", code) for code in codes} >= {"DS", "HF", "MG", "PT", "RUN"}


@pytest.mark.parametrize("tool", ["picture.py", "gen_usage.py"])
def test_what_is_generated_is_up_to_date(tool: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / tool, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_picture_is_an_image_with_nothing_of_this_machine_in_it() -> None:
    picture = (ROOT / "docs" / "images" / "showcase.svg").read_text(encoding="utf-8")
    drawn = "".join(ET.fromstring(picture).itertext())  # noqa: S314 - it is our own
    assert "fixtures/showcase/" in drawn
    assert str(ROOT) not in drawn


def test_the_findings_in_the_readme_are_real() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^\S+:[0-9]+:[0-9]+: (?:error|warning) .*$", readme, re.MULTILINE)
    assert quoted
    assert not set(quoted) - set(EXPECTED.read_text(encoding="utf-8").splitlines())


def test_the_plan_in_the_readme_is_real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SHOWCASE)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (quoted,) = re.findall(r"^\$ distlint plan (\S+)\n(.*?)```$", readme, re.MULTILINE | re.DOTALL)
    done = CliRunner().invoke(commands, ["plan", quoted[0]])
    assert done.exit_code == 0
    assert done.stdout.strip() == quoted[1].strip()
