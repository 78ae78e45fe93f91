"""One requirement: PEP 508, plus what pip takes beside it (paths, addresses, repositories).

Most lines are ``name==1.2.3``. Those are recognised here; ``packaging`` is only imported for the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from distlint.read.pins.urls import is_url, package_of_path, package_of_url

MAX_LENGTH = 2000
"""A longer requirement is refused: none that people write is so long."""

_MAX_BRACKETS = 20


class RequirementError(ValueError):
    """A text is no requirement; the message says why, for people."""


class Requirement(NamedTuple):
    """The parts of a requirement, named and meant as in ``Pin``; ``name`` is ``""`` for a local path."""

    name: str
    specifier: str = ""
    extras: tuple[str, ...] = ()
    marker: str = ""
    url: str = ""
    dynamic: bool = False


_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_RELEASE = r"\d+(?:\.\d+)*"
_SUFFIX = r"(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?"
_CLAUSE = (
    rf"(?:(?:==|!=)\s*{_RELEASE}(?:\.\*|{_SUFFIX})|(?:<=|>=|<|>)\s*{_RELEASE}{_SUFFIX}"
    rf"|~=\s*\d+(?:\.\d+)+{_SUFFIX})"
)
_VARIABLE = (
    r"(?:python_version|python_full_version|os_name|sys_platform|platform_system|platform_machine"
    r"|platform_python_implementation|implementation_name|extra)"
)
_ATOM = rf"""{_VARIABLE}\s*(?:==|!=|<=|>=|<|>)\s*(?:'[^'"]*'|"[^'"]*")"""
_SIMPLE = re.compile(
    rf"({_NAME})\s*(?:\[\s*({_NAME}(?:\s*,\s*{_NAME})*)\s*\])?\s*({_CLAUSE}(?:\s*,\s*{_CLAUSE})*)?"
    rf"\s*(?:;\s*({_ATOM}(?:\s+(?:and|or)\s+{_ATOM})*))?"
)
_SPACE = re.compile(r"\s+")
_SEPARATORS = re.compile(r"[-_.]+")
_HOLE = re.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?|\{[A-Za-z_][^{}]*\}|<[A-Za-z_]+>")
_WITH_HOLE = re.compile(rf"({_NAME})\s*(?:\[[^\]]*\])?\s*(?:===?|~=|!=|<=?|>=?|@)")


def normalise_name(name: str) -> str:
    """A package's name as PEP 503 spells it."""
    return _SEPARATORS.sub("-", name).lower()


def parse_requirement(text: str) -> Requirement:
    """Takes a requirement apart; raises ``RequirementError``.

    Agrees with ``packaging`` on everything that PEP 508 allows. What pip takes beside that (an address, a path) is
    understood too. A version that holds a variable (``torch==${VERSION}``) makes the requirement *dynamic*.
    """
    text = text.strip()
    if len(text) > MAX_LENGTH:
        raise RequirementError("this requirement is too long to be one")
    match = _SIMPLE.fullmatch(text)
    if match is not None:
        name, extras, specifier, marker = match.groups()
        return Requirement(
            normalise_name(name),
            _SPACE.sub("", specifier) if specifier else "",
            _extras(extras.split(",")) if extras else (),
            marker or "",
        )
    if is_url(text):
        return _from_url(text)
    if _is_path(text):
        return Requirement(normalise_name(package_of_path(text.partition("[")[0])), url=text)
    if _HOLE.search(text) and (hole := _WITH_HOLE.match(text)):
        return Requirement(normalise_name(hole.group(1)), dynamic=True)
    return _by_packaging(text)


def _by_packaging(text: str) -> Requirement:
    from packaging.requirements import InvalidRequirement
    from packaging.requirements import Requirement as Pep508

    if text.count("(") > _MAX_BRACKETS:
        raise RequirementError(f"`{_short(text)}` has too many brackets")
    try:
        parsed = Pep508(text)
    except InvalidRequirement:
        raise RequirementError(f"`{_short(text)}` is not a requirement that installers accept") from None
    return Requirement(
        normalise_name(parsed.name),
        str(parsed.specifier),
        _extras(parsed.extras),
        str(parsed.marker) if parsed.marker else "",
        parsed.url or "",
    )


def _extras(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({normalise_name(name.strip()) for name in names}))


def _from_url(text: str) -> Requirement:
    address, _, marker = text.partition(" ;")
    package = package_of_url(address.strip())
    return Requirement(normalise_name(package.name), "", _extras(package.extras), marker.strip(), address.strip())


def _is_path(text: str) -> bool:
    """Whether pip would look for a file or a folder."""
    if text.startswith((".", "/", "~")):
        return True
    word = text.split(maxsplit=1)[0] if text else ""
    return ("/" in word and " @ " not in text and "@" not in word) or word.endswith((".whl", ".tar.gz", ".zip"))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
