"""Spellings of faults in data, scaling and figures that are unlike the fixtures: through objects, settings and helpers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import os
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, TensorDataset, Subset
from torch.utils.data.distributed import DistributedSampler
"""

BAD = {
    "lr twice kwargs": (
        {
            "main.py": HEAD
            + """
def optim_settings(base, world):
    return {"lr": base * world, "momentum": 0.9}
def main():
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    settings = optim_settings(0.1, world)
    settings["lr"] *= world
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), **settings)
    for i in range(3):
        opt.zero_grad()
        net(torch.randn(4, 4)).mean().backward()
        opt.step()
main()
""",
        },
        "PT257",
    ),
    "lr twice mutator": (
        {
            "main.py": """
import argparse
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from tools import adapt, optimizer_for
def main():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=0.1)
    args = p.parse_args()
    dist.init_process_group("gloo")
    adapt(args)
    net = DDP(torch.nn.Linear(4, 1))
    opt = optimizer_for(net, args)
    for i in range(3):
        opt.zero_grad()
        net(torch.randn(4, 4)).mean().backward()
        opt.step()
main()
""",
            "tools.py": """
import torch
import torch.distributed as dist
def adapt(args):
    args.world_size = dist.get_world_size()
    if args.world_size > 1:
        args.lr = args.lr * args.world_size
def optimizer_for(net, args):
    return torch.optim.AdamW(net.parameters(), lr=args.lr * dist.get_world_size())
""",
        },
        "PT257",
    ),
    "lr twice postinit": (
        {
            "main.py": HEAD
            + """
from dataclasses import dataclass

@dataclass
class Opts:
    lr: float = 0.1
    batch: int = 16
    def __post_init__(self):
        self.world = int(os.environ.get("WORLD_SIZE", "1"))
        self.lr *= self.world
class Runner:
    def __init__(self, opts):
        self.opts = opts
        self.net = DDP(torch.nn.Linear(4, 1))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=self.opts.lr * dist.get_world_size())
    def run(self):
        for i in range(3):
            self.opt.zero_grad()
            self.net(torch.randn(4, 4)).mean().backward()
            self.opt.step()
def main():
    dist.init_process_group("gloo")
    Runner(Opts(lr=0.2)).run()
main()
""",
        },
        "PT257",
    ),
    "lr twice argparse": (
        {
            "main.py": HEAD
            + """
import argparse

def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=0.1)
    a = p.parse_args()
    a.world_size = int(os.environ["WORLD_SIZE"])
    a.lr = a.lr * a.world_size
    return a
def main():
    args = parse()
    dist.init_process_group("gloo")
    net = DDP(torch.nn.Linear(4, 1))
    params = [{"params": net.parameters(), "lr": args.lr * args.world_size}]
    opt = torch.optim.SGD(params, lr=0.1)
    for i in range(3):
        opt.zero_grad()
        net(torch.randn(4, 4)).mean().backward()
        opt.step()
main()
""",
        },
        "PT257",
    ),
    "batch twice dict": (
        {
            "main.py": HEAD
            + """
def settings(total):
    world = dist.get_world_size()
    return {"batch_size": total // world, "drop_last": True}
def main():
    dist.init_process_group("gloo")
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
    kw = settings(16)
    kw["batch_size"] = kw["batch_size"] // dist.get_world_size()
    loader = DataLoader(ds, sampler=DistributedSampler(ds, shuffle=False), **kw)
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        opt.step()
main()
""",
        },
        "PT258",
    ),
    "gradtwice helper": (
        {
            "main.py": HEAD
            + """
def sync_gradients(model):
    world = dist.get_world_size()
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad.mul_(1.0 / world)
def main():
    dist.init_process_group("gloo")
    net = torch.nn.Linear(4, 1)
    torch.manual_seed(0)
    for p in net.parameters():
        dist.broadcast(p.data, 0)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(3):
        opt.zero_grad()
        loss = net(torch.randn(4, 4)).mean() / dist.get_world_size()
        loss.backward()
        sync_gradients(net)
        opt.step()
main()
""",
        },
        "PT256",
    ),
    "ddp manual": (
        {
            "main.py": HEAD
            + """
def sync(params):
    for p in params:
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
def main():
    dist.init_process_group("gloo")
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(3):
        opt.zero_grad()
        loss = net(torch.randn(4, 4)).mean()
        loss.backward()
        sync(net.parameters())
        opt.step()
main()
""",
        },
        "PT256",
    ),
    "partial epoch": (
        {
            "main.py": HEAD
            + """
from functools import partial

def main():
    dist.init_process_group("gloo")
    make = partial(DistributedSampler, shuffle=True, seed=4)
    loader_of = partial(DataLoader, batch_size=4, drop_last=True)
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
    sampler = make(ds)
    loader = loader_of(ds, sampler=sampler)
    for epoch in range(3):
        for x, y in loader:
            opt.zero_grad()
            F.mse_loss(net(x), y).backward()
            opt.step()
main()
""",
        },
        "PT202",
    ),
    "epoch kwargs sampler": (
        {
            "main.py": HEAD
            + """
SAMPLERS = {"distributed": DistributedSampler}
def build(cfg):
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
    kw = dict(batch_size=cfg["bs"], drop_last=True)
    if cfg["distributed"]:
        kw["sampler"] = SAMPLERS["distributed"](ds)
    else:
        kw["shuffle"] = True
    return DataLoader(ds, **kw)
def main():
    dist.init_process_group("gloo")
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    loader = build({"bs": 4, "distributed": True})
    for epoch in range(3):
        for x, y in loader:
            opt.zero_grad()
            F.mse_loss(net(x), y).backward()
            opt.step()
main()
""",
        },
        "PT202",
    ),
    "numpy perm": (
        {
            "main.py": """
import numpy as np, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, DistributedSampler, Subset

def holdout(n, part=0.25):
    order = np.random.permutation(n)
    cut = int(n * part)
    return order[cut:].tolist(), order[:cut].tolist()

def run():
    dist.init_process_group(backend="gloo")
    torch.manual_seed(3)
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
    tr, va = holdout(len(ds))
    train, val = Subset(ds, tr), Subset(ds, va)
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    sampler = DistributedSampler(train)
    loader = DataLoader(train, batch_size=4, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            ((net(x) - y) ** 2).mean().backward()
            opt.step()
run()
""",
        },
        "PT252",
    ),
    "rng perm": (
        {
            "main.py": HEAD
            + """
import numpy as np

def parts(n, rank, world):
    rng = np.random.default_rng()
    order = rng.permutation(n)
    return order[rank::world]
def run():
    dist.init_process_group(backend="gloo")
    torch.manual_seed(3)
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
    mine = Subset(ds, parts(len(ds), dist.get_rank(), dist.get_world_size()).tolist())
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in DataLoader(mine, batch_size=4):
        opt.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        opt.step()
run()
""",
        },
        "PT252",
    ),
    "pyrandom rankseed": (
        {
            "main.py": HEAD
            + """
import random

class Shards(Dataset):
    def __init__(self, rank, world, seed):
        names = list(range(32))
        random.Random(seed + rank).shuffle(names)
        self.names = names[rank::world]
    def __len__(self):
        return len(self.names)
    def __getitem__(self, i):
        return torch.full((4,), float(self.names[i])), torch.ones(1)
def run():
    dist.init_process_group(backend="gloo")
    ds = Shards(dist.get_rank(), dist.get_world_size(), 7)
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in DataLoader(ds, batch_size=4):
        opt.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        opt.step()
run()
""",
        },
        "PT252",
    ),
    "batchsampler": (
        {
            "main.py": """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, BatchSampler, RandomSampler
from functools import partial

make = partial(DataLoader, num_workers=0)

def run():
    dist.init_process_group(backend="gloo")
    torch.manual_seed(0)
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
    loader = make(ds, batch_sampler=BatchSampler(RandomSampler(ds), 4, True))
    for epoch in range(3):
        for x, y in loader:
            opt.zero_grad()
            ((net(x) - y) ** 2).mean().backward()
            opt.step()
run()
""",
        },
        "PT250",
    ),
    "iterable": (
        {
            "main.py": """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset

class Stream(IterableDataset):
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(start, self.n, step):
            yield torch.full((4,), float(i)), torch.ones(1)

def main():
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = DataLoader(Stream(64), batch_size=8, num_workers=2)
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    dist.destroy_process_group()
if __name__ == "__main__":
    main()
""",
        },
        "PT250",
    ),
    "manualddp nosamp": (
        {
            "main.py": """
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

def average(model):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()

def run():
    dist.init_process_group(backend="gloo")
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
    loader = DataLoader(ds, batch_size=4, shuffle=True)
    for epoch in range(3):
        for x, y in loader:
            opt.zero_grad()
            ((net(x) - y) ** 2).mean().backward()
            average(net)
            opt.step()
run()
""",
        },
        "PT250",
    ),
    "epoch rank0": (
        {
            "main.py": HEAD
            + """
def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, batch_size=4, sampler=sampler)
    for epoch in range(3):
        if rank == 0:
            print("epoch", epoch)
            sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            F.mse_loss(net(x), y).backward()
            opt.step()
main()
""",
        },
        "PT265",
    ),
    "cache all": (
        {
            "main.py": HEAD
            + """
import json

def tokenised(path):
    cache = path + ".cache"
    if os.path.exists(cache):
        with open(cache) as f:
            return json.load(f)
    rows = [[len(w) for w in line.split()] for line in open(path)]
    with open(cache, "w") as f:
        json.dump(rows, f)
    return rows
def main():
    dist.init_process_group("gloo")
    rows = tokenised("corpus.txt")
    dist.barrier()
    print(len(rows))
main()
""",
        },
        "PT271",
    ),
    "download all": (
        {
            "main.py": HEAD
            + """
import urllib.request, tarfile

class Corpus(Dataset):
    def __init__(self, root):
        path = os.path.join(root, "data.tar")
        if not os.path.exists(path):
            urllib.request.urlretrieve("http://example.org/data.tar", path)
            with tarfile.open(path) as tar:
                tar.extractall(root)
        self.rows = list(range(10))
    def __len__(self):
        return 10
    def __getitem__(self, i):
        return torch.ones(4)
def main():
    dist.init_process_group("gloo")
    os.makedirs("data", exist_ok=True)
    ds = Corpus("data")
    loader = DataLoader(ds, sampler=DistributedSampler(ds, shuffle=False))
main()
""",
        },
        "PT271",
    ),
    "written in a function whose decorator only counts": (
        {
            "main.py": HEAD
            + """
def counted(function):
    calls = []
    def inner(*args):
        if len(calls) < 10:
            calls.append(1)
        return function(*args)
    return inner
@counted
def write(values):
    torch.save(values, "out.pt")
def main():
    dist.init_process_group("gloo")
    write(torch.ones(3))
    dist.barrier()
main()
""",
        },
        "PT271",
    ),
}

GOOD = {
    "lr once kwargs": {
        "main.py": HEAD
        + """
def optim_settings(base, world):
    return {"lr": base * world, "momentum": 0.9}
def main():
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    settings = optim_settings(0.1, world)
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), **settings)
    for i in range(3):
        opt.zero_grad()
        net(torch.randn(4, 4)).mean().backward()
        opt.step()
main()
""",
    },
    "lr once mutator": {
        "main.py": """
import argparse
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from tools import adapt, optimizer_for
def main():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=0.1)
    args = p.parse_args()
    dist.init_process_group("gloo")
    adapt(args)
    net = DDP(torch.nn.Linear(4, 1))
    opt = optimizer_for(net, args)
    for i in range(3):
        opt.zero_grad()
        net(torch.randn(4, 4)).mean().backward()
        opt.step()
main()
""",
        "tools.py": """
import torch
import torch.distributed as dist
def adapt(args):
    args.world_size = dist.get_world_size()
    if args.world_size > 1:
        args.lr = args.lr * args.world_size
def optimizer_for(net, args):
    return torch.optim.AdamW(net.parameters(), lr=args.lr)
""",
    },
    "lr once": {
        "main.py": HEAD
        + """
import argparse

def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=0.1)
    a = p.parse_args()
    a.world_size = int(os.environ["WORLD_SIZE"])
    a.lr = a.lr * a.world_size
    return a
def main():
    args = parse()
    dist.init_process_group("gloo")
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=args.lr)
    for i in range(3):
        opt.zero_grad()
        net(torch.randn(4, 4)).mean().backward()
        opt.step()
main()
""",
    },
    "partial epoch": {
        "main.py": HEAD
        + """
from functools import partial

def main():
    dist.init_process_group("gloo")
    make = partial(DistributedSampler, shuffle=True, seed=4)
    loader_of = partial(DataLoader, batch_size=4, drop_last=True)
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
    sampler = make(ds)
    loader = loader_of(ds, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            F.mse_loss(net(x), y).backward()
            opt.step()
main()
""",
    },
    "rng perm": {
        "main.py": HEAD
        + """
import numpy as np

def parts(n, rank, world, seed=5):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    return order[rank::world]
def run():
    dist.init_process_group(backend="gloo")
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
    mine = Subset(ds, parts(len(ds), dist.get_rank(), dist.get_world_size()).tolist())
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in DataLoader(mine, batch_size=4):
        opt.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        opt.step()
run()
""",
    },
    "iterable": {
        "main.py": """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset

class Stream(IterableDataset):
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        workers, wid = (1, 0) if info is None else (info.num_workers, info.id)
        start = dist.get_rank() * workers + wid
        step = dist.get_world_size() * workers
        for i in range(start, self.n, step):
            yield torch.full((4,), float(i)), torch.ones(1)

def main():
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = DataLoader(Stream(64), batch_size=8)
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    dist.destroy_process_group()
if __name__ == "__main__":
    main()
""",
    },
    "metric nodivide": {
        "main.py": HEAD
        + """
def reduce_mean(t):
    t = t.clone()
    dist.all_reduce(t)
    return t / dist.get_world_size()
def main():
    dist.init_process_group("gloo")
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(3):
        opt.zero_grad()
        loss = net(torch.randn(4, 4)).mean()
        loss.backward()
        opt.step()
        avg = reduce_mean(loss.detach())
        if dist.get_rank() == 0:
            print(f"step {i} mean loss {avg.item():.4f}")
main()
""",
    },
    "epoch attr": {
        "main.py": HEAD
        + """
class Runner:
    def __init__(self):
        self.epoch = 0
        self.net = DDP(torch.nn.Linear(4, 1))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
        self.sampler = DistributedSampler(ds)
        self.loader = DataLoader(ds, batch_size=4, sampler=self.sampler)
    def one_epoch(self):
        self.sampler.set_epoch(self.epoch)
        for x, y in self.loader:
            self.opt.zero_grad()
            F.mse_loss(self.net(x), y).backward()
            self.opt.step()
        self.finish()
    def finish(self):
        self.epoch += 1
def main():
    dist.init_process_group("gloo")
    r = Runner()
    while r.epoch < 3:
        r.one_epoch()
main()
""",
    },
    "epoch endless": {
        "main.py": HEAD
        + """
def endless(loader, sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1

def main():
    dist.init_process_group("gloo")
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
    sampler = DistributedSampler(ds, seed=3)
    loader = DataLoader(ds, batch_size=4, sampler=sampler)
    stream = endless(loader, sampler)
    for step in range(20):
        x, y = next(stream)
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        opt.step()
main()
""",
    },
    "ckpt rank0": {
        "main.py": HEAD
        + """
def save(net, epoch, folder="."):
    if dist.get_rank() != 0:
        return
    torch.save({"net": net.state_dict(), "epoch": epoch}, os.path.join(folder, "last.pt"))
def main():
    dist.init_process_group("gloo")
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(2):
        opt.zero_grad()
        net(torch.randn(2, 4)).mean().backward()
        opt.step()
        save(net, epoch)
main()
""",
    },
    "unsharded eval": {
        "main.py": HEAD
        + """
def main():
    dist.init_process_group("gloo")
    net = torch.nn.Linear(4, 2)
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.zeros(16, dtype=torch.long))
    loader = DataLoader(ds, batch_size=4)
    correct = torch.zeros(1)
    for x, y in loader:
        correct += (net(x).argmax(1) == y).sum()
    if dist.get_rank() == 0:
        print("accuracy", correct.item() / len(ds))
main()
""",
    },
    "perm slice": {
        "main.py": """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def run():
    dist.init_process_group(backend="gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    xs = torch.arange(64.).view(16, 4)
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        g = torch.Generator()
        g.manual_seed(epoch)
        perm = torch.randperm(len(xs), generator=g)
        mine = perm[rank::world]
        for i in range(0, len(mine), 4):
            x = xs[mine[i:i + 4]]
            opt.zero_grad()
            net(x).mean().backward()
            opt.step()
run()
""",
    },
    "subset and sampler": {
        "main.py": """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, DistributedSampler, Subset

def shard(ds):
    idx = list(range(dist.get_rank(), len(ds), dist.get_world_size()))
    return Subset(ds, idx)

def run():
    dist.init_process_group(backend="gloo")
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    ds = shard(TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1)))
    loader = DataLoader(ds, batch_size=2, shuffle=True)
    for epoch in range(3):
        for x, y in loader:
            opt.zero_grad()
            ((net(x) - y) ** 2).mean().backward()
            opt.step()
run()
""",
    },
    "an evaluation whose items a helper hands on": {
        "main.py": HEAD
        + """
def items(ds):
    return (x for x in DataLoader(ds, batch_size=2, sampler=DistributedSampler(ds)))
def validate_pretraining(net, ds):
    net.eval()
    total = torch.zeros(1)
    for x, y in items(ds):
        total += F.mse_loss(net.module(x), y).item()
    dist.all_reduce(total)
    return total
def main():
    dist.init_process_group("gloo")
    net = DDP(torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    ds = TensorDataset(torch.arange(64.).view(16, 4), torch.ones(16, 1))
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, batch_size=2, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        net.train()
        for x, y in loader:
            opt.zero_grad()
            F.mse_loss(net(x), y).backward()
            opt.step()
        validate_pretraining(net, ds)
main()
""",
    },
    "the model of one rank judges, and has buffers perhaps": {
        "main.py": HEAD
        + """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 1)
        self.fast = hasattr(F, "scaled_dot_product_attention")
        if not self.fast:
            self.register_buffer("mask", torch.ones(4))
    def forward(self, x):
        return self.lin(x if self.fast else x * self.mask)
def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    net = DDP(Net())
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(4):
        if i % 2 == 0 and rank == 0:
            net.eval()
            with torch.no_grad():
                print("loss", net(torch.ones(2, 4)).mean().item())
            net.train()
        opt.zero_grad()
        net(torch.randn(4, 4)).mean().backward()
        opt.step()
main()
""",
    },
    "figure averaged by a helper around the call": {
        "main.py": HEAD
        + """
def mean_of_all(value):
    t = torch.tensor([value, 1.0])
    dist.all_reduce(t)
    return (t[0] / t[1]).item()
def evaluate(net, loader):
    net.eval()
    losses = []
    with torch.no_grad():
        for x, y in loader:
            losses.append(F.mse_loss(net(x), y).item())
    return sum(losses) / len(losses)
def main():
    dist.init_process_group("gloo")
    data = TensorDataset(torch.ones(16, 4), torch.ones(16, 1))
    loader = DataLoader(data, batch_size=2, sampler=DistributedSampler(data, shuffle=False))
    net = DDP(torch.nn.Linear(4, 1))
    best = float("inf")
    for epoch in range(3):
        loss = mean_of_all(evaluate(net.module, loader))
        if dist.get_rank() == 0 and loss < best:
            best = loss
            torch.save(net.module.state_dict(), "best.pt")
main()
""",
    },
    "written in a function whose decorator asks for the rank": {
        "main.py": HEAD
        + """
def guarded(function):
    def inner(*args):
        if dist.get_rank() == 0:
            return function(*args)
    return inner
@guarded
def write(values):
    torch.save(values, "out.pt")
def main():
    dist.init_process_group("gloo")
    write(torch.ones(3))
    dist.barrier()
main()
""",
    },
}


def found(files: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The codes of what is found in a project of some files."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    return [finding["code"] for finding in check()["findings"] if finding["severity"] != "note"]


@pytest.mark.parametrize("case", BAD, ids=str)
def test_a_fault_is_found_in_a_spelling_of_its_own(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, code = BAD[case]
    assert found(files, tmp_path, monkeypatch) == [code]


@pytest.mark.parametrize("case", GOOD, ids=str)
def test_what_is_right_in_the_same_spelling_is_left_alone(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not found(GOOD[case], tmp_path, monkeypatch)
