"""Changes to a command line of Megatron-LM that the oracle tries, by area.

A change is written as the words of a command line, with alternatives in braces: ``--rope-type {rope;yarn}``. ``~--lr`` takes an option
away, ``@{8;16}`` sets the number of ranks, ``NAME=value`` sets a variable of the environment and ``~NAME`` unsets
    it. Alternatives that
are written twice are twice as likely. An option that a release doesn't know is left out there; ``?--option`` is given nevertheless.
A line that begins with spaces goes on with the change of the line before.
"""

from __future__ import annotations

SIZES = """
--tensor-model-parallel-size {1;2;2;4;8;3;16}
--tensor-model-parallel-size {2;4} --sequence-parallel
--pipeline-model-parallel-size {1;2;2;4;8;3}
--context-parallel-size {1;2;2;4;3}
--tensor-model-parallel-size 2 --pipeline-model-parallel-size {2;4} --context-parallel-size {1;2;4}
--expert-model-parallel-size {1;2;4;8;3}
--num-experts {4;8;6} --expert-model-parallel-size {2;4;8} --disable-bias-linear
--num-experts 8 --expert-model-parallel-size {2;4} --expert-tensor-parallel-size {1;2;4}
    --tensor-model-parallel-size 2 --sequence-parallel
--num-experts 8 --expert-model-parallel-size {4;8} --pipeline-model-parallel-size 2 --disable-bias-linear
--use-tp-pp-dp-mapping --pipeline-model-parallel-size 2
@{1;2;4;8;16;6;12;24;32}
--tensor-model-parallel-size {0;-1}
--num-distributed-optimizer-instances {1;2;3} --use-distributed-optimizer
--hierarchical-context-parallel-sizes {2 2;2 4;4} --context-parallel-size 4
--context-parallel-size 2 --cp-comm-type {p2p;a2a;allgather;a2a+p2p}
--num-layers 2 --context-parallel-size 2 --cp-comm-type {p2p a2a;p2p a2a p2p}
--context-parallel-size {2;4} --seq-length {128;100;60} --max-position-embeddings 128
--sequence-parallel
"""

PIPELINE = """
--num-layers {4;6;8;12;7} --pipeline-model-parallel-size {2;4;3}
--num-layers-per-virtual-pipeline-stage {1;2;3} --pipeline-model-parallel-size {2;4}
--num-layers-per-virtual-pipeline-stage 1
--num-virtual-stages-per-pipeline-rank {2;2;3;4} --pipeline-model-parallel-size {2;4}
--num-virtual-stages-per-pipeline-rank 2 --num-layers-per-virtual-pipeline-stage 1 --pipeline-model-parallel-size 2
--decoder-first-pipeline-num-layers {1;2;3} --pipeline-model-parallel-size {2;4}
--decoder-last-pipeline-num-layers {1;2;3} --pipeline-model-parallel-size {2;4}
--decoder-first-pipeline-num-layers {1;2} --decoder-last-pipeline-num-layers {1;2;3} --num-layers {6;8;9}
    --pipeline-model-parallel-size {2;4}
--account-for-embedding-in-pipeline-split --num-layers {7;8} --pipeline-model-parallel-size {2;4}
--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split --num-layers {6;8}
    --pipeline-model-parallel-size {2;4}
--pipeline-model-parallel-layout {Ett|ttttttL;Ett|tt|tt|ttL;Et*4|t*4L;Et|ttL;tt|tt|tt|ttL}
    --pipeline-model-parallel-size {2;4}
--pipeline-model-parallel-layout {Et*3|(tt|)*2tL;Et*4|t*4,L;E|t*4|t*4|L} --num-layers 8
    --pipeline-model-parallel-size {2;4}
--no-overlap-p2p-communication --num-layers-per-virtual-pipeline-stage 1 --pipeline-model-parallel-size {2;4}
--overlap-p2p-communication-warmup-flush --pipeline-model-parallel-size 2
--microbatch-group-size-per-virtual-pipeline-stage {1;2;4;8} --num-layers-per-virtual-pipeline-stage 1
    --pipeline-model-parallel-size 2
--defer-embedding-wgrad-compute --pipeline-model-parallel-size {1;2}
--pipeline-model-parallel-size 2 --global-batch-size {4;8;12} --num-layers-per-virtual-pipeline-stage 1
--standalone-embedding-stage --pipeline-model-parallel-size 2
--pipeline-model-parallel-split-rank 1 --pipeline-model-parallel-size 2
--mtp-num-layers {1;2} --position-embedding-type {rope;none}
--mtp-num-layers 1
--align-param-gather
--num-layers {1;3;0}
"""

BATCH = """
--global-batch-size {16;32;24;12;100;7;0}
--micro-batch-size {1;2;3;4;0;-1}
~--global-batch-size
~--micro-batch-size
--global-batch-size {100;20} --decrease-batch-size-if-needed
~--train-iters ~--lr-warmup-iters ~--lr-decay-iters --train-samples 1000 --rampup-batch-size
    {8 8 100;16 16 500;4 4 64;8 5 100;16 8} --global-batch-size {32;64}
--rampup-batch-size 8 8 100
~--train-iters ~--lr-warmup-iters ~--lr-decay-iters --train-samples 1000 --rampup-batch-size 12 4 200
    --global-batch-size 32
--step-batch-size-schedule {0:8 100:16;0:8 50:12}
--batch-size 4
--micro-batch-size 4 --global-batch-size {8;32;48}
--eval-micro-batch-size {1;2} --eval-global-batch-size {16;12}
"""

SCHEDULE = """
~--train-iters
~--train-iters --train-samples {1000;0}
--train-samples 1000
~--train-iters ~--lr-warmup-iters ~--lr-decay-iters --train-samples 1000 --lr-decay-samples 900 --lr-warmup-samples
    {10;950}
--lr-decay-samples 900
--lr-warmup-samples 10
--lr-decay-iters {50;100;10} --lr-warmup-iters {5;10;60}
--lr-warmup-fraction {0.01;0.1;1.5}
--lr-warmup-fraction 0.1 --lr-warmup-iters 10
--lr-warmup-iters {10;100;200}
--min-lr {1e-5;1e-3;0.0;1.0}
~--lr
--lr {1e-4;0;-1e-4}
--lr-decay-style {cosine;linear;constant;inverse-square-root;WSD}
--lr-decay-style WSD --lr-wsd-decay-iters {10;200}
--lr-decay-style WSD --lr-wsd-decay-samples 100
--lr-decay-style WSD --lr-wsd-decay-iters 10 --lr-wsd-decay-style {linear;cosine;exponential;minus_sqrt}
--lr-warmup-init {0.0;1e-3;1e-6;-1.0}
--start-weight-decay 0.01 --end-weight-decay 0.1 --weight-decay-incr-style {constant;linear;cosine}
--weight-decay-incr-style {linear;cosine;constant}
--start-weight-decay 0.1
--weight-decay {0.1;0.0;-0.1}
--override-opt_param-scheduler
--use-checkpoint-opt_param-scheduler
--override-opt_param-scheduler --use-checkpoint-opt_param-scheduler
--eval-interval {10;1000;0}
~--eval-interval
--eval-iters {0;10}
--skip-train
--full-validation
--phase-transition-iterations {10,50;10;50,10}
--seed {1234;0;-1}
--log-interval {1;100;0}
--exit-interval 10 --exit-duration-in-mins 100
--log-memory-interval {10;15} --log-interval 10
--train-iters {1;100;0}
--clip-grad {1.0;0.0}
--adam-beta1 {0.9;1.0} --adam-beta2 {0.95;0.999}
--optimizer {adam;sgd;lion;muon}
"""

PRECISION = """
~--bf16
~--bf16 --fp16
--fp16
~--bf16 --fp16 --loss-scale {1024;0} --initial-loss-scale 4096
--loss-scale 1024
~--bf16 --fp16 --fp16-lm-cross-entropy
--fp16-lm-cross-entropy
--fp32-residual-connection
~--bf16 --fp32-residual-connection
--accumulate-allreduce-grads-in-fp32
~--bf16 --fp16 --accumulate-allreduce-grads-in-fp32
--attention-softmax-in-fp32
--apply-query-key-layer-scaling
~--bf16 --fp16 --apply-query-key-layer-scaling
--fp8-format {hybrid;e4m3}
--fp8-format hybrid --fp8-amax-history-len 1024 --fp8-amax-compute-algo {max;most_recent}
--fp8-format hybrid --fp8-recipe {delayed;tensorwise;mxfp8;blockwise}
--fp8-format hybrid --fp8-param-gather
--fp8-format hybrid --fp8-param-gather --use-distributed-optimizer
--fp8-param-gather
--fp8-format hybrid --first-last-layers-bf16
--fp8-format hybrid --fp8-recipe tensorwise --first-last-layers-bf16 --num-layers-at-start-in-bf16 {1;4;9}
--fp4-format e2m1
--fp4-format e2m1 --fp8-format hybrid
--fp4-param-gather
--transformer-impl {local;transformer_engine} --fp8-format hybrid
--use-precision-aware-optimizer
--use-precision-aware-optimizer --use-distributed-optimizer
--use-precision-aware-optimizer --use-distributed-optimizer --main-grads-dtype {bf16;fp32} --exp-avg-dtype
    {fp16;fp8;bf16} --exp-avg-sq-dtype {fp16;fp32}
--main-grads-dtype bf16
--main-params-dtype fp16
--exp-avg-dtype bf16
--grad-reduce-in-bf16
--grad-reduce-in-bf16 --accumulate-allreduce-grads-in-fp32
--disable-bf16-reduced-precision-matmul
--te-rng-tracker
--no-fp8-wgrad
--hysteresis 2 --loss-scale-window 100 --min-loss-scale 1
"""

OPTIMIZER = """
--use-distributed-optimizer
--use-distributed-optimizer --overlap-grad-reduce
--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
--overlap-grad-reduce
--overlap-param-gather
--overlap-param-gather --overlap-grad-reduce
--use-distributed-optimizer --overlap-param-gather
--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --overlap-param-gather-with-optimizer-step
--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --overlap-param-gather-with-optimizer-step
    --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1 --ckpt-format {torch;torch_dist}
--ddp-bucket-size 1000000
--ddp-num-buckets 4 --ddp-bucket-size 1000000
--ddp-average-in-collective
--ddp-average-in-collective --calculate-per-token-loss
--disable-gloo-process-groups --use-distributed-optimizer --ckpt-format {torch;torch_dist}
--optimizer sgd --use-distributed-optimizer
--optimizer {muon;dist_muon} --use-distributed-optimizer
--optimizer muon
--optimizer muon --ckpt-format {torch;zarr}
--optimizer-cpu-offload
--optimizer-cpu-offload --use-precision-aware-optimizer --use-distributed-optimizer
--optimizer-cpu-offload --optimizer-offload-fraction {0.5;1.0;2.0} --use-precision-aware-optimizer
    --use-distributed-optimizer
--use-torch-fsdp2
--use-torch-fsdp2 --no-gradient-accumulation-fusion --untie-embeddings-and-output-weights ~CUDA_DEVICE_MAX_CONNECTIONS
--use-torch-fsdp2 --no-gradient-accumulation-fusion --untie-embeddings-and-output-weights --ckpt-format
    {torch_dcp;torch_dist;torch} CUDA_DEVICE_MAX_CONNECTIONS=8
--use-torch-fsdp2 --no-gradient-accumulation-fusion --untie-embeddings-and-output-weights
    --pipeline-model-parallel-size 2 ~CUDA_DEVICE_MAX_CONNECTIONS
--use-torch-fsdp2 --no-gradient-accumulation-fusion --untie-embeddings-and-output-weights
    --use-distributed-optimizer ~CUDA_DEVICE_MAX_CONNECTIONS
--use-megatron-fsdp
--use-megatron-fsdp --ckpt-format fsdp_dtensor ~CUDA_DEVICE_MAX_CONNECTIONS
--use-megatron-fsdp --ckpt-format fsdp_dtensor --use-distributed-optimizer --data-parallel-sharding-strategy
    {no_shard;optim;optim_grads;optim_grads_params} ~CUDA_DEVICE_MAX_CONNECTIONS --no-gradient-accumulation-fusion
--use-megatron-fsdp --ckpt-format fsdp_dtensor --use-distributed-optimizer --data-parallel-sharding-strategy
    optim_grads_params --init-model-with-meta-device ~CUDA_DEVICE_MAX_CONNECTIONS --no-gradient-accumulation-fusion
--use-custom-fsdp --use-distributed-optimizer ~CUDA_DEVICE_MAX_CONNECTIONS
--data-parallel-sharding-strategy optim_grads_params
--init-model-with-meta-device
--tp-comm-overlap
--tp-comm-overlap --tensor-model-parallel-size 2 --sequence-parallel
--tp-comm-overlap --tensor-model-parallel-size 2
--no-gradient-accumulation-fusion
--use-ring-exchange-p2p
--nccl-ub --use-distributed-optimizer
--use-sharp
--high-priority-stream-groups {dp_cp;ep_dp} --create-all-gather-group
--decoupled-lr 1e-4 --decoupled-min-lr 1e-5
--decoupled-min-lr 1e-5
--decoupled-lr 1e-4 --untie-embeddings-and-output-weights
--delay-grad-reduce
--no-async-tensor-model-parallel-allreduce
--use-cpu-initialization
--suggested-communication-unit-size 400000000
--fsdp-double-buffer
--check-for-large-grads
--use-layer-wise-distributed-optimizer
"""

RECOMPUTE = """
--recompute-activations
--recompute-granularity {full;selective}
--recompute-granularity full --recompute-method {uniform;block} --recompute-num-layers {1;2;4;100}
--recompute-granularity full --recompute-method uniform
--recompute-granularity full --recompute-num-layers 1
--recompute-method uniform --recompute-num-layers 1
--recompute-granularity selective --recompute-method uniform
--recompute-granularity selective --recompute-num-layers 1
--recompute-activations --recompute-granularity full
--recompute-granularity selective --recompute-modules
    {core_attn;mlp;layernorm;core_attn mlp;moe_act;mla_up_proj;moe;shared_experts;attn}
--recompute-modules {mlp;core_attn layernorm}
--recompute-granularity full --recompute-modules mlp
--distribute-saved-activations
--distribute-saved-activations --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
    --tensor-model-parallel-size 2
--distribute-saved-activations --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
    --tensor-model-parallel-size 2 --sequence-parallel
--checkpoint-activations
--cpu-offloading-num-layers {1;2;100}
--cpu-offloading-num-layers 1 --recompute-activations
--cpu-offloading-num-layers 1 --pipeline-model-parallel-size 2
--fine-grained-activation-offloading --offload-modules {core_attn;qkv_linear;foo}
--fine-grained-activation-offloading
--enable-cuda-graph
--external-cuda-graph
--enable-cuda-graph --external-cuda-graph
--cuda-graph-impl {local;transformer_engine;none}
--cuda-graph-impl local --cuda-graph-scope {full_iteration;attn;mlp}
--cuda-graph-impl local --cuda-graph-scope full_iteration --no-check-for-nan-in-loss-and-grad --te-rng-tracker
--cuda-graph-impl transformer_engine --cuda-graph-scope {attn;mlp;moe;moe_router;moe_preprocess}
--cuda-graph-impl transformer_engine PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
--cuda-graph-impl local --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
--cuda-graph-scope attn
--enable-cuda-graph --cuda-graph-impl local
--cuda-graph-warmup-steps 3
--inference-rng-tracker
"""

EXPERTS = """
--num-experts {8;1;0;-1}
--num-experts 8 --disable-bias-linear --moe-router-topk {1;2;8;9}
--moe-router-topk 2
--num-experts 8 --moe-router-topk 1 --moe-router-pre-softmax
--num-experts 8 --moe-router-topk 1
--num-experts 8 --tensor-model-parallel-size 2 --disable-bias-linear
--num-experts 8 --tensor-model-parallel-size 2 --sequence-parallel --disable-bias-linear
--num-experts 8 --moe-router-load-balancing-type {aux_loss;seq_aux_loss;sinkhorn;none;global_aux_loss}
--num-experts 8 --moe-router-load-balancing-type {aux_loss seq_aux_loss;sinkhorn} --moe-aux-loss-coeff
    {1e-2;1e-2 1e-2;0.0}
--moe-aux-loss-coeff 1e-2
--num-experts 8 --moe-grouped-gemm --disable-bias-linear
--num-experts 8 --moe-grouped-gemm
--moe-grouped-gemm
--num-experts 8 --moe-token-dispatcher-type {allgather;alltoall;flex;alltoall_seq} --disable-bias-linear
--num-experts 8 --moe-token-dispatcher-type flex --moe-enable-deepep --expert-model-parallel-size 2
    --disable-bias-linear
--num-experts 8 --moe-enable-deepep --disable-bias-linear
--num-experts 8 --moe-expert-capacity-factor {1.0;-1.0} --moe-token-dispatcher-type {alltoall;allgather;flex}
    --disable-bias-linear
--num-experts 8 --moe-expert-capacity-factor 1.0 --moe-pad-expert-input-to-capacity --disable-bias-linear
    --moe-token-dispatcher-type alltoall
--num-experts 8 --moe-pad-expert-input-to-capacity --disable-bias-linear
--num-experts 8 --moe-expert-capacity-factor 1.0 --moe-router-load-balancing-type sinkhorn
    --moe-token-dispatcher-type alltoall
--num-experts 8 --moe-token-drop-policy {probs;position}
--num-experts 8 --moe-shared-expert-intermediate-size {128;0;130} --disable-bias-linear
--num-experts 8 --moe-shared-expert-intermediate-size 128 --moe-shared-expert-overlap --moe-token-dispatcher-type
    {alltoall;allgather} --disable-bias-linear
--num-experts 8 --moe-shared-expert-overlap --disable-bias-linear
--num-experts 8 --moe-router-num-groups {4;3} --moe-router-group-topk {1;2;5} --moe-router-topk 4 --disable-bias-linear
--num-experts 8 --moe-router-group-topk 2 --disable-bias-linear
--num-experts 8 --moe-router-num-groups 4
--num-experts 8 --moe-router-score-function {softmax;sigmoid} --moe-router-enable-expert-bias --disable-bias-linear
--num-experts 8 --moe-router-enable-expert-bias
--num-experts 8 --moe-router-topk-scaling-factor {2.5;0.5} --moe-router-pre-softmax
--num-experts 8 --moe-router-topk-scaling-factor 2.5
--num-experts 8 --moe-router-dtype {fp32;fp64;bf16}
--num-experts 64 --moe-router-topk 4 --disable-bias-linear
--moe-ffn-hidden-size 128
--num-experts 8 --moe-ffn-hidden-size {128;100} --disable-bias-linear
--num-experts 8 --moe-layer-freq {([0]*3+[1])*7;[1]*8;([0]*2;[True]*8;8*[1];[2]*8;0;[1]*4+} --disable-bias-linear
--num-experts 8 --moe-layer-freq {2;[1,0,1,0,1,0,1,0];([0]*1+[1]*3)*2;([0]*1+[1]*7);[1,0]} --disable-bias-linear
--moe-layer-freq 2
--num-experts 8 --overlap-moe-expert-parallel-comm --expert-model-parallel-size {1;2} --moe-token-dispatcher-type
    alltoall --disable-bias-linear CUDA_DEVICE_MAX_CONNECTIONS=32
--num-experts 8 --delay-wgrad-compute
--num-experts 8 --moe-router-padding-for-fp8 --disable-bias-linear
--num-experts 8 --moe-router-padding-for-fp8 --fp8-format hybrid --disable-bias-linear
--num-experts 8 --moe-use-upcycling --disable-bias-linear
--num-experts 8 --moe-permute-fusion --disable-bias-linear
--num-experts 8 --moe-input-jitter-eps 0.1 --moe-z-loss-coeff 1e-3 --disable-bias-linear
--num-experts 8 --moe-extended-tp --disable-bias-linear
--num-experts 8 --moe-layer-recompute --disable-bias-linear
--num-experts 8 --expert-tensor-parallel-size {1;2} --tensor-model-parallel-size {1;2} --sequence-parallel
--expert-tensor-parallel-size 2
--num-experts 8 --moe-latent-size 32
--num-experts 8 --moe-apply-probs-on-input --moe-router-topk {1;2}
--num-experts 8 --moe-router-force-load-balancing --disable-bias-linear
--num-experts 8 --moe-use-legacy-grouped-gemm --moe-grouped-gemm --disable-bias-linear
--num-experts 8 --moe-router-bias-update-rate 1e-3 --moe-router-enable-expert-bias --moe-router-score-function sigmoid
"""

MODEL = """
--num-attention-heads {4;8;3;5;6}
--num-attention-heads {6;8;2} --tensor-model-parallel-size {2;4} --sequence-parallel
--hidden-size {64;96;100;66;65}
--hidden-size 100 --num-attention-heads 8 --kv-channels {16;12}
--kv-channels 32
--group-query-attention --num-query-groups {1;2;4;3}
--group-query-attention --num-query-groups {2;1;3} --tensor-model-parallel-size {2;4} --sequence-parallel
--num-query-groups {1;2;4}
--group-query-attention
--ffn-hidden-size {256;200;99;130} --tensor-model-parallel-size {1;2;4} --sequence-parallel
--swiglu
--swiglu --tensor-model-parallel-size 4 --hidden-size {64;160} --sequence-parallel
--swiglu --squared-relu
--squared-relu
--squared-relu --no-bias-gelu-fusion
--squared-relu --disable-bias-linear
--quick-geglu
--swiglu --no-bias-swiglu-fusion
--no-bias-gelu-fusion
--no-bias-dropout-fusion --no-masked-softmax-fusion
--disable-bias-linear
--add-qkv-bias
--normalization {LayerNorm;RMSNorm}
--norm-epsilon 1e-6
--apply-layernorm-1p
--apply-layernorm-1p --normalization RMSNorm
--qk-layernorm
--qk-l2-norm
--position-embedding-type {learned_absolute;rope;none;relative;mrope;yarn}
--position-embedding-type rope --rotary-base {10000;500000} --rotary-percent {0.5;1.0}
--rotary-base 500000
--rotary-percent 0.5
--position-embedding-type rope --rotary-interleaved
--position-embedding-type rope --rotary-interleaved --no-rope-fusion
--position-embedding-type rope --use-rope-scaling --rope-scaling-factor 8
--position-embedding-type rope --rotary-seq-len-interpolation-factor 2
--position-embedding-type rope --no-rope-freq {[1,0];([1]+[0]*3)*2;2;3;4;[0,1,0,1,0,1,0,1]}
--no-rope-freq 2
--use-rotary-position-embeddings
--no-position-embedding
--no-position-embedding --position-embedding-type rope
--position-embedding-type mrope --mrope-section 8 4 4
--rope-type {rope;yarn}
--position-embedding-type relative --relative-attention-num-buckets 32
--multi-latent-attention
--multi-latent-attention --position-embedding-type rope --kv-lora-rank 32 --q-lora-rank 32 --qk-head-dim 16
    --qk-pos-emb-head-dim 8 --v-head-dim 16
--multi-latent-attention --group-query-attention --num-query-groups 2
--multi-latent-attention --rope-type {rope;yarn}
--kv-lora-rank 32
--untie-embeddings-and-output-weights
--seq-length {128;256;64} --max-position-embeddings {128;64}
~--max-position-embeddings
~--seq-length
~--num-layers
~--hidden-size
~--num-attention-heads
--encoder-num-layers 8
--encoder-num-layers 8 ~--num-layers
--encoder-seq-length 128
--encoder-seq-length 128 ~--seq-length
--decoder-seq-length 128
--attention-dropout {0.0;0.1;1.0} --hidden-dropout {0.0;0.1}
--attention-backend {flash;fused;unfused;local;auto}
--use-flash-attn
--use-flash-attn --attention-backend flash
--attention-backend local --spec local
--window-size {128,0;64}
--transformer-impl {local;transformer_engine}
--use-legacy-models
--use-legacy-models --ckpt-format torch
--use-legacy-models --transformer-impl local --ckpt-format torch --context-parallel-size 2
--use-mcore-models
--make-vocab-size-divisible-by {128;1;0}
--init-method-std {0.02;0.01} --init-method-xavier-uniform
--embedding-init-method-std 0.01
--softmax-type {vanilla;off-by-one;learnable}
--attention-output-gate
--clone-scatter-output-in-embedding
--cross-entropy-loss-fusion --cross-entropy-fusion-impl {native;te}
--heterogeneous-layers-config-path config.json
--is-hybrid-model --hybrid-attention-ratio 0.5
--hybrid-override-pattern MMM*
--experimental-attention-variant {gated_delta_net;dsa}
--linear-attention-freq 2
--deterministic-mode
--deterministic-mode NCCL_ALGO={Ring;Tree;foo}
--deterministic-mode NCCL_ALGO=Ring --use-flash-attn
--sequence-parallel --tensor-model-parallel-size 2 CUDA_DEVICE_MAX_CONNECTIONS={1;8}
--tensor-model-parallel-size 2 ~CUDA_DEVICE_MAX_CONNECTIONS
--context-parallel-size 2 ~CUDA_DEVICE_MAX_CONNECTIONS
~CUDA_DEVICE_MAX_CONNECTIONS
--batch-invariant-mode
--log-max-attention-logit
--qk-clip
"""

DATA = """
--data-path data/corpus_text_document
~--mock-data --data-path data/corpus_text_document
~--mock-data --data-path {0.3 data/a 0.7 data/b;data/a data/b;0.3 data/a 0.7}
~--mock-data --data-path data/corpus --split {969,30,1;100,0,0;90,10;1,1,1,1}
~--mock-data --train-data-path data/a --valid-data-path data/b --test-data-path data/c
~--mock-data --train-data-path data/a --split 969,30,1
~--mock-data --data-path data/a --train-data-path data/b
~--mock-data
--split {969,30,1;100,0,0}
~--mock-data --data-args-path data.txt
~--mock-data --data-args-path data.txt --data-path data/a
~--mock-data --per-split-data-args-path splits.json
--tokenizer-type {GPT2BPETokenizer;GPTSentencePieceTokenizer;Llama2Tokenizer;HuggingFaceTokenizer}
--tokenizer-type {TikTokenizer;SentencePieceTokenizer;BertWordPieceCase}
--tokenizer-type GPT2BPETokenizer --vocab-file vocab.json
--tokenizer-type GPT2BPETokenizer --vocab-file vocab.json --merge-file merges.txt
--tokenizer-type Llama2Tokenizer --tokenizer-model tokenizer.model
~--tokenizer-type
~--vocab-size
--vocab-size {0;50257;-1}
--dataloader-fast-cache-load
--dataloader-fast-cache-load --data-cache-path cache
--dataloader-type {single;cyclic;external;foo}
--num-workers {2;0}
--reset-position-ids --reset-attention-mask --eod-mask-loss
--no-create-attention-mask-in-dataloader
--fim-data --fim-rate 0.5
--multiple-validation-sets
--mid-level-dataset-surplus 0.005
--retro-add-retriever
--legacy-tokenizer
--wandb-project x
--wandb-project x --wandb-exp-name y
--tensorboard-dir tb --log-timers-to-tensorboard --tensorboard-log-interval {1;5}
--timing-log-level {0;2;3}
--profile --profile-step-start {10;20} --profile-step-end 12
"""

CHECKPOINTS = """
--save checkpoints
--save checkpoints --save-interval {100;0;-1}
--save-interval 100
--load checkpoints
--load checkpoints --no-load-optim --no-load-rng
--load checkpoints --finetune
--finetune
--pretrained-checkpoint pretrained
--use-checkpoint-args
--use-checkpoint-args --load checkpoints
--ckpt-format {torch;torch_dist;zarr;torch_dcp;fsdp_dtensor}
--save checkpoints --save-interval 100 --ckpt-format {torch;torch_dist}
--use-dist-ckpt
--use-dist-ckpt --dist-ckpt-format {torch_dist;zarr}
--ckpt-fully-parallel-save
--no-ckpt-fully-parallel-save --use-distributed-optimizer --save checkpoints --save-interval 10
--async-save --save checkpoints --save-interval 10
--async-save --ckpt-format torch --save checkpoints --save-interval 10
--async-save --use-persistent-ckpt-worker --save checkpoints --save-interval 10
--use-persistent-ckpt-worker
--auto-detect-ckpt-format --load checkpoints
--ckpt-convert-format torch
--ckpt-convert-format torch --ckpt-convert-save out --load checkpoints
--ckpt-convert-save out
--non-persistent-save-interval 10
--non-persistent-ckpt-type {local;global;in_memory}
--non-persistent-ckpt-type local --non-persistent-local-ckpt-dir /tmp/x --non-persistent-save-interval 10
--save-retain-interval {100;150} --save-interval 100 --save checkpoints
--save-retain-interval 100
--replication
--replication --replication-jump 2 --non-persistent-ckpt-type local --non-persistent-local-ckpt-dir /tmp/x
--load-main-params-from-ckpt --load checkpoints
--load-main-params-from-ckpt --load checkpoints --no-load-optim
--ckpt-step 100 --load checkpoints
--exit-on-missing-checkpoint --load checkpoints
--dist-ckpt-strictness {assume_ok_unexpected;foo;raise_all}
--ckpt-assume-constant-structure
--no-save-optim --no-save-rng --save checkpoints --save-interval 10
--ckpt-fully-parallel-load --load checkpoints
--perform-initialization
--no-initialization --load checkpoints
"""

SPELLINGS = """
?--num-layer 4
?--tensor-model-parallel 2
?--tensor_model_parallel_size 2
?--use-distributed-optimizr
?--model-parallel-size 2
?--warmup 10
?--checkpoint-activations
?--inference-batch-times-seqlen-threshold 512
?-- --bf16
?--DDP-impl local
?--use-custom-fsdp
?--standalone-embedding-stage
?--encoder-tensor-model-parallel-size 2
?--moe-router-topk-limited-devices 2
?--local-rank=0
?--local_rank 0
?--checkpoint-num-layers 1
?--log-interval=10
?--lr=0.0001
?--lr 1e-4 --lr 3e-4
?--bf16 --bf16
?--bf16 true
?--bf16=true
?--use-flash-attn True
?--train-iters 100.0
?--train-iters 1e3
?--train-iters
?--lr
?--lr fast
?--hidden-size 64x
?--micro-batch-size 1 2
?--optimizer adamw
?--optimizer Adam
?--normalization rmsnorm
?--lr-decay-style Cosine
?--tokenizer-type gpt2
?--rampup-batch-size
?--data-path
?--weight-decay .1
?--min-lr 1E-5
?--seed +7
?--seed 07
?--seed 1_000
?--lr -1e-4
?--save -checkpoints
?stray
?-h
?--
?--no-bf16
?--position-embedding-type ROPE
?--recompute-granularity Full
?--distributed-backend mpi
?--distributed-timeout-minutes 10
?--lr inf
?--clip-grad nan
?--deepspeed --zero-stage 1
?--deepspeed_config ds.json
?--no-query-key-layer-scaling
?--use-rotary-position-embeddings
?--ckpt-format torch-dist
?--num-query-groups two
?--yaml-cfg config.yaml
?--recompute-modules mlp core_attn
?--untie-embeddings-and-output-weights false
"""

AREAS = {
    "sizes": SIZES,
    "pipeline": PIPELINE,
    "batch": BATCH,
    "schedule": SCHEDULE,
    "precision": PRECISION,
    "optimizer": OPTIMIZER,
    "recompute": RECOMPUTE,
    "experts": EXPERTS,
    "model": MODEL,
    "data": DATA,
    "checkpoints": CHECKPOINTS,
    "spellings": SPELLINGS,
}


def changes_of(table: str) -> list[str]:
    """The changes of a table, each in one line."""
    return table.strip().replace("\n    ", " ").splitlines()
