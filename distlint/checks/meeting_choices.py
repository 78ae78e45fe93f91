"""What becomes of a job is decided by something of which each process has another."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from distlint.checks.execution import body_of
from distlint.checks.meetings import Suspicion
from distlint.checks.spread_names import JOINING, called_name, calls_of
from distlint.link.modules import FunctionRef
from distlint.model import python as ir
from distlint.model.finding import Related
from distlint.rehearsal.notes import OWN_FIGURE_DECIDES
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Stage

_MAX_DEPTH = 4
_COMPUTING = frozenset(
    {"builtins", "numpy", "scipy", "sklearn", "pandas", "tqdm", "einops", "nltk", "sacrebleu", "seqeval"}
)
"""Packages whose functions know of no other processes."""


def own_figures(performance: Performance) -> Iterator[Suspicion]:
    """A library decides by a figure that the program works out of each rank's own part of the data."""
    seen = set()
    for stage in performance.stages:
        for fault in stage.faults:
            if fault.kind != OWN_FIGURE_DECIDES or fault.span in seen:
                continue
            seen.add(fault.span)
            if _joins_unseen(stage, fault.words["method"]):
                continue
            source, place = fault.words["source"], fault.words["decides"]
            related = [Related(source.span, f"{source.why} comes in here")]
            if place is not None:
                related.append(Related(place, "it is named here"))
            yield Suspicion(
                fault.span,
                f"each rank has a figure of its own for `{fault.words['figure']}` ({source.why}), and it decides {fault.words['what']}",
                tuple(related),
                fault.words["figure"],
            )


def _may_join(stage: Stage, call: ir.Call, file: str) -> bool:
    """Whether the name of a call says that it may bring something together, or it comes from a package of which we know nothing."""
    if JOINING.search(called_name(call)) and not _picks(call):
        return True
    package = stage.project.modules.dotted(call.func, file).partition(".")[0]
    known = {name for spec in stage.project.specs for name in spec.modules}
    return bool(package) and package not in known | _COMPUTING | sys.stdlib_module_names


def _picks(call: ir.Call) -> bool:
    """Whether a call picks elements of a tensor (``scores.gather(1, labels)``): those that join processes get no such index."""
    first = call.args[0] if call.args else None
    along = type(first) is ir.Constant and isinstance(first.value, int)  # the dimension
    return called_name(call) == "gather" and (along or any(word.name == "index" for word in call.keywords))


def _joins_unseen(stage: Stage, function: FunctionRef, depth: int = 0) -> bool:
    """Whether a call that a function comes to may bring something together, by its name, but the rehearsal knows of no such call."""
    seen = {(event.file, event.call.at) for event in stage.events}
    for call in calls_of(body_of(stage.project, function.file, function.index)):
        targets = [edge.target for edge in stage.project.call_graph.targets(function.file, function.index, call)]
        if not targets and (function.file, call.at) not in seen and _may_join(stage, call, function.file):
            return True
        if depth < _MAX_DEPTH and any(_joins_unseen(stage, one, depth + 1) for one in targets if one != function):
            return True
    return False
