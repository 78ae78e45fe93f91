"""Parsers that are made of dataclasses of libraries know the options of the release in use."""

from __future__ import annotations

import pytest

from distlint.judge.rulebook import parse_folder, rules_folder
from distlint.knowledge.release_tables import ReleaseTable, section
from distlint.link.parser_model import Parser
from distlint.link.parsers import parsers_of
from tests.conftest import MakeProject

PARSER = "from transformers import HfArgumentParser, TrainingArguments, Seq2SeqTrainingArguments\n"


def parser_of(make_project: MakeProject, classes: str, pin: str = "", more: str = "") -> Parser:
    """The parser that is made of the classes in a project with this pin."""
    text = PARSER + more + f"print(HfArgumentParser({classes}).parse_args_into_dataclasses())\n"
    project = make_project({"train.py": text, "requirements.txt": pin})
    (parser,) = parsers_of(project).all()
    return parser


@pytest.mark.parametrize(
    ("pin", "flag", "known"),
    [
        ("", "--bf16", True),
        ("", "--sharded_ddp", False),
        ("transformers==4.30.2", "--sharded_ddp", True),
        ("transformers==4.41.1", "--eval_strategy", True),
        ("transformers==4.40.1", "--eval_strategy", False),
        ("transformers==4.50.0", "--evaluation_strategy", True),
        ("transformers==4.51.0", "--evaluation_strategy", False),
        ("transformers>=4.30", "--evaluation_strategy", False),
        ("transformers>=4.30,<4.40", "--evaluation_strategy", True),
        ("transformers==4.45.2", "--learning-rate", False),
        ("transformers==4.46.1", "--learning-rate", True),
        ("transformers==4.57.1", "--no_dataloader_pin_memory", True),
        ("transformers==4.57.1", "--no_do_train", False),
    ],
)
def test_the_newest_allowed_release_decides(make_project: MakeProject, pin: str, flag: str, known: bool) -> None:
    parser = parser_of(make_project, "TrainingArguments", pin)
    assert not parser.open
    assert (parser.find(flag) is not None) is known


def test_fields_of_other_releases_are_remembered(make_project: MakeProject) -> None:
    elsewhere = parser_of(make_project, "TrainingArguments", "transformers==4.40.1").elsewhere
    assert elsewhere["eval_strategy"] == "there is one since transformers 4.41"
    assert elsewhere["sharded_ddp"] == "transformers 4.35 has it no more"
    assert "learning_rate" not in elsewhere


@pytest.mark.parametrize(
    "pin",
    [
        "transformers==4.6.0",
        "transformers==99.0",
        "transformers @ git+https://x.org/a.git",
        "transformers==4.51.0.dev0",
    ],
)
def test_a_release_outside_the_table_leaves_the_parser_open(make_project: MakeProject, pin: str) -> None:
    assert parser_of(make_project, "TrainingArguments", pin).open


@pytest.mark.parametrize("classes", ["(TrainingArguments, Hidden)", "Mine", "chosen()", "(*more,)"])
def test_other_classes_leave_the_parser_open(make_project: MakeProject, classes: str) -> None:
    more = "from hidden import Hidden, Base\nclass Mine(TrainingArguments, Base):\n    pass\n"
    assert parser_of(make_project, classes, "transformers==4.57.1", more).open


def test_fields_of_a_subclass_come_on_top(make_project: MakeProject) -> None:
    more = "class Mine(Seq2SeqTrainingArguments):\n    evaluation_strategy: str = 'no'\n    extra: int = 0\n"
    parser = parser_of(make_project, "(Mine,)", "transformers==4.57.1", more)
    assert not parser.open
    assert all(parser.find(f"--{name}") for name in ("evaluation_strategy", "extra", "predict_with_generate", "bf16"))


def test_how_words_are_read_is_what_the_annotation_says() -> None:
    table = ReleaseTable(section("training_arguments", 0)["transformers.TrainingArguments"])
    newest = {name: table.entry(name, table.all[-1]) or {} for name in table.names}
    assert newest["learning_rate"]["kind"] == "float"
    assert newest["seed"]["kind"] == "int"
    assert newest["do_train"] == {"kind": "bool", "arity": "?"}
    assert "cosine" in newest["lr_scheduler_type"]["choices"]
    assert newest["label_names"] == {"kind": "str", "arity": "+"}


def test_removed_arguments_of_other_rules_are_left_to_them() -> None:
    rules = {rule.code: rule for rule in parse_folder(rules_folder(), built_in=True)}
    symbols = [one for code in ("HF401", "HF402") for one in rules[code].check.parameters["symbols"]]
    told = {name for one in symbols if one.get("subject") == "training" for name in one["keywords"]}
    assert set(rules["RUN103"].check.parameters["left-to-others"]) == told


def test_a_parser_with_a_file_of_defaults_requires_nothing(make_project: MakeProject) -> None:
    text = "from trl import ModelConfig, SFTConfig, TrlParser\nprint(TrlParser((SFTConfig, ModelConfig)).parse_args_and_config())\n"
    project = make_project({"train.py": text, "requirements.txt": "trl==0.9.6\ntransformers==4.41.2\n"})
    (parser,) = parsers_of(project).all()
    assert not parser.open
    assert all(option.required.only is not True for option in parser.options)
    assert all(parser.find(f"--{name}") for name in ("config", "max_seq_length", "lora_r", "learning_rate"))


def test_a_redefined_field_has_the_words_of_its_new_default(make_project: MakeProject) -> None:
    more = "class Mine(TrainingArguments):\n    dataloader_pin_memory: bool = False\n    rank: int | None = None\n"
    parser = parser_of(make_project, "Mine", "transformers==4.57.1", more)
    assert parser.find("--dataloader_pin_memory") is not None
    assert parser.find("--no_dataloader_pin_memory") is None
    assert [option.kind for option in parser.options if option.dest == "rank"] == ["int"]
