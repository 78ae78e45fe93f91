"""Edits of requirements: another version specifier, in the syntax of the file that pins it."""

from __future__ import annotations

import re

from distlint.fix.edits import Patch
from distlint.fix.operations import CannotFixError
from distlint.fix.place import Place

_REQUIREMENT = re.compile(
    r"""(?P<quote>["']?)(?P<name>[A-Za-z0-9][\w.-]*)(?P<extras>\s*\[[^\]]*\])?
        (?P<space>\s*)(?P<specifier>\(?\s*(?:[=~!<>]=?=?[^;#@"'\\]*)?\)?)(?P<rest>.*)\Z""",
    re.VERBOSE | re.DOTALL,
)
_SHELL_SIGNS = frozenset("<>!*")
_COMMAND = re.compile(r"\b(?:install|add)\s")
_MAX_COMMAND = 4000
_TABLE_ENTRY = re.compile(r"""(?P<head>["']?[\w.-]+["']?\s*=\s*)(?P<value>["'][^"']*["'])\Z""")


def set_specifier(place: Place) -> list[Patch]:
    """Gives a requirement another specifier; name, extras, marker and hash options stay.

    Raises:
        CannotFixError: the requirement names a URL, or hashes that would no longer fit.
    """
    text, specifier = place.covered, place.word("specifier").strip()
    entry = _TABLE_ENTRY.match(text)
    if entry is not None:
        start, end = entry.span("value")
        return _changed(place, start + 1, end - 1, specifier or "*")
    match = _REQUIREMENT.match(text)
    if match is None or match.group("rest").lstrip().startswith(("@", "/", ":")):
        raise CannotFixError("the requirement cannot be taken apart")
    if "--hash" in text:
        raise CannotFixError("the requirement has hashes, which hold for one version only")
    start, end = match.span("specifier")
    end = start + len(match.group("specifier").rstrip())
    if _SHELL_SIGNS & set(specifier) and _is_bare_word(place):
        # A shell takes ``>`` for a redirection.
        rest = match.group("rest").rstrip()
        return [Patch(place.start, place.end, f'"{text[:start]}{specifier}{rest}"')]
    if not specifier:
        start = match.start("space") if end > start else start
    return _changed(place, start, end, specifier)


def _is_bare_word(place: Place) -> bool:
    """Whether the requirement is a word of a command without quotes, rather than a line of a list."""
    before = place.text[max(0, place.start - _MAX_COMMAND) : place.start].replace("\\\n", " ").rpartition("\n")[2]
    return before[-1:] not in ("'", '"') and _COMMAND.search(before) is not None


def _changed(place: Place, start: int, end: int, text: str) -> list[Patch]:
    if place.covered[start:end] == text:
        return []
    return [Patch(place.start + start, place.start + end, text)]
