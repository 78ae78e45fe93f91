"""Lines of keys in a TOML text: the parser gives values without places, and error messages need places."""

from __future__ import annotations

import re

_HEADER = re.compile(r"\s*\[{1,2}\s*([^\]]*?)\s*\]{1,2}\s*(#.*)?$")
_KEY = re.compile(r"\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_QUOTES = re.compile(r"\"\"\"|'''")
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)\s*$")


class TomlText:
    """A TOML text whose keys can be found again. The scan runs only when somebody asks for a place."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._places: dict[tuple[str, str], list[int]] | None = None

    def line_of(self, table: str, key: str, index: int = 0) -> int:
        """The 1-based line of a key, or of its table where the key is not there; 1 where neither is.

        ``index`` counts the tables of an array of tables.
        """
        places = self._scan() if self._places is None else self._places
        above, _, last = table.rpartition(".")
        candidates = [(table, key), (f"{table}.{key}".lstrip("."), ""), (table, ""), (above, last)]
        for candidate in candidates:
            lines = places.get(candidate)
            if lines:
                return lines[min(index, len(lines) - 1)]
        return 1

    def decode_error(self, error: ValueError) -> tuple[int, str]:
        """Line and message of a decoder's error."""
        message = str(error)
        match = _PLACE.search(message)
        if match is None:
            return 1, message
        line = int(match.group(1)) if match.group(1) else max(self._text.count("\n"), 1)
        return line, message[: match.start()]

    def _scan(self) -> dict[tuple[str, str], list[int]]:
        places: dict[tuple[str, str], list[int]] = {}
        table = ""
        closing = ""
        for number, line in enumerate(self._text.split("\n"), 1):
            if closing:
                if closing in line:
                    closing = ""
                continue
            header = _HEADER.match(line)
            key = None if header else _KEY.match(line)
            if header:
                table = _bare(header.group(1))
                places.setdefault((table, ""), []).append(number)
            elif key:
                name = _bare(key.group(1))
                places.setdefault((table, name), []).append(number)
                places.setdefault((table, name.split(".", 1)[0]), []).append(number)
            closing = _open_string(line)
        self._places = places
        return places


def _bare(name: str) -> str:
    return re.sub(r"[\"'\s]", "", name)


def _open_string(line: str) -> str:
    """The quotes of a multi-line string that begins in a line and does not end in it."""
    opened = ""
    for match in _QUOTES.finditer(line):
        if not opened:
            opened = match.group()
        elif opened == match.group():
            opened = ""
    return opened
