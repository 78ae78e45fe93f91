"""Faults in the order of use that the walk over a program shows (``protocol``), and those that its rehearsal shows besides.

The walk knows every way through a program; the rehearsal knows what values are: it goes through contexts, decorators and functions that
are handed on. A rule has the parameters of both checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from distlint.checks.cleared import in_order
from distlint.checks.meeting_uses import averages_otherwise
from distlint.checks.protocol import protocol
from distlint.checks.registry import CheckContext, check
from distlint.checks.rehearsed import rehearsed
from distlint.link.project import Project
from distlint.model.finding import Finding
from distlint.model.span import Span
from distlint.rehearsal.notes import PAST_WRAPPER, SCALED_USE, SHARDED_BEHIND, THAWED_BEHIND
from distlint.rehearsal.performance import Performance, Rehearsal

_NEEDLESS = {"stepped-unsummed": averages_otherwise}
"""Where a program, as its rehearsal shows, does in another way what the walk misses."""

KINDS = {
    "scaled-use": SCALED_USE,
    "past-wrapper": PAST_WRAPPER,
    "thawed-behind": THAWED_BEHIND,
    "sharded-behind": SHARDED_BEHIND,
}
"""Faults of which the rehearsal also notes where there are none, as it calls them."""


@check("protocol-rehearsed")
def protocol_rehearsed(context: CheckContext) -> Iterator[Finding]:
    """What the walk finds, and what the rehearsal finds at other places."""
    known = set()
    walked = list(protocol(context))
    kind = KINDS.get(context.parameters["fault"])
    # of an assignment the walk takes all, the rehearsal its target
    fits = {_start(span) for span in in_order(context.project, kind)} if walked and kind else set()
    otherwise = _NEEDLESS.get(context.parameters["fault"])
    files = _files_of(context.project, otherwise) if walked and otherwise else frozenset()
    for finding in walked:
        if _start(finding.span) in fits or finding.span.file in files:
            continue
        known |= {(one.file, one.line) for one in (finding.span, *(other.span for other in finding.related))}
        yield finding
    for finding in rehearsed(context):
        if (finding.span.file, finding.span.line) not in known:
            yield finding


def _start(span: Span) -> tuple[str, int, int]:
    return span.file, span.line, span.column


def _files_of(project: Project, holds: Callable[[Performance], bool]) -> frozenset[str]:
    """The files of the programs of which something holds when they are rehearsed."""
    files: set[str] = set()
    for performance in Rehearsal.of(project).every_performance():
        if holds(performance):
            for stage in performance.stages:
                files.update((*(ref.file for ref in stage.visited), *stage.modules))
    return frozenset(files)
