"""Lines of the events of two processes, or of two ways of one, and the first event of one that the other does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.collectives import Collectives
from distlint.model.span import Span
from distlint.rehearsal.stage import Event, Stage
from distlint.rehearsal.trace import TOLD, Hole, Took
from distlint.rehearsal.twins import PAIRED

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.rehearsal.trace import Step


_OPEN = ("raise", "cut", TOLD)
"""How a line ends behind which there may be more, or where the job ends."""


class Part(NamedTuple):
    """Where lines part: the test or loop, the calls that lead there, and why it differs (``""``: because of the rank).

    ``fails`` says that it is no test, but a place that may raise an exception.
    """

    span: Span
    chain: tuple[Span, ...]
    why: str
    source: Span | None
    is_loop: bool
    fails: bool = False


class Clash(NamedTuple):
    """An event of one line that the other does not have: ``other`` is what comes there instead.

    ``rank`` makes the event, ``without`` does not; both are the same where one process may go either way. ``different`` says that
    each has something that the other does not come to, ``gone`` that the program of the other has ended by then.
    """

    event: Event
    other: Event | None
    different: bool
    gone: bool
    part: Part | None
    rank: int
    without: int


class Line(NamedTuple):
    """The events of one way, and how it ended (``follow``)."""

    events: list[Step]
    ended: str


def counts(event: Step, rank: int, other: int) -> bool:
    """Whether an event is one that both processes have to make."""
    if not isinstance(event, Event) or event.name in PAIRED:
        return False
    group = event.group
    if group is None or group.ranks is None or len(group.ranks) < 2:
        return False
    return rank in group.ranks and other in group.ranks


def alike(one: Event, other: Event) -> bool:
    """Whether two processes' operations are the same one, in the same group."""
    together = one.group is not None and other.group is not None and one.group.key == other.group.key
    return one.name == other.name and together


def clash_of(one: Line, other: Line, rank: int, again: int, stage: Stage, part: Part | None) -> Clash | None:
    """The first event that only one of two lines has; ``None`` where they meet, or where what hides one of them cannot be known."""
    ours = [(at, event) for at, event in enumerate(one.events) if counts(event, rank, again)]
    theirs = [(at, event) for at, event in enumerate(other.events) if counts(event, rank, again)]
    turn = 0
    while turn < min(len(ours), len(theirs)) and alike(ours[turn][1], theirs[turn][1]):  # type: ignore[arg-type]
        turn += 1
    if turn == len(ours) and turn == len(theirs):
        return None
    mine = ours[turn][1] if turn < len(ours) else None
    yours = theirs[turn][1] if turn < len(theirs) else None
    assert mine is None or isinstance(mine, Event)  # noqa: S101 - others do not count
    assert yours is None or isinstance(yours, Event)  # noqa: S101
    if (mine is None and one.ended in _OPEN) or (yours is None and other.ended in _OPEN):
        return None
    start = (ours[turn - 1][0], theirs[turn - 1][0]) if turn else (0, 0)
    rests = (
        one.events[start[0] : ours[turn][0] if turn < len(ours) else None],
        other.events[start[1] : theirs[turn][0] if turn < len(theirs) else None],
    )
    hidden = [any(isinstance(node, Hole) and matters(node, stage) for node in rest) for rest in rests]
    if part is None:
        ends = (ours[turn][0] if turn < len(ours) else len(one.events), theirs[turn][0] if turn < len(theirs) else None)
        part = _parting(one.events[: ends[0]], other.events[: ends[1]])
    later = {
        "mine": mine is not None and any(alike(mine, event) for _, event in theirs[turn + 1 :]),  # type: ignore[arg-type]
        "yours": yours is not None and any(alike(yours, event) for _, event in ours[turn + 1 :]),  # type: ignore[arg-type]
    }
    if yours is None or (mine is not None and later["yours"] and not later["mine"]):
        assert mine is not None  # noqa: S101 - one of them is
        return None if hidden[1] else Clash(mine, yours, False, other.ended == "exit", part, rank, again)
    if mine is None or (later["mine"] and not later["yours"]):
        return None if hidden[0] else Clash(yours, mine, False, one.ended == "exit", part, again, rank)
    return None if any(hidden) else Clash(mine, yours, True, False, part, rank, again)


def _parting(one: list[Step], other: list[Step]) -> Part | None:
    """The last test of the rank that sent two processes different ways."""
    ours = [node for node in one if isinstance(node, Took)]
    theirs = [node for node in other if isinstance(node, Took)]
    for mine, yours in zip(ours, theirs, strict=False):
        if mine.span != yours.span or mine.chain != yours.chain:
            return None
        if mine.way != yours.way:
            found = Part(mine.span, mine.chain, "", None, False)
            rest = _parting(*_behind(one, other, mine, yours))
            return rest or found
    return None


def _behind(one: list[Step], other: list[Step], mine: Took, yours: Took) -> tuple[list[Step], list[Step]]:
    """What comes behind the place where two ways meet again: the first test that both of them come to after a parting."""
    rest = one[one.index(mine) + 1 :], other[other.index(yours) + 1 :]
    places = {(node.span, node.chain): at for at, node in reversed([*enumerate(rest[1])]) if isinstance(node, Took)}
    for at, node in enumerate(rest[0]):
        if isinstance(node, Took) and (node.span, node.chain) in places:
            return rest[0][at:], rest[1][places[node.span, node.chain] :]
    return [], []


class _Leading(frozenset[str]):
    """The names of functions that may lead to an operation."""

    __slots__ = ()


def matters(hole: Hole, stage: Stage) -> bool:
    """Whether a call that we don't see into may lead to an operation."""
    project = stage.project
    if _Leading not in project.kept:
        project.kept[_Leading] = _Leading(_leading(project))
    return not hole.name or hole.name in project.kept[_Leading]


def _leading(project: Project) -> set[str]:
    """Names of functions with an operation, and of those that call something so named."""
    found: set[str] = set()
    waiting = {(one.file, one.function) for one in Collectives.of_project(project).operations.values()}
    waiting |= {(site.file, site.site.function) for word in ("send", "recv") for site in project.sites(word)}
    while waiting:
        names = {_name_of(project, file, function) for file, function in waiting if function >= 0} - found
        found |= names
        waiting = {(site.file, site.site.function) for name in names for site in project.sites(name)}
    return found


def _name_of(project: Project, file: str, function: int) -> str:
    module = project.module(file)
    definition = module.functions[function]
    if definition.name in ("__init__", "__call__", "__enter__", "__exit__", "forward") and definition.owner >= 0:
        return module.classes[definition.owner].name
    return definition.name
