"""Values of variables, as their readers took or refused them when they were tried."""

from __future__ import annotations

import pytest

from distlint.checks.environment_values import value_problem
from distlint.judge.rulebook import Rulebook

FORMS = {
    name: form
    for rule in Rulebook.load(cache=False).all()
    if rule.check.python == "environment-values"
    for form in rule.check.parameters["variables"]
    for name in form["names"]
}


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("expandable_segments:True", True),
        ("expandable_segments:true", False),
        ("expandable_segments:1", False),
        ("expandable_segments=True", False),
        ("expandable_segments", False),
        ("max_split_size_mb:128,", True),
        ("max_split_size_mb:128 MB", True),
        ("max_split_size_mb:10", False),
        ("max_split_size_mb:abc", False),
        ("max_split_size_mb:1e3", False),
        ("max_split_size_mb:128;expandable_segments:True", False),
        ("max_split_size_mb:128, expandable_segments:True", True),
        ("garbage_collection_threshold:0.8", True),
        ("garbage_collection_threshold:80", False),
        ("garbage_collection_threshold:1.0", False),
        ("roundup_power2_divisions:4", True),
        ("roundup_power2_divisions:3", False),
        ("roundup_power2_divisions:[256:1,512:2,>:4]", True),
        ("", True),
    ],
)
def test_settings_of_the_allocator(text: str, taken: bool) -> None:
    assert (value_problem(FORMS["PYTORCH_CUDA_ALLOC_CONF"], text) == "") is taken


@pytest.mark.parametrize(
    ("name", "text", "taken"),
    [
        ("TORCH_DISTRIBUTED_DEBUG", "info", True),
        ("TORCH_DISTRIBUTED_DEBUG", "1", False),
        ("NCCL_IB_DISABLE", "0x1", True),
        ("NCCL_IB_DISABLE", "true", False),
        ("NCCL_DEBUG", "warn", True),
        ("NCCL_DEBUG", "DEBUG", False),
        ("OMP_NUM_THREADS", "4,2", True),
        ("OMP_NUM_THREADS", "1.5", False),
        ("OMP_NUM_THREADS", "0", False),
        ("MASTER_PORT", "70000", False),
        ("CUDA_VISIBLE_DEVICES", "0, 1,", True),
        ("CUDA_VISIBLE_DEVICES", "-1", True),
        ("CUDA_VISIBLE_DEVICES", "0-3", False),
        ("CUDA_VISIBLE_DEVICES", "0,0,1", False),
        ("CUDA_VISIBLE_DEVICES", "MIG-1a,MIG-2b", True),
    ],
)
def test_words_numbers_and_lists(name: str, text: str, taken: bool) -> None:
    assert (value_problem(FORMS[name], text) == "") is taken


def test_what_is_very_long_is_left_alone() -> None:
    assert value_problem(FORMS["PYTORCH_CUDA_ALLOC_CONF"], "[" * 100_000) == ""
