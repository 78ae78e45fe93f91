"""The collectives of Accelerate and of the Trainer of transformers.

Sources: accelerate 1.15.0, ``accelerator.py``, ``state.py``, ``utils/operations.py``; transformers 5.23.0, ``trainer.py``,
``training_args.py``.
"""

from __future__ import annotations

from dataclasses import replace

from distlint.model.framework import CollectiveSpec

_STATES = ("accelerate.Accelerator()", "accelerate.PartialState()", "accelerate.state.AcceleratorState()")

_BARRIERS = (
    *(CollectiveSpec(f"{state}.wait_for_everyone", "barrier") for state in _STATES),
    *(CollectiveSpec(f"{state}.main_process_first", "barrier", role="first") for state in _STATES),
    *(CollectiveSpec(f"{state}.local_main_process_first", "barrier", role="local-first") for state in _STATES),
    CollectiveSpec("accelerate.utils.wait_for_everyone", "barrier"),
    CollectiveSpec("transformers.TrainingArguments().main_process_first", "barrier", role="first"),
)

_ACCELERATOR = (
    # wraps models, which compares their parameters
    CollectiveSpec("accelerate.Accelerator().prepare", "prepare"),
    CollectiveSpec("accelerate.Accelerator().gather", "gather (accelerate)", tensor=("tensor", 0)),
    CollectiveSpec("accelerate.Accelerator().gather_for_metrics", "gather (accelerate)", tensor=("input_data", 0)),
    CollectiveSpec("accelerate.Accelerator().reduce", "reduce (accelerate)", tensor=("tensor", 0)),
    CollectiveSpec("accelerate.Accelerator().pad_across_processes", "pad_across_processes", tensor=("tensor", 0)),
    CollectiveSpec("accelerate.Accelerator().check_trigger", "check_trigger"),
    CollectiveSpec("accelerate.Accelerator().backward", "backward", tensor=("loss", 0)),
    # under an engine or sharding alone: with plain data parallelism a process writes its own files and goes on
    CollectiveSpec("accelerate.Accelerator().save_state", "save_state", configured="engine-states"),
    CollectiveSpec("accelerate.Accelerator().load_state", "load_state", configured="engine-states"),
    CollectiveSpec("accelerate.utils.gather", "gather (accelerate)", tensor=("tensor", 0)),
    CollectiveSpec("accelerate.utils.gather_object", "gather_object (accelerate)", tensor=("object", 0)),
    CollectiveSpec(
        "accelerate.utils.broadcast", "broadcast (accelerate)", tensor=("tensor", 0), root=("from_process", 1)
    ),
    CollectiveSpec(
        "accelerate.utils.broadcast_object_list",
        "broadcast_object_list (accelerate)",
        tensor=("object_list", 0),
        root=("from_process", 1),
    ),
    CollectiveSpec("accelerate.utils.reduce", "reduce (accelerate)", tensor=("tensor", 0)),
    CollectiveSpec("accelerate.utils.pad_across_processes", "pad_across_processes", tensor=("tensor", 0)),
)

_TRAINERS = ("transformers.Trainer()", "transformers.Seq2SeqTrainer()", "trl.SFTTrainer()", "trl.DPOTrainer()")

_TRAINER = tuple(
    CollectiveSpec(f"{trainer}.{name}", f"Trainer {name}")
    for trainer in _TRAINERS
    for name in ("train", "evaluate", "predict")
)

_WHOLE_SAVES = tuple(
    # gathers the weights of a model that is parted between the processes; any other the main process writes alone
    CollectiveSpec(f"{trainer}.save_model", "Trainer save_model", configured="parted-model")
    for trainer in _TRAINERS
)

_OWN_ACCELERATOR = tuple(
    replace(one, name=one.name.replace("accelerate.Accelerator()", f"{trainer}.accelerator"))
    for trainer in _TRAINERS
    for one in (*_BARRIERS, *_ACCELERATOR)
    if one.name.startswith("accelerate.Accelerator().") and not one.configured and not one.name.endswith(".prepare")
)
"""The accelerator that a trainer holds, which its subclasses use."""

COLLECTIVES = (*_BARRIERS, *_ACCELERATOR, *_TRAINER, *_WHOLE_SAVES, *_OWN_ACCELERATOR)

UNEVEN = ("accelerate.Accelerator().join_uneven_inputs",)

MAIN_ONLY = tuple(f"{state}.{name}" for state in _STATES for name in ("on_main_process", "on_local_main_process"))
