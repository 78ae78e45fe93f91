"""Roots that each rank chooses by what it found itself, and those that all agree on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """import os
import torch
import torch.distributed as dist
import torch.nn as nn
GRID = [0.0003, 0.3, 0.003, 0.03, 0.01, 0.1]

def trial(lr):
    torch.manual_seed(0)
    m = nn.Linear(4, 1)
    opt = torch.optim.SGD(m.parameters(), lr=lr)
    x = torch.randn(8, 4)
    for _ in range(5):
        opt.zero_grad()
        loss = m(x).pow(2).mean()
        loss.backward()
        opt.step()
    return loss.item()

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
"""
SCORES = "scores = {i: trial(GRID[i]) for i in range(rank, len(GRID), world)}\n"
SENT = """box = [GRID[winner] if owner == rank else None]
dist.broadcast_object_list(box, src=owner)
print(box)
"""


@pytest.mark.parametrize(
    ("scored", "chosen", "sent", "own"),
    [
        pytest.param(True, ("winner = min(scores, key=scores.get)\nowner = winner % world"), True, True, id="dict"),
        pytest.param(
            True,
            (
                "every = [None] * world\n"
                "dist.all_gather_object(every, scores)\n"
                "scores = {k: v for d in every for k, v in d.items()}\n"
                "winner = min(scores, key=scores.get)\n"
                "owner = winner % world"
            ),
            True,
            False,
            id="gathered-right",
        ),
        pytest.param(
            True, ("winner = min(scores, key=lambda i: scores[i])\nowner = winner % world"), True, True, id="lam"
        ),
        pytest.param(
            True,
            ("winner, score = min(scores.items(), key=lambda p: p[1])\nowner = winner % world"),
            True,
            True,
            id="items",
        ),
        pytest.param(
            False,
            (
                'best, winner = float("inf"), 0\n'
                "for i in range(rank, len(GRID), world):\n"
                "    s = trial(GRID[i])\n"
                "    if s < best:\n"
                "        best, winner = s, i\n"
                "owner = winner % world"
            ),
            True,
            True,
            id="loop",
        ),
        pytest.param(
            False,
            (
                'best, winner = float("inf"), 0\n'
                "for i in range(rank, len(GRID), world):\n"
                "    s = trial(GRID[i])\n"
                "    if s < best:\n"
                "        best, winner = s, i\n"
                "pairs = [None] * world\n"
                "dist.all_gather_object(pairs, (best, winner))\n"
                "best, winner = min(pairs)\n"
                "owner = winner % world"
            ),
            True,
            False,
            id="loopred-right",
        ),
        pytest.param(
            False,
            (
                'losses = torch.full((len(GRID),), float("inf"))\n'
                "for i in range(rank, len(GRID), world):\n"
                "    losses[i] = trial(GRID[i])\n"
                "dist.all_reduce(losses, op=dist.ReduceOp.MIN)\n"
                "winner = int(losses.argmin())\n"
                "owner = winner % world"
            ),
            True,
            False,
            id="argmin-t-right",
        ),
        pytest.param(
            False,
            (
                "scores = {i: trial(GRID[i]) for i in range(len(GRID))}\n"
                "winner = min(scores, key=scores.get)\n"
                "owner = winner % world"
            ),
            True,
            False,
            id="all-same-right",
        ),
        pytest.param(
            True,
            ("winner = min(scores, key=scores.get)\nowner = 0 if scores[winner] > 1 else rank"),
            True,
            True,
            id="own-rank",
        ),
        pytest.param(
            True,
            ("score, winner = min((s, i) for i, s in scores.items())\nowner = winner % world"),
            True,
            True,
            id="tuples",
        ),
        pytest.param(
            True,
            (
                "winner = max(scores, key=lambda i: -scores[i])\n"
                "box=[None]\n"
                "if winner % world == rank:\n"
                "    box=[winner]\n"
                "dist.broadcast_object_list(box, winner % world)"
            ),
            False,
            True,
            id="dirs",
        ),
        pytest.param(
            True,
            (
                "winner = min(scores, key=scores.get)\n"
                "t = torch.tensor([winner])\n"
                "dist.broadcast(t, 0)\n"
                "winner = int(t)\n"
                "owner = winner % world"
            ),
            True,
            False,
            id="bcast-right",
        ),
    ],
)
def test_chosen_roots(
    scored: bool, chosen: str, sent: bool, own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A root that is chosen among what each rank tried itself is another on each of them."""
    text = HEAD + (SCORES if scored else "") + chosen + "\n" + (SENT if sent else "")
    (tmp_path / "train.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert {finding["code"] for finding in check()["findings"]} == ({"PT515"} if own else set())
