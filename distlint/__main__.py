"""Starts the command line: ``python -m distlint`` and the ``distlint`` script."""

import contextlib
import gc
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line and ends the process with its exit code."""
    from distlint.cli.main import commands

    gc.disable()  # one run, then the process is gone: the collector would only look for what ends with it anyway
    code: object = 0
    try:
        commands(prog_name="distlint")
    except SystemExit as end:
        code = end.code
    _leave(code if isinstance(code, int) else 0)


def _leave(code: int) -> NoReturn:
    """Ends the process without taking apart the millions of objects of a large project, which takes a second."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _forget_working_directory() -> None:
    """Takes the working directory, where ``python -m`` looks first, off the module path.

    It may be the repository that is analysed, and a ``json.py`` in it must not run. A checkout of distlint keeps it:
    its modules are found there.
    """
    package = os.path.dirname(os.path.abspath(__file__))
    if sys.path and sys.path[0] in ("", os.getcwd()) and os.path.dirname(package) != os.getcwd():
        del sys.path[0]


if __name__ == "__main__":
    _forget_working_directory()
    main()
