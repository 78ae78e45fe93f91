"""The shipped table of released APIs: what was read in the releases by hand comes out of it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from distlint.cli.main import commands
from distlint.knowledge.api import api

REMOVED = [
    ("torch._six", "", "1.13.1", "2.0.0"),
    ("torch._six.container_abcs", "", "1.8.0", "1.9.0"),
    ("torch.distributed.all_reduce_multigpu", "", "2.1.2", "2.2.0"),
    ("torch.distributed.broadcast_multigpu", "", "2.1.2", "2.2.0"),
    ("torch.distributed._composable.fully_shard", "", "2.5.1", "2.6.0"),
    ("torch.distributed.fsdp.FullyShardedDataParallel", "fsdp_auto_wrap_policy", "1.11.0", "1.12.0"),
    ("torch.distributed.fsdp.wrap.default_auto_wrap_policy", "", "1.11.0", "1.12.0"),
    ("torch.distributed.fsdp.flatten_params_wrapper", "", "1.13.1", "2.0.0"),
    ("torch.distributed.pipeline.sync.Pipe", "", "2.3.1", "2.4.0"),
    ("torch.distributed.tensor.parallel.PairwiseParallel", "", "2.1.2", "2.2.0"),
    ("torch.distributed._spmd", "", "2.4.1", "2.5.0"),
    ("torch.distributed.rpc.ProcessGroupRpcBackendOptions", "", "1.9.0", "1.10.0"),
    ("deepspeed.utils.init_distributed", "", "0.6.5", "0.6.6"),
    ("deepspeed.runtime.zero.stage2", "", "0.5.8", "0.5.9"),
    ("deepspeed.runtime.zero.stage3.FP16_DeepSpeedZeroOptimizer_Stage3", "", "0.5.8", "0.5.9"),
    ("deepspeed.runtime.zero.constants", "", "0.6.7", "0.7.0"),
    ("deepspeed.runtime.csr_tensor", "", "0.5.4", "0.5.5"),
    ("deepspeed.utils.groups.initialize_model_parallel", "", "0.5.10", "0.6.0"),
    ("deepspeed.utils.groups.get_data_parallel_group", "", "0.5.10", "0.6.0"),
    ("deepspeed.moe.layer.MoE", "output_dropout_prob", "0.5.1", "0.5.2"),
    ("deepspeed.utils.zero_to_fp32.convert_zero_checkpoint_to_fp32_state_dict", "output_file", "0.15.2", "0.15.3"),
    ("deepspeed.runtime.engine.DeepSpeedEngine.backward", "allreduce_gradients", "0.15.4", "0.16.0"),
    ("deepspeed.profiling.flops_profiler.get_model_profile", "input_res", "0.5.10", "0.6.0"),
    ("deepspeed.zero.MiCS_Init", "", "0.19.6", "0.19.7"),
    ("deepspeed.ops.sparse_attention", "", "0.19.6", "0.19.7"),
    ("deepspeed.compression.compress.init_compression", "", "0.19.6", "0.19.7"),
    ("deepspeed.runtime.fp16.onebit.adam.OnebitAdam", "", "0.19.6", "0.19.7"),
    ("deepspeed.elasticity", "", "0.19.7", "0.19.8"),
    ("colossalai.launch_from_torch", "config", "0.3.7", "0.3.8"),
    ("colossalai.launch", "config", "0.3.7", "0.3.8"),
    ("colossalai.core", "", "0.3.2", "0.3.3"),
    ("colossalai.trainer", "", "0.3.1", "0.3.2"),
    ("colossalai.get_default_parser", "", "0.3.2", "0.3.3"),
    ("colossalai.amp.AMP_TYPE", "", "0.3.2", "0.3.3"),
    ("colossalai.nn.parallel.GeminiDDP", "", "0.2.8", "0.3.0"),
    ("colossalai.utils.model.colo_init_context", "", "0.2.8", "0.3.0"),
    ("colossalai.zero.ColoInitContext", "", "0.3.4", "0.3.5"),
    ("colossalai.gemini", "", "0.2.8", "0.3.0"),
    ("colossalai.moe.MOE_MANAGER", "", "0.4.2", "0.4.3"),
    ("colossalai.kernel.op_builder", "", "0.3.4", "0.3.5"),
    ("megatron.core.tensor_parallel.ColumnParallelLinear", "sequence_parallel_enabled", "0.2.0", "0.3.0"),
    ("megatron.core.pipeline_parallel.schedules.forward_backward_no_pipelining", "grad_scaler", "0.2.0", "0.3.0"),
    (
        "megatron.core.parallel_state.initialize_model_parallel",
        "pipeline_model_parallel_split_rank",
        "0.13.1",
        "0.14.0",
    ),
    (
        "megatron.core.parallel_state.initialize_model_parallel",
        "encoder_tensor_model_parallel_size",
        "0.13.1",
        "0.14.0",
    ),
    ("megatron.core.parallel_state.initialize_model_parallel", "use_fp8", "0.3.0", "0.4.0"),
    ("megatron.core.parallel_state.is_unitialized", "", "0.16.1", "0.17.0"),
    ("megatron.core.pipeline_parallel.p2p_communication.send_forward", "", "0.13.1", "0.14.0"),
    ("megatron.core.distributed.custom_fsdp", "", "0.13.1", "0.14.0"),
    ("megatron.core.datasets.indexed_dataset.MMapIndexedDataset", "", "0.5.0", "0.6.0"),
    ("megatron.core.datasets.gpt_dataset.GPTDatasetConfig", "is_built_on_rank", "0.5.0", "0.6.0"),
    ("megatron.core.optimizer.get_megatron_optimizer", "no_weight_decay_cond", "0.15.3", "0.16.0"),
    ("megatron.core.process_groups_config.ModelCommProcessGroups", "", "0.14.0", "0.15.0"),
    ("megatron.core.transformer.custom_layers.transformer_engine", "", "0.16.1", "0.17.0"),
    ("megatron.core.dist_checkpointing.strategies.zarr", "", "0.15.3", "0.16.0"),
    ("megatron.core.models.retro", "", "0.15.3", "0.16.0"),
    ("accelerate.Accelerator", "fp16", "0.15.0", "0.16.0"),
    ("accelerate.Accelerator", "logging_dir", "0.19.0", "0.20.0"),
    ("accelerate.Accelerator", "dispatch_batches", "0.34.2", "1.0.0"),
    ("accelerate.Accelerator", "even_batches", "0.34.2", "1.0.0"),
    ("accelerate.Accelerator.use_fp16", "", "0.34.2", "1.0.0"),
    ("accelerate.Accelerator.autocast", "cache_enabled", "0.34.2", "1.0.0"),
    ("accelerate.memory_utils.find_executable_batch_size", "", "0.16.0", "0.17.0"),
    ("accelerate.kwargs_handlers", "", "0.8.0", "0.9.0"),
    ("accelerate.utils.is_tpu_available", "", "0.27.2", "0.28.0"),
    ("accelerate.utils.shard_checkpoint", "", "0.34.2", "1.0.0"),
    ("accelerate.notebook_launcher", "use_fp16", "0.15.0", "0.16.0"),
    ("transformers.TrainingArguments", "evaluation_strategy", "4.50.3", "4.51.0"),
    ("transformers.TrainingArguments", "sharded_ddp", "4.34.1", "4.35.0"),
    ("transformers.TrainingArguments", "xpu_backend", "4.31.0", "4.32.0"),
    ("transformers.TrainingArguments", "dispatch_batches", "4.50.3", "4.51.0"),
    ("transformers.TrainingArguments", "no_cuda", "4.57.6", "5.0.0"),
    ("transformers.TrainingArguments", "fsdp_transformer_layer_cls_to_wrap", "4.57.6", "5.0.0"),
    ("transformers.TrainingArguments", "overwrite_output_dir", "4.57.6", "5.0.0"),
    ("transformers.TrainingArguments", "save_safetensors", "4.57.6", "5.0.0"),
    ("transformers.TrainingArguments", "adafactor", "4.57.6", "5.0.0"),
    ("transformers.TrainingArguments", "half_precision_backend", "4.57.6", "5.0.0"),
    ("transformers.TrainingArguments", "group_by_length", "5.1.0", "5.2.0"),
    ("transformers.TrainingArguments", "warmup_ratio", "5.14.1", "5.15.0"),
    ("transformers.TrainingArguments", "logging_dir", "5.14.1", "5.15.0"),
    ("transformers.deepspeed", "", "4.45.2", "4.46.3"),
    ("transformers.optimization.AdamW", "", "4.49.0", "4.50.0"),
    ("transformers.trainer_utils.EvaluationStrategy", "", "4.57.6", "5.0.0"),
    ("transformers.modeling_utils.Conv1D", "", "4.55.4", "4.56.0"),
    ("transformers.modeling_utils.shard_checkpoint", "", "4.46.3", "4.47.0"),
    ("transformers.utils.is_torch_tpu_available", "", "4.50.3", "4.51.0"),
]
ADDED = [
    ("torch.amp.GradScaler", "", "2.2.2", "2.3.0"),
    ("torch.compile", "", "1.13.1", "2.0.0"),
    ("torch.distributed.all_gather_into_tensor", "", "1.12.1", "1.13.0"),
    ("torch.distributed.reduce_scatter_tensor", "", "1.12.1", "1.13.0"),
    ("torch.distributed.init_process_group", "device_id", "2.2.2", "2.3.0"),
    ("torch.distributed.get_node_local_rank", "", "2.3.1", "2.4.0"),
    ("torch.distributed.init_device_mesh", "", "2.3.1", "2.4.0"),
    ("torch.distributed.device_mesh", "", "2.1.2", "2.2.0"),
    ("torch.distributed.tensor.DTensor", "", "2.4.1", "2.5.0"),
    ("torch.distributed.fsdp.fully_shard", "", "2.5.1", "2.6.0"),
    ("torch.distributed.fsdp.FullyShardedDataParallel", "use_orig_params", "1.13.1", "2.0.0"),
    ("torch.distributed.checkpoint.save", "", "2.1.2", "2.2.0"),
    ("torch.distributed.checkpoint.async_save", "", "2.2.2", "2.3.0"),
    ("torch.distributed.pipelining", "", "2.3.1", "2.4.0"),
    ("torch.nn.parallel.DistributedDataParallel", "static_graph", "1.10.2", "1.11.0"),
    ("deepspeed.initialize", "config", "0.3.15", "0.3.16"),
    ("deepspeed.moe.layer.MoE", "ep_size", "0.5.10", "0.6.0"),
    ("deepspeed.init_inference", "config", "0.7.5", "0.7.6"),
    ("deepspeed.accelerator.get_accelerator", "", "0.7.5", "0.7.6"),
    ("deepspeed.utils.safe_get_full_fp32_param", "", "0.8.1", "0.8.2"),
    ("deepspeed.utils.set_z3_leaf_modules", "", "0.12.6", "0.13.0"),
    ("megatron.core.distributed.DistributedDataParallel", "ddp_config", "0.6.0", "0.7.0"),
    ("transformers.TrainingArguments", "eval_strategy", "4.40.2", "4.41.0"),
]
DEPRECATED = [
    ("torch.cuda.amp.autocast", "", "2.3.1", "2.4.0"),
    ("torch.cuda.amp.GradScaler", "", "2.3.1", "2.4.0"),
    ("torch.cuda.amp.custom_fwd", "", "2.3.1", "2.4.0"),
    ("torch.distributed._all_gather_base", "", "1.12.1", "1.13.0"),
    ("torch.distributed.all_gather_into_tensor", "", "2.12.1", "2.13.0"),
    ("torch.distributed.checkpoint.save_state_dict", "", "2.1.2", "2.2.0"),
]
DEFAULT = [
    ("torch.load", "weights_only", "2.3.1", "2.4.0", "False", "None"),
    ("torch.distributed.fsdp.FullyShardedDataParallel", "limit_all_gathers", "2.0.1", "2.1.0", "False", "True"),
    (
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "backward_prefetch",
        "1.13.1",
        "2.0.0",
        "None",
        "BackwardPrefetch.BACKWARD_PRE",
    ),
    ("torch.utils.checkpoint.checkpoint", "use_reentrant", "2.0.1", "2.1.0", "True", "None"),
    ("colossalai.booster.plugin.GeminiPlugin", "placement_policy", "0.3.1", "0.3.2", "'cpu'", "'static'"),
    ("accelerate.FullyShardedDataParallelPlugin", "use_orig_params", "0.24.1", "0.25.0", "False", "True"),
    ("transformers.TrainingArguments", "save_safetensors", "4.34.1", "4.35.0", "False", "True"),
    ("transformers.TrainingArguments", "report_to", "4.57.6", "5.0.0", "None", "'none'"),
    ("transformers.TrainingArguments", "average_tokens_across_devices", "4.53.3", "4.54.0", "False", "True"),
]
"""Name, parameter, last release before the change, first release with it; defaults before and after."""


def state(name: str, parameter: str, version: str) -> str:
    found = api().find(name, version)
    if not parameter or found.symbol is None:
        return found.state
    return {True: "present", False: "absent", None: "unknown"}[found.symbol.accepts(parameter)]


@pytest.mark.parametrize(("name", "parameter", "before", "first"), REMOVED)
def test_what_was_removed_is_absent_since_then(name: str, parameter: str, before: str, first: str) -> None:
    assert (state(name, parameter, before), state(name, parameter, first)) == ("present", "absent")


@pytest.mark.parametrize(("name", "parameter", "before", "first"), ADDED)
def test_what_was_added_is_absent_before(name: str, parameter: str, before: str, first: str) -> None:
    assert (state(name, parameter, before), state(name, parameter, first)) == ("absent", "present")


@pytest.mark.parametrize(("name", "parameter", "before", "first"), DEPRECATED)
def test_what_was_deprecated_says_since_when(name: str, parameter: str, before: str, first: str) -> None:
    assert api().deprecated_since(name, before, parameter or None) == ""
    assert api().deprecated_since(name, first, parameter or None) == first


@pytest.mark.parametrize(("name", "parameter", "before", "first", "old", "new"), DEFAULT)
def test_changed_defaults(name: str, parameter: str, before: str, first: str, old: str, new: str) -> None:
    assert (api().default(name, parameter, before), api().default(name, parameter, first)) == (old, new)


def test_a_withdrawn_mark_of_deprecation_is_gone_again() -> None:
    assert api().deprecated_since("torch.distributed.all_gather_into_tensor", "2.14.0") == "2.13.0"
    assert api().deprecated_since("torch.distributed.all_gather_into_tensor", "2.15.0") == ""


@pytest.mark.parametrize(
    ("name", "version", "target"),
    [
        ("torch.distributed.fsdp.fully_shard", "2.4.0", "torch.distributed._composable.fsdp.fully_shard"),
        (
            "accelerate.memory_utils.find_executable_batch_size",
            "0.17.0",
            "accelerate.utils.memory.find_executable_batch_size",
        ),
        ("transformers.modeling_utils.Conv1D", "4.56.0", "transformers.pytorch_utils.Conv1D"),
    ],
)
def test_where_names_moved(name: str, version: str, target: str) -> None:
    assert api().moved(name, version) == target


def test_a_function_hides_the_module_of_its_name_for_attributes_but_not_for_imports() -> None:
    assert api().find("colossalai.initialize.initialize", "0.3.2").state == "unknown"
    assert api().find_import("colossalai.initialize", "initialize", "0.3.2").state == "present"
    assert api().find_import("colossalai.initialize", "initialize", "0.3.3").state == "absent"


def test_the_table_is_intact() -> None:
    assert api().is_intact()


def test_the_command_tells_coverage_and_history() -> None:
    covered = CliRunner().invoke(commands, ["knowledge", "--verify"])
    assert covered.exit_code == 0
    assert "which is right" in covered.output
    document = json.loads(CliRunner().invoke(commands, ["knowledge", "--output-format", "json"]).output)
    assert document["packages"]["torch"]["releases"][0] == "1.6.0"
    history = CliRunner().invoke(
        commands, ["knowledge", "torch.distributed.fsdp.fully_shard", "--output-format", "json"]
    )
    stretches = json.loads(history.output)["history"]
    assert stretches[0]["state"] == "absent"
    assert next(one["first"] for one in stretches if one["state"] == "present") == "2.6.0"


@pytest.mark.parametrize("name", ["nowhere.thing", "torch.no_such_name_anywhere"])
def test_the_command_says_that_a_name_is_unknown(name: str) -> None:
    result = CliRunner().invoke(commands, ["knowledge", name])
    assert result.exit_code == 2
    assert name.partition(".")[0] in result.output


@pytest.mark.parametrize(
    ("name", "unheard"),
    [
        ("colossalai.booster.plugin.FSDPPlugin", "colossalai.booster.plugin.FSDPPlugin"),
        ("colossalai.booster.Boosters.boost", "colossalai.booster.Boosters"),
        ("colossalai.booster.Booster.prepare_dataloader", "colossalai.booster.Booster.prepare_dataloader"),
        (
            "colossalai.booster.plugin.LowLevelZeroPlugin.pp_size",
            "colossalai.booster.plugin.LowLevelZeroPlugin.pp_size",
        ),
        ("colossalai.booster.plugin.LowLevelZeroPlugin.prepare_dataloader", ""),
        ("colossalai.booster.plugin.LowLevelZeroPlugin.stage", ""),
        ("colossalai.cluster.DistCoordinator.rank", ""),
        ("colossalai.initialize", ""),
        ("colossalai.interface.ModelWrapper.no_such_method", ""),
    ],
)
def test_what_no_release_has_is_told_where_all_beside_it_is_known(name: str, unheard: str) -> None:
    """Of a class whose objects find attributes at run time (``nn.Module``) nothing is told."""
    assert api().find(name, "0.4.4").unheard == unheard
