"""What the traces of rehearsed processes show: where ranks part, and where they meet after all."""

from __future__ import annotations

import pytest

from distlint.checks import traces
from distlint.checks.cleared import cleared, in_order
from distlint.checks.meeting_works import absent_values
from distlint.checks.trace_lines import Clash
from distlint.checks.traces import compared
from distlint.link.modules import FunctionRef
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import LEFT_OUT
from distlint.rehearsal.performance import Rehearsal
from distlint.rehearsal.trace import MAX_PASSED, Choice, Round, follow
from tests.conftest import MakeProject

HEAD = """
import argparse
import os
import sys
import time

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--often", type=int, default=10)
args = parser.parse_args()

def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    generator = torch.Generator().manual_seed(rank)
    total = torch.zeros(1)
    own = torch.rand(1, generator=generator)
"""
MAIN = """
if __name__ == "__main__":
    main()
"""


def found(make_project: MakeProject, body: str) -> list[Clash]:
    """The clashes of the ranks of a program."""
    project = make_project({"train.py": HEAD + body + MAIN})
    performance = next(one for one in Rehearsal.of(project).performances() if one.function < 0)
    assert performance.complete
    return [*compared(project, performance).clashes]


PARTED = {
    "a decision of the first rank of which the others hear nothing": """
    if rank == 0:
        for step in range(50):
            dist.all_reduce(total)
            if own.item() > 0.5:
                break
    else:
        for step in range(50):
            dist.all_reduce(total)
    dist.barrier()
""",
    "another order in front of what one tells the others": """
    order = torch.zeros(1)
    if rank == 0:
        dist.barrier()
        dist.broadcast(order, 0)
    else:
        dist.broadcast(order, 0)
        if order.item():
            dist.all_reduce(total)
        dist.barrier()
""",
    "the whole of what a grid parts, asked for by one of those that hold parts": """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replica", "part"))
    model = fully_shard(torch.nn.Linear(4, 4), mesh=grid)
    if grid.get_coordinate()[1] == 0:
        print(model.weight.full_tensor().sum())
""",
    "the whole of layers that are parted one by one, and the rest of the model behind them": """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    grid = init_device_mesh("cpu", (2,))
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    fully_shard(model[0], mesh=grid)
    fully_shard(model, mesh=grid)
    if grid.get_coordinate()[0] == 0:
        print({name: value.full_tensor() for name, value in model.state_dict().items()})
""",
    "the whole of a layer that a plan with a wildcard parts, asked for by one place": """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replica", "part"))
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    parallelize_module(model, grid["part"], {"*": RowwiseParallel()})
    if grid.get_local_rank("part") == 0:
        print(model[1].weight.full_tensor().sum())
""",
    "what one had of something that nobody sees, before all made something of it": """
    from elsewhere import things
    rows = things()[rank::2]
    hits = rows.hits()
    mine = hits.item()
    dist.all_reduce(hits)
    if mine > 3:
        dist.barrier()
""",
    "a record of what a rank has counted, beside what all have voted for": """
    class Report:
        def __init__(self, skipped, over):
            self.skipped, self.over = skipped, over
    def counted(often):
        skipped = 0
        for _ in range(often):
            if torch.rand(1, generator=generator).item() > 0.5:
                skipped += 1
            vote = torch.tensor([own.item()])
            dist.all_reduce(vote)
            if vote.item() > 1:
                return Report(skipped, True)
        return Report(skipped, False)
    report = counted(args.often)
    if report.skipped > 2:
        return
    dist.barrier()
""",
    "names for what a rank has counted, beside what all have voted for": """
    from collections import namedtuple
    Report = namedtuple("Report", "skipped over")
    def counted(often):
        skipped = 0
        for _ in range(often):
            skipped += int(torch.rand(1, generator=generator).item() > 0.5)
            vote = torch.tensor([own.item()])
            dist.all_reduce(vote)
            if vote.item() > 1:
                return Report(skipped, over=True)
        return Report(skipped, over=False)
    report = counted(args.often)
    if report.skipped > 2:
        return
    dist.barrier()
""",
    "what a rank has counted, beside what all have voted for": """
    def counted(often):
        skipped = 0
        for _ in range(often):
            skipped += int(torch.rand(1, generator=generator).item() > 0.5)
            vote = torch.tensor([own.item()])
            dist.all_reduce(vote)
            if vote.item() > 1:
                return skipped, True
        return skipped, False
    skipped, over = counted(args.often)
    if skipped > 2:
        return
    dist.barrier()
""",
    "rows of which each rank keeps what it likes": """
    kept = [one for one in torch.rand(9, generator=generator).tolist() if one > 0.5]
    if kept:
        dist.all_reduce(total)
""",
    "a list that may be missing for what a rank has": """
    found = [total, total] if own.item() > 0.5 else None
    if found:
        dist.all_reduce(total)
""",
    "an object that asks the clock whether it counts as true": """
    class Deadline:
        def __init__(self, seconds):
            self.end = time.monotonic() + seconds
        def __bool__(self):
            return time.monotonic() < self.end
    left = Deadline(60)
    while left:
        dist.all_reduce(total)
""",
    "the whole of a spread tensor, asked for by one place in the mesh": """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp",))
    spread = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)])
    if mesh.get_local_rank("dp") == 0:
        print(spread.full_tensor().sum())
""",
    "a text of each rank's own that can't always be read": """
    import json
    for part in range(3):
        with open(f"part{rank}-{part}.json") as file:
            try:
                record = json.loads(file.read())
            except json.JSONDecodeError:
                continue
        dist.all_reduce(total)
    dist.barrier()
""",
    "a number that is drawn without a seed": """
    import random
    if random.random() > 0.5:
        dist.all_reduce(total)
""",
    "a loop left by what one has, and by something else": """
    for step in range(50):
        dist.barrier()
        mine = own.item() > 0.5
        dist.all_reduce(total)
        if mine:
            break
        if step > limit:
            break
""",
    "a division by what a rank has counted": """
    kept = (own > 0.5).sum().item()
    try:
        share = 1 / kept
        dist.all_reduce(total)
    except ZeroDivisionError:
        share = 0.0
    dist.barrier()
""",
    "a turn for each key met in own data": """
    counts = {}
    for label in own.long().tolist():
        counts[label] = counts.get(label, 0) + 1
    for label in sorted(counts):
        dist.all_reduce(total)
""",
    "a turn for each member met in own data": """
    met = set()
    for label in own.long().tolist():
        met.add(label)
    for label in met:
        dist.all_reduce(total)
""",
    "an exception in a model for a part of what every rank holds": """
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    every = [torch.ones(1, generator=None) for _ in range(6)]
    for row in every[rank::2]:
        try:
            model(row).sum().backward()
        except RuntimeError:
            continue
    dist.barrier()
""",
    "a branch": """
    if own.item() > 0.5:
        dist.all_reduce(total)
""",
    "an early end of a turn": """
    for step in range(20):
        if own.item() > 0.5:
            continue
        dist.all_reduce(total)
""",
    "an early end of a loop": """
    while True:
        dist.all_reduce(total)
        if own.item() > 0.5:
            break
""",
    "the number of turns": """
    for step in range(int(own.item() * 10)):
        dist.all_reduce(total)
""",
    "an early return": """
    if own.item() > 0.5:
        return
    dist.all_reduce(total)
""",
    "an exit that looks well": """
    if own.item() > 0.5:
        sys.exit()
    dist.all_reduce(total)
""",
    "a flag": """
    stop = False
    if own.item() > 0.5:
        stop = True
    if not stop:
        dist.all_reduce(total)
""",
    "what a helper says": """
    def bad(value):
        if value > 0.5:
            return True
        return False
    if bad(own.item()):
        dist.all_reduce(total)
""",
    "the other side of an or": """
    def anybody(flag):
        dist.all_reduce(total)
        return total.item() > 0
    if own.item() > 0.5 or anybody(False):
        print("stop")
""",
    "the clock": """
    begun = time.time()
    for step in range(100):
        dist.all_reduce(total)
        if time.time() - begun > 60:
            break
""",
    "an exception that is caught": """
    for step in range(20):
        try:
            if own.item() > 0.5:
                raise ValueError(step)
            dist.all_reduce(total)
        except ValueError:
            continue
""",
    "the rank": """
    if rank == 0 and args.often > 3:
        dist.barrier()
""",
    "the order": """
    if rank == 0:
        dist.barrier()
        dist.all_reduce(total)
    else:
        dist.all_reduce(total)
        dist.barrier()
""",
    "handlers by rank": """
    def first():
        dist.broadcast(total, 0)
        dist.barrier()
    def rest():
        dist.barrier()
        dist.broadcast(total, 0)
    {True: first, False: rest}[rank == 0]()
""",
}


@pytest.mark.parametrize("body", PARTED.values(), ids=PARTED.keys())
def test_ranks_part(make_project: MakeProject, body: str) -> None:
    assert found(make_project, body)


TOGETHER = {
    "one tells the others what to do": """
    order = torch.zeros(1)
    if rank == 0:
        while own.item() < 0.9:
            dist.broadcast(torch.ones(1), 0)
            dist.all_reduce(total)
            if torch.rand(1, generator=generator).item() > 0.5:
                dist.broadcast(2 * torch.ones(1), 0)
                dist.barrier()
        dist.broadcast(torch.zeros(1), 0)
    else:
        while True:
            dist.broadcast(order, 0)
            if order.item() == 0:
                break
            if order.item() == 1:
                dist.all_reduce(total)
            else:
                dist.barrier()
    dist.all_reduce(total)
""",
    "one sends each of the others what to do": """
    order = torch.ones(1)
    if rank == 0:
        for _ in range(args.often):
            dist.send(order, 1)
            dist.all_reduce(total)
        dist.send(0 * order, 1)
    else:
        dist.recv(order, 0)
        while order.item():
            dist.all_reduce(total)
            dist.recv(order, 0)
    dist.barrier()
""",
    "the whole of what a grid parts, asked for by one of the replicas": """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replica", "part"))
    model = fully_shard(torch.nn.Linear(4, 4), mesh=grid)
    if grid.get_coordinate()[0] == 0:
        print(model.weight.full_tensor().sum())
""",
    "what a plan leaves whole, or may leave so": """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replica", "part"))
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 4))
    parallelize_module(model, grid["part"], {"0": RowwiseParallel(), "1": SequenceParallel(), args.often: ColwiseParallel()})
    if grid.get_local_rank("part") == 0:
        print(model[0].bias.full_tensor(), model[1].weight.full_tensor(), model[2].weight.full_tensor())
""",
    "what all have made of something that nobody sees": """
    from elsewhere import things
    rows = things()[rank::2]
    for _ in range(3):
        hits = rows.hits()
        dist.all_reduce(hits)
        if hits > 3:
            break
        parts = torch.zeros(2) if args.often else None
        dist.all_gather_into_tensor(parts, rows.hits())
        if parts.sum() > 3:
            break
        dist.barrier()
""",
    "a list of what a rank has counted and what all have voted for": """
    def counted(often):
        skipped = 0
        for _ in range(often):
            skipped += int(torch.rand(1, generator=generator).item() > 0.5)
            vote = torch.tensor([own.item()])
            dist.all_reduce(vote)
            if vote.item() > 1:
                return [skipped, True]
        return [skipped, False]
    if counted(args.often)[1]:
        return
    dist.barrier()
""",
    "a sharded optimizer among those that join": """
    from torch.distributed.algorithms.join import Join
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    opt = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    with Join([model, opt]):
        for _ in range(3 + rank):
            model(own).sum().backward()
            opt.step()
    dist.all_reduce(total)
""",
    "rows that are given back once there are enough of them": """
    class Rows:
        def __init__(self, most):
            self.most, self.rows = most, []
        def add(self, row):
            self.rows.append(row)
            if len(self.rows) == self.most:
                found, self.rows = [one * 2 for one in self.rows], []
                return found
            return None
    rows = Rows(args.often)
    for step in range(50):
        dist.barrier()
        full = rows.add(torch.rand(1, generator=generator))
        if full is not None:
            for row in full:
                dist.all_reduce(row)
""",
    "root goes on with what it has sent": """
    def share(value, root=0):
        if dist.get_rank() == root:
            dist.broadcast_object_list([value], src=root)
            return value
        box = [None]
        dist.broadcast_object_list(box, src=root)
        return box[0]
    stop = share(own.item() > 0.5 if rank == 0 else None)
    if stop:
        dist.all_reduce(total)
""",
    "a vote decides whether there is something": """
    def agreed(loss):
        vote = torch.tensor([int(torch.isfinite(loss).all())])
        dist.all_reduce(vote, op=dist.ReduceOp.MIN)
        return loss if vote.item() else None
    loss = agreed(own)
    if loss is None:
        return
    dist.all_reduce(total)
""",
    "zero for one, not for the other, by what root sent": """
    go_on = torch.zeros(1)
    if rank == 0:
        for _ in range(args.often):
            go_on = torch.tensor([1.0 if own.item() > 0.5 else 0.0])
            dist.broadcast(go_on, 0)
            if not go_on.item():
                break
    else:
        for _ in range(args.often):
            dist.broadcast(go_on, 0)
            if go_on.item() == 0:
                break
    dist.all_reduce(total)
""",
    "a loop left by what one has, and by what all make of it": """
    for step in range(50):
        dist.barrier()
        mine = own.item() > 0.5
        vote = torch.tensor([int(mine)])
        dist.all_reduce(vote, op=dist.ReduceOp.MAX)
        if mine:
            break
        if vote.item():
            break
""",
    "a turn for each key that everybody has": """
    sums = {}
    for name in ("loss", "hits"):
        sums[name] = sums.get(name, 0) + own.item()
    for name in sorted(sums):
        dist.all_reduce(total)
""",
    "a turn for each key met in anybody's data": """
    counts = {}
    for label in own.long().tolist():
        counts[label] = counts.get(label, 0) + 1
    parts = [None, None]
    dist.all_gather_object(parts, counts)
    merged = {}
    for part in parts:
        for label, count in part.items():
            merged[label] = merged.get(label, 0) + count
    for label in sorted(merged):
        dist.all_reduce(total)
""",
    "a test that all make alike": """
    for step in range(100):
        if step % args.often == 0:
            dist.all_reduce(total)
""",
    "what was agreed upon": """
    flag = torch.tensor([1.0 if own.item() > 0.5 else 0.0])
    dist.all_reduce(flag)
    for step in range(100):
        if flag.item() > 0:
            break
        dist.all_reduce(total)
""",
    "the same call in both arms": """
    if own.item() > 0.5:
        dist.all_reduce(total)
    else:
        total += 1
        dist.all_reduce(total)
""",
    "an exception that ends the program": """
    if own.item() > 0.5:
        raise RuntimeError("not finite")
    dist.all_reduce(total)
""",
    "work of the first rank between barriers": """
    if rank == 0:
        torch.save(total, "out.pt")
    dist.barrier()
    if rank != 0:
        total = torch.load("out.pt")
    dist.all_reduce(total)
""",
    "turns as in the other process": """
    turns = args.often * 2
    while turns:
        turns -= 1
        dist.all_reduce(total)
""",
    "a figure of its own that leads to no call": """
    best = 0.0
    for step in range(100):
        if own.item() > best:
            best = own.item()
        dist.all_reduce(total)
""",
    "a decision of the first rank that is sent to all": """
    for step in range(100):
        stop = [rank == 0 and own.item() > 0.5]
        dist.broadcast_object_list(stop, src=0)
        if stop[0]:
            break
        dist.all_reduce(total)
""",
    "a decision that is put into its place before it is sent": """
    for step in range(6):
        dist.all_reduce(total)
        stop = [None]
        if rank == 0:
            stop[0] = float(input()) > 2
        dist.broadcast_object_list(stop, src=0)
        if stop[0]:
            break
""",
    "a number that is drawn once a trainer has seeded all processes": """
    import random
    from transformers import Trainer
    trainer = Trainer(model=torch.nn.Linear(2, 2))
    if random.random() > 0.5:
        dist.all_reduce(total)
""",
}


@pytest.mark.parametrize("body", TOGETHER.values(), ids=TOGETHER.keys())
def test_ranks_stay_together(make_project: MakeProject, body: str) -> None:
    assert not found(make_project, body)


def test_what_was_followed_to_its_end_is_known(make_project: MakeProject) -> None:
    known = []
    for body in (TOGETHER["what was agreed upon"], PARTED["a branch"]):
        project = make_project({"train.py": HEAD + body + MAIN})
        known.append(FunctionRef("train.py", 0) in cleared(project).functions)
    assert known == [True, False]


@pytest.mark.parametrize("budget", ["MAX_LOOKED", "MAX_NODES"])
def test_what_was_not_looked_at_is_not_known(
    make_project: MakeProject, monkeypatch: pytest.MonkeyPatch, budget: str
) -> None:
    monkeypatch.setattr(traces, budget, 1)
    project = make_project({"train.py": HEAD + TOGETHER["what was agreed upon"] + MAIN})
    assert FunctionRef("train.py", 0) not in cleared(project).functions


def test_a_pass_that_misses_nobody_is_known(make_project: MakeProject) -> None:
    body = """
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    with model.join():
        model(own).sum().backward()
"""
    project = make_project({"train.py": HEAD + body + MAIN})
    known = cleared(project)
    assert FunctionRef("train.py", 0) in known.functions
    lines = (HEAD + body).splitlines()
    place = next(number for number, line in enumerate(lines, 1) if "backward" in line)
    assert place in {ir.unpack(at, file).line for file, at in known.calls}


def test_a_call_that_is_not_seen_into_keeps_it_from_claims(make_project: MakeProject) -> None:
    body = """
    if rank == 0:
        globals()["save"](total)
    else:
        dist.barrier()

def save(total):
    dist.barrier()
"""
    assert not found(make_project, body)


def test_loops_in_loops_are_not_passed_without_end() -> None:
    span = Span("train.py", 1, 1, 1, 2)
    inner: list[object] = []
    for depth in range(40):
        loop = Round(span, (), ("loop", depth), None, None)
        loop.body = inner
        inner = [loop]
    choice = Choice()
    assert follow(inner, choice, []) == "cut"
    assert choice.passed <= MAX_PASSED + 1


WRAPPING = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def wrapped():
    dist.init_process_group("gloo")
    return DistributedDataParallel(torch.nn.Linear(2, 1))
"""
TRAINING = """
import torch
from wrapping import wrapped

if __name__ == "__main__":
    model = wrapped()
    for _ in range(2):
        model(torch.ones(3, 2)).sum().backward()
"""
BUILDING = """
from wrapping import wrapped

if __name__ == "__main__":
    print(wrapped())
"""


def test_a_place_is_in_order_where_every_program_that_comes_there_saw_so(make_project: MakeProject) -> None:
    one = make_project({"wrapping.py": WRAPPING, "train.py": TRAINING})
    assert [span.line for span in in_order(one, LEFT_OUT)] == [8]
    other = make_project({"wrapping.py": WRAPPING, "train.py": TRAINING, "build.py": BUILDING})
    assert not in_order(other, LEFT_OUT), "nothing has shown there what the second program does with it"


MISSING = """
class Job:
    def __init__(self, settings):
        self.settings = settings

if __name__ == "__main__":
    dist.init_process_group("gloo")
    job = Job(None)
    if dist.get_rank() == 0:
        print(job.settings.name)
    dist.barrier()
"""


def test_what_one_rank_lacks_is_no_fault_where_no_other_uses_it(make_project: MakeProject) -> None:
    project = make_project({"train.py": HEAD + MISSING})
    found = [one for performance in Rehearsal.of(project).performances() for one in absent_values(performance)]
    assert not found
