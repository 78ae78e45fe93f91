"""Pipeline stages, batches and sizes as they follow from Megatron's options."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.frameworks.megatron.batches import batch_names
from distlint.frameworks.megatron.sizes import Given, derived_names, shrunk
from distlint.frameworks.megatron.stages import stage_names
from distlint.model.span import Span
from distlint.model.subject import Setting
from distlint.model.value import known, unknown

PLACE = Span("run.sh", 1, 1, 1, 2)


class Release:
    """Versions of a project that pins one release of Megatron Core."""

    def __init__(self, version: str) -> None:
        self.version = version

    def test(self, package: str, specifier: str) -> bool | None:
        return None

    def newest(self, package: str) -> str:
        return self.version

    def span(self, package: str) -> Span | None:
        return None


def given(version: str = "0.16.1", **values: object) -> Given:
    settings = {path: Setting(path, known(value, PLACE), PLACE, PLACE) for path, value in values.items()}
    return Given(settings, versions=Release(version))


@pytest.mark.parametrize(
    ("layout", "stages", "fault"),
    [
        ("Et*3|t*4|t*4|tL", 4, None),
        ("Et*3|(t*4|)*2,tL", 4, None),
        ("E(tt|)*5ttL", 6, None),
        ([["embedding", "decoder"], [*["decoder"] * 11, "loss"]], 2, None),
        ("t*12L", 1, "the first layer has to be the embedding, E"),
        ("Et*12", 1, "the last layer has to be the loss, L"),
        ("Et*11L", 1, "it holds 11 transformer layers (t), but the model has 12"),
        ("Ed*12L", 1, "`d` is no kind of layer (E, t, m and L are)"),
        ("Et*12LL", 1, "there is more than one loss (L)"),
        ("Et*12mL", 1, "it holds 1 layers for multi-token prediction (m), but the model has 0"),
    ],
)
def test_a_layout_is_unrolled_and_compared_with_the_model(layout: object, stages: int, fault: str | None) -> None:
    names = stage_names(given(num_layers=12, pipeline_model_parallel_layout=layout))
    assert names["layout_stages"].only == stages
    assert names["layout_fault"].only == fault
    assert names["layout_fault"].is_absent is (fault is None)


@pytest.mark.parametrize("layout", ["E" + "t*9999" * 9 + "L", "E(" + "t" * 99 + ")*9999L", "t" * 30_000])
def test_a_layout_of_excessive_length_is_given_up(layout: object) -> None:
    names = stage_names(given(num_layers=12, pipeline_model_parallel_layout=layout))
    assert names["layout_fault"].is_unknown
    assert names["layout_stages"].is_unknown


@pytest.mark.parametrize(
    ("version", "values", "pieces"),
    [
        ("0.16.1", {}, None),
        ("0.16.1", {"num_layers_per_virtual_pipeline_stage": 3}, 2),
        ("0.16.1", {"num_layers_per_virtual_pipeline_stage": 6}, None),
        ("0.12.0", {"num_layers_per_virtual_pipeline_stage": 6}, 1),
        ("0.16.1", {"num_virtual_stages_per_pipeline_rank": 3}, 3),
        ("0.16.1", {"num_virtual_stages_per_pipeline_rank": 1}, None),
        ("0.16.1", {"pipeline_model_parallel_layout": "E(ttt|)*7tttL"}, 2),
        ("0.17.0", {"hybrid_layer_pattern": "|".join(["MM*"] * 8)}, 2),
        ("0.17.0", {"hybrid_layer_pattern": "MM*" * 8}, None),
    ],
)
def test_pieces_per_rank(version: str, values: dict[str, object], pieces: int | None) -> None:
    found = stage_names(given(version, num_layers=24, pipeline_model_parallel_size=4, **values))["virtual_stages"]
    assert found.only == pieces
    assert found.is_absent is (pieces is None)


def test_layers_that_do_not_come_out_even_leave_the_pieces_unknown() -> None:
    values: dict[str, Any] = {
        "num_layers": 24,
        "pipeline_model_parallel_size": 4,
        "num_layers_per_virtual_pipeline_stage": 4,
    }
    assert stage_names(given(**values))["virtual_stages"].is_unknown


@pytest.mark.parametrize(
    ("ramp", "misfit"),
    [([16, 16, 1000], None), ([16, 8, 1000], 24), (["16", "8", "1000"], 24), ([16, 0, 1000], None), ([16, 16], None)],
)
def test_the_first_batch_of_a_ramp_that_does_not_fit(ramp: list[object], misfit: int | None) -> None:
    values: dict[str, Any] = {"micro_batch_size": 2, "global_batch_size": 64, "rampup_batch_size": ramp}
    assert batch_names(given(**values), known(8))["ramp_misfit"].only == misfit


def test_a_batch_that_is_not_given_is_one_micro_batch_for_each_rank() -> None:
    assert batch_names(given(micro_batch_size=4), unknown("no launch"))["micro_batches"].is_unknown
    assert batch_names(given(micro_batch_size=4), known(8))["micro_batches"].only == 1
    assert batch_names(given(micro_batch_size=4), known(8))["whole_batch"].only == 32
    assert batch_names(given(micro_batch_size=4, global_batch_size=96), known(8))["micro_batches"].only == 3


def test_old_releases_lower_sizes_to_the_number_of_processes() -> None:
    sizes = {"tensor_model_parallel_size": 8, "pipeline_model_parallel_size": 4}
    lowered = shrunk(given("0.8.0", **sizes), known(4))
    assert {path: value.only for path, value in lowered.items()} == {
        "tensor_model_parallel_size": 4,
        "pipeline_model_parallel_size": 1,
    }
    assert not shrunk(given("0.9.0", **sizes), known(4))
    assert not shrunk(given("0.8.0", **sizes), unknown("no launch"))


@pytest.mark.parametrize(
    ("version", "values", "product"),
    [
        ("0.12.0", {"encoder_pipeline_model_parallel_size": 1}, 6),
        ("0.12.0", {"encoder_pipeline_model_parallel_size": 1, "encoder_tensor_model_parallel_size": 1}, 5),
        ("0.16.1", {"encoder_pipeline_model_parallel_size": 1}, None),
        ("0.19.0", {"tensor_parallel_num_weight_shards": 4}, 8),
        ("0.19.0", {"tensor_parallel_num_weight_shards": 3}, None),
    ],
)
def test_further_processes_of_one_copy(version: str, values: dict[str, object], product: int | None) -> None:
    sizes = {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2}
    names = derived_names(given(version, **sizes, **values), known(24))
    assert names["model_parallel_product"].only == product
