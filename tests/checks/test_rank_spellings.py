"""The spellings in which programs ask where a process stands, with what each of them is on two processes."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.checks.rank_values import UNKNOWN
from distlint.checks.ranks import FIRST, SECOND, Process, RankView
from distlint.model import python as ir
from tests.conftest import MakeProject

HEAD = """
import argparse
import functools
import math
import os
from dataclasses import dataclass
from functools import partial
from os import environ, getenv
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.multiprocessing
from torch.distributed import get_rank, get_world_size
from torch.distributed import get_rank as my_rank
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset, TensorDataset
from accelerate import Accelerator, PartialState
import deepspeed

"""

TWO = (Process(0, 0, world=2), Process(1, 1, world=2))


def values(make_project: MakeProject, code: str, processes: tuple[Process, ...] = (FIRST, SECOND)) -> tuple[Any, ...]:
    """The argument of ``probe`` in a script, as it is on some processes."""
    project = make_project({"train.py": HEAD + code})
    site = project.sites("probe")[0].site
    argument: ir.Expr = site.call.args[0]
    return tuple(RankView(project, process).ask(argument, "train.py", site.function) for process in processes)


RANKS = [
    "def init(args):\n    args.rank = int(os.environ['RANK'])\ndef main(args):\n    init(args)\n    probe(args.rank)",
    (
        "def setup(args):\n    args.process = dist.get_rank()\nargs = argparse.ArgumentParser().parse_args()\nsetup(args)\n"
        "def main():\n    probe(args.process)"
    ),
    (
        "def worker(gpu, ngpus, args):\n    args.rank = args.node_rank * ngpus + gpu\n    probe(args.rank)\n"
        "mp.spawn(worker, args=(2, args), nprocs=2)"
    ),
    "def hook(accelerator):\n    probe(accelerator.process_index)",
    "probe(get_rank())",
    "probe(my_rank())",
    "probe(torch.distributed.get_rank())",
    "probe(dist.get_rank(None))",
    "probe(dist.get_rank(group=None))",
    "probe(dist.get_rank(group=dist.group.WORLD))",
    "probe(dist.get_node_local_rank())",
    "probe(int(os.environ['RANK']))",
    "probe(int(os.environ.get('RANK', 0)))",
    "probe(int(os.environ.get('RANK', '-1')))",
    "probe(int(os.getenv('LOCAL_RANK', 0)))",
    "probe(int(environ['SLURM_PROCID']))",
    "probe(int(getenv('SLURM_LOCALID')))",
    "probe(int(os.environ['OMPI_COMM_WORLD_RANK']))",
    "probe(int(os.environ['OMPI_COMM_WORLD_LOCAL_RANK']))",
    "probe(int(os.environ['PMI_RANK']))",
    "probe(int(os.environ['MV2_COMM_WORLD_RANK']))",
    "probe(int(float(os.environ['RANK'])))",
    "def env_int(name, default=0):\n    return int(os.environ.get(name, default))\nprobe(env_int('RANK'))",
    "def env(name):\n    value = os.environ[name]\n    return int(value)\nprobe(env('LOCAL_RANK'))",
    "RANK = int(os.environ['RANK'])\ndef main():\n    probe(RANK)",
    "RANK = int(os.environ['RANK'])\nclass A:\n    def run(self):\n        probe(RANK)",
    "args = argparse.ArgumentParser().parse_args()\nprobe(args.local_rank)",
    "args, _ = argparse.ArgumentParser().parse_known_args()\nprobe(args.rank)",
    "args = argparse.ArgumentParser().parse_args()\nargs.rank = int(os.environ['RANK'])\nprobe(args.rank)",
    "args = argparse.ArgumentParser().parse_args()\nprobe(getattr(args, 'local_rank', -1))",
    "def main(args):\n    probe(args.local_rank)",
    "def main(cfg):\n    probe(cfg.rank)",
    "class T:\n    def __init__(self):\n        self.rank = dist.get_rank()\n    def go(self):\n        probe(self.rank)",
    (
        "class T:\n    def __init__(self, rank):\n        self.rank = rank\n    def go(self):\n        probe(self.rank)\n"
        "T(get_rank()).go()"
    ),
    "class T:\n    @property\n    def rank(self):\n        return dist.get_rank()\n    def go(self):\n        probe(self.rank)",
    "class T:\n    rank = int(os.environ['RANK'])\n    def go(self):\n        probe(self.rank)",
    "class T:\n    rank = int(os.environ['RANK'])\nprobe(T.rank)",
    "class T:\n    def __init__(self):\n        self.rank = dist.get_rank()\nt = T()\nprobe(t.rank)",
    "class T:\n    def rank(self):\n        return dist.get_rank()\nt = T()\nprobe(t.rank())",
    "class T:\n    @staticmethod\n    def rank():\n        return dist.get_rank()\nprobe(T.rank())",
    "class B:\n    def __init__(self):\n        self.rank = get_rank()\nclass T(B):\n    def go(self):\n        probe(self.rank)",
    "@dataclass\nclass Info:\n    rank: int\n    world: int\ninfo = Info(get_rank(), get_world_size())\nprobe(info.rank)",
    "@dataclass\nclass Info:\n    rank: int = 0\ninfo = Info(rank=get_rank())\ndef main():\n    probe(info.rank)",
    "@dataclass\nclass Info:\n    rank: int = int(os.environ['RANK'])\ninfo = Info()\nprobe(info.rank)",
    "def worker(rank, world):\n    probe(rank)\nmp.spawn(worker, args=(2,), nprocs=2)",
    "def worker(index):\n    probe(index)\ntorch.multiprocessing.spawn(worker, nprocs=2)",
    "def worker(i, world):\n    train(i)\ndef train(gpu):\n    probe(gpu)\nmp.spawn(worker, args=(2,), nprocs=2, join=True)",
    "def worker(i, world):\n    probe(i)\nmp.start_processes(worker, args=(2,), nprocs=2, start_method='fork')",
    "def worker(r, n):\n    probe(r)\nfor r in range(2):\n    p = mp.Process(target=worker, args=(r, 2))\n    p.start()",
    "def worker(r, n):\n    probe(r)\nps = [mp.Process(target=worker, args=(i, 2)) for i in range(2)]",
    (
        "def worker(rank):\n    probe(rank)\nif __name__ == '__main__':\n    ps = []\n    for k in range(4):\n"
        "        ps.append(mp.Process(target=worker, kwargs={'rank': k}))"
    ),
    "def worker(rank, size, fn):\n    fn(rank, size)\ndef run(rank, size):\n    probe(rank)",
    "accelerator = Accelerator()\nprobe(accelerator.process_index)",
    "accelerator = Accelerator()\nprobe(accelerator.local_process_index)",
    "state = PartialState()\nprobe(state.process_index)",
    "probe(PartialState().process_index)",
    "engine, _, _, _ = deepspeed.initialize(model=m)\nprobe(engine.global_rank)",
    "probe(deepspeed.comm.get_rank())",
    "rank, world = get_rank(), get_world_size()\nprobe(rank)",
    (
        "def setup():\n    dist.init_process_group('gloo')\n    return dist.get_rank(), dist.get_world_size()\n"
        "rank, world = setup()\nprobe(rank)"
    ),
    "info = {'rank': get_rank(), 'world': 2}\nprobe(info['rank'])",
    "info = {'rank': get_rank()}\nprobe(info.get('rank', 0))",
    "info = {}\ninfo['rank'] = get_rank()\nprobe(info['rank'])",
    "info = dict(rank=get_rank())\nprobe(info['rank'])",
    "info = [get_rank(), get_world_size()]\nprobe(info[0])",
    "rank_of = lambda: dist.get_rank()\nprobe(rank_of())",
    "rank_of = lambda: dist.get_rank()\ndef main():\n    probe(rank_of())",
    "rank_of = dist.get_rank\nprobe(rank_of())",
    "rank_of = partial(int, os.environ['RANK'])\nprobe(int(os.environ['RANK']))",
    "def go(rank=int(os.environ['RANK'])):\n    probe(rank)\ngo()",
    "def go(rank=None):\n    rank = dist.get_rank() if rank is None else rank\n    probe(rank)\ngo()",
    "def outer():\n    rank = dist.get_rank()\n    def inner():\n        probe(rank)\n    inner()",
    "if (rank := get_rank()) >= 0:\n    probe(rank)",
    "_RANK = None\ndef setup():\n    global _RANK\n    _RANK = dist.get_rank()\ndef main():\n    probe(_RANK)",
    "try:\n    rank = int(os.environ['RANK'])\nexcept KeyError:\n    rank = 0\nprobe(rank)",
    "rank = int(os.environ['RANK']) if 'RANK' in os.environ else 0\nprobe(rank)",
    "def safe():\n    if not (dist.is_available() and dist.is_initialized()):\n        return 0\n    return dist.get_rank()\nprobe(safe())",
    "def safe():\n    try:\n        return dist.get_rank()\n    except Exception:\n        return 0\nprobe(safe())",
    "if dist.is_initialized():\n    rank = dist.get_rank()\nelse:\n    rank = 0\nprobe(rank)",
    "rank = 0\nif dist.is_initialized():\n    rank = dist.get_rank()\nprobe(rank)",
    "from types import SimpleNamespace\nns = SimpleNamespace(rank=get_rank())\nprobe(ns.rank)",
    "def f(a, b):\n    return a\nprobe(f(get_rank(), 3))",
    "def f(*, r):\n    return r\nprobe(f(r=get_rank()))",
    "def pick(x):\n    return x\ng = partial(pick, get_rank())\nprobe(g())",
    "ranks = [get_rank()]\nprobe(ranks[-1])",
    "probe(max(0, get_rank()))",
    "probe(abs(get_rank()))",
    "probe(0 + dist.get_rank() * 1)",
    "probe(int(str(get_rank())))",
    "probe(int(f'{get_rank()}'))",
]


@pytest.mark.parametrize("code", RANKS)
def test_the_rank_is_known_on_each_process(make_project: MakeProject, code: str) -> None:
    assert values(make_project, code) == (0, 1)


MAIN = [
    "class C(object):\n    def on_log(self, args, state, control):\n        probe(state.is_world_process_zero)",
    "def save(trainer):\n    probe(trainer.is_world_process_zero())",
    "def save(trainer):\n    probe(trainer.is_global_zero)",
    "def save(model, is_main):\n    probe(is_main)",
    "accelerator = Accelerator()\nprobe(accelerator.is_main_process)",
    "accelerator = Accelerator()\nprobe(accelerator.is_local_main_process)",
    "class T:\n    def __init__(self):\n        self.acc = Accelerator()\n    def go(self):\n        probe(self.acc.is_main_process)",
    "def is_main():\n    return get_rank() == 0\nprobe(is_main())",
    "def is_main():\n    return not dist.is_initialized() or get_rank() == 0\nprobe(is_main())",
    "is_main = lambda: get_rank() == 0\nprobe(is_main())",
    "rank = get_rank()\nprobe(not rank)",
    "rank = get_rank()\nprobe(rank in (0,))",
    "rank = get_rank()\nprobe(rank in [0])",
    "rank = get_rank()\nprobe(rank not in {1, 2})",
    "rank = get_rank()\nprobe(rank % 2 == 0)",
    "rank = get_rank()\nprobe(bool(rank % 2 == 0))",
    "rank = get_rank()\nprobe(rank < 1)",
    "rank = get_rank()\nprobe(0 <= rank < 1)",
    "rank = get_rank()\nprobe(-1 < rank <= 0)",
    "rank = get_rank()\nprobe(rank & 1 == 0)",
    "rank = get_rank()\nprobe(not rank & 1)",
    "rank = get_rank()\nprobe({0: True}.get(rank, False))",
    "rank = get_rank()\nprobe({0: True, 1: False}[rank])",
    "rank = get_rank()\nprobe([True, False][rank])",
    "rank = get_rank()\nprobe(str(rank) == '0')",
    "rank = get_rank()\nprobe(f'rank{rank}' == 'rank0')",
    "probe(os.environ['RANK'] == '0')",
    "probe(os.environ.get('LOCAL_RANK', '0') == '0')",
    "probe(os.environ['RANK'].strip() == '0')",
    "rank = get_rank()\nprobe(True if rank == 0 else False)",
    "rank = get_rank()\nprobe(rank == 0 and True)",
    "rank = get_rank()\nprobe(rank in range(1))",
    "rank = get_rank()\nprobe(any(rank == r for r in [0]))",
    "rank = get_rank()\nprobe(all([rank == 0, True]))",
    "MASTER = 0\nprobe(get_rank() == MASTER)",
    "flag = False\nif get_rank() == 0:\n    flag = True\nprobe(flag)",
    "if get_rank() == 0:\n    flag = True\nelse:\n    flag = False\nprobe(flag)",
    "rank = get_rank()\nmatch rank:\n    case 0:\n        flag = True\n    case _:\n        flag = False\nprobe(flag)",
    (
        "class T:\n    def __init__(self, rank):\n        self.rank = rank\n        self.main = rank == 0\n    def go(self):\n"
        "        probe(self.main)\ndef worker(rank):\n    T(rank).go()\nmp.spawn(worker, nprocs=2)"
    ),
    (
        "class Env:\n    @property\n    def main(self):\n        return self._rank() == 0\n    def _rank(self):\n"
        "        return int(os.environ['RANK'])\nprobe(Env().main)"
    ),
    (
        "@dataclass\nclass Ctx:\n    rank: int\n    @property\n    def is_main(self):\n        return self.rank == 0\n"
        "ctx = Ctx(dist.get_rank())\nprobe(ctx.is_main)"
    ),
    "def check(rank, wanted):\n    return rank == wanted\nprobe(check(get_rank(), 0))",
    "is_rank = lambda wanted: get_rank() == wanted\nprobe(is_rank(0))",
    "probe(int(os.environ['RANK']) // 8 == 0 and int(os.environ['LOCAL_RANK']) == 0)",
    "probe(divmod(get_rank(), 2)[1] == 0)",
    "def ranks():\n    return [0]\nprobe(get_rank() in ranks())",
    "probe(get_rank() in list(range(0, 1)))",
    "probe(get_rank() ^ 1 == 1)",
    "from transformers import Trainer\ntrainer = Trainer(model=m)\nprobe(trainer.is_world_process_zero())",
    "from transformers import TrainingArguments\nargs = TrainingArguments('o')\nprobe(args.process_index == 0)",
    "import lightning as L\ntrainer = L.Trainer()\nprobe(trainer.is_global_zero)",
    "import lightning as L\nclass M(L.LightningModule):\n    def training_step(self, b, i):\n        probe(self.global_rank == 0)",
    "from colossalai.cluster import DistCoordinator\nc = DistCoordinator()\nprobe(c.is_master())",
]


@pytest.mark.parametrize("code", MAIN)
def test_a_test_for_the_first_process_holds_there_alone(make_project: MakeProject, code: str) -> None:
    first, second = values(make_project, code)
    assert (bool(first), bool(second)) == (True, False)


@pytest.mark.parametrize(
    ("code", "on_first", "on_second"),
    [
        ("probe(get_rank() == get_world_size() - 1)", False, True),
        ("accelerator = Accelerator()\nprobe(accelerator.is_last_process)", False, True),
        ("probe(len(range(10)[get_rank()::get_world_size()]))", 5, 5),
        ("probe(len(range(11)[get_rank()::get_world_size()]))", 6, 5),
        ("data = list(range(11))\nshard = data[get_rank()::2]\nprobe(len(shard))", 6, 5),
        ("n = 10 if get_rank() == 0 else 8\ndata = torch.randn(n, 4)\nprobe(len(TensorDataset(data)))", 10, 8),
        ("data = torch.randn(8 + get_rank(), 4)\nprobe(data.shape[0])", 8, 9),
        ("data = torch.randn(8 + get_rank(), 4)\nprobe(data.size(0))", 8, 9),
        ("data = torch.randn((4, 8 + get_rank()))\nprobe(data.shape[1])", 8, 9),
        (
            "ds = TensorDataset(torch.randn(16 + 4 * get_rank(), 2))\nloader = DataLoader(ds, batch_size=4)\nprobe(len(loader))",
            4,
            5,
        ),
        (
            (
                "ds = TensorDataset(torch.randn(11, 2))\nsub = Subset(ds, range(get_rank(), 11, 2))\n"
                "probe(len(DataLoader(sub, batch_size=2)))"
            ),
            3,
            3,
        ),
        (
            (
                "ds = TensorDataset(torch.randn(11, 2))\nsub = Subset(ds, range(get_rank(), 11, 2))\n"
                "probe(len(DataLoader(sub, batch_size=5)))"
            ),
            2,
            1,
        ),
        (
            (
                "ds = TensorDataset(torch.randn(11, 2))\nsub = Subset(ds, range(get_rank(), 11, 2))\n"
                "probe(len(DataLoader(sub, batch_size=5, drop_last=True)))"
            ),
            1,
            1,
        ),
        (
            (
                "ds = TensorDataset(torch.randn(11, 2))\nloader = DataLoader(ds, batch_size=2, sampler=DistributedSampler(ds))\n"
                "probe(len(loader))"
            ),
            3,
            3,
        ),
        (
            (
                "class D(Dataset):\n    def __init__(self, n):\n        self.n = n\n    def __len__(self):\n        return self.n\n"
                "ds = D(10 + get_rank())\nprobe(len(DataLoader(ds, batch_size=2)))"
            ),
            5,
            6,
        ),
        (
            (
                "class D(Dataset):\n    def __init__(self, rank):\n        self.items = list(range(9))[rank::2]\n"
                "    def __len__(self):\n        return len(self.items)\nprobe(len(D(get_rank())))"
            ),
            5,
            4,
        ),
        ("idx = [i for i in range(7) if i % 2 == get_rank()]\nprobe(len(idx))", 4, 3),
        ("probe(sum(1 for i in range(5) if i % get_world_size() == get_rank()))", 3, 2),
        ("probe(math.ceil((9 + get_rank() * 4) / 4))", 3, 4),
        ("def size(rank):\n    if rank == 0:\n        return 3\n    return 5\nprobe(size(get_rank()))", 3, 5),
        ("counts = {0: 4, 1: 6}\nprobe(range(counts[get_rank()]))", range(4), range(6)),
        ("counts = [4, 6]\nprobe(len(list(range(counts[get_rank()]))))", 4, 6),
        ("steps = 5\nif get_rank() == 1:\n    steps -= 1\nprobe(steps)", 5, 4),
        ("probe(len([0] * (3 + get_rank())))", 3, 4),
        ("a = []\na.append(get_rank())\nprobe(a[0])", 0, 1),
        ("data = [torch.zeros(2) for _ in range(3 + get_rank())]\nprobe(len(data))", 3, 4),
        (
            (
                "per = 11 // get_world_size()\nstart = get_rank() * per\nend = 11 if get_rank() == 1 else start + per\n"
                "probe(end - start)"
            ),
            5,
            6,
        ),
    ],
)
def test_numbers_that_depend_on_the_rank_are_worked_out(
    make_project: MakeProject, code: str, on_first: object, on_second: object
) -> None:
    assert values(make_project, code, TWO) == (on_first, on_second)


@pytest.mark.parametrize(
    "code",
    [
        "probe(dist.get_rank(group))",
        "group = dist.new_group([0])\nprobe(group.rank())",
        "rank = load()\nprobe(rank)",
        "for rank in range(dist.get_world_size()):\n    probe(rank)",
        "def f(rank):\n    probe(rank)\nfor r in range(4):\n    f(r)",
        "def f(rank):\n    probe(rank)\nf(g())",
        "lst = [0]\nlst[0] = h()\nprobe(lst[0])",
        "lst = [0, 1]\ndist.broadcast_object_list(lst)\nprobe(lst[0])",
        "lst = []\nfor i in things():\n    lst.append(i)\nprobe(len(lst))",
        "n = 0\nwhile go():\n    n += 1\nprobe(n)",
        "probe(model.rank)",
        "probe(2 ** 2 ** 2 ** 2 ** 2 ** 2)",
        "probe('a' * 10 ** 9)",
        "probe([0] * 10 ** 9)",
        "f = lambda: f()\nprobe(f())",
        "def f(n):\n    return f(n + 1)\nprobe(f(0))",
        "x = 1\nfor _ in range(9):\n    x = x * x * 1000003\nprobe(x)",
    ],
)
def test_what_is_not_the_process_own_rank_stays_unknown(make_project: MakeProject, code: str) -> None:
    assert values(make_project, code) == (UNKNOWN, UNKNOWN)


@pytest.mark.parametrize(
    ("body", "ranks"),
    [
        (
            "for name in names:\n        if name in os.environ:\n            return int(os.environ[name])\n    return 0",
            (0, 1),
        ),
        (
            "for name in names:\n        found = os.environ.get(name)\n        if found is not None:\n            return int(found)",
            (0, 1),
        ),
        (
            "for name in names:\n        if name not in os.environ:\n            continue\n        return int(os.environ[name])",
            (0, 1),
        ),
        (
            "for name in names:\n        if name in SKIPPED:\n            break\n        return int(os.environ[name])",
            None,
        ),
        ("for name in SKIPPED:\n        return int(os.environ[name])", None),
    ],
)
def test_the_first_variable_that_is_set(make_project: MakeProject, body: str, ranks: tuple[int, int] | None) -> None:
    code = (
        f'import os\nSKIPPED = os.listdir()\n\ndef first(*names):\n    {body}\n\nprint(first("RANK", "SLURM_PROCID"))\n'
    )
    project = make_project({"train.py": code})
    (site,) = project.module("train.py").calls["first"]
    found = tuple(RankView(project, one).ask(site.call, "train.py", -1) for one in (FIRST, SECOND))
    assert found == (ranks or (UNKNOWN, UNKNOWN))
