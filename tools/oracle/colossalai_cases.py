"""Scripts with Colossal-AI's plugins for the oracle: realistic arguments with up to three changes, and what is done with the booster.

Changes are written as in ``megatron_case_moves``, with Python's values: ``{a;b}`` is one of these, ``~name`` takes an argument
away, ``@{4;8}`` sets the number of processes. ``STEPS`` are calls behind the boost, each a line of the script.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from hypothesis import strategies as st
from megatron_case_moves import changes_of

BASES = {
    "GeminiPlugin": "",
    "HybridParallelPlugin": "tp_size=2 pp_size=1",
    "LowLevelZeroPlugin": "",
    "MoeHybridParallelPlugin": "tp_size=1 pp_size=1 ep_size=2 zero_stage=1",
    "TorchDDPPlugin": "",
    "TorchFSDPPlugin": "",
}
SIZES = """
tp_size={1;2;3;4;8}
tp_size={0;'2'}
pp_size=0
tp_size={2;4} pp_size=2 num_microbatches=4
pp_size={2;3;4}
pp_size={2;4} num_microbatches={2;4;8}
pp_size=2 microbatch_size={1;2}
pp_size=2 microbatch_size=1 num_microbatches=4
num_microbatches=4
~tp_size
~pp_size
dp_outside={True;False}
@{1;2;4;6;8;12;16}
"""
ZERO = """
zero_stage={0;1;2;3}
zero_stage={0;1;2} pp_size=2 num_microbatches=4
zero_stage={1;2} precision={'fp16';'bf16';'fp32'}
zero_stage=1 cpu_offload=True
zero_stage=1 tp_size=4
overlap_communication={True;False}
"""
PRECISION = """
precision={'fp16';'bf16';'fp32';'fp8';'float16'}
precision='bf16' max_norm=1.0
initial_scale=1024 max_norm=1.0
"""
SCALE = """
initial_scale={0;1024} min_scale={1;4096}
precision='fp16' max_scale={0;1024;65536;4294967296}
precision='fp16' growth_factor={1.0;2.0}
precision={'fp16';'bf16'} backoff_factor={0.5;1.0}
precision='fp16' hysteresis={-1;2}
"""
PIPELINE = """
pp_size=2 num_microbatches=4 pp_style={'1f1b';'interleaved';'zbv';'gpipe'}
pp_size=2 num_microbatches=4 pp_style='interleaved' num_model_chunks={1;2}
pp_size=2 num_microbatches=4 num_model_chunks=2
pp_style={'interleaved';'zbv'} num_model_chunks=2
pp_size=2 num_microbatches=4 num_layers_per_stage={[1,1];[2];[1,2,1]}
"""
SEQUENCE = """
enable_sequence_parallelism=True
enable_sequence_parallelism=True sequence_parallelism_mode={'split_gather';'ring';'all_to_all';'ring_attn';'ulysses'}
enable_sequence_parallelism=True sequence_parallelism_mode='all_to_all' sp_size={1;2;3;4} tp_size={1;2}
enable_sequence_parallelism=True sequence_parallelism_mode='split_gather' tp_size={1;2} sp_size={1;2}
sequence_parallelism_mode='ring'
sp_size={1;2}
enable_sequence_overlap=True
"""
OPTIMISATION = """
enable_fused_normalization=False
enable_jit_fused=False
custom_policy=None
stage=1
tensor_parallel_size=2
micro_batch_size=2
enable_metadata_cache=False
make_vocab_size_divisible_by=32
fp8_communication=False
overlap_p2p=True
"""
EXPERTS = """
ep_size={1;2;3;4;8}
ep_size={2;4} zero_stage={0;1;2}
ep_size=2 pp_size=2 num_microbatches=4 zero_stage={0;1;2}
~ep_size
use_ep_inside=True
extra_dp_size=2
moe_dp_outside=False
"""
GEMINI = """
placement_policy={'static';'auto';'cuda';'cpu';'const'}
placement_policy='static' offload_optim_frac={0.0;0.5;1.0} offload_param_frac={0.0;1.0}
placement_policy='auto' gpu_margin_mem_ratio={0.0;0.5;2.0}
precision={'fp16';'bf16';'fp32'}
max_norm=1.0 norm_type={1.0;2.0}
norm_type=1.0
tp_size={1;2;3}
extra_dp_size={1;2;3}
search_range_mb=32
search_range_m=32
device='cuda'
min_chunk_size_m=1
hidden_dim=8
enable_gradient_accumulation=True
enable_async_reduce=False
max_prefetch=2
stage=3
@{1;2;4;6;8}
"""
LOW_LEVEL = """
stage={0;1;2;3}
precision={'fp16';'bf16';'fp32';'fp8'}
norm_type={1.0;2.0;2}
stage=2 cpu_offload=True
extra_dp_size={1;2;3}
max_norm=1.0
overlap_communication=False
reduce_bucket_size_in_m=4
master_weights=False
cast_inputs=False
zero_stage=1
tp_size=2
@{1;2;4;6;8}
"""
PLAIN = """
broadcast_buffers=True
bucket_cap_mb=50
find_unused_parameters=True
static_graph=True
gradient_as_bucket_view=True
precision='fp16'
ddp_bucket_cap_mb=25
@{1;2;4}
"""
SHARDED = """
sync_module_states=False
ignored_modules=None
use_orig_params=True
precision='bf16'
sharding_strategy={None;'FULL_SHARD'}
limit_all_gathers=True
cpu_offload={None;True}
mixed_precision={None;'bf16'}
@{1;2;4}
"""
TABLES = {
    "GeminiPlugin": (GEMINI, GEMINI, SCALE),
    "HybridParallelPlugin": (SIZES, SIZES, ZERO, PRECISION, PIPELINE, SEQUENCE, OPTIMISATION),
    "LowLevelZeroPlugin": (LOW_LEVEL, LOW_LEVEL, SCALE),
    "MoeHybridParallelPlugin": (SIZES, ZERO, PRECISION, PIPELINE, EXPERTS, EXPERTS, OPTIMISATION),
    "TorchDDPPlugin": (PLAIN,),
    "TorchFSDPPlugin": (SHARDED,),
}
OPTIMIZERS = ("torch.optim.AdamW", "torch.optim.SGD", "HybridAdam", "HybridAdam")
STEPS = (
    "booster.backward(model(torch.randn(2, 8)).float().sum(), optimizer)",
    "booster.backward(model(torch.randn(2, 8)).float().sum(), plain)",
    "booster.no_sync(model, optimizer)",
    "booster.no_sync(model)",
    "booster.execute_pipeline(iter([]), model, None, optimizer)",
    "booster.save_model(model, 'model.bin')",
    "booster.save_model(net, 'model.bin')",
    "booster.save_model(model, 'model.bin', use_safetensors=True)",
    "booster.save_model(model, 'folder', shard=True)",
    "booster.load_optimizer(plain, 'optimizer.bin')",
    "booster.backward(optimizer, model(torch.randn(2, 8)).float().sum())",
    "booster.save_model('model.bin', model)",
    "booster.save_model(model)",
    "plugin.prepare_dataloader([1, 2, 3])",
    "schedules.CosineAnnealingWarmupLR(plain, total_steps=100, warmup_steps=10)",
    "schedules.CosineAnnealingWarmupLR(plain, T_max=100)",
    "schedules.MultiStepWarmupLR(plain, 100, 10)",
    "schedules.PolynomialWarmupLR(plain, 100, warmup_steps=100)",
    "schedules.FlatAnnealingLR(plain, 100, pct_start=72)",
    "schedules.LambdaLR(plain, 100)",
    "optimizers.CAME(net.parameters())",
    "optimizers.Adafactor(net.parameters(), relative_step=False, warmup_init=True)",
    "optimizers.FusedSGD(net.parameters(), lr=0.1, nesterov=True)",
    "optimizers.Lamb(net.parameters(), lr=0.1, betas=(1.0, 0.999))",
)
RANKS = (8, 8, 8, 4, 4, 2, 16)
_CHOICE = re.compile(r"\{([^{}]*)\}")
_PARTED = ("HybridParallelPlugin", "MoeHybridParallelPlugin")


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """A plugin with its arguments, the number of processes, and what comes behind it."""
    plugin = draw(st.sampled_from((*BASES, "HybridParallelPlugin", "HybridParallelPlugin", "GeminiPlugin")))
    ranks = draw(st.sampled_from(RANKS))
    touched = [
        _choose(draw, draw(st.sampled_from(TABLES[plugin])))
        for _ in range(draw(st.sampled_from((0, 1, 1, 1, 2, 2, 3))))
    ]
    arguments: dict[str, Any] = {}
    for word in [*BASES[plugin].split(), *" ".join(touched).split()]:
        if word.startswith("@"):
            ranks = int(word[1:])
        elif word.startswith("~"):
            arguments.pop(word[1:], None)
        else:
            name, _, text = word.partition("=")
            arguments[name] = ast.literal_eval(text)
    case: dict[str, Any] = {"plugin": plugin, "arguments": arguments, "ranks": ranks, "touched": touched}
    if plugin not in _PARTED and draw(st.booleans()):
        case["optimizer"] = draw(st.sampled_from(OPTIMIZERS))
        if draw(st.booleans()):
            case["step"] = draw(st.sampled_from(STEPS))
            case["touched"] = [*touched, case["step"]]
    return case


def _choose(draw: st.DrawFn, table: str) -> str:
    text = draw(st.sampled_from(changes_of(table)))
    while found := _CHOICE.search(text):
        text = text[: found.start()] + draw(st.sampled_from(found[1].split(";"))) + text[found.end() :]
    return text


def script(case: dict[str, Any], *, config: bool, spread: bool) -> str:
    """The script of a case; ``config``: launch functions want one, ``spread``: the arguments come out of a dictionary."""
    written = ", ".join(f"{name}={value!r}" for name, value in case["arguments"].items())
    module = "colossalai.booster.plugin"
    if case["plugin"] == "MoeHybridParallelPlugin":
        module += ".moe_hybrid_parallel_plugin"
    lines = [
        "import colossalai",
        "import colossalai.nn.lr_scheduler as schedules",
        "import colossalai.nn.optimizer as optimizers",
    ]
    lines += ["import torch", "from colossalai.booster import Booster"]
    lines += [f"from {module} import {case['plugin']}", "from colossalai.nn.optimizer import HybridAdam", ""]
    lines.append(f"colossalai.launch_from_torch({'config={}' if config else ''})")
    if spread:
        lines += [f"settings = dict({written})", f"plugin = {case['plugin']}(**settings)"]
    else:
        lines.append(f"plugin = {case['plugin']}({written})")
    lines.append("booster = Booster(plugin=plugin)")
    if "optimizer" in case:
        lines += ["net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 4))"]
        lines += [f"plain = {case['optimizer']}(net.parameters(), lr=0.01)"]
        lines += ["model, optimizer, *_ = booster.boost(net, plain)"]
    if "step" in case:
        lines.append(case["step"])
    return "\n".join(lines) + "\n"
