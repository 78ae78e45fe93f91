"""An abstract shell: walks a script's statements and says which commands it runs, with the values that can be known.

Nothing is executed. Branches that cannot be decided are both taken and joined; loops over a few words are unrolled;
scripts and functions of the project are followed. All work is bounded: beyond a budget the walk stops and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from distlint.link.scheduler_header import header_variables
from distlint.link.shell_commands import EvaluatedCommand, EvaluatedWord, Evaluation, Output, ScriptCall
from distlint.link.shell_conditions import UNDECIDED, Decision, decide
from distlint.link.shell_expand import Expander
from distlint.link.shell_output import output_of
from distlint.link.shell_paths import directory_at, find_file
from distlint.link.shell_state import Content, Directory, State, Variable, join_states, scalar
from distlint.link.shell_values import Chunk, Hole, Piece, Text, assigned, literal, plain, shown
from distlint.model.shell import (
    Arithmetic,
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
    Redirect,
    ShellFacts,
    Statement,
    Substitution,
    While,
    Word,
)
from distlint.model.span import Span

MAX_STEPS = 20_000
MAX_COMMANDS = 600
MAX_CALLS = 8
MAX_FUNCTION_DEPTH = 10
MAX_UNROLLED = 8
MAX_ITERATIONS = 64
MAX_STRING = 20_000

_SHELLS = {"bash", "sh", "zsh", "dash", "ksh"}
_QUIET = {
    "echo",
    "printf",
    "true",
    ":",
    "mkdir",
    "rm",
    "cp",
    "mv",
    "ln",
    "touch",
    "sleep",
    "cat",
    "date",
    "tee",
    "wait",
    "kill",
    "ls",
}
_SUCCEEDS = _QUIET | {
    "cd",
    "pushd",
    "popd",
    "ulimit",
    "module",
    "conda",
    "pip",
    "pip3",
    "git",
    "chmod",
    "clear",
    "hostname",
    "which",
}
_TESTS = {"[", "[[", "test", "(("}


@dataclass(slots=True)
class _Flow:
    """Where control goes from here: states that left a loop or a function early."""

    left: list[State]


@dataclass(frozen=True, slots=True)
class _Context:
    """What is the same for all statements of a block."""

    guards: int = 0
    branch: tuple[int, ...] = ()
    background: bool = False
    wrapped: EvaluatedCommand | None = None
    functions: int = 0
    calls: int = 0


Unwrap = Callable[[Sequence[EvaluatedWord]], int]
"""How many words in front of a command only wrap it (``srun -n 4``, ``env A=1``); 0 for none."""


def evaluate_script(
    path: str,
    shell_files: Mapping[str, ShellFacts],
    exists: Callable[[str], bool],
    unwrap: Unwrap = lambda words: 0,
) -> Evaluation:
    """Walks one script as if a user started it.

    ``shell_files`` are all scripts of the project by path, ``exists`` tells whether the project has a file.
    ``unwrap`` finds the command inside a scheduler's command line, so that strings and scripts handed to it are
    followed.
    """
    evaluator = _Evaluator(shell_files, exists, unwrap)
    state = State(path)
    evaluator.run_file(path, state, _Context())
    return Evaluation(path, tuple(evaluator.commands), tuple(dict.fromkeys(evaluator.calls)), tuple(evaluator.notes))


class _Evaluator:
    def __init__(self, files: Mapping[str, ShellFacts], exists: Callable[[str], bool], unwrap: Unwrap) -> None:
        self.files = files
        self.exists = exists
        self.unwrap = unwrap
        self.commands: list[EvaluatedCommand] = []
        self.calls: list[ScriptCall] = []
        self.notes: list[tuple[Span, str]] = []
        self.expander = Expander(self._substitute)
        self._steps = 0
        self._decisions = 0
        self._iterations = 1
        self._condition = UNDECIDED
        self._loops: list[_Flow] = []
        self._returns: list[_Flow] = []

    # Files and strings

    def run_file(self, path: str, state: State, context: _Context) -> None:
        """Runs a script in a state of its own."""
        facts = self.files[path]
        for name, variable in header_variables(facts, state.variables.keys()).items():
            state.variables[name] = variable
        self._isolated(facts.statements, state, context)

    def _isolated(self, statements: Sequence[Statement], state: State, context: _Context) -> None:
        """Runs statements whose ``break`` and ``return`` do not concern what is around them."""
        loops, returns, locate = self._loops, self._returns, self.expander.locate
        self._loops, self._returns = [], [_Flow([])]
        self._block(statements, state, context)
        self._loops, self._returns, self.expander.locate = loops, returns, locate

    def _string(self, text: Text, span: Span, state: State, context: _Context) -> None:
        """Runs the text of ``eval`` or ``bash -c``; its unknown parts stay variables that nobody set."""
        whole = shown(text)
        if not whole.strip() or len(whole) > MAX_STRING or context.calls >= MAX_CALLS:
            return
        from distlint.read.shell import read_shell

        for piece in text:
            if isinstance(piece, Hole) and piece.name and piece.name not in state.variables and not piece.outside:
                state.variables[piece.name] = scalar((piece,))
        facts, _ = read_shell(whole, span.file)
        locate, text_span = self.expander.locate, _locator(text, span)
        self.expander.locate = text_span
        self._block(facts.statements, state, replace(context, calls=context.calls + 1))
        self.expander.locate = locate

    # Statements

    def _block(self, statements: Iterable[Statement], state: State, context: _Context) -> Decision:
        """Runs statements in order; gives the exit status of the last one."""
        status = Decision(True)
        for statement in statements:
            if not state.alive:
                break
            self._steps += 1
            if self._steps > MAX_STEPS or len(self.commands) >= MAX_COMMANDS:
                if not self.notes:
                    self.notes.append((statement.span, "the script is too long to follow to its end"))
                state.alive = False
                break
            status = self._statement(statement, state, context)
        return status

    def _statement(self, statement: Statement, state: State, context: _Context) -> Decision:
        if isinstance(statement, Assignments):
            for item in statement.items:
                self._assign(item, state)
            return Decision(True)
        if isinstance(statement, Command):
            return self._command(statement, state, context)
        if isinstance(statement, If):
            return self._if(statement.branches, statement.orelse, state, context)
        if isinstance(statement, Pipeline):
            self._pipeline(statement, state, context)
            return UNDECIDED
        if isinstance(statement, Group):
            return self._group(statement, state, context)
        if isinstance(statement, For):
            self._for(statement, state, context)
        elif isinstance(statement, While):
            self._while(statement, state, context)
        elif isinstance(statement, Case):
            self._case(statement, state, context)
        else:
            state.functions[statement.name] = statement
        return Decision(True) if isinstance(statement, Function) else UNDECIDED

    def _group(self, group: Group, state: State, context: _Context) -> Decision:
        if group.background:
            context = replace(context, background=True)
        if not group.subshell and not group.background:
            return self._block(group.body, state, context)
        return self._block(group.body, state.copy(), context)

    def _pipeline(self, pipeline: Pipeline, state: State, context: _Context) -> None:
        context = replace(context, background=context.background or pipeline.background)
        written: tuple[Redirect, ...] = ()
        for command in pipeline.commands:
            if isinstance(command, Command):
                if written and command.words and command.words[0].literal == "tee":
                    self._tee(command, written, state, context)
                written = tuple(redirect for redirect in command.redirects if redirect.body is not None)
            self._statement(command, state.copy(), context)

    def _tee(self, command: Command, written: tuple[Redirect, ...], state: State, context: _Context) -> None:
        targets = tuple(Redirect(">", word) for word in command.words[1:] if not (word.literal or "").startswith("-"))
        self._command(replace(command, words=(), redirects=(*written, *targets[:1])), state.copy(), context)

    # Branches

    def _next_decision(self) -> int:
        self._decisions += 1
        return self._decisions

    def _if(
        self,
        branches: Sequence[tuple[tuple[Statement, ...], tuple[Statement, ...]]],
        orelse: tuple[Statement, ...],
        state: State,
        context: _Context,
        decision: int = 0,
    ) -> Decision:
        """Runs the branches that may be taken; joins what they leave behind."""
        condition, body = branches[0]
        outcome = self._block(condition, state, context)
        if not state.alive:
            return UNDECIDED
        rest = branches[1:]
        if outcome.status is True:
            return self._block(body, state, context) if body else Decision(True)
        if outcome.status is False:
            if rest:
                return self._if(rest, orelse, state, context, decision)
            return self._block(orelse, state, context) if orelse else Decision(not body and False)
        decision = decision or self._next_decision()
        arm = len(branches)
        other = state.copy()
        yes = self._block(body, state, _guarded(context, decision, arm)) if body else Decision(True)
        if rest:
            no = self._if(rest, orelse, other, _guarded(context, decision, arm - 1, more=False), decision)
        elif orelse:
            no = self._block(orelse, other, _guarded(context, decision, 0))
        else:
            no = Decision(False)
        default = None if outcome.if_empty is None else state if outcome.if_empty else other
        state.replace_by(join_states(state, other, defaults_in=default))
        return _joined_decision(outcome, yes, no)

    def _case(self, case: Case, state: State, context: _Context) -> None:
        texts = self.expander.texts(case.subject, state)
        decision = self._next_decision()
        ends: list[State] = []
        open_end = True
        for arm, (patterns, body) in enumerate(case.branches, start=1):
            fits = [self._fits(texts, pattern, state) for pattern in patterns]
            if all(fit is False for fit in fits):
                continue
            certain = any(fits) and not ends
            branch = state.copy()
            self._block(body, branch, context if certain else _guarded(context, decision, min(arm, 99)))
            ends.append(branch)
            if any(fits):
                open_end = False
                break
        if open_end:
            ends.append(state.copy())
        joined = ends[0]
        for end in ends[1:]:
            joined = join_states(joined, end)
        state.replace_by(joined)

    def _fits(self, texts: Sequence[Text], pattern: Word, state: State) -> bool | None:
        if pattern.literal == "*":
            return True
        patterns = self.expander.texts(pattern, state)
        outcome = decide([texts, [literal("==")], patterns], extended=True)
        return outcome.status

    # Loops

    def _for(self, loop: For, state: State, context: _Context) -> None:
        words = self._loop_words(loop, state)
        if words is None or len(words) > MAX_UNROLLED or self._iterations * max(len(words), 1) > MAX_ITERATIONS:
            self._unknown_loop(loop.body, state, context, loop.name, words, loop.span)
            return
        self._iterations *= max(len(words), 1)
        flow = _Flow([])
        self._loops.append(flow)
        for texts, span in words:
            state.variables[loop.name] = scalar(*(assigned(text, span) for text in texts), span=span)
            skipped = _Flow([])
            self._loops.append(skipped)
            self._block(loop.body, state, context)
            self._loops.pop()
            for other in skipped.left:
                state.replace_by(join_states(state, other))
            if not state.alive:
                break
            if flow.left:
                context = replace(context, guards=context.guards + 1)
        self._loops.pop()
        for other in flow.left:
            state.replace_by(join_states(state, other))
        self._iterations //= max(len(words), 1)

    def _loop_words(self, loop: For, state: State) -> list[tuple[tuple[Text, ...], Span]] | None:
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
        context: _Context,
        name: str = "",
        words: Sequence[tuple[tuple[Text, ...], Span]] | None = None,
        span: Span | None = None,
    ) -> None:
        """Runs a body once for all of its iterations: what it sets is unknown where it is read before it is set."""
        before = state.copy()
        for changed in _assigned_names(body):
            state.variables[changed] = _widened(changed, state.variables.get(changed))
        if name:
            reason = "goes over words that are not known" if words is None else "takes too many values"
            hole: Text = (Hole(name, f"${name} {reason}", sets=(span,) if span is not None else ()),)
            state.variables[name] = scalar(hole, span=span)
        flow = _Flow([])
        self._loops += [flow, flow]
        self._block(body, state, replace(context, guards=context.guards + 1))
        del self._loops[-2:]
        for other in [*flow.left, before]:
            state.replace_by(join_states(state, other))

    def _while(self, loop: While, state: State, context: _Context) -> None:
        shifts = any(isinstance(s, Command) and s.words and s.words[0].literal == "shift" for s in _nested(loop.body))
        if shifts and state.arguments is not None:
            state.arguments = None
        before = state.copy()
        outcome = self._block(loop.condition, before, replace(context, guards=context.guards + 1))
        if outcome.status is False:
            return
        self._unknown_loop(loop.body, state, context)
        state.alive = True

    # Assignments

    def _assign(self, item: Assignment, state: State) -> None:
        if not item.name:
            return
        span = self.expander.locate(item.span)
        previous = state.variables.get(item.name)
        exported = item.exported or state.export_all or (previous is not None and previous.exported)
        if item.unset:
            state.variables[item.name] = Variable((Content((), unset=True),), False, span)
        elif item.value is None:
            if item.exported and previous is not None:
                state.variables[item.name] = replace(previous, exported=True)
        elif isinstance(item.value, tuple):
            items = tuple(
                self._element(texts, span) for word in item.value for texts, _ in self.expander.arguments(word, state)
            )
            if item.append and previous is not None:
                options = tuple(Content((*option.items, *items), True) for option in previous.options)
            else:
                options = (Content(items, True),)
            state.variables[item.name] = Variable(options, exported, span)
        elif item.index is not None:
            self._assign_element(item, state, span, exported=exported)
        else:
            texts = self.expander.texts(item.value, state)
            if item.append:
                head = previous.texts if previous is not None else ((),)
                texts = tuple((*first, *second) for first in head for second in texts)[:8]
                if previous is not None and any(option.array for option in previous.options):
                    texts = ((Hole(item.name, "an array and a text"),),)
            state.variables[item.name] = scalar(*(assigned(text, span) for text in texts), exported=exported, span=span)

    def _element(self, texts: tuple[Text, ...], span: Span) -> Text:
        if len(texts) == 1:
            return assigned(texts[0], span, element=True)
        many = any(isinstance(piece, Hole) and piece.many for text in texts for piece in text)
        return (Hole("", "differs by path", sets=(span,), many=many),)

    def _assign_element(self, item: Assignment, state: State, span: Span, *, exported: bool) -> None:
        previous = state.variables.get(item.name)
        assert isinstance(item.value, Word)
        texts = self.expander.texts(item.value, state)
        content: Content | None = None
        if item.index is not None and item.index.isdecimal() and len(texts) == 1:
            old = previous.options[0] if previous is not None and len(previous.options) == 1 else Content((), True)
            at = int(item.index[:6])
            if at < len(old.items):
                content = Content((*old.items[:at], assigned(texts[0], span), *old.items[at + 1 :]), True)
            elif at == len(old.items):
                content = Content((*old.items, assigned(texts[0], span)), True)
        if content is None:
            content = Content(((Hole(item.name, "its elements are not followed", sets=(span,), many=True),),), True)
        state.variables[item.name] = Variable((content,), exported, span)

    # Commands

    def _command(self, command: Command, state: State, context: _Context) -> Decision:
        if command.words and command.words[0].literal in _TESTS:
            return self._test(command, state)
        words = [EvaluatedWord(*found) for word in command.words for found in self.expander.arguments(word, state)]
        local = state
        if command.environment and words:
            local = state.copy()
            for item in command.environment:
                self._assign(replace(item, exported=True), local)
        elif command.environment:
            for item in command.environment:
                self._assign(item, state)
        name = words[0].literal if words else None
        outputs = self._outputs(command, local) if command.redirects else ()
        if command.background:
            context = replace(context, background=True)
        if name is not None and name in state.functions and context.functions < MAX_FUNCTION_DEPTH:
            return self._call_function(state.functions[name], words, state if local is state else local, context)
        builtin = _BUILTINS.get(name) if name is not None else None
        if builtin is not None:
            return builtin(self, words, state, context)
        span = self.expander.locate(command.span)
        if outputs or (words and name not in _QUIET):
            self._record(words, span, local, context, outputs)
        if words:
            self._follow(words, span, local, state, context)
        if name == "exec" and len(words) > 1:
            state.alive = False
        return Decision(True) if name in _SUCCEEDS else UNDECIDED

    def _record(
        self, words: list[EvaluatedWord], span: Span, state: State, context: _Context, outputs: tuple[Output, ...]
    ) -> None:
        self.commands.append(
            EvaluatedCommand(
                tuple(words),
                span,
                state.script,
                dict(state.variables),
                replace(state.directory),
                context.guards,
                context.branch,
                context.background,
                outputs,
                context.wrapped,
            )
        )

    def _test(self, command: Command, state: State) -> Decision:
        name = command.words[0].literal
        if name == "((":
            part = command.words[1].parts[0] if len(command.words) > 1 and command.words[1].parts else None
            if not isinstance(part, Arithmetic):
                return UNDECIDED
            whole = plain(self.expander.arithmetic(part.expression, state, command.span))
            return Decision(int(whole) != 0) if whole is not None else UNDECIDED
        last = {"[": "]", "[[": "]]"}.get(name or "")
        operands = command.words[1:]
        if last is not None:
            if not operands or operands[-1].literal != last:
                return UNDECIDED
            operands = operands[:-1]
        return decide([self.expander.texts(word, state) for word in operands], extended=name == "[[")

    def _outputs(self, command: Command, state: State) -> tuple[Output, ...]:
        bodies = [
            redirect for redirect in command.redirects if redirect.body is not None and redirect.body_span is not None
        ]
        targets = [redirect for redirect in command.redirects if redirect.operator.strip("1") in (">", ">>", ">|")]
        if not bodies:
            return ()
        target = targets[0].target if targets else None
        if target is None and command.words and command.words[0].literal == "tee":
            target = next((word for word in command.words[1:] if not (word.literal or "").startswith("-")), None)
        if target is None:
            return ()
        found = self.expander.arguments(target, state)
        if len(found) != 1:
            return ()
        path = EvaluatedWord(*found[0])
        body = bodies[-1]
        text = body.body or ""
        if body.body_word is not None:
            texts = self.expander.texts(body.body_word, state)
            text = shown(texts[0]) if len(texts) == 1 else _undecided_text(body.body_word, self.expander, state)
        if body.operator.endswith("<<-"):
            text = "\n".join(line.lstrip("\t") for line in text.split("\n"))
        span = self.expander.locate(body.body_span) if body.body_span is not None else path.span
        directory = directory_at(path.texts[0], state.directory)
        return (Output(path, directory.known or "", text, body.body or "", span),)

    def _call_function(
        self, function: Function, words: Sequence[EvaluatedWord], state: State, context: _Context
    ) -> Decision:
        arguments, state.arguments = state.arguments, _positional(words[1:])
        flow = _Flow([])
        self._returns.append(flow)
        status = self._block(function.body, state, replace(context, functions=context.functions + 1))
        self._returns.pop()
        for other in flow.left:
            state.replace_by(join_states(state, other))
        state.arguments = arguments
        return status

    def _follow(self, words: list[EvaluatedWord], span: Span, local: State, state: State, context: _Context) -> None:
        """Runs what a command starts: another script of the project, or a string handed to a shell."""
        skipped = self.unwrap(words)
        inner = words[skipped:]
        if not inner or context.calls >= MAX_CALLS:
            return
        wrapped = self.commands[-1] if skipped and self.commands else context.wrapped
        context = replace(context, wrapped=wrapped, calls=context.calls + 1)
        name = (inner[0].literal or "").rsplit("/", 1)[-1]
        if name in _SHELLS:
            self._shell(inner, span, local, context)
        elif name == "sbatch":
            self._submit(inner, span, local, context)
        else:
            path = self._script_of(inner[0], local)
            if path:
                self._call(path, inner[1:], span, local, context)

    def _shell(self, words: list[EvaluatedWord], span: Span, state: State, context: _Context) -> None:
        for at, word in enumerate(words[1:], start=1):
            literal = word.literal
            if literal is not None and literal.startswith(("-", "+")):
                if not literal.startswith("--") and "c" in literal and at + 1 < len(words):
                    self._shell_string(words[at + 1 :], state, context)
                    return
                if literal in ("-o", "-O", "+o", "+O", "--rcfile", "--init-file"):
                    return
                continue
            path = self._script_of(word, state)
            if path:
                self._call(path, words[at + 1 :], span, state, context)
            return

    def _shell_string(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> None:
        child = _child(state, state.script, words[2:])
        if len(words[0].texts) == 1:
            loops, returns = self._loops, self._returns
            self._loops, self._returns = [], [_Flow([])]
            self._string(words[0].texts[0], words[0].span, child, context)
            self._loops, self._returns = loops, returns

    def _submit(self, words: list[EvaluatedWord], span: Span, state: State, context: _Context) -> None:
        """``sbatch [options] script arguments``; options given here win over the script's header."""
        for at, word in enumerate(words[1:], start=1):
            path = self._script_of(word, state)
            if path:
                child = _child(state, path, words[at + 1 :])
                child.variables.update(header_variables(words[1:at], ()))
                self._enter(path, child, span, state.script, context)
                return

    def _script_of(self, word: EvaluatedWord, state: State) -> str:
        if len(word.texts) != 1:
            return ""
        whole = plain(word.texts[0])
        if whole is not None and "/" not in whole and "." not in whole:
            return ""
        return find_file(word.texts[0], state.directory, state.script, self.files.__contains__)

    def _call(self, path: str, arguments: Sequence[EvaluatedWord], span: Span, state: State, context: _Context) -> None:
        self._enter(path, _child(state, path, arguments), span, state.script, context)

    def _enter(self, path: str, child: State, span: Span, caller: str, context: _Context) -> None:
        self.calls.append(ScriptCall(caller, path, span))
        self.run_file(path, child, context)

    # Builtins

    def _cd(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        operands = [word for word in words[1:] if not (word.literal or "").startswith("-")]
        if len(operands) == 1 and len(operands[0].texts) == 1:
            state.directory = directory_at(operands[0].texts[0], state.directory)
        else:
            state.directory = Directory("", "unknown")
        return Decision(True)

    def _popd(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        state.directory = Directory("", "unknown")
        return Decision(True)

    def _source(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        if len(words) < 2 or context.calls >= MAX_CALLS:
            return UNDECIDED
        path = self._script_of(words[1], state)
        if path:
            self.calls.append(ScriptCall(state.script, path, words[0].span, sourced=True))
            arguments, script = state.arguments, state.script
            if len(words) > 2:
                state.arguments = _positional(words[2:])
            state.script = path
            self._isolated(self.files[path].statements, state, replace(context, calls=context.calls + 1))
            state.arguments, state.script = arguments, script
        return Decision(True)

    def _eval(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        if all(len(word.texts) == 1 for word in words[1:]) and len(words) > 1:
            pieces: list[Piece] = []
            for at, word in enumerate(words[1:]):
                pieces += [*((Chunk(" "),) if at else ()), *word.texts[0]]
            self._string(tuple(pieces), words[1].span, state, context)
        return UNDECIDED

    def _set(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        for at, word in enumerate(words[1:], start=1):
            literal = word.literal
            if literal == "--":
                state.arguments = _positional(words[at + 1 :])
                break
            if literal is None or not literal.startswith(("-", "+")):
                if words[at - 1].literal not in ("-o", "+o"):
                    state.arguments = _positional(words[at:])
                    break
                state.export_all = state.export_all or (literal == "allexport" and words[at - 1].literal == "-o")
            elif "a" in literal and not literal.startswith("--"):
                state.export_all = literal.startswith("-")
        return Decision(True)

    def _shift(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        count = words[1].literal if len(words) > 1 else "1"
        arguments = state.arguments
        if arguments is not None and count is not None and count.isdecimal() and not _is_open(arguments):
            state.arguments = arguments[int(count[:6]) :]
        else:
            state.arguments = None
        return Decision(True)

    def _read(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        for word in words[1:]:
            name = word.literal
            if name is not None and name.isidentifier():
                state.variables[name] = scalar(
                    (Hole(name, f"${name} is read from input", sets=(word.span,)),), span=word.span
                )
        return UNDECIDED

    def _exit(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        state.alive = False
        return UNDECIDED

    def _return(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        if self._returns:
            self._returns[-1].left.append(state.copy())
        state.alive = False
        return UNDECIDED

    def _break(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        if len(self._loops) >= 2:
            self._loops[-2].left.append(state.copy())
            state.alive = False
        return UNDECIDED

    def _continue(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        if self._loops:
            self._loops[-1].left.append(state.copy())
            state.alive = False
        return UNDECIDED

    def _true(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        return Decision(True)

    def _false(self, words: Sequence[EvaluatedWord], state: State, context: _Context) -> Decision:
        return Decision(False)

    # Substitutions

    def _substitute(self, part: Substitution, state: State) -> Text:
        """What a command substitution prints; a hole when that depends on anything but the script."""
        self._steps += 1
        found = self._printed(part.commands, state.copy()) if self._steps < MAX_STEPS else None
        if found is not None:
            return found
        return (Hole(_hole_name(part.text), f"depends on the output of `{' '.join(part.text.split())[:60]}`"),)

    def _printed(self, statements: Sequence[Statement], state: State) -> Text | None:
        """The output of statements of which only the last one prints: ``cd dir && pwd``."""
        if not statements:
            return None
        for statement in statements[:-1]:
            if not self._moves(statement, state):
                return None
        last = statements[-1]
        if isinstance(last, If) and len(last.branches) == 1 and not last.orelse:
            condition, body = last.branches[0]
            if len(condition) == 1 and self._moves(condition[0], state):
                return self._printed(body, state)
            return None
        if isinstance(last, Command):
            return self._printed_command(last, state, None)
        if isinstance(last, Pipeline) and all(isinstance(command, Command) for command in last.commands):
            text: Text | None = None
            for at, command in enumerate(last.commands):
                silent = at == 0 and isinstance(command, Command) and any(w.literal == "-n" for w in command.words)
                if not isinstance(command, Command) or silent:
                    return None
                text = self._printed_command(command, state, text)
                if text is None:
                    return None
            return text
        return None

    def _moves(self, statement: Statement, state: State) -> bool:
        """Runs ``cd`` and its like; false for a statement that may print."""
        if (
            not isinstance(statement, Command)
            or not statement.words
            or statement.words[0].literal not in ("cd", "pushd")
        ):
            return False
        self._command(statement, state, _Context())
        return True

    def _printed_command(self, command: Command, state: State, stdin: Text | None) -> Text | None:
        if command.words and command.words[0].literal == "command" and len(command.words) == 3:
            command = replace(command, words=(_word("which", command.span), *command.words[2:]))
        words = [text for word in command.words for text in self.expander.arguments(word, state)]
        if any(len(texts) != 1 for texts, _ in words):
            return None
        here = next((redirect for redirect in command.redirects if redirect.operator == "<<<"), None)
        if here is not None and here.target is not None:
            given = self.expander.texts(here.target, state)
            stdin = given[0] if len(given) == 1 else None
        return output_of([texts[0] for texts, _ in words], state.directory, stdin)


_Builtin = Callable[[_Evaluator, Sequence[EvaluatedWord], State, _Context], Decision]

_BUILTINS: dict[str, _Builtin] = {
    "cd": _Evaluator._cd,
    "pushd": _Evaluator._cd,
    "popd": _Evaluator._popd,
    "source": _Evaluator._source,
    ".": _Evaluator._source,
    "eval": _Evaluator._eval,
    "set": _Evaluator._set,
    "shift": _Evaluator._shift,
    "read": _Evaluator._read,
    "mapfile": _Evaluator._read,
    "readarray": _Evaluator._read,
    "exit": _Evaluator._exit,
    "return": _Evaluator._return,
    "break": _Evaluator._break,
    "continue": _Evaluator._continue,
    "true": _Evaluator._true,
    ":": _Evaluator._true,
    "false": _Evaluator._false,
}


def _guarded(context: _Context, decision: int, arm: int, *, more: bool = True) -> _Context:
    if not more:
        return context
    return replace(context, guards=context.guards + 1, branch=(*context.branch, decision * 100 + min(arm, 99)))


def _joined_decision(outcome: Decision, yes: Decision, no: Decision) -> Decision:
    if yes.status is not None and yes.status == no.status:
        return Decision(yes.status)
    if outcome.if_empty is not None and yes.status is True and no.status is False:
        return outcome
    if outcome.if_empty is not None and yes.status is False and no.status is True:
        return outcome.negated()
    return UNDECIDED


def _all_arguments(span: Span) -> Word:
    return Word((Expansion("@", quoted=True, span=span),), span, True)


def _word(text: str, span: Span) -> Word:
    return Word((Literal(text),), span)


def _positional(words: Sequence[EvaluatedWord]) -> tuple[Text, ...]:
    return tuple(
        assigned(word.texts[0], word.span, element=True)
        if len(word.texts) == 1
        else (Hole("", "differs by path", (word.span,), many=word.is_open),)
        for word in words
    )


def _is_open(arguments: Sequence[Text]) -> bool:
    return any(isinstance(piece, Hole) and piece.many for text in arguments for piece in text)


def _child(state: State, script: str, arguments: Sequence[EvaluatedWord]) -> State:
    return State(script, state.exported(), {}, _positional(arguments), replace(state.directory))


def _hole_name(command: str) -> str:
    word = command.split(maxsplit=1)[0] if command.split() else ""
    name = "".join(char if char.isalnum() else "_" for char in word.upper())[:30]
    return f"OUTPUT_OF_{name}"


def _widened(name: str, variable: Variable | None) -> Variable:
    exported = variable.exported if variable is not None else False
    array = variable is not None and any(option.array for option in variable.options)
    hole: Text = (Hole(name, f"${name} is set in a loop", many=array),)
    return Variable((Content((hole,), array),), exported, variable.span if variable is not None else None)


def _nested(statements: Sequence[Statement]) -> Iterable[Statement]:
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


def _assigned_names(body: Sequence[Statement]) -> list[str]:
    found: dict[str, None] = {}
    for statement in _nested(body):
        if isinstance(statement, Assignments):
            for item in statement.items:
                found[item.name] = None
        elif isinstance(statement, For) and statement.name:
            found[statement.name] = None
    return [name for name in found if name]


def _undecided_text(word: Word, expander: Expander, state: State) -> str:
    """A here-document in which a variable has several values: each part on its own, a hole where it is undecided."""
    parts = []
    for part in word.parts:
        texts = expander.texts(replace(word, parts=(part,)), state)
        name = part.name if isinstance(part, Expansion) else "UNKNOWN"
        parts.append(shown(texts[0]) if len(texts) == 1 else f"${{{name}}}")
    return "".join(parts)


def _locator(text: Text, span: Span) -> Callable[[Span], Span]:
    """Maps places in a string that is run to places in the file: exact for one literal, else the whole word."""
    pieces = [piece for piece in text if isinstance(piece, Hole) or (isinstance(piece, Chunk) and piece.text)]
    first = pieces[0] if len(pieces) == 1 else None
    at = first.at if isinstance(first, Chunk) else None
    if at is None:
        return lambda inner: span
    file, line, column = at

    def shift(inner: Span) -> Span:
        if inner.file != span.file:
            return inner
        start = column + inner.column - 1 if inner.line == 1 else inner.column
        end = column + inner.end_column - 1 if inner.end_line == 1 else inner.end_column
        return Span(file, line + inner.line - 1, start, line + inner.end_line - 1, end)

    return shift
