"""Frameworks in the rehearsal: data that is shared out, models and their gradients, and who meets whom."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.rehearsal.notes import GRADIENTS_BY_HAND
from distlint.rehearsal.performance import Performance, Rehearsal
from distlint.rehearsal.stage import Scope
from distlint.rehearsal.unknowns import Opaque, Source
from distlint.rehearsal.values import MAX_EITHER, Items, Tensor, signature, source_of
from tests.conftest import MakeProject

HEAD = """
import torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset, TensorDataset, random_split

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 2)
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x):
        return self.norm(self.lin(x))

class Rows(Dataset):
    def __init__(self):
        self.x = torch.randn(103, 4)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "y": i % 2}

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
"""
SHARE = "the part of the data that each rank gets"


def performed(make_project: MakeProject, code: str, head: str = HEAD) -> Performance:
    """A script, as its processes execute it."""
    project = make_project({"train.py": head + code})
    (performance,) = Rehearsal.of(project).performances()
    return performance


def variables(performance: Performance, name: str) -> list[Any]:
    """A variable of the script behind its last statement, on each process."""
    scopes: list[Scope] = [stage.modules["train.py"] for stage in performance.stages]
    return [scope.variables[name] for scope in scopes]


def why(value: Any) -> str:
    """Why a value differs between processes."""
    found = source_of([value])
    return found.why if isinstance(found, Source) else ""


def same(values: list[Any]) -> bool:
    """Whether a value is certainly the same on all processes."""
    signs = {signature(value) for value in values}
    return len(signs) == 1 and None not in signs


def events(performance: Performance) -> list[list[str]]:
    """The operations of each process."""
    return [[event.name for event in stage.events] for stage in performance.stages]


@pytest.mark.parametrize(
    ("loader", "length"),
    [
        ("DataLoader(Rows(), batch_size=10)", [11, 11]),
        ("DataLoader(Rows(), batch_size=10, drop_last=True)", [10, 10]),
        ("DataLoader(Rows(), batch_size=10, sampler=DistributedSampler(Rows()))", [6, 6]),
        ("DataLoader(Subset(Rows(), range(rank, 103, world)))", [52, 51]),
        ("DataLoader(random_split(Rows(), [100, 3])[1])", [3, 3]),
    ],
)
def test_loaders_have_a_length(make_project: MakeProject, loader: str, length: list[int]) -> None:
    performance = performed(make_project, f"found = len({loader})")
    assert variables(performance, "found") == length


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("DataLoader(Rows(), 10, sampler=DistributedSampler(Rows()))", SHARE),
        ("DataLoader(Subset(Rows(), range(rank, 103, world)), 10)", SHARE),
        ("DataLoader(Rows(), 10, shuffle=True)", "random numbers without a seed"),
        ("DataLoader(TensorDataset(torch.ones(20, 4)), 10)", ""),
    ],
)
def test_batches_tell_why_they_differ(make_project: MakeProject, data: str, reason: str) -> None:
    seed = "torch.manual_seed(1)\n" if "shuffle" not in data else ""
    code = f"{seed}for batch in {data}:\n    kept = batch\n    break\n"
    found = variables(performed(make_project, code), "kept")
    assert [why(value) for value in found] == [reason, reason]


def test_what_is_computed_of_a_batch_differs_as_the_batch_does(make_project: MakeProject) -> None:
    code = """
torch.manual_seed(0)
for batch in DataLoader(Rows(), 10, sampler=DistributedSampler(Rows()), drop_last=True):
    x = batch["x"]
    picked = x[batch["y"] == 1]
    size = picked.shape[0]
    loss = Net()(x).square().mean()
    total = 0.0
    total += loss.item()
    bad = torch.isnan(loss).any()
    numbers = x.argmax(dim=1).tolist()
    break
"""
    performance = performed(make_project, code)
    for name in ("x", "picked", "size", "loss", "total", "bad", "numbers"):
        assert why(variables(performance, name)[0]) == SHARE, name
    assert variables(performance, "x")[0].shape == (10, 4)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("torch.manual_seed(3)\nfound = torch.randn(3).sum().item()", ""),
        ("torch.manual_seed(rank)\nfound = torch.randn(3).sum().item()", "each rank's own seed"),
        ("g = torch.Generator()\ng.manual_seed(rank)\nfound = torch.rand(2, generator=g)", "each rank's own seed"),
        ("import random\nrandom.seed(7 + rank)\nfound = random.random() > 0.5", "each rank's own seed"),
        ("import numpy as np\nfound = np.random.default_rng(4).normal()", ""),
        ("found = torch.randn(3)", "random numbers without a seed"),
    ],
)
def test_random_numbers_differ_where_their_seeds_do(make_project: MakeProject, code: str, reason: str) -> None:
    found = variables(performed(make_project, code), "found")
    assert [why(value) for value in found] == [reason, reason]
    assert same(found) is not bool(reason)


@pytest.mark.parametrize(
    "code",
    [
        "dist.all_reduce(t)\nfound = t.item()",
        "dist.broadcast(t, 0)\nfound = float(t)",
        "rows = [torch.zeros(1), torch.zeros(1)]\ndist.all_gather(rows, t)\nfound = torch.cat(rows).mean()",
        "rows = [None, None]\ndist.all_gather_object(rows, t.item())\nfound = max(rows)",
        "row = [t.item()]\ndist.broadcast_object_list(row, 0)\nfound = row[0]",
    ],
)
def test_what_all_processes_get_is_the_same_again(make_project: MakeProject, code: str) -> None:
    found = variables(performed(make_project, f"t = torch.randn(1)\n{code}"), "found")
    assert same(found)
    assert why(found[0]) == ""


def test_what_is_reduced_to_one_process_differs(make_project: MakeProject) -> None:
    found = variables(performed(make_project, "t = torch.ones(1)\ndist.reduce(t, 0)\nfound = t.item()"), "found")
    assert why(found[0]) == "`reduce` leaves the result on one rank only"


WRAPPED = """
torch.manual_seed(rank)
model = DDP(Net())
loss = model(torch.randn(2, 4)).sum()
"""


def test_wrapped_models_meet_in_their_passes(make_project: MakeProject) -> None:
    performance = performed(make_project, f"{WRAPPED}(loss / 2).backward()")
    assert events(performance) == [["init_process_group", "DistributedDataParallel()", "forward", "backward"]] * 2


def test_losses_of_plain_models_meet_nobody(make_project: MakeProject) -> None:
    performance = performed(make_project, "Net()(torch.randn(2, 4)).sum().backward()")
    assert events(performance) == [["init_process_group"]] * 2


def test_gradients_are_kept_where_the_program_says_so(make_project: MakeProject) -> None:
    code = "model = DDP(nn.Linear(2, 2))\nwith model.no_sync():\n    model(torch.ones(1, 2)).sum().backward()\n"
    performance = performed(make_project, f"{code}model(torch.ones(1, 2)).sum().backward()")
    assert events(performance) == [["init_process_group", "DistributedDataParallel()", "backward"]] * 2


def test_gradients_behind_a_wrapper_are_the_same(make_project: MakeProject) -> None:
    code = f"{WRAPPED}loss.backward()\nfound = nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
    found = variables(performed(make_project, code), "found")
    assert same(found)
    assert why(found[0]) == ""


def test_gradients_of_a_plain_model_differ_with_the_data(make_project: MakeProject) -> None:
    code = "model = Net()\nmodel(torch.randn(2, 4)).sum().backward()\n"
    found = variables(performed(make_project, f"{code}for p in model.parameters():\n    g = p.grad\n    break"), "g")
    assert why(found[0]) == "random numbers without a seed"


def test_a_mesh_tells_places_and_groups(make_project: MakeProject) -> None:
    code = """
from torch.distributed.device_mesh import init_device_mesh
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
place = mesh.get_local_rank("tp")
dist.all_reduce(torch.ones(1), group=mesh.get_group("dp"))
dist.all_reduce(torch.ones(1), group=mesh["tp"].get_group())
"""
    performance = performed(make_project, code)
    assert variables(performance, "place") == [0, 1, 0, 1]
    rows = [[event.group.ranks for event in stage.events[2:] if event.group] for stage in performance.stages]
    assert rows == [[(0, 2), (0, 1)], [(1, 3), (0, 1)], [(0, 2), (2, 3)], [(1, 3), (2, 3)]]


@pytest.mark.parametrize(
    "grid",
    [
        "[[0, 1], [2, 3]]",
        "torch.arange(4).view(2, 2)",
        "torch.arange(dist.get_world_size()).reshape(2, -1)",
        "((0, 1), (2, 3))",
    ],
)
@pytest.mark.parametrize("module", ["torch.distributed.device_mesh", "torch.distributed.tensor"])
def test_a_mesh_of_ranks_that_are_named_has_groups(make_project: MakeProject, grid: str, module: str) -> None:
    code = f"""
from {module} import DeviceMesh, init_device_mesh
init_device_mesh("cpu", (4,))
mesh = DeviceMesh("cpu", {grid}, mesh_dim_names=("dp", "tp"))
first = mesh["dp"].mesh.tolist()[0]
dist.all_reduce(torch.ones(1), group=mesh.get_group("dp"))
dist.all_reduce(torch.ones(1), group=mesh.get_group(1))
"""
    performance = performed(make_project, code)
    assert variables(performance, "first") == [0, 1, 0, 1]
    rows = [[one.group.ranks for one in stage.events if one.group][-2:] for stage in performance.stages]
    assert rows == [[(0, 2), (0, 1)], [(1, 3), (0, 1)], [(0, 2), (2, 3)], [(1, 3), (2, 3)]]


@pytest.mark.parametrize("grid", ["[[0, 1], [2]]", "[[0, 0], [1, 1]]", "torch.randperm(4).view(2, 2)", "ranks"])
def test_a_mesh_of_other_ranks_is_not_known(make_project: MakeProject, grid: str) -> None:
    code = f"""
from torch.distributed.device_mesh import DeviceMesh
ranks = torch.load("ranks.pt")
mesh = DeviceMesh("cpu", {grid}, mesh_dim_names=("dp", "tp"))
group = mesh.get_group("dp")
"""
    assert all(isinstance(one, Opaque) for one in variables(performed(make_project, code), "group"))


def test_modules_that_are_sharded_in_place_meet_in_their_passes(make_project: MakeProject) -> None:
    code = "from torch.distributed.fsdp import fully_shard\nm = Net()\nfully_shard(m)\nm(torch.ones(2, 4)).sum().backward()"
    assert events(performed(make_project, code)) == [["init_process_group", "forward", "backward"]] * 2


ACCELERATE = """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator()
loader = DataLoader(TensorDataset(torch.zeros(64, 4)), batch_size=8)
model, loader = accelerator.prepare(torch.nn.Linear(4, 1), loader)
count = len(loader)
(x,) = next(iter(loader))
loss = model(x).mean()
"""


def test_accelerate_deals_batches_out(make_project: MakeProject) -> None:
    code = "\nwhole = accelerator.gather(loss)\naccelerator.backward(loss)\nrank = accelerator.process_index"
    performance = performed(make_project, code, ACCELERATE)
    assert variables(performance, "count") == [4, 4]
    assert variables(performance, "rank") == [0, 1]
    assert why(variables(performance, "loss")[0]) == "the batches that `prepare` gives each rank"
    whole = variables(performance, "whole")
    assert isinstance(whole[0], Tensor)
    assert whole[0].shape == (2,)
    assert same(whole)
    assert events(performance) == [["prepare", "gather (accelerate)", "backward"]] * 2


def test_the_main_process_comes_first(make_project: MakeProject) -> None:
    code = "\nwith accelerator.main_process_first():\n    accelerator.gather(loss)\n"
    performance = performed(make_project, code, ACCELERATE)
    assert [row[1:] for row in events(performance)] == [
        ["gather (accelerate)", "barrier"],
        ["barrier", "gather (accelerate)"],
    ]


def test_each_process_gets_a_part(make_project: MakeProject) -> None:
    code = "\nwith accelerator.split_between_processes([1, 2, 3]) as part:\n    size = len(part)\naccelerator.wait_for_everyone()"
    assert variables(performed(make_project, code, ACCELERATE), "size") == [2, 1]


def test_engines_with_parts_of_parameters_meet_in_every_pass(make_project: MakeProject) -> None:
    head = "import torch, deepspeed\nfrom torch import nn\ndeepspeed.init_distributed()\n"
    code = """
engine, *_ = deepspeed.initialize(model=nn.Linear(2, 2), config={"zero_optimization": {"stage": 3}})
loss = engine(torch.ones(1, 2)).sum()
engine.backward(loss)
engine.step()
"""
    expected = ["init_process_group", "deepspeed.initialize", "forward", "engine backward"]
    assert events(performed(make_project, code, head)) == [expected] * 2


def test_hooks_are_called_by_every_process(make_project: MakeProject) -> None:
    code = """
import torch, lightning as L

class Model(L.LightningModule):
    def training_step(self, batch, index):
        loss = self.net(batch).mean()
        if self.trainer.is_global_zero:
            self.all_gather(loss)
        return loss

L.Trainer().fit(Model(), [torch.ones(2)])
"""
    expected = [["Lightning fit", "module all_gather", "backward"], ["Lightning fit", "backward"]]
    assert events(performed(make_project, code, "")) == expected


def test_options_of_a_loader_that_are_not_known_leave_its_length_open(make_project: MakeProject) -> None:
    found = variables(performed(make_project, "found = len(DataLoader(Rows(), batch_size=int(input())))"), "found")
    assert isinstance(found[0], Opaque)
    assert why(found[0]) == ""


def test_processes_that_join_may_make_different_numbers_of_passes(make_project: MakeProject) -> None:
    code = """
from torch.distributed.algorithms.join import Join
model = DDP(nn.Linear(2, 2))
with Join([model]):
    for _ in range(2 + rank):
        model(torch.ones(1, 2)).sum().backward()
dist.barrier()
"""
    assert events(performed(make_project, code)) == [["init_process_group", "DistributedDataParallel()", "barrier"]] * 2


def test_streams_have_as_many_batches_as_they_yield(make_project: MakeProject) -> None:
    code = """
class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        for _ in range(20 + 10 * rank):
            yield torch.ones(3)

turns = 0
for batch in DataLoader(Stream(), batch_size=10):
    turns += 1
"""
    assert variables(performed(make_project, code), "turns") == [2, 3]


def test_bars_that_only_some_show_count_there_alone(make_project: MakeProject) -> None:
    code = "from tqdm import tqdm\nbar = tqdm(range(100), disable=rank != 0)\nbar.update(1)\nfound = bar.n % 10\n"
    found = variables(performed(make_project, code), "found")
    assert why(found[0]) == why(found[1]) == "`n` counts only where `disable` is not set"


def test_hooks_of_parameters_are_called_in_backward_passes(make_project: MakeProject) -> None:
    code = """
def summed(p):
    dist.all_reduce(p.grad, async_op=True)

model = nn.Linear(2, 2)
for p in model.parameters():
    p.register_post_accumulate_grad_hook(summed)
model(torch.ones(1, 2)).sum().backward()
"""
    # for two of the parameters: what the function keeps of the first is seen with the second
    assert events(performed(make_project, code)) == [["init_process_group", "all_reduce", "all_reduce"]] * 2


def test_what_is_logged_together_is_met(make_project: MakeProject) -> None:
    code = """
import torch, lightning as L

class Model(L.LightningModule):
    def training_step(self, batch, index):
        self.log("loss", batch.mean(), sync_dist=True)
        self.log("later", batch.mean(), sync_dist=True, on_step=False, on_epoch=True)

L.Trainer().fit(Model(), [torch.ones(2)])
"""
    assert events(performed(make_project, code, "")) == [["Lightning fit", *["log with sync_dist"] * 2]] * 2


@pytest.mark.parametrize(
    ("test", "many"),
    [
        ("self.trainer.is_global_zero", (1, 0)),
        ("self.global_rank > 0", (0, 1)),
        ("batch.mean() > 0", (0, 0)),  # any other batch may log it as well
        ("True", (1, 1)),
    ],
)
def test_what_an_evaluation_logs_is_met_once_it_is_over(
    make_project: MakeProject, test: str, many: tuple[int, int]
) -> None:
    code = f"""
import torch, lightning as L

class Model(L.LightningModule):
    def validation_step(self, batch, index):
        self.log("plain", batch.mean())
        if {test}:
            self.log("own", batch.mean(), rank_zero_only=True, sync_dist=True)
            self.log_dict({{"loss": batch.mean()}}, sync_dist=True)

L.Trainer().validate(Model(), [torch.ones(2)])
"""
    found = events(performed(make_project, code, ""))
    assert tuple(one.count("log with sync_dist") for one in found) == many


@pytest.mark.parametrize("grow", ["losses.append(loss)", "losses += some(loss)", "losses.extend(some(loss))"])
def test_lists_that_grow_tell_why_they_differ(make_project: MakeProject, grow: str) -> None:
    code = f"""
import math
some = math.frexp
losses = []
for batch in DataLoader(Rows(), 2, sampler=DistributedSampler(Rows())):
    loss = batch["x"].mean().item()
    {grow}
found = sum(losses) / len(losses)
"""
    assert why(variables(performed(make_project, code), "found")[0]) == SHARE


@pytest.mark.parametrize(
    "own",
    [
        "torch.cat([unseen(x), unseen(x)]).sum().item()",
        "torch.stack(unseen(x)).sum().item()",
        "(torch.cat([unseen(x)]) > 0).nonzero().numel()",
    ],
)
def test_what_is_put_together_of_own_parts_differs(make_project: MakeProject, own: str) -> None:
    code = f"""
from math import frexp as unseen
x = next(iter(DataLoader(Rows(), 2, sampler=DistributedSampler(Rows()))))["x"]
found = {own}
size = torch.cat([unseen(x)]).size(0)
"""
    performance = performed(make_project, code)
    assert why(variables(performance, "found")[0]) == SHARE
    assert not why(variables(performance, "size")[0])


@pytest.mark.parametrize(
    "sent",
    [
        "for p in model.parameters():\n    dist.broadcast(p.data, 0)",
        "for p in model.parameters():\n    dist.all_reduce(p.data)\n    p.data /= world",
        "for t in model.state_dict().values():\n    dist.broadcast(t, src=0)",
        "for name, p in model.named_parameters():\n    dist.broadcast(p, 0)",
    ],
)
def test_parameters_that_are_sent_are_the_same(make_project: MakeProject, sent: str) -> None:
    code = f"model = Net()\n{sent}\nfound = model(torch.ones(2, 4)).mean().item()"
    found = variables(performed(make_project, code), "found")
    assert why(found[0]) == ""


def test_gradients_that_are_averaged_are_the_same(make_project: MakeProject) -> None:
    code = """
model = Net()
model(torch.randn(2, 4)).sum().backward()
for p in model.parameters():
    dist.all_reduce(p.grad)
for p in model.parameters():
    found = p.grad
    break
"""
    assert why(variables(performed(make_project, code), "found")[0]) == ""


@pytest.mark.parametrize("seeding", ["import mylib\nmylib.seed_all(3)", "torch.set_rng_state(torch.load('x'))"])
def test_seeds_that_are_not_known_leave_random_numbers_open(make_project: MakeProject, seeding: str) -> None:
    found = variables(performed(make_project, f"{seeding}\nfound = torch.randn(3)"), "found")
    assert why(found[0]) == ""
    assert not same(found)


def test_parameters_are_named_in_the_order_of_the_modules(make_project: MakeProject) -> None:
    code = """
body = nn.Linear(4, 2)
net = nn.ModuleDict({"body": body, "norm": nn.BatchNorm1d(2), "again": body})
names = [name for name, _ in net.named_parameters()]
"""
    (names, _) = variables(performed(make_project, code), "names")
    assert [one.text for one in names.items] == ["body.weight", "body.bias", "norm.weight", "norm.bias"]


def test_what_is_put_into_one_of_many_lists_is_put_into_each_or_forgotten() -> None:
    few, many = [Items([0]) for _ in range(3)], [Items([0]) for _ in range(MAX_EITHER + 1)]
    for lists in (few, many):
        lists[0].may_be(lists)
        lists[0].received(1)
    assert all(one.items is None for one in few[1:]), "one of them has one item more"
    assert all(one.items is None for one in many)
    assert not many[0].either, "what it costs stays bounded"


def test_numbers_by_the_characters_of_a_text_make_a_tensor_of_known_length(make_project: MakeProject) -> None:
    code = (
        'text = "abcde " * 200\nnumbers = {one: at for at, one in enumerate(sorted(set(text)))}\n'
        "count = len(numbers)\nids = torch.tensor([numbers[one] for one in text])"
    )
    performance = performed(make_project, code)
    ids = variables(performance, "ids")[0]
    assert isinstance(ids, Tensor)
    assert (variables(performance, "count"), ids.shape, ids.dtype) == ([6, 6], (1200,), "int64")


UNSYNCED = "gradients left on their rank"


@pytest.mark.parametrize(
    ("around", "faults"),
    [
        ("accelerator.no_sync(model)", [UNSYNCED]),
        ("contextlib.nullcontext()", []),
        ("accelerator.accumulate(model)", []),
        ("accelerator.no_sync(other)", []),
    ],
)
def test_gradients_that_a_library_leaves_on_their_rank_are_seen(
    make_project: MakeProject, around: str, faults: list[str]
) -> None:
    code = f"""
import contextlib
inner = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(inner.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(inner, optimizer)
other = accelerator.prepare(torch.nn.Linear(4, 1))
with {around}:
    accelerator.backward(model(x).mean())
optimizer.step()
"""
    performance = performed(make_project, code, ACCELERATE)
    assert [fault.kind for fault in performance.stages[0].faults] == faults
    meets = [] if faults or "no_sync" in around else ["backward"]
    assert [row[3:] for row in events(performance)] == [meets, meets]


def test_gradients_brought_together_by_a_library_are_averaged_by_hand(make_project: MakeProject) -> None:
    code = "\nloss.backward()\nwhole = accelerator.reduce([p.grad for p in model.parameters()])"
    assert performed(make_project, code, ACCELERATE).stages[0].kept.get(GRADIENTS_BY_HAND) is True
    assert (
        not performed(make_project, "\nwhole = accelerator.reduce(loss)", ACCELERATE)
        .stages[0]
        .kept.get(GRADIENTS_BY_HAND)
    )


@pytest.mark.parametrize(
    ("file", "text", "faults"),
    [
        ("accelerate.yaml", "distributed_type: FSDP\nfsdp_config: {}\n", []),
        ("run.sh", "accelerate launch --use_deepspeed train.py\n", []),
        ("accelerate.yaml", "distributed_type: MULTI_GPU\n", [UNSYNCED]),
    ],
)
def test_models_that_a_configuration_may_part_are_no_copies(
    make_project: MakeProject, file: str, text: str, faults: list[str]
) -> None:
    code = """
inner = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(inner.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(inner, optimizer)
with accelerator.no_sync(model):
    accelerator.backward(model(x).mean())
optimizer.step()
"""
    project = make_project({"train.py": ACCELERATE + code, file: text})
    (performance,) = Rehearsal.of(project).performances()
    assert [fault.kind for fault in performance.stages[0].faults] == faults


def test_a_loss_of_either_way_through_a_model_is_one_of_that_model(make_project: MakeProject) -> None:
    code = """
m = DDP(Net())
def loss_of(rows):
    if rows is None:
        return m(torch.zeros(2, 4)).sum() * 0.0
    return m(rows).mean()
loss_of(unseen()).backward()
"""
    assert [row[-1] for row in events(performed(make_project, code, f"from elsewhere import unseen\n{HEAD}"))] == [
        "backward"
    ] * 2


@pytest.mark.parametrize(
    ("one", "other", "known"),
    [
        ("Net(2)", "Net(2)", True),
        ("nn.SyncBatchNorm.convert_sync_batchnorm(Net(2))", "Net(2)", True),
        ("Net(2)", "Net(3)", False),  # which of the two it is matters
        ("first", "Net(2)", False),  # it may be one that something else holds as well
    ],
)
def test_new_objects_of_either_way_are_one_if_they_are_alike(
    make_project: MakeProject, one: str, other: str, known: bool
) -> None:
    code = f"""
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.layer = nn.Linear(width, 2)

first = Net(2)
net = {one} if torch.cuda.is_available() else {other}
found = isinstance(net, Net) and net.width == 2
"""
    found = variables(performed(make_project, code), "found")
    assert (found == [True, True]) is known
