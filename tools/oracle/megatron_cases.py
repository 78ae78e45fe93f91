"""Command lines of Megatron-LM for the oracle: realistic ones with up to four changes, as hypothesis strategies.

A case is what ``megatron_worker`` takes. ``touched`` holds the changes, so that a disagreement can be pinned to them.
"""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st
from megatron_case_moves import AREAS, changes_of

COMMON = """
--train-iters 100 --lr 1e-4 --min-lr 1e-5 --lr-decay-style cosine --tokenizer-type NullTokenizer --vocab-size 1000
--mock-data --eval-interval 50 --eval-iters 2 --log-interval 10
"""
BASES = {
    "gpt": """--num-layers 8 --hidden-size 64 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128
        --micro-batch-size 1 --global-batch-size 16 --bf16""",
    "llama": """--num-layers 8 --hidden-size 64 --ffn-hidden-size 192 --num-attention-heads 8 --seq-length 128
        --max-position-embeddings 256 --position-embedding-type rope --swiglu --normalization RMSNorm
        --disable-bias-linear --untie-embeddings-and-output-weights --group-query-attention --num-query-groups 4
        --micro-batch-size 1 --global-batch-size 32 --bf16 --use-distributed-optimizer --lr-warmup-iters 10
        --tensor-model-parallel-size 2 --sequence-parallel --attention-dropout 0.0 --hidden-dropout 0.0""",
    "experts": """--num-layers 8 --hidden-size 64 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128
        --position-embedding-type rope --swiglu --disable-bias-linear --num-experts 8 --moe-router-topk 2
        --moe-grouped-gemm --moe-token-dispatcher-type alltoall --expert-model-parallel-size 4
        --micro-batch-size 1 --global-batch-size 32 --bf16 --use-distributed-optimizer""",
    "pipeline": """--num-layers 16 --hidden-size 64 --num-attention-heads 8 --seq-length 128
        --max-position-embeddings 128 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2
        --micro-batch-size 2 --global-batch-size 32 --fp16 --recompute-activations""",
    "plain": """--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128
        --micro-batch-size 2""",
}
RANKS = (8, 8, 8, 16, 16, 4)
VARIABLES = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
_CHOICE = re.compile(r"\{([^{}]*)\}")

Options = dict[str, list[str]]


def cases(known: frozenset[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Command lines with changes; ``known`` are the options of the release, all others are left out."""
    return _cases(known)


@st.composite
def _cases(draw: st.DrawFn, known: frozenset[str]) -> dict[str, Any]:
    base = draw(st.sampled_from(sorted(BASES)))
    ranks = draw(st.sampled_from(RANKS))
    options = _split((BASES[base] + COMMON).split())
    environment = dict(VARIABLES)
    count = draw(st.sampled_from((0, 1, 1, 1, 2, 2, 3, 4)))
    touched = list(dict.fromkeys(draw(changes()) for _ in range(count)))
    odd: list[str] = []
    for change in touched:
        if change.startswith("?"):
            odd += change[1:].split()
            continue
        ranks = _change(change.split(), options, environment) or ranks
    words = [word for name, values in options.items() if name in known for word in (name, *values)]
    return {
        "argv": words + odd,
        "ranks": ranks,
        "environment": environment,
        "base": base,
        "touched": touched,
    }


@st.composite
def changes(draw: st.DrawFn) -> str:
    """One change of any area, with its alternatives chosen."""
    area = draw(st.sampled_from(sorted(AREAS)))
    text = draw(st.sampled_from(changes_of(AREAS[area])))
    while found := _CHOICE.search(text):
        chosen = draw(st.sampled_from(found[1].split(";")))
        text = text[: found.start()] + chosen + text[found.end() :]
    return text


def _split(words: list[str]) -> Options:
    options: Options = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name = word
            options[name] = []
        elif name:
            options[name].append(word)
    return options


def _change(words: list[str], options: Options, environment: dict[str, str]) -> int:
    """Does one change; returns the number of ranks where it sets that."""
    ranks = 0
    plain = []
    for word in words:
        if word.startswith("@"):
            ranks = int(word[1:])
        elif word.startswith("~--"):
            options.pop(word[1:], None)
        elif word.startswith("~"):
            environment.pop(word[1:], None)
        elif re.match(r"[A-Z_]+=", word):
            name, _, value = word.partition("=")
            environment[name] = value
        else:
            plain.append(word)
    options.update(_split(plain))
    return ranks
