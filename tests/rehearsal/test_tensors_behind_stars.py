"""Data sets of tensors of which nobody knows how many there are: each process still gets its own part of their rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    data = TensorDataset({rows})
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    net = {net}
    model = DDP(net)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            {forward}
            loss = nn.functional.mse_loss(out, y)
            {before}
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
    dist.destroy_process_group()


main()
"""
ROWS = {
    "star": '*torch.load("rows.pt")',
    "star of some": "*[torch.load(name) for name in names()]",
    "two": 'torch.load("x.pt"), torch.load("y.pt")',
    "one and a star": 'torch.load("x.pt"), *torch.load("more.pt")',
}
PLAIN = ("nn.Linear(4, 1)", "out = model(x)")
RECURRENT = ("nn.LSTM(4, 8, batch_first=True)", "out, _ = model(x)")
SKIPPED = "if not torch.isfinite(loss):\n                continue"
AGREED = (
    "bad = (~torch.isfinite(loss)).float()\n            dist.all_reduce(bad)\n"
    "            if bad.item() > 0:\n                continue"
)
GATHERED = (
    "kept = out[out > 0]\n            parts = [torch.empty_like(kept) for _ in range(dist.get_world_size())]\n"
    "            dist.all_gather(parts, kept)"
)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("model", [PLAIN, RECURRENT], ids=["plain", "recurrent"])
@pytest.mark.parametrize(
    ("before", "code"),
    [(SKIPPED, "PT501"), (GATHERED, "PT706"), (AGREED, ""), ("", "")],
    ids=["skipped", "gathered", "agreed", "nothing"],
)
def test_rows(
    rows: str, model: tuple[str, str], before: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PROGRAM.replace("{rows}", ROWS[rows]).replace("{net}", model[0]).replace("{forward}", model[1])
    if "names()" in text:
        text = "from project_files import names\n" + text
    (tmp_path / "train.py").write_text(text.replace("{before}", before or "pass"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert {finding["code"] for finding in check()["findings"]} == ({code} if code else set())
