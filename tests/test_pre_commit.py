"""The hook at work: the real pre-commit installs this checkout and runs it on a repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "tests", "docs"
)


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command with caches of its own and without the user's git settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))}
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    environment |= {"PRE_COMMIT_HOME": str(home), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def commit(folder: Path) -> str:
    """Makes a repository of a folder and commits all of it; the revision."""
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    for arguments in (("init", "--quiet"), ("add", "--all"), (*who, "commit", "--quiet", "--message", "all")):
        done = run(folder, "git", *arguments)
        assert done.returncode == 0, done.stderr
    return run(folder, "git", "rev-parse", "HEAD").stdout.strip()


@pytest.fixture
def hook(tmp_path: Path) -> tuple[Path, str]:
    """This checkout as a repository of hooks, with its revision."""
    folder = tmp_path / "distlint"
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    return folder, commit(folder)


def test_the_hook_fails_on_a_fault_and_passes_once_it_is_mended(tmp_path: Path, hook: tuple[Path, str]) -> None:
    repository, revision = hook
    project = tmp_path / "project"
    project.mkdir()
    config = f"repos:\n- repo: {repository}\n  rev: {revision}\n  hooks:\n  - id: distlint\n"
    (project / ".pre-commit-config.yaml").write_text(config)
    script = project / "train.py"
    script.write_text("import torch.distributed as dist\n\ndist.barrier()  # distlint: ignore\n")
    commit(project)
    pre_commit = (sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never")

    failed = run(project, *pre_commit)
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "exit code: 1" in failed.stdout, failed.stdout
    assert "train.py:3" in failed.stdout

    script.write_text("import torch.distributed as dist\n\ndist.barrier()\n")
    passed = run(project, *pre_commit)
    assert passed.returncode == 0, passed.stdout + passed.stderr
