"""The harvested options of Megatron: names, defaults and words by release."""

from __future__ import annotations

from distlint.frameworks.megatron.flags import DEEPSPEED, LM, USUAL_DAYS, canonical, flag_table
from distlint.frameworks.megatron.signatures import field_default, signature
from distlint.model.value import absent, known


def test_a_switch_that_turns_off_has_the_name_of_what_it_sets_and_its_own() -> None:
    view = flag_table(LM).at("0.16.1")
    assert canonical("--no-rope-fusion") == "apply_rope_fusion"
    assert (view.default("apply_rope_fusion"), view.default("no_rope_fusion")) == (known(True), known(False))


def test_defaults_follow_the_release() -> None:
    table = flag_table(LM)
    assert table.at("0.16.1").default("num_query_groups") == known(1)
    assert table.at("0.16.1").default("num_layers") == absent()
    assert flag_table(DEEPSPEED).at(USUAL_DAYS).default("zero_stage") == known(1.0)


def test_flags_come_and_go() -> None:
    releases = flag_table(LM).releases
    assert (releases.until("--use-custom-fsdp"), releases.since("--use-custom-fsdp")) == ("core 0.14.0", "core 0.12.0")
    assert flag_table(LM).at("0.8.0").find("--attention-backend") is None


def test_parameters_of_megatron_core() -> None:
    name = "megatron.core.transformer.TransformerConfig"
    found = signature(name, "0.16.1")
    assert found is not None
    assert "num_moe_experts" in found.takes
    assert field_default(name, "num_query_groups", "0.16.1") == absent()
