"""The cases under ``fixtures/``: where they are, what they expect, and how they are run."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from distlint.cli.main import commands

FIXTURES = Path(__file__).parents[1] / "fixtures"
EXPECTATIONS = "expect.txt"

_LINE = re.compile(r"(?P<todo>todo )?(?P<path>\S.*):(?P<line>[0-9]+):(?P<column>[0-9]+) (?P<code>[A-Z]+[0-9]+)")
_COMMENT = re.compile(r"(?:#|//)\s*(?P<todo>todo-)?expect:\s*(?P<codes>[A-Z]+[0-9]+(?:\s*,\s*[A-Z]+[0-9]+)*)\s*$")


@dataclass(frozen=True, slots=True)
class Case:
    """One small project. ``kind`` is ``bad`` or ``good``."""

    code: str
    kind: str
    slug: str

    @property
    def folder(self) -> Path:
        """Where it is."""
        return FIXTURES / self.code / f"{self.kind}-{self.slug}"

    @property
    def fixed(self) -> Path:
        """Where the project after all fixes is, if there are any."""
        return FIXTURES / self.code / f"fixed-{self.slug}"

    def __str__(self) -> str:
        return f"{self.code}-{self.kind}-{self.slug}"


@dataclass(frozen=True, slots=True)
class Expectation:
    """A finding that a case must yield, or (``todo``) ought to; column 0 stands for any."""

    path: str
    line: int
    column: int
    code: str
    todo: bool = False

    def met_by(self, finding: dict[str, Any]) -> bool:
        """Whether a finding, as the JSON report has it, is the one."""
        place = (finding["file"], finding["line"], finding["code"])
        return place == (self.path, self.line, self.code) and self.column in (0, finding["column"])


def cases(kind: str) -> list[Case]:
    """All cases of a kind, in the order of their names."""
    return [
        Case(folder.parent.name, kind, folder.name.removeprefix(f"{kind}-"))
        for folder in sorted(FIXTURES.glob(f"*/{kind}-*"))
        if folder.is_dir()
    ]


def expectations(folder: Path) -> list[Expectation]:
    """What the comments and the list of a case expect; raises ``ValueError`` for a malformed line of the list."""
    found = list(_from_comments(folder))
    listed = folder / EXPECTATIONS
    for line in listed.read_text().splitlines() if listed.exists() else ():
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            raise ValueError(f"{listed}: not of the form `path:line:column CODE`: {line}")
        place = (match["path"], int(match["line"]), int(match["column"]), match["code"])
        found.append(Expectation(*place, todo=match["todo"] is not None))
    return found


def _from_comments(folder: Path) -> Iterator[Expectation]:
    for path, data in tree(folder).items():
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if match := _COMMENT.search(line):
                for code in re.split(r"\s*,\s*", match["codes"]):
                    yield Expectation(path, number, 0, code, todo=match["todo"] is not None)


def tree(folder: Path) -> dict[str, bytes]:
    """The files of a project by relative path, without what is there for tests or for git."""
    return {
        name: path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (name := path.relative_to(folder).as_posix()) != EXPECTATIONS
        if not name.startswith((".git/", ".distlint_cache/"))
    }


def copy_case(folder: Path, target: Path) -> Path:
    """A copy of a case that is a project of its own."""
    shutil.copytree(folder, target)
    (target / EXPECTATIONS).unlink(missing_ok=True)
    (target / ".git").mkdir()
    return target


def check(*options: str) -> dict[str, Any]:
    """The JSON report of ``distlint check`` on the current folder; fails on exit code 2 and on internal errors."""
    arguments = ["check", "--no-cache", "--jobs", "1", "--output-format", "json", *options]
    result = CliRunner().invoke(commands, arguments)
    assert result.exit_code in (0, 1), f"exit code {result.exit_code}: {result.stderr}"
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def shown(findings: list[dict[str, Any]]) -> str:
    """Findings for a failure message, in the form of ``expect.txt`` with the message behind."""
    lines = [f"{item['file']}:{item['line']}:{item['column']} {item['code']}  {item['message']}" for item in findings]
    return "\n".join(lines) or "(none)"
