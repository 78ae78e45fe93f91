"""Smoke test of the distribution: builds it, installs the wheel into an empty environment and tries it there.

Catches what a checkout hides: data files that are not packaged, dependencies that are not declared.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "fixtures", "tests"
)


def main() -> None:
    """Runs all steps; ends with a message at the first that fails."""
    with tempfile.TemporaryDirectory(prefix="distlint-smoke-") as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        scripts = install(wheel, folder / "environment")
        empty = folder / "empty"
        empty.mkdir()
        try_version(scripts, empty, wheel.name.split("-")[1])
        try_rules(scripts, empty)
        try_check(scripts, folder / "project")
        try_server_without_extra(scripts, empty)
    print(f"smoke test passed: {wheel.name}")


def build_wheel(folder: Path) -> Path:
    """The wheel, built from the sdist as an installer would, out of a copy of the tree: nothing stale gets in."""
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=LEFT_OUT)
    command = [sys.executable, "-m", "build", "--outdir", str(folder / "dist"), str(source)]
    expect(run(command, folder), 0)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def install(wheel: Path, environment: Path) -> Path:
    """Installs the wheel without extras into a new environment; the folder of its scripts."""
    venv.create(environment, with_pip=True)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    expect(run([str(scripts / "python"), "-m", "pip", "install", "--quiet", str(wheel)], environment), 0)
    expect(run([str(scripts / "python"), "-m", "pip", "check"], environment), 0)
    return scripts


def try_version(scripts: Path, folder: Path, declared: str) -> None:
    """The program starts and knows the version that the wheel declares."""
    done = expect(run([str(scripts / "distlint"), "--version"], folder), 0)
    if declared not in done.stdout.split():
        fail(f"`distlint --version` says {done.stdout.strip()!r}, but the wheel declares {declared}")


def try_rules(scripts: Path, folder: Path) -> None:
    """Every rule file of the checkout is in the wheel."""
    done = expect(run([str(scripts / "distlint"), "rules", "--output-format", "json"], folder), 0)
    installed = {rule["code"] for rule in json.loads(done.stdout)}
    present = {path.name.split("-", 1)[0] for path in (ROOT / "rules").rglob("*.toml")}
    if not present or installed != present:
        fail(f"rule files present and rules installed differ: {sorted(installed ^ present) or 'there are none'}")


def try_check(scripts: Path, project: Path) -> None:
    """A copy of the showcase yields findings, as JSON that can be read, without any internal error."""
    shutil.copytree(ROOT / "fixtures" / "showcase", project)
    (project / ".git").mkdir(exist_ok=True)
    done = expect(run([str(scripts / "distlint"), "check", "--output-format", "json"], project), 1)
    report = json.loads(done.stdout)
    if not report["findings"] or report["errors"]:
        fail(f"the showcase gives {len(report['findings'])} findings and the errors {report['errors']}")


def try_server_without_extra(scripts: Path, folder: Path) -> None:
    """Without the extra, the language server says what to install."""
    done = expect(run([str(scripts / "distlint"), "lsp"], folder), 2)
    if "distlint[lsp]" not in done.stderr:
        fail(f"`distlint lsp` does not name the extra: {done.stderr!r}")


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command in a folder, away from the checkout and from the variables of a surrounding test run."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )


def expect(done: subprocess.CompletedProcess[str], code: int) -> subprocess.CompletedProcess[str]:
    """The process, if it ended with this exit code."""
    if done.returncode != code:
        fail(f"exit code {done.returncode} instead of {code}: {' '.join(done.args)}\n{done.stdout}\n{done.stderr}")
    return done


def fail(message: str) -> None:
    """Ends the smoke test."""
    sys.exit(f"smoke test failed: {message}")


if __name__ == "__main__":
    main()
