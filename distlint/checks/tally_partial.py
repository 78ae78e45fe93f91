"""Sums over each rank's own part of the data that are brought together over some of the ranks only, and shown as those of all.

That a rank has a part of its own, and over whom a call goes, is what the rehearsal of the program shows; where a sum goes is followed
through the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.loaders import trains
from distlint.checks.spread_names import Region, called_name, calls_of, joining_calls, mentions, regions
from distlint.checks.tally_joined import own_names
from distlint.checks.tally_parts import Tally, related_of
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span
from distlint.rehearsal.entities import Group
from distlint.rehearsal.notes import DEALT_TO_ALL
from distlint.rehearsal.performance import Performance, Rehearsal
from distlint.rehearsal.stage import Event, Stage

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project

_OF_SOME = re.compile(
    r"rank|node|host|group|local|shard|replica|(?:^|[^a-z])(?:own|part|stage|tp|pp|dp|cp|ep)(?:[^a-z]|$)", re.IGNORECASE
)
"""Words by which a text says that a figure is that of some ranks."""
_JOINING = ("all_reduce", "reduce", "all_gather", "gather", "all_to_all", "broadcast", "scatter", "send", "isend")


class _Partial(NamedTuple):
    """The group of some ranks over which sums are brought together, and what is supposed of the program."""

    group: Group
    supposed: str


def partly_joined(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    """A finding where all that brings a tally together goes over the same part of the ranks, and the figure is shown."""
    project: Project = context.project
    names = own_names(project, tally.place, tally.names)
    if not names or trains(project, tally.place.file, tally.place.body):
        return
    found = [one for one in regions(project, tally.place.file, tally.place.function, names) if one.names]
    joined = [(region, call) for region in found for call in joining_calls(project, region)]
    if not joined or any(ir.encloses(tally.place.at, call.at) and one == found[0] for one, call in joined):
        return
    shown = next((span for region in found for span in _shown(context, region)), None)
    if shown is None:
        return
    spans = [ir.unpack(call.at, region.file) for region, call in joined]
    partial = _over_some(project, spans)
    if partial is None:
        return
    along = [f"`{name}`" for name in partial.group.along if isinstance(name, str)]
    where = f"along {' and '.join(along)}" if along else f"over the ranks {list(partial.group.ranks or ())}"
    yield context.finding(
        f"the sums of the ranks are brought together {where} only, but all ranks have parts of the data{partial.supposed}",
        spans[0],
        related=[*related_of(tally), Related(shown, "the figure is shown here")],
    )


def _shown(context: CheckContext, region: Region) -> Iterator[Span]:
    """The calls that show what the names of a region hold, and do not say that it is the figure of some ranks."""
    for call in calls_of(region.body(context.project)):
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if called_name(call) in context.parameters["shows"] and any(mentions(one, region.names) for one in given):
            texts = [part.value for part in below(call) if type(part) is ir.Constant and type(part.value) is str]
            if not any(_OF_SOME.search(text) for text in texts):
                yield ir.unpack(call.at, region.file)


def _over_some(project: Project, spans: list[Span]) -> _Partial | None:
    """The group, where a rehearsed program makes all of some calls over a part of the ranks, and none makes one over other ranks."""
    rehearsal = Rehearsal.of(project)
    found = None
    for first in rehearsal.every_performance():
        if not any(_leads(event, span) for stage in first.stages for event in stage.events for span in spans):
            continue
        other = rehearsal.again(first)
        group = _group_in(first, spans)
        more = _group_in(other, spans) if other is not None else group
        if group == "other" or more == "other":
            return None
        # a grid may need more processes than two
        if isinstance(more, Group):
            found = found or _Partial(group if isinstance(group, Group) else more, first.supposes())
    return found


def _group_in(performance: Performance, spans: list[Span]) -> Group | str:
    """The group of the first process, where each has a sum of its own part and joins it over some ranks and nobody else.

    ``other`` where that is not so, ``unknown`` where it can't be told.
    """
    groups: list[Group] = []
    for stage in performance.stages:
        made = [event for event in stage.events if any(_leads(event, span) for span in spans)]
        made = [event for event in made if event.name.startswith(_JOINING)]
        own = {event.group.ranks for event in made if event.group is not None and event.sure}
        if not all(any(_leads(event, span) for event in made) for span in spans) or None in own or not own:
            return "unknown"
        if any(event.group is None or not event.sure for event in made):
            return "unknown"
        partly = len(own) == 1 and len(next(iter(own)) or ()) < stage.world
        if not partly or not any(_has_own_part(stage, event) for event in made) or _joins_more(stage, made[-1]):
            return "other"
        groups += [event.group for event in made if event.group is not None]
    return groups[0] if len({group.along for group in groups}) == 1 else "other"


def _leads(event: Event, span: Span) -> bool:
    """Whether a call is an operation, or leads to it."""
    return event.span == span or span in event.chain


def _has_own_part(stage: Stage, event: Event) -> bool:
    """Whether a process brings what comes from rows that were dealt out to all processes."""
    dealt = stage.kept.get(DEALT_TO_ALL, ())
    looks = [look for look in event.seen.values() if isinstance(look, dict) and "source" in look]
    return any(look["source"] is not None and look["source"].span in dealt for look in looks)


def _joins_more(stage: Stage, last: Event) -> bool:
    """Whether a process joins something over other ranks, behind a call, that may be what the call gave."""
    own = set((last.group or stage.everyone).ranks or ())
    for event in stage.events[stage.events.index(last) + 1 :]:
        ranks = event.group.ranks if event.group is not None else None
        if not event.name.startswith(_JOINING) or (ranks is not None and set(ranks) <= own):
            continue
        looks = [look for look in event.seen.values() if isinstance(look, dict) and "source" in look]
        # what still is each process' own is something else
        if not looks or any(look["source"] is None for look in looks):
            return True
    return False
