"""Which package, and which version of it, an address or a file name stands for."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from distlint.knowledge.distributions import repository_package


class UrlPackage(NamedTuple):
    """What an address tells: the package's name as written, its version, its extras; all may be empty."""

    name: str = ""
    version: str = ""
    extras: tuple[str, ...] = ()


_URL = re.compile(r"(?:(?:git|hg|svn|bzr)\+)?[A-Za-z][A-Za-z0-9.]*(?:\+[a-z]+)?://", re.ASCII)
_VCS = re.compile(r"(?:git|hg|svn|bzr)\+|git://", re.ASCII)
_EGG = re.compile(r"(?:^|&)egg=([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?", re.ASCII)
_TAG = re.compile(r"(?:[A-Za-z_-]*[-_])?[vV]?(\d+(?:\.\d+)+(?:[._-]?(?:a|b|rc|post|dev)\.?\d+)*)", re.ASCII)
_SOURCE = re.compile(r"(.+?)-(\d[^-]*)\.(?:tar\.gz|tar\.bz2|tgz|zip)", re.ASCII)
_ARCHIVE = re.compile(r"(.+?)/(?:archive|zipball|tarball)/(?:refs/(?:tags|heads)/)?(.+?)(?:\.zip|\.tar\.gz)?", re.ASCII)


def is_url(text: str) -> bool:
    """Whether a requirement is an address (``https://``, ``git+ssh://`` …), not a name."""
    return _URL.match(text) is not None or text.startswith("git+")


def package_of_url(url: str) -> UrlPackage:
    """Reads name and version off an address: ``egg=``, a wheel's name, a repository's name and tag.

    The version is only told where it is certain: by a wheel's or archive's name, or by a tag that is a version number.
    """
    address, _, fragment = url.partition("#")
    address = unquote(address.partition("?")[0])
    egg = _EGG.search(fragment)
    path = address.partition("://")[2].partition("/")[2] or address.rpartition(":")[2]
    if _VCS.match(address):
        repository, reference = _split_reference(path)
        found = UrlPackage(_repository_name(repository), _version(reference))
    elif archive := _ARCHIVE.fullmatch(path):
        found = UrlPackage(_repository_name(archive.group(1)), _version(archive.group(2)))
    else:
        found = _of_filename(path)
    if egg is None:
        # What a folder inside a repository builds seldom has the repository's name.
        return UrlPackage() if "subdirectory=" in fragment else found
    extras = tuple(sorted(extra.strip().lower() for extra in (egg.group(2) or "").split(",") if extra.strip()))
    return UrlPackage(egg.group(1), found.version, extras)


def repository_url(address: str, reference: str) -> str:
    """A requirement's address for a repository and a tag, branch or commit of it."""
    return f"git+{address}@{reference}" if reference else f"git+{address}"


def package_of_path(path: str) -> str:
    """The name of the package in a local wheel or archive; ``""`` for a folder."""
    return _of_filename(path).name


def _of_filename(path: str) -> UrlPackage:
    filename = path.rpartition("/")[2]
    if filename.endswith(".whl"):
        parts = filename[:-4].split("-")
        return UrlPackage(parts[0], parts[1]) if len(parts) >= 5 else UrlPackage()
    match = _SOURCE.fullmatch(filename)
    return UrlPackage(match.group(1), match.group(2)) if match else UrlPackage()


def _split_reference(path: str) -> tuple[str, str]:
    folder, slash, last = path.rpartition("/")
    name, _, reference = last.partition("@")
    if not reference and "@" in folder:
        # A branch's name may hold slashes: owner/repository@feature/x.
        whole, _, reference = path.partition("@")
        return whole, reference
    return folder + slash + name, reference


def _repository_name(path: str) -> str:
    path = path.strip("/").removesuffix(".git")
    return repository_package(path) or path.rpartition("/")[2]


def _version(reference: str) -> str:
    match = _TAG.fullmatch(reference)
    return match.group(1) if match else ""
