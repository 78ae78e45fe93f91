"""Paths that each rank works out for itself, at which the first rank alone writes, and all read.

Parameters: as those of ``unwaited_files``, but for ``waiting``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.divergence import DivergenceView
from distlint.checks.meeting_paths import missed_files
from distlint.checks.programs import family
from distlint.checks.rank_ways import only_rank_0_goes, ways_to
from distlint.checks.registry import CheckContext, check
from distlint.checks.unwaited_files import Access, accesses, all_come
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_PAIRS = 60
_FORMAT = re.compile("%-?[a-zA-Z]")
_FINE = re.compile("%-?[SfMsTXcN]|time_ns|uuid|random|token")


@check("own-paths")
def own_paths(context: CheckContext) -> Iterator[Finding]:
    """A finding for each place at which such a path comes to differ between the ranks."""
    project: Project = context.project
    reported: set[Span] = set()
    for drawn, made, read_at in missed_files(project):
        if not is_a_day(project, drawn):
            reported.add(drawn)
            yield _finding(context, drawn, made, read_at)
    starts = list(project.calls_to(set(context.parameters["starts"])))
    if not starts:
        return
    files = frozenset().union(*(family(project, one.file) for one in starts))
    writes = [(one, places) for one in accesses(context, "writes", files) if (places := _differing(project, one))]
    # what others write there as well is each rank's own, and meant to be
    shared = {place for one, places in writes if not _is_by_rank_0(project, one) for place in places}
    writes = [(one, places) for one, places in writes if _is_by_rank_0(project, one)]
    pairs = 0
    for read in accesses(context, "reads", files) if writes else ():
        places = _differing(project, read)
        for write, others in writes:
            common = [one for one in places if one in others and one not in shared]
            pairs += 1
            if pairs > MAX_PAIRS or not common or common[0] in reported or all_come(project, read, starts) is None:
                continue
            reported.add(common[0])
            yield _finding(context, common[0], write.site.span, read.site.span)


def _finding(context: CheckContext, drawn: Span, made: Span, read: Span) -> Finding:
    return context.finding(
        "each rank works out a path of its own here: what rank 0 alone writes there, the others look for elsewhere",
        drawn,
        related=[
            Related(made, "only rank 0 writes it"),
            Related(read, "the other ranks read here, where nobody wrote"),
        ],
    )


def _differing(project: Project, access: Access) -> tuple[Span, ...]:
    """Where a path comes to differ between the ranks; nothing if it is not known to."""
    figure = DivergenceView.of_project(project).of(access.path, access.site.file, access.site.site.function)
    return tuple(one for one in figure.places if not is_a_day(project, one)) if figure.differs else ()


def is_a_day(project: Project, place: Span) -> bool:
    """Whether a time is cut down to the day or the hour, which is the same for processes that start together."""
    lines = project.text_of(place.file).split("\n")[place.line - 1 : place.end_line]
    text = " ".join(lines)
    return "today()" in text or (_FORMAT.search(text) is not None and _FINE.search(text) is None)


def _is_by_rank_0(project: Project, write: Access) -> bool:
    """Whether rank 0 alone comes to a write, on every way there."""
    ways = list(ways_to(project, write.site.file, write.site.site.function, write.site.site.call.at))
    return bool(ways) and all(only_rank_0_goes(project, way) is not None for way in ways)
