"""Puts one release of Megatron-LM where the oracle looks for it.

Usage: ``python tools/oracle/megatron_source.py --home .oracle [--checkouts FOLDER] core_v0.16.1 core_v0.19.0``

A release comes from the folder of checkouts that is named; or from the public repository, as ``megatron.training`` is nowhere else; or,
where that is out of reach, as the package megatron-core, which is enough for configurations in Python. What is there already stays.
A release that can't be had in any of these ways is left out, and a line says so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = "https://github.com/NVIDIA/Megatron-LM"
SECONDS = 120


def provide(release: str, home: Path, checkouts: Path | None, repository: str = REPOSITORY) -> str:
    """Where the release came from: ``linked``, ``there``, ``cloned``, ``package``, or ``""`` where it can't be had."""
    target = home / "megatron" / release
    target.parent.mkdir(parents=True, exist_ok=True)
    if checkouts and (checkouts / release).is_dir():
        _remove(target)
        target.symlink_to((checkouts / release).resolve(), target_is_directory=True)
        return "linked"
    if target.is_dir():
        return "there"
    part = target.with_suffix(target.suffix + ".part")
    _remove(part)
    clone = ["git", "clone", "--quiet", "--depth", "1", "--branch", release, repository, str(part)]
    if _runs(clone):
        part.rename(target)
        return "cloned"
    _remove(part)
    version = release.removeprefix("core_v").removeprefix("core_r")
    python = home / "venv" / "bin" / "python"
    # its wheels are of some versions of Python only; the others would compile one helper that nobody asks for here
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    if _runs([*install, "--target", str(part), f"megatron-core=={version}"]):
        part.rename(target)
        return "package"
    _remove(part)
    return ""


def _runs(command: list[str]) -> bool:
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, env=environment, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _remove(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def main() -> int:
    """Provides every release that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--home", type=Path, default=Path(".oracle"))
    parser.add_argument("--checkouts", type=Path, help="a folder with a checkout for each release, named like it")
    arguments = parser.parse_args()
    for release in arguments.releases:
        how = provide(release, arguments.home, arguments.checkouts)
        if how == "package":
            print(f"{release}: the repository is out of reach; megatron-core from PyPI is asked about Python only")
        elif not how:
            print(f"{release}: neither the repository nor a package of this release can be had; it is left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
