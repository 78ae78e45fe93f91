"""Settings from the command line of ``distlint check``, and their listing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from distlint.judge.errors import RuleFileError
from distlint.judge.selection import SelectionError
from distlint.report.terminal import harmless
from distlint.settings import Settings, SettingsError, load_settings

if TYPE_CHECKING:
    from distlint.cli.checking import Options


def chosen_settings(options: Options, start: Path) -> Settings:
    """The settings for a path and the command line; ends with an error where one of them is wrong."""
    overrides = {
        "select": _words(options.select),
        "extend-select": _words(options.extend_select),
        "ignore": _words(options.ignore),
        "world-size": options.world_size,
        "gpus-per-node": options.gpus_per_node,
        "gpu-memory": options.gpu_memory,
        "pin": options.pin,
        "installed": options.installed,
        "min-confidence": options.min_confidence,
        "fail-on": options.fail_on,
    }
    with wrong_settings():
        settings = load_settings(
            start,
            config=options.config,
            isolated=options.isolated,
            overrides=overrides,
            assignments=options.assignments,
        )
    return replace(settings, no_ignores=True) if options.no_ignores else settings


@contextmanager
def wrong_settings() -> Iterator[None]:
    """Turns what is wrong with settings, selectors or rule files into an error for people."""
    try:
        yield
    except (SettingsError, SelectionError, RuleFileError) as error:
        raise click.ClickException(str(error)) from None


def described(settings: Settings) -> str:
    """Every setting with its value and where it was set, one per line."""
    lines = [f"# project: {settings.root}"]
    lines += [f"{key} = {json.dumps(value)}  # {origin}" for key, value, origin in settings.describe()]
    return "".join(f"{harmless(line)}\n" for line in lines)


def _words(given: Iterable[str]) -> tuple[str, ...]:
    """The words of options that take several, separated by commas."""
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())
