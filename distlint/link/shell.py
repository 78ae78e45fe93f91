"""An abstract shell: walks a script's statements and says which commands it runs, with the values that can be known.

Nothing is executed. Branches that cannot be decided are both taken and joined; loops over a few words are unrolled;
scripts and functions of the project are followed. All work is bounded: beyond a budget the walk stops and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from distlint.link.shell_builtins import BUILTINS, JUMPS
from distlint.link.shell_commands import EvaluatedCommand, EvaluatedWord, Evaluation, Output
from distlint.link.shell_conditions import FALSE, TRUE, UNDECIDED, Decision, decide
from distlint.link.shell_expand import Expander
from distlint.link.shell_followed import MAX_FUNCTION_DEPTH, Follower
from distlint.link.shell_here_documents import files_of_tee, outputs_of
from distlint.link.shell_loops import assigned_names, in_loop, shifts, without_carried
from distlint.link.shell_setters import counted, lines_into, printed_into, read_into
from distlint.link.shell_state import Directory, State, Variable, join_states, scalar
from distlint.link.shell_substitution import submissions_in, substituted, surroundings
from distlint.link.shell_values import Hole, Text, assigned, literal, shown, without_beginning
from distlint.link.shell_variables import assign, assign_exported, evaluated_words
from distlint.link.shell_walk import Context, Seen, Walk, joined_into
from distlint.model.shell import (
    Arithmetic,
    Assignments,
    Carried,
    Case,
    Command,
    Expansion,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Redirect,
    Statement,
    While,
    Word,
)
from distlint.model.span import Span

MAX_UNROLLED = 8
"""A loop over more words than this is run once for all of them."""

MAX_ITERATIONS = 64
"""So many turns may nested loops take in all."""

_TESTS = frozenset({"[", "[[", "test", "(("})

# Commands that start nothing of interest, and those that are taken to succeed.
_QUIET = frozenset(
    {"echo", "printf", "cat", "date", "tee", "ls"}
    | {"mkdir", "rm", "cp", "mv", "ln", "touch"}
    | {"true", ":", "sleep", "wait", "kill"}
)
_SUCCEEDS = _QUIET | {"ulimit", "module", "conda", "pip", "pip3", "git", "chmod", "clear", "hostname", "which"}

Branch = tuple[tuple[Statement, ...], tuple[Statement, ...]]
LoopWords = list[tuple[tuple[Text, ...], Span]]


def evaluate_script(path: str, seen: Seen) -> Evaluation:
    """Walks one script as if a user started it."""
    walk = Walk(seen)
    _Evaluator(walk).run_file(path)
    return Evaluation(path, tuple(walk.commands), tuple(dict.fromkeys(walk.calls)), tuple(walk.notes))


def evaluate_carried(carried: Carried, path: str, seen: Seen) -> Evaluation:
    """Walks the commands in a file of another kind, as what reads that file starts them."""
    walk = Walk(seen)
    _Evaluator(walk).run_carried(carried, path)
    return Evaluation(path, tuple(walk.commands), tuple(dict.fromkeys(walk.calls)), tuple(walk.notes))


def evaluate_command(
    words: Sequence[EvaluatedWord],
    span: Span,
    seen: Seen,
    environment: Mapping[str, Variable] = MappingProxyType({}),
) -> Evaluation:
    """Walks one command whose words are evaluated already: what a program starts without a shell."""
    walk = Walk(seen)
    _Evaluator(walk).run_command(list(words), span, environment)
    return Evaluation(span.file, tuple(walk.commands), tuple(dict.fromkeys(walk.calls)), tuple(walk.notes))


def evaluate_text(
    text: Text,
    span: Span,
    seen: Seen,
    environment: Mapping[str, Variable] = MappingProxyType({}),
) -> Evaluation:
    """Walks a text that a program hands to a shell."""
    walk = Walk(seen)
    evaluator = _Evaluator(walk)
    with walk.isolated():
        state = State(span.file, dict(environment), arguments=())
        evaluator.follower.strings((text,), span, state, Context())
    return Evaluation(span.file, tuple(walk.commands), tuple(dict.fromkeys(walk.calls)), tuple(walk.notes))


class _Evaluator:
    """Runs statements; what they start is the follower's."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.expander = Expander(partial(substituted, walk))
        self.follower = Follower(walk, self.expander, self.block)

    def run_file(self, path: str) -> None:
        self.follower.run_file(path, State(path), Context())

    def run_command(self, words: list[EvaluatedWord], span: Span, environment: Mapping[str, Variable]) -> None:
        state = State(span.file, dict(environment), arguments=())
        with self.walk.isolated():
            self._record(words, span, state, Context(), ())
            self.follower.follow(words, span, state, Context())

    def run_carried(self, carried: Carried, path: str) -> None:
        state = State(path, arguments=())
        if carried.directory is not None:
            state.directory = Directory(carried.directory, "root")
        context = Context()
        if carried.around:
            words = [EvaluatedWord(self.expander.texts(word, state), word.span) for word in carried.around]
            self._record(words, words[0].span, state, context, ())
            context = context._replace(wrapped=self.walk.commands.pop())
        with self.walk.isolated():
            self.block(carried.facts.statements, state, context)

    def block(self, statements: Iterable[Statement], state: State, context: Context) -> Decision:
        """Runs statements in order; gives the exit status of the last one."""
        status = TRUE
        for statement in statements:
            if not state.alive:
                break
            if not self.walk.may_run(statement.span):
                state.alive = False
                break
            status = self._statement(statement, state, context)
        return status

    def _statement(self, statement: Statement, state: State, context: Context) -> Decision:
        if isinstance(statement, Command):
            return self._command(statement, state, context)
        if isinstance(statement, Assignments):
            for item in statement.items:
                for submission in submissions_in(item):
                    with self.walk.isolated():
                        self._statement(submission, state.copy(), context)
                assign(item, state, self.expander)
            return TRUE
        if isinstance(statement, If):
            return self._branches(statement.branches, statement.orelse, state, context)
        if isinstance(statement, Group):
            return self._group(statement, state, context)
        if isinstance(statement, Function):
            state.functions[statement.name] = statement
            return TRUE
        if isinstance(statement, Pipeline):
            self._pipeline(statement, state, context)
        elif isinstance(statement, For):
            self._for(statement, state, context)
        elif isinstance(statement, While):
            self._while(statement, state, context)
        else:
            self._case(statement, state, context)
        return UNDECIDED

    def _group(self, group: Group, state: State, context: Context) -> Decision:
        if group.background:
            context = context._replace(background=True)
        in_child = group.subshell or group.background
        return self.block(group.body, state.copy() if in_child else state, context)

    def _pipeline(self, pipeline: Pipeline, state: State, context: Context) -> None:
        context = context._replace(background=context.background or pipeline.background)
        written: tuple[Redirect, ...] = ()
        for command in pipeline.commands:
            if isinstance(command, Command):
                if written and command.words and command.words[0].literal == "tee":
                    targets = [Redirect(">", word) for word in files_of_tee(command)[:1]]
                    written_by = replace(command, words=(), redirects=(*written, *targets))
                    self._command(written_by, state.copy(), context)
                elif written and command.words:
                    words = evaluated_words(command, state, self.expander)
                    self.follower.feed(words, written, state.copy(), context)
                written = tuple(redirect for redirect in command.redirects if redirect.body is not None)
            self._statement(command, state.copy(), context)

    # Branches

    def _branches(
        self,
        branches: Sequence[Branch],
        orelse: tuple[Statement, ...],
        state: State,
        context: Context,
        decision: int = 0,
    ) -> Decision:
        """Runs the branches that may be taken; joins what they leave behind."""
        condition, body = branches[0]
        rest = branches[1:]
        outcome = self.block(condition, state, context)
        if not state.alive:
            return UNDECIDED
        if outcome.status is True:
            return self.block(body, state, context) if body else TRUE
        if outcome.status is False:
            if rest:
                return self._branches(rest, orelse, state, context, decision)
            return self.block(orelse, state, context) if orelse else FALSE
        decision = decision or self.walk.next_decision()
        other = state.copy()
        yes = self.block(body, state, context.in_arm(decision, len(branches))) if body else TRUE
        if rest:
            no = self._branches(rest, orelse, other, context, decision)
        elif orelse:
            no = self.block(orelse, other, context.in_arm(decision, 0))
        else:
            no = FALSE
        defaulted = outcome.if_empty is not None
        state.replace_by(join_states(state, other, defaulted=defaulted))
        return outcome.joined(yes, no)

    def _case(self, case: Case, state: State, context: Context) -> None:
        texts = self.expander.texts(case.subject, state)
        decision = self.walk.next_decision()
        ends: list[State] = []
        may_fall_through = True
        for arm, (patterns, body) in enumerate(case.branches, start=1):
            fits = [self._fits(texts, pattern, state) for pattern in patterns]
            if all(fit is False for fit in fits):
                continue
            branch = state.copy()
            self.block(body, branch, context if any(fits) and not ends else context.in_arm(decision, arm))
            ends.append(branch)
            if any(fits):
                may_fall_through = False
                break
        if may_fall_through:
            ends.append(state.copy())
        state.replace_by(ends[0])
        joined_into(state, ends[1:])

    def _fits(self, texts: Sequence[Text], pattern: Word, state: State) -> bool | None:
        if pattern.literal == "*":
            return True
        patterns = self.expander.texts(pattern, state)
        return decide([texts, [literal("==")], patterns], extended=True).status

    # Loops

    def _for(self, loop: For, state: State, context: Context) -> None:
        words = self._loop_words(loop, state)
        turns = max(len(words), 1) if words is not None else 0
        if words is None or turns > MAX_UNROLLED or self.walk.iterations * turns > MAX_ITERATIONS:
            if loop.name:
                reason = "goes over words that are not known" if words is None else "takes too many values"
                hole: Text = (Hole(loop.name, f"${loop.name} {reason}", sets=(loop.span,)),)
                self._unknown_loop(loop.body, state, context, {loop.name: hole}, loop.span)
            else:
                self._unknown_loop(loop.body, state, context)
            return
        self.walk.iterations *= turns
        left: list[State] = []
        self.walk.exits.append(left)
        for texts, span in words:
            state.variables[loop.name] = scalar(*(assigned(text, span) for text in texts), span=span)
            self.walk.exits.append([])
            self.block(loop.body, state, context)
            joined_into(state, self.walk.exits.pop())
            if not state.alive:
                break
            if left:
                context = context.guarded()
        self.walk.exits.pop()
        joined_into(state, left)
        self.walk.iterations //= turns

    def _loop_words(self, loop: For, state: State) -> LoopWords | None:
        """The words that a loop goes over, or ``None`` if we can't know how many there are."""
        if loop.words is None and not loop.name:
            return None
        listed = loop.words if loop.words is not None else (_all_arguments(loop.span),)
        found = [argument for word in listed for argument in self.expander.arguments(word, state)]
        if any(isinstance(piece, Hole) and piece.many for texts, _ in found for text in texts for piece in text):
            return None
        return found

    def _unknown_loop(
        self,
        body: Sequence[Statement],
        state: State,
        context: Context,
        given: Mapping[str, Text] | None = None,
        span: Span | None = None,
    ) -> None:
        """Runs a body once for all of its turns: what it sets is unknown where it is read before it is set."""
        before = state.copy()
        carried = {name: in_loop(name, state.variables.get(name)) for name in assigned_names(body)}
        state.variables.update(carried)
        for name, text in (given or {}).items():
            state.variables[name] = scalar(text, span=span)
        left: list[State] = []
        self.walk.exits += [left, left]
        self.block(body, state, context.guarded())
        del self.walk.exits[-2:]
        joined_into(state, left)
        for name in carried.keys() & state.variables.keys():
            state.variables[name] = without_carried(name, state.variables[name], before.variables.get(name))
        joined_into(state, [before])

    def _while(self, loop: While, state: State, context: Context) -> None:
        if state.arguments is not None and shifts(loop.body):
            state.arguments = None
        outcome = self.block(loop.condition, state.copy(), context.guarded())
        if outcome.status is not loop.negated:
            self._unknown_loop(loop.body, state, context)
            state.alive = True

    # Commands

    def _command(self, command: Command, state: State, context: Context) -> Decision:
        program = command.words[0].literal if command.words else None
        if program in _TESTS:
            return self._test(command, state)
        if program == "printf" and len(command.words) > 2 and command.words[1].literal == "-v":
            return printed_into(command, state, self.expander)
        if program in _QUIET and program not in state.functions and _changes_nothing(command):
            return TRUE
        words = evaluated_words(command, state, self.expander)
        local = state
        if command.environment and words:
            local = state.copy()
            for item in command.environment:
                assign_exported(item, local, self.expander)
        else:
            for item in command.environment:
                assign(item, state, self.expander)
        outputs = outputs_of(command, local, self.expander) if command.redirects else ()
        if command.background:
            context = context._replace(background=True)
        name = words[0].literal if words else None
        if name == "read":
            return read_into(command, words, state, local, self.expander)
        if name == "alias":
            self.walk.aliases.update(_aliases(words))
        elif name in self.walk.aliases and name not in state.functions:
            return self.follower.alias(self.walk.aliases[name], command, local, context)
        if name in ("mapfile", "readarray"):
            return lines_into(command, words, state, self.expander, surroundings(self.walk, state).read)
        if name == "let":
            for word in command.words[1:]:
                counted(shown(self.expander.texts(word, state)[0]), state, self.expander, word.span)
            return UNDECIDED
        own = self._own_command(name, words, state, local, context)
        if own is not None:
            return own
        span = self.expander.locate(command.span)
        if outputs or (words and name not in _QUIET):
            self._record(words, span, local, context, outputs)
        for output in outputs:
            self.walk.written[output.path.text.removeprefix("./")] = (output.text, output.span)
        if words:
            self.follower.follow(words, span, local, context)
            if command.redirects and not outputs:
                self.follower.feed(words, command.redirects, local, context)
        if name == "exec" and len(words) > 1:
            state.alive = False
        return TRUE if name in _SUCCEEDS else UNDECIDED

    def _own_command(
        self, name: str | None, words: Sequence[EvaluatedWord], state: State, local: State, context: Context
    ) -> Decision | None:
        """Runs a function or a builtin; ``None`` for any other command. ``local`` has what stands in front of it."""
        if name is None:
            return None
        if name in state.functions and context.functions < MAX_FUNCTION_DEPTH:
            return self.follower.call(state.functions[name], words, local, context)
        if name in BUILTINS:
            return BUILTINS[name](words, state)
        if name in JUMPS:
            JUMPS[name](self.walk, state)
            return UNDECIDED
        if name in ("source", "."):
            return self.follower.source(words, state, context)
        return self.follower.evaluate(words, state, context) if name == "eval" else None

    def _record(
        self, words: list[EvaluatedWord], span: Span, state: State, context: Context, outputs: tuple[Output, ...]
    ) -> None:
        self.walk.commands.append(
            EvaluatedCommand(
                tuple(words),
                span,
                state.script,
                dict(state.variables),
                state.directory,
                context.guards,
                context.branch,
                context.background,
                outputs,
                context.wrapped,
            )
        )

    def _test(self, command: Command, state: State) -> Decision:
        name = command.words[0].literal or ""
        if name == "((":
            part = command.words[1].parts[0] if len(command.words) > 1 and command.words[1].parts else None
            return (
                counted(part.expression, state, self.expander, command.span)
                if isinstance(part, Arithmetic)
                else UNDECIDED
            )
        operands = command.words[1:]
        last = {"[": "]", "[[": "]]"}.get(name)
        if last is not None:
            if not operands or operands[-1].literal != last:
                return UNDECIDED
            operands = operands[:-1]
        return decide([self.expander.texts(word, state) for word in operands], extended=name == "[[")


def _aliases(words: Sequence[EvaluatedWord]) -> Iterator[tuple[str, EvaluatedWord]]:
    """The names and texts of ``alias run='srun -n 4'``."""
    for word in words[1:]:
        name, equals, _ = word.prefix.partition("=")
        if equals and name.isidentifier() and len(word.texts) == 1:
            yield name, EvaluatedWord((without_beginning(word.texts[0], len(name) + 1),), word.span)


def _all_arguments(span: Span) -> Word:
    return Word((Expansion("@", quoted=True, span=span),), span, True)


def _changes_nothing(command: Command) -> bool:
    """Whether a command neither writes a here-document nor sets a variable while its words are expanded."""
    if any(redirect.body is not None for redirect in command.redirects):
        return False
    parts = [part for word in command.words for part in word.parts]
    return not any(isinstance(part, Expansion) and part.operator in ("=", ":=") for part in parts)
