"""Reads shell scripts: batch scripts with scheduler headers, launch scripts, and the strings handed to ``bash -c``."""

from __future__ import annotations

import re

from distlint.model.facts import ReadError
from distlint.model.shell import ShellFacts, Word
from distlint.model.span import LineIndex
from distlint.read.shell_tree import TreeReader
from distlint.read.shell_words import WordReader

_DIRECTIVE = re.compile(r"^#(SBATCH|PBS|BSUB|COBALT)[ \t]+(.*)", re.MULTILINE)
_COMMENT = re.compile(r"[ \t]#.*")
_FIRST_COMMAND = re.compile(r"^[ \t]*[^#\s]", re.MULTILINE)
# ``DATA=<path to the data (e.g. /data)>``: to be filled in by the reader. No shell takes the blanks in it.
_PLACEHOLDER = re.compile(r"(?<==)<[A-Za-z][^<>\n=$|&;`\"']*[ \t(][^<>\n=$|&;`\"']*>(?=[ \t]*\\?[ \t]*$)", re.MULTILINE)
_SHEBANG = re.compile(r"#![ \t]*(\S+)[ \t]*(\S*)")


def read_shell(text: str, file: str, index: LineIndex | None = None) -> tuple[ShellFacts, tuple[ReadError, ...]]:
    """The statements, scheduler directives and interpreter of a script, and at most one error.

    ``index`` gives the places of a text that was put together from parts of the file.

    The error is the first place that a shell refuses. Text that the grammar does not understand but a shell would run
    is no error; what lies around it is read all the same.
    """
    index = index or LineIndex(text)
    # Same length, so that offsets stay valid; a carriage return at a line end is an accident of the checkout.
    plain = text.replace("\\\r\n", " \\\n").replace("\r\n", " \n").replace("\r", "\n")
    filled = _PLACEHOLDER.sub(_filled, plain)
    reader = TreeReader(filled, index, file)
    statements = reader.statements(0, len(filled))
    error = reader.refusal() if filled == plain else _refused(plain, index, file)
    facts = ShellFacts(statements, _directives(plain, reader.words), _interpreter(plain))
    return facts, (error,) if error is not None else ()


def _filled(match: re.Match[str]) -> str:
    """An unset variable of the same length in place of a placeholder, so that what follows it can be read."""
    return f"${{{'_' * (len(match.group()) - 3)}}}"


def _refused(text: str, index: LineIndex, file: str) -> ReadError | None:
    """What a shell says to a text with placeholders in it."""
    from distlint.read.shell_refusal import refusal

    found = refusal(text)
    return ReadError(index.span(file, found.start, found.end), found.message) if found is not None else None


def _interpreter(text: str) -> str:
    """``bash`` for ``#!/bin/bash -l`` and for ``#!/usr/bin/env bash``; empty without such a line."""
    match = _SHEBANG.match(text)
    if match is None:
        return ""
    program, argument = match.group(1).rsplit("/", 1)[-1], match.group(2)
    return argument if program == "env" and not argument.startswith("-") else program


def _directives(text: str, words: WordReader) -> tuple[tuple[str, tuple[Word, ...]], ...]:
    """The lines of a batch header: schedulers read no further than the first command."""
    found = []
    command = _FIRST_COMMAND.search(text)
    for match in _DIRECTIVE.finditer(text, 0, command.start() if command is not None else len(text)):
        comment = _COMMENT.search(text, *match.span(2))
        end = comment.start() if comment is not None else match.end(2)
        found.append((match.group(1), tuple(words.words(match.start(2), end))))
    return tuple(found)
