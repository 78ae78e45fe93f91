"""The commands of a shell script as they are written, before any variable has a value."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.model.shell import Command, For, ShellFacts, While
from distlint.model.span import Span


def commands_in(statements: object) -> Iterator[Command]:
    """Every simple command below some statements, functions and substitutions included; in no particular order."""
    for item in _below(statements):
        if isinstance(item, Command):
            yield item


def loops_around(facts: ShellFacts, span: Span) -> list[For | While]:
    """The loops of a script whose body holds the command at a place."""
    loops = (item for item in _below(facts.statements) if isinstance(item, For | While))
    return [loop for loop in loops if any(command.span == span for command in commands_in(loop.body))]


def _below(statements: object) -> Iterator[object]:
    stack: list[object] = [statements]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            stack.extend(item)
        elif hasattr(item, "__dataclass_fields__") and not isinstance(item, Span):
            yield item
            if not isinstance(item, Command):
                stack.extend(getattr(item, name) for name in item.__dataclass_fields__)
