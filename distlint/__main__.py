"""Starts the command line: ``python -m distlint`` and the ``distlint`` script."""

from __future__ import annotations


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    from distlint.cli.main import commands

    commands(prog_name="distlint")


if __name__ == "__main__":
    main()
