"""Ignore files must mean what they mean to git: git itself is asked."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distlint.discover.ignores import IgnoreChain, ignore_list, read_ignore_file, why_ignored

NAMES = ["a", "b", "ab", "a.py", "b.json", "!c", "#d", "x y", "e ", "[z]", "data", "é"]
# A `**` that touches other characters is left out: git's manual and git itself differ there.
PARTS = [
    *("a", "b", "ab", "*.py", "*.json", "*", "?", "??", "a*", "*b", "*a*b*", "**", "data", "e", "e\\ ", "x y", "x\\ y"),
    *("[ab]", "[!a]", "[^b]", "[a-b]*", "[]a]", "[!]a]", "[-a]", "[a-]", "[[:alpha:]]", "[[:x:]]", "\\[z\\]", "[[]z]"),
    *("\\!c", "\\#d", "\\*", "\\", "a\\b", "é", "[é]"),
]

patterns = st.builds(
    lambda negation, anchor, parts, end: f"{negation}{anchor}{'/'.join(parts)}{end}",
    st.sampled_from(["", "", "", "!", "#"]),
    st.sampled_from(["", "", "/"]),
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " ", "  ", "\r", "/**"]),
)
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4)


def make_tree(root: Path, trees: list[list[str]]) -> None:
    shutil.rmtree(root, ignore_errors=True)
    (root / ".git").mkdir(parents=True)
    for parts in trees:
        folder = root.joinpath(*parts[:-1])
        file = folder / parts[-1]
        if not any(parent.is_file() for parent in folder.parents) and not folder.is_file() and not file.exists():
            folder.mkdir(parents=True, exist_ok=True)
            file.touch()


def kept_by_git(root: Path) -> set[str]:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    shutil.rmtree(root / ".git")
    subprocess.run(["git", "init", "-q", root], check=True, env=environment)
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        env=environment,
    )
    return {os.fsdecode(name) for name in listed.stdout.split(b"\0") if name}


def kept_by_us(root: Path, folder: str = "", chain: IgnoreChain = ()) -> set[str]:
    base = f"{folder}/" if folder else ""
    own = read_ignore_file(str(root), f"{base}.gitignore", base)
    chain = (*chain, own) if own is not None else chain
    kept = set()
    for entry in os.scandir(root / folder):
        path = base + entry.name
        if entry.name == ".git" or why_ignored(path, entry.is_dir(), chain):
            continue
        kept |= kept_by_us(root, path, chain) if entry.is_dir() else {path}
    return kept


@given(st.lists(paths, min_size=1, max_size=8), st.lists(st.tuples(st.integers(0, 7), patterns), max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_files_are_left_out_as_by_git(tmp_path, trees, lines):
    root = tmp_path / "tree"
    make_tree(root, trees)
    folders = sorted(path for path in (root, *root.rglob("*")) if path.is_dir() and ".git" not in path.parts)
    for place, line in lines:
        with (folders[place % len(folders)] / ".gitignore").open("a", newline="") as file:
            file.write(line + "\n")
    assert kept_by_us(root) == kept_by_git(root)


def ignored(path: str, *lines: str, folder: bool = False) -> bool | None:
    return ignore_list([line.encode() for line in lines], "", "").verdict(path, folder)


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        (["*.json"], "deep/er/ds.json", True),
        (["/ds.json"], "deep/ds.json", None),
        (["conf/ds.json"], "deep/conf/ds.json", None),
        (["conf/**/ds.json"], "conf/ds.json", True),
        (["conf/**/ds.json"], "conf/a/b/ds.json", True),
        (["**/old"], "a/old", True),
        (["*.json", "!ds.json"], "ds.json", False),
        (["!ds.json", "*.json"], "ds.json", True),
        (["out/"], "out", None),
        (["# out"], "# out", None),
        (["\\# out"], "# out", True),
        (["out  "], "out", True),
        (["out\\ "], "out ", True),
        (["out\r"], "out", True),
        ([""], "", None),
        (["/"], "a", None),
    ],
)
def test_the_forms_of_patterns(lines, path, expected):
    assert ignored(path, *lines) is expected


def test_a_pattern_for_folders_fits_folders_only():
    assert ignored("out", "out/", folder=True) is True
    assert ignored("out", "out/") is None


def test_a_deeper_file_beats_one_above_it():
    above = ignore_list([b"*.json"], "", "above")
    below = ignore_list([b"!ds.json"], "conf/", "below")
    assert why_ignored("conf/ds.json", False, (above, below)) == ""
    assert why_ignored("conf/other.json", False, (above, below)) == "above"
    assert why_ignored("ds.json", False, (above, below)) == "above"


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 100 + "b", "a" * 250),
        ("?*" * 100 + "b", "a" * 250),
        ("/".join(["**/a*a"] * 300) + "/b", "/".join(["aaa"] * 600)),
        ("[a" * 2000, "a"),
    ],
)
def test_no_pattern_takes_for_ever(pattern, path):
    assert ignored(path, pattern) is None


def test_a_list_takes_no_more_patterns_than_there_is_room_for():
    assert ignored("c", "a", "b", "c") is True
    assert ignore_list([b"a", b"# b", b"b", b"c"], "", "", room=2).verdict("c", False) is None


def test_names_that_are_not_text_are_matched_by_their_bytes():
    assert ignored(os.fsdecode(b"\xff.json"), "*.json") is True
    assert ignored(os.fsdecode(b"\xff.json"), "?.json") is True


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: Path(path).symlink_to("/dev/zero"), os.mkdir])
def test_an_ignore_file_that_is_no_file_says_nothing(tmp_path, make):
    make(str(tmp_path / ".gitignore"))
    assert read_ignore_file(str(tmp_path), ".gitignore", "") is None
