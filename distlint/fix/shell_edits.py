"""Edits of command lines: options, environment, assignments.

Words are found by the shell reader; what happens to the white space, backslashes and lines around them is decided here,
by the text alone, so that it works for command lines in scripts, Dockerfiles, Makefiles and workflows alike.
"""

from __future__ import annotations

import re

from distlint.fix.edits import Patch, begins_line, indentation, line_end, line_start, newline_of, next_line, whole_lines
from distlint.fix.literals import shell_word
from distlint.fix.place import Place
from distlint.fix.shell_commands import CommandLine, command_at

_CONTINUED = re.compile(r"[ \t]*\\\r?\n[ \t]*\Z")


def set_option(place: Place) -> list[Patch]:
    """Gives an option of a command: its value is replaced where it is there, else it is added."""
    command, flag = command_at(place), place.word("flag")
    value = place.arguments.get("value")
    text = "" if value is None else shell_word(value)
    number = command.find(flag)
    if number < 0:
        return _added(place, command, f"{flag} {text}".rstrip())
    start, end = command.words[number]
    if place.text[start:end].startswith(flag + "="):
        return _unless_same(place, start + len(flag) + 1, end, text)
    if not text:
        return []
    if number + 1 < len(command.words) and not command.is_flag(number + 1):
        return _unless_same(place, *command.words[number + 1], text)
    return [Patch(end, end, f" {text}")]


def remove_option(place: Place) -> list[Patch]:
    """Removes an option with its value, and with its line where it stands alone on one."""
    end = max(place.end, place.regions["value"][1]) if "value" in place.regions else place.end
    return removal(place.text, place.start, end)


def rename_option(place: Place) -> list[Patch]:
    """Gives an option another name; of ``--flag=value`` the value stays."""
    flag, equals, _ = place.covered.partition("=")
    return [Patch(place.start, place.start + len(flag) if equals else place.end, place.word("to"))]


def set_environment(place: Place) -> list[Patch]:
    """Sets a variable for one command, in front of it."""
    command, name = command_at(place), place.word("name")
    text = shell_word(place.arguments["value"])
    for variable, (start, end) in command.environment:
        if variable == name:
            return _unless_same(place, start + place.text[start:end].index("=") + 1, end, text)
    return [Patch(command.start, command.start, f"{name}={text} ")]


def remove_assignment(place: Place) -> list[Patch]:
    """Removes an assignment, with ``export`` and the line where nothing else stands there."""
    text, start, end = place.text, place.start, place.end
    line = text[line_start(text, start) : start]
    if re.fullmatch(r"\s*(export|declare( -\w+)?|local|readonly)\s+", line) and _ends_command(text, end):
        start = line_start(text, start) + len(line) - len(line.lstrip())
    separator = re.compile(r"[ \t]*(;(?!;)|&&)[ \t]*(\\\r?\n[ \t]*)?").match(text, end)
    if separator and _ends_command(text, end) and text[separator.end() : line_end(text, end)].strip():
        return [Patch(start, separator.end(), "")]
    if separator and separator.group(1) == ";":
        end = separator.end()
    return removal(text, start, end)


def set_value(place: Place) -> list[Patch]:
    """Replaces a word; of ``--flag=value`` only what follows the equals sign, where the span covers both."""
    prefix = re.match(r"-{1,2}[\w-]+=", place.covered)
    start = place.start + (prefix.end() if prefix else 0)
    return _unless_same(place, start, place.end, shell_word(place.arguments["value"]))


def removal(text: str, start: int, end: int) -> list[Patch]:
    """Removes words with the white space, the backslash or the lines that belonged to them."""
    line, last = line_start(text, start), line_end(text, end)
    rest = text[end:last].strip()
    if begins_line(text, start) and rest in ("", "\\"):
        continued = _CONTINUED.search(text, max(0, line - 400), start)
        if rest == "" and continued:
            return [Patch(continued.start(), end, "")]
        return [Patch(*whole_lines(text, line, line_end(text, end)), "")]
    while start > 0 and text[start - 1] in " \t" and not begins_line(text, start):
        start -= 1
    # At the beginning of a line or of a quoted text, the white space behind goes instead.
    if begins_line(text, start) or text[start - 1] in "\"'(`":
        while end < len(text) and text[end] in " \t":
            end += 1
    return [Patch(start, end, "")]


def _added(place: Place, command: CommandLine, option: str) -> list[Patch]:
    text = place.text
    start, at = place.regions.get("after", command.words[-1])
    lead = re.compile(r"[ \t]*\\\r?\n[ \t]*\Z").search(text, max(0, line_start(text, start) - 400), start)
    ends = text[at : line_end(text, at)].strip() in ("", "\\")
    if lead is None and not (ends and text[at : line_end(text, at)].strip() == "\\" and at != command.words[-1][1]):
        return [Patch(at, at, f" {option}")]
    if not ends:
        return [Patch(at, at, f" {option}")]
    indent = indentation(text, start if lead else next_line(text, at))
    return [Patch(at, at, f" \\{newline_of(text)}{indent}{option}")]


def _unless_same(place: Place, start: int, end: int, text: str) -> list[Patch]:
    written = place.text[start:end]
    bare = written[1:-1] if len(written) > 1 and written[0] == written[-1] and written[0] in "\"'" else written
    return [] if bare == text else [Patch(start, end, text)]


def _ends_command(text: str, at: int) -> bool:
    rest = text[at : line_end(text, at)].lstrip()
    return not rest or rest.startswith((";", "&&", "#"))
