"""What is analysed: one project with the editor's buffers laid over its files, frozen at one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path

from distlint.lsp.buffers import Buffer
from distlint.model.record import dataclass
from distlint.model.report import Report

Analyse = Callable[[Path, Mapping[Path, str]], Report]
"""Judges the project in a folder, given texts by absolute path that stand in for the files on disk."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The open buffers of the project in a folder. ``generation`` orders the snapshots of a project."""

    folder: Path
    generation: int
    buffers: tuple[Buffer, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report and the snapshot that it is about; knows the buffers by the paths that the report uses."""

    snapshot: Snapshot
    report: Report
    buffers: Mapping[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        root = Path(self.report.root)
        inside = (buffer for buffer in self.snapshot.buffers if buffer.path.is_relative_to(root))
        object.__setattr__(self, "buffers", {buffer.path.relative_to(root).as_posix(): buffer for buffer in inside})

    def file(self, uri: str) -> str | None:
        """The path of an open buffer in the report, if the snapshot has it."""
        return next((file for file, buffer in self.buffers.items() if buffer.uri == uri), None)

    def uri(self, file: str) -> str:
        """The URI of a project file, spelt as the editor spelt it where the file is open."""
        buffer = self.buffers.get(file)
        return buffer.uri if buffer else (Path(self.report.root) / file).as_uri()


def analyse_snapshot(snapshot: Snapshot, analyse: Analyse) -> Analysis:
    """Judges a snapshot; raises whatever ``analyse`` raises."""
    texts = {buffer.path: buffer.text for buffer in snapshot.buffers}
    return Analysis(snapshot, analyse(snapshot.folder, texts))


def project_folder(path: Path, folders: Iterable[Path]) -> Path:
    """The project of a file: the innermost workspace folder around it, else its repository, else its directory."""
    around = [folder for folder in folders if path.is_relative_to(folder)]
    if around:
        return max(around, key=lambda folder: len(folder.parts))
    return next((parent for parent in path.parents if (parent / ".git").exists()), path.parent)
