"""What expressions are on one process of a job."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.checks.rank_values import UNKNOWN
from distlint.checks.ranks import FIRST, SECOND, SECOND_NODE, Process, RankView
from distlint.model import python as ir
from tests.conftest import MakeProject

HEAD = """
import os
import torch
import torch.distributed as dist

"""

MAIN_ONLY = """
def main_only():
    if not dist.is_initialized():
        return True
    return dist.get_rank() == 0

"""

TRAINER = """
class Trainer:
    def __init__(self):
        self.rank = dist.get_rank()

    def step(self):
        probe(self.rank > 0)
"""


def value(make_project: MakeProject, code: str, process: Process, *, guess: bool = True, counted: bool = False) -> Any:
    """The argument of ``probe`` in a script, as it is on a process."""
    project = make_project({"train.py": HEAD + code})
    site = project.sites("probe")[0].site
    argument: ir.Expr = site.call.args[0]
    return RankView(project, process, guess=guess, counted=counted).ask(argument, "train.py", site.function)


@pytest.mark.parametrize(
    ("code", "on_first", "on_second"),
    [
        ("probe(dist.get_rank() == 0)", True, False),
        ("probe(int(os.environ['LOCAL_RANK']) in (-1, 0))", True, False),
        ("probe(os.environ['RANK'] == '0')", True, False),
        ("probe(not dist.is_initialized() or dist.get_rank() == 0)", True, False),
        ("rank = dist.get_rank() if dist.is_available() else 0\nprobe(rank)", 0, 1),
        ("if 'RANK' in os.environ:\n    rank = int(os.environ['RANK'])\nelse:\n    rank = 0\nprobe(rank)", 0, 1),
        ("rank, size = dist.get_rank(), dist.get_world_size()\nprobe(rank % 2)", 0, 1),
        (MAIN_ONLY + "probe(main_only())", True, False),
        (TRAINER, False, True),
    ],
)
def test_what_depends_on_the_rank_is_known_for_each(
    make_project: MakeProject, code: str, on_first: object, on_second: object
) -> None:
    assert value(make_project, code, FIRST) == on_first
    assert value(make_project, code, SECOND) == on_second


@pytest.mark.parametrize(
    "code",
    [
        "probe(dist.get_rank(group) == 0)",
        "probe(os.environ['SHARD'] == '0')",
        "probe(flag or dist.get_rank() == 1)",
        "probe(torch.cuda.device_count() or 2)",
        "probe(dist.get_world_size() > 4)",
        "rank = 0\nfor rank in range(3):\n    probe(rank)",
    ],
)
def test_what_depends_on_something_else_is_unknown(make_project: MakeProject, code: str) -> None:
    assert value(make_project, code, FIRST) is UNKNOWN


def test_a_job_has_more_than_one_process(make_project: MakeProject) -> None:
    assert value(make_project, "probe(dist.get_world_size() == 1)", FIRST) is False
    assert value(make_project, "probe(1 < dist.get_world_size())", SECOND) is True


def test_a_parameter_called_rank_counts_only_where_guessing_is_wanted(make_project: MakeProject) -> None:
    code = "def work(rank, size):\n    probe(rank)"
    assert value(make_project, code, SECOND) == 1
    assert value(make_project, code, SECOND, guess=False) is UNKNOWN


def test_rank_and_local_rank_differ_on_the_second_node(make_project: MakeProject) -> None:
    assert value(make_project, "probe(dist.get_rank())", SECOND_NODE) == 13
    assert value(make_project, "probe(int(os.environ['LOCAL_RANK']))", SECOND_NODE) == 5
    assert value(make_project, "probe(dist.get_rank() % torch.cuda.device_count())", SECOND_NODE) == 5


def test_one_process_does_not_answer_for_another(make_project: MakeProject) -> None:
    code = "def run(rank, size):\n    probe(rank + 1, size * 2, 3 + 4, int(os.environ['LOCAL_RANK']))\n"
    project = make_project({"train.py": HEAD + code})
    site = project.sites("probe")[0].site

    def asked(process: Process, **given: Any) -> list[Any]:
        view = RankView(project, process, **given)
        return [view.ask(one, "train.py", site.function) for one in site.call.args]

    assert asked(FIRST, guess=False) == [UNKNOWN, UNKNOWN, 7, 0]
    assert asked(FIRST, variables=()) == [1, UNKNOWN, 7, UNKNOWN]
    assert asked(SECOND) == [2, UNKNOWN, 7, 1]
    assert asked(FIRST) == [1, UNKNOWN, 7, 0]


def test_a_rank_may_be_counted_over_the_nodes(make_project: MakeProject) -> None:
    code = (
        "def work(number, args):\n    probe(args.place * args.processes + number)\n"
        "torch.multiprocessing.spawn(work, args=(args,))"
    )
    assert value(make_project, code, SECOND_NODE, guess=False) is UNKNOWN
    assert value(make_project, code, SECOND_NODE, guess=False, counted=True) == SECOND_NODE.rank
    for other in ("args.place + number", "args.place * number", "number * 2 + 1", "args.place * args.processes"):
        text = code.replace("args.place * args.processes + number", other)
        assert value(make_project, text, SECOND_NODE, guess=False, counted=True) != SECOND_NODE.rank
