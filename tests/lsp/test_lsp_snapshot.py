from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from distlint.lsp.buffers import Buffer, path_of
from distlint.lsp.snapshot import Snapshot, analyse_snapshot, project_folder
from distlint.model.report import Report


def test_the_buffers_stand_in_for_the_files_of_their_project(tmp_path: Path) -> None:
    """The report's root may lie above the folder that is open: the repository of a sub-folder."""
    buffer = Buffer("file:///spelt/by/editor", tmp_path / "deep" / "a.py", 3, "text")
    seen = []

    def analyse(folder: Path, texts: Mapping[Path, str]) -> Report:
        seen.append((folder, dict(texts)))
        return Report(str(tmp_path), (), {}, str)

    analysis = analyse_snapshot(Snapshot(tmp_path / "deep", 7, (buffer,)), analyse)
    assert seen == [(tmp_path / "deep", {tmp_path / "deep" / "a.py": "text"})]
    assert analysis.file("file:///spelt/by/editor") == "deep/a.py"
    assert analysis.file("file:///other") is None
    assert analysis.uri("deep/a.py") == "file:///spelt/by/editor"
    assert analysis.uri("deep/ä b.py") == (tmp_path / "deep" / "ä b.py").as_uri()


def test_a_path_through_a_linked_folder_is_the_one_that_the_analysis_sees(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real/b.py").symlink_to(tmp_path / "elsewhere.py")
    assert path_of((tmp_path / "link" / "ä b.py").as_uri()) == (tmp_path / "real" / "ä b.py").resolve()
    assert path_of((tmp_path / "link" / "b.py").as_uri()) == (tmp_path / "real").resolve() / "b.py"
    assert path_of("untitled:Untitled-1") is None


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        ("outer/a.py", "outer"),
        ("outer/inner/a.py", "outer/inner"),
        ("outer/inner/deep/a.py", "outer/inner"),
        ("repository/deep/a.py", "repository"),
        ("worktree/deep/a.py", "worktree"),
        ("alone/deep/a.py", "alone/deep"),
        ("outermost/a.py", "outermost"),
    ],
)
def test_a_file_belongs_to_the_innermost_folder_else_its_repository(tmp_path: Path, file: str, folder: str) -> None:
    (tmp_path / "repository/.git").mkdir(parents=True)
    (tmp_path / "worktree").mkdir()
    (tmp_path / "worktree/.git").write_text("gitdir: elsewhere\n")
    assert project_folder(tmp_path / file, [tmp_path / "outer", tmp_path / "outer/inner"]) == tmp_path / folder
