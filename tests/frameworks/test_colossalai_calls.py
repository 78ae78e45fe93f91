"""What a program does with a booster, and the older configuration: the subjects that rules are judged over."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.frameworks.colossalai import booster_calls, config_files
from distlint.model.subject import Subject
from tests.conftest import MakeProject

HEAD = """\
import torch
from colossalai.booster import Booster
from colossalai.booster.plugin import GeminiPlugin, HybridParallelPlugin, LowLevelZeroPlugin, TorchDDPPlugin
from colossalai.lazy import LazyInitContext
from colossalai.nn.optimizer import HybridAdam
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

"""
RUN = "#!/bin/bash\ntorchrun --nproc_per_node 8 train.py\n"


@pytest.fixture
def calls(make_project: MakeProject) -> Any:
    """Makes the subjects of the calls of a booster in a script, by method."""

    def make(script: str, run: str = RUN, **more: str) -> dict[str, Subject]:
        files = {"train.py": HEAD + script, "run.sh": run, "requirements.txt": "colossalai==0.5.0\n", **more}
        return {str(one.names["method"].only): one for one in booster_calls.build(make_project(files))}

    return make


def value(subject: Subject, name: str) -> Any:
    found = subject.names[name]
    return found.only if found.is_known else None


BOOST = """\
plugin = HybridParallelPlugin(tp_size=2, pp_size=1)
booster = Booster(plugin=plugin)
model = LlamaForCausalLM(LlamaConfig(num_attention_heads=6))
optimizer = torch.optim.AdamW(model.parameters())
"""


def test_a_call_has_the_settings_of_the_boosters_plugin_with_the_releases_defaults(calls: Any) -> None:
    subject = calls(BOOST + "model, optimizer, *_ = booster.boost(model, optimizer)\n")["boost"]
    assert value(subject, "plugin") == "HybridParallelPlugin"
    assert subject.settings["plugin.tp_size"].value.only == 2
    assert subject.default("plugin.precision").only == "fp16"
    assert (value(subject, "world_size"), value(subject, "data_parallel_size")) == (8, 4)


def test_a_model_is_known_by_its_class_and_configuration(calls: Any) -> None:
    subject = calls(BOOST + "booster.boost(model.cuda(), optimizer)\n")["boost"]
    assert value(subject, "model.kind") == "LlamaForCausalLM"
    assert (value(subject, "model.heads"), value(subject, "model.kv_heads"), value(subject, "model.layers")) == (
        6,
        6,
        32,
    )
    assert value(subject, "model.has_policy") is True
    assert value(subject, "optimizer.kind") == "torch.optim.AdamW"


def test_sizes_that_the_program_sets_later_are_not_known(calls: Any) -> None:
    script = BOOST + "model.config.num_attention_heads = 8\nbooster.boost(model, optimizer)\n"
    assert value(calls(script)["boost"], "model.heads") is None


def test_an_auto_class_makes_the_class_of_its_configuration(calls: Any) -> None:
    script = (
        "booster = Booster(plugin=GeminiPlugin())\nbooster.boost(AutoModelForCausalLM.from_config(LlamaConfig()))\n"
    )
    assert value(calls(script)["boost"], "model.kind") == "LlamaForCausalLM"


def test_a_module_of_the_project_has_no_policy(calls: Any) -> None:
    script = (
        "class Net(torch.nn.Module):\n    pass\n\n\nbooster = Booster(plugin=GeminiPlugin())\nbooster.boost(Net())\n"
    )
    subject = calls(script)["boost"]
    assert (value(subject, "model.kind"), value(subject, "model.has_policy")) == ("Net", False)


def test_a_class_of_the_project_is_not_what_transformers_calls_by_its_name(calls: Any) -> None:
    script = (
        "class GPT2LMHeadModel(torch.nn.Module):\n    pass\n\n\nbooster = Booster(plugin=GeminiPlugin())\n"
        "booster.boost(GPT2LMHeadModel())\n"
    )
    subject = calls(script)["boost"]
    assert value(subject, "model.has_policy") is False
    assert value(subject, "model.asserts_no_all_to_all") is None


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("LazyInitContext()", True),
        ("torch.no_grad()", False),
        ("LazyInitContext() if lazy() else torch.no_grad()", None),
    ],
)
def test_whether_a_model_is_made_lazily(calls: Any, context: str, expected: bool | None) -> None:
    script = (
        f"with {context}:\n    model = LlamaForCausalLM(LlamaConfig())\nBooster(plugin=TorchDDPPlugin()).boost(model)\n"
    )
    assert value(calls(script)["boost"], "model.is_lazy") is expected


def test_what_boost_gives_back_is_told_from_what_it_got(calls: Any) -> None:
    script = BOOST + "new, state, *_ = booster.boost(model, optimizer)\n"
    found = calls(script + "booster.save_model(new, 'a')\nbooster.save_optimizer(optimizer, 'b')\n")
    assert value(found["save_model"], "model.boosted") is True
    assert value(found["save_optimizer"], "optimizer.boosted") is False
    unwrapped = calls(script + "booster.save_model(new.unwrap(), 'a')\n")["save_model"]
    assert value(unwrapped, "model.boosted") is False


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("torch.optim.SGD(model.parameters())", False),
        ("HybridAdam(model.parameters())", False),
        ("Own(model.parameters())", None),
        ("colossalai.interface.OptimizerWrapper(torch.optim.SGD(model.parameters()))", None),
    ],
)
def test_an_optimizer_with_a_backward_pass_of_its_own_may_be_handed_over(calls: Any, made: str, expected: Any) -> None:
    own = "import colossalai\n\n\nclass Own(torch.optim.SGD):\n    def backward(self, loss):\n        loss.backward()\n\n\n"
    script = f"{own}{BOOST}optimizer = {made}\nbooster.backward(loss(), optimizer)\n"
    assert value(calls(script)["backward"], "optimizer.boosted") is expected


def test_the_batch_size_is_that_of_the_loader_behind_the_iterator(calls: Any) -> None:
    script = (
        BOOST + "loader = plugin.prepare_dataloader(data(), batch_size=6)\n"
        "model, optimizer, _, loader, _ = booster.boost(model, optimizer, dataloader=loader)\n"
        "booster.execute_pipeline(iter(loader), model, None, optimizer)\n"
    )
    assert value(calls(script)["execute_pipeline"], "batch_size") == 6


def test_a_call_on_whose_way_the_plugin_is_asked_for_says_nothing(calls: Any) -> None:
    script = BOOST + "if booster.plugin.stage == 1:\n    booster.no_sync(model)\nbooster.boost(model)\n"
    assert set(calls(script)) == {"boost"}


def test_gradients_may_be_off_around_a_function_that_nobody_calls(calls: Any) -> None:
    called = "def step():\n    booster.execute_pipeline(iter([]), model, None)\n\n\n"
    assert value(calls(BOOST + called + "step()\n")["execute_pipeline"], "keeps_gradients") is True
    assert value(calls(BOOST + called)["execute_pipeline"], "keeps_gradients") is None
    without = "with torch.no_grad():\n    step()\n"
    assert value(calls(BOOST + called + without)["execute_pipeline"], "keeps_gradients") is None


def test_the_data_parallel_size_of_a_plugin_is_a_share_of_the_processes(calls: Any) -> None:
    batch = (
        "plugin = HybridParallelPlugin(2, 2, microbatch_size=1{more})\nbooster = Booster(plugin=plugin)\n"
        "loader = plugin.prepare_dataloader(list(range(64)), batch_size=16 // plugin.dp_size)\n"
        "booster.execute_pipeline(iter(loader), model, None, optimizer)\n"
    )
    assert value(calls(batch.format(more=""))["execute_pipeline"], "batch_size") == 8
    more = ", sp_size=2, enable_sequence_parallelism=True"
    assert value(calls(batch.format(more=more))["execute_pipeline"], "batch_size") is None


def test_falcon_of_the_old_kind_drops_tensor_parallelism(calls: Any) -> None:
    script = "from transformers import FalconConfig, FalconForCausalLM\n" + BOOST.replace(
        "LlamaForCausalLM(LlamaConfig(num_attention_heads=6))", "FalconForCausalLM(FalconConfig({more}))"
    )
    boost = "booster.boost(model, optimizer)\n"
    default = calls(script.format(more="num_attention_heads=7") + boost)["boost"]
    assert value(default, "model.heads") is None
    assert (
        value(calls(script.format(more="num_attention_heads=7, multi_query=False") + boost)["boost"], "model.heads")
        == 7
    )


CONFIG = "parallel = dict(pipeline=2, tensor=dict(size=4, mode='2d'))\nNUM_MICRO_BATCHES = 4\n"


@pytest.mark.parametrize(
    "start",
    [
        "colossalai.launch_from_torch(config='./config.py')",
        "colossalai.launch_from_torch('config.py')",
        "colossalai.legacy.launch_from_torch(config=colossalai.get_default_parser().parse_args().config)",
        "colossalai.launch_from_torch(config=dict(parallel=dict(pipeline=2, tensor=dict(size=4, mode='2d')), NUM_MICRO_BATCHES=4))",
    ],
)
def test_an_old_configuration_is_read_from_where_it_stands(make_project: MakeProject, start: str) -> None:
    files = {
        "train.py": f"import colossalai\n\n{start}\n",
        "config.py": CONFIG,
        "run.sh": "#!/bin/bash\ntorchrun --nproc_per_node 8 train.py --config config.py\n",
    }
    (subject,) = config_files.build(make_project(files))
    settings = {name: one.value.only for name, one in subject.settings.items()}
    assert settings["parallel.pipeline.size"] == 2
    assert (settings["parallel.tensor.size"], settings["parallel.tensor.mode"]) == (4, "2d")
    assert (value(subject, "parallel_product"), value(subject, "is_square"), value(subject, "is_cube")) == (
        8,
        True,
        False,
    )


def test_a_configuration_that_is_not_there_is_no_subject(make_project: MakeProject) -> None:
    files = {"train.py": "import colossalai\n\ncolossalai.launch_from_torch(config='other.py')\n"}
    assert list(config_files.build(make_project(files))) == []
