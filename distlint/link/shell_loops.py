"""What a loop may do to variables, whatever the number of its turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from distlint.link.shell_setters import names_set_by
from distlint.link.shell_state import Content, Variable, is_carried, outside, scalar
from distlint.link.shell_values import Hole, Text
from distlint.model.shell import (
    Assignments,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Statement,
    While,
)


def shifts(body: Sequence[Statement]) -> bool:
    """Whether a body moves the positional parameters."""
    commands = (statement for statement in _nested(body) if isinstance(statement, Command))
    return any(command.words and command.words[0].literal == "shift" for command in commands)


def assigned_names(body: Sequence[Statement]) -> list[str]:
    """The variables that a body sets, in order."""
    found: dict[str, None] = {}
    for statement in _nested(body):
        if isinstance(statement, Assignments):
            found.update(dict.fromkeys(item.name for item in statement.items))
        elif isinstance(statement, For):
            found[statement.name] = None
        elif isinstance(statement, Command):
            found.update(dict.fromkeys(names_set_by(statement)))
    return [name for name in found if name]


def _nested(statements: Sequence[Statement]) -> Iterator[Statement]:
    """All statements below some statements, without recursion."""
    pending = list(statements)
    while pending:
        statement = pending.pop()
        yield statement
        if isinstance(statement, If):
            for condition, body in statement.branches:
                pending += [*condition, *body]
            pending += statement.orelse
        elif isinstance(statement, (For, Group, Function)):
            pending += statement.body
        elif isinstance(statement, While):
            pending += [*statement.condition, *statement.body]
        elif isinstance(statement, Case):
            for _, body in statement.branches:
                pending += body
        elif isinstance(statement, Pipeline):
            pending += statement.commands


def in_loop(name: str, variable: Variable | None) -> Variable:
    """What a variable may hold in a loop that sets it, before it is set."""
    array = variable is not None and any(option.array for option in variable.options)
    hole: Text = (Hole(name, f"${name} is set in a loop", many=array, carried=True),)
    exported, span = (variable.exported, variable.span) if variable is not None else (False, None)
    return Variable((Content((hole,), array),), exported, span)


def without_carried(name: str, variable: Variable, before: Variable | None) -> Variable:
    """A variable after a loop, without the option that a turn left as it was.

    Such a turn adds nothing: its value is what another turn set, or what stood ``before`` the loop.
    """
    options = tuple(option for option in variable.options if not is_carried(option))
    if options:
        return variable._replace(options=options)
    return before if before is not None else scalar(outside(name))
