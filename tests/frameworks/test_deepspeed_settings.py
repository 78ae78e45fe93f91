"""DeepSpeed configurations as settings, and what counts as one."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from distlint.frameworks.deepspeed.hosts import REFUSED_BESIDE_FILE, translate_accelerate, translate_plugin
from distlint.frameworks.deepspeed.schema import default, is_setting, is_tolerated, looks_like_deepspeed, suggest
from distlint.frameworks.deepspeed.settings import deepspeed_settings, open_blocks
from distlint.model.document import Document, Entry, Leaf, Mapping, Node, Sequence
from distlint.model.span import Span
from distlint.model.value import Confidence, State, Value, known, one_of, unknown

UNSEEN = unknown("an expression")


def tree(plain: Any, line: int = 1) -> Node:
    """A tree over plain values; ``...`` as a key makes a mapping open, a ``Value`` stands for itself."""
    span = Span("ds.json", line, 1, line, 9)
    if isinstance(plain, dict):
        entries = [
            Entry(key, Span("ds.json", line + at, 1, line + at, 5), tree(value, line + at))
            for at, (key, value) in enumerate(plain.items())
            if key is not ...
        ]
        return Mapping(tuple(entries), span, open=... in plain)
    if isinstance(plain, list):
        return Sequence(tuple(tree(item, line) for item in plain), span)
    return Leaf(plain if isinstance(plain, Value) else known(plain), span)


def document(plain: Any) -> Document:
    return Document(tree(plain), Span("ds.json", 1, 1, 1, 1), "file", "json")


def settings(*plain: Any, hosted: bool | None = False) -> dict[str, Any]:
    found = deepspeed_settings([document(one) for one in plain], hosted)
    return {
        path: setting.value.only if setting.value.is_known else setting.value.state for path, setting in found.items()
    }


def test_blocks_and_keys_are_settings_with_their_places() -> None:
    found = deepspeed_settings([document({"train_batch_size": 8, "zero_optimization": {"stage": 3}})])
    assert set(found) == {"train_batch_size", "zero_optimization", "zero_optimization.stage"}
    assert found["zero_optimization"].value.only == {"stage": 3}
    stage = found["zero_optimization.stage"]
    assert (stage.value.only, stage.key_span.line, stage.written) == (3, 2, "")
    assert stage.value.spans == (stage.span,)


def test_a_block_that_holds_something_unknown_is_unknown_and_its_other_keys_are_not() -> None:
    found = settings({"zero_optimization": {"stage": UNSEEN, "overlap_comm": True}})
    assert found["zero_optimization"] is State.UNKNOWN
    assert found["zero_optimization.stage"] is State.UNKNOWN
    assert found["zero_optimization.overlap_comm"] is True


def test_unknown_keys_are_kept_under_their_own_path() -> None:
    assert settings({"zero_optimisation": {"stage": 2}})["zero_optimisation.stage"] == 2


def test_another_name_stands_under_the_canonical_one() -> None:
    found = deepspeed_settings([document({"zero_optimization": {"prefetch_bucket_size": 7}})])
    setting = found["zero_optimization.stage3_prefetch_bucket_size"]
    assert setting.value.only == 7
    assert setting.written == "zero_optimization.prefetch_bucket_size"
    assert setting.written not in found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cpu_offload", {"offload_optimizer": {"device": "cpu"}, "offload_optimizer.device": "cpu"}),
        ("cpu_offload_param", {"offload_param": {"device": "cpu"}, "offload_param.device": "cpu"}),
        ("stage3_gather_fp16_weights_on_model_save", {"stage3_gather_16bit_weights_on_model_save": True}),
        ("cpu_offload_use_pin_memory", {}),
    ],
)
def test_what_deprecated_keys_turn_into(old: str, new: dict[str, Any]) -> None:
    found = settings({"zero_optimization": {old: True}})
    written = {"zero_optimization", f"zero_optimization.{old}"}
    assert {path: value for path, value in found.items() if path not in written} == {
        f"zero_optimization.{path}": value for path, value in new.items()
    }
    made = deepspeed_settings([document({"zero_optimization": {old: True}})])
    for path in new:
        assert made[f"zero_optimization.{path}"].written == f"zero_optimization.{old}"
        assert made[f"zero_optimization.{path}"].path == f"zero_optimization.{path}"


def test_a_deprecated_key_that_is_off_turns_into_nothing() -> None:
    assert "zero_optimization.offload_optimizer" not in settings({"zero_optimization": {"cpu_offload": False}})


def test_a_deprecated_key_with_an_unknown_value_makes_its_replacement_unknown() -> None:
    found = settings({"zero_optimization": {"cpu_offload": UNSEEN}})
    assert found["zero_optimization.offload_optimizer"] is State.UNKNOWN
    assert "zero_optimization.offload_optimizer.device" not in found


def test_a_replacement_that_is_written_wins() -> None:
    found = settings({"zero_optimization": {"cpu_offload": True, "offload_optimizer": {"device": "nvme"}}})
    assert found["zero_optimization.offload_optimizer.device"] == "nvme"


def test_the_old_precision_block_is_read_where_the_new_one_is_missing() -> None:
    found = deepspeed_settings([document({"bfloat16": {"enabled": True}})])
    assert found["bf16.enabled"].value.only is True
    assert found["bf16.enabled"].written == "bfloat16.enabled"
    assert settings({"bfloat16": {"enabled": True}, "bf16": None})["bf16.enabled"] is True
    assert "bf16.enabled" not in settings({"bfloat16": {"enabled": True}, "bf16": {}})
    assert "bf16.enabled" not in settings({"bfloat16": {"enabled": True}, ...: None})


@pytest.mark.parametrize(("written", "stage"), [(True, 1), (False, 0)])
def test_the_first_form_of_the_zero_block(written: bool, stage: int) -> None:
    found = deepspeed_settings([document({"zero_optimization": written})])
    assert found["zero_optimization.stage"].value.only == stage
    assert found["zero_optimization.stage"].written == "zero_optimization"


def test_auto_depends_on_who_reads_the_file() -> None:
    config = {
        "train_batch_size": "auto",
        "steps_per_print": "auto",
        "zero_optimization": {"prefetch_bucket_size": "auto"},
    }
    filled, other = "train_batch_size", "steps_per_print"
    aliased = "zero_optimization.stage3_prefetch_bucket_size"
    native, unsure, host = (settings(config, hosted=hosted) for hosted in (False, None, True))
    assert (native[filled], native[other], native[aliased]) == ("auto", "auto", "auto")
    assert (unsure[filled], unsure[other], unsure[aliased]) == (State.AUTO, State.AUTO, State.AUTO)
    assert (host[filled], host[other], host[aliased]) == (State.AUTO, "auto", State.AUTO)


def test_later_documents_win_and_blocks_are_merged() -> None:
    found = settings(
        {"zero_optimization": {"stage": 2, "overlap_comm": True}, "fp16": {"enabled": True}},
        {"zero_optimization": {"stage": 3}},
    )
    assert found["zero_optimization"] == {"stage": 3, "overlap_comm": True}
    assert found["zero_optimization.stage"] == 3
    assert found["fp16.enabled"] is True


def test_the_setting_that_was_overridden_is_told() -> None:
    first, second = document({"train_batch_size": 8}), document({"train_batch_size": 16})
    winner = deepspeed_settings([first, second])["train_batch_size"]
    assert winner.overrides is not None
    assert (winner.value.only, winner.overrides.value.only) == (16, 8)


def test_of_a_key_written_twice_the_last_counts_with_all_that_is_in_it() -> None:
    span = Span("ds.json", 1, 1, 1, 5)
    twice = Mapping((Entry("fp16", span, tree({"enabled": True})), Entry("fp16", span, tree({"loss_scale": 1}))), span)
    found = deepspeed_settings([Document(twice, span, "file", "json")])
    assert set(found) == {"fp16", "fp16.loss_scale"}
    assert found["fp16"].overrides is not None


def test_a_key_that_only_some_paths_write_is_not_certain() -> None:
    span = Span("ds.json", 1, 1, 1, 5)
    block = Entry("zero_optimization", span, tree({"stage": 3}), certain=False)
    found = deepspeed_settings([Document(Mapping((block,), span), span, "dict", "python")])
    assert not found["zero_optimization"].certain
    assert not found["zero_optimization.stage"].certain


def test_a_key_that_some_paths_write_again_is_unknown() -> None:
    span = Span("ds.json", 1, 1, 1, 5)
    entries = (
        Entry("fp16", span, tree({"enabled": True})),
        Entry("fp16", span, tree({"enabled": False}), certain=False),
    )
    found = deepspeed_settings([Document(Mapping(entries, span), span, "dict", "python")])
    assert found["fp16"].value.is_unknown
    assert found["fp16"].certain
    assert "fp16.enabled" not in found


def test_a_key_with_a_dot_is_no_path() -> None:
    assert settings({"zero_optimization.stage": 3, 7: 1, "": 2}) == {}


@pytest.mark.parametrize("root", [None, 3, [1, {"train_batch_size": 1}], "auto"])
def test_a_document_that_is_no_mapping_has_no_settings(root: Any) -> None:
    assert settings(root) == {}
    assert open_blocks([document(root)]) == frozenset()


def test_open_blocks() -> None:
    config = {"zero_optimization": {"stage": 3, ...: None}, "fp16": UNSEEN, "train_batch_size": UNSEEN}
    assert open_blocks([document(config)]) == {"zero_optimization", "fp16"}
    assert open_blocks([document({...: None})]) == {""}
    assert open_blocks([document(UNSEEN)]) == {""}
    assert open_blocks([document({"tensor_parallel": {"tensor_parallel": UNSEEN}})]) == {"tensor_parallel.tp"}
    assert open_blocks([document({"zero_optimization": one_of([{}, {"stage": 1}])})]) == {"zero_optimization"}


def test_defaults_come_from_the_table() -> None:
    assert default("zero_optimization.stage") == known(0)
    assert default("steps_per_print", "0.14.5") == known(10)


def test_conditions_may_name_what_any_release_reads() -> None:
    assert is_setting("zero_optimization.offload_param")
    assert is_setting("optimizer.params.lr")
    assert is_setting("elasticity.max_gpus")
    assert not is_setting("zero_optimization.offload_parameters")


@pytest.mark.parametrize("path", ["_comment", "//", "comment", "fp16.__note__", "msamp", "$schema"])
def test_what_is_dropped_without_harm(path: str) -> None:
    assert is_tolerated(path)


@pytest.mark.parametrize("path", ["zero_optimisation", "seed", "fp16.msamp"])
def test_what_is_dropped_with_harm(path: str) -> None:
    assert not is_tolerated(path)


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("max_grad_norm", "gradient_clipping"),
        ("stage", "zero_optimization.stage"),
        ("lr", "optimizer.params.lr"),
        ("optimizer.name", "optimizer.type"),
        ("scheduler.name", "scheduler.type"),
        ("per_device_train_batch_size", "train_micro_batch_size_per_gpu"),
        ("aio.thread_count", "aio.intra_op_parallelism"),
        ("offload_param", "zero_optimization.offload_param"),
        ("zero_optimisation", "zero_optimization"),
    ],
)
def test_suggestions_for_names_from_elsewhere(path: str, meant: str) -> None:
    found = suggest(path)
    assert found is not None
    assert found.path == meant


def test_no_suggestion_for_a_key_that_the_version_reads() -> None:
    assert suggest("aio.thread_count", "0.14.5") is None
    assert suggest("train_batch_size") is None


@pytest.mark.parametrize(
    "config",
    [
        {"zero_optimization": {"stage": 2}, "train_batch_size": 8},
        {"train_micro_batch_size_per_gpu": 1, "optimizer": {"type": "Adam"}},
        {"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 1e-3}}, "steps_per_print": 10},
        {"train_batch_size": 8, "fp16": {"enabled": True}},
        {"_comment": "x", "bf16": {"enabled": True}, "zero_optimization": {"stage": 3}, "zero_optimisation": {}},
        {"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}},
    ],
)
def test_what_is_evidently_a_deepspeed_configuration(config: dict[str, Any]) -> None:
    assert looks_like_deepspeed(tree(config))


@pytest.mark.parametrize(
    "config",
    [
        {},
        [],
        {"zero_optimization": {"stage": 2}},
        {"zero_optimization": True, "optimizer": "adam"},
        {"fp16": "torch.float16", "bf16": "torch.bfloat16"},
        {"train_batch_size": 8, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4},
        {"train_batch_size": 32, "optimizer": "sgd", "scheduler": "cosine", "seed": 1},
        {"architectures": ["X"], "zero_optimization": {"stage": 2}, "train_batch_size": 1},
        {"compute_environment": "LOCAL_MACHINE", "zero_optimization": {"stage": 2}, "train_batch_size": 1},
        {"pipe-parallel-size": 1, "zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 4},
        {"num_layers": 12, "zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 4},
        {"train_micro_batch_size_per_gpu": 4, "optimizer.params.lr": 1e-3, "fp16.enabled": True},
        {"type": "object", "properties": {}, "zero_optimization": {"stage": 1}, "fp16": {"enabled": True}},
        {"zero_optimization": {"stage": 1}, "fp16": {"enabled": True}, "a": 1, "b": 1, "c": 1},
        {"zero_optimization": {"stage": 1}, 3: 4},
    ],
)
def test_what_is_not(config: Any) -> None:
    assert not looks_like_deepspeed(tree(config))


def accelerate(block: Any, **more: Any) -> dict[str, Any]:
    found = translate_accelerate(document({"distributed_type": "DEEPSPEED", "deepspeed_config": block, **more}))
    return {
        path: setting.value.only if setting.value.is_known else setting.value.state for path, setting in found.items()
    }


def test_an_accelerate_block_in_canonical_paths() -> None:
    found = accelerate(
        {
            "zero_stage": "3",
            "offload_optimizer_device": "CPU",
            "offload_param_device": "nvme",
            "offload_param_nvme_path": "/scratch",
            "offload_optimizer_nvme_path": "/ignored",
            "gradient_accumulation_steps": 4,
            "gradient_clipping": "1",
            "zero3_init_flag": True,
            "zero3_save_16bit_model": "True",
        },
        mixed_precision="bf16",
    )
    assert found["zero_optimization.stage"] == 3
    assert found["zero_optimization.offload_optimizer.device"] == "cpu"
    assert found["zero_optimization.offload_param.device"] == "nvme"
    assert found["zero_optimization.offload_param.nvme_path"] == "/scratch"
    assert "zero_optimization.offload_optimizer.nvme_path" not in found
    assert found["gradient_accumulation_steps"] == 4
    assert found["gradient_clipping"] == 1.0
    assert found["zero_optimization.stage3_gather_16bit_weights_on_model_save"] is True
    assert (found["fp16.enabled"], found["bf16.enabled"]) == (False, True)
    assert found["accelerate.zero3_init_flag"] is True
    assert found["accelerate.zero_stage"] == "3"


def test_what_accelerate_takes_for_missing_keys_is_likely_only() -> None:
    found = translate_accelerate(document({"distributed_type": "DEEPSPEED", "deepspeed_config": {}}))
    stage = found["zero_optimization.stage"]
    assert (stage.value.only, stage.value.confidence) == (2, Confidence.LIKELY)
    assert found["gradient_accumulation_steps"].value.state is State.AUTO
    assert found["bf16.enabled"].value.is_unknown


def test_a_value_that_accelerate_cannot_read_is_unknown() -> None:
    assert accelerate({"zero_stage": "three"})["zero_optimization.stage"] is State.UNKNOWN
    assert accelerate({"zero_stage": UNSEEN})["zero_optimization.stage"] is State.UNKNOWN


def test_beside_a_file_only_accelerates_own_names_are_given() -> None:
    found = accelerate({"deepspeed_config_file": "ds.json", "zero_stage": 3, "zero3_init_flag": True})
    assert set(found) == {"accelerate.deepspeed_config_file", "accelerate.zero_stage", "accelerate.zero3_init_flag"}
    assert "zero_stage" in REFUSED_BESIDE_FILE
    assert "zero3_init_flag" not in REFUSED_BESIDE_FILE


def test_the_name_in_the_file_is_told() -> None:
    found = translate_accelerate(document({"distributed_type": "DEEPSPEED", "deepspeed_config": {"zero_stage": 3}}))
    stage = found["zero_optimization.stage"]
    assert (stage.path, stage.written) == ("zero_optimization.stage", "deepspeed_config.zero_stage")


@pytest.mark.parametrize(
    "config",
    [
        {"distributed_type": "MULTI_GPU", "deepspeed_config": {"zero_stage": 3}},
        {"distributed_type": "DEEPSPEED"},
        {"distributed_type": "DEEPSPEED", "deepspeed_config": None},
        {"distributed_type": "DEEPSPEED", "deepspeed_config": UNSEEN},
        [],
        None,
    ],
)
def test_accelerate_files_that_say_nothing_of_deepspeed(config: Any) -> None:
    assert translate_accelerate(document(config)) == {}


def plugin(**arguments: Any) -> dict[str, Any]:
    found = translate_plugin(document(arguments))
    return {
        path: setting.value.only if setting.value.is_known else setting.value.state for path, setting in found.items()
    }


def test_the_arguments_of_a_plugin() -> None:
    found = plugin(zero_stage=3, gradient_clipping=1.0, offload_param_device="cpu", offload_param_nvme_path="/x")
    assert found["zero_optimization.stage"] == 3
    assert found["gradient_clipping"] == 1.0
    assert found["zero_optimization.offload_param.device"] == "cpu"
    assert found["zero_optimization.offload_optimizer.device"] is State.UNKNOWN
    assert found["gradient_accumulation_steps"] is State.UNKNOWN


def test_a_plugin_with_a_configuration_of_its_own_adds_nothing() -> None:
    assert set(plugin(hf_ds_config="ds.json", zero_stage=3)) == {"accelerate.hf_ds_config", "accelerate.zero_stage"}
    assert "zero_optimization.stage" in plugin(hf_ds_config=None, zero_stage=3)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["auto", "cpu", ""]) | st.just(UNSEEN),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "zero_optimization",
                    "cpu_offload",
                    "offload_optimizer",
                    "stage",
                    "fp16",
                    "enabled",
                    "a.b",
                    3,
                    ...,
                    "deepspeed_config",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


# how fast trees are made says something about the machine only
@examples(suppress_health_check=[HealthCheck.too_slow])
@given(PLAIN, PLAIN)
def test_no_tree_is_too_odd(first: Any, second: Any) -> None:
    documents = [document(first), document(second)]
    for hosted in (None, True, False):
        for path, setting in deepspeed_settings(documents, hosted).items():
            assert setting.path == path
            assert setting.value.spans
    open_blocks(documents)
    for one in documents:
        looks_like_deepspeed(one.root)
        translate_accelerate(one)
        translate_plugin(one)
