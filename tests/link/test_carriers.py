"""Everything that says a version, as projects write it: what a script of the project then runs with.

The cases stand in ``carriers.txt`` and ``nearest.txt``: ``=== name``, what is expected (``> package versions``, or
``> script versions of torch``), and the files (``--- path``). Expected are the versions that are allowed: ``2.1.0`` that one
alone, ``2.1.0..2.2.2`` the oldest and the newest, ``2.1.0|2.4.0`` just these, ``?`` unknown although something is said, ``-``
nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from distlint.engine import Request, analyse
from distlint.link.environments import VersionView
from distlint.settings import load_settings

HERE = Path(__file__).parent


def view_of(root: Path, files: dict[str, bytes], script: str = "train.py") -> VersionView:
    """What the files say for a script of a project that consists of them."""
    (root / ".git").mkdir()
    for name, data in {"train.py": b"import torch\n", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    request = Request((root,), load_settings(root, isolated=True), jobs=1, use_cache=False, judged=False)
    project = analyse(request).project
    assert project is not None
    view: VersionView = project.environments.for_file(script)
    return view


def described(view: VersionView, package: str) -> str:
    """What is allowed of a package, as in the case files."""
    allowed = view.allowed(package)
    if not view.is_pinned(package):
        return "-"
    if not allowed:
        return "?"
    return "|".join(allowed) if len(allowed) < 3 else f"{allowed[0]}..{allowed[-1]}"


def cases(file: str) -> Iterator[object]:
    """The cases of a file: (files, expected)."""
    for case in re.split(r"^=== ", (HERE / file).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, *parts = re.split(r"^--- ", case, flags=re.MULTILINE)
        name, *lines = head.splitlines()
        expected = dict(line[2:].rsplit(" ", 1) for line in lines if line.startswith("> "))
        files = {path: text.rstrip("\n").encode() + b"\n" for path, _, text in (part.partition("\n") for part in parts)}
        yield pytest.param(files, expected, id=name)


@pytest.mark.parametrize(("files", "expected"), list(cases("carriers.txt")))
def test_what_a_carrier_says(tmp_path: Path, files: dict[str, bytes], expected: dict[str, str]) -> None:
    view = view_of(tmp_path, files)
    assert {package: described(view, package) for package in expected} == expected


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbftorch==2.1.0\r\ntrl==0.9.6\r\n",
        "torch==2.1.0\ntrl==0.9.6\n".encode("utf-16"),
        b"torch==2.1.0\rtrl==0.9.6",
    ],
)
def test_marks_and_line_ends(tmp_path: Path, data: bytes) -> None:
    view = view_of(tmp_path, {"requirements.txt": data})
    assert (described(view, "torch"), described(view, "trl")) == ("2.1.0", "0.9.6")


@pytest.mark.parametrize(("files", "expected"), list(cases("nearest.txt")))
def test_each_script_runs_with_its_nearest(tmp_path: Path, files: dict[str, bytes], expected: dict[str, str]) -> None:
    view = view_of(tmp_path, files)
    assert {path: described(view.environments.for_file(path), "torch") for path in expected} == expected
