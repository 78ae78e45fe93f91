"""What a command starts that we can follow: functions, scripts of the project, and strings handed to a shell."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from distlint.link.command_lines import REMOTE
from distlint.link.scheduler_header import (
    JOB_VARIABLES,
    NOT_SUBMITTED,
    SUBMITTERS,
    Submission,
    exported_variables,
    header_variables,
    only_exported,
    step_variables,
    submission_of,
)
from distlint.link.shell_commands import EvaluatedWord
from distlint.link.shell_conditions import TRUE, UNDECIDED, Decision
from distlint.link.shell_expand import Expander
from distlint.link.shell_here_documents import filled_in
from distlint.link.shell_paths import find_file
from distlint.link.shell_state import State, scalar
from distlint.link.shell_values import NAMELESS, Chunk, Hole, Piece, Text, combine, plain, shown, without_beginning
from distlint.link.shell_variables import positional
from distlint.link.shell_walk import Context, Walk, joined_into
from distlint.model.launch import ScriptCall
from distlint.model.shell import Command, Function, Redirect, ShellFacts, Statement
from distlint.model.span import Span
from distlint.model.value import Confidence

MAX_CALLS = 8
MAX_FUNCTION_DEPTH = 10
MAX_STRING = 20_000

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_OPTIONS_WITH_VALUE = frozenset({"-o", "-O", "+o", "+O", "--rcfile", "--init-file"})

Run = Callable[[Sequence[Statement], State, Context], Decision]
"""Runs statements in order and gives the exit status of the last one."""


class Follower:
    """Goes into what commands start; ``run`` runs the statements found there."""

    def __init__(self, walk: Walk, expander: Expander, run: Run) -> None:
        self._walk = walk
        self._expander = expander
        self._run = run

    # Functions

    def call(self, function: Function, words: Sequence[EvaluatedWord], state: State, context: Context) -> Decision:
        """Runs a function's body with arguments and local variables of its own."""
        arguments, hidden = state.arguments, state.hidden
        state.arguments, state.hidden = positional(words[1:]), {}
        self._walk.returns.append([])
        status = self._run(function.body, state, context._replace(functions=context.functions + 1))
        joined_into(state, self._walk.returns.pop())
        state.leave_function(hidden)
        state.arguments = arguments
        return status

    # Scripts

    def run_file(self, path: str, state: State, context: Context) -> None:
        """Runs a script in a state of its own."""
        self._run_facts(self._walk.files[path], state, context)

    def _run_facts(
        self, facts: ShellFacts, state: State, context: Context, submission: Submission = NOT_SUBMITTED
    ) -> None:
        state.variables.update(header_variables(facts, state.variables.keys(), submission))
        self._isolated(facts.statements, state, context)

    def _isolated(self, statements: Sequence[Statement], state: State, context: Context) -> None:
        with self._walk.isolated(), self._expander.located(None):
            self._run(statements, state, context)

    def follow(self, words: Sequence[EvaluatedWord], span: Span, state: State, context: Context) -> None:
        """Runs the script of the project, or the string, that a command hands to a shell."""
        skipped = self._walk.unwrap(words)
        inner = words[skipped:]
        if not inner or context.calls >= MAX_CALLS:
            return
        wrapped = self._walk.commands[-1] if skipped and self._walk.commands else context.wrapped
        context = context._replace(wrapped=wrapped, calls=context.calls + 1)
        if any(_name(word) in REMOTE for word in words[:skipped]):
            state = State(state.script)
        for at, word in enumerate(words[:skipped]):
            if _name(word) == "srun":
                # A step has variables of its own.
                state = state.copy()
                state.variables.update(step_variables(words[at + 1 : skipped]))
        name = _name(inner[0])
        if name in _SHELLS:
            self._shell(inner, span, state, context)
        elif name in SUBMITTERS:
            self._submit(inner, span, state, context)
        elif skipped and len(inner) == 1 and " " in inner[0].text.strip():
            is_typed = any(word.literal == "stuff" for word in words[:skipped])
            self._string_in_child([_typed(inner[0])] if is_typed else inner, state, context)
        else:
            self._start(inner, span, state, context)

    def _start(self, words: Sequence[EvaluatedWord], span: Span, state: State, context: Context) -> bool:
        """Runs the script of the project, or the one that was written before, that the first word names."""
        path = self._script(words[0], state)
        if path:
            self._enter(path, _child(state, path, words[1:]), span, state.script, context)
            return True
        written = self._walk.written.get(words[0].text.removeprefix("./"))
        if written is None:
            return False
        self._text(*written, _child(state, state.script, words[1:]), NOT_SUBMITTED, context)
        return True

    def feed(
        self,
        words: Sequence[EvaluatedWord],
        redirects: Sequence[Redirect],
        state: State,
        context: Context,
    ) -> None:
        """``sbatch <<EOF`` and its like: runs the here-document that a shell gets as its input."""
        body = next((item for item in redirects if item.body is not None and item.body_span is not None), None)
        if body is None or body.body_span is None or context.calls >= MAX_CALLS:
            return
        skipped = self._walk.unwrap(words)
        inner = words[skipped:]
        remote = _name(words[0]) in REMOTE
        shell = _name(inner[0]) in _SHELLS and len(inner) < 2 + (inner[-1].literal in ("-s", "-", "-l", "-e", "-x"))
        batch = SUBMITTERS.get(_name(inner[0]), "")
        if not (remote or shell or batch):
            return
        text = filled_in(body, state, self._expander)
        place = self._expander.locate(body.body_span)
        if batch:
            self._text(text, place, *_submitted(state, state.script, (), inner[1:], batch), context)
            return
        self._text(
            text, place, State(state.script) if remote else _child(state, state.script, ()), NOT_SUBMITTED, context
        )

    def _text(self, text: str, place: Span, state: State, submission: Submission, context: Context) -> None:
        """Runs the text of a here-document, which begins at ``place``, as a script."""
        if len(text) > MAX_STRING or context.calls >= MAX_CALLS:
            return
        from distlint.read.shell import read_shell

        facts, _ = read_shell(text, place.file)

        def locate(inner: Span) -> Span:
            if inner.file != place.file:
                return inner
            first = place.line - 1
            return inner._replace(line=inner.line + first, end_line=inner.end_line + first)

        state.variables.update(header_variables(facts, state.variables.keys(), submission))
        with self._walk.isolated(), self._expander.located(locate):
            self._run(facts.statements, state, context._replace(calls=context.calls + 1))

    def _shell(self, words: Sequence[EvaluatedWord], span: Span, state: State, context: Context) -> None:
        """``bash script arguments`` and ``bash -c string``."""
        for at, word in enumerate(words[1:], start=1):
            text = word.literal
            if text is not None and text.startswith(("-", "+")):
                if not text.startswith("--") and "c" in text and at + 1 < len(words):
                    self._string_in_child(words[at + 1 :], state, context)
                    return
                if text in _OPTIONS_WITH_VALUE:
                    return
                continue
            self._start(words[at:], span, state, context)
            return

    def _submit(self, words: Sequence[EvaluatedWord], span: Span, state: State, context: Context) -> None:
        """``sbatch [options] script arguments``; options given here win over the script's header."""
        prefix = SUBMITTERS[_name(words[0])]
        for at, word in enumerate(words[1:], start=1):
            path = self._script(word, state)
            written = self._walk.written.get(word.text.removeprefix("./"))
            wrap = self._wrapped_text(words, at)
            if not path and written is None and wrap is None:
                continue
            given = words[1:] if wrap is not None else words[1:at]
            child, submission = _submitted(state, path or state.script, words[at + 1 :], given, prefix)
            if path:
                self._walk.calls.append(ScriptCall(state.script, path, span, submitted=True))
                self._run_facts(self._walk.files[path], child, context, submission)
            elif written is not None:
                self._text(*written, child, submission, context)
            elif wrap is not None:
                child.variables.update(step_variables(given))
                with self._walk.isolated():
                    self.strings(wrap.texts, wrap.span, child, context)
            return

    def _wrapped_text(self, words: Sequence[EvaluatedWord], at: int) -> EvaluatedWord | None:
        """What ``--wrap`` says, where it is the word at an index."""
        word = words[at]
        if word.literal == "--wrap" and at + 1 < len(words):
            return words[at + 1]
        if not word.prefix.startswith("--wrap="):
            return None
        return EvaluatedWord(tuple(without_beginning(text, len("--wrap=")) for text in word.texts), word.span)

    def _enter(self, path: str, child: State, span: Span, caller: str, context: Context) -> None:
        self._walk.calls.append(ScriptCall(caller, path, span))
        self.run_file(path, child, context)

    def _script(self, word: EvaluatedWord, state: State) -> str:
        """The shell script of the project that a word names, or ``""``."""
        if len(word.texts) != 1:
            return ""
        whole = plain(word.texts[0])
        if whole is not None and "/" not in whole and "." not in whole:
            return ""
        return find_file(word.texts[0], state.directory, state.script, self._walk.files.__contains__)

    def source(self, words: Sequence[EvaluatedWord], state: State, context: Context) -> Decision:
        """``source script arguments``: runs a script in the same state."""
        if len(words) < 2 or context.calls >= MAX_CALLS:
            return UNDECIDED
        path = self._script(words[1], state)
        if path:
            self._walk.calls.append(ScriptCall(state.script, path, words[0].span, sourced=True))
            arguments, script = state.arguments, state.script
            if len(words) > 2:
                state.arguments = positional(words[2:])
            state.script = path
            statements = self._walk.files[path].statements
            self._isolated(statements, state, context._replace(calls=context.calls + 1))
            state.arguments, state.script = arguments, script
        return TRUE

    def alias(self, meaning: EvaluatedWord, command: Command, state: State, context: Context) -> Decision:
        """A command whose name is an alias: the words of the alias come in its place."""
        from distlint.read.shell import read_shell

        if context.calls >= MAX_CALLS:
            return UNDECIDED
        whole = shown(meaning.texts[0])
        facts, _ = read_shell(whole[:MAX_STRING], meaning.span.file)
        first = facts.statements[0] if len(facts.statements) == 1 else None
        if not isinstance(first, Command) or not first.words:
            return UNDECIDED
        words = tuple(replace(word, span=command.words[0].span) for word in first.words)
        merged = replace(
            command, words=(*words, *command.words[1:]), environment=(*command.environment, *first.environment)
        )
        return self._run((merged,), state, context._replace(calls=context.calls + 1))

    # Strings

    def evaluate(self, words: Sequence[EvaluatedWord], state: State, context: Context) -> Decision:
        """``eval``: runs its words, joined, in the same state."""
        if len(words) > 1:
            blank: Text = (Chunk(" "),)
            parts = [part for word in words[1:] for part in ((blank,), word.texts)]
            self.strings(combine(parts[1:]), words[1].span, state, context)
        return UNDECIDED

    def strings(self, texts: Sequence[Text], span: Span, state: State, context: Context) -> None:
        """Runs each of the texts that a string may be, as if they were the arms of a decision."""
        if len(texts) == 1:
            self._string(texts[0], span, state, context)
            return
        decision = self._walk.next_decision()
        ends = [state.copy() for _ in texts]
        for arm, (text, end) in enumerate(zip(texts, ends, strict=True)):
            self._string(text, span, end, context.in_arm(decision, arm))
        state.replace_by(ends[0])
        joined_into(state, ends[1:])

    def _string_in_child(self, words: Sequence[EvaluatedWord], state: State, context: Context) -> None:
        """``bash -c string name arguments``."""
        with self._walk.isolated():
            self.strings(words[0].texts, words[0].span, _child(state, state.script, words[2:]), context)

    def _string(self, text: Text, span: Span, state: State, context: Context) -> None:
        """Runs a text as commands; its unknown parts stay variables that nobody set, its unsure ones variables."""
        held = _held(text)
        whole = shown(tuple(piece for piece, _ in held))
        if not whole.strip() or len(whole) > MAX_STRING or context.calls >= MAX_CALLS:
            return
        from distlint.read.shell import read_shell

        nameless = [piece for piece in text if isinstance(piece, Hole) and not piece.name]
        if nameless:
            # they are all shown by one name: any of them may be many words
            state.variables[NAMELESS] = scalar((max(nameless, key=lambda piece: piece.many),))
        for piece, stands_for in held:
            if stands_for is not piece:
                state.variables[piece.name] = scalar((stands_for,))
            elif isinstance(piece, Hole) and piece.name and piece.name not in state.variables and not piece.outside:
                state.variables[piece.name] = scalar((piece,))
        facts, _ = read_shell(whole, span.file)
        with self._expander.located(_locator(text, span)):
            self._run(facts.statements, state, context._replace(calls=context.calls + 1))


_PLAIN = re.compile(r"[\w.,:/@%+-]+(?: [\w.,:/@%+-]+)*")
"""Text that a shell reads as words and nothing else, wherever outside of single quotes it stands."""


def _held(text: Text) -> list[tuple[Any, Piece]]:
    """The pieces of a text that is read again, each with what it stands for.

    A parameter of the caller (``$1``) gets a name of its own, as the text has other parameters; what is not sure becomes
    a variable, as the letters alone would not tell that they may be others.
    """
    quoted = any(isinstance(piece, Chunk) and "'" in piece.text for piece in text)
    held: list[tuple[Any, Piece]] = []
    for at, piece in enumerate(text):
        stand_in: Piece = piece
        if isinstance(piece, Hole) and piece.name and not piece.name.isidentifier():
            number = piece.name if piece.name.isdecimal() else "S"
            stand_in = Hole(f"ARGUMENT_{number}", piece.reason)
        elif (
            isinstance(piece, Chunk) and piece.sure < Confidence.CERTAIN and not quoted and _PLAIN.fullmatch(piece.text)
        ):
            stand_in = Hole(f"HELD_{at}", "stands for a text")
        held.append((stand_in, piece))
    return held


def _name(word: EvaluatedWord) -> str:
    """The last component of the program that a word names."""
    return (word.literal or "").rsplit("/", 1)[-1]


_ENTER = re.compile(r"\\r|\\n|\\015|\\012|\^M|\^J|\r")
"""How a text that is typed into a terminal spells the key that ends a line: ``screen -X stuff 'command ^M'``."""
_LAST_ENTER = re.compile(rf"(?:{_ENTER.pattern}|\s)+\Z")


def _typed(word: EvaluatedWord) -> EvaluatedWord:
    """A text as the shell in a terminal gets it."""
    return EvaluatedWord(tuple(map(_typed_text, word.texts)), word.span)


def _typed_text(text: Text) -> Text:
    pieces: list[Piece] = []
    for piece in text:
        last = pieces[-1] if pieces else None
        if isinstance(piece, Chunk) and isinstance(last, Chunk):
            # a backslash between quotes is a piece of its own
            pieces[-1] = last._replace(text=last.text + piece.text)
        else:
            pieces.append(piece)
    for at, piece in enumerate(pieces):
        if isinstance(piece, Chunk):
            written = _LAST_ENTER.sub("", piece.text) if at == len(pieces) - 1 else piece.text
            lines = _ENTER.sub("\n", written)
            # lines of the terminal are none of the file: with more than one, the place is the whole word's
            pieces[at] = piece._replace(text=lines, at=piece.at if lines == written else None)
    return tuple(pieces)


def _child(state: State, script: str, arguments: Sequence[EvaluatedWord]) -> State:
    """The state in which a child process begins."""
    return State(script, state.exported(), {}, positional(arguments), state.directory)


def _submitted(
    state: State, script: str, arguments: Sequence[EvaluatedWord], given: Sequence[EvaluatedWord], prefix: str
) -> tuple[State, Submission]:
    """The state in which a job begins that a command submits with these options, and what they say for its header."""
    child = _child(state, script, arguments)
    kept = {name: one for name, one in child.variables.items() if name not in JOB_VARIABLES}
    child.variables = {} if only_exported(given) else kept
    child.variables.update(exported_variables(given))
    return child, submission_of(given, state.variables, prefix)


def _locator(text: Text, span: Span) -> Callable[[Span], Span]:
    """Maps places in a string that is run to places in the file: exact for one literal, else the whole word."""
    pieces = [piece for piece in text if isinstance(piece, Hole) or (isinstance(piece, Chunk) and piece.text)]
    first = pieces[0] if len(pieces) == 1 else None
    at = first.at if isinstance(first, Chunk) else None
    if at is None:
        return lambda _: span
    file, line, column = at

    def shift(inner: Span) -> Span:
        if inner.file != span.file:
            return inner
        start = column + inner.column - 1 if inner.line == 1 else inner.column
        end = column + inner.end_column - 1 if inner.end_line == 1 else inner.end_column
        return Span(file, line + inner.line - 1, start, line + inner.end_line - 1, end)

    return shift
