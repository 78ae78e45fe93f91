"""What ``echo``, ``dirname``, ``expr``, ``seq`` and their like print, where that follows from their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from distlint.link import shell_arithmetic
from distlint.link.shell_paths import basename, directory_at, directory_text, dirname, split_path
from distlint.link.shell_state import Directory
from distlint.link.shell_values import Chunk, Hole, Text, confidence_of, literal, places_of, plain

MAX_SEQUENCE = 64


class _Call(NamedTuple):
    """A command about to print: its words without its name, the working directory, what is piped into it."""

    words: Sequence[Text]
    directory: Directory
    stdin: Text | None


def output_of(words: Sequence[Text], directory: Directory, stdin: Text | None = None) -> Text | None:
    """What a command prints, without the last newline, or ``None`` when that is not known.

    ``words`` are the expanded words of the command, its name first; ``stdin`` is what is piped into it.
    """
    name = plain(words[0]) if words else None
    printer = _PRINTERS.get(name.rsplit("/", 1)[-1]) if name else None
    return printer(_Call(words[1:], directory, stdin)) if printer is not None else None


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
    if form == "%s" and len(call.words) == 2:
        return call.words[1]
    return literal(form) if "%" not in form and "\\" not in form and len(call.words) == 1 else None


def _pwd(call: _Call) -> Text | None:
    return directory_text(call.directory)


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
    return directory_text(directory_at(operands[0], call.directory))


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
    if not 1 <= len(parts) <= 3 or not all(part.lstrip("-").isdecimal() and len(part) < 10 for part in parts):
        return None
    numbers = [int(part) for part in parts]
    first = numbers[0] if len(numbers) > 1 else 1
    step = numbers[1] if len(numbers) == 3 else 1
    last = numbers[-1]
    if step == 0:
        return None
    found = range(first, last + (1 if step > 0 else -1), step)
    return literal("\n".join(map(str, found)), *places_of(call.words[-1])) if len(found) <= MAX_SEQUENCE else None


def _tr(call: _Call) -> Text | None:
    given = plain(call.stdin) if call.stdin is not None else None
    parts = [plain(word) for word in call.words]
    if given is None or call.stdin is None or not parts or None in parts:
        return None
    known = [part.replace("\\n", "\n").replace("\\t", "\t") for part in parts if part is not None]
    if known[0] == "-d" and len(known) == 2 and len(known[1]) == 1:
        result = given.replace(known[1], "")
    elif len(known) == 2 and len(known[0]) == len(known[1]) == 1:
        result = given.replace(known[0], known[1])
    else:
        return None
    return literal(result, *places_of(call.stdin), sure=confidence_of(call.stdin))


def _wc(call: _Call) -> Text | None:
    given = plain(call.stdin) if call.stdin is not None else None
    option = plain(call.words[0]) if len(call.words) == 1 else None
    if given is None or call.stdin is None or option not in ("-l", "-w"):
        return None
    count = len(given.split()) if option == "-w" else given.count("\n") + 1
    return literal(str(count), *places_of(call.stdin), sure=confidence_of(call.stdin))


def _awk(call: _Call) -> Text | None:
    """Only ``awk -F, '{print NF}'``, by which scripts count the devices in a list."""
    given = plain(call.stdin) if call.stdin is not None else None
    shape = [(plain(word) or "").replace(" ", "") for word in call.words]
    joined = "".join(shape)
    if (
        given is None
        or call.stdin is None
        or joined not in ("-F,{printNF}", "-F','{printNF}", '-F","{printNF}')
        or "\n" in given
    ):
        return None
    return literal(str(given.count(",") + 1 if given else 0), *places_of(call.stdin), sure=confidence_of(call.stdin))


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
}
