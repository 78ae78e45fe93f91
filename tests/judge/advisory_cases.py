"""For each advisory a project that uses the defective feature, and one that is alike and does not.

The pins are not part of a project: ``test_advisories`` puts releases with and without the defect there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Files = Mapping[str, str]

ENGINE = """
import deepspeed
from model import build_model

model = build_model()
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="ds.json")
{rest}
"""


def ds(config: Mapping[str, Any], rest: str = "", program: str = ENGINE) -> Files:
    """A DeepSpeed configuration with the program that reads it."""
    common = {"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}}}
    return {"ds.json": json.dumps({**common, **config}, indent=1), "train.py": program.replace("{rest}", rest)}


def py(text: str, **others: str) -> Files:
    """A script, and other files by name (``_`` for the dot)."""
    return {"train.py": text, **{name.replace("_", "."): content for name, content in others.items()}}


def zero(stage: int, **more: Any) -> dict[str, Any]:
    """A configuration with a stage of ZeRO; ``zero`` holds further settings of that block."""
    block = {"stage": stage, **more.pop("zero", {})}
    return {"zero_optimization": block, **more}


PIPELINE = """
import deepspeed
from deepspeed.pipe import PipelineModule
from model import layers

model = PipelineModule(layers=layers(), num_stages=2, partition_method="uniform")
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="ds.json")
engine.train_batch()
"""
EXPERTS = """
import deepspeed
from deepspeed.moe.layer import MoE
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.moe = MoE(hidden_size=64, expert=nn.Linear(64, 64), num_experts=8, ep_size=4)

model = Net()
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="ds.json")
"""
CPU = {"offload_optimizer": {"device": "cpu"}}
NVME = {"offload_optimizer": {"device": "nvme", "nvme_path": "/nvme"}}
BF16 = {"bf16": {"enabled": True}}
OVERLAP = {"zero": {"overlap_comm": True}}
UNIVERSAL = {"checkpoint": {"load_universal": True}}
BOUNDARY = "engine.set_gradient_accumulation_boundary(is_boundary=False)\n"
ULYSSES = "from deepspeed.sequence.layer import DistributedAttention\nattention = DistributedAttention(local, group)\n"
SINGLE = "from deepspeed.sequence import layer\n"


def scaling(method: str) -> dict[str, Any]:
    """Dynamic batches with a way to scale the learning rate."""
    batching = {"enabled": True, "max_tokens": 4096, "lr_scaling_method": method}
    return {"data_efficiency": {"enabled": True, "data_sampling": {"enabled": True, "dynamic_batching": batching}}}


def stages(method: str) -> Files:
    """A pipeline whose layers are shared out in some way."""
    call = f"PipelineModule(layers=[], num_stages=2{method})"
    return py(f"from deepspeed.pipe import PipelineModule\nmodel = {call}\n")


CASES: dict[int, tuple[Files, Files]] = {
    1: (
        ds(zero(2, zero=CPU, gradient_accumulation_steps=4)),
        ds(zero(2, zero=CPU, gradient_accumulation_steps=2)),
    ),
    2: (ds(zero(2, **OVERLAP)), ds(zero(3, **OVERLAP))),
    3: (ds(zero(1, **OVERLAP)), ds(zero(2, zero={"overlap_comm": False}))),
    4: (ds(zero(2, **OVERLAP)), ds(zero(2))),
    5: (ds(zero(2, **OVERLAP)), ds(zero(3, **OVERLAP))),
    6: (
        ds(zero(1, **BF16, data_types={"grad_accum_dtype": "fp32"})),
        ds(zero(2, **BF16, data_types={"grad_accum_dtype": "fp32"})),
    ),
    7: (
        ds({"gradient_accumulation_steps": 4}, program=PIPELINE),
        ds({"gradient_accumulation_steps": 4}),
    ),
    8: (ds(zero(2), program=EXPERTS), ds(zero(2))),
    9: (ds(zero(1), program=EXPERTS), ds({}, program=EXPERTS)),
    10: (ds({"gradient_clipping": 1.0}), ds({"gradient_clipping": 1.0, **BF16})),
    11: (ds(zero(2, **BF16, gradient_clipping=1.0)), ds(zero(2, **BF16))),
    12: (ds(zero(3, **UNIVERSAL)), ds(zero(2, **UNIVERSAL))),
    13: (ds(zero(3, zero=NVME)), ds(zero(3, zero=CPU))),
    14: (ds(zero(3, **UNIVERSAL)), ds(zero(3))),
    15: (ds(zero(1, **UNIVERSAL)), ds(zero(1))),
    16: (ds(scaling("sqrt")), ds(scaling("linear"))),
    17: (ds(zero(3)), ds(zero(2))),
    18: (ds(zero(3, zero={"zero_hpz_partition_size": 8})), ds(zero(3))),
    19: (
        ds(zero(3, zero={"offload_optimizer": {"device": "nvme", "nvme_path": "/nvme", "pipeline_write": True}})),
        ds(zero(3, zero=NVME)),
    ),
    20: (py(ULYSSES), py(SINGLE)),
    21: (py(ULYSSES), py(SINGLE)),
    22: (
        ds(zero(1, gradient_accumulation_steps=4), program=PIPELINE),
        ds({"gradient_accumulation_steps": 4}, program=PIPELINE),
    ),
    23: (
        ds(zero(2, zero=CPU, gradient_accumulation_steps=1), BOUNDARY),
        ds(zero(2, zero=CPU, gradient_accumulation_steps=1)),
    ),
    24: (ds(zero(1, zero={"elastic_checkpoint": True})), ds(zero(1))),
    25: (stages(', partition_method="type:Block"'), stages(', partition_method="uniform"')),
}
