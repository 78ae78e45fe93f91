"""Functions of which one is called, where it is not known which."""

from __future__ import annotations

import pytest

from distlint.checks.traces import compared
from distlint.rehearsal.performance import Rehearsal
from tests.conftest import MakeProject

HEAD = """
import random
import torch, torch.distributed as dist

def gathered(x):
    dist.all_reduce(x)
    return x

def own(x):
    return x

KINDS = {"all": gathered, "own": own}
dist.init_process_group("gloo")
name = "all" if random.random() > 0.5 else "own"
"""


@pytest.mark.parametrize("choice", ["KINDS[name]", "KINDS.get(name)"])
def test_each_function_of_a_table_may_be_called(make_project: MakeProject, choice: str) -> None:
    project = make_project({"train.py": f"{HEAD}{choice}(torch.ones(1))\n"})
    (performance,) = Rehearsal.of(project).performances()
    (clash,) = compared(project, performance).clashes
    assert clash.event.name == "all_reduce"
    assert clash.part is not None
    assert clash.part.why == "random numbers without a seed"


def test_a_choice_that_all_processes_share_parts_nobody(make_project: MakeProject) -> None:
    code = f"{HEAD}kinds = [name]\ndist.broadcast_object_list(kinds, 0)\nKINDS[kinds[0]](torch.ones(1))\n"
    project = make_project({"train.py": code})
    (performance,) = Rehearsal.of(project).performances()
    assert not compared(project, performance).clashes
    assert [event.name for event in performance.stages[0].events][-1] == "all_reduce"


def test_what_is_stored_again_on_one_way_is_all_that_is_left(make_project: MakeProject) -> None:
    lines = (
        "class State: pass",
        "state = State()",
        "state.done = False",
        "flag = [random.random()]",
        "dist.broadcast_object_list(flag, 0)",
        "if flag[0] > 0.5:",
        "    state.done = dist.get_rank() == 0",
        "    told = [state.done]",
        "    dist.broadcast_object_list(told, 0)",
        "    state.done = told[0]",
        "if state.done:",
        "    dist.all_reduce(torch.ones(1))",
    )
    project = make_project({"train.py": HEAD + "\n".join(lines) + "\n"})
    performance = next(iter(Rehearsal.of(project).performances()))
    assert not compared(project, performance).clashes
    assert [event.name for event in performance.stages[0].events][-1] == "all_reduce"


ACTIONS = """
import enum
import torch, torch.distributed as dist

class Action(enum.Enum):
    STEP = "step"
    SKIP = "skip"

def judged(value):
    return Action.SKIP if value > 3 else Action.STEP

def any_of_all(flag):
    told = torch.tensor([float(flag)])
    dist.all_reduce(told, op=dist.ReduceOp.MAX)
    return bool(told.item() > 0)

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
action = judged(torch.randn(1).item())
"""


@pytest.mark.parametrize("test", ["action == Action.SKIP", "action is Action.SKIP", "action is not Action.STEP"])
@pytest.mark.parametrize("voted", [False, True])
def test_a_member_that_each_process_chooses(make_project: MakeProject, test: str, voted: bool) -> None:
    vote = "action = Action.SKIP if any_of_all(action is Action.SKIP) else action\n" if voted else ""
    project = make_project({"train.py": f"{ACTIONS}{vote}if {test}:\n    dist.barrier()\n"})
    performance = next(iter(Rehearsal.of(project).performances()))
    assert bool(compared(project, performance).clashes) is not voted
