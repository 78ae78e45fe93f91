"""What a shell script says, as data: words with their expansions, commands, and the control flow around them.

The reader makes these from the syntax tree; ``link.shell`` gives variables their values. Nothing here is ever run.

As in ``model.python`` the classes are plain rather than frozen and equal only to themselves: nobody changes or compares
them, and making each comparable class costs half a millisecond of every start.
"""

from __future__ import annotations

from dataclasses import field

from distlint.model.record import dataclass
from distlint.model.span import Span


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Literal:
    """Text that stands for itself, quotes and escapes already removed.

    ``line`` and ``column`` say where its first character stands; from there on the text is what the file says, so that
    a piece of it has an exact place too (an escaped character or the two sides of a continuation are literals of their
    own). ``quoted`` text is not a pattern and is not split.
    """

    text: str
    quoted: bool = False
    line: int = 0
    column: int = 0


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Expansion:
    """``$name``, ``${name[index]}`` or ``${name<operator><argument>}``.

    ``operator`` is empty or one of ``:-``, ``-``, ``:=``, ``=``, ``:+``, ``+``, ``:?``, ``?``, ``%``, ``%%``, ``#``,
    ``##``, ``/``, ``//``, ``:``, ``length`` (``${#name}``), ``indirect`` (``${!name}``), or another operator's text,
    which nobody evaluates; ``index`` is ``None``, ``"@"``, ``"*"`` or the text of a subscript. ``second`` is the
    replacement of ``/`` and ``//`` and the length of ``:``.
    """

    name: str
    operator: str = ""
    argument: Word | None = None
    index: str | None = None
    quoted: bool = False
    second: Word | None = None
    span: Span | None = None


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Arithmetic:
    """``$(( ... ))`` with its text; variables in it may have a ``$`` or not."""

    expression: str
    span: Span | None = None


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Substitution:
    """``$( ... )`` or backquotes: the text of the command, and its commands."""

    text: str
    commands: tuple[Statement, ...] = ()
    quoted: bool = False
    span: Span | None = None


Part = Literal | Expansion | Arithmetic | Substitution


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Word:
    """One word of a command: adjacent parts, with the span of the whole, quotes included.

    ``quoted`` is true when any part stands in quotes: an unquoted expansion is split into several words by the shell.
    """

    parts: tuple[Part, ...]
    span: Span
    quoted: bool = False

    @property
    def literal(self) -> str | None:
        """The word's text when it has no expansion, else ``None``."""
        if all(isinstance(part, Literal) for part in self.parts):
            return "".join(part.text for part in self.parts if isinstance(part, Literal))
        return None


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Assignment:
    """``name=value``, ``name+=value``, ``name=(a b)``, ``name[i]=value``.

    ``value`` is a word, a tuple of words (an array), or ``None`` for a bare ``export NAME`` or ``unset NAME`` (see
    ``unset``). ``local`` marks one behind ``local`` or ``declare``: inside a function it ends with the call.
    """

    name: str
    value: Word | tuple[Word, ...] | None
    span: Span
    append: bool = False
    exported: bool = False
    unset: bool = False
    index: str | None = None
    local: bool = False


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Redirect:
    """A redirection.

    Of a here-document ``body`` is the text, ``body_span`` its place, and ``expands`` says whether ``$x`` counts in it.
    """

    operator: str
    target: Word | None
    body: str | None = None
    body_span: Span | None = None
    body_word: Word | None = None
    expands: bool = True


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Command:
    """A simple command: assignments in front of it, its words, its redirections. ``background`` is a trailing ``&``."""

    words: tuple[Word, ...]
    span: Span
    environment: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    background: bool = False


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Pipeline:
    """Commands joined by ``|``."""

    commands: tuple[Statement, ...]
    span: Span
    background: bool = False


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class If:
    """``if``/``elif``/``else``: (condition, body) pairs in order, and the ``else`` body.

    Also ``a && b`` and ``a || b``.
    """

    branches: tuple[tuple[tuple[Statement, ...], tuple[Statement, ...]], ...]
    orelse: tuple[Statement, ...]
    span: Span


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class For:
    """``for name in words``; ``words`` is ``None`` for ``"$@"`` or a C-style loop, whose values we don't follow."""

    name: str
    words: tuple[Word, ...] | None
    body: tuple[Statement, ...]
    span: Span


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class While:
    """``while``, or ``until`` if ``negated``."""

    condition: tuple[Statement, ...]
    body: tuple[Statement, ...]
    span: Span
    negated: bool = False


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Case:
    """``case word in``: (patterns, body) pairs."""

    subject: Word
    branches: tuple[tuple[tuple[Word, ...], tuple[Statement, ...]], ...]
    span: Span


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Function:
    """A function definition."""

    name: str
    body: tuple[Statement, ...]
    span: Span


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Group:
    """``{ ...; }`` or a subshell ``( ... )``."""

    body: tuple[Statement, ...]
    span: Span
    subshell: bool = False
    background: bool = False
    redirects: tuple[Redirect, ...] = ()


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Assignments:
    """Assignments that stand alone, or behind ``export``, ``declare``, ``local``, ``readonly``, ``unset``."""

    items: tuple[Assignment, ...]
    span: Span


Statement = Command | Pipeline | If | For | While | Case | Function | Group | Assignments


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class ShellFacts:
    """A whole script. ``directives`` are scheduler header lines such as ``#SBATCH --nodes=4``: (prefix, words)."""

    statements: tuple[Statement, ...]
    directives: tuple[tuple[str, tuple[Word, ...]], ...] = field(default=())
    interpreter: str = ""


@dataclass(slots=True, eq=False, repr=False, match_args=False)
class Carried:
    """Commands that stand in a file of another kind, as a script of their own.

    ``kind`` is ``recipe`` (a target of a makefile), ``image`` (what a container starts), ``build`` (what making an
    image runs) or ``job`` (a step of a workflow, a task of a cluster). ``directory`` is the working directory below the
    root, ``None`` when unknown. ``around`` are words that stand for the cluster that runs it on several machines.
    ``on_host`` says that it runs in the host's own network, beside all others of the file that do.
    """

    facts: ShellFacts
    kind: str
    directory: str | None = None
    around: tuple[Word, ...] = ()
    on_host: bool = False
