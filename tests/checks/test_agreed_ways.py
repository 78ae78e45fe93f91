"""Right programs of larger repositories: barriers split over a context, verdicts of one rank, restored states, averages elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.test_agreed_without_reduction import found

FIRST = """
from contextlib import contextmanager

LOCAL_RANK = int(os.getenv("LOCAL_RANK", -1))
RANK = int(os.getenv("RANK", -1))


@contextmanager
def zero_first(local_rank):
    if local_rank not in {-1, 0}:
        dist.barrier()
    yield
    if LAST:
        dist.barrier()


def loader_of(path, rank=-1):
    with zero_first(rank):
        data = torch.load(path)
    return DataLoader(data, 4)


def main():
    dist.init_process_group("gloo")
    state = os.environ.get("STATE")
    loader = loader_of("train.pt", LOCAL_RANK)
    if RANK in {-1, 0}:
        held = loader_of("held.pt", rank=-1)
        if state == "x":
            print(held)


main()
"""


def test_barriers_of_a_context_meet_each_other_for_each_of_its_callers(tmp_path: Path) -> None:
    assert "PT501" not in found(tmp_path, FIRST.replace("LAST", "local_rank == 0"))


def test_a_barrier_that_nobody_answers_is_found(tmp_path: Path) -> None:
    assert "PT501" in found(tmp_path, FIRST.replace("LAST", "local_rank == 7"))


VERDICT = """
class Patience:
    def __init__(self):
        self.best, self.at = 0.0, 0

    def __call__(self, epoch, score):
        if score > self.best:
            self.best, self.at = score, epoch
        return epoch - self.at >= 3


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    patience, stop = Patience(), False
    for epoch in range(8):
        dist.all_reduce(torch.ones(1))
        if rank == 0:
            stop = patience(epoch, float(torch.rand(1)))
        box = [stop if rank == 0 else None]
        dist.broadcast_object_list(box, 0)
        if rank != 0:
            stop = TOLD
        if stop:
            break
    dist.destroy_process_group()


main()
"""


def test_a_verdict_of_one_rank_is_that_of_all_in_each_turn(tmp_path: Path) -> None:
    assert not found(tmp_path, VERDICT.replace("TOLD", "box[0]"))


def test_a_verdict_that_is_not_taken_over_parts_the_ranks(tmp_path: Path) -> None:
    code = VERDICT.replace("TOLD", "False").replace("patience(epoch, float(torch.rand(1)))", "epoch >= 3")
    assert found(tmp_path, code) & {"PT501", "PT503", "PT504"}


RESTORED = """
def on_all(ok):
    flag = torch.tensor(int(ok))
    dist.all_reduce(flag, op=dist.ReduceOp.MIN)
    return bool(flag)


def load(rank):
    for step in (3, 2, 1):
        row = None
        try:
            state = torch.load(f"model-{step}.pt")
            own = f"rng-{rank}.pt"
            extra = torch.load(own) if os.path.exists(own) else None
            row = state, extra
        except Exception as error:
            print(error)
        if TEST:
            return row
    return None


def main():
    dist.init_process_group("gloo")
    step = 0
    if (loaded := load(dist.get_rank())) is not None:
        state, extra = loaded
        step = state["step"]
    while step < 100:
        step += 1
        dist.all_reduce(torch.ones(1))


main()
"""


def test_what_all_could_restore_is_the_same(tmp_path: Path) -> None:
    assert not found(tmp_path, RESTORED.replace("TEST", "on_all(row is not None)")) & {"PT501", "PT503", "PT504"}


def test_what_each_could_restore_differs(tmp_path: Path) -> None:
    assert found(tmp_path, RESTORED.replace("TEST", "row is not None")) & {"PT501", "PT503", "PT504"}


FOLDS = """
def judged(data):
    rank, world = dist.get_rank(), dist.get_world_size()
    mine = {}
    for job in range(10)[rank::world]:
        mine[job] = float(data[job].sum())
    bag = [None] * world
    GATHER
    return {job: score for part in bag if part for job, score in part.items()}


def main():
    dist.init_process_group("gloo")
    data = torch.randn(64, 4)
    scores = judged(data)
    loader = DataLoader(TensorDataset(data), 4, sampler=DistributedSampler(TensorDataset(data)))
    model = DDP(nn.Linear(4, 1))
    for (rows,) in loader:
        model(rows).sum().backward()
    print(scores)


main()
"""


def test_jobs_that_are_dealt_out_and_gathered_are_no_part_of_the_data(tmp_path: Path) -> None:
    assert "PT263" not in found(tmp_path, FOLDS.replace("GATHER", "dist.all_gather_object(bag, mine)"))


def test_a_part_that_nobody_gathers_is_parted_again(tmp_path: Path) -> None:
    code = FOLDS.replace("GATHER", "pass").replace("return {job", "return data[rank::world]\n    return {job")
    assert "PT263" in found(tmp_path, code.replace("TensorDataset(data)", "TensorDataset(scores)"))


ALONE = """
import json


class Every:
    def after(self, params):
        for one in params:
            dist.all_reduce(one.grad)


class Other(Every):
    pass


KINDS = {"every": Every, "other": Other}


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 4))
    net = nn.Linear(4, 1)
    params = list(net.parameters())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    MADE
    for (rows,) in DataLoader(data, 4, sampler=DistributedSampler(data)):
        optimizer.zero_grad()
        net(rows).sum().backward()
        AVERAGED
        optimizer.step()


main()
"""


def test_an_average_by_an_object_of_a_registry_is_not_denied(tmp_path: Path) -> None:
    code = ALONE.replace("MADE", 'together = KINDS[json.load(open(os.environ["CONFIG"]))["kind"]]()')
    assert "PT235" not in found(tmp_path, code.replace("AVERAGED", "together.after(params)"))


def test_without_any_average_each_trains_alone(tmp_path: Path) -> None:
    assert "PT235" in found(tmp_path, ALONE.replace("MADE", "pass").replace("AVERAGED", "pass"))


SHARDED = """
class Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, ids):
        ctx.shape = weight.shape
        return weight[ids]

    @staticmethod
    def backward(ctx, grad):
        EXCHANGE
        return grad.new_zeros(ctx.shape), None


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 4))

    def forward(self, ids):
        return Lookup.apply(self.weight, ids)


def main():
    dist.init_process_group("gloo")
    table, tower = Table(), DDP(nn.Linear(4, 1))
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (table, tower)]
    data = TensorDataset(torch.randint(0, 16, (64,)))
    for (ids,) in DataLoader(data, 4, sampler=DistributedSampler(data)):
        for one in optimizers:
            one.zero_grad()
        tower(table(ids)).sum().backward()
        for one in optimizers:
            one.step()


main()
"""


def test_weights_whose_function_exchanges_gradients_are_not_trained_alone(tmp_path: Path) -> None:
    assert "PT296" not in found(tmp_path, SHARDED.replace("EXCHANGE", "dist.all_reduce(grad)"))


def test_weights_whose_function_does_not_are(tmp_path: Path) -> None:
    assert "PT296" in found(tmp_path, SHARDED.replace("EXCHANGE", "pass"))


KEYS = """
def suite(name):
    failures = [name] if float(torch.rand(1)) < 0.1 * (1 + dist.get_rank()) else []
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, failures)
    if any(everyone):
        return {"suite": name, "failed": sum(everyone, []), "own": failures}
    return {"suite": name, "own": failures}


def main():
    dist.init_process_group("gloo")
    report = []
    for name in ("clean", "noisy", "long"):
        report.append(suite(name))
        if TEST:
            break
    dist.barrier()


main()
"""


def test_a_key_of_a_row_is_asked_for_and_not_what_is_under_it(tmp_path: Path) -> None:
    assert "PT501" not in found(tmp_path, KEYS.replace("TEST", '"failed" in report[-1]'))


@pytest.mark.parametrize("test", ['report[-1]["own"]', "float(torch.rand(1)) + dist.get_rank() < 1.5"])
def test_what_is_each_ranks_own_parts_them(tmp_path: Path, test: str) -> None:
    assert found(tmp_path, KEYS.replace("TEST", test)) & {"PT501", "PT503", "PT504"}


UPDATED = """
def suite(name, data):
    scores = {"clean": Score(), "noisy": Score()}
    jitter = torch.Generator().manual_seed(dist.get_rank())
    for row in data:
        if float(torch.rand(1, generator=jitter)) < 0.5:
            continue
        CHANGE
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, len(data))
    return RETURNED


class Score:
    def __init__(self):
        self.sum = 0.0

    def update(self, row):
        self.sum += row

    def compute(self):
        return self.sum


def main():
    dist.init_process_group("gloo")
    report = []
    for name in ("clean", "noisy", "long"):
        report.append(suite(name, torch.rand(8)))
        if "failed" in report[-1]:
            break
    dist.barrier()


main()
"""


@pytest.mark.parametrize("returned", ["scores", "{**{key: one.compute() for key, one in scores.items()}}"])
def test_objects_under_keys_are_changed_and_the_keys_stay(tmp_path: Path, returned: str) -> None:
    assert "PT501" not in found(
        tmp_path,
        UPDATED.replace("CHANGE", "for one in scores.values():\n            one.update(row)").replace(
            "RETURNED", returned
        ),
    )


def test_a_key_that_some_ranks_add_parts_them(tmp_path: Path) -> None:
    drawn = "float(torch.rand(1, generator=jitter)) < 0.5"
    code = UPDATED.replace("for row in data:", f"if {drawn}:\n        scores['failed'] = Score()\n    for row in data:")
    code = code.replace("CHANGE", "pass").replace("RETURNED", "scores")
    assert found(tmp_path, code) & {"PT501", "PT503", "PT504"}


KEPT = """
def together(rows):
    sizes = [torch.zeros(1, dtype=torch.long) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, torch.tensor([len(rows)]))
    longest = max(int(size) for size in sizes)
    if longest == 0:
        return rows
    filled = rows.new_zeros(longest)
    filled[: len(rows)] = rows
    parts = [torch.empty_like(filled) for _ in sizes]
    dist.all_gather(parts, filled)
    return torch.cat([part[: int(size)] for part, size in zip(parts, sizes)])


class Mean:
    def __init__(self):
        self.rows, self.kept = [], None

    def update(self, row):
        self.rows.append(row)

    def reset(self):
        self.rows = []
        RESET

    def compute(self):
        if self.kept is None:
            rows = together(torch.cat(self.rows))
            self.kept = rows.mean().item() if len(rows) else 0.0
        return self.kept


def main():
    dist.init_process_group("gloo")
    mean = Mean()
    net = DDP(nn.Linear(4, 1))
    own = torch.rand(64, 4)[dist.get_rank() :: dist.get_world_size()]
    for epoch in range(4):
        net(own[:4]).sum().backward()
        mean.reset()
        for row in own:
            if float(row[0]) < 0.5:
                mean.update(row[:1])
        if mean.compute() > 0.9:
            break
        if VERDICT:
            break


main()
"""


def test_what_an_object_keeps_is_forgotten_in_each_turn_that_is_come_to(tmp_path: Path) -> None:
    assert not found(tmp_path, KEPT.replace("RESET", "self.kept = None").replace("VERDICT", "epoch == 7"))


def test_what_each_rank_keeps_of_its_own_parts_them(tmp_path: Path) -> None:
    code = KEPT.replace("RESET", "self.kept = None").replace("VERDICT", "float(torch.cat(mean.rows).sum()) > 3.0")
    assert found(tmp_path, code) & {"PT501", "PT503", "PT504"}
