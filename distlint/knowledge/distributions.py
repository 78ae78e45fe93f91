"""Under which other names packages are distributed, and what container images and builds for CUDA bring.

The table is written by hand. What is in an NVIDIA image is in NVIDIA's release notes for it; a build that they name
``2.3.0a0+…`` lies between two releases. Two names stand for what is no package: ``python``, and ``cuda``, the CUDA that
an environment's wheels were built for or that its image brings.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

CUDA = "cuda"
"""What stands for the version of CUDA among the pins."""

TOOLKIT = "cuda-toolkit"
"""What stands for the CUDA that compiles extensions (``nvcc``): an image's, or one that conda installs."""

_BUILD = re.compile(r"(?<![A-Za-z0-9])cu(\d{2,4})(?![A-Za-z0-9])|(?<![A-Za-z0-9])cuda[-_]?(\d{1,2}\.?\d{1,2})(?!\d)")
_SHORT = re.compile(r"(\d\d?)(\d)")


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return table


def conda_package(name: str) -> str:
    """The package that conda's ``name`` (normalised) stands for: another name for some, the same for most."""
    return str(_table()["conda"].get(name, name))


def repository_package(repository: str) -> str:
    """The package that a source repository (``owner/name``) builds, where its own name differs; else ``""``."""
    return str(_table()["repositories"].get("/".join(repository.lower().split("/")[-2:]), ""))


def image_packages(image: str) -> tuple[tuple[str, str], ...]:
    """What a container image brings: packages and the specifiers of their versions; ``()`` where its name says nothing.

    ``image`` is a reference as in a Dockerfile, with or without registry and digest. ``python`` and ``cuda`` are among
    the packages.
    """
    path, tag = _split(image)
    for entry in _table()["images"]:
        name = re.fullmatch(entry["image"], path)
        match = re.fullmatch(entry["tag"], tag) if name is not None else None
        if name is None or match is None:
            continue
        found: dict[str, str] = {**name.groupdict(), **match.groupdict()}
        if "versions" in entry:
            found = entry["versions"].get(found["release"], {})
        return tuple((package, _specifier(package, version)) for package, version in found.items() if version)
    return ()


def image_toolkit(image: str) -> bool:
    """Whether an image brings a compiler for CUDA: those that are made to build on."""
    _, tag = _split(image)
    return "devel" in tag or not any(word in tag for word in ("runtime", "base"))


def _split(image: str) -> tuple[str, str]:
    """The path without registry, and the tag, of an image's reference."""
    image = image.strip().partition("@")[0]
    for scheme in ("docker://", "docker:", "oras://"):
        image = image.removeprefix(scheme)
    reference, colon, tag = image.rpartition(":")
    if not colon or "/" in tag:
        reference, tag = image, ""
    reference = reference.replace("#", "/")
    parts = reference.split("/")
    if len(parts) > 1 and ("." in parts[0] or ":" in parts[0]):
        parts = parts[1:]
    return "/".join(parts).removeprefix("library/"), tag


def _specifier(package: str, version: str) -> str:
    """The specifier for a version as tags write it: ``310``, ``121`` and ``2-3`` are 3.10, 12.1 and 2.3."""
    version = version.replace("-", ".")
    if version.isdigit():
        version = _with_dots(package, version)
    return cuda_specifier(version) if package == CUDA else exactly(version)


def _with_dots(package: str, digits: str) -> str:
    if package == "python" or (digits[0] == "1" and package != CUDA):
        return f"{digits[0]}.{digits[1:]}"
    if package == CUDA:
        return f"{digits[:2]}.{digits[2]}" if len(digits) > 2 else digits
    return f"{digits[0]}.{digits[1:-1]}.{digits[-1]}"


def version_objects_since(package: str) -> str:
    """The first release whose ``__version__`` compares as a version with texts and tuples; ``""`` if it is a text."""
    return str(_table()["version_objects"].get(package, ""))


def has_local_builds(package: str) -> bool:
    """Whether wheels of a release differ in the local part of their version (``2.1.0+cu121``)."""
    return package in _table()["local_builds"]


@cache
def spoken_names(package: str) -> tuple[str, ...]:
    """What programs call a package in the names of their helpers and flags (``HAS_BNB``), its own name first."""
    own = package.replace("-", "_")
    return (own, *_table()["called"].get(package, ()))


@cache
def other_subjects() -> frozenset[str]:
    """What else programs ask for by such names: devices, tools, and libraries whose releases we don't know."""
    return frozenset(_table()["others"])


def exactly(version: str) -> str:
    """The specifier for a version that is named: ``2.1`` may be any 2.1, ``2.1.0`` is that one."""
    return f"=={version}" if version.count(".") > 1 else f"=={version}.*"


def cuda_specifier(version: str) -> str:
    """The specifier for a version of CUDA: only its first two numbers matter."""
    return f"=={'.'.join(version.split('.')[:2])}.*"


def cuda_releases() -> tuple[str, ...]:
    """The versions of CUDA, oldest first."""
    return tuple(_table()["cuda"]["releases"])


def is_built_for_cuda(package: str) -> bool:
    """Whether a local version such as ``+cu121`` of a package says which CUDA the whole environment has."""
    return package in _table()["cuda"]["builds"]


def cuda_of_conda(name: str) -> str:
    """The name among the pins (``cuda``, ``cuda-toolkit``) for a package of conda that brings CUDA; else ``""``."""
    if name in _table()["cuda"]["conda"]:
        return CUDA
    return TOOLKIT if name in _table()["cuda"]["toolkits"] else ""


def cuda_of_runtime(package: str) -> bool:
    """Whether a package is CUDA itself as a wheel: its version is that of CUDA."""
    return package in _table()["cuda"]["runtimes"]


def cuda_of_build(text: str) -> str:
    """The version of CUDA in a build's name (``cu121``, ``cuda118``, ``cuda12.1``); ``""`` if there is none.

    ``text`` is a local version, the build of a conda package, or an index's address.
    """
    match = _BUILD.search(text.lower().replace("_", "-"))
    if match is None:
        return ""
    digits = match[1] or match[2]
    if "." in digits:
        return digits
    short = _SHORT.fullmatch(digits) if len(digits) < 4 else re.fullmatch(r"(\d\d)(\d)\d", digits)
    version = f"{short[1]}.{short[2]}" if short else ""
    return version if version in cuda_releases() else ""
