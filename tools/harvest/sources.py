"""The source files of a release in the folder of downloads, and what they say, each different file read once."""

from __future__ import annotations

import gc
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from packages import Package
from packaging.version import Version
from reading import FileFacts, read

RECORD = "release.json"
METADATA = "metadata"
"""The folder, in that of the releases, for those of which only metadata was fetched."""
LARGEST = 4_000_000


@dataclass(frozen=True)
class SourceFile:
    """A module of a release: its dotted name, its file, whether that is a package's and whether it is a stub."""

    module: str
    path: str
    digest: str
    is_package: bool
    is_stub: bool
    is_shallow: bool


@dataclass(frozen=True)
class LocalRelease:
    """A release that was fetched."""

    version: str
    folder: Path
    yanked: bool


def releases_in(folder: Path, package: str) -> list[LocalRelease]:
    """The complete releases of a package in a folder of downloads, oldest first."""
    found = []
    for path in folder.glob(f"{package}-[0-9]*"):
        record = path / RECORD
        if record.is_file():
            data = json.loads(record.read_text(encoding="utf-8"))
            if data["package"] == package:
                found.append(LocalRelease(data["version"], path, bool(data["yanked"])))
    return sorted(found, key=lambda one: Version(one.version))


def files_of(package: Package, release: LocalRelease) -> list[SourceFile]:
    """The modules of a release that the table speaks of. A package wins over a module file of the same name."""
    found: dict[tuple[str, bool], SourceFile] = {}
    for source in package.sources:
        base = release.folder / source if source else release.folder
        for top in package.tops:
            if (base / f"{top}.py").is_file():
                _add(found, package, top, base / f"{top}.py")
            if (base / top).is_dir():
                for path in _sources(base / top):
                    parts = list(path.relative_to(base).with_suffix("").parts)
                    if parts[-1] == "__init__":
                        parts.pop()
                    if all(part.isidentifier() for part in parts):
                        _add(found, package, ".".join(parts), path)
        if found:
            break
    return sorted(found.values(), key=lambda one: (one.module, one.is_stub))


def _sources(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.endswith((".py", ".pyi")):
                yield Path(root, name)


def _add(found: dict[tuple[str, bool], SourceFile], package: Package, module: str, path: Path) -> None:
    detail = package.detail(module)
    if detail == "none" or path.stat().st_size > LARGEST:
        return
    is_package, is_stub = path.stem == "__init__", path.suffix == ".pyi"
    key = (module, is_stub)
    if key not in found or is_package:
        digest = hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()
        digest += ("i" if is_stub else "") + ("s" if detail == "names" else "")
        found[key] = SourceFile(module, str(path), digest, is_package, is_stub, detail == "names")


def read_all(files: Iterable[SourceFile], workers: int) -> dict[str, FileFacts]:
    """What the files say, by digest; equal files are read once."""
    unique = {one.digest: one for one in files}
    tasks = [(digest, one.path, one.is_stub, one.is_shallow) for digest, one in sorted(unique.items())]
    if workers < 2 or len(tasks) < 50:
        return dict(map(_read, tasks))
    with get_context("fork").Pool(workers) as pool:
        return dict(pool.imap_unordered(_read, tasks, chunksize=40))


def _read(task: tuple[str, str, bool, bool]) -> tuple[str, FileFacts]:
    gc.disable()  # trees have no cycles, and looking for some takes a third of the time
    digest, path, stub, shallow = task
    return digest, read(Path(path).read_bytes(), stub=stub, shallow=shallow)
