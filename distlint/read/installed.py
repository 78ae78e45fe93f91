"""What is installed in a Python environment, by the metadata that lies in it. Nothing there is imported or run.

The layouts are those of ``venv`` and ``virtualenv`` (``pyvenv.cfg``), conda (``conda-meta``), a plain prefix, Debian's
``dist-packages`` and Windows. Installed projects are described by the standard for recorded installations
(``*.dist-info/METADATA``) or, for older ones, by ``*.egg-info``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from distlint.knowledge.distributions import (
    CUDA,
    conda_package,
    cuda_of_build,
    cuda_of_conda,
    cuda_of_runtime,
    is_built_for_cuda,
)
from distlint.read.pins.requirement import normalise_name

_INTERPRETER = re.compile(r"(?:python|pypy)[0-9.]*[a-z]*(?:\.exe)?", re.IGNORECASE)
_VERSION_IN_NAME = re.compile(r"(?:python|pypy)(3\.\d+)", re.IGNORECASE)
_FOLDERS = ("lib", "lib64", "local/lib", "Lib")
_PACKAGES = ("site-packages", "dist-packages")
_RECORD = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*)(?:-py3(?:\.\d+)?(?:-.*)?)?\.(?:dist-info|egg-info|egg)")
_HEADER = re.compile(rb"^(Name|Version):[ \t]*(\S+)", re.MULTILINE)
_SETTING = re.compile(r"^\s*([A-Za-z_-]+)\s*=\s*(.*?)\s*$", re.MULTILINE)
_MAX_ENTRIES = 20_000
_HEAD_BYTES = 4096
_MAX_DEPTH = 3


class NoEnvironmentError(ValueError):
    """A path names no Python environment; the message says why, for people."""


def read_installed(path: Path) -> dict[str, str]:
    """Packages (normalised names) and their versions, with ``python`` and ``cuda`` where the environment tells them.

    ``path`` is an interpreter, the folder of an environment, or its ``site-packages``. Raises ``NoEnvironmentError``.
    """
    try:
        found = _read(path, 0)
    except OSError as error:
        raise NoEnvironmentError(f"cannot read `{path}`: {error.strerror or error}") from None
    if not found:
        raise NoEnvironmentError(f"`{path}` is no Python environment: no installed package is recorded in it")
    return dict(sorted(found.items()))


def _read(path: Path, depth: int) -> dict[str, str]:
    if not path.exists():
        raise NoEnvironmentError(f"there is no `{path}`")
    if path.is_dir():
        if path.name in _PACKAGES:
            version = _VERSION_IN_NAME.fullmatch(path.parent.name)
            return _of_folders([path], version[1] if version else "")
        return _of_prefix(path, "", depth)
    if not _INTERPRETER.fullmatch(path.name):
        raise NoEnvironmentError(f"`{path}` is neither a Python interpreter nor the folder of an environment")
    return _of_interpreter(path, depth)


def _of_interpreter(path: Path, depth: int) -> dict[str, str]:
    """The environment of an interpreter: that of the link itself if it has one, else that of what it points to."""
    real = path.resolve()
    for program in dict.fromkeys((path, real)):
        prefix = program.absolute().parent
        if prefix.name.lower() in ("bin", "scripts"):
            prefix = prefix.parent
        if (prefix / "pyvenv.cfg").is_file() or (prefix / "conda-meta").is_dir() or any(_folders(prefix)):
            named = _VERSION_IN_NAME.search(program.name) or _VERSION_IN_NAME.search(real.name)
            return _of_prefix(prefix, named[1] if named else "", depth)
    raise NoEnvironmentError(f"no packages are installed beside `{path}`")


def _of_prefix(prefix: Path, python: str, depth: int) -> dict[str, str]:
    settings = _settings(prefix / "pyvenv.cfg")
    full = settings.get("version") or settings.get("version_info") or ""
    match = re.match(r"3\.\d+(?:\.\d+)?", full)
    full = match[0] if match else ""
    python = ".".join(full.split(".")[:2]) or python
    found: dict[str, str] = {}
    if settings.get("include-system-site-packages", "").lower() == "true" and depth < _MAX_DEPTH:
        home = Path(settings.get("home", ""))
        base = home.parent if home.name.lower() in ("bin", "scripts") else home
        if settings.get("home") and base.is_dir() and base.resolve() != prefix.resolve():
            found |= _of_prefix(base, python, depth + 1)
    conda = _of_conda(prefix / "conda-meta")
    python = python or ".".join(conda.get("python", "").split(".")[:2])
    folders = list(_folders(prefix))
    versions = sorted({version for version, _ in folders if version})
    if not python and len(versions) > 1:
        raise NoEnvironmentError(
            f"`{prefix}` holds packages of several Pythons ({', '.join(versions)}): name the interpreter"
        )
    python = python or (versions[0] if versions else "")
    found |= conda | _of_folders((folder for version, folder in folders if version in ("", python)), python)
    if full or "python" in conda:
        found["python"] = full or conda["python"]
    return found


def _settings(file: Path) -> dict[str, str]:
    try:
        with file.open("rb") as stream:
            text = stream.read(_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return {}
    return {key.lower(): value for key, value in _SETTING.findall(text)}


def _folders(prefix: Path) -> Iterator[tuple[str, Path]]:
    """The folders of packages, each with the Python that its path names; the weaker ones first."""
    roots = [prefix / "local" / "lib"] if prefix != Path("/usr") else [Path("/usr/local/lib")]
    bases = [prefix / name for name in _FOLDERS if name != "local/lib"]
    seen: set[str] = set()
    for base in (*reversed(bases), *roots):
        if not base.is_dir():
            continue
        candidates = [("", base)]
        for entry in sorted(base.iterdir()):
            match = _VERSION_IN_NAME.fullmatch(entry.name)
            if match or entry.name == "python3":
                candidates.append((match[1] if match else "", entry))
        for version, folder in candidates:
            for name in _PACKAGES:
                place = folder / name
                if place.is_dir() and (real := os.path.realpath(place)) not in seen:
                    seen.add(real)
                    yield version, place


def _of_conda(folder: Path) -> dict[str, str]:
    """The packages of conda by the names of their records: ``name-version-build.json``."""
    found: dict[str, str] = {}
    for entry in _entries(folder):
        parts = entry.removesuffix(".json").rsplit("-", 2)
        if len(parts) != 3 or not entry.endswith(".json"):
            continue
        name, version, build = parts
        name = normalise_name(name)
        if brought := cuda_of_conda(name):
            found.setdefault(brought, _two(version))
        else:
            found[conda_package(name)] = version
        if is_built_for_cuda(conda_package(name)) and (cuda := cuda_of_build(build)):
            found[CUDA] = cuda
    return found


def _of_folders(folders: Iterable[Path], python: str) -> dict[str, str]:
    found: dict[str, str] = {"python": python} if python else {}
    runtime = ""
    size = len(found)
    for folder in folders:
        for name, version in _records(folder):
            found[name] = version
            if is_built_for_cuda(name) and (cuda := cuda_of_build(version.partition("+")[2])):
                found[CUDA] = cuda
            elif cuda_of_runtime(name):
                runtime = _two(version)
    if runtime:
        found.setdefault(CUDA, runtime)
    return found if len(found) > size else {}


def _records(folder: Path) -> Iterator[tuple[str, str]]:
    """Names and versions of the projects that are recorded in a folder of packages."""
    for entry in _entries(folder):
        path = folder / entry
        if entry.startswith("~"):
            continue  # left over where an installer was interrupted
        if entry.endswith(".dist-info"):
            record = path / "METADATA"
        elif entry.endswith(".egg-info"):
            record = path / "PKG-INFO" if path.is_dir() else path
        elif entry.endswith(".egg"):
            record = path / "EGG-INFO" / "PKG-INFO"
        elif entry.endswith(".egg-link"):
            yield from _linked(path)
            continue
        else:
            continue
        match = _RECORD.fullmatch(entry)
        headers = _headers(record)
        name = headers.get("Name") or (match["name"] if match else "")
        version = headers.get("Version") or (match["version"].replace("_", "+") if match else "")
        if name and version:
            yield normalise_name(name), version


def _linked(link: Path) -> Iterator[tuple[str, str]]:
    """The project that ``setup.py develop`` left in its own folder."""
    try:
        with link.open("rb") as stream:
            target = Path(stream.read(_HEAD_BYTES).decode("utf-8", "replace").partition("\n")[0].strip())
    except OSError:
        return
    if target.is_absolute() and target.is_dir():
        for entry in _entries(target):
            if entry.endswith(".egg-info"):
                headers = _headers(target / entry / "PKG-INFO")
                if "Name" in headers and "Version" in headers:
                    yield normalise_name(headers["Name"]), headers["Version"]


def _headers(file: Path) -> dict[str, str]:
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        return {}
    head = head.partition(b"\n\n")[0]
    return {key.decode(): value.decode("utf-8", "replace") for key, value in reversed(_HEADER.findall(head))}


def _entries(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder))[:_MAX_ENTRIES]
    except OSError:
        return []


def _two(version: str) -> str:
    return ".".join(version.split(".")[:2])
