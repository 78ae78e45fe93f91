"""Rows in which each process fills only its own place, and what is chosen by tests on its own figures."""

from __future__ import annotations

import pytest

from distlint.checks.meeting_arguments import different_roots
from distlint.rehearsal.performance import Rehearsal
from tests.conftest import MakeProject

HEAD = """
import numpy as np
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
weights = torch.rand(4)
figure = weights.sum().item()
"""
TAIL = "\ndist.broadcast(weights, src=root)\n"

LONELY = {
    "argmax": "row = torch.zeros(world)\nrow[rank] = figure\nroot = row.argmax().item()",
    "added": "row = torch.zeros(world)\nrow[rank] += figure\nroot = int(torch.argmax(row))",
    "copied into a row": "row = torch.zeros(world)\nrow[rank].copy_(weights.sum())\nroot = int(row.argmax())",
    "filled": "row = torch.empty(world).fill_(9.0)\nrow[rank] = figure\nroot = row.min(dim=0).indices.item()",
    "negative": "row = torch.zeros(world)\nrow[rank] = figure\nroot = int((-row).argmin())",
    "topk": "row = torch.zeros(world)\nrow[rank] = figure\nroot = row.topk(1)[1][0].item()",
    "flag": "row = torch.zeros(world)\nrow[rank] = 1\nroot = int(row.nonzero()[0])",
    "numpy": "row = np.zeros(world)\nrow[rank] = figure\nroot = int(np.argmax(row))",
    "list of numpy": "row = [0.0] * world\nrow[rank] = figure\nroot = int(np.argmax(row))",
    "list": "row = [0.0] * world\nrow[rank] = figure\nroot = row.index(max(row))",
    "list as tensor": "row = [0.0] * world\nrow[rank] = figure\nroot = torch.tensor(row).argmax().item()",
    "key": "row = [9.0] * world\nrow[rank] = figure\nroot = min(range(world), key=lambda one: row[one])",
    "sorted": "row = [9.0] * world\nrow[rank] = figure\nroot = sorted(range(world), key=row.__getitem__)[0]",
    "numbered": "row = [0.0] * world\nrow[rank] = figure\nroot, _ = max(enumerate(row), key=lambda one: one[1])",
    "loop": "row = [0.0] * world\nfor r in range(world):\n    if r == rank:\n        row[r] = figure\nroot = row.index(max(row))",
    "dictionary": "row = {rank: figure}\nroot = max(row, key=row.get)",
}
TOGETHER = {
    "reduced": "row = torch.zeros(world)\nrow[rank] = figure\ndist.all_reduce(row)\nroot = row.argmax().item()",
    "gathered": "row = torch.zeros(world)\nrow[rank] = figure\n"
    "dist.all_gather_into_tensor(row, torch.tensor([figure]))\nroot = row.argmax().item()",
    "into its parts": "row = torch.zeros(world)\nrow[rank] = figure\n"
    "dist.all_gather(list(row.chunk(world)), torch.tensor([figure]))\nroot = int(row.argmin())",
    "objects": "row = [0.0] * world\nrow[rank] = figure\ndist.all_gather_object(row, figure)\nroot = row.index(max(row))",
    "handed on": "import other\nrow = np.zeros(world)\nrow[rank] = figure\nother.sum_up(row)\nroot = int(row.argmax())",
    "its sum": "row = torch.zeros(world)\nrow[rank] = figure\nroot = int(row.sum())",
    "one place for all": "row = torch.zeros(world)\nrow[1] = figure\nroot = int(row.argmax())",
    "not level before": "row = torch.arange(world).float()\nrow[rank] = figure\nroot = int(row.argmax())",
}


def _roots(make_project: MakeProject, code: str) -> list[str]:
    project = make_project({"train.py": HEAD + code + TAIL})
    (performance,) = Rehearsal.of(project).performances()
    return [one.message for one in different_roots(performance)]


@pytest.mark.parametrize("code", LONELY.values(), ids=LONELY)
def test_where_something_stands_in_a_row_of_its_own_is_another_place_on_each(
    make_project: MakeProject, code: str
) -> None:
    assert _roots(make_project, code)


@pytest.mark.parametrize("code", TOGETHER.values(), ids=TOGETHER)
def test_a_row_that_all_have_filled_is_one(make_project: MakeProject, code: str) -> None:
    assert not _roots(make_project, code)


BEST = "best = torch.tensor([figure])\ndist.all_reduce(best, op=dist.ReduceOp.MAX)\n"


@pytest.mark.parametrize(
    "code",
    [
        "root = rank if figure == best.item() else 0",
        "root = 0\nif abs(figure - best.item()) < 1e-6:\n    root = rank",
        "root = 0 if figure < best.item() else rank",
        "root = -1\nfor _ in range(3):\n    if figure == best.item():\n        root = rank",
    ],
)
def test_a_root_that_only_some_may_name(make_project: MakeProject, code: str) -> None:
    assert _roots(make_project, BEST + code)


@pytest.mark.parametrize(
    "code",
    [
        "root = 1 if best.item() > 2 else 0",
        "vote = torch.tensor([rank if figure == best.item() else 0])\ndist.all_reduce(vote)\nroot = int(vote)",
        "import options\nroot = rank if options.alone else 0",
        "root = best.item()",
    ],
)
def test_a_root_that_all_may_name(make_project: MakeProject, code: str) -> None:
    assert not _roots(make_project, BEST + code)
