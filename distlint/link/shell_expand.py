"""Expansion of shell words: from parts to the few texts that a word may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from distlint.link import shell_arithmetic
from distlint.link.shell_fields import aligned, fields, globbed, is_one_word, may_vanish
from distlint.link.shell_paths import directory_text, root_text
from distlint.link.shell_state import Content, State, given_from_outside, outside, scalar
from distlint.link.shell_transforms import transformed
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
    literal,
    merged,
    places_of,
    plain,
    used,
    weakened,
    without_beginning,
)
from distlint.model.shell import Arithmetic, Expansion, Literal, Substitution, Word
from distlint.model.span import Span
from distlint.model.value import MAX_OPTIONS, Confidence

Locate = Callable[[Span], Span]
"""Maps a place in a string that is run to a place in the file."""

_SELF = {"BASH_SOURCE", "0"}
_NAMED_DEFAULT = re.compile(r"\$\{(\w+):?-(-?\d+)\}", re.ASCII)
_LENGTH = re.compile(r"\$\{#(\w+)(?:\[[@*]\])?\}", re.ASCII)
_ELEMENT = re.compile(r"\$?\{?\b(\w+)\[(\d+)\]\}?", re.ASCII)
_DOLLAR_NAME = re.compile(r"\$\{?(\w+)\}?", re.ASCII)
KEYED = re.compile(r"\[([^]\[]+)\]=")
"""How an element of ``A=([key]=value)`` begins."""
_INTEGER = re.compile(r"[-+]?\d{1,18}")
_WORD = re.compile(r"\b[A-Za-z_]\w*", re.ASCII)


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
        if len(texts) == 1 and is_one_word(texts[0]):
            return [(texts, span)]
        options = [fields(text) or ([EMPTY] if word.quoted and not may_vanish(word) else []) for text in texts]
        options = [[globbed(text, span) for text in option] for option in options]
        return aligned(options, span)

    def _part(self, part: Expansion | Arithmetic | Substitution, state: State, word: Word) -> tuple[Text, ...]:
        span = self.locate(part.span or word.span)
        if isinstance(part, Arithmetic):
            return self._arithmetics(part.expression, state, span)
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
        listed = part.name in ("@", "*") or (option.array and part.index in ("@", "*"))
        if listed and part.operator == ":":
            return self._slice(part, option, state)
        if part.operator == "indirect":
            return self._indirect(part, option, state)
        if listed:
            items = tuple(self._changed(part, item, state) for item in option.items)
            return _joined(Content(items, True), part)
        return self._changed(part, _joined(option, part), state)

    def _indirect(self, part: Expansion, option: Content, state: State) -> Text:
        """``${!name}``, and ``${!name[@]}``: the indices of an array."""
        if part.index in ("@", "*"):
            if not option.array or _has_hole(option):
                return (Hole(part.name, f"the indices of ${part.name}", many=True),)
            indices = tuple(literal(str(at)) for at in range(len(option.items)))
            return _joined(Content(indices, True), part)
        name = plain(_joined(option, part)) if part.index is None else None
        if name is not None and name.isidentifier():
            texts = self._expansion(Expansion(name, quoted=part.quoted), state)
            if len(texts) == 1:
                return texts[0]
        return (Hole(part.name, f"the variable that ${part.name} names"),)

    def _changed(self, part: Expansion, text: Text, state: State) -> Text:
        """A text after ``%``, ``/``, ``:`` and their like."""
        whole = plain(text)
        arguments = [self.texts(word, state) for word in (part.argument, part.second) if word is not None]
        known = [plain(choices[0]) if len(choices) == 1 else None for choices in arguments]
        if whole is not None and not any(argument is None for argument in known):
            result = transformed(part.operator, whole, [argument for argument in known if argument is not None])
            if result is not None:
                return literal(result, *places_of(text), sure=confidence_of(text))
        return (Hole(part.name, f"derived from ${part.name}", (), places_of(text)),)

    def _slice(self, part: Expansion, option: Content, state: State) -> Text:
        bounds = [plain(self.texts(word, state)[0]) for word in (part.argument, part.second) if word is not None]
        numbers = [int(bound) for bound in bounds if bound is not None and _INTEGER.fullmatch(bound.strip())]
        if len(numbers) != len(bounds) or not numbers or min(numbers) < 0 or _has_hole(option):
            return (Hole(part.name, f"a part of ${part.name}", many=True, outside=_has_hole(option)),)
        items = (root_text(state.script), *option.items) if part.name in ("@", "*") else option.items
        stop = numbers[0] + numbers[1] if len(numbers) > 1 else len(items)
        return _joined(Content(items[numbers[0] : stop], True), part)

    # Arithmetic

    def _arithmetics(self, expression: str, state: State, span: Span, depth: int = 0) -> tuple[Text, ...]:
        """The texts of ``$((expression))``: one for each of the few values that a variable in it may have."""
        found = self.arithmetic(expression, state, span)
        if plain(found) is not None or depth > 1:
            return (found,)
        for name in dict.fromkeys(_DOLLAR_NAME.findall(expression) + _WORD.findall(expression)):
            variable = state.variables.get(name)
            if variable is None or not 1 < len(variable.options) <= MAX_OPTIONS:
                continue
            results: list[Text] = []
            for option in variable.options:
                one = state.copy()
                one.variables[name] = variable._replace(options=(option,))
                results += self._arithmetics(expression, one, span, depth + 1)
            return merged(results)
        return (found,)

    def _substituted(self, expression: str, state: State, sure: list[Confidence]) -> str:
        """The expression with the numbers that command substitutions in it print."""
        while (at := expression.find("$(")) >= 0 and expression[at : at + 3] != "$((":
            depth, end = 1, at + 2
            while end < len(expression) and depth:
                depth += (expression[end] == "(") - (expression[end] == ")")
                end += 1
            from distlint.read.shell import read_shell

            inside = expression[at + 2 : end - 1]
            facts, _ = read_shell(inside, state.script)
            printed = self._substitute(Substitution(inside, facts.statements), state, self)
            whole = plain(printed)
            if whole is None or not _INTEGER.fullmatch(whole.strip()):
                raise shell_arithmetic.UnknownNumberError("what a command in it prints is not known")
            sure.append(confidence_of(printed))
            expression = expression[:at] + whole.strip() + expression[end:]
        return expression

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
            return shell_arithmetic.integer(whole or "0")

        try:
            plainer = self._without_dollars(self._substituted(expression, state, sure), state, sure)
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
    keyed = _by_key(option)
    if keyed:
        key = index.strip("\"'")
        if key.startswith("$"):
            key = (
                plain(expander.texts(Word((Expansion(key.strip("${}")),), Span(state.script, 1, 1, 1, 1)), state)[0])
                or ""
            )
        hole = Hole(name, f"an element of ${name}", many=index in ("@", "*"))
        return Content((keyed[key],)) if key in keyed else Content(((hole,),), index in ("@", "*"))
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


def _by_key(option: Content) -> dict[str, Text]:
    """The elements of an associative array by key; empty for other arrays."""
    found: dict[str, Text] = {}
    for item in option.items if option.array else ():
        first = item[0] if item else None
        match = KEYED.match(first.text) if isinstance(first, Chunk) else None
        if match is None:
            return {}
        found[match[1].strip("\"'")] = without_beginning(item, match.end())
    return found


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
        counted = any(isinstance(piece, Hole) and piece.single for item in option.items for piece in item)
        sure = Confidence.LIKELY if counted else Confidence.CERTAIN
        return literal(str(len(option.items)), *(span for item in option.items for span in places_of(item)), sure=sure)
    whole = plain(_joined(option, part))
    return literal(str(len(whole))) if whole is not None else (Hole(part.name, f"the length of ${part.name}"),)
