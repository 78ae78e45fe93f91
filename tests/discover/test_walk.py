"""Which files the walk finds, and what it says of those that it leaves out."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from distlint.discover import passed_on, walk
from distlint.discover.reading import read_one
from distlint.discover.triage import Triage
from distlint.discover.walk import Discovery, discover, sources_of
from distlint.frameworks import specs
from distlint.model.source import MAX_BYTES, SourceKind

SCRIPT = "import torch.distributed\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one script that matters."""
    return fill(tmp_path, {".git/HEAD": "", "train.py": SCRIPT})


def fill(root: Path, texts: Mapping[str, str]) -> Path:
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def found(root: Path, **options: object) -> Discovery:
    return discover(str(root), Triage(specs()), **options)  # type: ignore[arg-type]


def read(root: Path, **options: object) -> list[str]:
    return [source.path for source in found(root, **options).sources]


def reasons(discovery: Discovery) -> dict[str, str]:
    return {note.span.file: note.message for note in discovery.notes}


def errors(discovery: Discovery) -> dict[str, str]:
    return {error.file: error.message for error in discovery.errors}


def test_sources_are_sorted_and_everything_else_is_known_by_its_path(root):
    fill(root, {"b/z.py": SCRIPT, "a/notes.txt": "", "a/plain.py": "x = 1\n"})
    result = found(root)
    assert [source.path for source in result.sources] == ["b/z.py", "train.py"]
    assert result.paths == {"train.py", "b/z.py", "a/notes.txt", "a/plain.py"}


@pytest.mark.parametrize("folder", [".git", "node_modules", "third_party/x", ".venv", "a.egg-info", "__pycache__"])
def test_folders_that_hold_foreign_code_are_left_out(root, folder):
    fill(root, {f"{folder}/foreign.py": SCRIPT})
    assert read(root) == ["train.py"]


@pytest.mark.parametrize("marker", ["env/pyvenv.cfg", "env/conda-meta/history"])
def test_an_environment_is_known_by_what_lies_in_it(root, marker):
    fill(root, {marker: "", "env/lib/foreign.py": SCRIPT})
    result = found(root)
    assert [source.path for source in result.sources] == ["train.py"]
    assert reasons(result)["env"] == "skipped: a Python environment"


@pytest.mark.parametrize("git", ["inner/.git", "inner/.git/HEAD"], ids=["submodule", "checkout"])
def test_another_repository_inside_is_left_out(root, git):
    fill(root, {git: "", "inner/foreign.py": SCRIPT})
    assert read(root) == ["train.py"]
    assert read(root, named=["inner"]) == ["inner/foreign.py", "train.py"]


def test_repositories_below_a_folder_that_is_none_are_read(tmp_path):
    fill(tmp_path, {"one/.git/HEAD": "", "one/train.py": SCRIPT, "two/.git/HEAD": "", "two/train.py": SCRIPT})
    assert read(tmp_path) == ["one/train.py", "two/train.py"]
    assert read(tmp_path, starts=["two"]) == ["two/train.py"]


def test_ignored_files_do_not_exist_for_the_project(root):
    fill(root, {".gitignore": "out/\n*.log.py\n", "out/x.py": SCRIPT, "a.log.py": SCRIPT, "b.log.py": "irrelevant\n"})
    result = found(root)
    assert result.paths == {"train.py", ".gitignore"}
    assert reasons(result)["a.log.py"] == reasons(result)["out"] == "skipped: ignored by .gitignore"


def test_the_exclude_file_of_the_repository_counts_but_less_than_ignore_files(root):
    fill(root, {".git/info/exclude": "*.py\n", ".gitignore": "!kept.py\n", "kept.py": SCRIPT})
    assert read(root) == ["kept.py"]


def test_nothing_below_an_ignored_folder_comes_back(root):
    fill(root, {".gitignore": "out/\n!out/kept.py\n", "out/kept.py": SCRIPT, "out/.gitignore": "!*\n"})
    assert read(root) == ["train.py"]


def test_the_settings_exclude_relative_to_their_folder(root):
    fill(root, {"sub/old/a.py": SCRIPT, "old/a.py": SCRIPT, "sub/b.py": SCRIPT})
    assert read(root, exclude=[("sub", "/old"), ("sub", "*.py"), ("sub", "!b.py")]) == [
        "old/a.py",
        "sub/b.py",
        "train.py",
    ]
    assert reasons(found(root, exclude=[("", "old")]))["old"] == "skipped: excluded by the settings"


@pytest.mark.parametrize("named", ["third_party/lib", "third_party/lib/foreign.py", "out/x.py", "out", "plain.py"])
def test_what_is_named_is_read_in_spite_of_everything(root, named):
    texts = {".gitignore": "out/\n", "third_party/lib/foreign.py": SCRIPT, "out/x.py": SCRIPT, "plain.py": "x = 1\n"}
    fill(root, texts)
    assert [path for path in read(root, named=[named], exclude=[("", "out")]) if path != "train.py"] == [
        path for path in ("out/x.py", "plain.py", "third_party/lib/foreign.py") if path.startswith(named)
    ]


def test_a_named_file_that_can_not_be_read_is_an_error(root):
    fill(root, {"data.bin": "x", "large.py": ""})
    os.truncate(root / "large.py", MAX_BYTES + 1)
    (root / "out.py").symlink_to("/etc/hostname")
    result = found(root, named=["data.bin", "large.py", "out.py"])
    assert errors(result) == {
        "data.bin": "is no kind of file that distlint reads",
        "large.py": f"not read: {MAX_BYTES + 1} bytes, more than the limit of {MAX_BYTES}",
        "out.py": "not read: a link that leads out of the project",
    }


def test_a_link_inside_the_project_is_not_read_twice(root):
    fill(root, {"deep/x.txt": "# zero_optimization"})
    (root / "deep" / "again.py").symlink_to("../train.py")
    (root / "deep" / "ds.json").symlink_to("x.txt")
    result = found(root)
    assert [source.path for source in result.sources] == ["deep/ds.json", "train.py"]
    assert "deep/again.py" in result.paths
    assert reasons(result)["deep/again.py"] == "skipped: a link to train.py"
    assert read(root, named=["deep/again.py"]) == ["deep/again.py", "deep/ds.json", "train.py"]


@pytest.mark.parametrize(
    "target", ["/etc/hostname", "../outside.py", "link.py", "nowhere.py", "/dev/zero", ".", "/etc"]
)
def test_links_that_lead_elsewhere_are_not_followed(root, target):
    (root.parent / "outside.py").write_text(SCRIPT)
    (root / "link.py").symlink_to(target)
    result = found(root)
    assert [source.path for source in result.sources] == ["train.py"]
    assert "link.py" not in result.paths
    assert reasons(result)["link.py"] == "skipped: a link out of the project, to a folder, or to nothing"


def test_what_is_no_regular_file_is_never_opened_for_long(root, monkeypatch):
    for name in ("pipe.py", "pipe", "requirements.txt"):
        os.mkfifo(root / name)
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.py")
        (root / "folder.py").mkdir()
        assert read(root) == ["train.py"]


def test_unreadable_files_and_folders_are_errors_and_the_rest_is_read(root, monkeypatch):
    fill(root, {"secret.py": SCRIPT, "secret.bin": "", "locked/a.py": SCRIPT})
    real_open, real_scan = os.open, os.scandir

    def refuse(path, *more, **options):
        if "secret" in str(path) or str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return (real_open if more else real_scan)(path, *more, **options)

    monkeypatch.setattr(walk.os, "open", refuse)
    monkeypatch.setattr(walk.os, "scandir", refuse)
    result = found(root)
    assert [source.path for source in result.sources] == ["train.py"]
    assert errors(result) == {
        "secret.py": "can't be read: Permission denied",
        "locked": "folder can't be read: Permission denied",
    }


def test_a_large_file_is_an_error_only_where_it_matters(root):
    for name, text in {"ds.json": '{"zero_optimization": 1}', "data.json": "{}"}.items():
        fill(root, {name: text})
        os.truncate(root / name, MAX_BYTES + 1)
    result = found(root)
    assert list(errors(result)) == ["ds.json"]
    assert [source.path for source in result.sources] == ["train.py"]


def test_the_walk_ends_at_its_limit_with_the_first_names(root, monkeypatch):
    monkeypatch.setattr(walk, "MAX_FILES", 4)
    for number in reversed(range(9)):
        fill(root, {f"a{number}.py": SCRIPT})
    result = found(root)
    assert [source.path for source in result.sources] == ["a0.py", "a1.py", "a2.py"]
    assert reasons(result)["."] == "more than 4 files: the rest was not looked at"


def test_no_more_bytes_are_kept_than_the_limit(root, monkeypatch):
    fill(root, {"a.py": SCRIPT, "b.py": SCRIPT})
    monkeypatch.setattr(walk, "MAX_TOTAL_BYTES", 2 * len(SCRIPT))
    result = found(root)
    assert [source.path for source in result.sources] == ["a.py", "b.py"]
    assert errors(result) == {
        "train.py": f"not read: the project holds more than {2 * len(SCRIPT)} bytes of files that matter"
    }


def test_ignore_patterns_beyond_the_limit_are_not_honoured_and_a_note_says_so(root, monkeypatch):
    monkeypatch.setattr(walk, "MAX_PATTERNS", 1)
    fill(root, {".gitignore": "a.py\nb.py\n", "a.py": SCRIPT, "b.py": SCRIPT})
    result = found(root)
    assert [source.path for source in result.sources] == ["b.py", "train.py"]
    assert reasons(result)[".gitignore"] == "more than 1 ignore patterns in all: the rest is not honoured"


def test_the_order_of_folder_entries_does_not_matter(root, monkeypatch):
    fill(root, {f"{folder}/{name}.py": SCRIPT for folder in "abc" for name in "xyz"})
    first = found(root, explain=True)
    real = os.scandir

    class Backwards:
        def __init__(self, path):
            with real(path) as entries:
                self._entries = sorted(entries, key=lambda entry: entry.name, reverse=True)

        def __enter__(self):
            return iter(self._entries)

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(walk.os, "scandir", Backwards)
    second = found(root, explain=True)
    assert (second.sources, second.notes, second.decisions) == (first.sources, first.notes, first.decisions)


def test_names_that_are_no_text_are_kept_as_they_are(root):
    name = os.fsdecode(b"\xff\n.py")
    fill(root, {name: SCRIPT})
    assert read(root) == ["train.py", name] if name > "train.py" else [name, "train.py"]


def test_decisions_say_why_a_file_is_read_or_not(root):
    fill(root, {"plain.py": "x = 1\n", ".gitignore": "*.json\n", "ds.json": "{}"})
    decisions = {path: (kind, why) for path, kind, why in found(root, explain=True).decisions}
    assert decisions["train.py"] == (SourceKind.PYTHON, "read")
    assert decisions["plain.py"][1] == "not read: nothing in it names a framework, a launcher or a setting"
    assert decisions["ds.json"] == (SourceKind.JSON, "not read: ignored by .gitignore")


def test_one_more_file_is_read_only_from_inside_the_project(root):
    fill(root, {"plain.py": "x = 1\n", "run": "#!/bin/sh\n", "data.bin": ""})
    (root.parent / "outside.py").write_text(SCRIPT)
    (root / "link.py").symlink_to("../outside.py")
    os.mkfifo(root / "pipe.py")
    assert read_one(str(root), "plain.py").data == b"x = 1\n"
    assert read_one(str(root), "run").kind is SourceKind.SHELL
    for path in ("../outside.py", "link.py", "/etc/hostname", "pipe.py", "nothing.py", "data.bin", "a\0.py"):
        assert read_one(str(root), path) is None


def test_sources_of_texts_have_the_kind_that_name_or_first_line_tell():
    kinds = {source.path: source.kind for source in sources_of({"a.py": "", "run": "#!/usr/bin/env bash\n", "x": "x"})}
    assert kinds == {"a.py": SourceKind.PYTHON, "run": SourceKind.SHELL}


def test_files_that_import_from_one_that_is_read_are_read_too(root: Path) -> None:
    texts = {
        "compat.py": "import torch.distributed as backend\n",
        "tools/__init__.py": SCRIPT,
        "uses.py": "from compat import backend\nbackend.barrier()\n",
        "more.py": "from .uses import backend\n",
        "packaged.py": "from tools import x\n",
        "other.py": "# compat\nimport json\n",
    }
    fill(root, texts)
    assert read(root) == ["compat.py", "more.py", "packaged.py", "tools/__init__.py", "train.py", "uses.py"]
    (decision,) = [one for one in found(root, explain=True).decisions if one[0] == "other.py"]
    assert decision[2].startswith("not read: nothing in it")


def test_many_files_without_a_word_are_not_asked_what_they_import(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passed_on, "MAX_CANDIDATES", 2)
    fill(root, {"compat.py": SCRIPT, **{f"uses{n}.py": "from compat import backend\n" for n in range(3)}})
    assert read(root) == ["compat.py", "train.py"]
