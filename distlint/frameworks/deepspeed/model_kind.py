"""What the script hands to the engine as model, as far as that decides what a configuration means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.frameworks.general import argument_settings
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import ClassRef
from distlint.link.walking import guards_of
from distlint.model.subject import Setting, Versions
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project
    from distlint.model.launch import Run

PIPELINE = "deepspeed.PipelineModule"
PIPELINE_SIGNATURE = ["layers", "num_stages", "topology"]
"""deepspeed/runtime/pipe/module.py, ``PipelineModule`` (0.6 to 0.19)."""

EXPERTS = "deepspeed.moe.layer.MoE"
MODEL_POSITION = 1


def is_pipeline(model: Value) -> Value:
    """Whether a model is a pipeline module: known only where what made it is known."""
    if not model.is_known or not isinstance(model.only, str) or not model.only.startswith("<"):
        return unknown("the model is not known", *model.spans)
    return known(model.only.strip("<>") == f"{PIPELINE}()", *model.spans)


def pipeline_stages(project: Project, model: Value, run: Run | None) -> Value:
    """The number of stages that the pipeline module is made with; unknown with a topology, or for another model."""
    places = set(model.spans)
    made = [found for found in project.calls_to({PIPELINE}) if found.span in places]
    if len(made) != 1:
        return unknown("the model is no pipeline module that is seen to be made", *model.spans)
    settings, is_open = argument_settings(project, made[0], PIPELINE_SIGNATURE, run)
    stages = settings.get("num_stages")
    if is_open or stages is None or "topology" in settings or not stages.certain:
        return unknown("a topology may decide", made[0].span)
    return stages.value


def has_experts(project: Project, engine: CallSite, run: Run | None) -> Value:
    """Whether the model is of a project class that makes an expert layer whenever it is made."""
    from distlint.link.arguments import find_argument

    layers = list(project.calls_to({EXPERTS}))
    if not layers:
        return known(False)
    expr, _ = find_argument(engine.site.call, "model", MODEL_POSITION)
    if expr is None:
        return unknown("the model is not known")
    options = options_of(project.evaluator(run).ask(expr, engine.file, engine.site.function))
    owners = {option.callee for option in options if isinstance(option, Instance) and not option.part}
    if len(options) != 1 or len(owners) != 1 or not isinstance(owner := owners.pop(), ClassRef):
        return unknown("the model may hold expert layers")
    init = project.modules.method(owner, "__init__")
    for layer in layers:
        if init is None or (layer.file, layer.site.function) != (init.file, init.index):
            continue
        guards = guards_of(project.function(init).body, layer.site.call.at)
        if guards is not None and not guards:
            return known(True, layer.span)
    return unknown("the model may hold expert layers")


def batch_ranks(names: dict[str, Value], settings: dict[str, Setting], versions: Versions, is_file: bool) -> Value:
    """The number of ranks by which ``DeepSpeedConfig`` divides a batch (runtime/config.py).

    That is all of them, but for the stages of a pipeline and, since 0.17, for ``sequence_parallel_size`` where the
    configuration arrives as a dict, which it always does since 0.18.6. AutoTP makes its groups only later. An ``mpu``
    says what it likes.
    """
    mpu = settings.get("call.mpu")
    if "call.mpu" in names or (mpu is not None and not (mpu.value.is_known and mpu.value.only is None)):
        return unknown("an mpu decides")
    if "elasticity.enabled" in settings:
        return unknown("`elasticity` decides", settings["elasticity.enabled"].key_span)
    ranks = names["world_size"]
    pipeline = names["pipeline_model"]
    if pipeline.is_known and pipeline.only:
        return _divided(ranks, names.get("pipeline_stages", unknown("the pipeline's stages decide")))
    sequence = settings.get("sequence_parallel_size")
    if sequence is None or versions.test("deepspeed", "<0.17") is True:
        return ranks
    if "data_parallel_size" in settings or versions.test("deepspeed", ">=0.17") is not True:
        return unknown("a mesh of devices decides", sequence.key_span)
    if is_file and versions.test("deepspeed", ">=0.18.6") is not True:
        return unknown("it depends on how the configuration arrives", sequence.key_span)
    return _divided(ranks, sequence.value if sequence.certain else unknown("on some paths only"))


def _divided(ranks: Value, parts: Value) -> Value:
    """The ranks over the parts, where both are known and it comes out even."""
    if not (ranks.is_known and parts.is_known and isinstance(ranks.only, int) and type(parts.only) is int):
        return unknown("the parts of the model decide", *parts.spans)
    if parts.only < 1 or ranks.only % parts.only:
        return unknown("the ranks can't be divided like that", *parts.spans)
    return known(ranks.only // parts.only, *ranks.spans)
