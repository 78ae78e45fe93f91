"""The state of a shell between two commands: variables, positional parameters, working directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from distlint.link.shell_values import EMPTY, Hole, Text, merged, places_of, plain, value_of, weakened
from distlint.model.record import dataclass
from distlint.model.shell import Function
from distlint.model.span import Span
from distlint.model.value import MAX_OPTIONS, Confidence, Value, absent, unknown


class Content(NamedTuple):
    """What a variable holds on one path: a scalar, an array, or (``unset``) nothing."""

    items: tuple[Text, ...]
    array: bool = False
    unset: bool = False


class Variable(NamedTuple):
    """A variable: what it may hold, whether commands inherit it, and the last place that set it."""

    options: tuple[Content, ...]
    exported: bool = False
    span: Span | None = None

    @property
    def texts(self) -> tuple[Text, ...]:
        """The possible texts as a scalar (an array's first element); an unset one is empty."""
        return tuple(option.items[0] if option.items else EMPTY for option in self.options)

    @property
    def value(self) -> Value:
        """What commands would see in their environment."""
        spans = (self.span,) if self.span is not None else ()
        if all(option.unset for option in self.options):
            return absent(*spans)
        if any(option.unset for option in self.options):
            return unknown("set on some paths only", *spans)
        return value_of(self.texts, *spans)


def scalar(*texts: Text, exported: bool = False, span: Span | None = None) -> Variable:
    """A variable that holds one of these texts."""
    return Variable(tuple(Content((text,)) for text in texts), exported, span)


class Directory(NamedTuple):
    """A working directory: ``path`` below the project's root, or below the folder that the script was started from."""

    path: str = ""
    base: str = "start"

    @property
    def known(self) -> str | None:
        """The path below the root if it is known."""
        return self.path if self.base == "root" else None


START = Directory()
"""The folder that the script is started from."""


@dataclass(slots=True)
class State:
    """Everything that commands may read and change.

    ``arguments`` is ``None`` when the positional parameters are not known.
    """

    script: str
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    arguments: tuple[Text, ...] | None = None
    directory: Directory = START
    alive: bool = True
    export_all: bool = False
    hidden: dict[str, Variable | None] | None = None
    """Inside a function: what its local variables hide, ``None`` for those that were not set."""

    def copy(self) -> State:
        """An independent copy, for a branch or a subshell."""
        return State(
            self.script,
            dict(self.variables),
            dict(self.functions),
            self.arguments,
            self.directory,
            self.alive,
            self.export_all,
            self.hidden,
        )

    def replace_by(self, other: State) -> None:
        """Takes over everything from another state."""
        self.variables, self.functions = other.variables, other.functions
        self.arguments, self.directory = other.arguments, other.directory
        self.alive, self.export_all = other.alive, other.export_all

    def leave_function(self, hidden: dict[str, Variable | None] | None) -> None:
        """Ends the local variables of a function; ``hidden`` is what those of its caller hide."""
        for name, variable in (self.hidden or {}).items():
            if variable is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = variable
        self.hidden = hidden

    def exported(self) -> dict[str, Variable]:
        """The variables that a child process inherits."""
        return {name: variable for name, variable in self.variables.items() if variable.exported}


def environment_of(variables: Mapping[str, Variable]) -> dict[str, Value]:
    """What child processes see of some variables, and what was unset for them, by name."""
    return {
        name: variable.value
        for name, variable in sorted(variables.items())
        if variable.exported or all(option.unset for option in variable.options)
    }


def outside(name: str, *spans: Span) -> Text:
    """The text of a variable that nothing in the project sets."""
    return (Hole(name, f"${name} comes from outside", (), spans, outside=True),)


def given_from_outside(text: Text) -> bool:
    """Whether the text is nothing but what the caller or the environment gave."""
    return len(text) == 1 and isinstance(text[0], Hole) and text[0].outside


def join_states(first: State, second: State, *, defaulted: bool = False) -> State:
    """The state after one of two paths.

    ``defaulted`` says that one of them is taken when a value from outside is empty: what that one sets wins over what
    came from outside, as a default does.
    """
    if not first.alive or not second.alive:
        return second if not first.alive else first
    result = first.copy()
    for name in {**first.variables, **second.variables}:
        one, other = first.variables.get(name), second.variables.get(name)
        if one is not other:
            result.variables[name] = _join_variables(name, one, other, defaulted=defaulted)
    result.functions.update(second.functions)
    if first.arguments != second.arguments:
        result.arguments = None
    if first.directory != second.directory:
        result.directory = Directory("", "unknown")
    return result


def _join_variables(name: str, one: Variable | None, other: Variable | None, *, defaulted: bool) -> Variable:
    absent_variable = scalar(outside(name))
    one, other = one or absent_variable, other or absent_variable
    options = _without_repetition((*one.options, *other.options))
    given = [option for option in options if _is_given(option, defaulted=defaulted)]
    carried = [option for option in options if is_carried(option)]
    defaults = [option for option in options if option not in given and option not in carried]
    if given and defaults and not any(option.unset or _is_blank(option) for option in defaults):
        options = (*map(_likely, defaults), *carried)
    if len(options) > MAX_OPTIONS:
        spans = tuple(dict.fromkeys(span for option in options for text in option.items for span in places_of(text)))
        options = (Content(((Hole(name, "too many possibilities", (), spans[:4]),),)),)
    return Variable(options, one.exported or other.exported, one.span or other.span)


def _likely(option: Content) -> Content:
    return option._replace(items=tuple(weakened(text, Confidence.LIKELY) for text in option.items))


def is_carried(option: Content) -> bool:
    """Whether an option is what a variable held before a turn of a loop, unchanged."""
    first = option.items[0] if option.items else EMPTY
    return len(first) == 1 and isinstance(first[0], Hole) and first[0].carried


def _is_blank(option: Content) -> bool:
    """Whether an option is a text without characters: no default, but the mark of something not given."""
    return not option.array and all(plain(text) == "" for text in option.items)


def _is_given(option: Content, *, defaulted: bool) -> bool:
    """Whether an option is a value from outside to which the other option is the default."""
    if option.array or option.unset or not option.items or not given_from_outside(option.items[0]):
        return False
    hole = option.items[0][0]
    return defaulted or (isinstance(hole, Hole) and bool(hole.sets))


def _without_repetition(options: tuple[Content, ...]) -> tuple[Content, ...]:
    if len(options) == 2 and not any(option.array or option.unset for option in options):
        texts = merged(option.items[0] for option in options)
        return tuple(Content((text,)) for text in texts)
    distinct: dict[object, Content] = {}
    for option in options:
        distinct.setdefault((option.array, option.unset, tuple(plain(text) or text for text in option.items)), option)
    return tuple(distinct.values())
