"""The group of all commands, and how any of them may end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from distlint import __version__
from distlint.cli.exits import FAILED, INTERRUPTED
from distlint.judge.suggestion import did_you_mean

_COMMANDS = {
    "check": ("distlint.cli.check", "Analyse files and folders and report what is wrong."),
    "rule": ("distlint.cli.rule", "Explain a rule: what it finds, why, and what to do."),
    "rules": ("distlint.cli.rules", "List the rules."),
    "graph": ("distlint.cli.graph", "Print the graph of scripts, configurations, launches and pins."),
    "plan": ("distlint.cli.plan", "Print how runs are laid out: world size, parallel sizes, batch, memory."),
    "schema": ("distlint.cli.schema", "Print a JSON Schema of a framework's configuration, for editors."),
    "knowledge": ("distlint.cli.knowledge", "Print which releases are known, or the history of a name."),
    "lsp": ("distlint.cli.lsp", "Start the language server on standard input and output."),
    "explain": ("distlint.cli.rule", "The same as `rule`."),
}
"""Names of commands, the modules that hold them as ``command``, and their lines in ``--help``, which imports none."""


class _Commands(click.Group):
    """Imports the module of a command only when it runs, and turns every way to end into an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(_COMMANDS[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            raise click.UsageError(f"no command `{name}`{did_you_mean(name, _COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        given = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        try:
            code = super().main(given, prog_name, **extra)
        except click.ClickException as error:
            error.show()
            code = FAILED
        except (click.Abort, KeyboardInterrupt):
            click.echo("interrupted", err=True)
            code = INTERRUPTED
        except Exception as error:
            _show_internal(error, verbose="--verbose" in given)
            code = FAILED
        sys.exit(code if isinstance(code, int) else 0)


def _show_internal(error: Exception, verbose: bool) -> None:
    """One line about a fault of our own; the traceback only for those who asked."""
    if verbose:
        import traceback

        click.echo(traceback.format_exc(), err=True, nl=False)
    hint = "" if verbose else "; --verbose shows where"
    text = " ".join(str(error).split())
    click.echo(f"error: distlint failed: {type(error).__name__}: {text}{hint}", err=True)


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="distlint", message="%(prog)s %(version)s")
def commands() -> None:
    """Finds what will crash, hang or be silently ignored when a distributed job is started, without starting it."""
