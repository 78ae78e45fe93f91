"""Plans of small projects whose layout, batch and memory were worked out by hand; and what must not be taken for sure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distlint.engine import Request, analyse
from distlint.planning.project_plans import plans_of
from distlint.planning.run_plan import RunPlan
from distlint.settings import load_settings

MODEL = json.dumps(
    {
        "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64,
        "num_hidden_layers": 80, "num_key_value_heads": 8, "tie_word_embeddings": False, "vocab_size": 128256,
    }
)  # fmt: skip
PARAMETERS = 70_553_706_496
TRAIN = """
from dataclasses import dataclass, field
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments

@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="x")

def main():
    m, t = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()
    {before}
    model = AutoModelForCausalLM.from_pretrained(m.model_name_or_path)
    Trainer(model=model, args=t).train()

main()
"""
JOB = """#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:a100:8
#SBATCH --constraint=a100_40g
{launcher} train.py --model_name_or_path ./m --output_dir o --bf16 True --per_device_train_batch_size 1 {options}
"""
TORCHRUN = "torchrun --standalone --nproc-per-node=8"


def plan_of(root: Path, files: dict[str, str]) -> RunPlan:
    (root / ".git").mkdir()
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    report = analyse(Request(paths=(root,), settings=load_settings(root), use_cache=False, judged=False))
    plans, report = plans_of(report)
    assert not report.errors
    assert len(plans) == 1
    return plans[0]


def axes(plan: RunPlan) -> list[tuple[str, int]]:
    assert plan.layout is not None
    return [(axis.name, axis.size.only) for axis in plan.layout.axes]


def trainer(root: Path, options: str, launcher: str = TORCHRUN, before: str = "pass") -> RunPlan:
    return plan_of(
        root,
        {
            "m/config.json": MODEL,
            "train.py": TRAIN.format(before=before),
            "job.sh": JOB.format(launcher=launcher, options=options),
        },
    )


@pytest.mark.parametrize(
    ("options", "bytes_each"),
    [("", 8.0), ('--fsdp "full_shard auto_wrap"', 1.0), ('--fsdp "shard_grad_op"', 2 + 6 / 8)],
)
def test_what_a_trainer_holds_at_least(tmp_path: Path, options: str, bytes_each: float) -> None:
    plan = trainer(tmp_path, options)
    assert plan.budget is not None
    assert plan.budget.parameters == PARAMETERS
    assert plan.budget.least is not None
    assert plan.budget.least.total == pytest.approx(PARAMETERS * bytes_each)
    assert plan.device is not None
    assert plan.device.size == 40 << 30


@pytest.mark.parametrize(
    ("options", "launcher", "before"),
    [
        ("--deepspeed $DS", TORCHRUN, "pass"),
        ("", "accelerate launch --num_processes 8", "pass"),
        ("", TORCHRUN, "config.num_hidden_layers = 2"),
        ("", TORCHRUN, "from peft import LoraConfig"),
        ("--use_lora true", TORCHRUN, "pass"),
        ("$MORE", TORCHRUN, "pass"),
    ],
)
def test_nothing_is_sure_where_something_else_may_decide(
    tmp_path: Path, options: str, launcher: str, before: str
) -> None:
    budget = trainer(tmp_path, options, launcher, before).budget
    assert budget is None or budget.least is None or budget.least.total < 40 << 30


EXPERTS = """#!/bin/bash
#SBATCH -N 8
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=h100:8
srun python -u pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --context-parallel-size 2 \\
    --expert-model-parallel-size 8 --expert-tensor-parallel-size 1 --num-experts 8 --moe-router-topk 2 --moe-layer-freq 2 \\
    --num-layers 32 --num-layers-per-virtual-pipeline-stage 4 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \\
    --group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm --disable-bias-linear --vocab-size 32000 \\
    --untie-embeddings-and-output-weights --position-embedding-type rope --seq-length 8192 --max-position-embeddings 8192 \\
    --micro-batch-size 1 --global-batch-size 256 --bf16 --use-distributed-optimizer --sequence-parallel \\
    --train-samples 1000000 --lr 1e-4
"""


def test_experts_have_a_grid_and_replicas_of_their_own(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, {"run.sbatch": EXPERTS})
    assert axes(plan) == [("TP", 4), ("CP", 2), ("DP", 2), ("PP", 4)]
    assert plan.layout is not None
    assert [(axis.name, axis.size.only) for axis in plan.layout.expert_axes] == [
        ("ETP", 1),
        ("EP", 8),
        ("EDP", 2),
        ("PP", 4),
    ]
    assert plan.layout.virtual_stages.only == 2
    assert plan.batch.accumulation.only == 128
    expert, attention = 3 * 4096 * 14336, 2 * 4096 * 4096 * 5 // 4
    experts = 16 * 8 * expert / (4 * 8)
    plain = (16 * expert + 32 * (attention + 2 * 4096) + 16 * 4096 * 8 + 4096) / 16 + 32256 * 4096 / 4
    assert plan.budget is not None
    assert plan.budget.share == pytest.approx(experts + plain)
    assert plan.budget.states is not None
    assert plan.budget.states.total == pytest.approx(experts * (6 + 12 / 2) + plain * (6 + 12 / 4))


def test_the_other_mapping_puts_stages_before_replicas(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        {
            "run.sh": "torchrun --nproc_per_node 16 pretrain_gpt.py --use-tp-pp-dp-mapping --tensor-model-parallel-size 2 "
            "--pipeline-model-parallel-size 4 --num-layers 8 --hidden-size 64 --num-attention-heads 4 --micro-batch-size 1 "
            "--seq-length 8 --max-position-embeddings 8\n"
        },
    )
    assert axes(plan) == [("TP", 2), ("PP", 4), ("DP", 2)]


PIPELINE = """
import deepspeed
from deepspeed.pipe import PipelineModule

net = PipelineModule(layers=[], num_stages=4)
engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config="ds.json")
engine.train_batch()
"""


def test_stages_of_a_pipeline_module_lie_furthest_apart(tmp_path: Path) -> None:
    settings = {"train_batch_size": 256, "train_micro_batch_size_per_gpu": 8, "bf16": {"enabled": True},
                "zero_optimization": {"stage": 1}}  # fmt: skip
    plan = plan_of(
        tmp_path,
        {
            "train.py": PIPELINE, "ds.json": json.dumps(settings), "hosts": "x slots=8\ny slots=8\n",
            "run.sh": "deepspeed --hostfile hosts train.py\n",
        },
    )  # fmt: skip
    assert axes(plan) == [("DP", 4), ("PP", 4)]
    assert (plan.batch.replicas.only, plan.batch.accumulation.only, plan.batch.fits) == (4, 8, True)


NEOX = {
    "pipe-parallel-size": 2, "model-parallel-size": 2, "num-layers": 16, "hidden-size": 2048, "num-attention-heads": 8,
    "seq-length": 2048, "max-position-embeddings": 2048, "pos-emb": "rotary", "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2, "train-iters": 10, "zero_optimization": {"stage": 1}, "fp16": {"enabled": True},
    "optimizer": {"type": "Adam", "params": {"lr": 0.0002}},
}  # fmt: skip


def test_files_of_neox_say_everything(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        {
            "configs/m.yml": json.dumps(NEOX, indent=2),
            "run.sh": "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 python ./deepy.py train.py configs/m.yml\n",
        },
    )
    assert axes(plan) == [("TP", 2), ("DP", 2), ("PP", 2)]
    assert plan.batch.whole.only == 16
    assert (plan.sketch.precision.only, plan.sketch.sharding.only, plan.sketch.optimizer.only) == ("fp16", 1, "Adam")


ACCELERATE = """compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: {nodes}
num_processes: {world}
main_process_ip: 10.0.0.1
fsdp_config:
  {strategy}
{mesh}
"""


@pytest.mark.parametrize(
    ("strategy", "mesh", "expected"),
    [
        ("fsdp_sharding_strategy: FULL_SHARD", "", [("FSDP", 16)]),
        ("fsdp_sharding_strategy: HYBRID_SHARD", "", [("FSDP", 8), ("DP", 2)]),
        ("fsdp_sharding_strategy: NO_SHARD", "", [("DP", 16)]),
        (
            "fsdp_version: 2",
            (
                "parallelism_config:\n  parallelism_config_tp_size: 2\n  parallelism_config_dp_shard_size: 4\n"
                "  parallelism_config_dp_replicate_size: 2\n"
            ),
            [("TP", 2), ("FSDP", 4), ("DP", 2)],
        ),
    ],
)
def test_files_of_accelerate_say_how_ranks_shard(
    tmp_path: Path, strategy: str, mesh: str, expected: list[tuple[str, int]]
) -> None:
    plan = plan_of(
        tmp_path,
        {
            "a.yaml": ACCELERATE.format(nodes=2, world=16, strategy=strategy, mesh=mesh),
            "train.py": "from accelerate import Accelerator\naccelerator = Accelerator()\n",
            "run.sh": "accelerate launch --config_file a.yaml train.py\n",
        },
    )
    assert axes(plan) == expected


PLUGIN = """
import colossalai
from colossalai.booster import Booster
from colossalai.booster.plugin import {plugin}

colossalai.launch_from_torch()
Booster(plugin={plugin}({arguments}))
"""


# colossalai/booster/plugin: the shape that each plugin gives to ProcessGroupMesh, the last axis fastest
@pytest.mark.parametrize(
    ("plugin", "arguments", "expected"),
    [
        ("HybridParallelPlugin", "tp_size=2, pp_size=2, microbatch_size=1", [("TP", 2), ("PP", 2), ("DP", 3)]),
        (
            "HybridParallelPlugin",
            "tp_size=2, pp_size=2, microbatch_size=1, dp_outside=False",
            [("TP", 2), ("DP", 3), ("PP", 2)],
        ),
        (
            "HybridParallelPlugin",
            "tp_size=2, pp_size=1, sp_size=2, enable_sequence_parallelism=True, sequence_parallelism_mode='all_to_all'",
            [("SP", 2), ("TP", 2), ("PP", 1), ("DP", 3)],
        ),
        (
            "HybridParallelPlugin",
            "tp_size=2, pp_size=1, sp_size=2, enable_sequence_parallelism=True, sequence_parallelism_mode='ring_attn'",
            [("TP", 2), ("SP", 2), ("PP", 1), ("DP", 3)],
        ),
        ("GeminiPlugin", "tp_size=2, extra_dp_size=2", [("TP", 2), ("DP", 2), ("FSDP", 3)]),
        ("LowLevelZeroPlugin", "stage=2", [("DP", 12)]),
        ("TorchFSDPPlugin", "", [("FSDP", 12)]),
    ],
)
def test_plugins_of_colossalai(tmp_path: Path, plugin: str, arguments: str, expected: list[tuple[str, int]]) -> None:
    plan = plan_of(
        tmp_path,
        {
            "train.py": PLUGIN.format(plugin=plugin, arguments=arguments),
            "run.sh": "torchrun --nproc_per_node 12 train.py\n",
        },
    )
    assert axes(plan) == expected


def test_a_manifest_names_the_device(tmp_path: Path) -> None:
    pod = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: t}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}
          containers:
            - name: pytorch
              image: x
              command: ["torchrun", "--nproc_per_node=8", "pretrain_gpt.py", "--micro-batch-size", "1", "--num-layers", "2"]
"""
    plan = plan_of(tmp_path, {"job.yaml": pod})
    assert plan.device is not None
    assert plan.device.size == 40 << 30


@pytest.mark.parametrize(
    "block", [{}, {"offload_optimizer": {"device": "cpu"}}, {"offload_optimizer": {"device": "none"}}]
)
def test_offloading_in_files_of_neox_counts(tmp_path: Path, block: dict[str, object]) -> None:
    plan = plan_of(
        tmp_path,
        {
            "configs/m.yml": json.dumps({**NEOX, "zero_optimization": {"stage": 1, **block}}, indent=2),
            "run.sh": "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 python ./deepy.py train.py configs/m.yml\n",
        },
    )
    assert plan.budget is not None
    assert plan.budget.least is not None
    assert (plan.budget.least.optimizer == 0) == (block == {"offload_optimizer": {"device": "cpu"}})


@pytest.mark.parametrize(("stage", "moved"), [(0, (False, False)), (2, (True, False)), (3, (True, True))])
def test_only_stages_that_offload_do_so(tmp_path: Path, stage: int, moved: tuple[bool, bool]) -> None:
    device = {"device": "cpu"}
    zero = {"stage": stage, "offload_optimizer": device, "offload_param": device}
    plan = plan_of(
        tmp_path,
        {
            "ds.json": json.dumps(
                {"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}, "zero_optimization": zero}
            ),
            "train.py": "import deepspeed\nengine, *_ = deepspeed.initialize(model=net, config='ds.json')\n",
            "run.sh": "deepspeed --num_gpus 8 train.py\n",
        },
    )
    assert (plan.sketch.offload_optimizer.only, plan.sketch.offload_parameters.only) == moved


def test_a_deepspeed_configuration_that_is_not_there_leaves_the_states_open(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        {
            "run.sh": "deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 80 --hidden-size 8192 --num-attention-heads 64"
            " --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --train-iters 10 --fp16 --deepspeed"
            ' --deepspeed_config "$CONFIG"\n'
        },
    )
    assert plan.budget is not None
    assert plan.sketch.sharding.is_unknown
    assert plan.budget.states is None
    assert plan.budget.least is None


ZERO = """DS_CONFIG=ds_config.json
cat <<EOT > $DS_CONFIG
{{"train_batch_size": 8, "fp16": {{"enabled": true}}, "zero_optimization": {{"stage": {stage}}}}}
EOT
deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 8 \\
    --max-position-embeddings 8 --micro-batch-size 1 --train-iters 10 --fp16 --deepspeed --deepspeed_config=$DS_CONFIG
"""


def test_each_script_reads_the_file_that_it_writes(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for stage in (1, 2):
        (tmp_path / f"stage{stage}.sh").write_text(ZERO.format(stage=stage), encoding="utf-8")
    report = analyse(Request(paths=(tmp_path,), settings=load_settings(tmp_path), use_cache=False, judged=False))
    plans, _ = plans_of(report)
    assert [(plan.span.file, plan.sketch.sharding.only) for plan in plans] == [("stage1.sh", 1), ("stage2.sh", 2)]
