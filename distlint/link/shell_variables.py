"""Words that a command gets, and what they are assigned to: variables and positional parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from distlint.link.shell_commands import EvaluatedWord
from distlint.link.shell_expand import KEYED, Expander
from distlint.link.shell_state import Content, State, Variable, scalar
from distlint.link.shell_values import Hole, Text, assigned
from distlint.model.shell import Assignment, Command, Literal, Word
from distlint.model.span import Span
from distlint.model.value import MAX_OPTIONS


def assign(item: Assignment, state: State, expander: Expander) -> None:
    """Carries out one assignment, ``export NAME``, ``local NAME`` or ``unset NAME``."""
    if not item.name:
        return
    span = expander.locate(item.span)
    if item.local and state.hidden is not None:
        state.hidden.setdefault(item.name, state.variables.get(item.name))
    previous = state.variables.get(item.name)
    exported = item.exported or state.export_all or (previous is not None and previous.exported)
    if item.unset and item.index is not None:
        state.variables[item.name] = Variable((_unfollowed(item.name, span),), exported, span)
    elif item.unset:
        state.variables[item.name] = _nothing(span)
    elif item.value is None:
        if item.exported and previous is not None:
            state.variables[item.name] = previous._replace(exported=True)
        elif item.local and state.hidden is not None:
            state.variables[item.name] = _nothing(span)
    elif isinstance(item.value, tuple):
        _assign_array(item, item.value, state, expander, exported=exported)
    elif item.index is not None:
        texts = expander.texts(item.value, state)
        state.variables[item.name] = Variable((_with_element(item, texts, previous, span),), exported, span)
    else:
        texts = expander.texts(item.value, state)
        if item.append:
            texts = _appended(item.name, previous, texts)
        state.variables[item.name] = scalar(*(assigned(text, span) for text in texts), exported=exported, span=span)


def _nothing(span: Span) -> Variable:
    return Variable((Content((), unset=True),), False, span)


def _appended(name: str, previous: Variable | None, texts: tuple[Text, ...]) -> tuple[Text, ...]:
    if previous is None:
        return texts
    if any(option.array for option in previous.options):
        return ((Hole(name, "an array and a text"),),)
    return tuple((*first, *second) for first in previous.texts for second in texts)[:MAX_OPTIONS]


def _assign_array(
    item: Assignment, words: tuple[Word, ...], state: State, expander: Expander, *, exported: bool
) -> None:
    span = expander.locate(item.span)
    items = tuple(
        _element(texts, span)
        for word in words
        for texts in (
            [expander.texts(word, state)] if _is_keyed(word) else [one for one, _ in expander.arguments(word, state)]
        )
    )
    previous = state.variables.get(item.name)
    options: tuple[Content, ...] = (Content(items, True),)
    if item.append and previous is not None:
        options = tuple(Content((*option.items, *items), True) for option in previous.options)
    state.variables[item.name] = Variable(options, exported, span)


def _is_keyed(word: Word) -> bool:
    """Whether a word of an array is ``[key]=value``."""
    first = word.parts[0] if word.parts else None
    return isinstance(first, Literal) and KEYED.match(first.text) is not None


def _element(texts: tuple[Text, ...], span: Span) -> Text:
    if len(texts) == 1:
        return assigned(texts[0], span, element=True)
    many = any(isinstance(piece, Hole) and piece.many for text in texts for piece in text)
    return (Hole("", "differs by path", sets=(span,), many=many),)


def _with_element(item: Assignment, texts: tuple[Text, ...], previous: Variable | None, span: Span) -> Content:
    """The array after ``name[i]=value``; unknown unless ``i`` is one of its indices or the next."""
    if item.index is not None and item.index.isdecimal() and len(texts) == 1:
        old = previous.options[0] if previous is not None and len(previous.options) == 1 else Content((), True)
        at = int(item.index[:6])
        if at <= len(old.items):
            return Content((*old.items[:at], assigned(texts[0], span), *old.items[at + 1 :]), True)
    return _unfollowed(item.name, span)


def _unfollowed(name: str, span: Span) -> Content:
    return Content(((Hole(name, "its elements are not followed", sets=(span,), many=True),),), True)


def evaluated_words(command: Command, state: State, expander: Expander) -> list[EvaluatedWord]:
    """The words of a command after expansion."""
    return [EvaluatedWord(texts, span) for word in command.words for texts, span in expander.arguments(word, state)]


def assign_exported(item: Assignment, state: State, expander: Expander) -> None:
    """``NAME=value`` in front of a command: the command inherits it."""
    assign(replace(item, exported=True), state, expander)


def positional(words: Sequence[EvaluatedWord]) -> tuple[Text, ...]:
    """The positional parameters of a script or function that is called with these words."""
    return tuple(
        assigned(word.texts[0], word.span, element=True)
        if len(word.texts) == 1
        else (Hole("", "differs by path", (word.span,), many=word.is_open),)
        for word in words
    )
