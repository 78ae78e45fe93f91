"""Expansion of shell words: from parts to the few texts that a word may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import translate

from distlint.link import shell_arithmetic
from distlint.link.shell_paths import directory_text, root_text
from distlint.link.shell_state import Content, State, given_from_outside, outside, scalar
from distlint.link.shell_values import (
    EMPTY,
    Break,
    Chunk,
    Hole,
    Piece,
    Text,
    assigned,
    combine,
    confidence_of,
    fields,
    inner_span,
    is_pattern,
    literal,
    merged,
    places_of,
    plain,
    used,
    weakened,
)
from distlint.model.shell import Arithmetic, Expansion, Literal, Substitution, Word
from distlint.model.span import Span
from distlint.model.value import Confidence

Locate = Callable[[Span], Span]
"""Maps a place in a string that is run to a place in the file."""

_SELF = {"BASH_SOURCE", "0"}
_NAMED_DEFAULT = re.compile(r"\$\{(\w+):?-(-?\d+)\}", re.ASCII)
_LENGTH = re.compile(r"\$\{#(\w+)(?:\[[@*]\])?\}", re.ASCII)
_ELEMENT = re.compile(r"\$?\{?\b(\w+)\[(\d+)\]\}?", re.ASCII)
_DOLLAR_NAME = re.compile(r"\$\{?(\w+)\}?", re.ASCII)
_INTEGER = re.compile(r"[-+]?\d{1,18}")


class Expander:
    """Expands words in a state; ``substitute`` gives the output of a command substitution."""

    def __init__(self, substitute: Callable[[Substitution, State, Expander], Text]) -> None:
        self._substitute = substitute
        self._locate: Locate | None = None

    @contextmanager
    def located(self, locate: Locate | None) -> Iterator[None]:
        """While words come from a string whose places are found by ``locate``; from a file without it."""
        before, self._locate = self._locate, locate
        yield
        self._locate = before

    def locate(self, span: Span) -> Span:
        """Where a place that a statement names lies in its file."""
        return self._locate(span) if self._locate is not None else span

    def texts(self, word: Word, state: State) -> tuple[Text, ...]:
        """The possible texts of a word before it is split: what a quoted word or the right side of an assignment is."""
        choices: list[tuple[Text, ...]] = []
        pieces: list[Piece] = []
        for part in word.parts:
            if isinstance(part, Literal):
                pieces.append(self._chunk(part, word))
                continue
            found = self._part(part, state, word)
            if len(found) == 1:
                pieces += found[0]
            else:
                choices += [(tuple(pieces),), found]
                pieces = []
        if not choices:
            return (tuple(pieces),)
        return combine([*choices, (tuple(pieces),)])

    def arguments(self, word: Word, state: State) -> list[tuple[tuple[Text, ...], Span]]:
        """The words that a word of a command becomes: (possible texts, place) for each.

        Where the possibilities differ in their number of words, what they have in common at both ends is kept, and a
        hole for any number of words stands between.
        """
        span = self.locate(word.span)
        texts = self.texts(word, state)
        if len(texts) == 1 and _is_one_word(texts[0]):
            return [(texts, span)]
        options = [fields(text) or ([EMPTY] if word.quoted and not _may_vanish(word) else []) for text in texts]
        options = [[_globbed(text, span) for text in option] for option in options]
        return aligned(options, span)

    def _part(self, part: Expansion | Arithmetic | Substitution, state: State, word: Word) -> tuple[Text, ...]:
        span = self.locate(part.span or word.span)
        if isinstance(part, Arithmetic):
            return (self.arithmetic(part.expression, state, span),)
        if isinstance(part, Substitution):
            return (used(self._substitute(part, state, self), span, split=not part.quoted),)
        keep = part.operator in ("-", ":-", "+", ":+") and not part.quoted
        return tuple(used(text, span, split=not part.quoted, keep_quoted=keep) for text in self._expansion(part, state))

    def _chunk(self, part: Literal, word: Word) -> Chunk:
        at: tuple[str, int, int] | None = (word.span.file, part.line, part.column)
        if not part.line:
            at = None
        elif self._locate is not None:
            at = self._locate(Span(word.span.file, part.line, part.column, part.line, part.column))[:3]
        return Chunk(part.text, at, (), (), Confidence.CERTAIN, False, not part.quoted)

    # Parameters

    def _options(self, part: Expansion, state: State) -> tuple[Content, ...]:
        """What a parameter may hold; an unset content where it is known to hold nothing."""
        name = part.name
        if name in _SELF:
            return (Content((root_text(state.script),)),)
        if name.isdigit() or name in ("@", "*", "#"):
            return (_positional(name, state),)
        if name == "PWD":
            return (Content((directory_text(state.directory),)),)
        variable = state.variables.get(name)
        if variable is None:
            hole = outside(name) if name not in "?$!-" else (Hole(name, f"${name} is only known at run time"),)
            return (Content((hole,)),)
        if part.index is None:
            return variable.options
        return tuple(_element(option, part.index, name, state, self) for option in variable.options)

    def _expansion(self, part: Expansion, state: State) -> tuple[Text, ...]:
        options = self._options(part, state)
        operator = part.operator
        if operator in (":-", "-", ":=", "="):
            found = [text for option in options for text in self._defaulted(part, option, state)]
        elif operator in (":+", "+"):
            found = [text for option in options for text in self._alternative(part, option, state)]
        elif operator in ("", ":?", "?"):
            found = [_joined(option, part) for option in options]
        elif operator == "length":
            found = [_length(option, part) for option in options]
        else:
            found = [self._transformed(part, option, state) for option in options]
        if part.index in ("@", "*") and operator != "length":
            found = [_any_number(text) if given_from_outside(text) else text for text in found]
        return merged(found)

    def _defaulted(self, part: Expansion, option: Content, state: State) -> tuple[Text, ...]:
        text = _joined(option, part)
        empty = option.unset or (part.operator.startswith(":") and plain(text) == "")
        default = self.texts(part.argument, state) if part.argument is not None else (EMPTY,)
        if empty:
            found = default
        elif given_from_outside(text) and any(plain(choice) != "" for choice in default):
            found = tuple(weakened(choice, Confidence.LIKELY) for choice in default)
        else:
            return (text,)
        if part.operator in (":=", "=") and part.span is not None:
            span = self.locate(part.span)
            previous = state.variables.get(part.name)
            exported = previous.exported if previous is not None else False
            state.variables[part.name] = scalar(
                *(assigned(choice, span) for choice in found), exported=exported, span=span
            )
        return found

    def _alternative(self, part: Expansion, option: Content, state: State) -> tuple[Text, ...]:
        text = _joined(option, part)
        if option.unset or (part.operator == ":+" and plain(text) == ""):
            return (EMPTY,)
        if plain(text) is None and not any(isinstance(piece, Chunk) and piece.text for piece in text):
            return ((Hole(part.name, f"depends on whether ${part.name} is set", many=True),),)
        return self.texts(part.argument, state) if part.argument is not None else (EMPTY,)

    def _transformed(self, part: Expansion, option: Content, state: State) -> Text:
        if part.operator == ":" and ((option.array and part.index in ("@", "*")) or part.name in ("@", "*")):
            return self._slice(part, option, state)
        text = _joined(option, part)
        unknown_text = (Hole(part.name, f"derived from ${part.name}", (), places_of(text)),)
        whole = plain(text)
        arguments = [self.texts(word, state) for word in (part.argument, part.second) if word is not None]
        known = [plain(choices[0]) if len(choices) == 1 else None for choices in arguments]
        if whole is None or any(argument is None for argument in known):
            return unknown_text
        result = _transform(part.operator, whole, [argument for argument in known if argument is not None])
        return literal(result, *places_of(text), sure=confidence_of(text)) if result is not None else unknown_text

    def _slice(self, part: Expansion, option: Content, state: State) -> Text:
        bounds = [plain(self.texts(word, state)[0]) for word in (part.argument, part.second) if word is not None]
        numbers = [int(bound) for bound in bounds if bound is not None and _INTEGER.fullmatch(bound.strip())]
        if len(numbers) != len(bounds) or not numbers or min(numbers) < 0 or _has_hole(option):
            return (Hole(part.name, f"a part of ${part.name}", many=True, outside=_has_hole(option)),)
        items = (root_text(state.script), *option.items) if part.name in ("@", "*") else option.items
        stop = numbers[0] + numbers[1] if len(numbers) > 1 else len(items)
        return _joined(Content(items[numbers[0] : stop], True), part)

    # Arithmetic

    def arithmetic(self, expression: str, state: State, span: Span) -> Text:
        """The text of ``$((expression))``; a hole when a variable in it is not known."""
        places: list[Span] = []
        sure = [Confidence.CERTAIN]

        def lookup(name: str) -> int:
            text = self._number_text(name, state)
            whole = plain(text)
            places.extend(places_of(text))
            sure.append(confidence_of(text))
            if whole is None or (whole and not _INTEGER.fullmatch(whole)):
                raise shell_arithmetic.UnknownNumberError(f"${name} is not known")
            return int(whole or 0)

        try:
            plainer = self._without_dollars(expression, state, sure)
            number = shell_arithmetic.evaluate(plainer, lookup)
        except shell_arithmetic.UnknownNumberError as failure:
            return (Hole("", f"arithmetic: {failure}", (span,), tuple(dict.fromkeys(places))[:6]),)
        return (Chunk(str(number), None, (span,), tuple(dict.fromkeys(places))[:6], min(sure)),)

    def _number_text(self, name: str, state: State) -> Text:
        options = self._options(Expansion(name), state)
        if len(options) > 1:
            return (Hole(name, "has several values"),)
        return _joined(options[0], Expansion(name)) if not options[0].unset else EMPTY

    def _without_dollars(self, expression: str, state: State, sure: list[Confidence]) -> str:
        def default(match: re.Match[str]) -> str:
            text = self._number_text(match.group(1), state)
            if given_from_outside(text) or plain(text) == "":
                sure.append(Confidence.LIKELY)
                return match.group(2)
            return match.group(1)

        def element(match: re.Match[str]) -> str:
            options = self._options(Expansion(match.group(1), index=match.group(2)), state)
            whole = plain(_joined(options[0], Expansion(match.group(1)))) if len(options) == 1 else None
            if whole is None or not _INTEGER.fullmatch(whole):
                raise shell_arithmetic.UnknownNumberError("an element is not known")
            return whole

        def length(match: re.Match[str]) -> str:
            part = Expansion(match.group(1), "length", index="@" if "[" in match.group() else None)
            texts = self._expansion(part, state)
            whole = plain(texts[0]) if len(texts) == 1 else None
            if whole is None:
                raise shell_arithmetic.UnknownNumberError("a length is not known")
            return whole

        text = _LENGTH.sub(length, _NAMED_DEFAULT.sub(default, expression.replace("\\\n", " ").replace('"', "")))
        text = _ELEMENT.sub(element, text)

        def name(match: re.Match[str]) -> str:
            if not match.group(1).isdigit():
                return match.group(1)
            whole = plain(self._number_text(match.group(1), state))
            if whole is None or not _INTEGER.fullmatch(whole):
                raise shell_arithmetic.UnknownNumberError("an argument is not known")
            return whole

        return _DOLLAR_NAME.sub(name, text)


def aligned(options: Sequence[Sequence[Text]], span: Span) -> list[tuple[tuple[Text, ...], Span]]:
    """Lists of words as one list.

    Words at the same place are alternatives, a hole stands for what differs in number.
    """
    if len(options) == 1:
        words = options[0]
        return [((text,), span if len(words) == 1 else inner_span(text, span)) for text in words]
    if len({len(option) for option in options}) == 1:
        rows = [merged(row) for row in zip(*options, strict=True)]
        return [(row, span if len(rows) == 1 else inner_span(row[0], span)) for row in rows]
    shortest = min(len(option) for option in options)
    head = _common(options, shortest)
    tail = _common([option[::-1] for option in options], shortest - head)
    reference = max(options, key=len)
    hole: Text = (Hole("", "the number of words differs by path", (span,), many=True, outside=False),)
    found: list[tuple[tuple[Text, ...], Span]] = [((text,), inner_span(text, span)) for text in reference[:head]]
    found.append(((hole,), span))
    found += [((text,), inner_span(text, span)) for text in reference[len(reference) - tail :]]
    return found


def _common(options: Sequence[Sequence[Text]], limit: int) -> int:
    count = 0
    while count < limit and len({plain(option[count]) or id(option[count]) for option in options}) == 1:
        count += 1
    return count


def _is_one_word(text: Text) -> bool:
    """Whether a text is a single known piece that is neither split nor a pattern: the usual case."""
    if len(text) != 1:
        return False
    piece = text[0]
    return isinstance(piece, Chunk) and not piece.split and not (piece.pattern and is_pattern(text))


def _may_vanish(word: Word) -> bool:
    """Whether a quoted word may become no word at all: ``"$@"`` and ``"${A[@]}"`` without elements."""
    return any(isinstance(part, Expansion) and (part.index == "@" or part.name == "@") for part in word.parts)


def _globbed(text: Text, span: Span) -> Text:
    if not is_pattern(text):
        return text
    whole = plain(text)
    if whole is not None and (
        whole in ("[", "[[", "?", "*") or (whole.startswith("-") and "/" not in whole and "*" not in whole)
    ):
        return text
    return (Hole("", "a pattern for file names", (span,), places_of(text), many=True),)


def _positional(name: str, state: State) -> Content:
    arguments = state.arguments
    if arguments is None:
        hole = Hole(name, f"${name} is given by the caller", outside=True, many=name in ("@", "*"))
        return Content(((hole,),), array=name in ("@", "*"))
    if name == "#":
        if any(isinstance(piece, Hole) and piece.many for text in arguments for piece in text):
            return Content(((Hole("#", "the number of arguments is not known"),),))
        return Content((literal(str(len(arguments))),))
    if name in ("@", "*"):
        return Content(arguments, array=True)
    number = int(name[:6])
    for at, text in enumerate(arguments[:number], start=1):
        if any(isinstance(piece, Hole) and piece.many for piece in text) and at <= number:
            return Content(((Hole(name, f"${name} is not known"),),))
    return Content((arguments[number - 1],)) if number <= len(arguments) else Content((), unset=True)


def _any_number(text: Text) -> Text:
    return tuple(piece._replace(many=True) if isinstance(piece, Hole) else piece for piece in text)


def _element(option: Content, index: str, name: str, state: State, expander: Expander) -> Content:
    if index in ("@", "*") or option.unset:
        return option
    if not option.array:
        return option if index == "0" else Content((), unset=True)
    text = expander.arithmetic(index, state, Span(state.script, 1, 1, 1, 1))
    whole = plain(text)
    if whole is None or _has_hole(option):
        return Content(((Hole(name, f"an element of ${name}"),),))
    at = int(whole)
    if -len(option.items) <= at < len(option.items):
        return Content((option.items[at],))
    return Content((), unset=True)


def _has_hole(option: Content) -> bool:
    """Whether an array may have more or fewer elements than we see."""
    return any(isinstance(piece, Hole) and piece.many for text in option.items for piece in text)


def _joined(option: Content, part: Expansion) -> Text:
    """The content as one text: all elements for ``@`` and ``*``, else the first."""
    if part.index in ("@", "*") or part.name in ("@", "*"):
        separate = part.index == "@" or part.name == "@" or not part.quoted
        border: Text = (Break(),) if separate else (Chunk(" "),)
        pieces: list[object] = []
        for at, item in enumerate(option.items):
            pieces += (*(border if at else ()), *(item or (Chunk(""),)))
        return tuple(pieces)  # type: ignore[arg-type]
    return option.items[0] if option.items else EMPTY


def _length(option: Content, part: Expansion) -> Text:
    if part.index in ("@", "*") or part.name in ("@", "*"):
        if _has_hole(option):
            return (Hole(part.name, f"the length of ${part.name}", outside=False),)
        return literal(str(len(option.items)), *(span for item in option.items for span in places_of(item)))
    whole = plain(_joined(option, part))
    return literal(str(len(whole))) if whole is not None else (Hole(part.name, f"the length of ${part.name}"),)


def _transform(operator: str, whole: str, arguments: list[str]) -> str | None:
    pattern = arguments[0] if arguments else ""
    if operator in ("%", "%%", "#", "##"):
        return _trimmed(operator, whole, pattern)
    if operator in ("/", "//", "/#", "/%"):
        if not pattern or any(mark in pattern for mark in "*?[\\"):
            return None
        replacement = arguments[1] if len(arguments) > 1 else ""
        if operator == "/#":
            return replacement + whole[len(pattern) :] if whole.startswith(pattern) else whole
        if operator == "/%":
            return whole[: -len(pattern)] + replacement if whole.endswith(pattern) else whole
        return whole.replace(pattern, replacement, 1 if operator == "/" else -1)
    if operator == ":":
        numbers = [argument.strip() for argument in arguments]
        if not all(_INTEGER.fullmatch(number) for number in numbers) or not numbers:
            return None
        start = int(numbers[0])
        rest = whole[start:] if start >= 0 or -start <= len(whole) else ""
        if len(numbers) == 1:
            return rest
        size = int(numbers[1])
        return rest[:size]
    if pattern or not whole.isascii():
        return None
    changes: dict[str, Callable[[str], str]] = {
        "^^": str.upper,
        ",,": str.lower,
        "^": lambda text: text[:1].upper() + text[1:],
        ",": lambda text: text[:1].lower() + text[1:],
    }
    return changes[operator](whole) if operator in changes else None


def _trimmed(operator: str, whole: str, pattern: str) -> str | None:
    if len(whole) > 2000 or len(pattern) > 50 or pattern.count("*") > 3 or "\\" in pattern or "[" in pattern:
        return None
    matcher = re.compile(translate(pattern))
    cuts = range(len(whole) + 1)
    if operator[0] == "#":
        order = cuts if operator == "#" else reversed(cuts)
        return next((whole[at:] for at in order if matcher.match(whole[:at])), whole)
    order = reversed(cuts) if operator == "%" else cuts
    return next((whole[:at] for at in order if matcher.match(whole[at:])), whole)
