"""Requirements and constraints files, as pip reads them."""

from __future__ import annotations

import re

from distlint.knowledge.distributions import exactly
from distlint.model.span import LineIndex
from distlint.read.pins.joined import JoinedText
from distlint.read.pins.reading import Collector, PinReading
from distlint.read.pins.requirement import Requirement

_COMMENT = re.compile(r"(?:^|\s)\s*#.*$")
_COMMENT_LINE = re.compile(r"\s*#")
_OPTION = re.compile(r"(--?[A-Za-z][A-Za-z0-9-]*)(?:\s*=\s*|\s+)?(.*)", re.DOTALL)
_TRAILING_OPTIONS = re.compile(r"\s-(?:-[a-z]|[a-zA-Z](?=[\s/.]|$))")
_INCLUDES = {"-r": False, "--requirement": False, "--requirements": False, "-c": True, "--constraint": True}
_EDITABLE = frozenset({"-e", "--editable"})
_ORIGINS = {"constraint": "constraints", "override": "overrides"}
_PYTHON_VERSION = re.compile(r"\s*(?:cpython@?-?|python-?|pypy)?(3\.\d{1,2}(?:\.\d+)?)(?![\d.]*dev)")
INDEXES = frozenset(
    {"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--index", "--default-index", "--torch-backend"}
)
"""Options that say where wheels come from, which may be a place for one version of CUDA."""


def read_requirements(text: str, file: str) -> PinReading:
    """Reads a requirements file; one whose name begins with ``constraint`` has pins of origin ``constraints``.

    ``.python-version`` and ``runtime.txt`` name the version of Python.
    """
    name = file.rpartition("/")[2].lower()
    index = LineIndex(text)
    if name in (".python-version", "runtime.txt"):
        return _read_python_version(index, file)
    origin = next((origin for word, origin in _ORIGINS.items() if name.startswith(word)), "requirements")
    if file.lower().split("/")[-2:-1] == ["constraints"]:
        origin = "constraints"
    collector = Collector(file, origin)
    for line in _logical_lines(index):
        _read_line(line, collector, index)
    return collector.reading()


def _read_python_version(index: LineIndex, file: str) -> PinReading:
    """The first version that the file names: ``3.10``, ``3.10.12``, ``python-3.10.12``, ``pypy3.10-7.3``."""
    collector = Collector(file, "python-version")
    for number in range(1, index.line_count + 1):
        match = _PYTHON_VERSION.match(index.line_text(number))
        if match is not None:
            span = index.span(file, index.offset(number, match.start(1) + 1), index.offset(number, match.end(1) + 1))
            collector.add_parsed(Requirement("python", exactly(match[1])), span)
            break
    return collector.reading()


def requirement_extent(text: str) -> tuple[int, int]:
    """Where the requirement itself stands in a line: without a comment, trailing options and space around it."""
    comment = _COMMENT.search(text)
    end = comment.start() if comment else len(text)
    options = _TRAILING_OPTIONS.search(text, 0, end)
    end = options.start() if options else end
    body = text[:end]
    return len(body) - len(body.lstrip()), len(body.rstrip())


def _logical_lines(index: LineIndex) -> list[JoinedText]:
    lines: list[JoinedText] = []
    parts: list[str] = []
    pieces: list[tuple[int, int]] = []
    length = 0
    for number in range(1, index.line_count + 1):
        line = index.line_text(number)
        continued = line.endswith("\\") and not _COMMENT_LINE.match(line)
        part = line.rstrip("\\") if continued else line
        pieces.append((length, index.offset(number, 1)))
        parts.append(part)
        length += len(part)
        if not continued:
            lines.append(JoinedText("".join(parts), tuple(pieces)))
            parts, pieces, length = [], [], 0
    if parts:
        lines.append(JoinedText("".join(parts), tuple(pieces)))
    return lines


def _read_line(line: JoinedText, collector: Collector, index: LineIndex) -> None:
    comment = _COMMENT.search(line.text)
    end = comment.start() if comment else len(line.text)
    text = line.text[:end].rstrip()
    start = len(text) - len(text.lstrip())
    text = text.strip()
    if not text:
        return
    if text.startswith("-"):
        _read_option(text, start, line, collector, index)
        return
    first, last = requirement_extent(text)
    collector.add(text[first:last], line.span(start + first, start + last, index, collector.file))


def _read_option(text: str, start: int, line: JoinedText, collector: Collector, index: LineIndex) -> None:
    match = _OPTION.fullmatch(text)
    if match is None:
        collector.error(
            line.span(start, start + len(text), index, collector.file), f"`{text[:40]}` is no option of pip"
        )
        return
    flag, value, value_at = match[1], match[2].strip(), match.start(2)
    if not flag.startswith("--") and len(flag) > 2:
        flag, value, value_at = flag[:2], text[2:].strip(), 2
    value_at += start
    span = line.span(value_at, value_at + len(value), index, collector.file)
    if flag in _INCLUDES:
        collector.include(value.strip("'\""), span, constraint=_INCLUDES[flag])
    elif flag in INDEXES:
        collector.add_index(value, span)
    elif flag in _EDITABLE:
        first, last = requirement_extent(value)
        collector.add(value[first:last], line.span(value_at + first, value_at + last, index, collector.file))
