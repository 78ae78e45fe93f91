"""What becomes of a job is decided by something of which each process has another."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from distlint.checks.execution import body_of
from distlint.checks.meetings import Suspicion
from distlint.checks.spread_names import JOINING, called_name, calls_of
from distlint.link.modules import FunctionRef
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.finding import Related
from distlint.rehearsal.notes import OWN_FIGURE_DECIDES, OWN_FLAG
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


def own_flags(performance: Performance) -> Iterator[Suspicion]:
    """A process tells a library's loop by something of its own what all have to do."""
    seen = set()
    for stage in performance.stages:
        for fault in stage.faults:
            if fault.kind == OWN_FLAG and fault.span not in seen:
                seen.add(fault.span)
                if any(_joins_unseen(stage, one, used=True) for one in fault.words["methods"]):
                    continue
                flag, source = fault.words["flag"], fault.words["source"]
                yield Suspicion(
                    fault.span,
                    f"`{flag}` is set on some processes only: they leave the common way, and the others wait for them",
                    (Related(source.span, f"differs between the processes: {source.why}"),) if source.span else (),
                    flag,
                )


def _may_join(stage: Stage, call: ir.Call, file: str) -> bool:
    """Whether the name of a call says that it may bring something together, or it comes from a package of which we know nothing."""
    if JOINING.search(called_name(call)) and not _picks(call) and not _asks(call):
        return True
    package = stage.project.modules.dotted(call.func, file).partition(".")[0]
    known = {name for spec in stage.project.specs for name in spec.modules}
    return bool(package) and package not in known | _COMPUTING | sys.stdlib_module_names


def _picks(call: ir.Call) -> bool:
    """Whether a call picks elements of a tensor (``scores.gather(1, labels)``): those that join processes get no such index."""
    first = call.args[0] if call.args else None
    along = type(first) is ir.Constant and isinstance(first.value, int)  # the dimension
    return called_name(call) == "gather" and (along or any(word.name == "index" for word in call.keywords))


def _asks(call: ir.Call) -> bool:
    """Whether a call asks for something that the process knows itself (``is_world_process_zero()``)."""
    return called_name(call).startswith(("is_", "has_", "get_")) and not call.args and not call.keywords


def _joins_unseen(stage: Stage, function: FunctionRef, depth: int = 0, *, used: bool = False) -> bool:
    """Whether a call that a function comes to may bring something together, by its name, but the rehearsal knows of no such call.

    A call of which the result is not ``used`` is told by its name alone then.
    """
    seen = {(event.file, event.call.at) for event in stage.events}
    body = body_of(stage.project, function.file, function.index)
    plain = {one.value.at for one in statements(body) if type(one) is ir.Evaluate} if used else set()
    for call in calls_of(body):
        targets = [edge.target for edge in stage.project.call_graph.targets(function.file, function.index, call)]
        if not targets and (function.file, call.at) not in seen:
            if call.at in plain and not JOINING.search(called_name(call)):
                continue
            if _may_join(stage, call, function.file):
                return True
        inner = depth + 1
        if inner <= _MAX_DEPTH and any(
            _joins_unseen(stage, one, inner, used=used) for one in targets if one != function
        ):
            return True
    return False
