"""Faults that the traces of rehearsed processes show, in the words of ``rank_faults``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.agreed_rounds import has_agreed_rounds
from distlint.checks.divergence import DivergenceView
from distlint.checks.divergence_state import SENT
from distlint.checks.loaders import loops_around
from distlint.checks.rank_faults import DIFFERENT, EXCEPTION, ROUNDS, SKIPPED
from distlint.checks.trace_lines import Clash, Part
from distlint.checks.traces import compared
from distlint.link.walking import below, bodies_of, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Related
from distlint.model.span import Span
from distlint.rehearsal.failing import OWN_FILES
from distlint.rehearsal.performance import Performance, Rehearsal
from distlint.rehearsal.stage import Event

if TYPE_CHECKING:
    from distlint.link.project import Project


class TraceFault(NamedTuple):
    """A fault with all that a finding says; ``name`` is the operation that some processes leave out, ``call`` where it is called.

    ``rounds`` is whether all of them come to it, some more often than others.
    """

    kind: str
    name: str
    call: tuple[str, int]
    span: Span
    message: str
    related: tuple[Related, ...]
    symbol: str
    rounds: bool = False


class TraceFaults(tuple[TraceFault, ...]):
    """The faults of a project."""

    __slots__ = ()

    @classmethod
    def of_project(cls, project: Project) -> TraceFaults:
        """Worked out once."""
        if cls not in project.kept:
            project.kept[cls] = cls(_faults(project))
        found: TraceFaults = project.kept[cls]
        return found


def _faults(project: Project) -> Iterator[TraceFault]:
    rehearsal = Rehearsal.of(project)
    seen: set[tuple[str, Span]] = set()
    for performance in rehearsal.every_performance():
        if performance.function >= 0 or performance.world < 2:
            continue
        clashes = [one for one in compared(project, performance).clashes if not _is_refused(performance, one)]
        found = [fault_of_clash(performance, clash) for clash in clashes if not _is_agreed(project, clash)]
        if found and not performance.told:
            other = rehearsal.again(performance)
            if other is not None:
                again = compared(project, other)
                places = {fault_of_clash(other, clash).span for clash in again.clashes}
                # uneven shares may come to as many batches each for one number of processes, where else nothing is wrong
                works = not places and other.complete and again.whole
                found = [fault for fault in found if fault.span in places or (works and fault.rounds)]
        new = [fault for fault in found if (fault.kind, fault.span) not in seen]
        seen.update((fault.kind, fault.span) for fault in new)
        yield from new


def fault_of_clash(performance: Performance, clash: Clash) -> TraceFault:
    """What is said of a clash."""
    event, part = clash.event, clash.part
    depth = len(part.chain) if part is not None else len(event.chain)
    inside = depth < len(event.chain)
    span = event.chain[depth] if inside else event.span
    related = []
    if part is not None:
        if part.why:
            related.append(Related(part.span, _parting(part)))
            if part.source is not None and part.source != part.span:
                related.append(Related(part.source, f"{part.why} comes in here"))
        else:
            related.append(Related(part.span, "the rank is tested here"))
    if inside:
        related.append(Related(event.span, f"comes to `{plain(event.name)}` here"))
    those, others, plural = _sides(performance, clash)
    if clash.other is not None and clash.other.span != event.span:
        verb = "come" if plural else "comes"
        related.append(Related(clash.other.span, f"{others} {verb} to `{plain(clash.other.name)}` here"))
    rounds = _is_more_often(performance, clash)
    return TraceFault(
        _kind(clash),
        event.name,
        (event.file, event.call.at),
        span,
        _message(performance, clash, those, others, plural) + performance.supposes(counts=event.repeated or rounds),
        tuple(related),
        plain(event.name),
        rounds,
    )


def _is_more_often(performance: Performance, clash: Clash) -> bool:
    """Whether the process that leaves an operation out makes the same call in other rounds."""
    event = clash.event
    return clash.rank != clash.without and any(
        stage.rank == clash.without
        and any((one.file, one.call.at) == (event.file, event.call.at) for one in stage.events)
        for stage in performance.stages
    )


def _is_refused(performance: Performance, clash: Clash) -> bool:
    """Whether rounds, or files, were counted for a number of processes that the program does not take (``assert n % world == 0``)."""
    return performance.refused and (
        _is_more_often(performance, clash) or (clash.part is not None and clash.part.why == OWN_FILES)
    )


def _is_agreed(project: Project, clash: Clash) -> bool:
    """Whether the ranks make a call as often as they agreed to by a collective: what that gives the rehearsal does not know.

    Nor does it know what processes have in common that hand on what they got from another.
    """
    if clash.part is not None and not clash.part.fails and _is_handed_on(project, clash.part.span):
        return True
    if clash.part is not None and not clash.part.is_loop:
        return False
    of = DivergenceView.of_project(project).of
    return any(
        has_agreed_rounds(around.loop, around.file, around.function, of)
        for event in (clash.event, clash.other)
        if event is not None
        for around in loops_around(project, event.file, event.function, event.call.at)
    )


def _is_handed_on(project: Project, span: Span) -> bool:
    """Whether the test at a place is about something that was made with what another rank sent, or about the keys of an item."""
    of = DivergenceView.of_project(project).of
    tests = (
        (part, function)
        for function, body in bodies_of(project.module(span.file))
        for statement in statements(body)
        for expr in expressions_of(statement)
        for part in below(expr)
        if ir.unpack(part.at, span.file) == span
    )
    for test, function in tests:
        found = of(test, span.file, function)
        if found.why == SENT or (not found.differs and any(map(_asks_for_key, below(test)))):
            return True
    return False


def _asks_for_key(expr: ir.Expr) -> bool:
    """Whether a test may ask for a key of a mapping in a list (``"error" in rows[-1]``): the same on all ranks, whatever is under it."""
    if type(expr) is not ir.Operation or expr.operators[0] not in ("in", "not in"):
        return False
    return type(expr.operands[0]) is ir.Constant and type(expr.operands[-1]) is ir.Subscript


def _parting(part: Part) -> str:
    """What a place where ranks part is called."""
    if part.fails:
        return f"an exception may be raised here on one rank and not on another: {part.why}"
    what = "the number of rounds" if part.is_loop else "what is tested here"
    return f"{what} differs from rank to rank: {part.why}"


def _kind(clash: Clash) -> str:
    if clash.part is not None and clash.part.fails:
        return EXCEPTION
    if clash.different:
        return DIFFERENT
    return ROUNDS if clash.part is not None and clash.part.is_loop else SKIPPED


def _sides(performance: Performance, clash: Clash) -> tuple[str, str, bool]:
    """What a message calls the ranks that make a call, the others, and whether the others are several."""
    if clash.rank == clash.without:
        return "some ranks", "another", False
    if clash.rank == 0 and len(performance.stages) > 1:
        return "rank 0", "the other ranks", True
    return f"rank {clash.rank}", f"rank {clash.without}", False


def _message(performance: Performance, clash: Clash, those: str, others: str, plural: bool) -> str:
    event, other = clash.event, clash.other
    verb = "" if plural else "s"
    if clash.part is not None and clash.part.fails:
        after = "" if other is None else f", while that one goes on to `{plain(other.name)}` {_where(other, event)}"
        return (
            f"an exception that only some ranks meet ({clash.part.why}) leads past the `{plain(event.name)}` call: "
            f"the others wait in it{after}"
        )
    if clash.different and other is not None:
        come = "come" if those == "some ranks" else "comes"
        if event.name == other.name and event.group is not None and event.group.span is not None:
            return (
                f"{those} {come} to `{plain(event.name)}` over the group made in line {event.group.span.line} while {others} "
                f"come{verb} to it over another group: each waits for the other"
            )
        return (
            f"{those} {come} to `{plain(event.name)}` while {others} come{verb} to `{plain(other.name)}` {_where(other, event)}: "
            "the two never meet"
        )
    if other is not None:
        after = f"{others} go{'' if plural else 'es'} on to `{plain(other.name)}` {_where(other, event)}"
    else:
        after = f"{others} {'end' + verb + ' without it' if clash.gone else 'never come' + verb + ' there'}"
    if clash.part is not None and clash.part.is_loop:
        why = f" ({clash.part.why})" if clash.part.why else ""
        return (
            f"the loop makes more rounds on some ranks than on others{why}: those with more of them wait in the "
            f"`{plain(event.name)}` call, {after}"
        )
    if clash.part is None and _is_more_often(performance, clash):
        return f"{those} makes the `{plain(event.name)}` call more often than {others}, but every rank has to: {after}"
    if clash.rank == clash.without and clash.part is not None:
        return f"some ranks make the `{plain(event.name)}` call and others don't ({clash.part.why}), but every rank has to: {after}"
    return f"{those} alone makes the `{plain(event.name)}` call, but every rank has to: {after}"


def _where(other: Event, event: Event) -> str:
    if other.file == event.file:
        return f"in line {other.span.line}"
    return f"in {other.file}:{other.span.line}"


def plain(name: str) -> str:
    """What an operation is called in a message: names of several libraries' operations carry the library in brackets."""
    return name.partition(" (")[0]
