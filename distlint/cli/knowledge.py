"""``distlint knowledge``: which releases the shipped tables cover, and what they say of a name."""

from __future__ import annotations

from pathlib import Path

import click

from distlint.cli.exits import CLEAN, FAILED
from distlint.cli.screen import deliver
from distlint.cli.words import Word


@click.command("knowledge")
@click.argument("name", required=False, metavar="[NAME]")
@click.option("--output-format", type=Word(("text", "json")), default="text", show_default=True)
@click.option("--output-file", type=click.Path(dir_okay=False, path_type=Path), help="Write the answer there.")
@click.option("--verify", is_flag=True, help="Compute the checksum of the table again; exit with 2 if it is wrong.")
def command(name: str | None, output_format: str, output_file: Path | None, verify: bool) -> int:
    """Print which releases the table of released APIs covers, or the history of a NAME in it.

    NAME is a package (`torch`, `vllm`) or a dotted name as code writes it, such as `torch.distributed.fsdp.fully_shard`.
    """
    from distlint.knowledge.api import api
    from distlint.knowledge.requirements import required_packages
    from distlint.report.knowledge import RENDER_COVERAGE, RENDER_HISTORY, coverage_of, history_of

    table = api()
    code = CLEAN
    if name and name not in table.packages and name not in required_packages():
        try:
            history = history_of(table, name)
        except LookupError as error:
            raise click.ClickException(str(error)) from None
        deliver(RENDER_HISTORY[output_format](history), output_file)
        return code
    coverage = coverage_of(table, name or "", verify=verify)
    if coverage.state == "wrong":
        code = FAILED
    deliver(RENDER_COVERAGE[output_format](coverage), output_file)
    return code
