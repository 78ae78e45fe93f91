"""What a terminal may be shown: colours, hyperlinks, widths, and text made harmless.

Source text, messages and file names come from a repository that may be hostile. Everything that a terminal or a CI
log would act upon is replaced by something visible.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

MAX_TEXT = 2000
"""Messages are cut at this many characters: they may quote a value from a hostile file."""

_STYLES = {
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "bold": "1",
    "dim": "2",
    "good": "32",
    "gutter": "34",
    "plain": "0",
}

_HARMFUL = re.compile(r"[^\x20-\x7e\xa0-\xac\xae-\u02ff]|##\[")
"""Finds candidates fast; what is really harmful is decided per character."""

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def harmless(text: str, limit: int = MAX_TEXT) -> str:
    """At most ``limit`` characters of ``text`` on one line, and nothing that a terminal or a CI log would act upon."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return _HARMFUL.sub(_visible, text) if _HARMFUL.search(text) else text


def harmless_path(path: str) -> str:
    """A path that is safe at the start of a line of a CI log, where ``::`` would begin a workflow command."""
    safe = harmless(path)
    return f"./{safe}" if safe.startswith("::") else safe


def visible_character(char: str) -> str:
    """A printable stand-in for a control, formatting or surrogate character; any other character as it is."""
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"<U+{code:04X}>" if unicodedata.category(char) in _HIDDEN_CATEGORIES else char


def _visible(match: re.Match[str]) -> str:
    found = match.group()
    # GitHub's runner still honours the old `##[command]` form anywhere in a line.
    return "##［" if found == "##[" else visible_character(found)


def character_width(char: str) -> int:
    """Number of terminal cells that a printable character takes: 0 for combining marks, 2 for wide ones."""
    if char < "\u0300":
        return 1
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def text_width(text: str) -> int:
    """Number of terminal cells that a printable text takes."""
    return len(text) if text.isascii() else sum(character_width(char) for char in text)


class Painter(NamedTuple):
    """Puts colours and hyperlinks around text, if they are wanted at all."""

    color: bool = False
    links: bool = False

    def paint(self, text: str, style: str) -> str:
        """``text`` in a style of ``_STYLES``."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.color and text else text

    def link(self, text: str, url: str) -> str:
        """``text`` as a terminal hyperlink."""
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if self.links else text
