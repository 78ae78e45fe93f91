"""Whether there is something at all over the ranks, apart from what it holds."""

from __future__ import annotations

import pytest

from tests.checks.test_divergence import asked
from tests.conftest import MakeProject

RESTORE = """
def agree(ok):
    flag = torch.tensor([int(ok)])
    dist.all_reduce(flag, op=dist.ReduceOp.MIN)
    return bool(flag.item())


def restore(path):
    try:
        state = torch.load(path)
        good = True
    except Exception:
        state, good = None, False
    {end}


found = restore(f"rank{{dist.get_rank()}}.pt")
start = 0
if {test}:
    start = found[0]
probe(start)
"""
RETURNED = "if {}:\n        return 3, state\n    return None"
SAVED = """
def write(folder, rank):
    {body}


rank = dist.get_rank()
folder = "shared"
try:
    write(folder, rank)
except OSError as error:
    {handler}
probe(folder)
"""


@pytest.mark.parametrize("test", ["found is not None", "found", "not (found is None)"])
@pytest.mark.parametrize(("end", "differs"), [(RETURNED.format("agree(good)"), False), (RETURNED.format("good"), True)])
def test_a_row_is_there_on_all_ranks_that_agreed(make_project: MakeProject, end: str, differs: bool, test: str) -> None:
    assert asked(make_project, RESTORE.format(end=end, test=test)).differs is differs


def test_rows_that_begin_alike(make_project: MakeProject) -> None:
    end = "if good:\n        return 3, state\n    return 3, None"
    assert not asked(make_project, RESTORE.format(end=end, test="found is not None")).differs


@pytest.mark.parametrize(
    ("body", "handler", "differs"),
    [
        ('open(os.path.join(folder, f"{rank}.bin"), "wb")', "print(error)", False),
        ('open(os.path.join(folder, f"{rank}.bin"), "wb")', 'folder = "other"', True),
    ],
)
def test_what_a_call_that_may_fail_reads(make_project: MakeProject, body: str, handler: str, differs: bool) -> None:
    assert asked(make_project, SAVED.format(body=body, handler=handler)).differs is differs
