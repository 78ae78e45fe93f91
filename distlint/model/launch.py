"""Command lines that start a job, and the runs that come of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from distlint.model.document import Document
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.model.value import Value, absent

if TYPE_CHECKING:
    from distlint.model.finding import Note


class Argument(NamedTuple):
    """One word handed to the script or the launcher, after expansion.

    ``text`` is the word with ``${NAME}`` for what is not known; ``file`` the project file that it names, or ``""``. A
    word that is known up to a ``=`` only is given as two arguments, as option parsers take both forms.
    """

    value: Value
    span: Span
    text: str = ""
    file: str = ""


class LaunchOption(NamedTuple):
    """A launcher option that was given: its flag as written, its value (``True`` for a switch) and where it stands."""

    flag: str
    value: Value
    span: Span


_OF_CALLER = ("${@}", "${*}")
"""What a script hands on of the words that it is given itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """One command that starts processes; equal only to itself.

    ``launcher`` is the name in its description (``python`` for a plain interpreter). ``script`` is the script as
    written, ``script_file`` the project file that it names, or ``""``. ``arguments`` are the script's own. ``options``
    maps canonical names (``OptionSpec.dest``) to what was given. ``environment`` holds what is exported to the
    processes (a value that is absent was unset). ``directory`` is the working directory relative to the root, ``""``
    for the root, or ``None`` when unknown. ``outer`` is the scheduler around it (``srun torchrun ...``). ``guards``
    counts the branches and loops around the command: a launch with guards may not happen.
    """

    launcher: str
    span: Span
    script: Value
    script_file: str
    arguments: tuple[Argument, ...]
    options: Mapping[str, LaunchOption]
    nodes: Value
    processes_per_node: Value
    world_size: Value
    environment: Mapping[str, Value]
    provides: frozenset[str]
    is_module: bool = False
    background: bool = False
    directory: str | None = ""
    outer: Launch | None = None
    guards: int = 0
    branch: tuple[int, ...] = ()
    """Identity of the branches around it; two launches whose branches contradict each other never run together."""
    config: Document | None = None
    """The launcher's own configuration file, where it has one and it is in the project."""
    open_arguments: bool = False
    """Whether the script may get more arguments than we see (an unknown ``$ARGS``)."""
    open_options: bool = False
    """Whether the launcher may get options of its own that we don't see."""
    appends: tuple[str, ...] = ()
    """Options that the launcher adds to the script's own arguments (alternative spellings, which the version
    decides)."""
    appends_perhaps: bool = False
    """Whether it depends on what we can't see (the kind of cluster) that the launcher adds those."""
    file: str = ""
    """The script that the command stands in (its span may lie in one that this one reads in)."""
    apart: bool = False
    """Whether it runs on another machine, or in a container of its own."""
    submitted: bool = False
    """Whether a program of the project submits the script that it stands in, with options of its own."""
    program: str = ""
    """What the launcher is called by: the name of the command, or of the module that an interpreter runs."""

    def option(self, dest: str) -> Value:
        """The value given for a launcher option, or absent."""
        given = self.options.get(dest)
        return given.value if given is not None else absent(self.span)

    @property
    def is_open_to_caller_only(self) -> bool:
        """Whether the arguments that we do not see are those that whoever calls its script adds, and nothing else."""
        return all(one.value.is_known or one.text in _OF_CALLER for one in self.arguments)


def exclusive(first: Launch, second: Launch) -> bool:
    """Whether the branches around two launches contradict each other: no single execution reaches both."""
    arms = {number // 100: number % 100 for number in first.branch}
    return any(arms.get(number // 100, number % 100) != number % 100 for number in second.branch)


def in_blocks(launch: Launch) -> bool:
    """Whether ranks fill one node after the other: launchers of their own do, a scheduler unless it is told to scatter."""
    scheduler = launch.outer
    while scheduler is not None:
        spread = scheduler.option("distribution")
        mapping = scheduler.option("map-by")
        if not spread.is_absent and not str(spread.only).startswith("block"):
            return False
        if not mapping.is_absent and not str(mapping.only).startswith(("ppr", "slot", "core", "socket")):
            return False
        if "bynode" in scheduler.options:
            return False
        scheduler = scheduler.outer
    return True


class WrittenFile(NamedTuple):
    """A file that a script writes from a here-document, usually a configuration.

    ``path`` is the word that names it (``path.text`` has ``${NAME}`` for what is not known, as the arguments that name
    the file again have). ``text`` is the content with known variables replaced and ``${NAME}`` for the others;
    ``original`` what the script says. Both have the same lines: line *n* of the text is line ``span.line + n - 1`` of
    ``script``. Columns agree in ``original`` only.
    """

    path: Argument
    text: str
    original: str
    span: Span
    script: str
    branch: tuple[int, ...] = ()


class ScriptCall(NamedTuple):
    """One script that starts another of the project: where, and whether it only reads it in (``source``).

    ``submitted`` says that a batch system runs it, with counts that the command line may say.
    """

    caller: str
    callee: str
    span: Span
    sourced: bool = False
    submitted: bool = False


class LaunchIndex(NamedTuple):
    """All launches of a project, in the order of its files, and what else its scripts do.

    ``written`` are the configurations that they write, ``calls`` the scripts that they start; ``notes`` say what was
    not followed.
    """

    launches: tuple[Launch, ...] = ()
    written: tuple[WrittenFile, ...] = ()
    calls: tuple[ScriptCall, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A launch (or none), the script that it starts, and the number of processes.

    What else belongs to a run (documents, pins, parallel layout) is found by following values from the script and the
    launch, by the framework that knows what they mean; see ``link.project`` and ``frameworks``. Runs are equal only to
    themselves.
    """

    script_file: str
    launch: Launch | None = None
    world_size: Value = field(default_factory=absent)

    @property
    def span(self) -> Span:
        """Where the run is started: the launch, or the top of the script."""
        return self.launch.span if self.launch is not None else Span(self.script_file, 1, 1, 1, 1)
