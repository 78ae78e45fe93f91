"""Places that no known launch comes to: what is wrong there is a warning, and what a table, a test or a name leaves out says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from distlint.engine import Request, analyse
from distlint.settings import load_settings

HEAD = """
import argparse

import torch
import torch.distributed as dist
from colossalai.booster import Booster
from colossalai.booster.plugin import HybridParallelPlugin, LowLevelZeroPlugin

parser = argparse.ArgumentParser()
parser.add_argument("--mode", default="train")
parser.add_argument("--export", default="")
args = parser.parse_args()
"""
EXPORTED = """
def export(booster, model):
    booster.save_lora_as_pretrained(model, args.export)
def main():
    booster = Booster(plugin=LowLevelZeroPlugin(stage=1))
    if args.export:
        export(booster, torch.nn.Linear(2, 2))
main()
"""


def found(folder: Path, body: str, options: str | None) -> dict[str, str]:
    """The severities of what is found, by the codes of the rules; ``None`` for a program without a launch."""
    (folder / ".git").mkdir()
    (folder / "requirements.txt").write_text("colossalai==0.3.6\n")
    (folder / "train.py").write_text(HEAD + body)
    if options is not None:
        (folder / "run.sh").write_text(f"torchrun --nproc_per_node 2 train.py {options}\n")
    report = analyse(Request((folder,), load_settings(folder), jobs=1, use_cache=False))
    return {finding.code: finding.severity.name for finding in report.findings}


@pytest.mark.parametrize(("options", "expected"), [(None, "ERROR"), ("--export out", "ERROR"), ("", "WARNING")])
def test_what_is_wrong_where_no_launch_comes_is_a_warning(tmp_path: Path, options: str | None, expected: str) -> None:
    assert found(tmp_path, EXPORTED, options).get("CAI410") == expected


TABLE = """
def choose(kind):
    table = {
        "zero": lambda: LowLevelZeroPlugin(stage=2),
        "hybrid": lambda: HybridParallelPlugin(tp_size=1, pp_size=2, zero_stage=2, num_microbatches=2),
    }
    return table[kind]()
choose(KIND)
"""


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("args.mode", "--mode hybrid", True),
        ("args.mode", "--mode zero", False),
        ("open('kind.txt').read()", "", False),
    ],
)
def test_a_lambda_of_a_table_is_entered_where_the_table_is_asked_for_it(
    tmp_path: Path, kind: str, options: str, *, expected: bool
) -> None:
    assert ("CAI102" in found(tmp_path, TABLE.replace("KIND", kind), options)) is expected


BY_NAME = """
def train():
    Booster(plugin=HybridParallelPlugin(tp_size=1, pp_size=2, zero_stage=2, num_microbatches=2))
def evaluate():
    Booster(plugin=LowLevelZeroPlugin(stage=1))
globals()[args.mode]()
"""


@pytest.mark.parametrize(("options", "expected"), [("", True), ("--mode evaluate", False)])
def test_a_function_that_is_asked_for_by_its_name(tmp_path: Path, options: str, *, expected: bool) -> None:
    assert ("CAI102" in found(tmp_path, BY_NAME, options)) is expected
