"""The command-line options of Megatron-LM and Megatron-DeepSpeed that take no value.

All options that are declared as switches in ``megatron/arguments.py`` or ``megatron/training/arguments.py`` of any of
these: v2.5, core 0.4 to 0.19, Megatron-DeepSpeed. What takes a value in one of them is left out.
"""

from __future__ import annotations

_WORDS = """
account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split accumulate-allreduce-grads-in-fp32
add-qkv-bias adlr-autoresume allow-ambiguous-pad-tokens apply-layernorm-1p apply-query-key-layer-scaling
apply-residual-connection-post-layernorm apply-wd-to-qk-layernorm async-save attention-softmax-in-fp32
auto-detect-ckpt-format bert-no-binary-head bf16 biencoder-shared-query-context-model cache-mla-latents
calc-ft-timeouts calculate-per-token-loss check-for-large-grads check-for-spiky-loss checkpoint-activations
checkpoint-in-cpu ckpt-assume-constant-structure ckpt-convert-update-legacy-dist-opt-format
ckpt-fully-parallel-load ckpt-fully-parallel-save contigious-checkpointing cpu-optimizer cpu_torch_adam
create-all-gather-group create-moe-param-group cross-entropy-loss-fusion data-efficiency-curriculum-learning
data-parallel-random-init dataloader-defer-npy-index-mmap dataloader-fast-cache-load
dataloader-inter-document-masking ddp-average-in-collective ddp-pad-buckets-for-high-nccl-busbw
ddp-reduce-scatter-with-fp32-accumulation decode-only-cuda-graphs decrease-batch-size-if-needed
deepspeed-activation-checkpointing defer-embedding-wgrad-compute delay-param-gather delay-wgrad-compute
deterministic-mode dino-norm-last-layer disable-bf16-reduced-precision-matmul disable-bias-linear
disable-chunked-prefill disable-gloo-process-groups disable-jit-fuser disable-mamba-mem-eff-path
disable-mem-efficient-ln disable-moe-token-dropping disable-moe-top2-2nd-expert-sampling disable-msc
disable-straggler-on-startup disable-symmetric-registration disable-tp-comm-bulk-dgrad disable-tp-comm-bulk-wgrad
disable-tp-comm-overlap-ag disable-tp-comm-overlap-rs disable-tp-comm-split-ag disable-tp-comm-split-rs
dist-ckpt-optim-fully-reshardable dist-ckpt-save-pre-mcore-014 distrib-optim-fully-reshardable-mem-efficient
distribute-checkpointed-activations distribute-saved-activations ds-inference ds-sequence-parallel-fpdt
ds-sequence-parallel-fpdt-offloading ds_fused_adam embedding-weights-in-fp32 enable-chunked-prefill
enable-cuda-graph enable-experimental enable-expert-tensor-parallelism enable-ft-package
enable-full-sharding-in-hsdp enable-gpt-oss enable-msc enable-one-logger enable-zbh1-exact-semantics
enable-zbh1-pipeline eod-mask-loss exit-on-missing-checkpoint exit-signal-handler export-default-te-spec
export-force-local-attention export-kd-finalize export-legacy-megatron export-moe-apply-probs-on-input
export-offline-model export-qk-l2-norm export-te-mcore-model external-cuda-graph fake-process-group fim-data
finetune first-last-layers-bf16 flash-decode force-ds-sequence-parallel fp16 fp16-lm-cross-entropy
fp32-residual-connection fp4-param-gather fp8-e4m3 fp8-hybrid fp8-param-gather freeze-all-layers
freeze-base-for-mtp fsdp-db-use-persist-buf-on-alloc-fail fsdp-double-buffer fsdp-manual-registration
full-validation grad-reduce-in-bf16 group-query-attention grpo-filter-groups-with-same-reward inference
inference-cuda-graph-all-prefills inference-dynamic-batching
inference-dynamic-batching-track-generated-token-events inference-dynamic-batching-track-paused-request-events
inference-rng-tracker init-method-xavier-uniform init-model-with-meta-device inprocess-empty-cuda-cache
inprocess-restart is-hybrid-model kd keep-fp8-transpose-cache keep-fp8-transpose-cache-when-using-custom-fsdp
legacy-tokenizer load-main-params-from-ckpt load-model-opt-format log-batch-size-to-tensorboard log-energy
log-memory-to-tensorboard log-num-zeros-in-grad log-optimizer-states-to-tensorboard log-params-norm log-progress
log-straggler log-throughput log-timers-to-tensorboard log-validation-ppl-to-tensorboard
log-world-size-to-tensorboard logits-load-ignore-errors manual-gc megatron-fsdp-enable-fine-grained-param-gather
megatron-fsdp-max-pool-double-buffer memory-centric-tiled-linear mla-down-proj-fusion mmap-warmup mock-data
modelopt-enabled moe-apply-probs-on-input moe-enable-deepep moe-extended-tp moe-grouped-gemm moe-layer-recompute
moe-pad-expert-input-to-capacity moe-pad-experts-for-cuda-graph-inference moe-per-layer-logging moe-permute-fusion
moe-router-enable-expert-bias moe-router-force-load-balancing moe-router-fusion moe-router-padding-for-fp8
moe-router-pre-softmax moe-shared-expert-overlap moe-token-dropping moe-use-legacy-grouped-gemm moe-use-upcycling
mos multi-latent-attention multiple-validation-sets muon-nesterov muon-no-split-qkv muon-use-nesterov
nccl-all-reduce-for-prefill no-align-grad-reduce no-align-param-gather no-async-tensor-model-parallel-allreduce
no-barrier-with-level-1-timing no-bias-dropout-fusion no-bias-gelu-fusion no-bias-swiglu-fusion
no-check-for-nan-in-loss-and-grad no-ckpt-fully-parallel-save no-clone-scatter-output-in-embedding
no-contiguous-buffers-in-local-ddp no-create-attention-mask-in-dataloader no-data-sharding no-delay-grad-reduce
no-fp8-wgrad no-gradient-accumulation-fusion no-gradient-reduce-div-fusion no-initialization no-load-lr-state
no-load-optim no-load-rng no-log-learnig-rate-to-tensorboard no-log-loss-scale-to-tensorboard no-manual-gc-eval
no-masked-softmax-fusion no-mmap-bin-files no-one-logger no-overlap-p2p-communication no-persist-layer-norm
no-pin-cpu-grads no-pin-cpu-params no-pipeline-parallel no-position-embedding no-query-key-layer-scaling
no-rope-fusion no-save-optim no-save-rng no-scatter-gather-tensors-in-pipeline no-strict-fsdp-dtensor-load
no-use-layer-wise-param-layout no-use-tokenizer-model-from-checkpoint-args no-yarn-correction-range-round-to-int
one-logger-async openai-gelu optimizer-cpu-offload optimizer-cuda-graph output-bert-embeddings
overlap-cpu-optimizer-d2h-h2d overlap-grad-reduce overlap-moe-expert-parallel-comm overlap-p2p-communication
overlap-p2p-communication-warmup-flush overlap-param-gather overlap-param-gather-with-optimizer-step
override-lr-scheduler override-opt-param-scheduler override-opt_param-scheduler partition-activations
perform-rl-step profile-backward qk-l2-norm qk-layernorm quick-geglu random-ltd recompute-activations
record-memory-history renormalize-blend-weights repeated-dataloader replication reset-attention-mask
reset-iteration reset-position-ids retriever-score-scaling retro-add-retriever retro-no-verify-neighbor-count
retro-return-doc-ids return-data-index reuse-grad-buf-for-mxfp8-param-ag rl-offload-optimizer-during-inference
rl-profile rotary-interleaved run-workload-inspector-server scattered-embeddings sequence-parallel sft skip-train
split-transformers squared-relu standalone-embedding-stage swiglu synchronize-each-layer te-rng-tracker test-mode
tokenizer-hf-include-special-tokens tokenizer-hf-no-include-special-tokens tokenizer-hf-no-use-fast
tokenizer-hf-use-fast tokenizer-sentencepiece-legacy torch-fsdp2-no-reshard-after-forward tp-comm-overlap
tp-comm-overlap-rs-dgrad trust-remote-code universal-checkpoint untie-embeddings-and-output-weights
use-checkpoint-args use-checkpoint-lr-scheduler use-checkpoint-opt-param-scheduler
use-checkpoint-opt_param-scheduler use-contiguous-buffers-in-ddp use-cpu-initialization use-custom-fsdp
use-dist-ckpt use-distributed-optimizer use-flash-attn use-flash-attn-builder use-flash-attn-triton
use-flash-attn-v1 use-flash-attn-v2 use-fused-weighted-squared-relu use-legacy-models use-legacy-static-engine
use-mcore-models use-megatron-fsdp use-mp-args-from-checkpoint-args use-nccl-ub use-one-sent-docs
use-persistent-ckpt-worker use-pin-memory use-precision-aware-optimizer use-pytorch-profiler use-ring-exchange-p2p
use-rope-scaling use-rotary-position-embeddings use-same-sampling-seed-across-dp-ranks use-sharp
use-te-activation-func use-torch-fsdp2 use-torch-optimizer-for-cpu-offload use-tp-pp-dp-mapping use-tutel
vision-pretraining yarn-correction-range-round-to-int zero-contigious-gradients zero-reduce-scatter
"""

SWITCHES = frozenset(_WORDS.split())
"""The names without dashes in front, as written."""
