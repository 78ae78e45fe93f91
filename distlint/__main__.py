"""Starts the command line: ``python -m distlint`` and the ``distlint`` script."""

import os
import sys


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    from distlint.cli.main import commands

    commands(prog_name="distlint")


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
