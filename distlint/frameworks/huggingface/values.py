"""What Accelerate and Transformers tell of a process, and which of their results are the same on all processes."""

from __future__ import annotations

_STATES = (
    "accelerate.Accelerator()",
    "accelerate.PartialState()",
    "accelerate.state.PartialState()",
    "accelerate.state.AcceleratorState()",
    "accelerate.AcceleratorState()",
)
_PLACES = (
    ("is_main_process", "main"),
    ("is_local_main_process", "local-main"),
    ("is_last_process", "last"),
    ("process_index", "rank"),
    ("local_process_index", "local-rank"),
    ("num_processes", "world"),
)
RANK_SEEDS = (("accelerate.utils.set_seed", "device_specific", 1),)
"""accelerate 1.15.0, ``utils/random.py``: the number of the process is added to the seed."""

_TRAINERS = ("transformers.Trainer()", "transformers.Seq2SeqTrainer()", "trl.SFTTrainer()")

_OF_ARGUMENTS = (
    ("local_rank", "local-rank"),
    ("process_index", "rank"),
    ("local_process_index", "local-rank"),
    ("world_size", "world"),
    ("should_save", "main"),
    ("should_log", "main"),
)
_OF_CONTROL = (("should_save", "told"), ("should_log", "told"))
"""Flags of ``TrainerControl``, which say to every process that it is time for something (``trainer_callback.py``): no place in the job."""
_OF_STATE = (("is_world_process_zero", "main"), ("is_local_process_zero", "local-main"))

RANK_SOURCES = (
    *((f"{state}.{name}", kind) for state in _STATES for name, kind in _PLACES),
    *((f"accelerate.Accelerator().state.{name}", kind) for name, kind in _PLACES),
    *((f"transformers.TrainerControl().{name}", kind) for name, kind in _OF_CONTROL),
    *(
        (f"transformers.{name}().{attribute}", kind)
        for name in ("TrainingArguments", "Seq2SeqTrainingArguments")
        for attribute, kind in _OF_ARGUMENTS
    ),
    *(
        (f"{trainer}.{prefix}{attribute}", kind)
        for trainer in _TRAINERS
        for prefix, attributes in (
            ("", _OF_STATE),
            ("state.", _OF_STATE),
            ("args.", _OF_ARGUMENTS),
            ("accelerator.", _PLACES),
            ("accelerator.state.", _PLACES),
        )
        for attribute, kind in attributes
    ),
)

EVENED = (
    *((f"accelerate.Accelerator().{name}", "") for name in ("gather", "gather_for_metrics", "reduce", "check_trigger")),
    *(
        (f"accelerate.utils.{name}", "")
        for name in ("gather", "gather_object", "reduce", "broadcast", "broadcast_object_list")
    ),
    ("accelerate.utils.broadcast_object_list", "object_list:0"),
)
"""As ``FrameworkSpec.evened`` has them."""

DEALT = tuple(
    (f"accelerate.Accelerator().{name}", "the batches that `prepare` gives each rank")
    for name in ("prepare", "prepare_data_loader")
)
"""As ``FrameworkSpec.dealt`` has them."""

HANDED = tuple(
    (f"transformers.{trainer}", method, position, "the batch that each rank gets")
    for trainer in ("Trainer", "Seq2SeqTrainer")
    for method, position in (("compute_loss", 2), ("training_step", 2), ("prediction_step", 2))
)
"""As ``FrameworkSpec.handed`` has them."""

VARYING = tuple(
    (f"{trainer}.{name}", "the batch that each rank gets")
    for trainer in ("transformers.Trainer()", "transformers.Seq2SeqTrainer()", "trl.SFTTrainer()", "trl.DPOTrainer()")
    for name in ("compute_loss", "prediction_step")
)
"""As ``FrameworkSpec.varying`` has them: what a trainer's own methods give for a batch (transformers 5.23.0, ``trainer.py``)."""
