"""What ``echo``, ``dirname``, ``expr``, ``seq`` and their like print, where that follows from their arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from distlint.link import shell_arithmetic
from distlint.link.shell_paths import basename, directory_at, directory_text, dirname, split_path
from distlint.link.shell_state import Directory
from distlint.link.shell_values import Chunk, Hole, Text, confidence_of, literal, places_of, plain
from distlint.model.value import Confidence

MAX_SEQUENCE = 64

_CONVERSION = re.compile(r"%[sdi]")
_DEVICE_COUNT = re.compile(r"print\((?:torch\.)?cuda\.device_count\(\)\)\Z")
_FROM_FILE = Confidence.LIKELY
"""What is read from a file, or asked of the machine, may be another when the script runs."""


class Surroundings(NamedTuple):
    """What a command may ask besides its words: the working directory, variables, and files of the project."""

    directory: Directory
    variable: Callable[[str], Text | None] = lambda _: None
    read: Callable[[Text], str | None] = lambda _: None


class _Call(NamedTuple):
    """A command about to print: its words without its name, what is around it, what is piped into it."""

    words: Sequence[Text]
    around: Surroundings
    stdin: Text | None


def output_of(words: Sequence[Text], around: Surroundings, stdin: Text | None = None) -> Text | None:
    """What a command prints, without the last newline, or ``None`` when that is not known.

    ``words`` are the expanded words of the command, its name first; ``stdin`` is what is piped into it.
    """
    name = plain(words[0]) if words else None
    printer = _PRINTERS.get(name.rsplit("/", 1)[-1]) if name else None
    return printer(_Call(words[1:], around, stdin)) if printer is not None else None


def _spaced(words: Sequence[Text]) -> Text:
    pieces: list[Chunk | Hole] = []
    for at, word in enumerate(words):
        if at:
            pieces.append(Chunk(" "))
        pieces += [piece for piece in word if isinstance(piece, (Chunk, Hole))]
    return tuple(pieces)


def _echo(call: _Call) -> Text | None:
    first = 0
    while first < len(call.words) and plain(call.words[first]) in ("-n", "-e", "-E", "-ne"):
        first += 1
    return _spaced(call.words[first:])


def _printf(call: _Call) -> Text | None:
    form = plain(call.words[0]) if call.words else None
    if form is None:
        return None
    form = form.removesuffix("\\n")
    if form in ("%s", "%d", "%i") and len(call.words) == 2:
        return call.words[1]
    if "\\" in form or "%%" in form:
        return None
    parts = _CONVERSION.split(form)
    if len(parts) != len(call.words) or any("%" in part for part in parts):
        return None
    pieces: list[Chunk | Hole] = [Chunk(parts[0])]
    for word, part in zip(call.words[1:], parts[1:], strict=True):
        pieces += [piece for piece in word if isinstance(piece, (Chunk, Hole))]
        pieces.append(Chunk(part))
    return tuple(pieces)


def _pwd(call: _Call) -> Text | None:
    return directory_text(call.around.directory)


def _operands(words: Sequence[Text]) -> list[Text]:
    return [word for word in words if not (plain(word) or "").startswith("-")]


def _dirname(call: _Call) -> Text | None:
    operands = _operands(call.words)
    return dirname(operands[0]) if len(operands) == 1 else None


def _basename(call: _Call) -> Text | None:
    operands = _operands(call.words)
    if not operands or len(operands) > 2 or len(operands) != len(call.words):
        return None
    name = basename(operands[0])
    suffix = plain(operands[1]) if len(operands) == 2 else ""
    whole = plain(name) if name is not None else None
    if whole is None or suffix is None:
        return None
    return literal(whole.removesuffix(suffix) or whole, *places_of(operands[0]), sure=confidence_of(operands[0]))


def _realpath(call: _Call) -> Text | None:
    operands = _operands(call.words)
    if len(operands) != 1 or split_path(operands[0]) is None:
        return None
    return directory_text(directory_at(operands[0], call.around.directory))


def _expr(call: _Call) -> Text | None:
    parts = [plain(word) for word in call.words]
    if any(part is None for part in parts):
        return None

    def refuse(name: str) -> int:
        raise shell_arithmetic.UnknownNumberError(f"{name} is no number")

    try:
        number = shell_arithmetic.evaluate(" ".join(part for part in parts if part is not None), refuse)
    except shell_arithmetic.UnknownNumberError:
        return None
    return literal(
        str(number),
        *dict.fromkeys(span for word in call.words for span in places_of(word)),
        sure=min(confidence_of(word) for word in call.words),
    )


def _which(call: _Call) -> Text | None:
    operands = _operands(call.words)
    return operands[0] if len(operands) == 1 else None


def _seq(call: _Call) -> Text | None:
    parts = [plain(word) or "" for word in call.words]
    between = "\n"
    if parts and parts[0].startswith(("-s", "--separator")):
        own = parts[0].removeprefix("--separator=").removeprefix("-s")
        between, parts = (own, parts[1:]) if own and "=" not in parts[0][:2] else (parts[1], parts[2:])
    if not 1 <= len(parts) <= 3 or not all(part.lstrip("-").isdecimal() and len(part) < 10 for part in parts):
        return None
    numbers = [int(part) for part in parts]
    first = numbers[0] if len(numbers) > 1 else 1
    step = numbers[1] if len(numbers) == 3 else 1
    last = numbers[-1]
    if step == 0:
        return None
    found = range(first, last + (1 if step > 0 else -1), step)
    return literal(between.join(map(str, found)), *places_of(call.words[-1])) if len(found) <= MAX_SEQUENCE else None


def _tr(call: _Call) -> Text | None:
    given = plain(call.stdin) if call.stdin is not None else None
    parts = [plain(word) for word in call.words]
    if given is None or call.stdin is None or not parts or None in parts:
        return None
    known = [part.replace("\\n", "\n").replace("\\t", "\t") for part in parts if part is not None]
    if known[0] in ("-cd", "-dc") and len(known) == 2 and len(known[1]) == 1:
        result = known[1] * given.count(known[1])
    elif known[0] == "-d" and len(known) == 2 and len(known[1]) == 1:
        result = given.replace(known[1], "")
    elif len(known) == 2 and len(known[0]) == len(known[1]) == 1:
        result = given.replace(known[0], known[1])
    else:
        return None
    return literal(result, *places_of(call.stdin), sure=confidence_of(call.stdin))


def _wc(call: _Call) -> Text | None:
    option = plain(call.words[0]) if call.words else None
    if option == "-c" and len(call.words) == 1 and call.stdin is not None:
        # Behind ``tr -cd ,`` there is no end of a line left to be counted.
        marks = plain(call.stdin)
        return literal(str(len(marks)), *places_of(call.stdin)) if marks and set(marks) == {","} else None
    if option not in ("-l", "-w") or len(call.words) > 2:
        return None
    if len(call.words) == 2:
        text = call.around.read(call.words[1])
        return None if text is None else literal(f"{_counted(text, option)} {plain(call.words[1])}", sure=_FROM_FILE)
    if call.stdin is None:
        return None
    lines = "".join(piece.text if isinstance(piece, Chunk) else "x" for piece in call.stdin)
    if option == "-w" and plain(call.stdin) is None:
        return None
    if any(isinstance(piece, Hole) and piece.many for piece in call.stdin):
        return None
    count = _counted(lines, option)
    sure = confidence_of(call.stdin) if plain(call.stdin) is not None else _FROM_FILE
    return literal(str(count), *places_of(call.stdin), sure=sure)


def _counted(text: str, option: str) -> int:
    return len(text.split()) if option == "-w" else len(text.removesuffix("\n").split("\n")) if text else 0


def _awk(call: _Call) -> Text | None:
    """Only ``awk -F, '{print NF}'``, by which scripts count the devices in a list."""
    given = plain(call.stdin) if call.stdin is not None else None
    shape = [(plain(word) or "").replace(" ", "").replace("'", "").replace('"', "") for word in call.words]
    joined = "".join(shape).replace("BEGIN{FS=,}", "-F,").replace("{printNF;}", "{printNF}")
    if given is None or call.stdin is None or joined != "-F,{printNF}" or "\n" in given:
        return None
    return literal(str(given.count(",") + 1 if given else 0), *places_of(call.stdin), sure=confidence_of(call.stdin))


def _grep(call: _Call) -> Text | None:
    """``grep -o , | wc -l`` and ``grep -c``, of a plain word."""
    given = plain(call.stdin) if call.stdin is not None else None
    words = [plain(word) for word in call.words]
    if given is None or call.stdin is None or len(words) != 2 or words[0] not in ("-o", "-c", "-v", "-cv", "-vc"):
        return None
    option, pattern = words[0], words[1] or ""
    start = pattern.startswith("^")
    word = pattern.removeprefix("^")
    if not word or any(mark in word for mark in ".*[]\\$?+(){}|^"):
        return None
    if option == "-o":
        result = "\n".join([word] * given.count(word)) if not start else None
    else:
        lines = [line for line in given.split("\n") if line]
        kept = [line for line in lines if (line.startswith(word) if start else word in line) is ("v" not in option)]
        result = str(len(kept)) if "c" in option else "\n".join(kept)
    return None if result is None else literal(result, *places_of(call.stdin), sure=confidence_of(call.stdin))


def _cat(call: _Call) -> Text | None:
    if not call.words:
        return call.stdin
    if len(call.words) != 1:
        return None
    text = call.around.read(call.words[0])
    return None if text is None else literal(text.rstrip("\n"), *places_of(call.words[0]), sure=_FROM_FILE)


def _sorted_lines(call: _Call) -> Text | None:
    """``sort``, ``sort -u`` and ``uniq``."""
    given = plain(call.stdin) if call.stdin is not None else None
    options = [plain(word) for word in call.words]
    if given is None or call.stdin is None or options not in ([], ["-u"]):
        return None
    lines = sorted(set(given.split("\n"))) if options else sorted(given.split("\n"))
    return literal("\n".join(lines), *places_of(call.stdin), sure=confidence_of(call.stdin))


def _head(call: _Call) -> Text | None:
    """The first line."""
    options = "".join(plain(word) or "?" for word in call.words)
    if call.stdin is None or options not in ("-n1", "-1", "-n", "--lines=1"):
        return None
    first: list[Chunk | Hole] = []
    for piece in call.stdin:
        if not isinstance(piece, (Chunk, Hole)) or (isinstance(piece, Hole) and piece.many):
            return None
        if isinstance(piece, Chunk) and "\n" in piece.text:
            return (*first, piece._replace(text=piece.text.partition("\n")[0]))
        first.append(piece)
    return tuple(first)


def _scontrol(call: _Call) -> Text | None:
    """``scontrol show hostnames``: a name that is not known for each node of the job."""
    words = [plain(word) for word in call.words[:2]]
    if words[0] != "show" or words[1] not in ("hostnames", "hostname") or len(call.words) > 3:
        return None
    if len(call.words) == 3:
        listed = call.words[2]
        hole = listed[0] if len(listed) == 1 else None
        if not isinstance(hole, Hole) or hole.name not in ("SLURM_JOB_NODELIST", "SLURM_NODELIST"):
            return None
    counted = call.around.variable("SLURM_NNODES")
    count = plain(counted) if counted is not None else None
    if counted is None or count is None or not count.isdecimal() or not 0 < int(count) <= MAX_SEQUENCE:
        return None
    pieces: list[Chunk | Hole] = []
    for number in range(int(count)):
        if number:
            pieces.append(Chunk("\n", sets=places_of(counted), sure=confidence_of(counted)))
        pieces.append(Hole(f"HOST_{number}", "the hosts of the job are not known", single=True))
    return tuple(pieces)


def _python(call: _Call) -> Text | None:
    """``python -c 'import torch; print(torch.cuda.device_count())'`` where the visible devices are written down."""
    words = [plain(word) for word in call.words]
    if len(words) != 2 or words[0] != "-c" or not _DEVICE_COUNT.search((words[1] or "").replace(" ", "")):
        return None
    visible = call.around.variable("CUDA_VISIBLE_DEVICES")
    listed = plain(visible) if visible is not None else None
    if visible is None or not listed or not all(part.strip().isdecimal() for part in listed.split(",")):
        return None
    return literal(str(listed.count(",") + 1), *places_of(visible), sure=_FROM_FILE)


_PRINTERS: dict[str, Callable[[_Call], Text | None]] = {
    "echo": _echo,
    "printf": _printf,
    "pwd": _pwd,
    "dirname": _dirname,
    "basename": _basename,
    "realpath": _realpath,
    "readlink": _realpath,
    "expr": _expr,
    "which": _which,
    "seq": _seq,
    "tr": _tr,
    "wc": _wc,
    "awk": _awk,
    "grep": _grep,
    "cat": _cat,
    "sort": _sorted_lines,
    "uniq": _sorted_lines,
    "head": _head,
    "scontrol": _scontrol,
    "python": _python,
    "python3": _python,
}
