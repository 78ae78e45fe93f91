"""Template markup in YAML and TOML texts: blanked out before parsing, so that what stands around it can be read."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field

from distlint.model.record import dataclass

_MARKUP = re.compile(
    r"\$?\{\{.{0,500}?\}\}|\{%-?\s*(?P<word>\w*).{0,500}?%\}|\{#.{0,500}?#\}|<%(?!=).{0,500}?%>|<%=.{0,500}?%>"
    r"|\$\{[^{}\r\n]{0,500}\}",
    re.DOTALL,
)
MAX_LENGTH = 500_000
"""Longer texts are no templates; the search for markup that is never closed must stay bounded."""

_STATEMENTS = ("{%", "{#", "<%")
_VISIBLE = re.compile(r"[^\r\n]")


@dataclass(slots=True)
class Masked:
    """A text of the same shape without markup.

    ``regions`` are the offsets of the markup, in order. ``hides`` tells that keys may be written by it that can't be
    seen.
    """

    text: str
    regions: list[tuple[int, int]] = field(default_factory=list)
    hides: bool = False
    _blocks: list[tuple[int, int]] = field(default_factory=list)

    def touches(self, start: int, end: int) -> bool:
        """Whether markup stands between two offsets."""
        after = bisect_right(self.regions, (end,)) - 1
        return after >= 0 and self.regions[after][1] > start

    def is_certain(self, offset: int) -> bool:
        """Whether the offset lies outside every ``if`` and ``for`` block."""
        before = bisect_right(self._blocks, (offset,)) - 1
        return before < 0 or self._blocks[before][1] <= 0

    def block(self, offset: int, word: str) -> None:
        """A statement that may open or close a block."""
        depth = self._blocks[-1][1] if self._blocks else 0
        step = 1 if word in ("if", "for") else -1 if word in ("endif", "endfor") else 0
        self._blocks.append((offset, max(depth + step, 0)))


def mask(text: str, word: str) -> Masked | None:
    """The text with its markup replaced; ``None`` if there is none (or the text is very long).

    A line of markup alone becomes blank, unless the line before it asks for a value; other markup becomes a run of the
    character ``word``, of the same width.
    """
    if len(text) > MAX_LENGTH:
        return None
    masked = Masked(text)
    parts: list[str] = []
    done = line_end = 0
    fill = word
    for match in _MARKUP.finditer(text):
        start, end = match.span()
        if start >= line_end:
            line_start = text.rfind("\n", 0, start) + 1
            line_end = text.find("\n", end)
            line_end = len(text) if line_end < 0 else line_end
            alone = not _MARKUP.sub("", text[line_start:line_end]).strip()
            statement = match[0].startswith(_STATEMENTS) and not match[0].startswith("<%=")
            fill = " " if alone and (statement or not _asks_for_value(text, line_start)) else word
            masked.hides |= fill == " "
        if match["word"] is not None:
            masked.hides = True
            masked.block(start, match["word"])
        masked.regions.append((start, end))
        parts += (text[done:start], _VISIBLE.sub(fill, match[0]))
        done = end
    if not masked.regions:
        return None
    masked.text = "".join((*parts, text[done:]))
    return masked


def _asks_for_value(text: str, line_start: int) -> bool:
    before = text[max(0, line_start - 400) : line_start].rstrip()
    return before.endswith((":", "-"))
