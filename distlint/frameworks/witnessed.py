"""Calls of a library's functions and classes that a run was seen to make where the text names none (``make()``, ``TABLE[name](...)``)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from distlint.link.abstract import Instance, node_of
from distlint.link.project import CallSite
from distlint.model import python as ir
from distlint.model.document import node_value
from distlint.model.launch import Run
from distlint.model.span import Span
from distlint.model.subject import Setting
from distlint.model.value import known
from distlint.rehearsal.witness import SeenCall, SeenName, arguments_of
from distlint.rehearsal.witnesses import Witnesses

if TYPE_CHECKING:
    from distlint.link.project import Project

Witnessed = tuple[CallSite, Run, SeenCall]


def witnessed_calls(project: Project, names: Collection[str] | None, places: Collection[Span]) -> Iterator[Witnessed]:
    """The calls of functions and classes by their canonical names (``None``: all), in each run, at other places than some."""
    if project.second_opinion is None:
        return
    for run in project.runs:
        witness = Witnesses.of(project).of_run(run)
        for (file, _), calls in sorted(witness.calls.items()) if witness is not None else ():
            for seen in calls:
                found = CallSite(file, ir.Site(seen.call, seen.function), seen.name)
                if (names is None or seen.name in names) and found.span not in places:
                    yield found, run, seen


def witnessed_names(project: Project) -> Iterator[tuple[SeenName, Run]]:
    """The names of libraries that runs were seen to ask for, and modules that they import, by texts that do not stand there."""
    for run in project.runs if project.second_opinion is not None else ():
        witness = Witnesses.of(project).of_run(run)
        for _, names in sorted(witness.names.items()) if witness is not None else ():
            yield from ((one, run) for one in names)


def witnessed_settings(
    project: Project, found: CallSite, run: Run, seen: SeenCall, signature: Sequence[str]
) -> tuple[dict[str, Setting], bool]:
    """What such a call got, as settings by parameter name, and whether there may be more."""
    settings = {}
    for name, value in arguments_of(seen, tuple(signature), project.evaluator(run), found.span):
        shown = node_value(node_of(value, found.span))
        if isinstance(value, Instance):
            shown = known(f"<{project.evaluator(run).instance_name(value)}>", found.span, value.span())
        place = seen.place_of(name, tuple(signature)) or found.span
        settings[name] = Setting(name, shown.at(place) if place != found.span else shown, place, place)
    return settings, seen.is_open


def rows_of_first(project: Project, run: Run | None, file: str, expr: ir.Expr) -> int | None:
    """How many rows the tensors of the first batch have where a run was seen to give a call a list of batches, or an iterator over it.

    ``None`` where that is not known, or they have not all as many.
    """
    witness = Witnesses.of(project).of_run(run) if project.second_opinion is not None else None
    seen = witness.values.get((file, expr.at)) if witness is not None else None
    seen = seen.value if seen is not None and seen.kind == "iterator" else seen
    batch = seen.value[0] if seen is not None and seen.kind == "list" and seen.value else None
    held = [one for _, one in batch.value[0]] if batch is not None and batch.kind == "table" else [batch]
    if batch is not None and batch.kind == "list":
        held = list(batch.value)
    rows = {one.value[0] if one is not None and one.kind == "tensor" else None for one in held}
    return rows.pop() if len(rows) == 1 else None
