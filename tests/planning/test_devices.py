"""Devices by the words of schedulers."""

from __future__ import annotations

import pytest

from distlint.knowledge.gpu_memory import find_device, parse_memory


@pytest.mark.parametrize(
    ("text", "gigabytes"),
    [
        ("gpu:a100:8", 80),
        ("gpu:A100_40g:8", 40),
        ("a100-80gb", 80),
        ("nvidia_a100_40gb:4", 40),
        ("v100", 32),
        ("v100-16g", 16),
        ("gpu:tesla_v100-sxm2-16gb:4", 16),
        ("v100-32g", 32),
        ("h100:8", 96),
        ("nvidia_h100_80gb_hbm3", 80),
        ("gpu:h200:8", 144),
        ("gpu:gh200:1", 144),
        ("gpu:rtx4090:2", 24),
        ("mi250x", 128),
    ],
)
def test_a_name_stands_for_the_largest_of_its_kind(text: str, gigabytes: int) -> None:
    device = find_device(text)
    assert device is not None
    assert device.gigabytes == gigabytes


@pytest.mark.parametrize(
    "text", ["gpu:8", "8", "", "intel", "a1000", "gpu:1g.10gb:1", "a100_mig:2", "x" * 10_000, "a100x9999gb"]
)
def test_other_words_name_no_device(text: str) -> None:
    assert find_device(text) is None


@pytest.mark.parametrize(
    ("text", "size"),
    [("80GB", 80 << 30), ("80", 80 << 30), (40, 40 << 30), ("40960 MiB", 40 << 30), ("1.5tb", 1536 << 30)],
)
def test_amounts_of_memory(text: object, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "lots", "-80GB", "0", "80 cows", True, None, [80], "9" * 400])
def test_other_amounts_are_refused(text: object) -> None:
    with pytest.raises(ValueError, match="no amount"):
        parse_memory(text)
