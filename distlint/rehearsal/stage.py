"""What one process of a rehearsal knows of itself, and what it was seen to do."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from distlint.link.modules import ClassRef, External, FunctionRef, GlobalRef, ModuleFile, Target
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.certainty import Certainty
from distlint.rehearsal.entities import ClassValue, FunctionValue, Group, Library, MethodOf, ModuleValue, Outside, Work
from distlint.rehearsal.files import met
from distlint.rehearsal.notes import OWN_ORDER
from distlint.rehearsal.row_orders import RowOrders
from distlint.rehearsal.shared import Shared
from distlint.rehearsal.trace import Hole, Took, Waited
from distlint.rehearsal.unknowns import UNKNOWN, Opaque, Sent, Source
from distlint.rehearsal.values import OWN_PLACE, Table, Tensor, combined, is_by_chance, is_known, signature, source_of

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.launch import Run
    from distlint.rehearsal.entities import Reader
    from distlint.rehearsal.epochs import Round
    from distlint.rehearsal.witness import Witness

MAX_STEPS = 60_000
"""Expressions that one process of a rehearsal works out."""

LEFT_EACH = 19_200
"""Items for each process that a test is taken to leave, besides one: a number that the usual sizes of batches divide."""

MAX_EXACT = 64
"""Turns of a loop that are all followed where that costs little."""

MAX_TURNS = 8

MAX_CALLS = 16
"""Calls inside each other that are followed."""

MAX_AGAIN = 3
"""Calls of one function inside each other that are followed where it is not known whether they happen."""

MAX_IDLE = 1_500
"""Steps of a call in which processes do nothing together: one that costs more is not followed again where it may not happen."""


RANK_NAMES = frozenset({"rank", "local_rank", "global_rank", "world_rank"})
WORLD_NAMES = frozenset({"world_size", "nprocs", "num_processes"})
"""Parameters that hold the rank, or the number of processes, where nothing else is known of them."""


CONTINUED = "continued"
"""Under this name an event has seen that a function is called when its operation is over, whoever waits for it."""
LENT = "lent"
"""What ``Stage.kept`` holds of messages under way that nobody waited for yet."""


_MAKERS = frozenset({"model_validate", "parse_obj"})
"""Class methods of classes from common libraries that make an object; a framework names its own (``FrameworkSpec.class_makers``)."""

_BROUGHT = ("tensor", "input_tensor", "input", "obj")
"""Parameters of operations that are given what a process brings."""


class Enough(Exception):  # noqa: N818 - not an error
    """The rehearsal of a process took too long, or its program ends here."""


class Left(Enough):
    """The program ends here: ``kind`` is ``exit`` where it ends well, ``raise`` where an exception, or an exit code, ends it."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Event:
    """An operation that the processes make together, or one of two that meet: what it is, and with which arguments.

    ``name`` is the library's, ``values`` the arguments by the names of the parameters, ``sure`` whether the process
    certainly comes here, ``repeated`` whether it stands in a loop whose turns are not known, ``chain`` the calls that
    lead here, ``seen`` what is remembered of the arguments' state at that time.
    """

    __slots__ = (
        "agreed",
        "call",
        "chain",
        "file",
        "function",
        "group",
        "index",
        "name",
        "repeated",
        "seen",
        "sure",
        "turn",
        "values",
    )

    def __init__(self, name: str, call: ir.Call, file: str, function: int, values: dict[str, Any]) -> None:
        self.name = name
        self.call = call
        self.file = file
        self.function = function
        self.values = values
        self.sure = True
        self.agreed = False
        """Whether the process comes here because of something that all of them have exchanged, so that it knows of the others."""
        self.repeated = False
        self.chain: tuple[Span, ...] = ()
        self.group: Group | None = None
        self.index = 0
        self.turn = 0
        """How often the process came to the call in the same way, this time included."""
        self.seen: dict[str, Any] = {}

    @property
    def span(self) -> Span:
        """Where the call stands."""
        return ir.unpack(self.call.at, self.file)

    @property
    def place(self) -> tuple[Any, ...]:
        """Equal for the same call reached in the same way."""
        return (self.file, self.call.at, self.chain)


class Fault:
    """Something that one process was seen to do wrong by itself."""

    __slots__ = ("event", "kind", "span", "words")

    def __init__(self, kind: str, span: Span, event: Event, words: dict[str, Any]) -> None:
        self.kind = kind
        self.span = span
        self.event = event
        self.words = words


class Scope:
    """The variables of a function that is being followed, of a class, or of a module."""

    __slots__ = (
        "doubt",
        "file",
        "function",
        "looping",
        "members",
        "outer",
        "outside",
        "played",
        "results",
        "skipped",
        "tests",
        "variables",
    )

    def __init__(self, file: str, function: int, outer: Scope | None = None) -> None:
        self.file = file
        self.function = function
        self.outer = outer
        self.variables: dict[str, Any] = {}
        self.outside: set[str] = set()
        self.results: list[Any] = []
        self.tests: list[Any] = []
        """Tests that are not known and that some way of the function left it, or a loop, behind."""
        self.skipped: list[tuple[dict[str, Any], Any]] = []
        """What the variables were where a way went on with the next turn of the loop around, and the test that decides about it."""
        self.looping: ir.Expr | None = None
        """The target of the loop that is being followed in the function."""
        self.doubt = 0
        self.played = False
        self.members: dict[str, Any] = {}


class Tested(NamedTuple):
    """A test that differs between processes: its value, where it stands, and behind how many others."""

    value: Any
    at: ir.Expr
    scope: Scope
    behind: int


class _Defined(frozenset[str]):
    """The names of the functions and classes of a project."""

    __slots__ = ()

    @classmethod
    def of(cls, project: Project) -> _Defined:
        """Gathered once."""
        if cls not in project.kept:
            modules = [project.module(file) for file in project.python_files]
            functions = (one.name for module in modules for one in module.functions)
            project.kept[cls] = cls((*functions, *(one.name for module in modules for one in module.classes)))
        found: _Defined = project.kept[cls]
        return found


_OF_NODES = frozenset({"local-rank", "local-main", "per-node", "node", "nodes"})
"""Sources that tell nodes apart."""


class Stage(Certainty):
    """One process of a rehearsal: its rank, how many there are, and everything that it did so far."""

    def __init__(self, project: Project, entry: str, rank: int, world: int, per_node: int = 0) -> None:
        super().__init__()
        self.project = project
        self.entry = entry
        self.rank = rank
        self.world = world
        self.per_node = per_node or world
        """Processes on each node."""
        self.minds_nodes = False
        """Whether the program asks where on its node a process is, or how many there are."""
        self.sources = {name: kind for spec in project.specs for name, kind in spec.rank_sources}
        self.main_only = frozenset(name for spec in project.specs for name in spec.main_only)
        self.keeping = tuple(name for spec in project.specs for name in spec.keeping)
        self.makers = _MAKERS.union(*(spec.class_makers for spec in project.specs))
        self.events: list[Event] = []
        self.rows = RowOrders()
        self._last: dict[tuple[Any, ...], Event] = {}
        self.waits: list[tuple[int, Work, Span]] = []
        self.faults: list[Fault] = []
        self.in_order: dict[tuple[str, Span], bool | None] = {}
        """Of kinds of faults, the places that are looked at, and whether things were as they have to be there, each time
        (``None``: nothing has come of it yet)."""
        self.watched: list[tuple[Event, list[tuple[Table, Any]], int]] = []
        """What an operation put into dictionaries, with their keys, and how many backward passes came before."""
        self.environment: dict[str, Any] = {}
        self.everyone = Group(tuple(range(world)))
        self.declared: int | None = None
        self.refused = False
        """Whether the program ends with an exception, or would by an ``assert``, with this number of processes."""
        self.initialized: bool | None = None
        self.seed: Any = None
        self.random = 0
        self.steps = 0
        self.most = MAX_STEPS
        self.depth = 0
        self.repeating = 0
        self.batch: Hashable = None
        """Where the innermost loop over each process's own batches stands; ``None`` outside of all such."""
        self.loops: list[int] = []
        """The loops around of which not all turns are followed, by a number for each time that one is gone through."""
        self.whiles = 0
        """``while`` loops around what is followed now."""
        self.touches: set[str] = set()
        """What is done with files at all."""
        self.written: dict[Span, dict[tuple[Hashable, ...] | None, Source | None]] = {}
        """By place the paths of the files that are written there (``None``: not known), with why they are each process's own."""
        self.chain: tuple[Span, ...] = ()
        self.modules: dict[str, Scope] = {}
        self.classes: dict[Any, Scope] = {}
        self.options: dict[Any, Any] = {}
        self.defaults: dict[str, dict[str, Any]] = {}
        self.declared_options: dict[str, Any] = {}
        """The options that the program was seen to declare, with the defaults that are known."""
        self.readers: dict[str, Reader] = {}
        """What reads the text of an option, where that is the program's own."""
        self.placed: dict[str, Any] = {}
        """Options whose default is what the process was told of its place."""
        self.yielding: dict[int, bool] = {}
        self.visited: set[FunctionRef] = set()
        self.inside: dict[FunctionRef, int] = {}
        self.costly: set[FunctionRef] = set()
        self.touched: list[Any] | None = None
        self.started = 0
        self.kept: dict[str, Any] = {}
        """What the frameworks' models remember of the process."""
        self.shared: Shared = Shared()
        self.trace: list[Any] = []
        self.grown = 0
        self.excused: set[tuple[str, int]] = set()
        """Calls that would be operations, but for a context around them in which nobody is missed, or for what they are called with."""
        self.orders: list[tuple[Source, int]] = []
        """Why the loops around go through things in another order on each process."""
        self.quiet = 0
        self.asked_again = 0
        """Whether something that is gone through is asked for its items once more, without being gone through again."""
        self.ahead = 0
        """Whether items are worked out now that Python works out only once they are asked for."""
        self.under_way: Round | None = None
        """The pass over a loader that began last and is not over."""
        self.turns = MAX_TURNS
        """Turns of a loop that are followed one by one; of a longer one the first two."""
        self.longest = 0
        """Turns of the longest loop, of those with a known number of turns, in which processes meet and of which not all were followed."""
        self.listed = 0
        """Items of the longest list of those that a loop may go through in parts, of which not all were told apart."""
        self.advancing: list[Any] = []
        """The iterators of which the program's own ``__next__`` is asked for an item now."""
        self.tests: set[Hashable] = set()
        """What tells the tests that the process makes without knowing which way they send it, also those behind which nothing happens."""
        self.tested: dict[int, Tested] = {}
        """Tests that differ between processes, by ``id``."""
        self.reasons: list[Any] = []
        self.sides: dict[int, bool] = {}
        """Of the tests among the reasons, by ``id``: whether the process is where it holds, as far as that is known."""
        self.reasons_around = 0
        """How many of them stand around the innermost loop of which not all turns are followed."""
        self.attempts: list[frozenset[str]] = []
        """The exceptions that the ``try`` statements around take, the innermost last."""
        self.attempt_depths: list[int] = []
        """In how many calls each of these stands."""
        self.enclosed: dict[FunctionRef, tuple[ir.Expr, Scope]] = {}
        """The contexts in which functions are executed because of their decorators."""
        self.remembered: dict[FunctionRef, dict[Any, Any]] = {}
        """What functions gave that remember it (``functools.lru_cache``), by their arguments."""
        self.strangers = 0
        """Calls so far that may do anything to the process where nobody sees it."""
        self.alone = False
        """Whether a function is looked at by itself, of whose callers nothing is known."""
        self.usual = False
        """Whether the program is started without options: what nobody gives has its default."""
        self.has_defaults = False
        """Whether an option was asked for that is not known, but has a default."""
        self.configurations: set[str] = set()
        """The configuration files of the project that the program reads its settings from."""
        self.run: Run | None = None
        """The one run that is followed, where it is one."""
        self.witness: Witness | None = None
        """What notes what calls get, where somebody asks for that."""
        self.has_left_over = False
        """Whether a list was asked for of which a test has left some items, nobody knows how many."""

    def looks_at(self, kind: str, span: Span) -> None:
        """Notes that a place will show whether it has a kind of faults."""
        self.in_order.setdefault((kind, span), None)

    def looked_at(self, kind: str, span: Span, *, fits: bool) -> None:
        """Notes whether a place certainly has none of a kind of faults this time."""
        self.in_order[kind, span] = fits and self.in_order.get((kind, span)) is not False

    def lists(self, length: Any) -> None:
        """Notes that a list has too many items for these to be told apart, unless more turns of loops are followed."""
        if isinstance(length, int) and length <= MAX_EXACT:
            self.listed = max(self.listed, length)

    def step(self) -> None:
        """Counts one step. Raises ``Enough`` where there were too many."""
        self.steps += 1
        if self.steps > self.most:
            raise Enough

    def source(self, kind: str) -> Any:
        """What tells the process its place (``FrameworkSpec.rank_sources``)."""
        rank, per_node = self.rank, self.per_node
        self.minds_nodes = self.minds_nodes or kind in _OF_NODES
        return {
            "rank": rank,
            "local-rank": rank % per_node,
            "main": rank == 0,
            "local-main": rank % per_node == 0,
            "world": self.world,
            "per-node": per_node,
            "node": rank // per_node,
            "nodes": self.world // per_node,
        }.get(kind, UNKNOWN)

    def variable(self, name: Any) -> Any:
        """A variable of the environment; ``None`` is never told apart from one that we don't know."""
        if name in self.environment:
            return self.environment[name]
        found = self.source(self.sources.get(f"${name}", ""))
        if isinstance(found, int):
            return str(found)
        exported = self._exported(name)
        if exported is not None:
            return exported
        return Opaque(("environment", name)) if isinstance(name, str) else UNKNOWN

    def exports(self, name: str) -> bool:
        """Whether the launch of the run that is followed puts a variable into the environment."""
        return self._exported(name) is not None

    def exported(self) -> dict[str, Any]:
        """The variables that the launch of the run that is followed, and its launcher, put into the environment, by name."""
        launch = self.run.launch if self.run is not None else None
        names = sorted({*launch.environment, *launch.provides}) if launch is not None else ()
        return {name: self.variable(name) for name in names}

    def _exported(self, name: Any) -> Any:
        """What the launch of the run that is followed puts into the environment; ``None`` where there is none, or it is not known."""
        launch = self.run.launch if self.run is not None else None
        found = launch.environment.get(name) if launch is not None and isinstance(name, str) else None
        return found.only if found is not None and found.is_known else None

    def by_name(self, name: str) -> Any:
        """What a parameter or option called like a rank or a number of processes holds where nothing else is known."""
        if name in RANK_NAMES:
            return self.rank
        return self.world if name in WORLD_NAMES else UNKNOWN

    def group_of(self, value: Any) -> Group | None:
        """The group that an argument means: all processes where none is given; ``None`` where it is not known."""
        if value is None or (isinstance(value, Library) and value.name.endswith("group.WORLD")):
            return self.everyone
        return value if isinstance(value, Group) else None

    def record(self, event: Event) -> None:
        """Adds an operation to what the process did."""
        event.sure = not self.unsure
        event.agreed = any(isinstance(one, Opaque) and isinstance(one.sign, Sent) for one in self.reasons)
        event.repeated = bool(self.repeating)
        event.chain = self.chain
        event.turn = self._turn(event)
        event.index = len(self.events)
        self.events.append(event)
        if any(isinstance(event.values.get(name), Tensor | Opaque | MethodOf) for name in _BROUGHT):
            self.ordered(event)
        self.mark(event)
        met(self)

    def ordered(self, event: Event) -> None:
        """Notes that a process brings something of the item that it is at, where it goes through items in an order of its own."""
        if self.orders:
            source, depth = self.orders[-1]
            words = {"why": source.why, "depth": depth}
            self.faults.append(Fault(OWN_ORDER, source.span or event.span, event, words))

    def _turn(self, event: Event) -> int:
        last = self._last.get(event.place)
        self._last[event.place] = event
        if last is None:
            return 1
        if self.events[last.index : last.index + 1] == [last]:
            return last.turn + 1
        return 1 + sum(one.place == event.place for one in self.events)  # the last one was taken back

    def mark(self, node: Any) -> None:
        """Adds a node to the tree of what the process does (``rehearsal.trace``)."""
        self.grown += 1
        self.trace.append(node)

    def took(self, span: Span, way: int) -> None:
        """Notes which way a known test sends the process."""
        if not self.quiet:
            self.trace.append(Took(span, self.chain, way))

    def miss(self, func: ir.Expr) -> None:
        """Notes a call that we don't see into; it may be any where it goes by no name."""
        name = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
        if not name or name in _Defined.of(self.project):
            self.strangers += 1
        if not self.quiet:
            self.trace.append(Hole(name))

    @property
    def parted(self) -> bool:
        """Whether only some of the processes may have come here."""
        return source_of(self.reasons) is not None

    def because(self, *values: Any) -> Opaque:
        """The value that one of some values is, depending on tests that are not known: equal where all of them are."""
        every = [*self.reasons, *values]
        found = Opaque(combined("perhaps", every), source_of(every))
        found.chance = any(map(is_by_chance, every))
        return found

    def left_over(self, *told: Any) -> Any:
        """How many items a test leaves of a list that is the same everywhere: any number, so one that can't be dealt out evenly."""
        if source_of(told) is not None:
            return UNKNOWN
        self.has_left_over = True
        return LEFT_EACH * self.world + 1 if self.usual and self.run is None else UNKNOWN

    def differs(self, call: ir.Expr, file: str, value: Any) -> bool:
        """Whether what a known value is at a call is another on other processes."""
        sign = signature(value)
        return sign is not None and self.shared.note(self.rank, (file, call.at, self.chain), sign)

    def own_places(self, span: Span, values: Sequence[Any]) -> Source | None:
        """Why what stands where in a row differs between processes, where each has filled only its own place.

        A row shows that by few places that are not known, among others that all have the same value, if these are not the
        same places everywhere. The ``span`` is where the row is looked at.
        """
        filled = tuple(place for place, value in enumerate(values) if not is_known(value))
        others = [signature(value) for value in values if is_known(value)]
        if not 0 < len(filled) <= len(others) or others.count(others[0]) < len(others):
            return None
        differ = self.shared.note(self.rank, (span, self.chain, "places"), filled)
        return Source(OWN_PLACE, span) if differ else None

    def is_alone_at(self, expr: ir.Expr, file: str) -> bool:
        """Whether other processes are known not to come to a place that this one comes to for certain."""
        return not self.unsure and self.shared.passes(self.rank, (file, expr.at, self.chain))

    @property
    def way(self) -> tuple[Any, ...]:
        """The tests that are not known and behind which the process is now: where it is equal, so is whether it comes there."""
        return (self.unsure, *map(id, self.reasons))

    def took_side(self, test: Any, before: bool | None, going: list[bool]) -> None:
        """Ways of a test are followed: it goes on behind the only one that does (``going``), or as ``before``."""
        if len(going) == 2 and sum(going) == 1:
            self.sides[id(test)] = going[0]
        elif before is None:
            self.sides.pop(id(test), None)
        else:
            self.sides[id(test)] = before

    def wait(self, work: Any, span: Span) -> None:
        """An operation under way is waited for."""
        if isinstance(work, Work):
            work = work.begun
            if self.unsure and self.way != work.way:
                work.loose = True
            if not work.done:
                self.waits.append((len(self.events), work, span))
                self.mark(Waited(work))
            work.done = True
            for tensor in work.tensors:
                if tensor.whole.pending is work:
                    tensor.whole.pending = None
            for tensor in work.lent:
                if tensor.whole.lent is work:
                    tensor.whole.lent = None

    def drawn(self, span: Span, *values: Any) -> tuple[Any, Source | None]:
        """The signature of something random that is drawn now, and why it differs between processes if it does."""
        self.random += 1
        if self.seed is None:
            return ("drawn", self.rank, self.random), Source("random numbers without a seed", span, drawn=True)
        seed = signature(self.seed)
        source = self.seed.source if isinstance(self.seed, Opaque) else None
        source = None if source is None else source._replace(drawn=True)
        return (None if seed is None else ("drawn", seed, self.random, *values)), source

    def target_value(self, target: Target | None) -> Any:
        """What a resolved name means."""
        if isinstance(target, External):
            return Library(target.name)
        if isinstance(target, FunctionRef):
            return FunctionValue(target)
        if isinstance(target, ClassRef):
            return ClassValue(target)
        if isinstance(target, ModuleFile):
            return ModuleValue(target.file)
        return target if isinstance(target, GlobalRef) else UNKNOWN

    def outside(self, value: Any, call: ir.Call, scope: Any, what: str) -> None:
        """What a process has of a group that it is not in is used where that fails; ``what`` says how it is used."""
        group = value.group if isinstance(value, Outside) else value
        if isinstance(group, Group) and not self.unsure:
            event = Event("get_world_size", call, scope.file, scope.function, {})
            event.group = group
            self.faults.append(Fault("outside", event.span, event, {"what": what}))

    def use(self, value: Any, span: Span) -> None:
        """A value is read: told apart from being handed on."""
        if not isinstance(value, Tensor):
            return
        work = value.whole.pending
        if work is not None and self._is_under_way(work, value):
            self.faults.append(Fault("early", span, work.event, {}))
            value.whole.pending = None
            work.loose = True

    def _is_under_way(self, work: Work, value: Tensor) -> bool:
        """Whether an operation that was not waited for has to do with a tensor, and not with another part of the same memory."""
        if work.done or work.loose or self.way != work.way:
            return False
        held = (*work.tensors, *work.lent)
        return not value.cut or any(one is value or not one.cut for one in held)

    def overwrite(self, value: Any, span: Span) -> None:
        """A value is changed where it lies."""
        if not isinstance(value, Tensor):
            return
        work = value.whole.pending or value.whole.lent
        if work is not None and self._is_under_way(work, value):
            self.faults.append(Fault("changed", span, work.event, {}))
            value.whole.pending = value.whole.lent = None
            work.loose = True

    def arrived(self) -> None:
        """What comes back from another process shows that it took what it was sent before."""
        for work in self.kept.pop(LENT, ()):
            for tensor in work.lent:
                tensor.whole.lent = None
