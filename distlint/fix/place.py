"""What an operation works on: the current text of one file and where in it the operation's spans lie now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import PurePosixPath
from typing import Any

from distlint.fix.operations import CannotFixError
from distlint.model.record import dataclass
from distlint.model.span import Span

_LANGUAGES = {
    ".py": "python",
    ".pyi": "python",
    ".json": "json",
    ".jsonc": "json",
    ".json5": "json",
    ".hjson": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
}


@dataclass(frozen=True, slots=True)
class Place:
    """``text[start:end]`` is what the operation's span covers; ``regions`` are those of spans among its arguments."""

    file: str
    text: str
    start: int
    end: int
    arguments: Mapping[str, Any]
    regions: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def language(self) -> str:
        """``python``, ``json``, ``yaml``, ``toml``, or ``shell`` for files of command lines or plain words."""
        return language_of(self.file, self.text)

    @property
    def covered(self) -> str:
        """The text that the operation's span covers."""
        return self.text[self.start : self.end]

    def word(self, name: str, default: str | None = None) -> str:
        """A string argument.

        Raises:
            CannotFixError: it is missing, or no string.
        """
        value = self.arguments.get(name, default)
        if not isinstance(value, str):
            raise CannotFixError(f"{name} must be a string, not {value!r}")
        return value

    def keys(self, name: str) -> tuple[Any, ...]:
        """An argument that is a non-empty list of keys.

        Raises:
            CannotFixError: it is not.
        """
        value = self.arguments.get(name)
        if not isinstance(value, (list, tuple)) or not value:
            raise CannotFixError(f"{name} must be a list of keys, not {value!r}")
        return tuple(value)


def language_of(file: str, text: str) -> str:
    """The language of a file by its name; a file without suffix that begins like a JSON object is JSON."""
    path = PurePosixPath(file)
    if not path.suffix and text.lstrip("\ufeff \t\r\n").startswith("{"):
        return "json"
    return _LANGUAGES.get(path.suffix.lower(), "shell")


def place_of(
    file: str, text: str, span: Span, arguments: Mapping[str, Any], region: Callable[[Span], tuple[int, int]]
) -> Place:
    """The place of an operation in the current text; ``region`` translates spans of the original text to it.

    Raises:
        CannotFixError: a step before has replaced the place, or an argument names a place in another file.
    """
    start, end = region(span)
    spans = {name: value for name, value in arguments.items() if isinstance(value, Span)}
    if any(other.file != file for other in spans.values()):
        raise CannotFixError("an argument names a place in another file")
    return Place(file, text, start, end, arguments, {name: region(other) for name, other in spans.items()})
