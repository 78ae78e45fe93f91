"""INI files as ``configparser`` reads them: sections of texts; values come from ``configparser``, places from the lines.

What one value takes from another (``%(name)s``) is left as it is written: a program says whether it wants that.
"""

from __future__ import annotations

import configparser
import re

from distlint.model.document import Entry, Leaf, Mapping
from distlint.model.facts import ReadError
from distlint.model.span import Span
from distlint.model.value import known
from distlint.read.config import ConfigReading, Places

MAX_TEXT = 100_000
MAX_LINE = 2_000
"""Longer files and lines are not read: ``configparser`` takes the square of a line's length for blanks in it."""

_SECTION = re.compile(r"\[([^\]]+)\]")
_KEY = re.compile(r"([^=:\s\[#;][^=:]*)[=:]?")


def read_ini(text: str, file: str) -> ConfigReading:
    """The document of an INI text: a mapping of sections, ``DEFAULT`` among them, each with its own keys as they are written.

    Never raises.
    """
    places = Places(text, file)
    if len(text) > MAX_TEXT or max(map(len, text.splitlines()), default=0) > MAX_LINE:
        return ConfigReading(errors=(ReadError(places.span(0, 0), "is too long for settings"),))
    # a section of defaults that no file has: those of ``DEFAULT`` are joined where the program reads them
    parser = configparser.RawConfigParser(allow_no_value=True, default_section="\0")
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text, file)
    except configparser.Error as error:
        line = getattr(error, "lineno", None) or 1
        at = places.index.offset(min(line, places.index.line_count), 1)
        return ConfigReading(errors=(ReadError(places.span(at, at), error.message.splitlines()[0]),))
    where = _places(places)
    whole = places.span(0, len(text))
    entries = []
    for section in parser.sections():
        place = where.get((section, None), whole)
        inner = tuple(_entry(key, value, where.get((section, key), place)) for key, value in parser.items(section))
        entries.append(Entry(section, place, Mapping(inner, place)))
    return ConfigReading((places.document(Mapping(tuple(entries), whole), "file", "ini"),), (), ("ini",))


def _entry(key: str, value: str | None, at: Span) -> Entry:
    return Entry(key, at, Leaf(known(value, at), at))


def _places(places: Places) -> dict[tuple[str, str | None], Span]:
    """The lines of sections and of their keys."""
    found: dict[tuple[str, str | None], Span] = {}
    section = ""
    for number in range(1, places.index.line_count + 1):
        text = places.index.line_text(number).rstrip("\r\n")
        start = places.index.offset(number, 1)
        indent = len(text) - len(text.lstrip())
        span = places.span(start + indent, start + len(text.rstrip()))
        if match := _SECTION.match(text.lstrip()):
            section = match[1]
            found.setdefault((section, None), span)
        elif match := _KEY.match(text.lstrip()):
            found.setdefault((section, match[1].strip()), span)
    return found
