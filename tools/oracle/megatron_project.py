"""The repository that a user would have whose command line or configuration the oracle asks about."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

IMPORTS = """\
from megatron.core.enums import ModelType
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_with_transformer_engine_spec
from megatron.training import get_args, get_timers, pretrain, print_rank_0
from megatron.training.arguments import core_transformer_config_from_args
"""
ENTRY = (
    IMPORTS
    + """\

from batches import datasets, forward_step


def model_provider(pre_process=True, post_process=True):
    args = get_args()
    return GPTModel(
        config=core_transformer_config_from_args(args),
        transformer_layer_spec=get_gpt_layer_with_transformer_engine_spec(args.num_experts, args.moe_grouped_gemm),
        vocab_size=args.padded_vocab_size,
        max_sequence_length=args.max_position_embeddings,
        pre_process=pre_process,
        post_process=post_process,
    )


if __name__ == "__main__":
    pretrain(
        datasets,
        model_provider,
        ModelType.encoder_or_decoder,
        forward_step,
        args_defaults={"tokenizer_type": "GPT2BPETokenizer"},
    )
"""
)
OBJECTS = """\
import os

import torch
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallelConfig
from megatron.core.model_parallel_config import ModelParallelConfig
from megatron.core.optimizer import OptimizerConfig
from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.distributed.init_process_group("nccl")
{groups}{config}"""
PER_NODE = 8


def write_project(folder: Path, case: dict[str, Any], version: str) -> None:
    """Script, launch line with its environment, pin."""
    (folder / ".git").mkdir()
    (folder / "requirements.txt").write_text(f"megatron-core=={version}\n")
    if "argv" in case:
        (folder / "pretrain_gpt.py").write_text(ENTRY)
        (folder / "batches.py").write_text(
            "def datasets(sizes):\n    ...\n\n\ndef forward_step(batches, model):\n    ...\n"
        )
        (folder / "run.sh").write_text(launch_script(case))
        return
    groups = ""
    if "groups" in case:
        groups = f"parallel_state.initialize_model_parallel({_call(case['groups'])})\n"
    config = ""
    if "config" in case:
        config = f"config = {case['config']['class']}({_call(case['config']['arguments'])})\n"
    (folder / "train.py").write_text(OBJECTS.format(groups=groups, config=config))
    (folder / "run.sh").write_text(f"#!/bin/bash\n{_torchrun(case['ranks'])} train.py\n")


def launch_script(case: dict[str, Any]) -> str:
    """The shell script that starts the case; how the words are carried goes round with the case's number."""
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in case["environment"].items())
    words = [shlex.quote(word) for word in case["argv"]]
    start = f"{_torchrun(case['ranks'])} pretrain_gpt.py"
    lines: list[str] = []
    for word in words:
        if word.startswith("--") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    if case.get("id", 0) % 2:
        array = "".join(f"    {line}\n" for line in lines)
        return f'#!/bin/bash\n{exports}\nARGS=(\n{array})\n\n{start} "${{ARGS[@]}}"\n'
    joined = " \\\n    ".join([start, *lines])
    return f"#!/bin/bash\n{exports}\n{joined}\n"


def _torchrun(ranks: int) -> str:
    if ranks <= PER_NODE:
        return f"torchrun --nproc_per_node {ranks}"
    nodes, rest = divmod(ranks, PER_NODE)
    per_node = PER_NODE if not rest else ranks // (nodes + 1)
    meeting = '--rdzv_backend c10d --rdzv_endpoint "$HEAD_NODE:29500"'
    return f"torchrun --nnodes {ranks // per_node} --nproc_per_node {per_node} {meeting}"


def _call(arguments: dict[str, Any]) -> str:
    written = []
    for name, value in arguments.items():
        plain = isinstance(value, str) and value.startswith("torch.")
        written.append(f"{name}={value if plain else repr(value)}")
    return ", ".join(written)
