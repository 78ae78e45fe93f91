"""The files that a command writes from here-documents."""

from __future__ import annotations

from dataclasses import replace

from distlint.link.shell_commands import EvaluatedWord, Output
from distlint.link.shell_expand import Expander
from distlint.link.shell_paths import directory_at
from distlint.link.shell_state import State
from distlint.link.shell_values import shown
from distlint.model.shell import Command, Expansion, Redirect, Word


def outputs_of(command: Command, state: State, expander: Expander) -> tuple[Output, ...]:
    """What a command writes: ``cat <<EOT > file`` and ``tee file <<EOT``; at most one file."""
    bodies = [item for item in command.redirects if item.body is not None and item.body_span is not None]
    target = _target(command) if bodies else None
    if target is None:
        return ()
    found = expander.arguments(target, state)
    if len(found) != 1:
        return ()
    path, body = EvaluatedWord(*found[0]), bodies[-1]
    span = expander.locate(body.body_span) if body.body_span is not None else path.span
    directory = directory_at(path.texts[0], state.directory)
    return (Output(path, directory.known or "", filled_in(body, state, expander), body.body or "", span),)


def _target(command: Command) -> Word | None:
    for redirect in command.redirects:
        if redirect.operator.strip("1") in (">", ">>", ">|"):
            return redirect.target
    if command.words and command.words[0].literal == "tee":
        return next(iter(files_of_tee(command)), None)
    return None


def files_of_tee(command: Command) -> list[Word]:
    """The operands of ``tee``."""
    return [word for word in command.words[1:] if not (word.literal or "").startswith("-")]


def filled_in(body: Redirect, state: State, expander: Expander) -> str:
    """The text of a here-document with known variables replaced."""
    text = body.body or ""
    if body.body_word is not None:
        texts = expander.texts(body.body_word, state)
        text = shown(texts[0]) if len(texts) == 1 else _by_parts(body.body_word, state, expander)
    if body.operator.endswith("<<-"):
        text = "\n".join(line.lstrip("\t") for line in text.split("\n"))
    return text


def _by_parts(word: Word, state: State, expander: Expander) -> str:
    """A text in which a variable has several values: each part on its own, a hole where it is undecided."""
    parts = []
    for part in word.parts:
        texts = expander.texts(replace(word, parts=(part,)), state)
        name = part.name if isinstance(part, Expansion) else "UNKNOWN"
        parts.append(shown(texts[0]) if len(texts) == 1 else f"${{{name}}}")
    return "".join(parts)
