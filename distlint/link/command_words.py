"""A command line as an option parser reads it: flags, their values, and the types of those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distlint.link.operands import given_operands
from distlint.link.paths import PathText
from distlint.model.launch import Argument, Launch
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from distlint.link.parser_model import Option, Parser


def given_options(
    parser: Parser,
    arguments: Sequence[Argument],
    read: Callable[[Option, Value], Value] | None = None,
    more: bool = False,
) -> dict[str, Value]:
    """What a command line gives to a parser's options, by ``dest``, read as argparse reads it.

    ``read`` gives the value of a text for an option that a function of the program reads. ``more`` says that there may
    be words that we do not see.
    """
    given: dict[str, Value] = {}
    words = list(arguments)
    runs: list[list[Argument]] = []
    """The words that no option takes, from one option to the next."""
    clear, open_run = not more, False

    def of(option: Option, value: Value) -> Value:
        is_read = option.reader is not None or option.kind == "?"
        return read(option, value) if read is not None and is_read else typed(value, option.kind)

    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        text, inline = split_flag(word)
        option = parser.find(text) if text and text != "--" else None
        if option is None:
            if not text or _is_number(text) or " " in text:
                if not open_run:
                    runs.append([])
                runs[-1].append(word)
                open_run = True
                if _takes_rest(parser):
                    return given | _behind(parser, words[index:])
            else:
                # It may take the words behind it, in a part of the program that we do not see.
                clear, open_run = False, False
            continue
        open_run = False
        if inline is not None:
            value = (
                of(option, inline)
                if option.arity in (1, "?") and not option.listed
                else _all_of([of(option, inline)], word)
            )
        else:
            taken, index = _take_values(option, words, index)
            value = _taken(option, [of(option, one) for one in taken], word)
        given[option.dest] = _gathered(option, given.get(option.dest), value) if option.gathers else value
    return given | given_operands(parser, runs, of) if clear else given


def _taken(option: Option, values: list[Value], word: Argument) -> Value:
    """What the words behind an option's flag give it."""
    if option.arity == 0:
        return (option.constant or known(True)).at(word.span)
    if not values:
        return option.constant.at(word.span) if option.constant is not None else unknown("no value", word.span)
    if option.arity in (1, "?") and not option.listed:
        return values[0]
    return _all_of(values, word)


def _gathered(option: Option, before: Value | None, value: Value) -> Value:
    """The list of an option that may be given again and again (``action="append"``), its default in front."""
    if before is None:
        before = known([]) if option.default.only is None and not option.default.is_unknown else option.default
    if not isinstance(before.only, list | tuple) or not value.is_known:
        return unknown("gathers words that are not known", *value.spans)
    if option.gathers == "extend" and not isinstance(value.only, list | tuple | str):
        return unknown("extended by what is no list", *value.spans)
    added = list(value.only) if option.gathers == "extend" else [value.only]
    return known(
        [*before.only, *added], *before.spans, *value.spans, confidence=min(before.confidence, value.confidence)
    )


def _takes_rest(parser: Parser) -> bool:
    """Whether a positional argument takes all the words that are left, options or not."""
    return any(not option.flags and option.arity in ("...", "A...") for option in parser.options)


def _behind(parser: Parser, words: list[Argument]) -> dict[str, Value]:
    """The options that words of the rest spell: whether the parser reads them there is left open."""
    named = [parser.find(text) for word in words if (text := split_flag(word)[0])]
    return {option.dest: unknown("may belong to the rest", option.span) for option in named if option is not None}


def _all_of(values: list[Value], word: Argument) -> Value:
    if not all(value.is_known for value in values):
        return unknown("holds words that are not known", word.span)
    return known([value.only for value in values], word.span)


def _take_values(option: Option, words: list[Argument], index: int) -> tuple[list[Value], int]:
    limit = option.arity if isinstance(option.arity, int) else 1 if option.arity == "?" else len(words)
    taken: list[Value] = []
    while len(taken) < limit and index < len(words):
        if split_flag(words[index])[0] and not _is_number(words[index].value.only):
            break
        taken.append(words[index].value)
        index += 1
    return taken, index


def split_flag(word: Argument) -> tuple[str, Value | None]:
    """The flag of a word (``--flag`` or ``--flag=value``) and its inline value.

    ``("", None)`` for a word that is no flag.
    """
    text = word.value.only
    if not isinstance(text, str) or not text.startswith("-") or len(text) < 2:
        return getattr(word, "flag", "") or "", getattr(word, "inline", None)
    if text.startswith("--") and "=" in text:
        flag, _, value = text.partition("=")
        return flag, known(value, word.span, confidence=word.value.confidence)
    return text, None


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


def last_given(launch: Launch, flags: list[str]) -> Value | None:
    """The value that the last of some spellings of an option is given on a command line.

    ``True`` where none follows.
    """
    found: Value | None = None
    words = launch.arguments
    for index, word in enumerate(words):
        text, inline = split_flag(word)
        if text not in flags:
            continue
        if inline is not None:
            found = inline
        elif index + 1 < len(words) and not (
            split_flag(words[index + 1])[0] and not _is_number(words[index + 1].value.only)
        ):
            found = words[index + 1].value
        else:
            found = known(True, word.span)
    return found


def typed(value: Value, kind: str) -> Value:
    """A word read as the type that the option declares: numbers as numbers.

    For ``bool``, words that mean no are false, as the parsers of dataclasses read them.
    """
    if kind == "int":
        return value.map(int)
    if kind == "float":
        return value.map(float)
    if kind == "bool":
        return value.map(
            lambda text: str(text).lower() not in ("false", "0", "no", "n", "f", "") if isinstance(text, str) else text
        )
    if kind == "path":
        return value.map(lambda text: PathText(text) if type(text) is str else text)
    if kind == "?":
        return unknown("read by a function of the program", *value.spans)
    return value
