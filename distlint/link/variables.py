"""Module-level variables as other places see them.

After the module ran, with what functions may have done to them since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.abstract import Abstract, Delayed, Frame, several
from distlint.link.flow import Env
from distlint.link.modules import FunctionRef
from distlint.link.registries import frame_of, registrations
from distlint.model.document import Leaf, Mapping, Sequence
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator

MAX_WRITERS = 8


def module_variable(
    evaluator: Evaluator, name: str, file: str, span: Span, names: tuple[str, ...] = (), place: Env | None = None
) -> Abstract:
    """A variable (or an attribute of it) of a module.

    At a place of the module itself, or when a function or another module reads it.
    """
    frame = evaluator.frame(file, -1)
    flow = evaluator.project.flow(file, -1)
    place = place or flow.exit or flow.entry
    first = evaluator.in_chain(name, frame, place, span, names)
    writers = evaluator.project.global_writers(file).get(name, ())
    if not writers or names:
        return first
    key = ("variable", file, name, id(place))
    return evaluator.guarded(key, lambda: _after_writers(evaluator, name, file, first, writers[:MAX_WRITERS], span))


def _registered(evaluator: Evaluator, name: str, filler: FunctionRef, before: Mapping, span: Span) -> Mapping | None:
    """A table after all that a function puts into it; ``None`` where its runs are not seen, or when they come makes a difference."""
    runs = registrations(evaluator.project, filler)
    table = before
    for run in runs:
        frame = frame_of(evaluator, filler, run, span)
        if frame is None:
            return None
        frame.bindings[name] = Delayed(value=table)
        evaluator.keep(frame)
        ends = evaluator.project.flow(filler.file, filler.index).ends()
        after = several([evaluator.in_chain(name, frame, end, span) for end in ends], span)
        if not isinstance(after, Mapping) or not _only_adds(table, after):
            return None
        table = after
    return table if runs else None


def _only_adds(before: Mapping, after: Mapping) -> bool:
    """Whether all that was in a table is there still: then who finds an entry finds this one, whenever it was put there."""
    kept = {entry.key: entry for entry in after.entries}
    return not after.open and all(kept.get(entry.key) is entry for entry in before.entries)


def _after_writers(
    evaluator: Evaluator, name: str, file: str, first: Abstract, writers: tuple[int, ...], span: Span
) -> Abstract:
    results: list[Abstract] = []
    placeholder = isinstance(first, Leaf) and first.value.is_known and first.value.only is None
    for index in writers:
        flow = evaluator.project.flow(file, index)
        declared = name in flow.outer
        if isinstance(first, Mapping) and not declared:
            filled = _registered(evaluator, name, FunctionRef(file, index), first, span)
            if filled is not None:
                first = filled
                continue
        if not declared and not isinstance(first, Mapping | Sequence):
            continue
        # Without a ``global`` statement the function changes the object that is there.
        inner = Frame(file, index, {} if declared else {name: Delayed(value=first)})
        evaluator.keep(inner)
        results.extend(evaluator.in_chain(name, inner, end, span) for end in flow.ends())
    # A variable that starts as ``None`` and is set by a function is read after that, or the program has an error of its
    # own.
    return several(results if placeholder and results else [first, *results], span)
