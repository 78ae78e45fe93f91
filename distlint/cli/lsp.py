"""``distlint lsp``: the language server."""

from __future__ import annotations

import click


@click.command("lsp")
def command() -> None:
    """Start the language server; it speaks the Language Server Protocol on standard input and output."""
    try:
        from distlint.lsp.server import main
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("distlint"):
            raise
        message = f"the language server needs `{error.name}`: install it with `pip install 'distlint[lsp]'`"
        raise click.ClickException(message) from None
    main()
