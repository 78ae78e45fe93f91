"""Brings the Python sources and the metadata of releases into a folder; nothing of them is run.

Of every release one file is taken: a pure wheel, else one for macOS (small, with the same Python files as the others),
else the source archive, else the smallest wheel. Only sources, stubs and metadata are kept. What a platform adds to the
requirements (torch on Linux) is read from the end of that wheel, without the rest of it.
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from index import Release, ReleaseFile, releases_of
from pip._internal.network.lazy_wheel import LazyZipOverHTTP
from pip._internal.network.session import PipSession

KEPT = re.compile(
    r".*\.pyi?|.*/METADATA|.*/PKG-INFO|.*/requires\.txt|.*/entry_points\.txt|.*/top_level\.txt|.*/requirements[^/]*\.txt"
)
MAX_MEMBER = 8_000_000
"""Generated sources above this size say nothing about an API."""

RECORD = "release.json"


def fetch(package: str, wanted: Iterable[Release], folder: Path, *, metadata_only: bool = False) -> Iterator[Path]:
    """Yields the folders of the releases, ``folder/package-version``; those that are there already stay as they are."""
    session = PipSession(retries=3)
    with ThreadPoolExecutor(3) as pool:
        tasks = [pool.submit(_fetch, session, package, release, folder, metadata_only) for release in wanted]
        for task in tasks:
            found = task.result()
            if found is not None:
                yield found


def _fetch(session: PipSession, package: str, release: Release, folder: Path, metadata_only: bool) -> Path | None:
    target = folder / f"{package}-{release.version}"
    if (target / RECORD).is_file():
        return target
    chosen = best_file(release)
    try:
        target.mkdir(parents=True, exist_ok=True)
        if metadata_only and chosen.is_wheel:
            _read_remote(session, chosen, target)
        else:
            _unpack(session, chosen, target)
        linux = next((f for f in release.files if "manylinux" in f.name and "x86_64" in f.name), None)
        if linux is not None and linux is not chosen:
            _read_remote(session, linux, target / "linux")
    except Exception as error:  # one broken archive must not end the harvest
        print(f"{package} {release.version}: {type(error).__name__}: {error}", file=sys.stderr)
        return None
    record = {
        "package": package,
        "version": str(release.version),
        "file": chosen.name,
        "sha256": chosen.digest,
        "uploaded": chosen.uploaded[:10],
        "requires_python": release.requires_python,
        "yanked": release.yanked,
        "files": sorted(file.name for file in release.files),
    }
    (target / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return target


def best_file(release: Release) -> ReleaseFile:
    """The file of a release that is read."""

    def order(file: ReleaseFile) -> tuple[int, str]:
        name = file.name
        if name.endswith("-none-any.whl"):
            return (0 if "py3" in name else 3), name
        if "macosx" in name:
            return 1, name
        return (2 if not file.is_wheel else 4), name

    best = min(order(file)[0] for file in release.files)
    return max((file for file in release.files if order(file)[0] == best), key=lambda file: file.name)


def _unpack(session: PipSession, file: ReleaseFile, target: Path) -> None:
    with tempfile.TemporaryFile() as archive:
        response = session.get(file.url, stream=True, headers={"Accept-Encoding": "identity"})
        response.raise_for_status()
        for chunk in response.iter_content(1 << 20):
            archive.write(chunk)
        archive.seek(0)
        if file.name.endswith((".whl", ".zip")):
            with zipfile.ZipFile(archive) as opened:
                _keep_zipped(opened, target)
        else:
            with tarfile.open(fileobj=archive, mode="r:*") as tar:
                for member in tar:
                    inside = tar.extractfile(member) if member.isfile() and member.size <= MAX_MEMBER else None
                    if inside is not None and KEPT.fullmatch(member.name):
                        _write(target, member.name.partition("/")[2], inside.read())


def _read_remote(session: PipSession, file: ReleaseFile, target: Path) -> None:
    """The metadata of a wheel, read from its end."""
    with LazyZipOverHTTP(file.url, session) as lazy, zipfile.ZipFile(lazy) as opened:  # type: ignore[type-var]
        for name in opened.namelist():
            if re.fullmatch(r"[^/]+\.dist-info/(METADATA|entry_points\.txt|top_level\.txt)", name):
                _write(target, name, opened.read(name))


def _keep_zipped(opened: zipfile.ZipFile, target: Path) -> None:
    for item in opened.infolist():
        if not item.is_dir() and item.file_size <= MAX_MEMBER and KEPT.fullmatch("/" + item.filename):
            _write(target, item.filename, opened.read(item))


def _write(target: Path, name: str, content: bytes) -> None:
    parts = PurePosixPath(name).parts
    if name and not name.startswith("/") and ".." not in parts:
        path = target.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def all_releases(package: str) -> list[Release]:
    """The final releases that the index has of a package, withdrawn ones too."""
    return releases_of(PipSession(retries=3), package)
