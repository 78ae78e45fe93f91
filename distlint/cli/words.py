"""Parameter types whose errors say what would have been right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distlint.judge.suggestion import did_you_mean

if TYPE_CHECKING:
    _Choice = click.Choice[str]
    _Pair = click.ParamType[tuple[Any, Any]]
else:  # before 8.4 these classes of click took no parameters
    _Choice = click.Choice
    _Pair = click.ParamType


class Word(_Choice):
    """One of a few words; an unknown one gets a suggestion."""

    name = "word"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word itself; ends with a usage error for any other."""
        if value not in self.choices:
            allowed = ", ".join(self.choices)
            self.fail(f"`{value}` is not one of {allowed}{did_you_mean(str(value), self.choices)}", param, ctx)
        return str(value)


class Output(_Pair):
    """``FORMAT=PATH``: a format and the file that it is written to."""

    name = "format=path"

    def __init__(self, formats: tuple[str, ...]) -> None:
        self._format = Word(formats)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Path]:
        """The pair of format and path; ends with a usage error if one is missing or unknown."""
        if isinstance(value, tuple):
            return value
        name, equals, path = str(value).partition("=")
        if not equals or not path:
            self.fail(f"`{value}` is not FORMAT=PATH, such as sarif=distlint.sarif", param, ctx)
        return self._format.convert(name, param, ctx), Path(path)
