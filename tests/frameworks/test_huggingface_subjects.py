"""What rules see of training arguments and Accelerate files."""

from __future__ import annotations

from distlint.frameworks.huggingface.subjects import KINDS
from distlint.model.subject import Subject
from tests.conftest import MakeProject

PARSED = (
    "from transformers import HfArgumentParser, TrainingArguments\n"
    "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses({})\n"
)


def subjects(make_project: MakeProject, kind: str, files: dict[str, str]) -> list[Subject]:
    """The subjects of a kind in a project of these files."""
    (found,) = (one for one in KINDS if one.name == kind)
    return list(found.build(make_project(files)))


def test_arguments_of_a_call_are_settings_also_through_a_dict(make_project: MakeProject) -> None:
    call = "TrainingArguments('out', fp16=True, **more)\n"
    text = "from transformers import TrainingArguments\nmore = {'bf16': True}\n" + call
    (subject,) = subjects(make_project, "training", {"train.py": text})
    assert {name: one.value.only for name, one in subject.settings.items()} == {
        "output_dir": "out",
        "fp16": True,
        "bf16": True,
    }
    assert not subject.open_blocks


def test_the_old_name_stands_under_the_new_one_too(make_project: MakeProject) -> None:
    text = "from transformers import TrainingArguments\nTrainingArguments('out', evaluation_strategy='epoch')\n"
    (subject,) = subjects(make_project, "training", {"train.py": text})
    assert subject.settings["eval_strategy"].value.only == "epoch"
    assert subject.settings["eval_strategy"].written == "evaluation_strategy"


def test_a_command_line_counts_where_the_script_refuses_what_it_does_not_know(make_project: MakeProject) -> None:
    shell = "torchrun --nproc_per_node 2 train.py --output_dir out --fp16 True\n"
    (subject,) = subjects(make_project, "training", {"train.py": PARSED.format(""), "run.sh": shell})
    assert subject.settings["fp16"].value.only is True
    lenient = PARSED.format("return_remaining_strings=True")
    assert not subjects(make_project, "training", {"train.py": lenient, "run.sh": shell})


def test_a_command_line_without_its_script_is_known_by_its_options(make_project: MakeProject) -> None:
    evident = "torchrun train.py --output_dir out --per_device_train_batch_size 2 --fsdp full_shard\n"
    (subject,) = subjects(make_project, "training-words", {"run.sh": evident})
    assert subject.settings["fsdp"].value.only == "full_shard"
    assert not subjects(make_project, "training-words", {"run.sh": "torchrun train.py --output_dir out\n"})


def test_an_accelerate_file_is_known_by_its_keys(make_project: MakeProject) -> None:
    files = {
        "acc.yaml": "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_offload_params: false\n",
        "other.yaml": "distributed_type: FSDP\n",
        "train.py": "from accelerate import Accelerator\n",
    }
    (subject,) = subjects(make_project, "accelerate", files)
    assert subject.settings["fsdp_config.fsdp_offload_params"].value.only is False
