"""``distlint graph``: what launches, imports, loads and pins what."""

from __future__ import annotations

from pathlib import Path

import click

from distlint.cli.exits import CLEAN
from distlint.cli.inputs import read_inputs
from distlint.cli.progress import progress_line
from distlint.cli.remarks import say_errors
from distlint.cli.screen import deliver
from distlint.cli.words import Word
from distlint.report.graph import GRAPH_FORMATS


@click.command("graph")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--output-format", type=Word(tuple(GRAPH_FORMATS)), default="text", show_default=True)
@click.option("--output-file", type=click.Path(dir_okay=False, path_type=Path), help="Write the graph there.")
def command(paths: tuple[str, ...], output_format: str, output_file: Path | None) -> int:
    """Print how scripts, functions, configurations, launches and pins of a project hang together."""
    from distlint.cli.configure import wrong_settings
    from distlint.engine import Request, analyse
    from distlint.settings import load_settings

    inputs = read_inputs(paths, None)
    with wrong_settings(), progress_line(wanted=True) as progress:
        report = analyse(Request(paths=inputs.paths, settings=load_settings(inputs.common), progress=progress))
    if report.project is None:
        raise click.ClickException("there is no graph: the project could not be linked")
    text = GRAPH_FORMATS[output_format](report.project.graph)
    deliver(text, output_file)
    say_errors(report, str(Path.cwd()))
    return CLEAN
