"""What the terminal can do, and writing to it and to files."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

import click

from distlint.report.formats import RenderOptions
from distlint.report.terminal import harmless

PLAIN_WIDTH = 120
"""Width of source lines where no terminal says how wide it is."""


def wants_color(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether to colour what goes to ``stream``: ``NO_COLOR`` and ``FORCE_COLOR`` decide, else if it is a terminal."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and environment.get("TERM") != "dumb"


def screen_options(show_fixes: bool = True) -> RenderOptions:
    """How to render for standard output as it is now."""
    terminal = sys.stdout.isatty()
    color = wants_color(sys.stdout, os.environ)
    return RenderOptions(color, terminal and color, _width(terminal), show_fixes, str(Path.cwd()))


def file_options(show_fixes: bool = True) -> RenderOptions:
    """How to render into a file: no colours, no links, paths relative to the working directory."""
    return RenderOptions(width=PLAIN_WIDTH, show_fixes=show_fixes, base=str(Path.cwd()))


def write_out(text: str) -> None:
    """Writes to standard output; characters that its encoding lacks become escapes instead of an error.

    That nobody reads on (``distlint check | head``) is no error either: the exit code still tells what was found.
    """
    stream = sys.stdout
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write_file(path: Path, text: str) -> None:
    """Writes a report to a file and makes its folder; ends with an error that names the path if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise click.ClickException(f"cannot write `{path}`: {error.strerror or error}") from None


def deliver(text: str, path: Path | None) -> None:
    """Writes a result to a file, or to standard output where none is named."""
    if path is None:
        write_out(text)
    else:
        write_file(path, text)


def say(text: str) -> None:
    """One line on standard error, with nothing in it that a terminal would act upon."""
    click.echo(harmless(text).encode("utf-8", "backslashreplace").decode("utf-8"), err=True)


def _width(terminal: bool) -> int:
    """Columns of the terminal; ``COLUMNS`` overrides what it says of itself."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or PLAIN_WIDTH if terminal else PLAIN_WIDTH
    except (OSError, ValueError):
        return PLAIN_WIDTH
