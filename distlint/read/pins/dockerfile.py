"""Dockerfiles: what the base image brings and what ``RUN`` installs."""

from __future__ import annotations

import re
from typing import NamedTuple

from distlint.model.span import LineIndex
from distlint.read.pins.command_lines import pins_from_words
from distlint.read.pins.joined import JoinedText
from distlint.read.pins.reading import INDEX_VARIABLES, Collector, PinReading
from distlint.read.pins.shell_text import TextWord, split_commands

IMAGE_GROUP = "image"
"""The group of pins that a base image brings: what is installed on top of it wins over them."""

_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)\s+")
_FLAG = re.compile(r"--[a-z]+(?:=\S+)?\s+")
_HEREDOC = re.compile(r"<<-?\s*([\"']?)([A-Za-z_][A-Za-z0-9_]*)\1")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\s*#\s*escape\s*=\s*`", re.IGNORECASE)
_MAX_VALUE = 2000


class Instruction(NamedTuple):
    """One instruction: its keyword, its line with continued ones joined, and where its arguments begin."""

    keyword: str
    line: JoinedText
    start: int
    """Where the arguments begin in the line's text."""


_BRANCHES = re.compile(r"\|\||\b(?:if|for|while|case|activate|uninstall)\b")
"""What makes it uncertain whether, or for which Python, a command runs."""


def read_dockerfile(text: str, file: str) -> PinReading:
    """Reads the images in ``FROM`` that are known to bring a package, and what ``RUN`` installs.

    ``ARG`` defaults and ``ENV`` values are filled in; a version from an ``ARG`` without a default makes the pin
    dynamic. Requirements files that commands name are includes, with the path inside the image.
    """
    collector = Collector(file, "dockerfile")
    index = LineIndex(text)
    variables: dict[str, str] = {}
    place = 0
    for instruction in instructions(index):
        # A stage starts anew; with another path, user or shell it may be another Python that gets the packages.
        place += instruction.keyword in ("FROM", "ENV", "USER", "SHELL") or "uninstall" in instruction.line.text
        if instruction.keyword in ("ARG", "ENV"):
            _set(instruction, variables)
            for name in INDEX_VARIABLES & variables.keys() if instruction.keyword == "ENV" else ():
                if name in instruction.line.text:
                    end = len(instruction.line.text.rstrip())
                    span = instruction.line.span(instruction.start, end, index, file)
                    collector.add_index(variables[name], span)
        elif instruction.keyword == "FROM":
            _read_image(instruction, variables, collector, index)
        elif instruction.keyword == "RUN":
            _read_run(instruction, variables, collector, index, place)
    return collector.reading()


def _set(instruction: Instruction, variables: dict[str, str]) -> None:
    arguments = instruction.line.text[instruction.start :]
    words = [word.text for command in split_commands(arguments, variables) for word in command]
    if instruction.keyword == "ENV" and words and words[0] and "=" not in words[0]:
        words = [f"{words[0]}={arguments.strip()[len(words[0]) :].strip()}"]
    for word in words:
        name, given, value = (word or "").partition("=")
        if given and "${" not in value and len(value) <= _MAX_VALUE:
            variables[name] = value
        elif given:
            variables.pop(name, None)


def _read_image(instruction: Instruction, variables: dict[str, str], collector: Collector, index: LineIndex) -> None:
    line = instruction.line
    for command in split_commands(line.text[instruction.start :], variables):
        words = [word for word in command if not (word.text or "").startswith("--")]
        if words and words[0].text:
            start, end = instruction.start + words[0].start, instruction.start + words[0].end
            collector.add_image(words[0].text, line.span(start, end, index, collector.file), IMAGE_GROUP)


def _read_run(
    instruction: Instruction, variables: dict[str, str], collector: Collector, index: LineIndex, place: int
) -> None:
    line, start = instruction.line, instruction.start
    while flag := _FLAG.match(line.text, start):
        start = flag.end()
    body = line.text[start:]
    commands = [_exec_form(body)] if body.startswith("[") else split_commands(body, variables)
    for command in commands:
        words = [
            (word.text, line.span(start + word.start, start + word.end, index, collector.file))
            for word in (_unquoted(word, body) for word in command)
        ]
        reading = pins_from_words(words, collector.origin, collector.file)
        known = _BRANCHES.search(body) is None
        collector.take(reading.in_sequence(f"{place}:" if known else ""))


def _unquoted(word: TextWord, body: str) -> TextWord:
    """The word with offsets inside its quotes, where the quotes are around the whole."""
    source = body[word.start : word.end]
    if len(source) > 1 and source[0] in "'\"" and source[-1] == source[0] and source[0] not in source[1:-1]:
        return TextWord(word.text, word.start + 1, word.end - 1)
    return word


def _exec_form(body: str) -> list[TextWord]:
    """The words of ``RUN ["pip", "install", …]``; one with an escape is not known."""
    return [
        TextWord(None if "\\" in match[1] else match[1], match.start(), match.end()) for match in _STRING.finditer(body)
    ]


def instructions(index: LineIndex) -> list[Instruction]:
    """Joins continued lines, without the comments between them, and here-documents; one instruction each."""
    found: list[Instruction] = []
    escape = "`" if _ESCAPE.match(index.line_text(1)) else "\\"
    number = 1
    while number <= index.line_count:
        parts: list[str] = []
        pieces: list[tuple[int, int]] = []
        terminators: list[str] = []
        length = 0
        while number <= index.line_count:
            text = index.line_text(number)
            number += 1
            if not terminators and (text.lstrip().startswith("#") or (parts and not text.strip())):
                continue
            pieces.append((length, index.offset(number - 1, 1)))
            stripped = text.rstrip()
            if terminators:
                ended = text.strip() == terminators[0]
                terminators = terminators[1:] if ended else terminators
                parts.append("\n" if ended else f"{text}\n")
                length += len(parts[-1])
                if not terminators:
                    break
                continue
            continued = stripped.endswith(escape)
            terminators = [match[2] for match in _HEREDOC.finditer(stripped)] if not continued else []
            parts.append(stripped[:-1] + " " if continued else stripped + "\n")
            length += len(parts[-1])
            if not continued and not terminators:
                break
        line = JoinedText("".join(parts), tuple(pieces))
        if match := _INSTRUCTION.match(line.text):
            found.append(Instruction(match[1].upper(), line, match.end()))
    return found
