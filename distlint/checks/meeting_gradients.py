"""Over whom the processes of a rehearsal bring their gradients together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.checks.meetings import Suspicion
from distlint.checks.told_faults import faults_of, way_to
from distlint.model.finding import Related
from distlint.rehearsal.notes import UNHEARD
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event, Stage


def lonely_gradients(performance: Performance) -> Iterator[Suspicion]:
    """Gradients of each process's own rows are added up along a dimension of a grid in which it is alone, and nowhere else."""
    for stage in performance.stages:
        found = _alone(stage)
        if found is None:
            return
        event, source = found
        assert event.group is not None  # noqa: S101 - asked for
        names = ", ".join(f"`{name}`" for name in event.group.along)
        related = (Related(source.span, "the rows part here"),) if source.span is not None else ()
        yield Suspicion(
            event.span,
            f"gradients are added up along {names}, where each rank is alone, but the ranks have different rows ({source.why})",
            related,
            event.name,
        )


def unheard_layers(performance: Performance) -> Iterator[Suspicion]:
    """Layers in a reentrant checkpoint get no gradient, as none of its inputs needs one."""
    message = "none of the inputs of this reentrant checkpoint needs a gradient, so the layers in it get none"
    says = {
        "made": "a layer that is to be trained",
        "wrapper": "the wrapper waits for its gradients",
        "backward": "they do not come in this backward pass, and the next forward pass raises",
        "step": "this step leaves it as it is",
    }
    for fault in faults_of(performance, UNHEARD):
        related = [Related(fault.words[word], text) for word, text in says.items() if fault.words.get(word) is not None]
        yield Suspicion(fault.span, message, (*related, *way_to(fault)), "checkpoint")


def _alone(stage: Stage) -> tuple[Event, Any] | None:
    """The first call that adds up gradients of own rows on one process, where no call joins tensors of several."""
    first = None
    for event in stage.events:
        ranks = event.group.ranks if event.group is not None else None
        looks = [look for look in event.seen.values() if isinstance(look, dict) and "shape" in look]
        if ranks is None or (
            len(ranks) > 1 and (event.name.endswith(_PASSES) or any(look["shape"] != () for look in looks))
        ):
            return None
        own = next((look["source"] for look in looks if look["of gradient"] and look["source"] is not None), None)
        if (
            first is None
            and event.name == "all_reduce"
            and own is not None
            and event.group is not None
            and event.group.along
        ):
            first = (event, own) if len(ranks) == 1 else None
    return first


_PASSES = ("forward", "backward", "DistributedDataParallel()", "DistributedDataParallel", "step")
