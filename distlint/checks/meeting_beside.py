"""What is trained beside wrapped models, in the rehearsal of a program."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.meeting_uses import faults_of, past_wrapper_of_library, way_to
from distlint.checks.meetings import Suspicion
from distlint.model.finding import Related
from distlint.rehearsal.notes import BESIDE, GRADIENTS_BY_HAND, TRAINED_ALONE, WEIGHTS_BY_HAND
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Fault


def past_prepared(performance: Performance) -> Iterator[Suspicion]:
    """What is trained although no wrapper that a library made averages its gradients: the model as it was before, or a module beside it."""
    yield from past_wrapper_of_library(performance)
    yield from trained_beside_prepared(performance)


def trained_beside(performance: Performance) -> Iterator[Suspicion]:
    """A module is trained beside a wrapped one, and nobody averages its gradients."""
    for fault in _beside(performance, prepared=False):
        partly, what = fault.words["partly"], fault.words["what"]
        where = "in a model of which only other parts are wrapped" if partly else "beside a wrapped model"
        yield Suspicion(
            fault.span,
            f"this {what} is trained {where}, but nothing averages its gradients over the ranks",
            (
                Related(fault.words["wrapper"], "these parts are wrapped" if partly else "this model is wrapped"),
                *_used(fault),
                Related(fault.words["step"], "the optimizer steps it"),
                *way_to(fault),
            ),
            "",
        )


def trained_alone(performance: Performance) -> Iterator[Suspicion]:
    """A model without a wrapper is trained with each rank's part of the data, and nothing is ever brought together."""
    if any(stage.kept.get(GRADIENTS_BY_HAND) or stage.kept.get(WEIGHTS_BY_HAND) for stage in performance.stages):
        return
    everywhere = [{fault.span for fault in stage.faults if fault.kind == TRAINED_ALONE} for stage in performance.stages]
    for fault in faults_of(performance, TRAINED_ALONE):
        if all(fault.span in spans for spans in everywhere):
            source = fault.words["source"]
            yield Suspicion(
                fault.span,
                "this steps with the gradients of each rank's own part of the data: nothing wraps the model, or averages them",
                (
                    *(
                        (Related(source.span, "the data is divided over the ranks here"),)
                        if source.span is not None
                        else ()
                    ),
                    *way_to(fault),
                ),
                "step",
            )


def trained_beside_prepared(performance: Performance) -> Iterator[Suspicion]:
    """The same where a library has made the wrappers, and was never given the module."""
    for fault in _beside(performance, prepared=True):
        yield Suspicion(
            fault.span,
            f"this {fault.words['what']} is trained, but it was never given to `prepare`: "
            "its gradients are not averaged over the processes",
            (
                Related(fault.words["wrapper"], "it is not among what is prepared"),
                *_used(fault),
                Related(fault.words["step"], "the optimizer steps it"),
                *way_to(fault),
            ),
            "prepare",
        )


def _used(fault: Fault) -> Iterator[Related]:
    """Where what is trained is used, if that is known besides where it is made."""
    if fault.words["forward"] is not None and fault.words["forward"] != fault.span:
        what = "a part of it" if fault.words["what"] == "module" else "it"
        yield Related(fault.words["forward"], f"{what} is used here")


def _beside(performance: Performance, *, prepared: bool) -> Iterator[Fault]:
    """Parts that all processes train beside what is wrapped, by the program or by a library."""
    if any(stage.kept.get(GRADIENTS_BY_HAND) or stage.kept.get(WEIGHTS_BY_HAND) for stage in performance.stages):
        return
    everywhere = [{fault.span for fault in stage.faults if fault.kind == BESIDE} for stage in performance.stages]
    for fault in faults_of(performance, BESIDE):
        # what one rank trains for itself has no copies
        if fault.words["prepared"] is prepared and all(fault.span in spans for spans in everywhere):
            yield fault
