"""Backward passes of engines whose program says itself in which of them gradients are exchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

import distlint

SCRIPT = """
import deepspeed
import torch
import torch.distributed as dist
from torch import nn

deepspeed.init_distributed()
rank = dist.get_rank()
model = nn.Linear(4, 1)
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="ds.json")
for rows in torch.randn(8, 1, 4):
    rounds = 2 + rank % 2
    for number in range(rounds):
        {line}
        engine.backward(engine(rows.to(engine.device)).square().mean())
        engine.step()
    dist.all_reduce(torch.ones(1, device=engine.device))
"""


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("loss = None", ["PT504"]),
        ("engine.set_gradient_accumulation_boundary(number == rounds - 1)", []),
    ],
)
def test_rounds_of_own_number(tmp_path: Path, line: str, codes: list[str]) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.format(line=line))
    report = distlint.check(tmp_path, use_cache=False)
    assert [one.code for one in report.findings if one.code.startswith("PT5")] == codes
