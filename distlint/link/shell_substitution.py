"""What command substitutions print: ``$(dirname "$0")``, ``$(cd .. && pwd)``, ``$(echo a | tr ',' ' ')``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from distlint.link.scheduler_header import SUBMITTERS
from distlint.link.shell_builtins import change_directory
from distlint.link.shell_expand import Expander
from distlint.link.shell_output import Surroundings, output_of
from distlint.link.shell_paths import find_file
from distlint.link.shell_state import State
from distlint.link.shell_values import Hole, Text, literal
from distlint.link.shell_variables import assign, evaluated_words, positional
from distlint.link.shell_walk import MAX_STEPS, Walk
from distlint.model.shell import (
    Assignment,
    Assignments,
    Command,
    Group,
    If,
    Literal,
    Pipeline,
    Statement,
    Substitution,
    Word,
)
from distlint.model.value import Confidence

MAX_FILE = 20_000
"""Longer files are not what a script counts its hosts by."""


def substituted(walk: Walk, part: Substitution, state: State, expander: Expander) -> Text:
    """What a command substitution prints; a hole when that depends on anything but the script."""
    walk.steps += 1
    found = _output(part.commands, state.copy(), expander, walk) if walk.steps < MAX_STEPS else None
    if found is not None:
        return found
    return (Hole(_hole_name(part.text), f"depends on the output of `{' '.join(part.text.split())[:60]}`"),)


def submissions_in(item: Assignment) -> Iterator[Command]:
    """The commands that submit a job for the sake of its number: ``JOB=$(sbatch --parsable job.sh)``."""
    for part in item.value.parts if isinstance(item.value, Word) else ():
        for statement in part.commands if isinstance(part, Substitution) else ():
            first = statement.commands[0] if isinstance(statement, Pipeline) else statement
            if isinstance(first, Command) and first.words and first.words[0].literal in SUBMITTERS:
                yield first


def _output(statements: Sequence[Statement], state: State, expander: Expander, walk: Walk) -> Text | None:
    """The output of statements of which only the last one prints: ``cd dir && pwd``."""
    if not statements:
        return None
    *before, last = statements
    if not all(_moves(statement, state, expander) for statement in before):
        return None
    if isinstance(last, Command):
        return _output_of_command(last, state, None, expander, walk)
    if isinstance(last, Group):
        return _output(last.body, state, expander, walk)
    if isinstance(last, Pipeline):
        return _output_of_pipeline(last, state, expander, walk)
    if isinstance(last, If) and len(last.branches) == 1 and not last.orelse:
        condition, body = last.branches[0]
        if len(condition) == 1 and _moves(condition[0], state, expander):
            return _output(body, state, expander, walk)
    return None


def _moves(statement: Statement, state: State, expander: Expander) -> bool:
    """Runs ``cd`` and its like, and assignments; false for a statement that may print."""
    if isinstance(statement, Assignments):
        for item in statement.items:
            assign(item, state, expander)
        return True
    if not isinstance(statement, Command) or not statement.words:
        return False
    if statement.words[0].literal not in ("cd", "pushd"):
        return False
    change_directory(evaluated_words(statement, state, expander), state)
    return True


def _output_of_pipeline(pipeline: Pipeline, state: State, expander: Expander, walk: Walk) -> Text | None:
    commands = [command for command in pipeline.commands if isinstance(command, Command)]
    if len(commands) != len(pipeline.commands) or any(word.literal == "-n" for word in commands[0].words):
        return None
    text: Text | None = None
    for command in commands:
        text = _output_of_command(command, state, text, expander, walk)
        if text is None:
            return None
    return text


def _output_of_command(
    command: Command, state: State, stdin: Text | None, expander: Expander, walk: Walk
) -> Text | None:
    if command.words and command.words[0].literal == "command" and len(command.words) == 3:
        which = Word((Literal("which"),), command.span)
        command = replace(command, words=(which, *command.words[2:]))
    words = evaluated_words(command, state, expander)
    if any(len(word.texts) != 1 for word in words):
        return None
    function = state.functions.get(words[0].literal or "") if words else None
    if function is not None:
        walk.steps += 1
        inner = state.copy()
        inner.arguments, inner.hidden = positional(words[1:]), {}
        return _output(function.body, inner, expander, walk) if walk.steps < MAX_STEPS and state.alive else None
    around = surroundings(walk, state)
    for redirect in command.redirects:
        given = expander.texts(redirect.target, state) if redirect.target is not None else ()
        if redirect.operator == "<<<":
            stdin = given[0] if len(given) == 1 else None
        elif redirect.operator == "<":
            content = around.read(given[0]) if len(given) == 1 else None
            stdin = literal(content.rstrip("\n"), sure=Confidence.LIKELY) if content is not None else None
    return output_of([word.texts[0] for word in words], around, stdin)


def surroundings(walk: Walk, state: State) -> Surroundings:
    """What the commands of a script may ask besides their words."""

    def variable(name: str) -> Text | None:
        found = state.variables.get(name)
        texts = found.texts if found is not None and not found.options[0].unset else ()
        return texts[0] if len(texts) == 1 else None

    def read(path: Text) -> str | None:
        found = find_file(path, state.directory, state.script, walk.exists)
        text = walk.read(found) if found else None
        return text if text and len(text) <= MAX_FILE else None

    return Surroundings(state.directory, variable, read)


def _hole_name(command: str) -> str:
    word = command.split(maxsplit=1)[0] if command.split() else ""
    name = "".join(char if char.isalnum() else "_" for char in word.upper())[:30]
    return f"OUTPUT_OF_{name}"
