"""Batches that a function or an object draws for each step, by random numbers that ranks have in common or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import os
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

BLOCK, BATCH = 8, 4
ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    dist.init_process_group("gloo")
    ddp_rank = int(os.environ["RANK"])
    ddp_local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cpu")
    seed_offset = ddp_rank
else:
    ddp_rank, ddp_local_rank, seed_offset, device = 0, 0, 0, "cpu"
torch.manual_seed({seed})
np.random.seed({seed})
text = {text}
{helper}

model = nn.Embedding(100, 4).to(device)
if ddp:
    model = DDP(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
{before}
for step in range(10):
    x, y = {batch}
    loss = model(x).sum() - y.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
BY_SPLIT = """
def get_batch(split):
    data = text if split == "train" else text[:50]
    ix = torch.randint(len(data) - BLOCK - 1, (BATCH,))
    x = torch.stack([torch.from_numpy(data[i:i + BLOCK].astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy(data[i + 1:i + 1 + BLOCK].astype(np.int64)) for i in ix])
    x, y = x.pin_memory().to(device, non_blocking=True), y.to(f"cuda:{ddp_local_rank}")
    return x, y
"""
BY_ARGUMENTS = """
def rows(data, where, size=BATCH):
    starts = np.random.randint(0, len(data) - BLOCK - 1, size)
    picked = torch.tensor(np.stack([data[s:s + BLOCK + 1] for s in starts]), device=where).long()
    return picked[:, :-1], picked[:, 1:]
"""
BY_RANK = """
def rows(data, rank, size=BATCH):
    starts = np.random.randint(0, len(data) - BLOCK - 1, size)
    {between}
    picked = torch.tensor(np.stack([data[s:s + BLOCK + 1] for s in starts])).long()
    return picked[:, :-1], picked[:, 1:]
"""
BY_OBJECT = """
class Source:
    def __init__(self, data, where):
        self.data = data
        self.where = where

    def draw(self):
        ix = torch.randint(len(self.data) - BLOCK, (BATCH,)).tolist()
        x = torch.from_numpy(np.stack([self.data[i:i + BLOCK] for i in ix])).long()
        return x.to(self.where), x
"""
BY_GENERATOR = """
g = torch.Generator()
g.manual_seed(5 + seed_offset)


def get_batch(split):
    ix = torch.randint(len(text) - BLOCK, (BATCH,), generator=g)
    x = torch.stack([torch.from_numpy(text[i:i + BLOCK]) for i in ix]).long()
    return x, x
"""


@pytest.mark.parametrize(
    ("seed", "text", "helper", "before", "batch", "wrong"),
    [
        ("1337", "np.arange(100)", BY_SPLIT, "", "get_batch('train')", True),
        ("1337", "np.arange(100)", BY_ARGUMENTS, "", "rows(text, torch.device('cuda', ddp_local_rank))", True),
        ("7", "np.arange(100)", BY_OBJECT, "source = Source(text, 'cpu')", "source.draw()", True),
        ("1337", "np.arange(100)", BY_RANK.replace("{between}", "pass"), "", "rows(text, ddp_rank)", True),
        ("1337 + seed_offset", "np.arange(100)", BY_SPLIT, "", "get_batch('train')", False),
        ("ddp_rank", "np.arange(100)", BY_ARGUMENTS, "", "rows(text, 'cpu')", False),
        ("7", "np.arange(100) + 100 * ddp_rank", BY_SPLIT, "", "get_batch('train')", False),
        ("7", "np.arange(100)", BY_OBJECT, "source = Source(text[ddp_rank::2], 'cpu')", "source.draw()", False),
        ("7", "np.arange(100)", BY_GENERATOR, "", "get_batch('train')", False),
        ("7", "np.arange(100)", BY_RANK.replace("{between}", "starts += rank"), "", "rows(text, ddp_rank)", False),
        ("7", "np.arange(100)", BY_SPLIT, "torch.manual_seed(9 + ddp_rank)", "get_batch('train')", False),
        ("7", "np.arange(100)", BY_SPLIT, "part = get_batch('all')", "[one[ddp_rank::2] for one in part]", False),
    ],
)
def test_who_draws_what(
    seed: str,
    text: str,
    helper: str,
    before: str,
    batch: str,
    wrong: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = PROGRAM.replace("{seed}", seed).replace("{text}", text).replace("{helper}", helper)
    program = program.replace("{before}", before).replace("{batch}", batch)
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [one["code"] for one in check()["findings"] if one["code"] == "PT250"] == ["PT250"] * wrong
