"""A model is spread over the devices of one process, or put onto one and the same, in a run where each process gets its share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.argument_loads import loads_with_argument, removal_plan
from distlint.checks.derivations import RANK_WORDS, derivation
from distlint.checks.execution import body_of
from distlint.checks.programs import brings_together, family
from distlint.checks.registry import CheckContext, check
from distlint.judge.wording import show
from distlint.link.abstract import Abstract, Instance, ObjectLeaf, options_of
from distlint.link.evaluate import Evaluator
from distlint.link.walking import guards_of
from distlint.model import python as ir
from distlint.model.document import Leaf, Mapping
from distlint.model.finding import Finding, Related, Severity
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

_ELSEWHERE = frozenset({"cpu", "mps", "mps:0"})
"""Where a model goes on a machine without such devices: says nothing of one that has several."""
_SEVERAL = re.compile(rf"{RANK_WORDS.pattern}|distribut|ddp|fsdp|parallel|single|multi", re.IGNORECASE)
"""Names of tests that may tell a run of several processes from one of a single process."""
_AVAILABLE = re.compile(r"available|cuda", re.IGNORECASE)


class _Devices(NamedTuple):
    """What a map may be, whatever way it is made."""

    options: tuple[object, ...]
    confidence: Confidence


@check("device-map-in-distributed")
def device_map_in_distributed(context: CheckContext) -> Iterator[Finding]:
    """Loads with ``argument`` one of ``values`` in runs of several processes that train with one of ``trainers``.

    A map of the whole object (``{"": device}``) counts as its device, an object of ``device`` as the text for it. ``signs`` are words of
    programs for several processes.
    """
    project: Project = context.project
    trained = {found.file for found in project.calls_to(set(context.parameters["trainers"]))}
    if not trained:
        return
    for found, expr in loads_with_argument(context, project):
        for run in project.runs_reaching(found.file):
            count = run.world_size
            if not count.options or not all(isinstance(n, int) and n > 1 for n in count.options):
                continue
            value = _wrong(context, project.evaluator(run), found, expr)
            if value is not None and trained & project.closure(run.script_file):
                yield context.finding(
                    f"`{context.parameters['argument']}` is {value.options[0]!r} in a run of {show(count)} processes",
                    ir.unpack(expr.at, found.file),
                    related=[Related(run.span, f"{show(count)} processes are started here")],
                    confidence=min(value.confidence, count.confidence),
                    plan=removal_plan(context, found),
                    symbol=context.parameters["argument"],
                    runs=(f"{run.span.file}:{run.span.line}",),
                )
        if not project.runs_reaching(found.file) and brings_together(project, found.file, context.parameters["signs"]):
            yield from _without_launch(context, found, expr, trained)


def _without_launch(context: CheckContext, found: CallSite, expr: ir.Expr, trained: set[str]) -> Iterator[Finding]:
    """A warning where nothing says how the program is started, but it has a word about several processes."""
    project: Project = context.project
    value = _wrong(context, project.evaluator(None), found, expr)
    if value is not None and trained & family(project, found.file):
        yield context.finding(
            f"`{context.parameters['argument']}` is {value.options[0]!r} in a program for several processes",
            ir.unpack(expr.at, found.file),
            confidence=min(value.confidence, Confidence.LIKELY),
            severity=Severity.WARNING,
            symbol=context.parameters["argument"],
        )


def _wrong(context: CheckContext, evaluator: Evaluator, found: CallSite, expr: ir.Expr) -> _Devices | None:
    """The ``values`` that a map is wherever there are devices, if it can be nothing else there."""
    project, function = evaluator.project, found.site.function
    devices = _devices(context, evaluator, evaluator.ask(expr, found.file, function))
    if devices is None:
        return None
    here = tuple(one for one in devices.options if not (isinstance(one, str) and one in _ELSEWHERE))
    if len(devices.options) > 1:
        names = set(derivation(project, expr, found.file, function).names())
        if any(map(_SEVERAL.search, names)):
            return None
        if any(map(_AVAILABLE.search, names)):
            here = tuple(one for one in here if one is not None)
    values = context.parameters["values"]
    if not here or not all(type(one) in (str, int) and one in values for one in here):
        return None
    for guard in guards_of(body_of(project, found.file, function), found.site.call.at) or ():
        if guard.test is not None and any(
            map(_SEVERAL.search, derivation(project, guard.test, found.file, function).names())
        ):
            return None  # a program may well do something else where there are several processes
    return _Devices(here, devices.confidence)


def _devices(context: CheckContext, evaluator: Evaluator, given: Abstract) -> _Devices | None:
    """What a map may be; ``None`` where that is not known."""
    found: list[object] = []
    confidence = Confidence.CERTAIN
    for option in options_of(given):
        one: Abstract | None = option
        if isinstance(one, Mapping):
            one = one.entries[0].node if not one.open and [entry.key for entry in one.entries] == [""] else None
        if isinstance(one, ObjectLeaf):
            one = one.object
        if isinstance(one, Instance):
            found += _of_object(context, evaluator, one)
        elif isinstance(one, Leaf) and one.value.options:
            found += [_whole(value) for value in one.value.options]
            confidence = min(confidence, one.value.confidence)
        else:
            return None
    return _Devices(tuple(found), confidence)


def _whole(value: object) -> object:
    """The device of a map of the whole object."""
    return value[""] if isinstance(value, dict) and list(value) == [""] else value


def _of_object(context: CheckContext, evaluator: Evaluator, made: Instance) -> tuple[object, ...]:
    """The texts for an object that stands for a device; the object itself where it is none, or not known."""
    if evaluator.instance_name(made) != f"{context.parameters['device']}()" or made.part:
        return (made,)
    kind, index = (
        evaluator.argument(made.call, name, at, made.frame, made.state) for at, name in enumerate(("type", "index"))
    )
    if not isinstance(kind, Leaf) or not kind.value.options:
        return (made,)
    if index is None:
        return kind.value.options
    number = index.value.only if isinstance(index, Leaf) and index.value.is_known else None
    return tuple(f"{one}:{number}" if type(number) is int else made for one in kind.value.options)
