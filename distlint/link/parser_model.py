"""What is known of a parser: its options, and how it takes the words of a command line."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from distlint.link.abstract import Abstract
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import Value, known

ParserId = tuple[str, int]
"""A parser is known by the file and the place of the call that makes it."""


@dataclass(slots=True)
class Option:
    """One option of a parser.

    Its flags as written (empty for a positional one), where its value goes, and how it is read.
    """

    dest: str
    flags: tuple[str, ...]
    span: Span
    default: Value
    kind: str = ""
    arity: Any = 1
    constant: Value | None = None
    choices: tuple[Any, ...] | None = None
    required: Value = field(default_factory=lambda: known(False))
    reader: Abstract | None = None
    """The function of the program that reads the text (``type=str2bool``), where ``kind`` is ``?``."""
    listed: bool = False
    """Whether a single word makes a list (``nargs=1``)."""
    sets: frozenset[str] = frozenset()
    """The attributes that an action of the program sets where the option is given, ``*`` for any (``argparse.Action.__call__``)."""
    gathers: str = ""
    """``append`` or ``extend`` where each time that it is given adds to a list."""
    function: tuple[str, int] = ("", -1)
    """The file and the function that define it."""
    always: bool = True
    """Whether that function defines it on every path: no branch or loop is around the call."""
    commands: frozenset[str] | None = frozenset({""})
    """The subcommands that have it, ``""`` for the parser itself; ``None`` where that can't be told."""
    exclusive: ParserId | None = None
    """The group of which a command line may give one option only, by the place of the call that makes it."""
    exclusive_required: bool = False
    """Whether a command line has to give one of that group."""


@dataclass(slots=True)
class Parser:
    """A parser with all its options.

    ``open`` says that it may have options that we can't see; ``known_only`` that it leaves unknown options alone
    (``parse_known_args``). ``allow_abbreviations`` is argparse's default. ``span`` is where it is made, ``parsed_at``
    where it is used.
    """

    span: Span
    options: list[Option] = field(default_factory=list)
    open: bool = False
    known_only: bool = False
    allow_abbreviations: bool = True
    file_prefix: str = ""
    """What words begin with that name files of further words, one on each line (``fromfile_prefix_chars``)."""
    parsed_at: list[Span] = field(default_factory=list)
    from_dataclasses: bool = False
    function: tuple[str, int] = ("", -1)
    """The file and the function that make it."""
    has_commands: bool = False
    """Whether it has subparsers, whose options are among ``options``."""
    commands: dict[str, str] | None = field(default_factory=dict)
    """The names of its subparsers and their aliases, with the name that options go by; ``None`` if some are not known."""
    open_beside: bool = False
    """Whether it may have options that we can't see even where we know the subcommand."""
    defaults: dict[str, Value] = field(default_factory=dict)
    """What ``set_defaults`` gives to names that no option has."""
    elsewhere: dict[str, str] = field(default_factory=dict)
    """Names that options have in other releases of a library only, with since or until when."""
    _by_flag: dict[str, Option] = field(default_factory=dict, repr=False)
    _indexed: int = 0

    def find(self, flag: str) -> Option | None:
        """The option that a word such as ``--flag`` means, by exact spelling or unique prefix."""
        for option in self.options[self._indexed :]:
            for spelling in option.flags:
                self._by_flag.setdefault(spelling, option)
        self._indexed = len(self.options)
        if flag in self._by_flag:
            return self._by_flag[flag]
        if not self.allow_abbreviations or not flag.startswith("--"):
            return None
        matches = [option for option in self.options if any(f.startswith(flag) for f in option.flags)]
        return matches[0] if len({option.dest for option in matches}) == 1 else None

    def by_dest(self, dest: str) -> Option | None:
        """The option whose value is stored under a name; the last definition wins."""
        for option in reversed(self.options):
            if option.dest == dest:
                return option
        return None
