"""``setup.cfg`` as setuptools reads it."""

from __future__ import annotations

import re
from typing import NamedTuple

from distlint.knowledge.distributions import exactly
from distlint.model.span import LineIndex
from distlint.read.pins.reading import Collector, PinReading
from distlint.read.pins.requirement import Requirement
from distlint.read.pins.requirements import requirement_extent

_SECTION = re.compile(r"\[([^\]]+)\]")
_KEY = re.compile(r"([^=:\s\[#;][^=:]*?)\s*[=:]\s*(.*)")
_FACTOR = re.compile(r"([A-Za-z0-9_.{},!-]+):\s+(?=\S)")
_FILES = re.compile(r"file:\s*(.*)", re.IGNORECASE)


class _Line(NamedTuple):
    section: str
    key: str
    text: str
    start: int
    """Offset of ``text`` in the file."""
    alone: bool
    """The value stands on the key's own line, and may hold several requirements with ``;`` between them."""


def read_setup_cfg(text: str, file: str) -> PinReading:
    """Reads ``install_requires``, ``extras_require``, ``setup_requires``, ``tests_require`` and ``python_requires``."""
    if file.rpartition("/")[2].lower() == "tox.ini":
        return _read_tox(text, file)
    collector = Collector(file, "setup")
    index = LineIndex(text)
    for line in _lines(index):
        if line.section.startswith("tox:"):
            continue
        if line.section == "options":
            _read_option(line, collector, index)
        elif line.section == "options.extras_require":
            _read_value(line, line.key, collector, index)
    return collector.reading()


def _read_tox(text: str, file: str) -> PinReading:
    """``deps`` of the environments of tox; a factor in front (``torch21: torch==2.1``) makes a group."""
    collector = Collector(file, "session")
    index = LineIndex(text)
    for line in _lines(index):
        if not line.section.startswith("testenv") or line.key not in ("deps", "base_python", "basepython"):
            continue
        span = index.span(file, line.start, line.start + len(line.text))
        if line.key != "deps":
            if match := re.fullmatch(r"python(3\.\d+)", line.text):
                collector.add_parsed(Requirement("python", exactly(match[1])), span, line.section)
            continue
        factor = _FACTOR.match(line.text)
        at = factor.end() if factor else 0
        group = f"{line.section} {factor[1]}" if factor else line.section
        first, last = requirement_extent(line.text[at:])
        part, start = line.text[at + first : at + last], line.start + at + first
        if part.startswith(("-r", "-c")):
            collector.include(part[2:].strip(), span, constraint=part.startswith("-c"))
        elif part and not part.startswith("-"):
            collector.add(part, index.span(file, start, start + len(part)), group, optional=True)
    return collector.reading()


def _read_option(line: _Line, collector: Collector, index: LineIndex) -> None:
    if line.key == "python_requires":
        span = index.span(collector.file, line.start, line.start + len(line.text))
        collector.add_parsed(Requirement("python", line.text.strip()), span)
    elif line.key in ("install_requires", "setup_requires", "tests_require"):
        group = {"setup_requires": "build", "tests_require": "test"}.get(line.key, "")
        _read_value(line, group, collector, index)


def _read_value(line: _Line, group: str, collector: Collector, index: LineIndex) -> None:
    files = _FILES.fullmatch(line.text)
    if files is not None:
        for match in re.finditer(r"[^\s,]+", files[1]) if not group else ():
            start = line.start + files.start(1) + match.start()
            collector.include(match[0], index.span(collector.file, start, start + len(match[0])))
        return
    at = 0
    for part in line.text.split(";") if line.alone and '"' not in line.text and "'" not in line.text else [line.text]:
        first, last = requirement_extent(part)
        if first < last:
            start = line.start + at + first
            span = index.span(collector.file, start, start + last - first)
            collector.add(part[first:last], span, group, optional=bool(group))
        at += len(part) + 1


def _lines(index: LineIndex) -> list[_Line]:
    """The non-empty lines of all values, with the section and key that they belong to."""
    lines = []
    section = key = ""
    for number in range(1, index.line_count + 1):
        text = index.line_text(number)
        stripped = text.strip()
        if not stripped or stripped.startswith(("#", ";")):
            continue
        if text[0].isspace() and key:
            start = index.offset(number, len(text) - len(text.lstrip()) + 1)
            lines.append(_Line(section, key, stripped, start, alone=False))
        elif match := _SECTION.match(text):
            section, key = match[1].strip().lower(), ""
        elif match := _KEY.fullmatch(text):
            key = match[1].strip().lower()
            value = match[2].strip()
            if value:
                lines.append(_Line(section, key, value, index.offset(number, match.start(2) + 1), alone=True))
    return lines
