"""Numbers that have a point only if something came: of which type the tensors are that are made of them."""

from __future__ import annotations

import pytest

from distlint.checks.meeting_shapes import different_types
from distlint.rehearsal.performance import Rehearsal
from tests.conftest import MakeProject

HEAD = """
import argparse, math
import numpy as np
import torch, torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--step", type=int, required=True)
STEP = parser.parse_args().step
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
rows, marks = torch.rand(64, 4), torch.zeros(64)
model = nn.Linear(4, 1)
share = len(rows) // world
own, marked = rows[rank * share : (rank + 1) * share], marks[rank * share : (rank + 1) * share]
total, count = 0, 0
"""
TAIL = "\ndist.all_reduce(sums)\n"


def _loop(step: str, *body: str) -> str:
    head = [f"for i in range(0, len(own), {step}):", f"    a, keep = own[i : i + {step}], marked[i : i + {step}] > 0"]
    return "\n".join([*head, *(f"    {line}" for line in body)]) + "\n"


SKIPS = ("if not keep.any():", "    continue")
ADDS = "total += F.mse_loss(model(a[keep]), a[keep][:, :1]).item()"

APART = {
    "skipped": (*SKIPS, ADDS, "SUMS torch.tensor(total)"),
    "only if": ("if keep.any():", f"    {ADDS}", "SUMS torch.tensor([total])"),
    "counted": ("if keep.sum().item() == 0:", "    continue", ADDS, "SUMS torch.as_tensor(total)"),
    "assigned": (
        *SKIPS,
        "total = total + float(F.l1_loss(model(a[keep]), a[keep][:, :1]))",
        "SUMS torch.tensor(total)",
    ),
    "times": (*SKIPS, f"{ADDS} * len(a)", "count += int(keep.sum())", "SUMS torch.tensor([total, count])"),
    "module": (*SKIPS, "total += nn.MSELoss()(model(a[keep]), a[keep][:, :1]).item()", "SUMS torch.tensor(total)"),
    "mean": (*SKIPS, "total += a[keep].mean().item()", "SUMS torch.tensor(total).reshape(1)"),
    "full": (*SKIPS, ADDS, "SUMS torch.full((2,), total)"),
    "numpy": (*SKIPS, ADDS, "SUMS torch.from_numpy(np.array([total]))"),
}
ALIKE = {
    "type given": (*SKIPS, ADDS, "SUMS torch.tensor(total, dtype=torch.float32)"),
    "converted": (*SKIPS, ADDS, "SUMS torch.tensor(total).float()"),
    "another has a point": (*SKIPS, ADDS, "SUMS torch.tensor([total, 1.0])"),
    "divided": (*SKIPS, ADDS, "count += 1", "SUMS torch.tensor(total / max(count, 1))"),
    "without a test": ("total += model(a).mean().item()", "SUMS torch.tensor(total)"),
    "not a number": (
        "loss = model(a).mean()",
        "if torch.isnan(loss):",
        "    continue",
        "total += loss.item()",
        "SUMS torch.tensor(total)",
    ),
    "too large": (
        "loss = F.mse_loss(model(a), a).item()",
        "if loss > 100:",
        "    continue",
        "total += loss",
        "SUMS torch.tensor(total)",
    ),
    "failed": (
        "try:",
        "    loss = model(a).mean().item()",
        "except RuntimeError:",
        "    continue",
        "total += loss",
        "SUMS torch.tensor(total)",
    ),
    "left afterwards": ("total += model(a).mean().item()", "if keep.any():", "    break", "SUMS torch.tensor(total)"),
    "whole numbers": (*SKIPS, "total += keep.sum().item()", "SUMS torch.tensor(total)"),
    "every second": ("if i % 2 == 0:", "    total += model(a).mean().item()", "SUMS torch.tensor(total)"),
}


def _types(make_project: MakeProject, code: str) -> list[str]:
    project = make_project({"train.py": HEAD + code + TAIL})
    (performance,) = Rehearsal.of(project).performances()
    return [one.message for one in different_types(performance)]


def _code(step: str, lines: tuple[str, ...]) -> str:
    return _loop(step, *lines[:-1]) + lines[-1].replace("SUMS", "sums =")


@pytest.mark.parametrize("step", ["8", "STEP"])
@pytest.mark.parametrize("lines", APART.values(), ids=APART)
def test_a_sum_stays_whole_where_nothing_came(make_project: MakeProject, lines: tuple[str, ...], step: str) -> None:
    assert _types(make_project, _code(step, lines))


@pytest.mark.parametrize("step", ["8", "STEP"])
@pytest.mark.parametrize("lines", ALIKE.values(), ids=ALIKE)
def test_a_sum_has_one_type_everywhere(make_project: MakeProject, lines: tuple[str, ...], step: str) -> None:
    assert not _types(make_project, _code(step, lines))


def test_a_sum_with_a_point_from_the_start(make_project: MakeProject) -> None:
    lines = (*SKIPS, ADDS, "SUMS torch.tensor(total)")
    assert not _types(make_project, "total = 0.0\n" + _code("STEP", lines))


def test_what_is_dealt_out_in_turn_leaves_nobody_without(make_project: MakeProject) -> None:
    turned = "own, marked = rows[rank::world], marks[rank::world]\n"
    assert not _types(make_project, turned + _code("STEP", (*SKIPS, ADDS, "SUMS torch.tensor(total)")))
    loader = "data = TensorDataset(rows, marks)\nfor a, b in DataLoader(data, batch_size=8, sampler=DistributedSampler(data)):\n"
    body = "    keep = b > 0\n    if keep.any():\n        total += model(a[keep]).mean().item()\nsums = torch.tensor(total)"
    assert not _types(make_project, loader + body)


def test_a_mean_of_what_was_chosen_or_zero(make_project: MakeProject) -> None:
    assert _types(make_project, "keep = marked > 0\nsums = torch.tensor(own[keep].mean().item() if keep.any() else 0)")
    assert not _types(
        make_project, "keep = marked > 0\nsums = torch.tensor(own[keep].mean().item() if keep.any() else 0.0)"
    )
