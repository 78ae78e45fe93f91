"""Commands of the shell itself that change its state without starting anything: ``cd``, ``set``, ``shift``, ``break``.

Each takes the expanded words, its own name first, and gives its exit status.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from distlint.link.shell_commands import EvaluatedWord
from distlint.link.shell_conditions import FALSE, TRUE, Decision
from distlint.link.shell_paths import directory_at
from distlint.link.shell_state import Directory, State
from distlint.link.shell_values import Hole, Text
from distlint.link.shell_variables import positional
from distlint.link.shell_walk import Walk

Builtin = Callable[[Sequence[EvaluatedWord], State], Decision]
Jump = Callable[[Walk, State], None]


def change_directory(words: Sequence[EvaluatedWord], state: State) -> Decision:
    """``cd`` and ``pushd``."""
    operands = [word for word in words[1:] if not (word.literal or "").startswith("-")]
    if len(operands) == 1 and len(operands[0].texts) == 1:
        state.directory = directory_at(operands[0].texts[0], state.directory)
    else:
        state.directory = Directory("", "unknown")
    return TRUE


def _popd(_words: Sequence[EvaluatedWord], state: State) -> Decision:
    state.directory = Directory("", "unknown")
    return TRUE


def _set(words: Sequence[EvaluatedWord], state: State) -> Decision:
    """``set -a`` exports what is assigned from now on; operands become the positional parameters.

    ``o`` may stand among other letters (``set -euo pipefail``) and takes the next word as the name of an option.
    """
    at = 1
    while at < len(words):
        text = words[at].literal
        at += 1
        if text is None or text in ("--", "-") or not text.startswith(("-", "+")):
            operands = words[at:] if text in ("--", "-") else words[at - 1 :]
            if operands or text == "--":
                state.arguments = positional(operands)
            break
        if "a" in text:
            state.export_all = text.startswith("-")
        if "o" in text and at < len(words):
            if words[at].literal == "allexport":
                state.export_all = text.startswith("-")
            at += 1
    return TRUE


def _shift(words: Sequence[EvaluatedWord], state: State) -> Decision:
    count = words[1].literal if len(words) > 1 else "1"
    arguments = state.arguments
    if arguments is not None and count is not None and count.isdecimal() and not _may_differ(arguments):
        state.arguments = arguments[int(count[:6]) :]
    else:
        state.arguments = None
    return TRUE


def _may_differ(arguments: Sequence[Text]) -> bool:
    """Whether there may be more or fewer arguments than we see."""
    return any(isinstance(piece, Hole) and piece.many for text in arguments for piece in text)


def _true(_words: Sequence[EvaluatedWord], _state: State) -> Decision:
    return TRUE


def _false(_words: Sequence[EvaluatedWord], _state: State) -> Decision:
    return FALSE


BUILTINS: dict[str, Builtin] = {
    "cd": change_directory,
    "pushd": change_directory,
    "popd": _popd,
    "set": _set,
    "shift": _shift,
    "true": _true,
    ":": _true,
    "false": _false,
}


def _exit(_walk: Walk, state: State) -> None:
    state.alive = False


def _return(walk: Walk, state: State) -> None:
    if walk.returns:
        walk.returns[-1].append(state.copy())
    state.alive = False


def _break(walk: Walk, state: State) -> None:
    if len(walk.exits) >= 2:
        walk.exits[-2].append(state.copy())
        state.alive = False


def _continue(walk: Walk, state: State) -> None:
    if walk.exits:
        walk.exits[-1].append(state.copy())
        state.alive = False


JUMPS: dict[str, Jump] = {"exit": _exit, "return": _return, "break": _break, "continue": _continue}
"""Commands behind which control goes on elsewhere. A loop has two lists of exits: its own, then that of a turn."""
