"""``distlint check``: analyse, mend if asked, report, and say by the exit code whether something is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distlint.cli.words import Output, Word
from distlint.report.formats import FORMATS

_FORMATS = tuple(FORMATS)
_SEVERITIES = ("error", "warning", "note")
_CONFIDENCES = ("certain", "likely", "possible")


@click.command("check")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--select", multiple=True, metavar="RULES", help="Rules to apply: codes, prefixes, names, frameworks, root causes."
)
@click.option("--ignore", multiple=True, metavar="RULES", help="Rules that are off.")
@click.option("--extend-select", multiple=True, metavar="RULES", help="Further rules that are on.")
@click.option("--fix", is_flag=True, help="Apply safe fixes.")
@click.option("--diff", is_flag=True, help="Print what fixes would change, and change nothing.")
@click.option(
    "--unsafe-fixes", is_flag=True, help="With --fix or --diff: also fixes that may change what the job does."
)
@click.option(
    "--output-format", type=Word(_FORMATS), help="Format of the report: " + ", ".join(_FORMATS) + ".  [default: text]"
)
@click.option("--output-file", type=click.Path(dir_okay=False, path_type=Path), help="Write the report there.")
@click.option("--output", type=Output(_FORMATS), multiple=True, help="Also write it there in that format.")
@click.option(
    "--world-size", type=click.IntRange(min=1), metavar="N", help="Number of processes where no launch says it."
)
@click.option(
    "--gpus-per-node",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of devices of each node, where no launch says it.",
)
@click.option("--gpu-memory", metavar="SIZE", help="Memory of each device, such as 80GB, where no launch names it.")
@click.option("--pin", multiple=True, metavar="REQUIREMENT", help="A version to assume, such as 'torch==2.4'.")
@click.option(
    "--installed",
    metavar="PYTHON",
    help="Take versions from the environment of this interpreter or folder, not the pins.",
)
@click.option("--min-confidence", type=Word(_CONFIDENCES), help="Leave out findings that are less sure.")
@click.option("--fail-on", type=Word(_SEVERITIES), help="Exit with 1 from this severity on.  [default: warning]")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if something was found.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Number of processes that read files.")
@click.option("--no-cache", is_flag=True, help="Neither use nor write the cache.")
@click.option("--config", type=click.Path(path_type=Path), help="Settings file to use instead of the nearest one.")
@click.option("--isolated", is_flag=True, help="Ignore all settings files.")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Override one setting.")
@click.option("--no-ignores", is_flag=True, help="Show findings that comments or settings silence, too.")
@click.option("--show-files", is_flag=True, help="Print which files would be read and why, and stop.")
@click.option("--show-settings", is_flag=True, help="Print the settings and where each comes from, and stop.")
@click.option("--statistics", is_flag=True, help="Print how often each rule found something.")
@click.option("--stdin-filename", metavar="PATH", help="With PATH `-`: the file that standard input stands for.")
@click.option("--verbose", is_flag=True, help="Say why files were left out and values stayed unknown.")
@click.option("--quiet", is_flag=True, help="Print the report and errors only.")
def command(**given: Any) -> int:
    """Analyse files and folders and report what will crash, hang, be ignored or diverge.

    PATHs are files or folders (the current folder if there is none), or `-` for standard input. Exit code: 0 if nothing
    at or above --fail-on is left, 1 if something is, 2 if the call or a setting is wrong or distlint failed.
    """
    from distlint.cli import checking

    return checking.run_check(checking.Options(**given))
