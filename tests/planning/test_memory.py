"""Parameters, model states and activations, compared with published tables and with what the frameworks compute themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from distlint.model.sketch import ModelShape, Sketch
from distlint.model.value import known, one_of, unknown
from distlint.planning.activations import Spread, layer_activations, rank_activations
from distlint.planning.memory import Bytes, least_bytes, state_need, usual_bytes
from distlint.planning.parameters import Share, count_parameters, fullest_share, mean_share

LLAMA = ModelShape(
    layers=32, hidden=4096, heads=32, ffn=11008, vocabulary=32000, tied=False, gated=True, norm=1, biases=False
)
GPT = ModelShape(
    layers=32, hidden=4096, heads=32, ffn=16384, head_size=128, vocabulary=50304, biases=False, sequence=2048
)
MLA = ModelShape(
    layers=61, hidden=7168, heads=128, ffn=18432, vocabulary=129280, tied=False, gated=True, norm=1, biases=False,
    experts=256, routed=8, expert_ffn=2048, expert_layers=58, shared_ffn=2048, latent=(1536, 512, 128, 64, 128),
)  # fmt: skip
MIXTRAL = replace(LLAMA, ffn=14336, groups=8, experts=8, routed=2, expert_ffn=14336, expert_layers=32)
LLAMA_70B = replace(LLAMA, layers=80, hidden=8192, heads=64, groups=8, ffn=28672, sequence=4096)
GPT_175B = replace(GPT, layers=96, hidden=12288, heads=96, ffn=49152, vocabulary=51200)


@pytest.mark.parametrize(
    ("shape", "published"),
    [
        (LLAMA, 6_738_415_616),  # Llama 2 7B
        (replace(LLAMA, layers=40, hidden=5120, heads=40, ffn=13824), 13_015_864_320),  # Llama 2 13B
        (LLAMA_70B, 68_976_648_192),  # Llama 2 70B
        (replace(LLAMA, groups=8, ffn=14336, vocabulary=128256), 8_030_261_248),  # Llama 3 8B
        (replace(LLAMA_70B, vocabulary=128256), 70_553_706_496),  # Llama 3 70B
        (MIXTRAL, 46_702_792_704),  # Mixtral 8x7B
        (
            ModelShape(layers=12, hidden=768, heads=12, ffn=3072, vocabulary=50257, positions=1024),
            124_439_808,  # GPT-2
        ),
        (
            replace(LLAMA, layers=28, hidden=3584, heads=28, groups=4, ffn=18944, vocabulary=152064, query_biases=True),
            7_615_616_512,  # Qwen2 7B
        ),
    ],
)
def test_parameters_of_published_models(shape: ModelShape, published: int) -> None:
    assert count_parameters(shape).total == published


# megatron/training/theoretical_memory_usage.py of core 0.16.1, run with these sizes: bytes of weights and optimizer on the fullest
# rank, and of activations with sequence parallelism and selective recomputation, 8 micro-batches.
@pytest.mark.parametrize(
    ("shape", "tensor", "pipeline", "virtual", "replicas", "states", "activations"),
    [
        (GPT, 4, 2, 1, 4, 7_711_958_016, 2_285_903_872),
        (LLAMA_70B, 8, 4, 1, 0, 39_094_276_608, 10_754_211_840),
        (GPT_175B, 8, 8, 3, 0, 50_339_273_472, 13_294_916_266),
    ],
)
def test_what_megatron_computes(
    shape: ModelShape, tensor: int, pipeline: int, virtual: int, replicas: int, states: int, activations: int
) -> None:
    share = fullest_share(count_parameters(shape), tensor, pipeline, tensor, 1)
    need = state_need(Bytes(2, 4, 12), share, 1 if replicas else 0, replicas or 1, 1)
    assert need.total == pytest.approx(states, rel=1e-9)
    spread = Spread(tensor, True, 1, pipeline, virtual, 8)
    assert rank_activations(shape, 1, spread, "selective", scores=True) == pytest.approx(activations, rel=1e-9)


@pytest.mark.parametrize(("shape", "states"), [(MIXTRAL, 840_631_394_304), (MLA, 12_076_559_529_984)])
def test_experts_count_as_in_megatron_but_for_the_router(shape: ModelShape, states: int) -> None:
    parameters = count_parameters(shape)
    router = shape.expert_layers * shape.hidden * shape.experts
    assert (parameters.total - router) * 18 == pytest.approx(states, rel=1e-9)


# ZeRO paper, table 1: gigabytes of model states for 7.5, 128 and 1000 billion parameters by replicas and stage.
@pytest.mark.parametrize(
    ("billions", "replicas", "expected"),
    [
        (7.5, 1, (120, 120, 120)),
        (7.5, 4, (52.5, 41.3, 30)),
        (7.5, 16, (35.6, 21.6, 7.5)),
        (7.5, 64, (31.4, 16.6, 1.88)),
        (7.5, 256, (30.4, 15.4, 0.47)),
        (7.5, 1024, (30.1, 15.1, 0.12)),
        (128, 64, (536, 284, 32)),
        (128, 1024, (513, 257, 2)),
        (1000, 64, (4187, 2218, 250)),
        (1000, 1024, (4011, 2013, 15.6)),
    ],
)
def test_the_table_of_zero(billions: float, replicas: int, expected: tuple[float, ...]) -> None:
    for stage, size in zip((1, 2, 3), expected, strict=True):
        need = state_need(Bytes(2, 2, 12), Share(billions * 1e9, 0), stage, replicas, 1)
        assert need.total / 1e9 == pytest.approx(size, rel=0.01, abs=0.06)


# deepspeed.runtime.zero of 0.19.8, estimate_zero2_model_states_mem_needs and estimate_zero3_model_states_mem_needs, run for
# 2851 million parameters, without a largest layer: plain, optimizer offloaded, and for stage 3 parameters offloaded too.
@pytest.mark.parametrize(
    ("gpus", "stage", "expected"),
    [
        (1, 2, (57_020_000_000, 5_702_000_000)),
        (8, 2, (12_116_750_000, 5_702_000_000)),
        (32, 2, (7_305_687_500, 5_702_000_000)),
        (1, 3, (51_318_000_000, 5_702_000_000, 0)),
        (8, 3, (6_414_750_000, 712_750_000, 0)),
        (32, 3, (1_603_687_500, 178_187_500, 0)),
    ],
)
def test_what_deepspeed_estimates(gpus: int, stage: int, expected: tuple[int, ...]) -> None:
    share = Share(2_851_000_000, 0)
    # stage 2 counts gradients in both precisions, stage 3 in full precision only
    plain = state_need(Bytes(2, 6 if stage == 2 else 4, 12), share, stage, gpus, 1)
    assert plain.total == expected[0]
    sketch = Sketch("x", precision=known("fp16"), optimizer=known("adam"), offload_optimizer=known(True))
    states = usual_bytes(sketch)
    assert states is not None
    assert state_need(states, share, stage, gpus, 1).total == expected[1]
    if stage == 3:
        sketch.offload_parameters = known(True)
        states = usual_bytes(sketch)
        assert states is not None
        assert state_need(states, share, stage, gpus, 1).total == expected[2]


def test_the_formulas_of_korthikanti() -> None:
    shape = ModelShape(layers=96, hidden=12288, heads=96, ffn=4 * 12288, sequence=2048)
    sbh = 2048 * 1 * 12288

    def per_token(spread: Spread, recompute: str) -> float:
        return layer_activations(shape, 1, spread, recompute, scores=True) / sbh

    scores = 5 * 96 * 2048 / 12288
    assert scores == 80
    assert per_token(Spread(), "none") == pytest.approx(34 + scores)
    assert per_token(Spread(8), "none") == pytest.approx(10 + 24 / 8 + scores / 8)
    assert per_token(Spread(8, True), "none") == pytest.approx((34 + scores) / 8)
    assert per_token(Spread(8), "selective") == pytest.approx(10 + 24 / 8)
    assert per_token(Spread(8, True), "selective") == pytest.approx(34 / 8)
    assert per_token(Spread(8, True), "full") == 2


# Section 5 of the paper: what selective recomputation saves of the activations of GPT-3 and of MT-NLG 530B.
@pytest.mark.parametrize(("heads", "hidden", "saved"), [(96, 12288, 0.70), (128, 20480, 0.65)])
def test_what_selective_recomputation_saves(heads: int, hidden: int, saved: float) -> None:
    shape = ModelShape(layers=1, hidden=hidden, heads=heads, ffn=4 * hidden, sequence=2048)
    kept = layer_activations(shape, 1, Spread(8, True), "selective", scores=True)
    assert 1 - kept / layer_activations(shape, 1, Spread(8, True), "none", scores=True) == pytest.approx(
        saved, abs=0.01
    )


def test_the_mean_share_is_never_above_the_fullest() -> None:
    for shape in (LLAMA, GPT_175B, MIXTRAL, MLA):
        parameters = count_parameters(shape)
        for tensor, pipeline in ((1, 1), (2, 4), (8, 2)):
            fullest = fullest_share(parameters, tensor, pipeline, tensor, 2)
            mean = mean_share(parameters, tensor, pipeline, tensor, 2)
            assert mean.plain <= fullest.plain * (1 + 1e-9) or not shape.tied
            assert mean.experts == fullest.experts


def test_the_bound_counts_only_what_is_sure() -> None:
    sketch = Sketch("x", precision=known("bf16"), optimizer=known("adam"), master=known(True), plain=known(True))
    assert least_bytes(sketch) == Bytes(2, 2, 12)
    assert least_bytes(replace(sketch, full_gradients=known(True))) == Bytes(2, 4, 12)
    assert least_bytes(replace(sketch, master=unknown("?"))) == Bytes(2, 2, 4)
    assert least_bytes(replace(sketch, optimizer=unknown("?"))) == Bytes(2, 2, 4)
    assert least_bytes(replace(sketch, offload_optimizer=unknown("?"))) == Bytes(2, 0, 0)
    assert least_bytes(replace(sketch, offload_parameters=unknown("?"))) == Bytes(0, 2, 12)
    assert least_bytes(replace(sketch, precision=known("fp32"))) == Bytes(4, 4, 8)
    for doubt in (
        replace(sketch, plain=known(False)),
        replace(sketch, plain=unknown("?")),
        replace(sketch, precision=one_of(("bf16", "fp32"))),
        replace(sketch, precision=known("fp8")),
    ):
        assert least_bytes(doubt) is None
