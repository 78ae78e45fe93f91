"""What a process of a rehearsal does, as a tree: its events, and the tests, loops, calls and exceptions that lead to them.

The tree holds every way that the process may go. A test that is known leaves its one way, and a ``Took`` that says which; one that is
not known is a ``Branch`` with an arm for each way. ``follow`` makes a line of events of the tree for one choice of arms.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.exceptions import Raised, raised_names
from distlint.rehearsal.unknowns import Source

if TYPE_CHECKING:
    from distlint.rehearsal.entities import Work
    from distlint.rehearsal.stage import Event

MAX_LINE = 1_500
"""Events of one way that are looked at."""

MAYBE = -1
"""Instead of the number of an arm: nothing may rest on which one it is."""

TOLD = "told"
"""How a way ends at a test that is decided by what others have sent, nobody knows what."""

MAX_PASSED = 20_000
"""Nodes that one way passes: loops in loops multiply them, whether anything happens there or not."""

TURNS = 2
"""Turns of a loop whose number is not known: one in which ranks may part, and one behind it."""


class End:
    """The way ends here: ``return``, ``break``, ``continue``, ``raise``, ``exit`` (the program ends well), ``cut`` (we stop looking)."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind


class Took:
    """A known test, and which way it sends this process."""

    __slots__ = ("chain", "span", "way")

    def __init__(self, span: Span, chain: tuple[Span, ...], way: int) -> None:
        self.span = span
        self.chain = chain
        self.way = way


class Hole:
    """A call of something that we don't see into; ``name`` is what it is called by."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Touch:
    """What a process does with a file: ``kind`` and ``path`` are those of ``rehearsal.paths``.

    ``source`` says why the path is another one on each process, where it is.
    """

    __slots__ = ("chain", "kind", "path", "source", "span")

    def __init__(
        self,
        kind: str,
        path: tuple[Hashable, ...],
        span: Span,
        chain: tuple[Span, ...],
        source: Source | None = None,
    ) -> None:
        self.kind = kind
        self.path = path
        self.span = span
        self.chain = chain
        self.source = source


class Waited:
    """An operation under way is waited for."""

    __slots__ = ("work",)

    def __init__(self, work: Work) -> None:
        self.work = work


class Stops:
    """The loop that a library drives is told to end with this turn (``Round.driven``)."""

    __slots__ = ()


class Branch:
    """A test that is not known. ``key`` is equal for tests that go the same way, ``source`` says why processes may part here.

    ``measured`` says that numbers which the process computes by itself decide, so that either way may be taken. ``fails`` are the
    exceptions of a place that may fail: they are raised on the second arm. ``known`` is for who follows the finished tree: whether
    the arm that it certainly takes was worked out, and which that is.
    """

    __slots__ = ("arms", "chain", "fails", "key", "known", "measured", "source", "span", "test")

    def __init__(
        self, test: ir.Expr, span: Span, chain: tuple[Span, ...], key: Hashable, source: Source | None, arms: int
    ) -> None:
        self.test = test
        self.span = span
        self.chain = chain
        self.key = key
        self.source = source
        self.fails: frozenset[str] = frozenset()
        self.known: tuple[bool, int | None] = (False, None)
        self.measured = False
        self.arms: list[list[Any]] = [[] for _ in range(arms)]


class Round:
    """A loop whose turns are not followed one by one. ``count`` is their number where it is known; ``driven``: a library makes it."""

    __slots__ = ("body", "chain", "count", "driven", "key", "source", "span")

    def __init__(
        self, span: Span, chain: tuple[Span, ...], key: Hashable, source: Source | None, count: int | None
    ) -> None:
        self.span = span
        self.chain = chain
        self.key = key
        self.source = source
        self.count = count
        self.driven = False
        self.body: list[Any] = []


class Laps:
    """A loop whose turns were followed one by one."""

    __slots__ = ("chain", "span", "turns")

    def __init__(self, span: Span, chain: tuple[Span, ...]) -> None:
        self.span = span
        self.chain = chain
        self.turns: list[list[Any]] = []


class Frame:
    """A call of a function of the project."""

    __slots__ = ("body",)

    def __init__(self) -> None:
        self.body: list[Any] = []


class Attempt:
    """A ``try`` statement, or the body of a context; ``catches`` are the names of the exceptions that each handler takes.

    ``unless_raised`` says of a context that an exception leads past what it does when it is left (``final``).
    """

    __slots__ = ("body", "catches", "final", "handlers", "orelse", "unless_raised")

    def __init__(self) -> None:
        self.body: list[Any] = []
        self.catches: list[frozenset[str]] = []
        self.handlers: list[list[Any]] = []
        self.orelse: list[Any] = []
        self.final: list[Any] = []
        self.unless_raised = False


if TYPE_CHECKING:
    Step: TypeAlias = Event | Took | Hole | Touch | Waited
    """What a line is made of."""


def is_idle(node: Any) -> bool:
    """Whether a node of a trace holds nothing but what a process does with files, and waiting."""
    if isinstance(node, Touch | Waited):
        return True
    if isinstance(node, Branch):
        return not node.fails and all(all(map(is_idle, arm)) for arm in node.arms)
    if isinstance(node, Round | Frame):
        return all(map(is_idle, node.body))
    if isinstance(node, Laps):
        return all(all(map(is_idle, turn)) for turn in node.turns)
    if isinstance(node, Attempt):
        return all(all(map(is_idle, nodes)) for nodes in (node.body, *node.handlers, node.orelse, node.final))
    return False


def is_private(nodes: Sequence[Any]) -> bool:
    """Whether the trace of a call holds no operation, nothing unseen and nothing that leaves the call: what it tests is its own affair."""
    for node in nodes:
        if isinstance(node, End):
            if node.kind in ("raise", "exit", "cut"):
                return False
        elif isinstance(node, Branch):
            if node.fails or not all(map(is_private, node.arms)):
                return False
        elif isinstance(node, Round | Frame):
            if not is_private(node.body):
                return False
        elif isinstance(node, Laps):
            if not all(map(is_private, node.turns)):
                return False
        elif not isinstance(node, Took) and not is_idle(node):
            return False
    return True


class Choice:
    """Which arms are taken: ``arms`` by the keys of branches, otherwise one that goes on; ``turns`` by the keys of loops.

    ``settled`` says of a branch which arm it certainly is, ``None`` where that is open, and ``MAYBE`` where nothing may rest on it.
    A place that may fail does so once: ``failed`` is where in the line, ``thrown`` the exceptions that it may be.
    ``files`` says whether the line holds what a process does with files. ``told`` are the tests and loops (by ``id``) that what others have
    sent decides, in a way that we don't know: the line ends there.
    """

    def __init__(
        self,
        arms: dict[Hashable, int] | None = None,
        turns: dict[Hashable, int] | None = None,
        usual: int = 0,
        settled: Callable[[Branch], int | None] | None = None,
        *,
        files: bool = False,
        told: frozenset[int] = frozenset(),
    ) -> None:
        self.files = files
        self.told = told
        self.settled = settled
        self.arms = arms or {}
        self.turns = turns or {}
        self.usual = usual
        self.rounds: dict[Hashable, Round] = {}
        self.failed: int | None = None
        self.thrown: frozenset[str] = frozenset()
        self.handling = 0
        """Handlers around that take the exception of a place that failed."""
        self.stopping = False
        """Whether the loop that a library drives ends with the turn under way."""
        self.passed = 0
        """Nodes that the way came along so far."""

    def arm(self, branch: Branch, reached: int) -> list[Any]:
        """The arm that is taken, so many events after the start."""
        if branch.fails:
            if self.failed is not None or not self.arms.get(branch.key):
                return branch.arms[0]
            self.failed, self.thrown = reached, branch.fails
            return branch.arms[1]
        number = self.settled(branch) if self.settled is not None else None
        if number == MAYBE:
            return [Hole("")]
        if number is None:
            number = self.arms.get(branch.key)
        if number is None:
            number = self._usual(branch)
        return branch.arms[min(number, len(branch.arms) - 1)]

    def _usual(self, branch: Branch) -> int:
        if self.handling:
            # where a handler tells exceptions apart, it is one of those that it takes
            leaving = [number for number, arm in enumerate(branch.arms) if arm and _leaves(arm[-1])]
            if leaving:
                return leaving[0]
        going = [number for number, arm in enumerate(branch.arms) if not _ends(arm)]
        going = going or [*range(len(branch.arms))]
        return going[min(self.usual, len(going) - 1)]

    def number(self, loop: Round) -> int:
        """How many turns a loop makes."""
        self.rounds.setdefault(loop.key, loop)
        return self.turns.get(loop.key, TURNS)


def follow(nodes: list[Any], choice: Choice, line: list[Step]) -> str:
    """Adds what happens on one way to ``line``; returns how the way ends (``""``: it goes on behind the last node)."""
    choice.passed += len(nodes)
    if choice.passed > MAX_PASSED:
        return "cut"
    for node in nodes:
        ended = ""
        kind = type(node)
        if id(node) in choice.told:
            return TOLD
        if kind is Branch:
            ended = follow(choice.arm(node, len(line)), choice, line)
        elif kind is Frame:
            ended = follow(node.body, choice, line)
            ended = "" if ended == "return" else ended
        elif kind is Round:
            ended = _turns([node.body] * choice.number(node), choice, line, driven=node.driven)
        elif kind is Laps:
            ended = _turns(node.turns, choice, line)
        elif kind is Attempt:
            ended = _attempt(node, choice, line)
        elif kind is End:
            ended = node.kind
        elif kind is Stops:
            choice.stopping = True
        elif kind is not Touch or choice.files:
            line.append(node)
            if kind is not Touch and len(line) > MAX_LINE:
                return "cut"
        if ended:
            return ended
    return ""


def _leaves(node: Any) -> bool:
    """Whether a handler ends here, and the program goes on."""
    return isinstance(node, End) and node.kind in ("return", "continue", "break")


def _ends(arm: list[Any]) -> bool:
    """Whether an arm does not go on, or is the last turn of a loop."""
    return bool(arm) and (isinstance(arm[-1], End) or any(isinstance(node, Stops) for node in arm))


def _turns(bodies: list[list[Any]], choice: Choice, line: list[Step], *, driven: bool = False) -> str:
    for body in bodies:
        ended = follow(body, choice, line)
        if driven and choice.stopping and ended in ("", "continue"):
            choice.stopping = False
            return ""
        if ended == "break":
            return ""
        if ended not in ("", "continue"):
            return ended
    return ""


def _attempt(node: Attempt, choice: Choice, line: list[Step]) -> str:
    ended = follow(node.body, choice, line)
    if ended == "raise" and node.handlers:
        failed, named = bool(choice.thrown), raised_names(ended)
        thrown = choice.thrown = choice.thrown or named
        taking = _taking(node, choice)
        if taking is not None:
            choice.handling += failed
            ended = follow(taking, choice, line)
            choice.handling -= failed
            if ended == "raise" and not isinstance(ended, Raised):
                choice.thrown = choice.thrown or thrown  # it is raised again
        elif named:
            choice.thrown = frozenset()
    elif not ended:
        ended = follow(node.orelse, choice, line)
    if ended in ("cut", TOLD) or (node.unless_raised and ended in ("raise", "exit")):
        return ended
    return follow(node.final, choice, line) or ended


def _taking(node: Attempt, choice: Choice) -> list[Any] | None:
    """The handler that takes the exception under way."""
    thrown, choice.thrown = choice.thrown, frozenset()
    if not thrown:
        return node.handlers[0]
    for names, body in zip(node.catches, node.handlers, strict=False):
        if names & thrown:
            return body
    choice.thrown = thrown
    return None
