"""Is a file still readable after a fix? The readers that took the text before must take it after."""

from __future__ import annotations

import re

from distlint.fix.operations import CannotFixError
from distlint.fix.place import language_of

_EMPTY_BLOCK = re.compile(r"\b(?:then|do|else)\b(?:[;\s]|(?<=\s)#.*$)*\b(?:fi|done|else|elif)\b", re.MULTILINE)
"""A block without a command: an error for the shell, which the grammar of the reader lets pass."""


def broken_by(file: str, before: str, after: str) -> str:
    """Why the text after a fix reads worse than the one before, or ``""``."""
    language = language_of(file, after)
    if language == "python":
        return "the file would no longer parse" if _parses(before) and not _parses(after) else ""
    if language == "shell":
        return _shell_problem(before, after) if _is_script(file, before) else ""
    old_loaders, old_errors = _loaders(language, before, file)
    new_loaders, new_errors = _loaders(language, after, file)
    if lost := sorted(old_loaders - new_loaders):
        return f"the file would no longer be read by {', '.join(lost)}"
    return "the file would have a new error" if new_errors > old_errors else ""


def _parses(text: str) -> bool:
    from distlint.fix.python_tree import python_tree

    try:
        python_tree(text)
    except CannotFixError:
        return False
    return True


def _is_script(file: str, text: str) -> bool:
    return file.endswith((".sh", ".bash", ".slurm", ".sbatch", ".sl", ".zsh", ".ksh")) or text.startswith("#!")


def _shell_problem(before: str, after: str) -> str:
    from distlint.read.shell import read_shell

    refused = read_shell(after, "")[1] and not read_shell(before, "")[1]
    hollow = len(_EMPTY_BLOCK.findall(after)) > len(_EMPTY_BLOCK.findall(before))
    return "the script would no longer parse" if refused or hollow else ""


def _loaders(language: str, text: str, file: str) -> tuple[frozenset[str], int]:
    from distlint.fix.config_tree import reading_of

    reading = reading_of(language, text, file)
    return frozenset(reading.loaders), len(reading.errors)
