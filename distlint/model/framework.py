"""How a framework describes itself to the steps that must not know its name.

Discovery, reading and linking take these descriptions as data; the folders under ``frameworks/`` are the only place
that fills
them in. A new framework, or a team's own wrapper, is one more description.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from distlint.model.record import dataclass

if TYPE_CHECKING:
    from distlint.model.document import Document
    from distlint.model.launch import Argument, LaunchOption
    from distlint.model.value import Value


DRAWN = "random numbers that each rank draws for itself"
"""Why something is never the same on two processes."""


class FileOptions(NamedTuple):
    """Options of a launcher that stand in files, and whether there may be others that we don't see."""

    options: Mapping[str, LaunchOption]
    open: bool = False


FileOptionsReader = Callable[
    [
        "Mapping[str, LaunchOption]",
        "Sequence[Argument]",
        "Mapping[str, Value]",
        "Callable[[Value], Document | None]",
    ],
    FileOptions,
]
"""Reads the options of a launcher out of the files that its arguments name: from its options on the command line, the
arguments, the environment, and a function that gives the document which a path means."""


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option of a launcher.

    ``dest`` is the canonical name that rules use (``nodes``, ``processes-per-node``, ``port`` …, or the launcher's own word for the
    rest); ``arity`` how many words follow: 0, 1, ``"?"`` (optional) or ``"*"`` (all up to the next option).
    """

    dest: str
    flags: tuple[str, ...]
    arity: int | str = 1


@dataclass(frozen=True, slots=True)
class LauncherSpec:
    """A program that starts the processes of a job, and how its command line is read.

    ``commands`` are the word sequences that start it (``("torchrun",)``, ``("python", "-m", "torch.distributed.run")``; ``python``
    stands for every interpreter spelling). ``dashes_equal`` says that ``--nproc-per-node`` and ``--nproc_per_node``
    are the same;
    ``abbreviations`` that unique prefixes count (argparse's default). ``provides`` are the environment variables that each
    process gets. ``appends`` are options that the launcher adds to the script's own arguments. ``prefix`` marks
    schedulers that run any
    command given to them (``srun``, ``mpirun``), which may be another launcher.
    """

    name: str
    commands: tuple[tuple[str, ...], ...]
    options: tuple[OptionSpec, ...]
    provides: frozenset[str] = frozenset()
    appends: tuple[str, ...] = ()
    dashes_equal: bool = False
    abbreviations: bool = True
    prefix: bool = False
    default_nodes: int | None = 1
    default_processes: int | None = 1
    total_processes: bool = False
    """The process count option counts all nodes together (``accelerate launch --num_processes``, ``mpirun -n``)."""
    default_port: int | None = None
    appends_unless: tuple[str, ...] = ()
    """Options (by ``dest``) that stop the launcher from appending anything."""
    appends_perhaps: tuple[str, ...] = ()
    """Options (by ``dest``) with which it depends on the cluster whether the launcher appends anything."""
    appends_when: tuple[tuple[str, str, str], ...] = ()
    """(option, package, specifier): the versions in which the launcher appends this spelling of ``appends``."""
    counting: str = "flags"
    """How processes are counted: ``flags`` (node and process options), ``slots`` (a pool of hosts with devices,
    filtered),
    ``hosts`` (a list of hosts gives the nodes), ``tasks`` (a scheduler's tasks)."""
    inherits: tuple[tuple[str, str], ...] = ()
    """(dest, environment variable) for options that may come from the environment instead."""
    config_keys: tuple[tuple[str, str], ...] = ()
    """(dest, key) for options that may come from the launcher's own configuration file (its ``config`` option)."""
    options_in_files: FileOptionsReader | None = None
    """For a launcher whose options stand in files that the script's arguments name."""
    devices: tuple[str, ...] = ()
    """Environment variables that list the devices which the launcher uses when it is given no count."""
    single_when: tuple[tuple[str, str], ...] = ()
    """(dest, value) for options that make the launcher start one process, whatever counts it is given."""
    single_unless: tuple[str, ...] = ()
    """Options (by ``dest``) that win over ``single_when``."""
    implied: str = ""
    """The module that every command starts, where no script is named: all words behind the command are then the
    module's, and the launcher's own options may stand anywhere among them."""
    elsewhere: tuple[str, ...] = ()
    """Environment variables, and flags among the script's arguments, with which something else starts the processes
    (a Ray cluster): nothing is known of their number then."""


@dataclass(frozen=True, slots=True)
class ParserSpec:
    """A call that adds options to an argument parser, or makes one: with options of its own, or from dataclasses.

    ``options`` are the options that ``adder`` functions add: (flag, takes a value). ``dataclasses`` is true for factories that take
    dataclasses and accept one option per field. ``own`` are the options of the parser that a function returns: (flag, type, default).
    """

    callee: str
    options: tuple[tuple[str, bool], ...] = ()
    dataclasses: bool = False
    own: tuple[tuple[str, str, str | None], ...] = ()
    dashed_since: tuple[str, str] = ("", "")
    """(package, specifier): the releases in which a factory also takes ``--some-field`` for ``some_field``; ``""``: all."""
    defaults_from: str = ""
    """An option of a factory's own: it names a file with values for options, which are then not required."""


@dataclass(frozen=True, slots=True)
class StarterSpec:
    """A function or class by which a Python program starts the processes of a job itself.

    ``callee`` is its dotted name. ``processes`` and ``nodes`` are the parameters (name, position or ``None``) that count
    the processes of a node and the nodes; ``total`` says that the first counts all nodes together; ``most`` is the
    parameter with the largest number of nodes, which must be the same for the number to be known. ``default`` is the
    number of processes without that argument, ``None`` for as many as the machine has devices. ``command`` are the
    words in front of a list of words that the call takes. ``joining`` are library functions of which the started
    function must come to one; the call then starts one process, and a loop around it counts them.
    """

    callee: str
    processes: tuple[str, int | None] = ("", None)
    nodes: tuple[str, int | None] = ("", None)
    most: tuple[str, int | None] = ("", None)
    default: int | None = None
    total: bool = False
    command: tuple[str, ...] = ()
    joining: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallbackSpec:
    """A library function that calls a function which it is given, before it returns.

    ``parameter`` and ``position`` say where it is given; ``shift`` is added to the position of the called function's
    parameter to find its argument in the library's call (``checkpoint(f, x)``: 1).
    """

    callee: str
    parameter: str
    position: int
    shift: int = 0


@dataclass(frozen=True, slots=True)
class CollectiveSpec:
    """An operation that the processes of a group make together, or that one process makes with another.

    ``name`` is the canonical name of what is called: a function, ``pkg.Class().method``, or an object that a call made and
    that is called itself: ``pkg.Class()()``. ``kind`` says what meets what: calls of one kind meet each other, whatever
    they are called. Parameters are (name, position) pairs, the position ``None`` where they are given by name only, and
    ``("", None)`` where there is none.
    """

    name: str
    kind: str
    group: tuple[str, int | None] = ("", None)
    tensor: tuple[str, int | None] = ("", None)
    """What is sent, or what is filled where nothing is."""
    output: tuple[str, int | None] = ("", None)
    """What is filled beside it: a tensor or a list of one per rank."""
    root: tuple[str, int | None] = ("", None)
    """The rank that all others send to or get from; it is counted in the whole job."""
    group_root: tuple[str, int | None] = ("", None)
    """The same, counted in the group."""
    peer: tuple[str, int | None] = ("", None)
    """The other side of a call that two processes make; counted in the whole job."""
    tag: tuple[str, int | None] = ("", None)
    async_flag: tuple[str, int | None] = ("", None)
    role: str = "collective"
    """``collective``, ``send``, ``receive``, ``batch`` (several of these), ``first`` (a context manager that the main process
    passes first, while the others wait for it) or ``local-first`` (the same on each node)."""
    waits: bool = True
    """Whether the call returns only when the operation is done (or queued, on a device); ``isend`` never waits."""
    lone_argument: tuple[str, object] = ("", None)
    """An argument, and what it must not be: with this value the call is no collective (``broadcast_buffers=False``)."""
    buffers: bool = False
    """Whether it is collective only if the module that its object wraps holds buffers."""
    configured: str = ""
    """What the configuration behind its object must be for the call to be collective, as rules name it: a label."""
    timed_by: str = ""
    """The method by which a program says itself which of the calls are collective: with it in use, nobody else knows."""


class GeneratorSpec(NamedTuple):
    """A generator of random numbers: the functions that draw from it, those that seed it, and what makes one.

    ``prefixes`` stand for all functions whose name starts so, those that seed apart.
    """

    name: str
    draws: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    makers: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FrameworkSpec:
    """What the early steps need to know of a framework: how it is recognised, imported, launched and installed."""

    name: str
    prefix: str
    packages: tuple[str, ...]
    modules: tuple[str, ...]
    literals: tuple[bytes, ...]
    """Byte strings any one of which makes a file worth parsing; no regular expressions."""
    config_keys: tuple[bytes, ...] = ()
    """Byte strings that make a JSON, YAML or TOML file worth parsing."""
    launchers: tuple[LauncherSpec, ...] = ()
    parsers: tuple[ParserSpec, ...] = ()
    open_dataclasses: tuple[str, ...] = ()
    """Framework dataclasses that scripts hand to a dataclass parser: they accept options that we do not list."""
    dataclass_table: str = ""
    """The table in ``distlint/knowledge`` that has the fields of the frameworks' dataclasses, release by release."""
    records: tuple[str, ...] = ()
    """Library classes whose objects keep their keyword arguments as attributes of the same names."""
    shares: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = ()
    """(class, attribute, divisors, others): attributes that are the number of processes over the product of the first arguments; not where
    one of the other arguments is given."""
    holders: tuple[tuple[str, str], ...] = ()
    """(class, attribute): library classes whose objects are wrapped around another one, which they keep in the attribute."""
    exclusive: tuple[frozenset[str], ...] = ()
    """Sets of library classes of which none derives from another."""
    results: tuple[tuple[str, tuple[int | str, ...], str], ...] = ()
    """(function, part, class): what a library function returns, or a part of that, is an object of the class."""
    lazily_exported: tuple[tuple[str, str], ...] = field(default=())
    """(public name, canonical name) for objects that are reachable under several names; rules use the canonical one."""
    rank_sources: tuple[tuple[str, str], ...] = ()
    """(name, kind) for what tells a process its place in the job: a library function, an attribute or method of an
    object by what made it (``pkg.Class().name``), or ``$NAME`` for an environment variable. Kinds are ``rank``,
    ``local-rank``, ``main`` (whether the rank is 0), ``local-main``, ``last`` (whether it is the last), ``world``
    (processes in all, more than one), ``devices`` (of a node), ``initialized`` (true in a job), ``group-rank`` (a
    place in some group of processes) and ``told`` (no place at all: what a library tells every process to do next)."""
    lengths: tuple[tuple[str, str], ...] = ()
    """(callee, kind) for library calls that give something of a known length: ``sizes`` (the sizes are the arguments),
    ``size:2`` (argument 2 is the size), ``like:0`` (as long as argument 0), ``range`` (the arguments of a range),
    ``batches`` (a loader: data, ``batch_size``, ``sampler``, ``drop_last``) and ``shares`` (a sampler that gives each
    process an equal share of argument 0)."""
    evened: tuple[tuple[str, str], ...] = ()
    """(callee, parameter) for library calls behind which something is the same on all processes: the argument that is
    given for the parameter (``name:position``), or the result (``""``)."""
    varying: tuple[tuple[str, str], ...] = ()
    """(callee, why) for library calls that give each process something of its own: the clock, its share of the data."""
    plain: tuple[str, ...] = ()
    """What the names of functions start with whose results depend on their arguments alone."""
    generators: tuple[GeneratorSpec, ...] = ()
    """Generators of random numbers; that of the data loaders first."""
    rank_seeds: tuple[tuple[str, str, int], ...] = ()
    """(callee, parameter, position) for calls that seed random numbers, with another seed on each rank where that argument is true."""
    dealt: tuple[tuple[str, str], ...] = ()
    """(method, why) for library methods that give a loader back of which each process gets its own batches."""
    handed: tuple[tuple[str, str, int, str], ...] = ()
    """(library class, method, parameter's position, why) for hooks that are given something of each process's own."""
    hook_objects: tuple[tuple[str, str, int, str], ...] = ()
    """(library class, how methods of it start, parameter's position, class): what the library hands to hooks that classes of
    a project override is an object of the class."""
    starters: tuple[StarterSpec, ...] = ()
    callbacks: tuple[CallbackSpec, ...] = ()
    called_methods: tuple[tuple[str, str], ...] = ()
    """(library class, method) for objects whose call runs a method of theirs (``module(x)`` runs ``forward``)."""
    rank_counters: tuple[tuple[str, str], ...] = ()
    """(attribute, argument): attributes of library objects that stay 0 where the argument switches their object off."""
    collectives: tuple[CollectiveSpec, ...] = ()
    """The operations that processes make together."""
    losses: tuple[str, ...] = ()
    """Makers of objects whose results carry gradients that all processes add up: a backward pass of what comes out of
    them is collective (``pkg.Class``)."""
    wrapper_groups: tuple[tuple[str, str, int | None], ...] = ()
    """(wrapper, argument, its position): which argument of a wrapper names the group over which its model's passes are collective."""
    uneven: tuple[str, ...] = ()
    """Context managers inside which processes may make different numbers of steps."""
    main_only: tuple[str, ...] = ()
    """Decorators whose function runs on the main process only."""
    keeping: tuple[str, ...] = ()
    """What the names of decorators start with that leave what a function does, and what it is given, as it is."""
    class_makers: tuple[str, ...] = ()
    """Class methods of library classes that make an object of the class that they are called on."""
    file_calls: tuple[tuple[str, str, int | None], ...] = ()
    """(last name, what, place) for functions and methods of which one ``reads`` a file, ``makes`` one, or ``fills`` a folder;
    the place of the path that is made among the arguments, where it is not one of the first."""
    rehearsed: str = ""
    """The module whose ``MODELS`` says what the library's functions do when a program is rehearsed."""
    rehearsed_calls: tuple[str, ...] = ()
    """Last names of functions for which a rehearsal is worth while."""
