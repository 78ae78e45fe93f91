"""What is trained beside wrapped models, in the rehearsal of a program."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.meeting_uses import past_wrapper_of_library
from distlint.checks.meetings import Suspicion
from distlint.checks.told_faults import faults_of, way_to
from distlint.model.finding import Related
from distlint.rehearsal.notes import (
    BESIDE,
    GRADIENTS_BY_HAND,
    TAKEN,
    TAKEN_BROUGHT,
    TAKEN_PASSED,
    TAKEN_REPLACED,
    TRAINED_ALONE,
    WEIGHTS_BY_HAND,
)
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Fault, Stage


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


def taken_past(performance: Performance) -> Iterator[Suspicion]:
    """Weights of a wrapped model are changed by gradients that the program asked for itself, and that nobody averages."""
    by_hand = (GRADIENTS_BY_HAND, WEIGHTS_BY_HAND, TAKEN_BROUGHT)
    if any(stage.kept.get(key) for stage in performance.stages for key in by_hand):
        return
    everywhere = [{fault.span for fault in _taken(stage)} for stage in performance.stages]
    for fault in faults_of(performance, TAKEN):
        if all(fault.span in spans for spans in everywhere):
            how = "change the weights" if fault.words["by hand"] is not None else "are what the optimizer takes"
            yield Suspicion(
                fault.span,
                f"these gradients are each rank's own, as the wrapper averages those of backward passes only, and {how}",
                (
                    Related(fault.words["wrapper"].span, "the model is wrapped here"),
                    Related(fault.words["update"], "the weights of the ranks part here"),
                    *way_to(fault),
                ),
                "torch.autograd.grad",
            )


def _taken(stage: Stage) -> Iterator[Fault]:
    """Where gradients that were taken train the model: beside backward passes, a change by hand is a perturbation."""
    passed, back = stage.kept.get(TAKEN_PASSED, {}), stage.kept.get(TAKEN_REPLACED, {})
    for fault in stage.faults:
        if fault.kind == TAKEN and id(fault.words["wrapper"]) not in back:
            if fault.words["by hand"] is None or id(fault.words["wrapper"]) not in passed:
                yield fault


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
