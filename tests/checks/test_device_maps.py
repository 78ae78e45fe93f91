"""Maps that put the model of every process onto one and the same device, and those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

SCRIPT = """
import os
import torch
from accelerate import Accelerator, PartialState
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

WORLD = int(os.environ.get("WORLD_SIZE", 1))

def load():
    {0}

def main():
    args = TrainingArguments(output_dir="out", ddp_backend="nccl")
    trainer = Trainer(model=load(), args=args, train_dataset=[])
    trainer.train()

main()
"""

LOAD = 'return AutoModelForCausalLM.from_pretrained("gpt2", device_map={0})'


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that is looked at."""
    monkeypatch.chdir(tmp_path)


def found(body: str) -> bool:
    """Whether a program that loads a model like this has a finding about its device."""
    Path("train.py").write_text(SCRIPT.replace("{0}", body), encoding="utf-8")
    return "HF601" in {one["code"] for one in check()["findings"]}


@pytest.mark.parametrize(
    ("before", "given", "bad"),
    [
        ("", '{"": 0}', True),
        ('where = {"": 0}', "where", True),
        ('where = {"": 0} if torch.cuda.is_available() else {"": "cpu"}', "where", True),
        ("", '{"": 0} if torch.cuda.is_available() else None', True),
        ("", '{"": 0 if torch.cuda.is_available() else "cpu"}', True),
        ("", '{"": torch.device("cuda", 0)}', True),
        ('device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")', '{"": device}', True),
        ("", '{"": torch.device("cuda:0")}', True),
        ('device = torch.device(type="cuda", index=0)', "{'': device}", True),
        ("", 'torch.device("cuda:0")', True),
        # the process's own device, one that depends on the number of processes, the current one, and maps that are not known
        ("", '{"": PartialState().process_index}', False),
        ("", '{"": Accelerator().local_process_index}', False),
        ("", '{"": torch.cuda.current_device()}', False),
        ("", '{"": int(os.environ.get("LOCAL_RANK", 0))}', False),
        ("", '{"": int(os.environ.get("LOCAL_RANK") or 0)}', False),
        ("", '{"": torch.device("cuda")}', False),
        ("", '{"": torch.device("cuda", PartialState().local_process_index)}', False),
        ("", '{"": f"cuda:{PartialState().local_process_index}"}', False),
        ("", '{"": 0} if WORLD == 1 else None', False),
        ("", '{"": 0} if WORLD == 1 else {"": "cpu"}', False),
        ("", 'None if os.environ.get("DISTRIBUTED") else {"": 0}', False),
        ('where = {"": 0}\n    where[""] = PartialState().process_index', "where", False),
        ('where = {"": 0}\n    if WORLD > 1:\n        where = {"": int(os.environ["LOCAL_RANK"])}', "where", False),
        ('if WORLD > 1:\n        return AutoModelForCausalLM.from_pretrained("gpt2")', '{"": 0}', False),
        ("", '{"": "cpu"}', False),
        ("", '{"lm_head": 0, "transformer": 1}', False),
    ],
)
def test_maps_of_one_device(before: str, given: str, bad: bool) -> None:
    """A map is looked at through variables, objects and tests for the devices, but not past a test for several processes."""
    load = LOAD.replace("{0}", given)
    assert found(f"{before}\n    {load}" if before else load) is bad
