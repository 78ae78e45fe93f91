"""What training arguments and accelerate's files say of a run's layout, batch, precision and memory.

Ranks: accelerate makes its mesh in the order (dp_replicate, dp_shard, cp, sp, tp), the last fastest
(``accelerate/parallelism_config.py``, ``_get_mesh``); everything else replicates the model over all processes or shards it over
them. FSDP's strategies as ZeRO's stages: FULL_SHARD 3, SHARD_GRAD_OP 2, NO_SHARD 0; the hybrid ones shard within a node
(``torch/distributed/fsdp/api.py``, ``ShardingStrategy``; accelerate's numbers 1 to 5 in ``FSDP_SHARDING_STRATEGY``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.frameworks.given import given, is_on
from distlint.frameworks.huggingface.model_configs import model_of
from distlint.model.layout import CONTEXT, DATA, PIPELINE, SEQUENCE, SHARD, TENSOR, Axis, Layout
from distlint.model.sketch import Sketch
from distlint.model.subject import Subject
from distlint.model.value import Value, absent, computed, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.launch import Run

_RELAYED_RANK, _TRAINER_RANK, _ACCELERATE_RANK = 3, 5, 7
_STAGE = re.compile(r"(?:zero|z|stage)[_-]?([0-3])(?!\d)", re.IGNORECASE)
_PARTIAL = ("lora", "peft", "requires_grad", "bitsandbytes", "load_in_", "freeze", "quantiz", "galore", "adapter",
            "tp_plan", "device_map", "parallelize", "devicemesh", "device_mesh", "fully_shard", "fullysharded")  # fmt: skip
"""Words in the program that tell that perhaps not all weights are trained as they are, or are spread by the program itself."""

_STRATEGIES = {
    "1": 3, "FULL_SHARD": 3, "2": 2, "SHARD_GRAD_OP": 2, "3": 0, "NO_SHARD": 0, "4": 3, "HYBRID_SHARD": 3, "5": 2,
    "HYBRID_SHARD_ZERO2": 2,
}  # fmt: skip


def training_sketch(project: Project, subject: Subject) -> Sketch | None:
    """What a subject of the kind ``training`` says of its run."""
    if subject.run is None:
        return None
    sketch = Sketch("huggingface", _TRAINER_RANK, world=subject.names["world_size"])
    strategy, sharded = _trainer_strategy(subject)
    sketch.layout = _replicated(sketch.world, subject.run, strategy)
    sketch.sharding, sketch.sharded_by = sharded, "FSDP" if sharded.only or sharded.is_unknown else ""
    elsewhere = _sharded_elsewhere(subject)
    if sharded.is_absent and elsewhere:
        sketch.sharding = sketch.offload_optimizer = sketch.offload_parameters = unknown(elsewhere)
    sketch.micro_batch = given(subject, "per_device_train_batch_size")
    sketch.accumulation = given(subject, "gradient_accumulation_steps")
    sketch.precision = _trainer_precision(subject)
    sketch.optimizer = given(subject, "optim", "adamw_torch")
    sketch.recompute = is_on(subject, "gradient_checkpointing").map(lambda on: "full" if on else "none")
    words = {name: setting.value for name, setting in subject.settings.items()}
    sketch.shape = model_of(project, subject.run, words)
    if sketch.shape is not None:
        length = next(
            (words[name].only for name in ("max_seq_length", "max_length", "model_max_length") if name in words), 0
        )
        sketch.shape = replace(sketch.shape, sequence=length if type(length) is int and length > 0 else 0)
    sketch.plain = _plain(project, subject)
    return sketch


def _sharded_elsewhere(subject: Subject) -> str:
    """What may say how the model is sharded beside the arguments, in words; ``""`` where nothing may."""
    setting = subject.settings.get("deepspeed")
    if setting is not None and not (setting.value.is_known and not setting.value.only):
        return "the DeepSpeed configuration is not known"
    launch = subject.run.launch if subject.run is not None else None
    if launch is not None and launch.launcher == "accelerate":
        return "accelerate's configuration is not known"
    return ""


def relayed_sketch(subject: Subject) -> Sketch | None:
    """What the options of a program say that hands them on to a trainer; its own defaults are not known."""
    if subject.run is None:
        return None
    sketch = Sketch("huggingface", _RELAYED_RANK, world=subject.names["world_size"])
    strategy, sharded = _trainer_strategy(subject)
    given_stage = _named_stage(subject)
    sketch.layout = _replicated(sketch.world, subject.run, strategy)
    if not given_stage.is_absent:
        sketch.sharding, sketch.sharded_by = given_stage, "ZeRO"
    elif not sharded.is_absent:
        sketch.sharding, sketch.sharded_by = sharded, "FSDP"
    for name, path in (("micro_batch", "per_device_train_batch_size"), ("accumulation", "gradient_accumulation_steps")):
        setting = subject.settings.get(path)
        if setting is not None:
            setattr(sketch, name, setting.value if setting.certain else unknown("given on some paths only"))
    if sketch.accumulation.is_absent:
        sketch.accumulation = unknown("the program has a default of its own")
    precision = _trainer_precision(subject)
    sketch.precision = absent() if precision.is_unknown else precision
    return sketch


def _named_stage(subject: Subject) -> Value:
    """The stage of a configuration that is given by a name such as ``zero3`` or ``zero2_offload`` (ms-swift)."""
    setting = subject.settings.get("deepspeed")
    if setting is None:
        return absent()
    word = setting.value.only
    match = _STAGE.search(str(word).rpartition("/")[2]) if isinstance(word, str) else None
    if match is None:
        return unknown("the configuration is not in the project", setting.span)
    return setting.value.map(lambda _: int(match.group(1)))


def accelerate_sketch(subject: Subject) -> Sketch | None:
    """What a subject of the kind ``accelerate`` says of the run that names it."""
    if subject.run is None:
        return None
    sketch = Sketch("accelerate", _ACCELERATE_RANK, world=subject.names["world_size"])
    precision = given(subject, "mixed_precision")
    if isinstance(precision.only, str):
        sketch.precision = precision.map(lambda word: "fp32" if str(word).lower() == "no" else str(word).lower())
    kind = given(subject, "distributed_type").only
    if kind == "MEGATRON_LM":
        sketch.layout = _megatron(subject, sketch.world)
        return sketch
    strategy = absent()
    launch = subject.run.launch
    if launch is not None and any(name in launch.options for name in ("use-fsdp", "use-deepspeed", "use-megatron-lm")):
        # options of the launcher win over its file
        return sketch
    if kind in ("MULTI_GPU", "NO"):
        sketch.sharding = known(0)
        sketch.offload_optimizer = sketch.offload_parameters = known(False)
    if kind == "FSDP":
        strategy = _accelerate_strategy(subject)
        sketch.sharding, sketch.sharded_by = strategy.map(lambda word: _STRATEGIES[word]), "FSDP"
        sketch.offload_parameters = is_on(subject, "fsdp_config.fsdp_offload_params")
        sketch.offload_optimizer = sketch.offload_parameters
        sketch.recompute = is_on(subject, "fsdp_config.fsdp_activation_checkpointing").map(
            lambda on: "full" if on else "none"
        )
        if sketch.recompute.only == "none":
            sketch.recompute = absent()
    if kind in ("FSDP", "MULTI_GPU", "NO", "MULTI_CPU"):
        sketch.layout = _mesh(subject, sketch.world, strategy) or _replicated(sketch.world, subject.run, strategy)
    return sketch


# Layouts -------------------------------------------------------------------------------------------------------------


def _replicated(world: Value, run: Run, strategy: Value) -> Layout:
    """All processes hold the model, whole or in shards; hybrid shards stay within a node."""
    if strategy.is_absent or strategy.only in ("3", "NO_SHARD", ""):
        return Layout((Axis(DATA, world),))
    if strategy.only in ("4", "5", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"):
        inner = run.launch.processes_per_node if run.launch is not None else unknown("no launch is known")
        nodes = run.launch.nodes if run.launch is not None else unknown("no launch is known")
        return Layout((Axis(SHARD, inner), Axis(DATA, nodes)), order="(replicate, shard)")
    return Layout((Axis(SHARD, world),))


def _mesh(subject: Subject, world: Value, strategy: Value) -> Layout | None:
    """The mesh of ``parallelism_config``."""
    if "parallelism_config" not in subject.settings:
        return None

    def size(name: str) -> Value:
        return given(subject, f"parallelism_config.parallelism_config_{name}_size", 1)

    tensor, sequence, context = size("tp"), size("sp"), size("cp")
    shard, replicas = size("dp_shard"), size("dp_replicate")
    axes = [
        Axis(TENSOR, tensor),
        Axis(SEQUENCE, sequence),
        Axis(CONTEXT, context),
        Axis(SHARD, shard),
        Axis(DATA, replicas),
    ]
    kept = tuple(axis for axis in axes if axis.size.only != 1)
    return Layout(kept or (Axis(DATA, world),), order="(dp_replicate, dp_shard, cp, sp, tp)")


def _megatron(subject: Subject, world: Value) -> Layout:
    tensor = given(subject, "megatron_lm_config.megatron_lm_tp_degree", 1)
    stages = given(subject, "megatron_lm_config.megatron_lm_pp_degree", 1)

    def rest(numbers: list[int]) -> int:
        if numbers[0] % (numbers[1] * numbers[2]):
            raise ValueError(f"{numbers[0]} processes are no multiple of {numbers[1]} × {numbers[2]}")
        return numbers[0] // (numbers[1] * numbers[2])

    return Layout(
        (Axis(TENSOR, tensor), Axis(DATA, computed([world, tensor, stages], rest)), Axis(PIPELINE, stages)),
        order="tp-cp-ep-dp-pp",
    )


# Values --------------------------------------------------------------------------------------------------------------


def _trainer_strategy(subject: Subject) -> tuple[Value, Value]:
    """The FSDP strategy of training arguments (``--fsdp "full_shard auto_wrap"``) and its level."""
    value = given(subject, "fsdp")
    if value.is_absent or (value.is_known and not value.only):
        return absent(), absent()
    if value.is_unknown:
        return (absent(), absent()) if "fsdp" not in subject.settings else (value, value)

    def name(text: object) -> str:
        words = text if isinstance(text, list) else str(text).replace(",", " ").split()
        return next(str(word).upper() for word in words if str(word).upper() in _STRATEGIES)

    try:
        strategy = value.map(name)
    except StopIteration:
        return unknown("the strategy is not known"), unknown("the strategy is not known")
    return strategy, strategy.map(lambda word: _STRATEGIES[word])


def _accelerate_strategy(subject: Subject) -> Value:
    block = "fsdp_config."
    version = given(subject, f"{block}fsdp_version")
    if version.only == 2:
        again = given(subject, f"{block}fsdp_reshard_after_forward", True)
        return again.map(lambda on: "FULL_SHARD" if on in (True, "true", "FULL_SHARD") else "SHARD_GRAD_OP")
    return given(subject, f"{block}fsdp_sharding_strategy", "FULL_SHARD").map(lambda word: str(word).upper())


def _trainer_precision(subject: Subject) -> Value:
    for name in ("bf16", "fp16"):
        value = given(subject, name)
        if value.only is True:
            return replace(value, options=(name,))
        if value.is_unknown:
            return unknown(f"`{name}`: {value.reason}" if value.reason else f"`{name}` is not known", *value.spans)
    # Without a switch accelerate's file or environment may ask for half precision.
    return absent()


def _plain(project: Project, subject: Subject) -> Value:
    """Whether the program trains all weights: nothing in its files or arguments speaks of anything else."""
    if subject.run is None or "" in subject.open_blocks:
        return unknown("arguments may be given where we can't see")
    whole = trains_all(project, subject.run, subject.settings)
    trains = given(subject, "do_train")
    if whole.only is True and trains.only is not True and _mention(project, subject.run, "do_train"):
        return unknown("whether it trains is an option")
    return whole


def trains_all(project: Project, run: Run, names: Iterable[str]) -> Value:
    """Whether neither the files of a run nor its options speak of adapters, frozen or quantized weights."""
    if any(word in name for name in names for word in _PARTIAL):
        return known(False)
    return known(not any(_mention(project, run, word) for word in _PARTIAL))


def _mention(project: Project, run: Run, word: str) -> bool:
    return any(word in project.text_of(file).lower() for file in project.closure(run.script_file))
