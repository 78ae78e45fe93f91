"""Parameters that are trained, frozen, sharded or replaced behind the wrapper or the optimizer that was made of them."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.meeting_uses import averages_otherwise
from distlint.checks.meetings import Suspicion
from distlint.checks.told_faults import faults_of, told, way_to
from distlint.model.finding import Related
from distlint.rehearsal.notes import (
    FROZEN_BEHIND,
    GRADIENTS_BY_HAND,
    NEVER_STEPPED,
    PARTLY_FROZEN,
    REPLACED_BEHIND,
    SHARDED_BEHIND,
    THAWED_BEHIND,
    UNFILLED,
)
from distlint.rehearsal.performance import Performance


def frozen_behind(performance: Performance) -> Iterator[Suspicion]:
    """Parameters are frozen after their model was wrapped."""
    message = "these parameters are frozen after the model was wrapped: their gradients are waited for, and the second pass fails"
    says = {
        "wrapper": "the wrapper waits for what needs a gradient here",
        "backward": "this backward pass does not finish the reduction",
    }
    yield from told(performance, FROZEN_BEHIND, message, says, "DistributedDataParallel")


def partly_frozen(performance: Performance) -> Iterator[Suspicion]:
    """A model is sharded into flat parameters of which only a part is trained."""
    for fault in faults_of(performance, PARTLY_FROZEN):
        message = (
            f"`{fault.words['frozen']}` is frozen and `{fault.words['trained']}` is not, "
            "and both go into one flat parameter"
        )
        yield Suspicion(fault.span, message, way_to(fault), "FullyShardedDataParallel")


def thawed_behind(performance: Performance) -> Iterator[Suspicion]:
    """Parameters are trained that were frozen when their model was wrapped."""
    if averages_otherwise(performance):
        return
    message = (
        "parameters that were frozen when the model was wrapped are trained from here on: "
        "their gradients are not averaged over the ranks"
    )
    says = {
        "frozen": "they are frozen here",
        "wrapper": "the wrapper was not told of these parameters",
        "step": "the optimizer takes each rank's own gradients of them",
    }
    yield from told(performance, THAWED_BEHIND, message, says, "DistributedDataParallel")


def never_stepped(performance: Performance) -> Iterator[Suspicion]:
    """Parameters are trained that no optimizer has."""
    message = "these parameters are trained from here on, but the optimizer was made without them: their weights stay what they are"
    says = {
        "frozen": "they are frozen here",
        "made": "the optimizer is made here, of the parameters that need a gradient",
    }
    yield from told(performance, NEVER_STEPPED, message, says, "Trainer")


def sharded_behind(performance: Performance) -> Iterator[Suspicion]:
    """An optimizer has parameters that sharding has replaced, since it was made or since they were taken from the model."""
    for fault in faults_of(performance, SHARDED_BEHIND):
        words = fault.words
        related = [
            Related(words["sharded"], "the model is sharded here"),
            Related(words["step"], "the step changes parameters without gradients"),
        ]
        if words["taken"] is None:
            message = "the optimizer is made before the model is sharded, so it holds parameters that are not trained"
        else:
            message = (
                "the optimizer holds parameters that were taken before the model was sharded, and that are not trained"
            )
            related.insert(0, Related(words["taken"], "they are taken here"))
        yield Suspicion(fault.span, message, (*related, *way_to(fault)), "")


def replaced_behind(performance: Performance) -> Iterator[Suspicion]:
    """A layer was put into a model in place of one that the optimizer holds."""
    message = "the optimizer was made before this layer was put in: it steps the one that was there, and this one stays as it is"
    says = {"made": "the optimizer is made here", "step": "the step leaves the new layer as it is"}
    yield from told(performance, REPLACED_BEHIND, message, says)


def left_in_checkpoint(performance: Performance) -> Iterator[Suspicion]:
    """The moments of an optimizer stay in the checkpoint, and training goes on without them."""
    message = "the optimizer has no state yet that could be filled: its moments stay in the checkpoint, and training goes on without them"
    says = {
        "taken": "this state has no entries of any parameter",
        "made": "the optimizer is new here",
        "step": "it begins anew with this step",
    }
    yield from told(performance, UNFILLED, message, says)


def ignored_trained(performance: Performance) -> Iterator[Suspicion]:
    """Parameters that a sharded model ignores are trained, and nobody reduces their gradients."""
    if any(stage.kept.get(GRADIENTS_BY_HAND) for stage in performance.stages):
        return
    message = (
        "parameters that the sharded model ignores are trained, but their gradients are not averaged over the ranks"
    )
    yield from told(performance, "ignored parameters trained", message, {"step": "the optimizer steps them as well"})
