"""What processes do with objects that are not in a state for it: groups, gradients, weights and states, too early or too late."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.execution import body_of
from distlint.checks.meetings import Suspicion
from distlint.checks.spread_names import called_name
from distlint.checks.told_faults import faults_of, told, way_to
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Related
from distlint.rehearsal.amounts import brings_much, is_small
from distlint.rehearsal.names import MISNAMED, NOT_FOUND
from distlint.rehearsal.notes import (
    AVERAGED_BEHIND,
    CONVERTED_BEHIND,
    COPIED_EARLY,
    GRADIENTS_BY_HAND,
    GRAPH_CHANGED,
    KEPT_BY_EACH,
    LEFT_EMPTY,
    LEFT_OUT,
    LOADS,
    OWN_NORM,
    OWN_OVERFLOWS,
    PARTS_TAKEN,
    PAST_WRAPPER,
    READY_TWICE,
    REDRAWN,
    SCALED_USE,
    SCALER_ORDER,
    STATE_LOADED,
    STATES_LOADED,
    STEPS_UNTOUCHED,
    UNREDUCED,
    UNSUMMED,
)
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.stage import Event, Fault, Stage
from distlint.rehearsal.values import Items, Table, Tensor

_START = "init_process_group"
_OTHER_NAMES = "the names of the wrapped model begin with `module.`, those of the model do not"
MOST_NAMED = 3
"""Layers that a message names."""


def before_start(performance: Performance) -> Iterator[Suspicion]:
    """Something needs the group of all processes, which the program starts later only."""
    if not any(called_name(event.call) == _START for stage in performance.stages for event in stage.events):
        return  # who starts a group for it is not known
    for fault in faults_of(performance, "group before its start"):
        name = fault.event.name
        message = f"`{name}` needs the process group, which nothing has started yet"
        yield Suspicion(fault.span, message, way_to(fault), name)


def after_end(performance: Performance) -> Iterator[Suspicion]:
    """Something needs a group that was destroyed."""
    for fault in faults_of(performance, "group after its end"):
        name, ended = fault.event.name, fault.words["ended"]
        related = (Related(ended, "the group is destroyed here"),) if ended is not None and ended != fault.span else ()
        again = " (this call was made before)" if ended == fault.span else ""
        what = "needs the process group, which is" if fault.words["whole"] else "is given a group of processes that was"
        message = f"`{name}` {what} destroyed before{again}"
        yield Suspicion(fault.span, message, (*related, *way_to(fault)), name)


def averaged_late(performance: Performance) -> Iterator[Suspicion]:
    """Gradients are averaged by hand behind the place where each process looked for overflows in its own."""
    for fault in faults_of(performance, "gradients averaged late"):
        yield Suspicion(
            fault.span,
            "gradients are averaged after `unscale_` has looked for overflows in those of each rank alone",
            (
                Related(fault.words["unscaled"], "each rank looks for overflows in its own gradients here"),
                *way_to(fault),
            ),
            fault.event.name,
        )


def copied_early(performance: Performance) -> Iterator[Suspicion]:
    """A copy of a model was made before a wrapper sent its weights from rank 0: each rank goes on with its own."""
    for fault in faults_of(performance, COPIED_EARLY):
        related = (
            Related(fault.words["wrapper"], "the model itself gets the weights of rank 0 here"),
            Related(fault.words["seed"], "each rank draws its first weights with a seed of its own"),
            Related(fault.words["forward"], "the copy is used here"),
        )
        message = "this copy is made before the wrapper sends the weights of rank 0, so each rank has another copy"
        yield Suspicion(fault.span, message, related, "deepcopy")


def averaged_behind(performance: Performance) -> Iterator[Suspicion]:
    """Gradients are averaged by hand behind the place where the optimizer took them."""
    for fault in faults_of(performance, AVERAGED_BEHIND):
        related = (
            Related(fault.words["step"], "the optimizer steps with each rank's own gradients here"),
            *way_to(fault),
        )
        message = (
            "gradients are averaged after the optimizer has stepped with those of each rank: the average is never used"
        )
        yield Suspicion(fault.span, message, related, fault.event.name)


def sharded_from_outside(performance: Performance) -> Iterator[Suspicion]:
    """A module is sharded whose parameters belong to a module around it that was sharded before."""
    for fault in faults_of(performance, "sharded from outside"):
        related = (Related(fault.words["first"], "the module around it is sharded here"), *way_to(fault))
        message = "this module is sharded after the one around it, which has taken its parameters already"
        yield Suspicion(fault.span, message, related, fault.event.name)


def sharded_bypassed(performance: Performance) -> Iterator[Suspicion]:
    """Layers of a sharded model are called while its parameters lie in parts."""
    for fault in faults_of(performance, "sharded model bypassed"):
        related = (
            Related(fault.words["first"], "the model is sharded here"),
            Related(fault.words["layer"], "this layer meets parameters in parts"),
            *way_to(fault),
        )
        message = "this call goes past the forward pass of a sharded model, so its parameters are not whole"
        yield Suspicion(fault.span, message, related, fault.event.name)


def put_in_late(performance: Performance) -> Iterator[Suspicion]:
    """A module is put into a model that was wrapped before, and nobody reduces gradients by hand."""
    if any(stage.kept.get(GRADIENTS_BY_HAND) for stage in performance.stages):
        return
    message = "this layer is put in after the model was wrapped, so its gradients are not averaged over the ranks"
    says = {"backward": "this backward pass averages the gradients of what was there"}
    yield from told(performance, "module put in late", message, says, "DistributedDataParallel")


def scaled_use(performance: Performance) -> Iterator[Suspicion]:
    """Gradients of a scaled loss are clipped, or an optimizer takes them as they are."""
    for fault in faults_of(performance, SCALED_USE):
        related = (Related(fault.words["first"], "the gradients are those of the scaled loss"), *way_to(fault))
        if fault.words["left"] is not None:
            related = (Related(fault.words["left"], "those of this optimizer are not unscaled before"), *related)
        step = fault.event.name == "step"
        message = "the optimizer steps past the scaler, with gradients that are still scaled"
        yield Suspicion(
            fault.span, message if step else "the gradients are clipped while they are still scaled", related, ""
        )


def stepped_unsummed(performance: Performance) -> Iterator[Suspicion]:
    """An optimizer takes gradients that `no_sync` left on their rank, and nothing else brings them, or the weights, together."""
    if averages_otherwise(performance):
        return
    for fault in faults_of(performance, UNSUMMED):
        related = (
            Related(fault.words["forward"], "the gradients of this forward pass stay on their rank"),
            Related(fault.words["wrapper"], "the model is wrapped here"),
            *way_to(fault),
        )
        message = (
            "the optimizer steps with gradients that `no_sync` has left on their rank: no pass after it sums them up"
        )
        yield Suspicion(fault.span, message, related, "no_sync")


def stepped_unreduced(performance: Performance) -> Iterator[Suspicion]:
    """An optimizer steps while a model sharded in place holds gradients that it was told not to reduce."""
    message = "the optimizer steps without gradients that the model was told not to reduce: they go into a later step"
    says = {
        "told": "the model is told not to reduce here",
        "backward": "the gradients of this backward pass are left aside",
        "wrapper": "the model is sharded here",
    }
    yield from told(performance, UNREDUCED, message, says)


def past_wrapper(performance: Performance) -> Iterator[Suspicion]:
    """An optimizer takes gradients of a loss that came out of the model inside a wrapper alone."""
    if averages_otherwise(performance):
        return
    for fault in faults_of(performance, PAST_WRAPPER):
        if fault.words["prepared"]:
            continue
        related = (
            Related(fault.words["wrapper"], "the model is wrapped here"),
            Related(fault.span, "the optimizer takes the gradients of its own rank only"),
            *way_to(fault),
        )
        message = "the loss is computed past the wrapper, so its gradients are not averaged over the ranks"
        yield Suspicion(fault.words["forward"], message, related, "DistributedDataParallel")


def past_wrapper_of_library(performance: Performance) -> Iterator[Suspicion]:
    """The same where a library has made the wrapper, and gave it back."""
    if averages_otherwise(performance):
        return
    for fault in faults_of(performance, PAST_WRAPPER):
        if not fault.words["prepared"]:
            continue
        related = (
            Related(fault.words["wrapper"], "what this gives back has to be used"),
            Related(fault.span, "the optimizer takes the gradients of its own process only"),
            *way_to(fault),
        )
        message = (
            "the loss is computed by the model as it was before: its gradients are not averaged over the processes"
        )
        yield Suspicion(fault.words["forward"], message, related, "prepare")


def averages_otherwise(performance: Performance) -> bool:
    """Whether a program averages gradients or weights itself, as far as that may be seen."""
    return any(stage.kept.get(GRADIENTS_BY_HAND) or _brings_together(stage) for stage in performance.stages)


def _brings_together(stage: Stage) -> bool:
    """Whether a process meets others over more than a few figures, which may be gradients or weights."""
    return any(brings_much(event) for event in stage.events)


def scaler_order(performance: Performance) -> Iterator[Suspicion]:
    """A gradient scaler is asked twice for what it does once between two updates, or to go by what it never looked for."""
    for fault in faults_of(performance, SCALER_ORDER):
        before, name = fault.words["before"], fault.event.name
        again = "the scaler steps an optimizer again without `update()` in between"
        if name == "unscale_":
            after = "a second time" if before == "unscaled" else "after the scaler has stepped it,"
            again = f"the optimizer is unscaled {after} without `update()` in between"
        if name == "update":
            again = "`update()` comes although the scaler has unscaled and stepped no optimizer since its last one"
            if before == "made":
                again = "`update()` comes although the scaler has unscaled and stepped no optimizer yet"
        related = (Related(fault.words["first"], f"it is {before} here"), *way_to(fault))
        yield Suspicion(fault.span, again, related, "")


def loaded_by_some(performance: Performance) -> Iterator[Suspicion]:
    """Weights are loaded behind the wrap on some processes only, and all of them train on."""
    if not performance.complete:
        return
    for fault in faults_of(performance, "weights loaded behind the wrap"):
        others = [stage for stage in performance.stages if fault.span not in stage.kept.get(LOADS, ())]
        if any(stage.kept.get("backward") for stage in others) and not _may_have_sent(fault, others):
            related = [Related(fault.words["backward"], "training goes on from different weights"), *way_to(fault)]
            if fault.words["wrapper"] is not None:
                related.insert(
                    0, Related(fault.words["wrapper"], "the wrapper sends the weights of the first rank, once")
                )
            message = "only some ranks load these weights, after the wrapper made all ranks equal: the ranks train different models"
            yield Suspicion(fault.span, message, tuple(related), "load_state_dict")


def _may_have_sent(fault: Fault, others: list[Stage]) -> bool:
    """Whether what the processes did together since weights were loaded may have brought these to the others."""
    since, weights = fault.words["since"], fault.words["weights"]
    if since and weights is not None and all(map(is_small, weights)):
        return True
    return not all(any(map(_tells_figures, _met(event, others))) for event in since)


def _met(event: Event, others: list[Stage]) -> list[Event]:
    """An operation as the process sees that loads weights, and as others do: they bring tensors of one size."""
    asked = (event.place, event.turn)
    return [event, *(one for stage in others for one in stage.events if (one.place, one.turn) == asked)]


def _tells_figures(event: Event) -> bool:
    """Whether processes meet over a few figures of the program: what a wrapper sends is none of its arguments."""
    return any(isinstance(value, Tensor | Items) for value in event.values.values()) and _tells_little(event)


def state_loaded_by_some(performance: Performance) -> Iterator[Suspicion]:
    """The first process alone loads the state of what steps, nobody reaches for that on the others, and all step on."""
    if not performance.complete:
        return
    for fault in faults_of(performance, STATE_LOADED):
        loaded = (fault.span, fault.words["made"])
        others = [stage for stage in performance.stages if loaded not in stage.kept.get(STATES_LOADED, ())]
        taken = fault.words["taken"]
        if not any(taken in stage.kept.get(STEPS_UNTOUCHED, ()) for stage in others if stage.kept.get("backward")):
            continue
        if _sends_weights(performance.stages[0], fault.words["events"]):
            continue
        what = fault.words["what"]
        step = "all ranks step from here on, with another state on the first one"
        related = (Related(fault.words["step"], step), *way_to(fault))
        message = f"only some ranks load the state of this {what}: {_RESUMED[what]}"
        yield Suspicion(fault.span, message, related, "load_state_dict")


_OTHER_WAYS = "equal gradients move their weights differently"
_RESUMED = {
    "scheduler": f"with other learning rates {_OTHER_WAYS}",
    "scaler": "each rank divides the averaged gradients by a scale of its own",
    "optimizer": _OTHER_WAYS,
}
"""What comes of it, by what is loaded."""


def _sends_weights(stage: Stage, behind: int) -> bool:
    """Whether the first process may send its weights after steps, as one does whose model is in no wrapper."""
    if any(event.name.startswith("DistributedDataParallel") for event in stage.events):
        return False
    return any(event.name == "broadcast" and not _tells_little(event) for event in stage.events[behind:])


def redrawn(performance: Performance) -> Iterator[Suspicion]:
    """Weights are drawn anew after the wrapper made them equal, with random numbers of each process's own."""
    for fault in faults_of(performance, REDRAWN):
        related = [
            Related(fault.words["wrapper"], "the wrapper sends the weights of the first rank, once"),
            Related(fault.words["backward"], "training goes on from different weights"),
            *way_to(fault),
        ]
        if fault.words["seed"] not in (None, fault.span):
            related.append(Related(fault.words["seed"], "the ranks part here"))
        message = f"these weights are drawn anew after the wrapper made all ranks equal ({fault.words['why']})"
        yield Suspicion(fault.span, message, tuple(related), "")


def kept_by_each(performance: Performance) -> Iterator[Suspicion]:
    """A wrapped model computes with random numbers that each process drew for itself, and that its wrapper does not send."""
    for fault in faults_of(performance, KEPT_BY_EACH):
        name, why = fault.words["name"], fault.words["why"]
        related = [
            Related(fault.words["wrapper"], "the wrapper sends parameters and buffers of the first rank"),
            *way_to(fault),
        ]
        if fault.words["seed"] not in (None, fault.span):
            related.append(Related(fault.words["seed"], "the ranks part here"))
        message = f"each rank keeps its own `{name}` ({why}): it is neither a parameter nor a buffer, so nobody makes it equal"
        yield Suspicion(fault.span, message, tuple(related), name)


def parts_taken(performance: Performance) -> Iterator[Suspicion]:
    """Whole weights are changed by weights of a sharded model, of which each process holds a part."""
    message = "whole weights are changed by those of a sharded model here, of which each rank holds a part"
    yield from told(performance, PARTS_TAKEN, message, {"wrapper": "the model is sharded here"})


def converted_behind(performance: Performance) -> Iterator[Suspicion]:
    """A wrapped model gets another type, after which nothing tells its wrapper of gradients."""
    for fault in faults_of(performance, CONVERTED_BEHIND):
        related = (
            Related(fault.words["wrapper"], "the wrapper hooks into the gradients of the parameters as they are here"),
            Related(fault.words["backward"], "the gradients of this backward pass stay on their rank"),
            *way_to(fault),
        )
        message = (
            f"the model is converted from {fault.words['before']} to {fault.words['after']} after it was wrapped, "
            "so its gradients are not averaged over the ranks any more"
        )
        yield Suspicion(fault.span, message, related, "")


def own_norm(performance: Performance) -> Iterator[Suspicion]:
    """Each process scales the gradients of a sharded model by what it works out from its own part of them."""
    message = (
        "this is the part of the gradient that each rank holds: what follows from it scales the gradients by another "
        "factor on each rank"
    )
    yield from told(performance, OWN_NORM, message, {}, "to_local")


def own_overflows(performance: Performance) -> Iterator[Suspicion]:
    """A scaler decides by each process's part of the gradients of a sharded model."""
    message = (
        "this scaler looks for overflows in the part of the gradients that each rank holds: where one rank finds some, "
        "it leaves out its step and lowers its scale, and the others do not"
    )
    says = {"wrapper": "the model is sharded here", "step": "each rank decides for itself here"}
    yield from told(performance, OWN_OVERFLOWS, message, says)


def left_empty(performance: Performance) -> Iterator[Suspicion]:
    """A model computes with buffers of which nobody has written the memory."""
    for fault in faults_of(performance, LEFT_EMPTY):
        name = fault.words["name"]
        message = (
            f"`to_empty` leaves the buffer `{name}` with what happens to lie in memory: no state holds it, "
            "and nothing fills it before it is read"
        )
        related = (Related(fault.words["registered"], "it is registered with `persistent=False` here"), *way_to(fault))
        yield Suspicion(fault.span, message, related, "to_empty")


def _tells_little(event: Event) -> bool:
    """Whether processes that meet learn no more of each other than a few figures."""
    values = [value for name, value in event.values.items() if name not in ("group", "op")]
    return "object" not in event.name and all(is_small(value) for value in values if isinstance(value, Tensor | Items))


def other_names(performance: Performance) -> Iterator[Suspicion]:
    """A copy of a model's state is asked by the names of the wrapped model, or the other way round."""
    for fault in faults_of(performance, MISNAMED):
        yield Suspicion(fault.span, f"{_OTHER_NAMES}: no name is found here", way_to(fault), "module.")


def never_found(performance: Performance) -> Iterator[Suspicion]:
    """It is tested whether a copy of a model's state has a name, and all names that it is asked by are of another form."""
    for fault in faults_of(performance, NOT_FOUND):
        base = fault.words["base"]
        if isinstance(base, Table) and base.family != fault.words["family"]:
            continue  # other names came in later
        if not _knows_prefix(performance, fault):
            message = f"{_OTHER_NAMES}: no name is found here, and what is done for those that are found never is"
            yield Suspicion(fault.span, message, way_to(fault), "module.")


def _knows_prefix(performance: Performance, fault: Fault) -> bool:
    """Whether the function that asks has to do with the prefix: it may ask again by the other names."""
    body = body_of(performance.stages[0].project, fault.event.file, fault.event.function)
    return any(
        type(part) is ir.Constant and isinstance(part.value, str) and "module" in part.value
        for statement in statements(body)
        for expr in expressions_of(statement)
        for part in below(expr)
    )


def left_out(performance: Performance) -> Iterator[Suspicion]:
    """A backward pass leaves out layers whose gradients the wrapper waits for, and another pass follows."""
    yield from _left_out(performance, prepared=False)


def left_out_prepared(performance: Performance) -> Iterator[Suspicion]:
    """The same where a library has made the wrapper, and gave it back."""
    yield from _left_out(performance, prepared=True)


def _left_out(performance: Performance, *, prepared: bool) -> Iterator[Suspicion]:
    for fault in faults_of(performance, LEFT_OUT):
        if fault.words["prepared"] is not prepared:
            continue
        named = ", ".join(f"`{name}`" for name in fault.words["names"][:MOST_NAMED])
        chance = " for some batches" if fault.words["batches"] else " by chance" if fault.words["chance"] else ""
        yield Suspicion(
            fault.span,
            f"{'forward passes leave' if chance else 'a forward pass leaves'} {named} out{chance}:"
            " gradients of their parameters are waited for, and never come",
            tuple(_passes(fault, "this backward pass does not finish the reduction")),
            fault.words["names"][0],
        )


def changed_graph(performance: Performance) -> Iterator[Suspicion]:
    """With a static graph a backward pass reaches other layers than the first one did."""
    for fault in faults_of(performance, GRAPH_CHANGED):
        named = ", ".join(f"`{name}`" for name in fault.words["names"][:MOST_NAMED])
        yield Suspicion(
            fault.span,
            f"with `static_graph=True` all passes have to use the same layers, but {named} are used in some only",
            tuple(_passes(fault, "the first backward pass reached others")),
            fault.words["names"][0],
        )


def ready_twice(performance: Performance) -> Iterator[Suspicion]:
    """Parameters in reentrant checkpoints are ready twice in a backward pass."""
    for fault in faults_of(performance, READY_TWICE):
        why = (
            "the search for unused parameters does not look into this reentrant checkpoint, and takes its parameters for unused"
            if fault.words["search"]
            else "parameters in this reentrant checkpoint are used at another place as well, and get a gradient in two backward passes"
        )
        related = (
            Related(fault.words["wrapper"], "the wrapper takes each parameter to be ready once"),
            Related(fault.words["backward"], "this backward pass raises"),
            *way_to(fault),
        )
        yield Suspicion(fault.span, why, related, "checkpoint")


def _passes(fault: Fault, first: str) -> Iterator[Related]:
    """The places that a fault of a forward pass rests on."""
    words = fault.words
    if words["wrapper"] is not None:
        yield Related(words["wrapper"], "the wrapper waits for the gradients of all parameters")
    if words["made"] is not None and words["made"] != fault.span:
        yield Related(words["made"], "the layer is made here")
    if words["forward"] != fault.span:
        yield Related(words["forward"], "this forward pass leaves it out")
    yield Related(words["first"], first)
