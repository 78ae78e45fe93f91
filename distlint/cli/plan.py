"""``distlint plan``: how the runs of a project will be laid out, and what they will hold in memory."""

from __future__ import annotations

from pathlib import Path

import click

from distlint.cli.exits import CLEAN
from distlint.cli.inputs import read_inputs
from distlint.cli.progress import progress_line
from distlint.cli.remarks import say_errors
from distlint.cli.screen import deliver
from distlint.cli.words import Word
from distlint.report.plan import PLAN_FORMATS, render_plans


@click.command("plan")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--output-format", type=Word(tuple(PLAN_FORMATS)), default="text", show_default=True)
@click.option("--output-file", type=click.Path(dir_okay=False, path_type=Path), help="Write the plan there.")
@click.option("--world-size", type=click.IntRange(min=1), metavar="N", help="Number of processes of all runs.")
@click.option("--gpus-per-node", type=click.IntRange(min=1), metavar="N", help="Number of devices of each node.")
@click.option("--gpu-memory", metavar="SIZE", help="Memory of each device, such as 80GB.")
def command(
    paths: tuple[str, ...],
    output_format: str,
    output_file: Path | None,
    world_size: int | None,
    gpus_per_node: int | None,
    gpu_memory: str | None,
) -> int:
    """Print for every run its launch, world size, parallel layout, batch, precision and memory, and what is unknown."""
    from distlint.cli.configure import wrong_settings
    from distlint.engine import Request, analyse
    from distlint.planning.project_plans import plans_of
    from distlint.settings import load_settings

    inputs = read_inputs(paths, None)
    overrides = {"world-size": world_size, "gpus-per-node": gpus_per_node, "gpu-memory": gpu_memory}
    with wrong_settings(), progress_line(wanted=True) as progress:
        settings = load_settings(inputs.common, overrides=overrides)
        report = analyse(Request(paths=inputs.paths, settings=settings, progress=progress, judged=False))
        plans, report = plans_of(report)
    text = render_plans(output_format, report.project, plans)
    deliver(text, output_file)
    say_errors(report, str(Path.cwd()))
    return CLEAN
