"""The course of ``distlint check``: settings, analysis, fixes, reports, remarks, exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import click

from distlint.cli.configure import chosen_settings, described, wrong_settings
from distlint.cli.exits import CLEAN, FAILED, FOUND
from distlint.cli.inputs import Inputs, read_inputs
from distlint.cli.progress import progress_line
from distlint.cli.remarks import say_errors, say_notes, say_statistics
from distlint.cli.screen import file_options, say, screen_options, write_file, write_out
from distlint.model.finding import Severity
from distlint.model.report import Report
from distlint.report.formats import render
from distlint.report.terminal import harmless_path
from distlint.settings import Settings

if TYPE_CHECKING:
    from distlint.engine import Request


class Options(NamedTuple):
    """The command line of ``distlint check``, one field per option."""

    paths: tuple[str, ...]
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    extend_select: tuple[str, ...]
    fix: bool
    diff: bool
    unsafe_fixes: bool
    output_format: str | None
    output_file: Path | None
    output: tuple[tuple[str, Path], ...]
    world_size: int | None
    gpus_per_node: int | None
    gpu_memory: str | None
    pin: tuple[str, ...]
    installed: str | None
    min_confidence: str | None
    fail_on: str | None
    exit_zero: bool
    jobs: int | None
    no_cache: bool
    config: Path | None
    isolated: bool
    assignments: tuple[str, ...]
    no_ignores: bool
    show_files: bool
    show_settings: bool
    statistics: bool
    stdin_filename: str | None
    verbose: bool
    quiet: bool


def run_check(options: Options) -> int:
    """Does what the command line asks and returns the exit code; ends with a click error where the call is wrong."""
    _refuse_contradictions(options)
    inputs = read_inputs(options.paths, options.stdin_filename)
    settings = chosen_settings(options, inputs.common)
    if options.show_settings:
        write_out(described(settings))
        return CLEAN
    request = _request(options, inputs, settings)
    if options.show_files:
        return _show_files(request)
    report = _mended(request, options) if options.fix or options.diff else _analyse(request, options)
    _write_reports(report, options)
    _say_remarks(report, options)
    if _unreadable(report, inputs):
        return FAILED
    return exit_code(report, settings.fail_on, exit_zero=options.exit_zero)


def exit_code(report: Report, fail_on: Severity, *, exit_zero: bool = False) -> int:
    """What the report means for the caller: a failure of our own, findings from ``fail_on`` on, or neither."""
    if any(error.internal for error in report.errors):
        return FAILED
    worst = report.worst()
    return FOUND if worst is not None and worst >= fail_on and not exit_zero else CLEAN


def _request(options: Options, inputs: Inputs, settings: Settings) -> Request:
    from distlint.engine import Request

    overlays = {} if inputs.buffer is None else {_in_project(inputs.paths[0], settings.root): inputs.buffer}
    return Request(
        paths=inputs.paths,
        settings=settings,
        jobs=options.jobs,
        use_cache=not options.no_cache,
        overlays=overlays,
        progress=None,
    )


def _in_project(path: Path, root: Path) -> str:
    """The path relative to the project root; ends with a usage error if it lies elsewhere."""
    try:
        return path.resolve().relative_to(root).as_posix()
    except ValueError:
        raise click.UsageError(f"`{path}` lies outside of the project `{root}`") from None


def _unreadable(report: Report, inputs: Inputs) -> bool:
    """Whether a file that the command line names could not be read at all."""
    named = {os.path.realpath(path) for path in inputs.paths}
    return any(
        os.path.realpath(Path(report.root) / error.file) in named and not (error.line and report.text(error.file))
        for error in report.errors
        if error.file
    )


def _analyse(request: Request, options: Options, texts: Mapping[str, str] = MappingProxyType({})) -> Report:
    from distlint.engine import analyse

    with progress_line(not options.quiet) as progress, wrong_settings():
        return analyse(replace(request, overlays={**request.overlays, **texts}, progress=progress))


def _mended(request: Request, options: Options) -> Report:
    """Applies fixes, or prints what they would change, and gives the report on the files as they are then."""
    from distlint.cli.mending import mend

    mended = mend(lambda texts: _analyse(request, options, texts), unsafe=options.unsafe_fixes)
    if options.diff:
        on_screen = sys.stdout.isatty()
        write_out(mended.shown_diff(screen_options().color) if on_screen and mended.stable.changed else mended.diff())
        return mended.before
    mended.write()
    if not options.quiet:
        mended.say()
    return mended.stable.report


def _write_reports(report: Report, options: Options) -> None:
    name = options.output_format or "text"
    if options.output_file is not None:
        write_file(options.output_file, render(name, report, file_options()))
    elif not options.diff:
        write_out(render(name, report, screen_options()))
    for other, path in options.output:
        write_file(path, render(other, report, file_options()))


def _say_remarks(report: Report, options: Options) -> None:
    base = str(Path.cwd())
    say_errors(report, base)
    if not report.statistics.get("files_read", 1) and not options.quiet:
        say("note: nothing here concerns distlint: no file was read")
    if options.verbose:
        say_notes(report, base)
    if options.statistics:
        say_statistics(report)


def _show_files(request: Request) -> int:
    from distlint.engine import discover_files

    for path, kind, why in discover_files(request):
        write_out(f"{harmless_path(path)}: {kind.value if kind is not None else 'not read'}: {why}\n")
    return CLEAN


def _refuse_contradictions(options: Options) -> None:
    if options.fix and options.diff:
        raise click.UsageError("--fix and --diff exclude each other: one writes, the other shows what would be written")
    if options.isolated and options.config is not None:
        raise click.UsageError("--isolated and --config exclude each other")
    if options.fix and options.stdin_filename is not None:
        raise click.UsageError("--fix cannot write to standard input: use --diff")
