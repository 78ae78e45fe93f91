"""Measures what a check costs: CPU seconds and peak memory of the whole process, beside ruff and a bare ``ast.parse``.

    python tools/bench.py FOLDER [--runs 5] [--json]       a corpus of repositories
    python tools/bench.py --small FILE [--runs 10] [--json]   one small file: what an editor or a hook pays each time

The programs take turns, so that a change in the machine's speed meets all of them; reported are medians. CPU time (user
and system, of the process and all that it started) is compared rather than wall time, because a busy machine stretches
the latter. The first round warms the page cache and is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

PARSE = """
import ast, sys, warnings
warnings.simplefilter("ignore")
for name in sys.stdin.read().split("\\0"):
    try:
        with open(name, "rb") as file:
            ast.parse(file.read(), name)
    except (OSError, RecursionError, SyntaxError, ValueError):
        pass
"""


@dataclass(slots=True)
class Contender:
    """A program under measurement: its command, what it reads on standard input, and its figures per run."""

    name: str
    command: list[str]
    feed: str = ""
    cpu_seconds: list[float] = field(default_factory=list)
    peak_mebibytes: list[float] = field(default_factory=list)

    def run(self, count: bool) -> None:
        """Runs the program once; keeps the figures if ``count``. Ends the benchmark if the program fails."""
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
            stdin.write(self.feed.encode())
            stdin.seek(0)
            process = subprocess.Popen(self.command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=stderr)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                stderr.seek(0)
                sys.exit(f"{self.name} ended with {process.returncode}: {stderr.read().decode(errors='replace')}")
        if count:
            self.cpu_seconds.append(usage.ru_utime + usage.ru_stime)
            self.peak_mebibytes.append(usage.ru_maxrss / 1024)

    @property
    def figures(self) -> dict[str, float]:
        """Medians over the counted runs."""
        return {
            "cpu_seconds": round(statistics.median(self.cpu_seconds), 4),
            "peak_mebibytes": round(statistics.median(self.peak_mebibytes), 1),
        }


def main() -> None:
    """Measures what the command line asks for and prints a table or JSON."""
    parser = argparse.ArgumentParser(description="CPU time and memory of distlint beside ruff and a bare ast.parse")
    parser.add_argument("folder", nargs="?", type=Path, help="the corpus")
    parser.add_argument("--small", type=Path, metavar="FILE", help="measure one small file instead")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each program (default: 5)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args()
    if (given.folder is None) == (given.small is None):
        parser.error("name either a folder or --small FILE")
    contenders = small_file(given.small) if given.small else corpus(given.folder)
    for turn in range(given.runs + 1):
        for contender in contenders:
            contender.run(count=turn > 0)
    print(as_json(contenders, given.runs) if given.json else as_table(contenders, given.runs))


def corpus(folder: Path) -> list[Contender]:
    """What is compared on a corpus; all parse the same Python files, except that ruff picks its own."""
    relevant = relevant_python(folder)
    return [
        Contender("distlint", distlint_check(folder)),
        Contender("ruff", [ruff(), "check", "--no-cache", "--isolated", "--quiet", "--exit-zero", str(folder)]),
        Contender(f"ast.parse of {len(relevant)} files", [sys.executable, "-c", PARSE], "\0".join(relevant)),
    ]


def small_file(file: Path) -> list[Contender]:
    """What is compared on one file; the bare interpreter is the floor."""
    return [
        Contender("distlint", distlint_check(file)),
        Contender("ruff", [ruff(), "check", "--no-cache", "--isolated", "--quiet", "--exit-zero", str(file)]),
        Contender("python -c pass", [sys.executable, "-c", "pass"]),
    ]


def distlint_check(path: Path) -> list[str]:
    """The command that checks a path in one process and without any help of a cache."""
    options = ["--no-cache", "--jobs", "1", "--exit-zero", "--output-format", "json"]
    return [sys.executable, "-m", "distlint", "check", str(path), *options]


def relevant_python(folder: Path) -> list[str]:
    """The Python files that distlint reads for a folder, by the lines ``path: kind: reason`` of ``--show-files``."""
    from distlint.settings import find_root

    listing = subprocess.run(
        [sys.executable, "-m", "distlint", "check", str(folder), "--show-files"],
        capture_output=True,
        text=True,
        check=True,
    )
    parts = (line.partition(": python: ") for line in listing.stdout.splitlines())
    root = find_root(folder.resolve())
    return [str(root / name) for name, found, reason in parts if found and not reason.startswith("not read")]


def ruff() -> str:
    """The ruff of this environment."""
    found = shutil.which("ruff", path=sysconfig.get_path("scripts")) or shutil.which("ruff")
    return found or sys.exit("ruff is not installed in this environment")


def as_json(contenders: list[Contender], runs: int) -> str:
    """The figures for programs."""
    return json.dumps({"runs": runs, "medians": {one.name: one.figures for one in contenders}}, indent=2)


def as_table(contenders: list[Contender], runs: int) -> str:
    """The figures for people, with the ratio to the first program."""
    first = contenders[0].figures
    head = f"median of {runs} runs"
    lines = [f"{head:32} {'CPU s':>9} {'distlint/it':>12} {'peak MiB':>9} {'distlint/it':>12}"]
    for one in contenders:
        figures = one.figures
        cells = [f"{one.name:32}"]
        for name, width in (("cpu_seconds", ".3f"), ("peak_mebibytes", ".1f")):
            cells += [f"{figures[name]:9{width}}", f"{first[name] / max(figures[name], 1e-6):12.2f}"]
        lines.append(" ".join(cells))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
