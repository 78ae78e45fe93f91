"""How a batch is divided into micro batches while it grows.

As ``ConstantNumMicroBatchesCalculator`` and ``RampupBatchsizeNumMicroBatchesCalculator`` compute it
(``megatron/core/num_microbatches_calculator.py``, before core 0.7 ``megatron/microbatches.py``).
"""

from __future__ import annotations

from distlint.frameworks.megatron.sizes import Given, computed, size
from distlint.model.value import Value

RAMP = "rampup_batch_size"
_MAX_STEPS = 10_000


def batch_names(given: Given, data_parallel: Value) -> dict[str, Value]:
    """The derived names about batches: how many micro batches a step has, and the three numbers of a ramp."""
    ramp = given.read(RAMP)
    micro, written = given.read("micro_batch_size"), given.read("global_batch_size")
    whole = computed(_whole, written, micro, data_parallel) if written.is_absent else written
    return {
        "whole_batch": whole,
        "micro_batches": computed(_micro_batches, whole, micro, data_parallel, ramp),
        "ramp_start": computed(lambda ramp: _number(ramp, 0), ramp),
        "ramp_step": computed(lambda ramp: _number(ramp, 1), ramp),
        "ramp_samples": computed(lambda ramp: _number(ramp, 2), ramp),
        "ramp_misfit": computed(_misfit, ramp, whole, micro, data_parallel),
    }


def _micro_batches(whole: object, micro: object, data_parallel: object, ramp: object) -> int | None:
    if ramp is not None:
        raise ValueError("the batch grows")
    share = size(micro) * size(data_parallel)
    if size(whole) % share:
        raise ValueError("the batch can't be divided")
    return size(whole) // share


def _whole(_: object, micro: object, data_parallel: object) -> int:
    """The global batch where none is written: one micro batch for each data-parallel rank."""
    return size(micro) * size(data_parallel)


def _number(ramp: object, place: int) -> int | None:
    if ramp is None:
        return None
    if not isinstance(ramp, (list, tuple)) or len(ramp) != 3:
        raise ValueError("a ramp has three numbers")
    # Releases before 0.18 read the words as they are, and make numbers of them later.
    return int(str(ramp[place]))


def _misfit(ramp: object, whole: object, micro: object, data_parallel: object) -> int | None:
    """The first batch size of a ramp that is no multiple of micro batch × data-parallel size; ``None`` without one."""
    if ramp is None:
        return None
    start, step = _number(ramp, 0), _number(ramp, 1)
    share, end = size(micro) * size(data_parallel), size(whole)
    if start is None or step is None or step <= 0 or start <= 0 or (end - start) // step > _MAX_STEPS:
        raise ValueError("is no ramp")
    return next((batch for batch in range(start, end + 1, step) if batch % share), None)
