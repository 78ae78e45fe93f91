"""Megatron's settings: from command lines, GPT-NeoX files and configuration objects, and what follows from them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distlint.frameworks.megatron.command_line import typed
from distlint.frameworks.megatron.settings import default, known_path
from distlint.frameworks.megatron.sizes import Given, derived_names
from distlint.frameworks.megatron.subjects import build
from distlint.model.span import Span
from distlint.model.subject import Setting, Subject
from distlint.model.value import Confidence, known, unknown
from tests.conftest import MakeProject

MODEL = (
    "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --micro-batch-size 4 --max-position-embeddings 1024"
)


@pytest.fixture
def subjects(make_project: MakeProject) -> Any:
    """Makes the Megatron subjects of a project given as texts by path."""

    def make(**texts: str) -> list[Subject]:
        return list(
            build(make_project({path.replace("__", "/").replace("_dot_", "."): t for path, t in texts.items()}))
        )

    return make


def command(subjects: Any, words: str, launcher: str = "torchrun --nproc_per_node 8") -> Subject:
    """The one subject of a script with one command."""
    found: list[Subject] = subjects(run_dot_sh=f"#!/bin/bash\n{launcher} pretrain_gpt.py {words}\n")
    assert len(found) == 1
    return found[0]


def plain(subject: Subject, path: str) -> Any:
    return subject.settings[path].value.only


def test_options_are_settings_with_the_places_of_flag_and_value(subjects: Any) -> None:
    subject = command(subjects, f"{MODEL} --lr -1e-4 --bf16 --tensor-model-parallel-size=2")
    assert (plain(subject, "num_layers"), plain(subject, "lr"), plain(subject, "bf16")) == (24, -1e-4, True)
    layers, size = subject.settings["num_layers"], subject.settings["tensor_model_parallel_size"]
    assert (layers.key_span.column + len("--num-layers "), layers.written) == (layers.span.column, "--num-layers")
    assert (size.value.only, size.key_span) == (2, size.span)


def test_the_last_of_two_equal_options_counts(subjects: Any) -> None:
    subject = command(subjects, f"{MODEL} --num-layers 12")
    setting = subject.settings["num_layers"]
    assert setting.value.only == 12
    assert setting.overrides is not None
    assert setting.overrides.value.only == 24


def test_an_option_takes_one_word_unless_it_is_known_to_take_more(subjects: Any) -> None:
    subject = command(subjects, f"{MODEL} --seq-length 1024 $MORE --data-path 0.5 a 0.5 b")
    assert plain(subject, "seq_length") == 1024
    assert plain(subject, "data_path") == ["0.5", "a", "0.5", "b"]
    assert subject.open_blocks


def test_an_option_that_is_given_on_some_paths_only_is_not_certain(subjects: Any) -> None:
    text = (
        f'if [ "$1" = x ]; then SP="--sequence-parallel"; fi\ntorchrun --nproc_per_node 8 pretrain_gpt.py {MODEL} $SP\n'
    )
    (subject,) = subjects(run_dot_sh=text)
    assert not subject.settings["sequence_parallel"].certain


def test_a_word_behind_a_switch_is_a_stray_one(subjects: Any) -> None:
    assert command(subjects, f"{MODEL} --bf16 true").names["stray"].only == "--bf16 true"
    assert command(subjects, f"{MODEL} --bf16").names["stray"].is_absent
    assert command(subjects, f"{MODEL} --bf16 $REST").names["stray"].is_absent


def test_the_layout_follows_from_the_sizes_and_the_launch(subjects: Any) -> None:
    subject = command(subjects, f"{MODEL} --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2")
    names = subject.names
    assert (names["world_size"].only, names["model_parallel_product"].only, names["data_parallel_size"].only) == (
        8,
        4,
        2,
    )


@pytest.mark.parametrize(
    "words",
    ["--tensor-model-parallel-size $TP", "--encoder-tensor-model-parallel-size 2", "--tensor-model-parallel-size 3"],
)
def test_a_layout_that_is_not_known_or_does_not_fit_gives_no_data_parallel_size(subjects: Any, words: str) -> None:
    assert command(subjects, f"{MODEL} {words}").names["data_parallel_size"].is_unknown


def test_a_plain_interpreter_counts_as_one_process_tentatively(subjects: Any) -> None:
    world = command(subjects, MODEL, "python").names["world_size"]
    assert (world.only, world.confidence) == (1, Confidence.POSSIBLE)
    assert command(subjects, MODEL, "WORLD_SIZE=4 python").names["world_size"].only == 4


def test_a_script_of_the_project_is_megatron_only_if_it_imports_megatron(subjects: Any) -> None:
    run = f"#!/bin/bash\ntorchrun --nproc_per_node 8 train.py {MODEL}\n"
    own = "import argparse\n\nparser = argparse.ArgumentParser('not megatron')\nparser.add_argument('--num-layers')\n"
    assert subjects(run_dot_sh=run, train_dot_py=own) == []
    megatron = "from megatron.training import pretrain\n\nif __name__ == '__main__':\n    pretrain()\n"
    assert [s.names["carrier"].only for s in subjects(run_dot_sh=run, train_dot_py=megatron)] == ["argv"]


def test_few_of_its_options_are_not_enough_for_an_unknown_script(subjects: Any) -> None:
    assert (
        subjects(run_dot_sh="#!/bin/bash\ntorchrun --nproc_per_node 8 main.py --num-layers 3 --hidden-size 4\n") == []
    )


def test_what_a_checkpoint_says_is_not_known(subjects: Any) -> None:
    assert command(subjects, f"{MODEL} --use-checkpoint-args").open_blocks


def test_the_deepspeed_configuration_of_a_command_is_read(subjects: Any) -> None:
    config = '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}'
    run = f"#!/bin/bash\ndeepspeed --num_gpus 8 pretrain_gpt.py {MODEL} --deepspeed --deepspeed_config ds.json\n"
    (subject,) = subjects(run_dot_sh=run, ds_dot_json=config)
    assert subject.names["flavour"].only == "megatron-deepspeed"
    assert (plain(subject, "ds.zero_stage"), plain(subject, "ds.offload_optimizer")) == (2, "cpu")


def test_neox_files_of_one_launch_are_merged(subjects: Any) -> None:
    (subject,) = subjects(
        run_dot_sh="CUDA_VISIBLE_DEVICES=0,1,2,3 ./deepy.py train.py -d configs model local.yml\n",
        configs__model_dot_yml='{"pipe-parallel-size": 0, "model-parallel-size": 2, "num-layers": 12}\n',
        configs__local_dot_yml="train_batch_size: 8\nzero_optimization: {stage: 1}\n",
    )
    assert (plain(subject, "pipeline_model_parallel_size"), plain(subject, "zero_stage")) == (0, 1)
    names = subject.names
    assert (names["world_size"].only, names["model_parallel_product"].only, names["data_parallel_size"].only) == (
        4,
        2,
        2,
    )
    assert names["duplicate"].is_absent
    assert not subject.open_blocks


def test_a_key_that_two_neox_files_hold_is_named(subjects: Any) -> None:
    (subject,) = subjects(
        run_dot_sh="python deepy.py train.py a.yml b.yml\n",
        a_dot_yml="model_parallel_size: 1\nnum_layers: 12\n",
        b_dot_yml="num_layers: 24\npipe_parallel_size: 1\n",
    )
    assert subject.names["duplicate"].only == "num_layers"
    assert subject.names["duplicate"].spans[0].file == "b.yml"


def test_devices_are_not_counted_where_hosts_are_listed_elsewhere(subjects: Any) -> None:
    (subject,) = subjects(
        run_dot_sh="CUDA_VISIBLE_DEVICES=0,1 python deepy.py train.py a.yml\n",
        a_dot_yml="pipe_parallel_size: 2\nnum_layers: 12\nhostfile: /job/hosts\n",
    )
    assert subject.names["world_size"].is_unknown


def test_a_neox_file_without_launch_may_have_more_settings(subjects: Any) -> None:
    (subject,) = subjects(a_dot_yml="pipe_parallel_size: 2\nnum_layers: 12\n")
    assert subject.open_blocks
    assert subject.names["carrier"].only == "neox"


def test_arguments_of_configuration_objects_are_settings_by_the_name_of_the_option(subjects: Any) -> None:
    text = (
        "from megatron.core.transformer.transformer_config import TransformerConfig\n\n"
        "BASE = {'num_layers': 2, 'num_moe_experts': 8}\n"
        "config = TransformerConfig(hidden_size=64, num_query_groups=None, **BASE)\n"
    )
    (subject,) = subjects(model_dot_py=text)
    assert (plain(subject, "num_experts"), plain(subject, "num_layers"), plain(subject, "hidden_size")) == (8, 2, 64)
    assert "num_query_groups" not in subject.settings
    assert (subject.names["carrier"].only, subject.open_blocks) == ("config", frozenset())


def test_classes_of_the_project_that_extend_a_configuration_count(subjects: Any) -> None:
    text = (
        "from megatron.core import ModelParallelConfig\n\n\n"
        "class Mine(ModelParallelConfig):\n    pass\n\n\n"
        "class Other(ModelParallelConfig):\n    def __init__(self, sequence_parallel):\n        pass\n\n\n"
        "Mine(sequence_parallel=True)\nOther(sequence_parallel=True)\n"
    )
    assert [subject.span.line for subject in subjects(model_dot_py=text)] == [13]


def test_the_version_of_a_copy_in_the_project_counts(subjects: Any) -> None:
    (subject,) = subjects(
        run_dot_sh=f"#!/bin/bash\ntorchrun --nproc_per_node 8 pretrain_gpt.py {MODEL}\n",
        pretrain_gpt_dot_py="from megatron.training import pretrain\n\npretrain()\n",
        megatron__core__package_info_dot_py="MAJOR = 0\nMINOR = 6\nPATCH = 1\n__package_name__ = 'megatron_core'\n",
    )
    assert subject.versions.newest("megatron-core") == "0.6.1"
    assert subject.versions.test("megatron-core", "<0.8") is True
    assert subject.versions.newest("torch") != ""


def test_defaults_are_those_of_the_options() -> None:
    assert default("tensor_model_parallel_size").only == 1
    assert default("sequence_parallel").only is False
    assert default("num_layers").is_absent
    assert known_path("ds.zero_stage")
    assert known_path("env.NCCL_ALGO")
    assert not known_path("tensor_paralel_size")


@given(st.integers(1, 64), st.integers(1, 8), st.integers(1, 8))
def test_a_data_parallel_size_divides_the_processes_exactly(world: int, tensor: int, pipeline: int) -> None:
    place = Span("run.sh", 1, 1, 1, 2)
    sizes = {"tensor_model_parallel_size": tensor, "pipeline_model_parallel_size": pipeline}
    settings = {path: Setting(path, known(size, place), place, place) for path, size in sizes.items()}
    names = derived_names(Given(settings), known(world))
    assert names["model_parallel_product"].only == tensor * pipeline
    if world % (tensor * pipeline):
        assert names["data_parallel_size"].is_unknown
    else:
        assert names["data_parallel_size"].only * tensor * pipeline == world


def test_an_unknown_number_of_processes_leaves_the_product_known() -> None:
    names = derived_names(Given({}), unknown("no launch"))
    assert (names["model_parallel_product"].only, names["data_parallel_size"].is_unknown) == (1, True)


@pytest.mark.parametrize(
    ("word", "value"), [("24", 24), ("1e-5", 1e-5), ("-1", -1), ("1_000", "1_000"), ("0x10", "0x10"), ("", "")]
)
def test_words_are_read_as_numbers_where_argparse_would(word: str, value: object) -> None:
    assert typed(word) == value
    assert type(typed(word)) is type(value)


MODEL_OF_NEOX = "pipe_parallel_size: 2\nnum_layers: 12\n"


@pytest.mark.parametrize(
    ("line", "setup", "expected"),
    [
        ("./deepy.py train.py a.yml b.yml", "hostfile: hosts", 12),
        ("./deepy.py train.py a.yml b.yml", "{hostfile: hosts, num-nodes: 1}", 8),
        ("./deepy.py train.py a.yml b.yml", "{hostfile: hosts, num_gpus: 2}", 4),
        ("./deepy.py train.py a.yml b.yml", "{hostfile: hosts, include: 'n1:0,1@n2'}", 6),
        ("./deepy.py train.py a.yml b.yml", "{hostfile: hosts, exclude: 'n1'}", 4),
        ("./deepy.py train.py a.yml b.yml", "{include: 'localhost:0,1,2', num_gpus: 8}", 3),
        ("./deepy.py train.py a.yml b.yml", "num_gpus: 8", 8),
        ("./deepy.py train.py a.yml b.yml", "{num_gpus: 8, num_nodes: 2, launcher: pdsh}", 16),
        ("./deepy.py -H hosts train.py a.yml b.yml", "num_gpus: 3", 6),
        ("./deepy.py train.py -H hosts a.yml b.yml", "num_gpus: 3", 6),
        ("./deepy.py -d . train.py a b", "num_gpus: 3", 3),
        ("DLTS_HOSTFILE=hosts ./deepy.py train.py a.yml b.yml", "{hostfile: /job/hosts}", 12),
        ("DLTS_HOSTFILE=$HOSTS ./deepy.py train.py a.yml b.yml", "{hostfile: hosts}", None),
        ("./deepy.py train.py a.yml b.yml", "{deepspeed_slurm: true, num_gpus: 8}", None),
        ("./deepy.py train.py a.yml c.yml", "num_gpus: 8", None),
        ("./deepy.py train.py a.yml b.yml", "{}", None),
    ],
)
def test_neox_hands_its_devices_to_the_launcher(
    make_project: MakeProject, line: str, setup: str, expected: int | None
) -> None:
    texts = {"run.sh": line, "a.yml": MODEL_OF_NEOX, "b.yml": setup, "hosts": "n1 slots=8\nn2 slots=4\n"}
    project = make_project(texts)
    (launch,) = project.launches
    assert launch.world_size.only == expected
