"""Starts the language server on standard input and output.

Importing this module needs the packages of the extra ``lsp``.
"""

from __future__ import annotations

import gc
import os
import sys

from distlint.lsp.handlers import Engine, create_server


def main() -> None:
    """Serves the projects that an editor opens, until it disconnects."""
    from distlint.lsp.wiring import project_engine

    gc.enable()  # the command line goes without it, for it lives one run only
    serve(project_engine())


def serve(engine: Engine) -> None:
    """Runs the protocol on this process's standard streams until the editor disconnects.

    The editor reads every byte of standard output as protocol, so the descriptor is kept for that alone and whatever
    else is printed goes to standard error.
    """
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as protocol:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        create_server(engine).start_io(stdin=sys.stdin.buffer, stdout=protocol)
