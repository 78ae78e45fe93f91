"""Faults that show when a program is rehearsed: every process is followed with its own rank, and what they do is compared.

The rule's ``fault`` parameter says which (see ``_FAULTS``). A fault counts where it shows for the number of processes that the
project says, or for two and for more where it says nothing; for ``processes`` where the rule names so many, because two processes
are too few for the fault (a group of each rank's own is the whole job then).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from distlint.checks import (
    meeting_arguments,
    meeting_beside,
    meeting_choices,
    meeting_closures,
    meeting_copies,
    meeting_devices,
    meeting_gradients,
    meeting_groups,
    meeting_lists,
    meeting_loaders,
    meeting_messages,
    meeting_methods,
    meeting_optimizers,
    meeting_rows,
    meeting_shapes,
    meeting_states,
    meeting_statistics,
    meeting_uses,
    meeting_works,
)
from distlint.checks.called_places import joining_calls
from distlint.checks.meetings import Suspicion
from distlint.checks.registry import CheckContext, check
from distlint.model.finding import Finding
from distlint.model.value import Confidence
from distlint.rehearsal.performance import Performance, Rehearsal

_Fault = Callable[[Performance], Iterator[Suspicion]]
_FAULTS: dict[str, _Fault] = {
    "root": meeting_arguments.different_roots,
    "outside": meeting_arguments.roots_outside,
    "list-place": meeting_lists.misplaced_lists,
    "list-length": meeting_lists.wrong_lengths,
    "aliased": meeting_lists.aliased_slots,
    "none": meeting_works.nothing_used,
    "absent": meeting_works.absent_values,
    "operation": meeting_arguments.refused_operations,
    "kind": meeting_arguments.wrong_kinds,
    "copy": meeting_works.lost_results,
    "wait": meeting_works.not_waited,
    "order": meeting_works.own_orders,
    "group": meeting_groups.different_groups,
    "alone": meeting_gradients.lonely_gradients,
    "member": meeting_groups.outside_groups,
    "init": meeting_groups.different_starts,
    "message": meeting_messages.stuck_messages,
    "peer": meeting_messages.wrong_peers,
    "message-shape": meeting_messages.different_messages,
    "shape": meeting_shapes.different_sizes,
    "models": meeting_shapes.different_models,
    "dtype": meeting_shapes.different_types,
    "local-size": meeting_shapes.local_sizes,
    "slots": meeting_shapes.wrong_slots,
    "splits": meeting_shapes.wrong_splits,
    "changed-by-some": meeting_copies.changed_by_some,
    "averaged-by-each": meeting_copies.averaged_by_each,
    "followed": meeting_statistics.followed_statistics,
    "own-folder": meeting_states.own_folders,
    "figure-decides": meeting_choices.own_figures,
    "own-search": meeting_closures.own_searches,
    "own-flag": meeting_choices.own_flags,
    "own-seeds": meeting_loaders.own_seeds,
    "shuffled-sampler": meeting_loaders.shuffled_samplers,
    "rows-out-of-order": meeting_rows.rows_out_of_order,
    "exclusive-options": meeting_loaders.exclusive_options,
    "no-such-device": meeting_devices.no_such_device,
    "not-sent": meeting_states.not_sent,
    "save-under-way": meeting_states.save_under_way,
    "shards-saved": meeting_states.shards_saved,
    "never-taken": meeting_states.never_taken,
    "copied-early": meeting_uses.copied_early,
    "averaged-behind": meeting_uses.averaged_behind,
    "averaged-late": meeting_uses.averaged_late,
    "sharded-from-outside": meeting_uses.sharded_from_outside,
    "sharded-bypassed": meeting_uses.sharded_bypassed,
    "scaled-use": meeting_uses.scaled_use,
    "stepped-unsummed": meeting_uses.stepped_unsummed,
    "stepped-unreduced": meeting_uses.stepped_unreduced,
    "past-wrapper": meeting_uses.past_wrapper,
    "past-prepared": meeting_beside.past_prepared,
    "thawed-behind": meeting_optimizers.thawed_behind,
    "never-stepped": meeting_optimizers.never_stepped,
    "scaler-order": meeting_uses.scaler_order,
    "loaded-by-some": meeting_uses.loaded_by_some,
    "frozen-behind": meeting_optimizers.frozen_behind,
    "partly-frozen": meeting_optimizers.partly_frozen,
    "converted": meeting_uses.converted_behind,
    "kept-by-each": meeting_uses.kept_by_each,
    "parts-taken": meeting_uses.parts_taken,
    "redrawn": meeting_uses.redrawn,
    "sharded-behind": meeting_optimizers.sharded_behind,
    "replaced-behind": meeting_optimizers.replaced_behind,
    "older-method": meeting_methods.older_method,
    "left-in-checkpoint": meeting_optimizers.left_in_checkpoint,
    "state-loaded-by-some": meeting_uses.state_loaded_by_some,
    "taken-past": meeting_beside.taken_past,
    "trained-alone": meeting_beside.trained_alone,
    "trained-beside": meeting_beside.trained_beside,
    "ignored-trained": meeting_optimizers.ignored_trained,
    "other-names": meeting_uses.other_names,
    "never-found": meeting_uses.never_found,
    "left-empty": meeting_uses.left_empty,
    "own-norm": meeting_uses.own_norm,
    "own-overflows": meeting_uses.own_overflows,
    "left-out": meeting_uses.left_out,
    "left-out-prepared": meeting_uses.left_out_prepared,
    "graph-changed": meeting_uses.changed_graph,
    "ready-twice": meeting_uses.ready_twice,
    "unheard": meeting_gradients.unheard_layers,
    "put-in-late": meeting_uses.put_in_late,
    "before-start": meeting_uses.before_start,
    "after-end": meeting_uses.after_end,
    "packed": meeting_shapes.not_contiguous,
    "whole-divided": meeting_shapes.whole_divided,
}
_SIZED = frozenset({"list-length", "peer"})
"""Faults that do not count where they show with the defaults of options alone: these often have to agree with the number of processes."""
_CLOSE_SIZES = (4, 3)
_BY_COUNT = frozenset(
    {
        "stepped-unsummed",
        "stepped-unreduced",
        "own-overflows",
        "frozen-behind",
        "left-out",
        "left-out-prepared",
        "graph-changed",
    }
)
"""Faults that show in some number of rounds, which the number of processes decides: wrong is what is so with two, and with some others."""
_OF_MESSAGES = (meeting_messages.stuck_messages, meeting_messages.different_messages)


@check("rehearsed")
def rehearsed(context: CheckContext) -> Iterator[Finding]:
    """Findings of the kind that the rule asks for."""
    fault = _FAULTS[context.parameters["fault"]]
    rehearsal = Rehearsal.of(context.project)
    seen = set()
    processes = context.parameters.get("processes")
    for first in rehearsal.every_performance():
        if first.usual and context.parameters["fault"] in _SIZED:
            continue
        performance = first if processes is None else rehearsal.with_processes(first, processes)
        for suspicion in fault(performance):
            if suspicion.span in seen or suspicion.weak:
                continue
            if suspicion.supposed and not _shows_by_default(rehearsal, first, fault, suspicion):
                continue
            if processes is None and not _holds_for_more(rehearsal, performance, fault, suspicion):
                by_count = context.parameters["fault"] in _BY_COUNT
                if not by_count or not _holds_for_some(rehearsal, performance, fault, suspicion):
                    continue
            seen.add(suspicion.span)
            yield _finding(context, suspicion, first.supposes())
        nodes = rehearsal.on_nodes(first) if context.parameters.get("nodes") else None
        for suspicion in fault(nodes) if nodes is not None else ():
            if suspicion.span not in seen and not suspicion.weak:
                seen.add(suspicion.span)
                yield _finding(context, suspicion, " (on two nodes with two processes each)")


def _finding(context: CheckContext, suspicion: Suspicion, supposed: str) -> Finding:
    return context.finding(
        suspicion.message + supposed,
        suspicion.span,
        related=(*suspicion.related, *joining_calls(context.project, suspicion.span, suspicion.related)),
        confidence=Confidence.LIKELY,
        symbol=suspicion.symbol,
    )


def _holds_for_more(rehearsal: Rehearsal, performance: Performance, fault: _Fault, suspicion: Suspicion) -> bool:
    other = rehearsal.again(performance)
    if other is not None and fault in _OF_MESSAGES and meeting_messages.is_for_fewer(other):
        return True
    if fault is meeting_messages.stuck_messages:
        # who waits first, and where, may be others in a larger job: it gets nowhere either way
        return other is None or next(fault(other), None) is not None
    return other is None or any(one.span == suspicion.span for one in fault(other))


def _shows_by_default(rehearsal: Rehearsal, first: Performance, fault: _Fault, suspicion: Suspicion) -> bool:
    """Whether something is wrong in the program as it usually goes as well, where it is known how that is."""
    usual = None if first.usual else rehearsal.by_default(first)
    if usual is None:
        return True
    found = fault(usual)
    # who waits where is known by then, and may be said of another place
    return any(fault is meeting_messages.stuck_messages or one.span == suspicion.span for one in found)


def _holds_for_some(rehearsal: Rehearsal, performance: Performance, fault: _Fault, suspicion: Suspicion) -> bool:
    others = (rehearsal.with_processes(performance, size) for size in _CLOSE_SIZES)
    return any(one.span == suspicion.span for other in others for one in fault(other))
