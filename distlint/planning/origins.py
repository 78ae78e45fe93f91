"""Where a value comes from, as the lines that say it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from distlint.model.launch import Launch
from distlint.model.span import Span
from distlint.model.value import Value

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_PLACES = 6
MAX_EXCERPT = 72


class Place(NamedTuple):
    """A place that a value rests on, and what stands there; ``text`` is empty where nothing does (a default)."""

    file: str
    line: int
    column: int
    text: str


def places_of(project: Project, value: Value, launch: Launch | None = None) -> tuple[Place, ...]:
    """The places of a value in their order; the launch as a whole stands for its defaults."""
    found: dict[tuple[str, int, str], Place] = {}
    told: list[Span] = []
    for span in value.spans:
        if not span.file or (launch is not None and span == launch.span):
            continue
        if any(span.contains(other) for other in told):
            # what only holds a place that is named already, such as the array around an option
            continue
        told.append(span)
        if len(found) < MAX_PLACES:
            text = excerpt(project, span)
            found.setdefault((span.file, span.line, text), Place(span.file, span.line, span.column, text))
    return tuple(found.values())


def excerpt(project: Project, span: Span) -> str:
    """The line of a span if it is short, else the span's own text with the word before it."""
    lines = project.text_of(span.file).split("\n", span.line)
    if len(lines) < span.line or span.line < 1:
        return ""
    line = lines[span.line - 1]
    whole = line.strip().removesuffix("\\").strip()
    if len(whole) <= MAX_EXCERPT:
        return whole
    start = max(span.column - 1, 0)
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    before = re.search(r"\S*[ \t=:]*$", line[max(start - 40, 0) : start])
    text = line[start - len(before.group()) if before is not None else start : max(end, start + 1)].strip()
    return text if len(text) <= MAX_EXCERPT else text[: MAX_EXCERPT - 1] + "…"
