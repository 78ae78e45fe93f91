"""What command substitutions print: ``$(dirname "$0")``, ``$(cd .. && pwd)``, ``$(echo a | tr ',' ' ')``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from distlint.link.shell_builtins import change_directory
from distlint.link.shell_expand import Expander
from distlint.link.shell_output import output_of
from distlint.link.shell_state import State
from distlint.link.shell_values import Hole, Text
from distlint.link.shell_variables import evaluated_words
from distlint.link.shell_walk import MAX_STEPS, Walk
from distlint.model.shell import Command, If, Literal, Pipeline, Statement, Substitution, Word


def substituted(walk: Walk, part: Substitution, state: State, expander: Expander) -> Text:
    """What a command substitution prints; a hole when that depends on anything but the script."""
    walk.steps += 1
    found = _output(part.commands, state.copy(), expander) if walk.steps < MAX_STEPS else None
    if found is not None:
        return found
    return (Hole(_hole_name(part.text), f"depends on the output of `{' '.join(part.text.split())[:60]}`"),)


def _output(statements: Sequence[Statement], state: State, expander: Expander) -> Text | None:
    """The output of statements of which only the last one prints: ``cd dir && pwd``."""
    if not statements:
        return None
    *before, last = statements
    if not all(_moves(statement, state, expander) for statement in before):
        return None
    if isinstance(last, Command):
        return _output_of_command(last, state, None, expander)
    if isinstance(last, Pipeline):
        return _output_of_pipeline(last, state, expander)
    if isinstance(last, If) and len(last.branches) == 1 and not last.orelse:
        condition, body = last.branches[0]
        if len(condition) == 1 and _moves(condition[0], state, expander):
            return _output(body, state, expander)
    return None


def _moves(statement: Statement, state: State, expander: Expander) -> bool:
    """Runs ``cd`` and its like; false for a statement that may print."""
    if not isinstance(statement, Command) or not statement.words:
        return False
    if statement.words[0].literal not in ("cd", "pushd"):
        return False
    change_directory(evaluated_words(statement, state, expander), state)
    return True


def _output_of_pipeline(pipeline: Pipeline, state: State, expander: Expander) -> Text | None:
    commands = [command for command in pipeline.commands if isinstance(command, Command)]
    if len(commands) != len(pipeline.commands) or any(word.literal == "-n" for word in commands[0].words):
        return None
    text: Text | None = None
    for command in commands:
        text = _output_of_command(command, state, text, expander)
        if text is None:
            return None
    return text


def _output_of_command(command: Command, state: State, stdin: Text | None, expander: Expander) -> Text | None:
    if command.words and command.words[0].literal == "command" and len(command.words) == 3:
        which = Word((Literal("which"),), command.span)
        command = replace(command, words=(which, *command.words[2:]))
    words = evaluated_words(command, state, expander)
    if any(len(word.texts) != 1 for word in words):
        return None
    here = next((redirect for redirect in command.redirects if redirect.operator == "<<<"), None)
    if here is not None and here.target is not None:
        given = expander.texts(here.target, state)
        stdin = given[0] if len(given) == 1 else None
    return output_of([word.texts[0] for word in words], state.directory, stdin)


def _hole_name(command: str) -> str:
    word = command.split(maxsplit=1)[0] if command.split() else ""
    name = "".join(char if char.isalnum() else "_" for char in word.upper())[:30]
    return f"OUTPUT_OF_{name}"
