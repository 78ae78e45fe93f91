"""Python that configures megatron.core for the oracle: ``TransformerConfig(...)`` and ``initialize_model_parallel(...)``.

Changes are written as in ``megatron_case_moves``, with ``name=value`` in place of options; values are Python's.
    ``~name`` takes an
argument away, ``@{4;8}`` sets the number of ranks, and ``+name=value`` is an argument of ``initialize_model_parallel``.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from hypothesis import strategies as st
from megatron_case_moves import changes_of

BASES = {
    "TransformerConfig": "num_layers=8 hidden_size=64 num_attention_heads=8",
    "MLATransformerConfig": "num_layers=8 hidden_size=64 num_attention_heads=8",
    "ModelParallelConfig": "",
    "OptimizerConfig": "lr=0.0001",
    "DistributedDataParallelConfig": "",
}
MODEL = """
num_attention_heads={8;6;3;4}
hidden_size={64;100;65;96}
hidden_size=100 kv_channels={16;12}
num_attention_heads={6;8;2} tensor_model_parallel_size={2;4}
num_query_groups={1;2;3;4} tensor_model_parallel_size={1;2;4}
ffn_hidden_size={256;99} tensor_model_parallel_size=2
gated_linear_unit=True
gated_linear_unit=True activation_func=torch.nn.functional.silu
bias_activation_fusion=True activation_func=torch.nn.functional.relu
bias_activation_fusion=True gated_linear_unit=True activation_func=torch.nn.functional.silu add_bias_linear={True;False}
normalization={'LayerNorm';'RMSNorm'}
num_layers={2;7;0}
multi_latent_attention=True
apply_query_key_layer_scaling={True;False}
fp32_residual_connection=True
num_moe_experts={8;1;0}
num_moe_experts=8 moe_router_topk={1;2;8;9}
num_moe_experts=8 moe_router_topk=1 moe_router_pre_softmax=True
num_moe_experts=8 expert_model_parallel_size={2;3;4}
expert_model_parallel_size=2
num_moe_experts=8 tensor_model_parallel_size=2 add_bias_linear={True;False}
num_moe_experts=8 tensor_model_parallel_size=2 sequence_parallel=True add_bias_linear={True;False;False}
num_moe_experts=8 moe_expert_capacity_factor={1.0;-1.0} moe_token_dispatcher_type={'alltoall';'allgather'}
num_moe_experts=8 moe_pad_expert_input_to_capacity=True
num_moe_experts=8 moe_shared_expert_intermediate_size={128;0} moe_shared_expert_overlap={True;False}
num_moe_experts=8 moe_router_num_groups={2;3} moe_router_group_topk={1;2;4}
num_moe_experts=8 moe_router_enable_expert_bias=True moe_router_score_function={'sigmoid';'softmax'}
num_moe_experts=8 moe_router_load_balancing_type={'aux_loss';'sinkhorn';'none'}
num_moe_experts=8 moe_token_dispatcher_type='flex' moe_enable_deepep={True;False}
num_moe_experts=8 moe_router_dtype={'fp32';'fp64'}
moe_ffn_hidden_size=128
num_moe_experts=8 moe_layer_freq={2;[1,0,1,0,1,0,1,0]}
recompute_granularity={'full';'selective';'half'}
recompute_granularity='full' recompute_method={'uniform';'block';'even'} recompute_num_layers={1;4;20}
recompute_granularity='full' recompute_method='uniform'
recompute_granularity='selective' recompute_method='uniform'
recompute_granularity='selective' recompute_num_layers=1
recompute_method='uniform' recompute_num_layers=1
recompute_granularity='selective' recompute_modules={['core_attn'];['mlp'];['foo'];['moe_act']}
distribute_saved_activations=True sequence_parallel=True tensor_model_parallel_size=2
cpu_offloading=True cpu_offloading_num_layers={1;8}
cpu_offloading=True cpu_offloading_num_layers=1 pipeline_model_parallel_size=2 pipeline_dtype=torch.bfloat16
cpu_offloading=True cpu_offloading_num_layers=1 recompute_granularity='full'
fp8={'hybrid';'e4m3'}
fp8='hybrid' fp8_recipe={'delayed';'tensorwise';'blockwise'} first_last_layers_bf16={True;False}
fp8_param=True
enable_cuda_graph=True
enable_cuda_graph=True cpu_offloading=True cpu_offloading_num_layers=1
num_layers_in_first_pipeline_stage={2;3} pipeline_model_parallel_size=2 pipeline_dtype=torch.bfloat16
num_layers_in_last_pipeline_stage={1;2} pipeline_model_parallel_size=4 pipeline_dtype=torch.bfloat16
account_for_embedding_in_pipeline_split=True pipeline_model_parallel_size=2 pipeline_dtype=torch.bfloat16
cp_comm_type={'p2p';['p2p','a2a']} context_parallel_size=2
context_parallel_size=2
cp_comm_type='a2a+p2p' context_parallel_size=4 hierarchical_context_parallel_sizes={[2,2];[2,4]}
attention_dropout=0.0 hidden_dropout=0.1
window_size={(128,0);64}
qk_layernorm=True
rotary_interleaved=True apply_rope_fusion={True;False}
init_method_std=0.02
layernorm_zero_centered_gamma=True
bf16=True params_dtype=torch.bfloat16
fp16=True
bf16=True fp16=True
head_size=16
hiden_size=64
~num_attention_heads
~num_layers
"""
PARALLEL = """
tensor_model_parallel_size=2 sequence_parallel=True
sequence_parallel=True
sequence_parallel=True tensor_model_parallel_size=2 async_tensor_model_parallel_allreduce=True
pipeline_model_parallel_size=2
pipeline_model_parallel_size=2 pipeline_dtype=torch.bfloat16
pipeline_model_parallel_size=4 virtual_pipeline_model_parallel_size=2 pipeline_dtype=torch.bfloat16
pipeline_model_parallel_size=2 pipeline_dtype=torch.bfloat16 autocast_dtype=torch.bfloat16
autocast_dtype=torch.float16
defer_embedding_wgrad_compute=True pipeline_model_parallel_size=2 pipeline_dtype=torch.bfloat16
defer_embedding_wgrad_compute=True gradient_accumulation_fusion=True pipeline_model_parallel_size={1;2}
    pipeline_dtype=torch.bfloat16
wgrad_deferral_limit=-1 defer_embedding_wgrad_compute=True gradient_accumulation_fusion=True
expert_model_parallel_size=2 tensor_model_parallel_size=2
expert_model_parallel_size=2 tensor_model_parallel_size=2 sequence_parallel=True
expert_tensor_parallel_size=1 tensor_model_parallel_size=2
overlap_p2p_comm_warmup_flush=True
overlap_p2p_comm_warmup_flush=True overlap_p2p_comm=True batch_p2p_comm=False
cpu_offloading=True
cpu_offloading_activations=False
use_ring_exchange_p2p=True
perform_initialization=False
tensor_parallel_size=2
context_parallel_size=2
"""
OPTIMIZER = """
optimizer={'adam';'sgd'}
optimizer='sgd' use_precision_aware_optimizer=True use_distributed_optimizer=True
use_precision_aware_optimizer=True
use_precision_aware_optimizer=True use_distributed_optimizer=True optimizer_cpu_offload=True
main_grads_dtype={torch.bfloat16;torch.float32}
main_params_dtype=torch.float16
exp_avg_dtype={torch.float16;torch.float32}
exp_avg_sq_dtype={torch.bfloat16;torch.uint8}
bf16=True params_dtype=torch.bfloat16
fp16=True params_dtype=torch.float16
overlap_param_gather=True
overlap_param_gather=True use_distributed_optimizer=True
fp8_recipe='mxfp8'
reuse_grad_buf_for_mxfp8_param_ag=True
weight_decay=0.1 adam_beta2=0.95
clip_gradient=1.0
min_learning_rate=0.1
"""
WRAPPER = """
overlap_grad_reduce=True
overlap_param_gather={True;False}
use_distributed_optimizer=True overlap_param_gather=True
reuse_grad_buf_for_mxfp8_param_ag=True
reuse_grad_buf_for_mxfp8_param_ag=True fp8_param_gather=True
num_distributed_optimizer_instances=2
bucket_size=40000000
grad_reduce_in_fp32=True
use_custom_fsdp=True
use_megatron_fsdp=True
data_parallel_sharding_strategy={'optim_grads_params';'optim';'all'}
nccl_ub=True
check_for_nan=True
"""
GROUPS = """
+tensor_model_parallel_size={1;2;4;3;16}
+pipeline_model_parallel_size={1;2;4;3}
+tensor_model_parallel_size=2 +pipeline_model_parallel_size={2;4;8}
+context_parallel_size={2;3;4}
+expert_model_parallel_size={2;4;8;3}
+expert_model_parallel_size=4 +tensor_model_parallel_size={2;4} +expert_tensor_parallel_size={1;2}
+virtual_pipeline_model_parallel_size={2;1}
+virtual_pipeline_model_parallel_size=2 +pipeline_model_parallel_size={2;4;1}
+virtual_pipeline_model_parallel_size=2 +pipeline_model_parallel_size=2
+num_distributed_optimizer_instances={2;3}
+hierarchical_context_parallel_sizes={[2,2];[2,4]} +context_parallel_size=4
+order={'tp-cp-ep-dp-pp';'tp-cp-ep-pp-dp';'tp-pp-dp'}
+order='tp-cp-ep-pp-dp' +pipeline_model_parallel_size=2 +expert_model_parallel_size=2
+pipeline_model_parallel_split_rank=1
+tensor_parallel_size=2
+use_sharp={True;False}
+tensor_model_parallel_size=0
@{1;2;4;6;8;16}
"""
TABLES = {
    "ModelParallelConfig": (PARALLEL,),
    "OptimizerConfig": (OPTIMIZER,),
    "DistributedDataParallelConfig": (WRAPPER,),
}
RANKS = (8, 8, 8, 4, 2, 16)
_CHOICE = re.compile(r"\{([^{}]*)\}")


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """A configuration object, the process groups, or both."""
    kind = draw(st.sampled_from(("TransformerConfig", "TransformerConfig", "TransformerConfig", *BASES)))
    shape = draw(st.sampled_from(("config", "config", "groups", "both")))
    ranks = draw(st.sampled_from(RANKS))
    own: dict[str, Any] = {}
    groups: dict[str, Any] = {}
    tables = TABLES.get(kind, (MODEL, MODEL, PARALLEL))
    touched = []
    chosen = [*BASES[kind].split()]
    for _ in range(draw(st.sampled_from((0, 1, 1, 1, 2, 2, 3)) if shape != "groups" else st.just(0))):
        touched.append(_choose(draw, draw(st.sampled_from(tables))))
    for _ in range(draw(st.sampled_from((0, 1, 1, 2))) if shape != "config" else 0):
        touched.append(_choose(draw, GROUPS))
    for word in [*chosen, *" ".join(touched).split()]:
        if word.startswith("@"):
            ranks = int(word[1:])
        elif word.startswith("~"):
            own.pop(word[1:], None)
        else:
            name, _, text = word.partition("=")
            target = groups if name.startswith("+") else own
            target[name.lstrip("+")] = text if text.startswith("torch.") else ast.literal_eval(text)
    case: dict[str, Any] = {"ranks": ranks, "touched": touched}
    if shape != "groups":
        case["config"] = {"class": kind, "arguments": own}
    if shape != "config":
        case["groups"] = groups
    return case


def _choose(draw: st.DrawFn, table: str) -> str:
    text = draw(st.sampled_from(changes_of(table)))
    while found := _CHOICE.search(text):
        text = text[: found.start()] + draw(st.sampled_from(found[1].split(";"))) + text[found.end() :]
    return text
