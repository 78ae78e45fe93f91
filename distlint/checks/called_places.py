"""The calls that join places of a finding: where a fault lies in the order of things that happen in several functions."""

from __future__ import annotations

from collections.abc import Sequence

from distlint.link.modules import FunctionRef
from distlint.link.project import Project
from distlint.model import python as ir
from distlint.model.finding import Related
from distlint.model.span import Span

MAX_LEVELS = 4
"""A place further below the function that joins it with another than so many calls is told of without them."""

_Way = list[tuple[FunctionRef, Related | None]]


def joining_calls(project: Project, place: Span, others: Sequence[Related]) -> list[Related]:
    """Where the functions that hold the places of a finding are called, up to the function that comes to all of them.

    It is there that a reader sees the order. Functions that are called from several places have no such call, and none is told where
    all places stand in one function.
    """
    found: dict[Span, Related] = {}
    own = _way_up(project, place)
    for other in others:
        theirs = _way_up(project, other.span)
        met = next((ref for ref, _ in own if any(ref == one for one, _ in theirs)), None)
        for way in (own, theirs) if met is not None else ():
            for ref, call in way:
                if call is not None:
                    found.setdefault(call.span, call)
                if ref == met:
                    break
    told = {place, *(one.span for one in others)}
    return [one for span, one in found.items() if span not in told]


def _way_up(project: Project, place: Span) -> _Way:
    """The function that holds a place, and those above it that alone call the one before; each with that call."""
    ref = _function_around(project, place)
    way: _Way = [(ref, None)]
    while ref.index >= 0 and len(way) <= MAX_LEVELS:
        edges = project.call_graph.callers(ref)
        places = {(edge.file, edge.function, edge.call.at) for edge in edges}
        if len(places) != 1:
            break
        edge = edges[0]
        name = project.function(ref).name
        ref = FunctionRef(edge.file, edge.function)
        if any(ref == known for known, _ in way):
            break
        way.append((ref, Related(ir.unpack(edge.call.at, edge.file), f"`{name}` is called here")))
    return way


def _function_around(project: Project, place: Span) -> FunctionRef:
    """The innermost function of the project that holds a place; its module's top level where there is none."""
    spans = [ir.unpack(function.at, place.file) for function in project.module(place.file).functions]
    around = [
        (one.end_line - one.line, index)
        for index, one in enumerate(spans)
        if one.line <= place.line and place.end_line <= one.end_line
    ]
    return FunctionRef(place.file, min(around)[1] if around else -1)
