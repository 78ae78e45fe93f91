"""What the command line names: files, folders, standard input."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

import click

from distlint.model.source import MAX_BYTES

STDIN = "-"


class Inputs(NamedTuple):
    """Absolute paths to analyse, and the text that stands for one of them (``buffer`` is ``None`` without ``-``)."""

    paths: tuple[Path, ...]
    buffer: str | None = None

    @property
    def common(self) -> Path:
        """The folder or file that holds all of the paths: where the search for settings starts."""
        return Path(os.path.commonpath(self.paths))


def read_inputs(names: tuple[str, ...], stdin_filename: str | None) -> Inputs:
    """Checks the paths that were named; ends with a usage error for one that is missing or unreadable."""
    if STDIN not in names:
        if stdin_filename is not None:
            raise click.UsageError("--stdin-filename needs `-` as the path")
        return Inputs(tuple(_existing(name) for name in names or (".",)))
    if len(names) > 1:
        raise click.UsageError("`-` stands alone: standard input cannot be mixed with other paths")
    if stdin_filename is None:
        raise click.UsageError("`-` needs --stdin-filename: the name decides how the text is read")
    return Inputs((_absolute(stdin_filename),), _standard_input())


def _existing(name: str) -> Path:
    path = _absolute(name)
    try:
        is_folder = path.is_dir()
        path.stat()
    except FileNotFoundError:
        raise click.UsageError(f"path `{name}` does not exist") from None
    except (OSError, ValueError) as error:
        raise click.UsageError(f"cannot read `{name}`: {getattr(error, 'strerror', None) or error}") from None
    if not os.access(path, os.R_OK | os.X_OK if is_folder else os.R_OK):
        raise click.UsageError(f"cannot read `{name}`: permission denied")
    return path


def _absolute(name: str) -> Path:
    """The absolute path, ``..`` removed by text: a link that was named stays the place that findings are shown at."""
    return Path(os.path.abspath(name))  # noqa: PTH100


def _standard_input() -> str:
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise click.ClickException(f"standard input is larger than {MAX_BYTES} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"standard input is not UTF-8 text: byte {error.start} does not decode") from None
