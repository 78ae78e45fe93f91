"""Rows that each process sends to the others: whether what it takes is what they send, or a copy of its own numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.distributed as dist
from torch import nn


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    gate = nn.Linear(4, world)
    generator = torch.Generator().manual_seed(rank)
    for step in range(3):
        rows = torch.randn(32, 4, generator=generator)
        expert = gate(rows).argmax(-1)
        rows = rows[expert.argsort()]
        counts = torch.bincount(expert, minlength=world)
        sent = counts.tolist()
        {taken}
        out = rows.new_empty(sum(taken), 4)
        dist.all_to_all_single(out, rows, taken, sent)
        print(out.sum())
    dist.destroy_process_group()


main()
"""
EXCHANGED = "dist.all_to_all_single(theirs, counts)\n        taken = theirs.tolist()"
GATHERED = "every = [torch.empty_like(counts) for _ in range(world)]\n        dist.all_gather(every, counts)\n        "


@pytest.mark.parametrize(
    ("taken", "own"),
    [
        ("taken = sent", True),
        ("taken = list(sent)", True),
        ("taken = sent.copy()", True),
        ("taken = counts.tolist()", True),
        ("theirs = counts\n        taken = theirs.tolist()", True),
        ("theirs = counts.clone()\n        taken = theirs.tolist()", True),
        ("theirs = counts.detach().clone()\n        taken = list(theirs.tolist())", True),
        (f"theirs = torch.empty_like(counts)\n        {EXCHANGED}", False),
        (f"theirs = counts.clone()\n        {EXCHANGED}", False),
        (f"{GATHERED}taken = [int(one[rank]) for one in every]", False),
        (f"{GATHERED}taken = torch.stack(every)[:, rank].tolist()", False),
        (
            (
                "every = [None] * world\n        dist.all_gather_object(every, sent)\n"
                "        taken = [one[rank] for one in every]"
            ),
            False,
        ),
        ("sent = taken = [32 // world] * world", False),
        (
            (
                "dist.all_reduce(counts, op=dist.ReduceOp.MAX)\n        sent = taken = counts.tolist()\n"
                "        rows = torch.zeros(sum(sent), 4)"
            ),
            False,
        ),
    ],
)
def test_what_is_taken_is_what_others_send(
    taken: str, *, own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(taken=taken))
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == (["PT703"] if own else [])
