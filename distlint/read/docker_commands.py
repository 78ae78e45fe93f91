"""What a container starts, and what making its image runs."""

from __future__ import annotations

import re
from itertools import pairwise

from distlint.model.shell import Carried, Command, ShellFacts, Statement, Word
from distlint.model.span import LineIndex
from distlint.read.carried import MAX_CARRIED, PiecedText, command_of, literal_word, pieced_script
from distlint.read.pins.dockerfile import Instruction, instructions

_FLAG = re.compile(r"--[a-z]+(?:=\S+)?\s+")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PLAIN_PAIR = re.compile(r"([A-Za-z_]\w*)\s+(?=\S)", re.ASCII)


def read_docker_commands(text: str, file: str) -> tuple[Carried, ...]:
    """``CMD``, ``ENTRYPOINT`` and ``RUN`` of each stage, with what ``ENV``, ``ARG`` and ``WORKDIR`` say before them."""
    index = LineIndex(text)
    found: list[Carried] = []
    before: list[Statement] = []
    stages: dict[str, list[Statement]] = {}
    stage = ""
    entry: Instruction | None = None
    command: Instruction | None = None
    for instruction in [*instructions(index), None]:
        keyword = instruction.keyword if instruction is not None else "FROM"
        if keyword == "FROM":
            statements = _started(entry, command, index, file)
            if statements:
                found.append(Carried(ShellFacts((*before, *statements)), "image"))
            entry = command = None
            stages[stage] = before
            base, stage = _stages(instruction.line.text[instruction.start :]) if instruction is not None else ("", "")
            before = list(stages.get(base, ()))
        elif instruction is None:
            continue
        elif keyword in ("ENV", "ARG"):
            before += _assignments(instruction, index, file)
        elif keyword == "WORKDIR":
            before += _shell("cd ", instruction, index, file)
        elif keyword == "ENTRYPOINT":
            entry = instruction
        elif keyword == "CMD":
            command = instruction
        elif keyword == "RUN" and len(found) < MAX_CARRIED:
            found.append(Carried(ShellFacts((*before, *_started(None, instruction, index, file))), "build"))
    return tuple(found)


def _stages(text: str) -> tuple[str, str]:
    """The image of ``FROM image AS name``, which may be a stage, and the name; the image for want of a name."""
    words = [word for word in text.split() if not word.startswith("--")]
    named = len(words) > 2 and words[1].lower() == "as"
    return (words[0] if words else ""), (words[2] if named else " ")


def _started(
    entry: Instruction | None, command: Instruction | None, index: LineIndex, file: str
) -> tuple[Statement, ...]:
    """What a container runs: the entry point with the command as its arguments, or the command alone."""
    main = entry or command
    if main is None:
        return ()
    if not _is_list(main):
        return _shell("", main, index, file)
    words = [*_words(main, index, file)]
    if entry is not None and command is not None and _is_list(command):
        words += _words(command, index, file)
    return (command_of(words),) if words else ()


def _body(instruction: Instruction) -> int:
    """Where the command begins, behind the flags of the instruction."""
    start = instruction.start
    while flag := _FLAG.match(instruction.line.text, start):
        start = flag.end()
    return start


def _is_list(instruction: Instruction) -> bool:
    return instruction.line.text[_body(instruction) :].lstrip().startswith("[")


def _words(instruction: Instruction, index: LineIndex, file: str) -> list[Word]:
    line, start = instruction.line, _body(instruction)
    return [
        literal_word(_unescaped(match[1]), line.span(match.start(1), max(match.end(1), match.start(1)), index, file))
        for match in _STRING.finditer(line.text, start)
    ]


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text)


def _shell(before: str, instruction: Instruction, index: LineIndex, file: str) -> tuple[Statement, ...]:
    pieces = PiecedText(index)
    line, start = instruction.line, _body(instruction)
    pieces.add(before, line.offset(start), exact=False)
    starts = [piece[0] for piece in line.pieces] + [len(line.text)]
    for begin, end in pairwise(starts):
        low = max(begin, start)
        if low < end:
            pieces.add(line.text[low:end], line.offset(low))
    return pieced_script(pieces, file).statements


def _assignments(instruction: Instruction, index: LineIndex, file: str) -> tuple[Statement, ...]:
    """``ENV A=1 B=2``, ``ENV A 1`` and ``ARG A=1`` as exports."""
    rest = instruction.line.text[instruction.start :]
    pair = _PLAIN_PAIR.match(rest)
    if instruction.keyword == "ENV" and pair is not None and "=" not in rest.split()[0]:
        pieces = PiecedText(index)
        at = instruction.line.offset(instruction.start)
        value = rest[pair.end() :].strip().replace('"', '\\"')
        pieces.add(f'export {pair[1]}="{value}"', at, exact=False)
        return pieced_script(pieces, file).statements
    if "=" not in rest:
        return ()
    found = _shell("export ", instruction, index, file)
    return tuple(one for one in found if not isinstance(one, Command))
