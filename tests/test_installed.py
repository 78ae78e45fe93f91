"""``distlint check --installed``: what is installed in an environment goes before what the project pins."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from distlint.cli import main
from distlint.lsp.wiring import analyse_project

USE = "from torch.distributed.fsdp import fully_shard\n\nfully_shard(None)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "train.py").write_text(USE)
    (root / "requirements.txt").write_text("torch>=2.6,<2.8\n")
    (tmp_path / "env/lib/python3.10/site-packages/torch-2.1.0+cu121.dist-info").mkdir(parents=True)
    return root


def check(project: Path, *arguments: str) -> Result:
    words = ["check", str(project), "--no-cache", "--output-format", "concise", *arguments]
    return CliRunner().invoke(main.commands, words)


def test_the_installed_release_is_judged_and_named(project: Path) -> None:
    assert check(project).exit_code == 0
    result = check(project, "--installed", str(project.parent / "env"))
    assert result.exit_code == 1
    assert "is not in torch 2.1.0, which is installed" in result.stdout


def test_a_pin_on_the_command_line_goes_before_it(project: Path) -> None:
    assert check(project, "--installed", str(project.parent / "env"), "--pin", "torch==2.6.0").exit_code == 0


def test_packages_that_are_not_installed_keep_their_pins(project: Path) -> None:
    (project / "requirements.txt").write_text("transformers==4.57.0\n")
    (project / "train.py").write_text("from transformers import Trainer\n\nTrainer(tokenizer=None)\n")
    assert check(project, "--installed", str(project.parent / "env")).exit_code == 0


def test_a_setting_names_it_from_its_own_folder_and_reaches_editors(project: Path) -> None:
    (project / "distlint.toml").write_text('installed = "../env"\n')
    assert check(project).exit_code == 1
    assert [finding.span.file for finding in analyse_project(project, {}).findings] == ["train.py"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--installed", "gone"), "--installed: there is no"),
        (("--installed", "."), "no Python environment"),
        (("--pin", "torch=2"), "`torch=2` is no requirement"),
        (("--pin", "=="), "is no requirement"),
        (("--pin", "torch @ https://x.example.org/y.whl"), "a name and versions only"),
        (("--pin", "torch==2.4; python_version<'3'"), "a name and versions only"),
        (("--pin", "torch>2.4,<2.4"), "fits no version"),
        (("--set", "frameworks.torch=new"), "frameworks"),
    ],
)
def test_nonsense_is_refused(
    project: Path, arguments: tuple[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    result = check(project, *arguments)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize(
    "pin", ["torch==2.6", "torch~=2.6.0", "torch>=2.6,!=2.6.1,<2.8", "Torch[x]==2.6.*", "torch==2.6.0+cu124"]
)
def test_any_specifier_may_be_assumed(project: Path, pin: str) -> None:
    assert check(project, "--pin", pin, "--pin", "trl==0.9.6").exit_code == 0
