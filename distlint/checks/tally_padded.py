"""Figures over all ranks in which samples are counted twice that a sampler gave again to make the parts of one size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.checks.loaders import trains
from distlint.checks.spread_names import calls_of, is_joined, joins, regions
from distlint.checks.tally_meters import fed_meters
from distlint.checks.tally_parts import Tally
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span
from distlint.rehearsal.libraries import PADDED
from distlint.rehearsal.performance import Performance, Rehearsal

if TYPE_CHECKING:
    from distlint.checks.registry import CheckContext
    from distlint.link.project import Project

_MINDING = re.compile(
    r"\bpad|dedup|unique|duplicat|remainder|divisible|[\[(]\s*:\s*len\(|<\s*len\([\w.]*data", re.IGNORECASE
)
"""Words by which a program deals with such samples, or knows of them."""


_CUT = re.compile(r"\[\s*:\s*([A-Za-z_][\w.]*)\s*[\],]")
"""``rows[:count]``"""


class _Padded(dict[Span, tuple[int, str]]):
    """How many samples are parted at a place, where they do not come out even, and what is supposed of the program for that."""


def counted_twice(context: CheckContext, tally: Tally) -> Iterator[Finding]:
    """A finding for each sampler that repeats samples that are then counted."""
    project: Project = context.project
    if tally.sampler is None or trains(project, tally.place.file, tally.place.body):
        return
    rows, supposed = _padded(project).get(tally.sampler.span(), (0, ""))
    texts = [project.text_of(one) for one in (tally.sampler.frame.file, tally.place.file)] if rows else []
    if not rows or _minds("\n".join([*texts, *_called(project, tally)])):
        return
    meter = next(fed_meters(project, tally.place, joined=True), None)
    if meter is not None:
        yield _finding(context, tally, rows, supposed, None)
        return
    for region in regions(project, tally.place.file, tally.place.function, tally.names):
        if not is_joined(project, region):
            continue
        call = next((one for one in calls_of(region.body(project)) if joins(one, region.names)), None)
        where = None if call is None else ir.unpack(call.at, region.file)
        yield _finding(context, tally, rows, supposed, where)
        return


def _called(project: Project, tally: Tally) -> Iterator[str]:
    """The text of the functions of other files that the function of a tally calls: they may leave out what was given twice."""
    file, function = tally.place.file, tally.place.function
    for call in calls_of(body_of(project, file, function)):
        for edge in project.call_graph.targets(file, function, call):
            body = project.function(edge.target).body
            if edge.target.file != file and body:
                first, last = (ir.unpack(one.at, edge.target.file) for one in (body[0], body[-1]))
                yield "\n".join(project.text_of(edge.target.file).split("\n")[first.line - 1 : last.end_line])


def _minds(text: str) -> bool:
    """Whether a program deals with such samples: also where it cuts something off at a number, and does not use the rest."""
    return bool(_MINDING.search(text)) or any(
        re.search(rf"\[\s*{re.escape(name)}\s*:", text) is None for name in _CUT.findall(text)
    )


def _finding(context: CheckContext, tally: Tally, rows: int, supposed: str, call: Span | None) -> Finding:
    related = [Related(ir.unpack(tally.place.iterable.at, tally.place.file), "each rank goes through its part here")]
    if call is not None:
        related.append(Related(call, "this brings together what all ranks have counted"))
    return context.finding(
        f"{rows} samples do not come out even, so this gives some of them to two ranks, and they are counted twice{supposed}",
        tally.part,
        related=related,
    )


def _padded(project: Project) -> _Padded:
    """The places at which the samples are known not to come out even, for two processes and for more."""
    found = project.kept.get(_Padded)
    if found is None:
        found = project.kept[_Padded] = _Padded()
        rehearsal = Rehearsal.of(project)
        for performance in rehearsal.every_performance():
            if performance.usual and any(stage.has_left_over for stage in performance.stages):
                continue  # a number of rows that is only supposed shows nothing here
            places = _of(performance)
            other = None if performance.told or not places else rehearsal.again(performance)
            for span, rows in places.items():
                if other is None or span in _of(other):
                    found.setdefault(span, (rows, performance.supposes()))
    assert isinstance(found, _Padded)  # noqa: S101 - stored just above
    return found


def _of(performance: Performance) -> dict[Span, int]:
    places: dict[Span, int] = {}
    for stage in performance.stages[:1]:
        places.update(stage.kept.get(PADDED, {}))
    return places
