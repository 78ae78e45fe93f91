"""``distlint schema``: what a framework's configuration may hold, as a JSON Schema."""

from __future__ import annotations

from pathlib import Path

import click

from distlint.cli.exits import CLEAN
from distlint.cli.screen import deliver
from distlint.cli.words import Word
from distlint.frameworks.json_schemas import MAKERS, make_schema


@click.command("schema")
@click.argument("framework", type=Word(tuple(MAKERS)), metavar="FRAMEWORK")
@click.option("--version", default="", metavar="VERSION", help="The release that will read it. [default: the newest]")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the schema there.")
def command(framework: str, version: str, output: Path | None) -> int:
    """Print a JSON Schema of a framework's configuration, such as `deepspeed`, for editors and validators."""
    import json

    try:
        schema = make_schema(framework, version)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    text = json.dumps(schema, indent=2, allow_nan=False) + "\n"
    deliver(text, output)
    return CLEAN
