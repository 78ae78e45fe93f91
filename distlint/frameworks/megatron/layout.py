"""What Megatron's settings say of a run's layout, batch, precision and memory.

The order of the ranks is that of ``megatron/core/parallel_state.py``: ``initialize_model_parallel`` gets the order
``tp-cp-ep-dp-pp`` from ``megatron/training/initialize.py``, or ``tp-cp-ep-pp-dp`` with ``--use-tp-pp-dp-mapping``, and
``RankGenerator`` numbers the ranks of the experts' layers by the same words. Older releases, Megatron-DeepSpeed
(``megatron/core/parallel_state.py``) and GPT-NeoX (DeepSpeed's ``PipeModelDataParallelTopology``) number them alike, with
DeepSpeed's sequence-parallel ranks in the place of tensor-parallel ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from distlint.frameworks.given import UNSEEN, given, is_on
from distlint.frameworks.megatron.settings import PARALLEL_SIZES
from distlint.frameworks.megatron.shapes import neox_shape, shape_of
from distlint.model.document import Mapping, node_value
from distlint.model.layout import (
    CONTEXT,
    DATA,
    EXPERT,
    EXPERT_DATA,
    EXPERT_TENSOR,
    PIPELINE,
    SEQUENCE,
    TENSOR,
    Axis,
    Layout,
)
from distlint.model.sketch import Sketch
from distlint.model.subject import Setting, Subject
from distlint.model.value import Value, absent, computed, known, unknown

_RANK = 30
_PLAIN_WORDS = ("freeze", "lora", "peft", "quant", "distill", "teacher", "modelopt", "bnb", "retriever")
"""Words in options that tell that not all weights are trained as stated."""

_SHARDING = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}
"""``--data-parallel-sharding-strategy`` (core 0.11 to 0.19) as ZeRO's stages."""

_SMALLER_STATES = ("fp8_param_gather", "use_precision_aware_optimizer", "fp4_param_gather", "optimizer_cpu_offload",
                   "cpu_optimizer", "use_legacy_models", "offload_optimizer_states", "cpu_offloading")  # fmt: skip


def sketch_of(subject: Subject) -> Sketch | None:
    """What a subject of the kind ``megatron`` says of its run."""
    carrier = subject.names["carrier"].only
    if carrier == "config":
        return None
    is_neox = carrier == "neox"
    if is_neox:
        subject = replace(subject, settings={**_other_keys(subject), **subject.settings})
    sketch = Sketch("megatron", _RANK, world=subject.names["world_size"])
    sketch.layout = layout_of(subject)
    if carrier == "groups":
        return sketch
    sketch.micro_batch = given(subject, "micro_batch_size", 1 if is_neox else None)
    if sketch.micro_batch.is_absent:
        sketch.micro_batch = given(subject, "batch_size")
    sketch.global_batch = given(subject, "global_batch_size")
    sketch.accumulation = given(subject, "gradient_accumulation_steps") if is_neox else absent()
    sketch.precision = _precision(subject)
    _add_sharding(subject, sketch)
    sketch.optimizer = given(subject, "optimizer.type" if is_neox else "ds.optimizer")
    if sketch.optimizer.is_absent and is_neox:
        sketch.optimizer = known("adam")
    elif sketch.optimizer.is_absent:
        sketch.optimizer = given(subject, "optimizer", "adam")
    sketch.master = _master(subject)
    sketch.full_gradients = _full_gradients(subject)
    sketch.recompute = _recompute(subject)
    sketch.sequence_parallel = is_on(subject, "sequence_parallel")
    sketch.attention_stored = _scores(subject)
    sketch.plain = _plain(subject)
    sketch.trains = _trains(subject)
    sketch.shape = neox_shape(subject) if is_neox else shape_of(subject)
    if "rampup_batch_size" in subject.settings:
        sketch.notes = ("the global batch grows to this size (`--rampup-batch-size`)",)
    return sketch


def _other_keys(subject: Subject) -> dict[str, Setting]:
    """The keys of GPT-NeoX files that no rule asks for, by name with underscores, and those one level below (``fp16.enabled``)."""
    found: dict[str, Setting] = {}
    for document in subject.extra.get("files", ()):
        found.update(_flat(document.root, ""))
    return found


def _flat(node: object, prefix: str) -> Iterator[tuple[str, Setting]]:
    if not isinstance(node, Mapping):
        return
    for entry in node.entries:
        path = prefix + str(entry.key).replace("-", "_")
        value = node_value(entry.node)
        value = value if value.spans else value.at(entry.node.span)
        yield path, Setting(path, value, entry.key_span, entry.node.span, certain=entry.certain, written=str(entry.key))
        if not prefix:
            yield from _flat(entry.node, f"{path}.")


# Layout --------------------------------------------------------------------------------------------------------------


def layout_of(subject: Subject) -> Layout | None:
    """The layout of a subject with Megatron's parallel sizes; ``None`` where other settings make it another one."""
    product = subject.names.get("model_parallel_product", absent())
    if product.reason == "the parallel layout is not known" or _other_sizes(subject):
        return None
    tensor = _size(subject, "tensor_model_parallel_size", "model_parallel_size")
    pipeline = _size(subject, "pipeline_model_parallel_size", "pipe_parallel_size")
    context = _size(subject, "context_parallel_size")
    sequence = _size(subject, "ds_sequence_parallel_size")
    replicas = _rest(subject.names["world_size"], [tensor, context, pipeline, sequence])
    data, stages = Axis(DATA, replicas), Axis(PIPELINE, pipeline)
    swapped = is_on(subject, "use_tp_pp_dp_mapping")
    if swapped.is_unknown:
        swapped = known(False)
    outer = (stages, data) if swapped.only else (data, stages)
    inner = [Axis(TENSOR, tensor), Axis(CONTEXT, context)]
    if sequence.only != 1 and sequence.reason != UNSEEN:
        inner.insert(1, Axis(SEQUENCE, sequence))
    order = "tp-cp-ep-pp-dp" if swapped.only else "tp-cp-ep-dp-pp"
    return Layout(
        axes=(
            *(axis for axis in inner if axis.name != CONTEXT or (axis.size.only != 1 and context.reason != UNSEEN)),
            *outer,
        ),
        expert_axes=_expert_axes(subject, tensor, pipeline, swapped=bool(swapped.only)),
        virtual_stages=_virtual_stages(subject, pipeline),
        order=order,
    )


_COUNTED = frozenset({*PARALLEL_SIZES, "model_parallel_size", "pipe_parallel_size", "expert_model_parallel_size",
                      "expert_tensor_parallel_size", "virtual_pipeline_model_parallel_size",
                      "hierarchical_context_parallel_sizes", "inference_tensor_parallel_size"})  # fmt: skip


def _other_sizes(subject: Subject) -> bool:
    """Whether some option states a parallel size that Megatron does not know: the script has a layout of its own."""
    return any(
        "parallel_size" in path and path not in _COUNTED and setting.value.only != 1
        for path, setting in subject.settings.items()
    )


def _size(subject: Subject, path: str, old: str = "") -> Value:
    """A parallel size, by its old name where only that is given (Megatron-LM before 2.0, DeepSpeed's copy of it)."""
    value = given(subject, old if old in subject.settings and path not in subject.settings else path)
    # GPT-NeoX writes 0 where there is no pipeline; None is not given
    return value.map(lambda size: 1 if size in (0, None) else size)


def _rest(world: Value, sizes: list[Value]) -> Value:
    return computed([world, *sizes], lambda numbers: _quotient(numbers[0], prod(numbers[1:])))


def _quotient(world: int, product: int) -> int:
    if product < 1 or world % product or not world:
        raise ValueError(f"{world} processes are no multiple of {product}")
    return world // product


def _expert_axes(subject: Subject, tensor: Value, pipeline: Value, *, swapped: bool) -> tuple[Axis, ...]:
    expert = _size(subject, "expert_model_parallel_size")
    own = given(subject, "expert_tensor_parallel_size")
    if (expert.only == 1 and own.is_absent) or expert.reason == own.reason == UNSEEN:
        return ()
    expert_tensor = tensor if own.is_absent or (own.only is None and own.is_known) else own
    replicas = _rest(subject.names["world_size"], [expert_tensor, expert, pipeline])
    data, stages = Axis(EXPERT_DATA, replicas), Axis(PIPELINE, pipeline)
    outer = (stages, data) if swapped else (data, stages)
    return (Axis(EXPERT_TENSOR, expert_tensor), Axis(EXPERT, expert), *outer)


def _virtual_stages(subject: Subject, pipeline: Value) -> Value:
    """``validate_args``: layers of a stage by layers of a virtual one (core 0.4 to 0.19)."""
    for path in ("num_virtual_stages_per_pipeline_rank", "virtual_pipeline_model_parallel_size"):
        value = given(subject, path)
        if not value.is_absent and not value.is_unknown:
            return value
    each = given(subject, "num_layers_per_virtual_pipeline_stage")
    if each.is_absent or each.reason == UNSEEN:
        return absent()
    return computed(
        [given(subject, "num_layers"), pipeline, each], lambda sizes: _quotient(sizes[0], sizes[1] * sizes[2])
    )


# Precision and states ------------------------------------------------------------------------------------------------


def _precision(subject: Subject) -> Value:
    if subject.names["carrier"].only == "neox":
        return _neox_precision(subject)
    for path in ("bf16", "fp16"):
        value = is_on(subject, path)
        if value.only is True:
            return replace(value, options=(path,))
        if value.is_unknown:
            return unknown(value.reason, *value.spans)
    return known("fp32")


def _neox_precision(subject: Subject) -> Value:
    stated = given(subject, "precision")
    if isinstance(stated.only, str):
        return stated.map(lambda word: {"bfloat16": "bf16"}.get(word, word))
    for path in ("bf16", "fp16"):
        value = is_on(subject, f"{path}.enabled")
        if value.only is True:
            return replace(value, options=(path,))
    return unknown("several files may state it") if "" in subject.open_blocks else known("fp16")


def _add_sharding(subject: Subject, sketch: Sketch) -> None:
    sketch.keeps_gradients = True
    stage = given(subject, "ds.zero_stage")
    if stage.is_absent or stage.is_unknown:
        stage = given(subject, "zero_stage")
    is_deepspeed = subject.names["flavour"].only != "megatron-lm"
    if is_deepspeed:
        sketch.sharding, sketch.sharded_by = stage if not stage.is_absent else known(0), "ZeRO"
        if sketch.sharding.only == 0 and sketch.precision.only == "bf16":
            # deepspeed/runtime/bf16_optimizer.py shares out its states whatever the stage
            sketch.sharding, sketch.sharded_by = replace(sketch.sharding, options=(1,)), "DeepSpeed's bf16 optimizer"
        sketch.keeps_gradients = False
        sketch.offload_optimizer = _device(given(subject, "ds.offload_optimizer"))
        _add_unread(subject, sketch)
        if is_on(subject, "cpu_optimizer").only is True:
            sketch.offload_optimizer = is_on(subject, "cpu_optimizer")
        return
    sketch.offload_optimizer = is_on(subject, "optimizer_cpu_offload")
    sketch.instances = given(subject, "num_distributed_optimizer_instances")
    fsdp = [is_on(subject, path) for path in ("use_megatron_fsdp", "use_custom_fsdp")]
    second = is_on(subject, "use_torch_fsdp2")
    distributed = is_on(subject, "use_distributed_optimizer")
    if second.only is True:
        sketch.sharding, sketch.sharded_by = second.map(lambda _: 3), "FSDP2"
    elif any(one.only is True for one in fsdp):
        strategy = given(subject, "data_parallel_sharding_strategy", "no_shard")
        sketch.sharding, sketch.sharded_by = strategy.map(lambda word: _SHARDING[word]), "Megatron FSDP"
    else:
        sketch.sharding, sketch.sharded_by = distributed.map(int), "distributed optimizer"


def _add_unread(subject: Subject, sketch: Sketch) -> None:
    """What a DeepSpeed configuration may say that is not among the settings: of a file that we can't see, and offloading."""
    settings = subject.settings
    if "deepspeed_config" in settings and not any(path.startswith("ds.") for path in settings):
        missing = unknown("the DeepSpeed configuration is not known", settings["deepspeed_config"].key_span)
        sketch.offload_optimizer = sketch.offload_parameters = missing
        if "zero_stage" not in settings:
            sketch.sharding = missing
    block = "zero_optimization."
    for name in ("offload_optimizer", "cpu_offload"):
        if block + name in settings and settings[block + name].value.only not in (False, None):
            sketch.offload_optimizer = _offloaded(settings[block + name])
    for name in ("offload_param", "cpu_offload_params"):
        if block + name in settings and settings[block + name].value.only not in (False, None):
            sketch.offload_parameters = _offloaded(settings[block + name])


def _offloaded(setting: Setting) -> Value:
    """Whether a block or switch moves something to the processor."""
    value = setting.value.only
    if isinstance(value, dict):
        return known(value.get("device", "none") not in (None, "none"), setting.span)
    return known(True, setting.span) if value is True else unknown("whether it is offloaded is not known", setting.span)


def _device(value: Value) -> Value:
    if value.is_absent:
        return known(False)
    return value.map(lambda device: device not in (None, "none"))


def _master(subject: Subject) -> Value:
    """Megatron's optimizers keep full weights beside half ones (``Float16OptimizerWithFloat16Params``)."""
    return known(not any(is_on(subject, path).only is True for path in ("use_precision_aware_optimizer",)))


def _full_gradients(subject: Subject) -> Value:
    """``validate_args``: gradients are accumulated in full precision with bfloat16, and where a switch says so."""
    if subject.names["flavour"].only != "megatron-lm":
        return known(False)
    switch = is_on(subject, "accumulate_allreduce_grads_in_fp32")
    if switch.only is True:
        return switch
    reduced = is_on(subject, "grad_reduce_in_bf16")
    return known(_precision(subject).only == "bf16" and reduced.only is False)


def _recompute(subject: Subject) -> Value:
    for path in ("recompute_activations",):
        if is_on(subject, path).only is True:
            return is_on(subject, path).map(lambda _: "selective")
    for path in ("checkpoint_activations", "deepspeed_activation_checkpointing"):
        if is_on(subject, path).only is True:
            return is_on(subject, path).map(lambda _: "full")
    if "activations_checkpoint_method" in subject.settings:
        return known("full")
    stated = given(subject, "recompute_granularity")
    if stated.only == "full":
        # Some layers only, where a number of them is given.
        method, number = given(subject, "recompute_method"), given(subject, "recompute_num_layers")
        if method.only == "block" and not number.is_absent:
            return unknown("only some layers are recomputed", *stated.spans)
    return known("none") if stated.is_absent else stated


def _scores(subject: Subject) -> Value:
    """Whether attention scores are kept: not by flash attention, nor by the fused kernels of Transformer Engine."""
    flash = is_on(subject, "use_flash_attn")
    if any(
        is_on(subject, path).only is True for path in ("use_flash_attn", "use_flash_attn_v2", "use_flash_attn_triton")
    ):
        return known(False)
    backend = given(subject, "attention_backend")
    if isinstance(backend.only, str):
        return backend.map(lambda word: str(word).rpartition(".")[2] in ("unfused", "local"))
    if subject.names["flavour"].only != "megatron-lm" and not flash.is_unknown:
        return known(subject.names["carrier"].only != "neox")
    return absent()


def _plain(subject: Subject) -> Value:
    """Whether it is a training of all weights in the states that are usual for the precision."""
    if "" in subject.open_blocks:
        return unknown("there may be options that we can't see")
    names = [path for path in subject.settings if not path.endswith("_lora_rank")]
    if any(word in path for path in names for word in _PLAIN_WORDS):
        return known(False)
    if any(is_on(subject, path).only is not False for path in _SMALLER_STATES):
        return unknown("a switch makes the states smaller")
    if is_on(subject, "skip_train").only is True:
        return known(False)
    if not _is_usual(subject):
        return unknown("the script may build another model than the options describe")
    return known(_trains(subject).only is True)


def _is_usual(subject: Subject) -> bool:
    """Whether the script is one that builds just the model that the options describe and trains it."""
    if subject.names["carrier"].only == "neox":
        return True
    launch = subject.extra.get("launch")
    name = subject.names["script"].only or (launch.script.symbol if launch is not None else "")
    return str(name).rpartition("/")[2].startswith(("pretrain_gpt", "pretrain_bert", "pretrain_llama"))


def _trains(subject: Subject) -> Value:
    """Whether the command trains: generation and evaluation are given neither iterations nor samples nor epochs."""
    if subject.names["carrier"].only == "neox":
        return known(True)
    told = [given(subject, path) for path in ("train_iters", "train_samples", "train_tokens", "epochs", "train_data")]
    if any(not value.is_absent and not value.is_unknown and value.only != 0 for value in told):
        return known(True)
    return unknown("it is not seen to train") if any(value.is_unknown for value in told) else known(False)
