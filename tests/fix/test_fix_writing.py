"""Writing files, and showing what would be written."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from distlint.fix.diff import unified_diff
from distlint.fix.writing import WriteError, write_changes


def original(root: Path, *files: str):
    return {file: (root / file).read_bytes() for file in files}.__getitem__


def test_bytes_outside_the_change_and_mode_bits_stay(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_bytes(b"\xef\xbb\xbfa\r\n\xc3\xa9")
    path.chmod(0o754)
    assert write_changes(tmp_path, {"run.sh": "b\r\né"}, original(tmp_path, "run.sh")) == ("run.sh",)
    assert path.read_bytes() == b"\xef\xbb\xbfb\r\n\xc3\xa9"
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert [path.name for path in tmp_path.iterdir()] == ["run.sh"]


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (b"# coding: latin-1\nx = '\xe9'\n", "# coding: latin-1\nx = 'ü'\n", b"# coding: latin-1\nx = '\xfc'\n"),
        ("a".encode("utf-16"), "b", "b".encode("utf-16")),
        (b"\xfe\xff\x00a", "b", b"\xfe\xff\x00b"),
        (b"", "é", b"\xc3\xa9"),
    ],
)
def test_the_encoding_stays(tmp_path: Path, before: bytes, text: str, after: bytes) -> None:
    (tmp_path / "a.py").write_bytes(before)
    write_changes(tmp_path, {"a.py": text}, {"a.py": before}.__getitem__)
    assert (tmp_path / "a.py").read_bytes() == after


def test_text_that_the_encoding_lacks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"# coding: latin-1\n")
    with pytest.raises(WriteError, match="cannot be written in latin-1"):
        write_changes(tmp_path, {"a.py": "# coding: latin-1\n€"}, original(tmp_path, "a.py"))


def test_a_file_that_changed_is_left_alone_and_so_are_the_others(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("1")
    before = original(tmp_path, "a", "b")
    (tmp_path / "b").write_text("2")
    with pytest.raises(WriteError, match="b: has changed since it was read"):
        write_changes(tmp_path, {"a": "x", "b": "x"}, before)
    assert (tmp_path / "a").read_text() == "1"
    assert (tmp_path / "b").read_text() == "2"


def test_paths_that_leave_the_project_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "out").write_text("1")
    (root / "link").symlink_to(tmp_path / "out")
    for name in ("link", "../out", str(tmp_path / "out")):
        with pytest.raises(WriteError, match="lies outside the project"):
            write_changes(root, {name: "2"}, lambda _: b"1")
    assert (tmp_path / "out").read_text() == "1"


def test_links_within_the_project_stay_links(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("1")
    (tmp_path / "link").symlink_to("real")
    write_changes(tmp_path, {"link": "2"}, lambda _: b"1")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "2"


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    with pytest.raises(WriteError, match="is no regular file"):
        write_changes(tmp_path, {"dir": "2"}, lambda _: b"1")
    with pytest.raises(WriteError, match="gone: No such file"):
        write_changes(tmp_path, {"gone": "2"}, lambda _: b"1")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(WriteError, match="loop: "):
        write_changes(tmp_path, {"loop": "2"}, lambda _: b"1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\n", "a\nc\n"),
        ("a\nb", "a\nc"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("", "a\n"),
        ("é\u2028x\x0cy\n1", "é\u2028x\x0cz\n1"),
    ],
)
def test_the_diff_is_one_that_git_applies(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "dir" / "a.json"
    path.parent.mkdir()
    path.write_bytes(before.encode())
    diff = unified_diff({"dir/a.json": after}, {"dir/a.json": before}.__getitem__)
    assert diff.startswith("--- a/dir/a.json\n+++ b/dir/a.json\n")
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diff.encode(), check=True)
    assert path.read_bytes() == after.encode()


def test_a_missing_final_newline_is_marked() -> None:
    assert unified_diff({"a": "x"}, lambda _: "y\n") == (
        "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-y\n+x\n\\ No newline at end of file\n"
    )


def test_names_cannot_forge_lines_of_a_diff() -> None:
    name = "a\n+++ b/evil\té"
    diff = unified_diff({name: "x\n"}, lambda _: "y\n")
    assert diff.splitlines()[:2] == [
        '--- "a/a\\012+++ b/evil\\011\\303\\251"',
        '+++ "b/a\\012+++ b/evil\\011\\303\\251"',
    ]
    assert unified_diff({}, lambda _: "") == ""
