"""What a DeepSpeed configuration says of a run's layout, batch, precision and memory.

Data-parallel ranks are neighbours, pipeline stages lie furthest apart (``deepspeed/runtime/pipe/topology.py``,
``PipeDataParallelTopology``); the ranks of a tensor-parallel or sequence-parallel group are consecutive
(``deepspeed/utils/groups.py``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.frameworks.deepspeed.use import NATIVE, NEOX, UNKNOWN_HOST, Use
from distlint.frameworks.given import given
from distlint.model.layout import DATA, PIPELINE, SEQUENCE, TENSOR, Axis, Layout
from distlint.model.sketch import Sketch
from distlint.model.subject import Subject
from distlint.model.value import Value, absent, computed, known, one_of, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.model.launch import Launch, Run

_RANK = 10


def sketch_of(project: Project, subject: Subject) -> Sketch | None:
    """What a subject of the kind ``deepspeed`` says of its run; nothing for a configuration that nobody is seen to load."""
    use: Use = subject.extra["use"]
    if (use.run is None or use.run.launch is None) and (use.host in (UNKNOWN_HOST, NEOX) or use.call is None):
        return None
    sketch = Sketch("deepspeed", _RANK, world=subject.names["world_size"])
    if use.host != NEOX:
        sketch.layout = _layout(project, subject, sketch.world)
    sketch.micro_batch = _number(given(subject, "train_micro_batch_size_per_gpu"))
    sketch.accumulation = _number(given(subject, "gradient_accumulation_steps"))
    sketch.global_batch = _number(given(subject, "train_batch_size"))
    if not sketch.global_batch.is_absent and not sketch.micro_batch.is_absent and sketch.accumulation.only == 1:
        # the default of accumulation does not count beside the other two
        sketch.accumulation = absent() if "gradient_accumulation_steps" not in subject.settings else sketch.accumulation
    sketch.precision = _precision(subject)
    stage = given(subject, "zero_optimization.stage", 0)
    sketch.sharding, sketch.sharded_by = stage.map(_stage), "ZeRO"
    if sketch.sharding.only == 0 and sketch.precision.only == "bf16":
        # deepspeed/runtime/bf16_optimizer.py shares out its states; whether it is used depends on the release and on where
        # gradients are accumulated (engine.py, _do_optimizer_sanity_check)
        sketch.sharding = one_of((0, 1), sketch.sharding.spans, sketch.sharding.confidence)
        sketch.sharded_by = "none, or DeepSpeed's bf16 optimizer"
    optimizer = given(subject, "optimizer.type")
    if optimizer.is_absent:
        optimizer = _client(subject)
    sketch.optimizer = optimizer
    moved = _offload(subject, "zero_optimization.offload_optimizer", "zero_optimization.cpu_offload")
    sketch.offload_optimizer = _from_stage(1, stage, moved)
    # parameters are moved by the optimizer of stage 3 only (deepspeed/runtime/zero/stage3.py)
    sketch.offload_parameters = _from_stage(3, stage, _offload(subject, "zero_optimization.offload_param", ""))
    own = ("bf16.bf16_master_weights_and_grads", "fp16.fp16_master_weights_and_grads", "torch_autocast.enabled")
    if use.host == NATIVE and use.run is not None and use.run.launch is not None:
        _add_model(project, use, use.run, use.run.launch, sketch)
    sketch.master = known(not any(given(subject, path).only not in (None, False) for path in own))
    return sketch


def _add_model(project: Project, use: Use, run: Run, launch: Launch, sketch: Sketch) -> None:
    """The model that a script of its own loads, where it makes one engine and trains it."""
    from distlint.frameworks.huggingface.layout import trains_all
    from distlint.frameworks.huggingface.model_configs import model_of
    from distlint.frameworks.huggingface.training_arguments import words_as_settings

    closure = project.closure(run.script_file)
    engines = [found for found in project.calls_to({"deepspeed.initialize"}) if found.file in closure]
    if len(engines) != 1 or use.call is None:
        return
    words = {name: value for name, value, _ in words_as_settings(launch.arguments)}
    sketch.shape = model_of(project, run, words)
    if sketch.shape is not None:
        # The engine makes the states of an optimizer when it is made (runtime/zero/stage_1_and_2.py,
        # initialize_optimizer_states), so that one with an optimizer is for training wherever its steps stand.
        trains = sketch.optimizer.is_known or any(".backward(" in project.text_of(file) for file in closure)
        sketch.plain = trains_all(project, run, words) if trains else unknown("it is not seen to train")


def _layout(project: Project, subject: Subject, world: Value) -> Layout | None:
    pipeline = subject.names["pipeline_model"]
    stages = known(1)
    if pipeline.only is True:
        stages = subject.names["pipeline_stages"]
    elif pipeline.is_unknown and project.mentions("PipelineModule"):
        return None
    if project.mentions("mpu=mpu") or "call.mpu" in subject.settings:
        return None
    tensor = given(subject, "tensor_parallel.autotp_size", 1)
    tensor = tensor.map(lambda size: size or 1)
    sequence = given(subject, "sequence_parallel_size", 1)
    rest = computed([world, stages, tensor, sequence], _rest)
    axes = [Axis(TENSOR, tensor), Axis(SEQUENCE, sequence), Axis(DATA, rest), Axis(PIPELINE, stages)]
    return Layout(tuple(axis for axis in axes if axis.name == DATA or axis.size.only != 1))


def _rest(numbers: list[int]) -> int:
    left = numbers[0]
    for number in numbers[1:]:
        if number < 1 or left % number or not left:
            raise ValueError(
                f"{numbers[0]} processes are no multiple of {' × '.join(str(size) for size in numbers[1:])}"
            )
        left //= number
    return left


def _number(value: Value) -> Value:
    return absent() if value.is_known and value.only is None else value


def _stage(stage: object) -> int:
    if isinstance(stage, bool) or stage not in (0, 1, 2, 3):
        raise ValueError("the stage is none")
    return int(stage)


def _precision(subject: Subject) -> Value:
    for name in ("bf16", "fp16"):
        value = given(subject, f"{name}.enabled")
        if value.only is True:
            return replace(value, options=(name,))
        if value.is_unknown:
            return unknown(f"`{name}.enabled`: {value.reason}", *value.spans)
    return known("fp32")


def _offload(subject: Subject, block: str, old: str) -> Value:
    device = given(subject, f"{block}.device")
    if device.is_known and device.only is not None:
        return device.map(lambda name: str(name) not in ("none", "None"))
    if device.is_unknown:
        return device
    if old:
        value = given(subject, old)
        if value.only is True or value.is_unknown:
            return value
    return known(False)


def _from_stage(least: int, stage: Value, moved: Value) -> Value:
    """What is moved where the stage is at least ``least``: nothing below."""
    if moved.only is False or (stage.is_known and type(stage.only) is int and stage.only >= least):
        return moved
    if stage.is_known and stage.only in range(least):
        return known(False, *stage.spans, confidence=stage.confidence)
    return unknown("the stage is not known", *stage.spans)


def _client(subject: Subject) -> Value:
    """The optimizer that the script makes, by the last part of its name."""
    made = subject.names.get("client_optimizer", absent())
    return made.map(lambda name: str(name).rpartition(".")[2]) if made.is_known else made
