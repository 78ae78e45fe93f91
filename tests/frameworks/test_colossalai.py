"""Colossal-AI's plugins as subjects: their arguments, and the processes that run them."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.frameworks.colossalai.plugins import MODULES, PARAMETERS, constructor
from distlint.frameworks.colossalai.subjects import build, known_path
from distlint.model.subject import Subject
from tests.conftest import MakeProject

RUN = "#!/bin/bash\ncolossalai run --nproc_per_node 8 train.py\n"


@pytest.fixture
def subjects(make_project: MakeProject) -> Any:
    """Makes the plugin subjects of a project with one script and a launch of it."""

    def make(script: str, run: str = RUN, **more: str) -> list[Subject]:
        head = "from colossalai.booster.plugin import GeminiPlugin, HybridParallelPlugin, LowLevelZeroPlugin\n\n"
        return list(build(make_project({"train.py": head + script, "run.sh": run, **more})))

    return make


def names(subject: Subject) -> tuple[Any, Any, Any]:
    found = subject.names
    return found["world_size"].only, found["parallel_product"].only, found["data_parallel_size"].only


def test_arguments_are_settings_and_the_rest_has_the_plugins_defaults(subjects: Any) -> None:
    (subject,) = subjects("plugin = HybridParallelPlugin(2, pp_size=2, zero_stage=1, num_microbatches=None)\n")
    assert {name: one.value.only for name, one in subject.settings.items()} == {
        "tp_size": 2,
        "pp_size": 2,
        "zero_stage": 1,
    }
    assert subject.default("precision").only == "fp16"
    assert subject.default("num_microbatches").is_absent
    assert names(subject) == (8, 4, 2)


def test_each_plugin_has_its_own_product(subjects: Any) -> None:
    found = subjects("GeminiPlugin(tp_size=2, extra_dp_size=2)\nLowLevelZeroPlugin(stage=2)\n")
    assert [names(subject)[:2] for subject in found] == [(8, 4), (8, 1)]


@pytest.mark.parametrize(
    ("mode", "product"),
    [("'all_to_all', sp_size=2", 4), ("'split_gather', sp_size=2", 2), ("'ring'", 2), ("mode, sp_size=2", None)],
)
def test_sequence_parallelism_has_ranks_of_its_own_in_some_modes(subjects: Any, mode: str, product: int | None) -> None:
    arguments = f"tp_size=2, pp_size=1, enable_sequence_parallelism=True, sequence_parallelism_mode={mode}"
    (subject,) = subjects(f"def make(mode):\n    return HybridParallelPlugin({arguments})\n")
    assert subject.names["parallel_product"].only == product


def test_arguments_that_can_not_be_seen_leave_the_product_unknown(subjects: Any) -> None:
    (subject,) = subjects("def make(more):\n    return HybridParallelPlugin(tp_size=2, **more)\n")
    assert subject.open_blocks
    assert subject.names["parallel_product"].is_unknown


def test_options_of_the_run_decide_which_plugin_it_makes(subjects: Any) -> None:
    script = (
        "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--plan')\n"
        "args = parser.parse_args()\n"
        "if args.plan.startswith('zero'):\n    plugin = LowLevelZeroPlugin(stage=2)\n"
        "elif args.plan == 'gemini':\n    plugin = GeminiPlugin()\n"
    )
    run = "#!/bin/bash\ntorchrun --nproc_per_node 4 train.py --plan {}\n"
    made = {
        plan: sorted(one.label for one in subjects(script, run.format(plan))) for plan in ("zero2", "gemini", "$PLAN")
    }
    assert made == {
        "zero2": ["LowLevelZeroPlugin"],
        "gemini": ["GeminiPlugin"],
        "$PLAN": ["GeminiPlugin", "LowLevelZeroPlugin"],
    }


def test_without_a_launch_the_number_of_processes_is_not_known(subjects: Any) -> None:
    (subject,) = subjects("GeminiPlugin()\n", run="#!/bin/bash\necho nothing\n")
    assert subject.names["world_size"].is_unknown
    assert subject.run is None


def test_a_copy_of_the_library_in_the_project_counts_as_the_library(subjects: Any) -> None:
    copy = {
        "colossalai/__init__.py": "",
        "colossalai/booster/__init__.py": "",
        "colossalai/booster/plugin/__init__.py": "from .gemini_plugin import GeminiPlugin  # colossalai\n",
        "colossalai/booster/plugin/gemini_plugin.py": "# colossalai\nclass GeminiPlugin:\n    pass\n",
    }
    (subject,) = subjects("GeminiPlugin(precision='fp32')\n", **copy)
    assert (subject.label, subject.settings["precision"].value.only) == ("GeminiPlugin", "fp32")


def test_classes_of_the_same_name_elsewhere_do_not_count(make_project: MakeProject) -> None:
    text = "from mine import GeminiPlugin  # not colossalai's\n\nGeminiPlugin(precision='fp32')\n"
    assert (
        list(build(make_project({"train.py": text, "mine.py": "# colossalai\nclass GeminiPlugin:\n    pass\n"}))) == []
    )


def test_rules_may_ask_for_parameters_that_some_release_has() -> None:
    taken = {
        name for plugin in MODULES for release in ("0.3.6", "0.5.0") for name in constructor(plugin, release).parameters
    }
    assert taken >= PARAMETERS
    assert known_path("num_microbatches")
    assert not known_path("num_microbatch")


def test_parameters_and_defaults_are_those_of_the_release() -> None:
    older, newer = constructor("GeminiPlugin", "0.3.0"), constructor("GeminiPlugin", "0.5.0")
    assert older.parameters[0] == "device"
    assert (older.defaults["placement_policy"], newer.defaults["placement_policy"]) == ("cpu", "static")
    assert newer.defaults["initial_scale"] == 2**16


def test_a_release_without_the_plugin_is_taken_for_the_newest_one() -> None:
    assert constructor("MoeHybridParallelPlugin", "0.3.0") == constructor("MoeHybridParallelPlugin", "0.5.0")
