"""What the commands of a shell script install, with the variables that the script itself gives a value.

Nothing is run: the commands are gone through in the order in which they stand, both sides of a condition included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from distlint.model.shell import (
    Assignment,
    Assignments,
    Case,
    Command,
    Expansion,
    For,
    Function,
    Group,
    If,
    Literal,
    Pipeline,
    Statement,
    While,
    Word,
)
from distlint.model.span import Span
from distlint.read.pins.command_lines import pins_from_words
from distlint.read.pins.installers import INSTALLERS
from distlint.read.pins.reading import INDEX_VARIABLES, Collector, PinReading

if TYPE_CHECKING:
    from distlint.model.shell import Part

_MAX_VALUE = 2000
_MAX_COMMANDS = 4000
_MAX_CHOICES = 8
_MAX_ITEMS = 200
_MAX_DEPTH = 12

_OTHER_PLACE = frozenset(
    {
        None,
        "source",
        ".",
        "conda",
        "mamba",
        "micromamba",
        "deactivate",
        "exit",
        "exec",
        "pyenv",
        "module",
        "uv",
        "poetry",
    }
)
"""Commands after which another Python may get the packages."""


def installs_something(text: str) -> bool:
    """Whether a text may hold a command that installs packages."""
    return any(word in text for word in INSTALLERS)


def pins_of_statements(
    statements: Sequence[Statement],
    origin: str,
    file: str,
    variables: Mapping[str, str] | None = None,
    group: str = "",
) -> PinReading:
    """The pins of the commands in a script. ``variables`` are those that are set before; ``group`` as in ``Pin``."""
    walk = _Walk(Collector(file, origin), group, dict(variables or {}))
    walk.go(statements, 0)
    return walk.collector.reading()


class _Walk:
    def __init__(self, collector: Collector, group: str, variables: dict[str, str]) -> None:
        self.collector = collector
        self._group = group
        self._variables = variables
        self._arrays: dict[str, list[str]] = {}
        self._left = _MAX_COMMANDS
        self._place = ""

    def go(self, statements: Iterable[Statement], depth: int) -> None:
        """Goes through statements in order."""
        if depth > _MAX_DEPTH:
            return
        for statement in statements:
            if self._left <= 0:
                return
            self._left -= 1
            self._statement(statement, depth)

    def _statement(self, statement: Statement, depth: int) -> None:
        match statement:
            case Assignments():
                for item in statement.items:
                    self._assign(item)
            case Command():
                self._command(statement, depth)
            case Pipeline():
                self.go(statement.commands, depth + 1)
            case If():
                self._branches(
                    [[*condition, *body] for condition, body in statement.branches] + [statement.orelse], depth
                )
            case For():
                self._loop(statement, depth)
            case While():
                self._branches([[*statement.condition, *statement.body]], depth)
            case Case():
                self._branches([body for _, body in statement.branches], depth)
            case Function() | Group():
                self.go(statement.body, depth + 1)

    def _branches(self, branches: Sequence[Sequence[Statement]], depth: int) -> None:
        """What may happen or not: a variable that it changes is not known behind it."""
        before = self._variables
        after: list[dict[str, str]] = []
        for branch in branches:
            self._variables = dict(before)
            self.go(branch, depth + 1)
            after.append(self._variables)
        same = dict(before)
        for ends in after:
            for name in {*same, *ends}:
                if same.get(name) != ends.get(name):
                    same.pop(name, None)
        self._variables = same

    def _loop(self, loop: For, depth: int) -> None:
        values = [self.text(word) for word in loop.words or ()]
        known = [value for value in values if value is not None and "${" not in value]
        if not known or len(known) != len(values) or len(known) > _MAX_CHOICES:
            self._variables.pop(loop.name, None)
            self.go(loop.body, depth + 1)
            return
        for value in known:
            self._variables[loop.name] = value
            self.go(loop.body, depth + 1)

    def _assign(self, item: Assignment) -> None:
        name = item.name
        if isinstance(item.value, tuple) and item.index is None:
            texts = [self.text(word) for word in item.value]
            before = self._arrays.get(name, []) if item.append else []
            self._arrays[name] = [*before, *(text for text in texts if text is not None)][:_MAX_ITEMS]
            return
        value = self.text(item.value) if isinstance(item.value, Word) else None
        if item.value is None and not item.unset:
            return
        if value is None or item.index is not None or "${" in value or len(value) > _MAX_VALUE:
            self._variables.pop(name, None)
            return
        if item.append:
            value = self._variables.get(name, "") + value
        self._variables[name] = value[:_MAX_VALUE]
        if name in INDEX_VARIABLES:
            self.collector.add_index(value, item.span, self._group)

    def _command(self, command: Command, depth: int) -> None:
        for item in command.environment:
            if item.name in INDEX_VARIABLES and isinstance(item.value, Word):
                self.collector.add_index(self.text(item.value) or "", item.span, self._group)
        words: list[tuple[str | None, Span]] = []
        for word in command.words:
            if (listed := self._listed(word)) is not None:
                words += [(one, word.span) for one in listed]
                continue
            text = self.text(word)
            split = text is not None and not word.quoted and " " in text
            for one in (text or "").split() if split else [text]:
                words.append((one, _place(word)))
        reading = pins_from_words(words, self.collector.origin, self.collector.file, self._group)
        removes = any(text == "uninstall" for text, _ in words)
        if not self._place or not words or words[0][0] in _OTHER_PLACE or removes or command.background:
            self._place = f"{command.span.line}:{command.span.column}:" if words else ""
        self.collector.take(reading.in_sequence(self._place if depth == 0 and not command.background else ""))
        self._inner(words, depth)

    def _inner(self, words: Sequence[tuple[str | None, Span]], depth: int) -> None:
        """The script that a shell or a container is given as one word: ``bash -c "pip install …"``."""
        from distlint.read.pins.shell_text import split_commands

        for (text, span), before in zip(words[1:], words, strict=False):
            if text is None or not (before[0] or "").startswith("-") or not (before[0] or "").endswith("c"):
                continue
            if installs_something(text) and depth < _MAX_DEPTH:
                for line in split_commands(text, self._variables):
                    inner = [(word.text, span) for word in line]
                    self.collector.take(pins_from_words(inner, self.collector.origin, self.collector.file, self._group))

    # Words

    def _listed(self, word: Word) -> list[str] | None:
        """The items of a word that is a whole array."""
        only = word.parts[0] if len(word.parts) == 1 else None
        if isinstance(only, Expansion) and only.index in ("@", "*") and not only.operator:
            return self._arrays.get(only.name)
        return None

    def text(self, word: Word) -> str | None:
        """A word's text; ``${NAME}`` for what is not known in it, ``None`` where it begins with that."""
        parts: list[str] = []
        for part in word.parts:
            known = self._part(part)
            if known is None and not any(parts):
                return None
            parts.append("${UNKNOWN}" if known is None else known)
        return "".join(parts)

    def _part(self, part: Part) -> str | None:
        if isinstance(part, Literal):
            return part.text
        if not isinstance(part, Expansion) or part.index is not None:
            return None
        value = self._variables.get(part.name)
        given = self.text(part.argument) if part.argument is not None else ""
        if part.operator in ("", ":?", "?"):
            return value
        if part.operator in (":-", "-", ":=", "="):
            return value or given
        if part.operator in ("/", "//") and value is not None and given:
            new = self.text(part.second) if part.second is not None else ""
            return None if new is None else value.replace(given, new, -1 if part.operator == "//" else 1)
        return None


def _place(word: Word) -> Span:
    """Where a word stands; without its quotes, where they are around the whole."""
    only = word.parts[0] if len(word.parts) == 1 else None
    if word.quoted and isinstance(only, Literal) and only.line == word.span.line == word.span.end_line:
        return Span(word.span.file, only.line, only.column, only.line, only.column + len(only.text))
    return word.span
