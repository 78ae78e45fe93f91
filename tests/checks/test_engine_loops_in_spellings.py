"""Steps, losses and gradients of a DeepSpeed engine: the same program is judged the same, however it is spelled."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import deepspeed
import torch

PASSES = 4


def is_last(index):
    return (index + 1) % PASSES == 0


def backward(engine, loss):
    engine.backward(loss)


def step(engine):
    engine.step()


def step_if(engine, last):
    if not last:
        return
    engine.step()


def mean_of(loss, n):
    return loss / n


def clear(engine):
    engine.zero_grad()


def main():
    net = torch.nn.Linear(8, 1)
    engine, optimizer, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config="ds_config.json")
    for index, rows in enumerate(torch.randn(40, 2, 8)):
        loss = engine(rows.to(engine.device)).square().mean()
"""
TURNS = [
    ("a step behind a flag", "last = (index + 1) % PASSES == 0\nengine.backward(loss)\nif last:\n    engine.step()", "DS213"),
    ("a step behind a function", "engine.backward(loss)\nif is_last(index):\n    engine.step()", "DS213"),
    ("a step behind a way out", "engine.backward(loss)\nif (index + 1) % PASSES != 0:\n    continue\nengine.step()", "DS213"),
    ("a step unless there is a rest", "engine.backward(loss)\nif not (index + 1) % PASSES:\n    engine.step()", "DS213"),
    ("a step in a helper", "backward(engine, loss)\nif (index + 1) % PASSES == 0:\n    step(engine)", "DS213"),
    ("a step in a helper that asks", "backward(engine, loss)\nstep_if(engine, (index + 1) % PASSES == 0)", "DS213"),
    ("both every time", "backward(engine, loss)\nstep(engine)", ""),
    ("both behind the test", "if (index + 1) % PASSES == 0:\n    engine.backward(loss)\n    engine.step()", ""),
    ("a report behind the test", "backward(engine, loss)\nstep(engine)\nif is_last(index):\n    print(loss)", ""),
    (
        "a report that asks the engine",
        "backward(engine, loss)\nif engine.is_gradient_accumulation_boundary():\n    print(index)\nstep(engine)",
        "",
    ),
    ("divided by a helper", "loss = mean_of(loss, PASSES)\nengine.backward(loss)\nengine.step()", "DS214"),
    ("divided before a helper", "backward(engine, loss / PASSES)\nstep(engine)", "DS214"),
    ("divided by the number of rows", "backward(engine, mean_of(loss, len(rows)))\nstep(engine)", ""),
    ("divided for a report", "backward(engine, loss)\nprint(mean_of(loss, PASSES))\nstep(engine)", ""),
    ("cleared by a helper", "backward(engine, loss)\nclear(engine)\nstep(engine)", "DS215"),
    ("cleared before", "clear(engine)\nbackward(engine, loss)\nstep(engine)", ""),
    ("cleared behind", "backward(engine, loss)\nstep(engine)\nclear(engine)", ""),
]  # fmt: skip


@pytest.mark.parametrize(("what", "turn", "code"), TURNS, ids=[one[0] for one in TURNS])
def test_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, turn: str, code: str) -> None:
    settings = {
        "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": 4,
        "optimizer": {"type": "Adam", "params": {"lr": 0.001}},
    }
    (tmp_path / "ds_config.json").write_text(json.dumps(settings), encoding="utf-8")
    program = HEAD + textwrap.indent(turn, " " * 8) + '\n\n\nif __name__ == "__main__":\n    main()\n'
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = {finding["code"] for finding in check()["findings"]}
    assert found == ({code} if code else set()), what
