"""Which expressions are the same on all ranks, and which differ and why."""

# ruff: noqa: E501 - the cases are programs on a line

from __future__ import annotations

import pytest

from distlint.checks.divergence import Divergence, DivergenceView
from distlint.checks.ranks import Process
from distlint.model import python as ir
from tests.conftest import MakeProject

HEAD = """
import argparse
import datetime
import math
import os
import queue
import random
import signal
import socket
import time
import uuid
from dataclasses import dataclass
from functools import partial
import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset, TensorDataset
from accelerate import Accelerator
from accelerate.utils import set_seed

"""

SITE = """
def make(seed):
    return random.Random(seed)
def site(s):
    rng = {made}
    return [rng.random() for _ in range(3)]
"""

OF_SITE = """
class Site:
    def __init__(self, seed):
        self.seed = seed
        self.rng = np.random.default_rng(seed)
    def draw(self):
        return self.rng.random()
"""

LOSS = """
def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    model = DDP(nn.Linear(4, 1))
    criterion = nn.MSELoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    best, bad, stop = float("inf"), 0, False
    start = time.time()
    for epoch in range(3):
        total = 0.0
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            total += loss.item()
            losses = [loss.item()]
"""


def asked(make_project: MakeProject, code: str, head: str = HEAD) -> Divergence:
    """The argument of ``probe`` in a script."""
    project = make_project({"train.py": head + code})
    site = project.sites("probe")[0].site
    argument: ir.Expr = site.call.args[0]
    return DivergenceView(project).of(argument, "train.py", site.function)


STREAM = """
class Stream(torch.utils.data.IterableDataset):
    def __init__(self, rank):
        self.rank = rank

    def __iter__(self):
        for i in range(N):
            if i % 2 != self.rank:
                continue
            yield torch.zeros(2)

"""

HOLDER = """
class Holder:
    def __init__(self):
"""

HELD = """
own = torch.ones(2) * dist.get_rank()
Holder().run(own, torch.ones(2))
"""

MEAN = """
def mean_of_all(x):
    dist.all_reduce(x)
    return x / dist.get_world_size()
"""

DIFFERENT = [
    # parts of what a function gives
    ("def h():\n    return dict(own=dist.get_rank(), over=True)\nprobe(h()['own'])", "the rank"),
    ("def h():\n    return {'own': dist.get_rank(), 'over': True}\nprobe(h()['own'])", "the rank"),
    # ranks
    # keys of mappings
    ("for k in {dist.get_rank(): 1}.keys():\n    probe(k)", "the rank"),
    ("d = {}\nd[dist.get_rank()] = 1\nfor k, v in d.items():\n    probe(k)", "the rank"),
    ("d = {}\nd['x'] = dist.get_rank()\nfor k, v in d.items():\n    probe(v)", "the rank"),
    ("d = {'x': 1}\nd.update({f'r{dist.get_rank()}': 1})\nfor k in d.keys():\n    probe(k)", "the rank"),
    ("d = {str(dist.get_rank() + i): i for i in range(3)}\nprobe(sorted(d.keys())[0])", "the rank"),
    ("out = [0] * 4\nout[1] = dist.get_rank()\nfor x in out:\n    probe(x)", "the rank"),
    ("def main():\n    out = []\n    out.append(dist.get_rank())\n    for x in out:\n        probe(x)", "the rank"),
    ("probe(dist.get_rank())", "the rank"),
    ("probe(dist.get_rank() == 0)", "the rank"),
    ("probe(dist.get_rank(group))", "the rank in a group"),
    ("probe(os.environ['RANK'])", "the rank"),
    ("probe(f(1) + dist.get_rank())", "the rank"),
    ("x = torch.tensor([dist.get_rank()])\nprobe(x.item() > 0)", "the rank"),
    ("x = torch.full((1,), float(dist.get_rank()))\nprobe(x.sum().item())", "the rank"),
    ("flag = torch.zeros(1)\nflag.fill_(dist.get_rank())\nprobe(flag.item())", "the rank"),
    ("flag = torch.zeros(1)\nif dist.get_rank() == 0:\n    flag += 1\nprobe(flag.item() == 1)", "the rank"),
    ("flag = torch.zeros(1)\nif dist.get_rank() == 0:\n    flag[0] = 1\nprobe(flag.item() == 1)", "the rank"),
    ("def worker(r):\n    probe(g(r) or r)\nmp.spawn(worker, nprocs=2)", "the rank"),
    (
        (
            "def worker(rank, n):\n    torch.manual_seed(rank)\n    x = torch.rand(1)\n    probe(x.item() > 0.5)\n"
            "mp.spawn(worker, args=(2,), nprocs=2)"
        ),
        "seed",
    ),
    ("acc = Accelerator()\nprobe(acc.process_index + h())", "the rank"),
    ("cfg = {'lr': 0.1, 'rank': dist.get_rank()}\nprobe(cfg['rank'])", "the rank"),
    (
        "class T:\n    def __init__(self):\n        self.x = torch.ones(1) * dist.get_rank()\n    def go(self):\n        probe(self.x.sum() > 0)",
        "the rank",
    ),
    # the clock
    ("start = time.time()\nprobe(time.time() - start > 5)", "the clock"),
    ("start = time.perf_counter()\nwork()\nelapsed = time.perf_counter() - start\nprobe(elapsed > 1.0)", "the clock"),
    ("deadline = time.monotonic() + 60\nprobe(time.monotonic() > deadline)", "the clock"),
    ("from time import time as now\nprobe(now() > 3)", "the clock"),
    ("start = datetime.datetime.now()\nprobe((datetime.datetime.now() - start).seconds > 5)", "the clock"),
    (
        (
            "class Timer:\n    def __init__(self, limit):\n        self.t0 = time.time()\n        self.limit = limit\n"
            "    def expired(self):\n        return time.time() - self.t0 > self.limit\nt = Timer(5)\nprobe(t.expired())"
        ),
        "the clock",
    ),
    (
        (
            "class Timer:\n    def __init__(self):\n        self.t0 = time.time()\n    @property\n    def over(self):\n"
            "        return time.time() - self.t0 > 5\nt = Timer()\nprobe(t.over)"
        ),
        "the clock",
    ),
    ("def over(limit):\n    return time.time() > limit\nprobe(over(3))", "the clock"),
    ("t0 = time.time()\ndef main():\n    probe(time.time() - t0 > 2)", "the clock"),
    (
        (
            "def main():\n    t0 = time.time()\n    stop = False\n    for i in range(10):\n        if time.time() - t0 > 5:\n"
            "            stop = True\n            break\n    probe(stop)"
        ),
        "the clock",
    ),
    (
        "def main():\n    t0 = time.time()\n    n = 0\n    while time.time() - t0 < 5:\n        n += 1\n    probe(n)",
        "the clock",
    ),
    ("over = lambda: time.time() > 10\nprobe(over())", "the clock"),
    ("x = 'late' if time.time() % 2 > 1 else 'early'\nprobe(x == 'late')", "the clock"),
    # random numbers
    ("probe(random.random() < 0.1)", "random"),
    ("probe(random.randint(0, 3) == 1)", "random"),
    ("probe(np.random.rand() < 0.5)", "random"),
    ("probe(torch.rand(1).item() < 0.5)", "random"),
    ("x = torch.randn(4)\nprobe(x.mean() > 0)", "random"),
    ("x = torch.randn(4, 4)\nprobe((x > 0).any())", "random"),
    ("random.seed(42 + dist.get_rank())\nprobe(random.random() < 0.1)", "seed"),
    ("torch.manual_seed(1234 + int(os.environ['RANK']))\nprobe(torch.rand(1).item() < 0.5)", "seed"),
    (
        (
            "def seed_all(seed):\n    random.seed(seed)\n    np.random.seed(seed)\n    torch.manual_seed(seed)\n"
            "seed_all(dist.get_rank())\nprobe(random.random() < 0.5)"
        ),
        "seed",
    ),
    ("torch.manual_seed(0)\nprobe(random.random() < 0.5)", "random"),
    ("torch.seed()\nprobe(np.random.rand())", "random"),
    ("set_seed(3, device_specific=True)\nprobe(random.random() < 0.1)", "seed"),
    ("rng = random.Random()\nprobe(rng.random() < 0.5)", "random"),
    ("rng = random.Random(dist.get_rank())\nprobe(rng.random() < 0.5)", "seed"),
    ("rng = np.random.default_rng(dist.get_rank())\nprobe(rng.random() < 0.5)", "seed"),
    ("g = torch.Generator()\ng.manual_seed(dist.get_rank())\nprobe(torch.rand(1, generator=g).item())", "seed"),
    (SITE.format(made="random.Random(s)") + "common = site(7)\nprobe(site(dist.get_rank()))", "seed"),
    (SITE.format(made="make(s)") + "common = site(7)\nprobe(site(dist.get_rank()))", "seed"),
    (SITE.format(made="make(s)") + "mine = site(7)\nprobe([site(s + dist.get_rank()) for s in (0, 1)])", "seed"),
    (OF_SITE + "common = Site(7).draw()\nmine = Site(dist.get_rank())\nprobe(mine.draw())", "seed"),
    (OF_SITE + "common = Site(7)\nmine = Site(dist.get_rank())\nprobe(mine.seed)", "rank"),
    ("def coin():\n    return random.random() < 0.5\nprobe(coin())", "random"),
    ("order = torch.randperm(8)\nprobe(order[0] == 0)", "random"),
    # the process and machine
    ("probe(os.getpid() % 2)", "process"),
    ("probe(socket.gethostname() == 'node0')", "process"),
    ("probe(uuid.uuid4().hex)", "random"),
    ("probe(hash('a') % 2)", "itself"),
    ("probe(torch.cuda.memory_allocated() > 10 ** 9)", "memory"),
    ("import psutil\nprobe(psutil.virtual_memory().percent > 90)", "process"),
    ("q = queue.Queue()\nprobe(q.empty())", "queue"),
    # data
    (LOSS + "            probe(loss.item() > 10)", "data"),
    (LOSS + "            probe(torch.isnan(loss))", "data"),
    (LOSS + "            probe(torch.isnan(loss).any().item())", "data"),
    (LOSS + "            probe(not torch.isfinite(loss))", "data"),
    (LOSS + "            probe(math.isnan(loss.item()))", "data"),
    (LOSS + "            probe(np.isnan(float(loss)))", "data"),
    (LOSS + "            probe(loss != loss)", "data"),
    (LOSS + "            value = loss.detach().cpu().numpy()\n            probe(value > 3)", "data"),
    (LOSS + "            probe(float(f'{loss.item():.3f}') > 3)", "data"),
    (LOSS + "            probe(x.abs().max() > 3)", "data"),
    (LOSS + "            probe(y.sum() == 0)", "data"),
    (LOSS + "            out = model(x)\n            probe(out.argmax(1).eq(y).sum() > 1)", "data"),
    (LOSS + "        probe(total / len(loader) < best)", "data"),
    (LOSS + "        avg = total / len(loader)\n        probe(avg > best)", "data"),
    (LOSS + "        probe(sum(losses) / len(losses) > 1)", "data"),
    (
        LOSS
        + "        if total < best:\n            best, bad = total, 0\n        else:\n            bad += 1\n        probe(bad >= 2)",
        "data",
    ),
    (LOSS + "        if total > best:\n            stop = True\n        probe(stop)", "data"),
    (LOSS + "        if total > best:\n            stop = True\n            break\n    probe(stop)", "data"),
    (LOSS + "        scores = []\n        scores.append(loss.item())\n        probe(np.mean(scores) > 1)", "data"),
    (LOSS + "        metrics = {'loss': total, 'epoch': epoch}\n        probe(metrics['loss'] > 1)", "data"),
    (LOSS + "        history = {}\n        history['loss'] = total\n        probe(history['loss'] > 1)", "data"),
    (LOSS + "            loss.backward()\n            probe((loss > 5).item())", "data"),
    (LOSS + "            bad_step = bool(torch.isnan(loss)) or loss.item() > 1e3\n            probe(bad_step)", "data"),
    (LOSS + "            nan = torch.isnan(loss)\n            skip = nan.item()\n            probe(skip)", "data"),
    (
        LOSS + "            flag = torch.tensor(1.0 if torch.isnan(loss) else 0.0)\n            probe(flag.item())",
        "data",
    ),
    (
        LOSS
        + "            loss_sum = loss.clone()\n            dist.reduce(loss_sum, dst=0)\n            probe(loss.item())",
        "data",
    ),
    (
        LOSS
        + "            red = loss.detach().clone()\n            dist.all_reduce(red)\n            probe(loss.item() > 1)",
        "data",
    ),
    (
        "class Stopper:\n    def __init__(self, patience):\n        self.patience, self.best, self.bad = patience, 1e9, 0\n"
        "    def step(self, value):\n        if value < self.best:\n            self.best, self.bad = value, 0\n"
        "        else:\n            self.bad += 1\n        return self.bad >= self.patience\n"
        + LOSS.replace("    start = time.time()", "    stopper = Stopper(2)")
        + "        probe(stopper.step(total))",
        "data",
    ),
    (
        "class Stopper:\n    def __init__(self):\n        self.best, self.stop = None, False\n"
        "    def __call__(self, value):\n        if self.best is None or value < self.best:\n            self.best = value\n"
        "        else:\n            self.stop = True\n"
        + LOSS.replace("    start = time.time()", "    stopper = Stopper()")
        + "        stopper(total)\n        probe(stopper.stop)",
        "data",
    ),
    (
        "def one_step(model, x, y, criterion):\n    return criterion(model(x), y)\n"
        + LOSS
        + "            value = one_step(model, x, y, criterion)\n            probe(value.item() > 3)",
        "data",
    ),
    (
        "def is_bad(value):\n    return math.isnan(value) or value > 100\n"
        + LOSS
        + "            probe(is_bad(loss.item()))",
        "data",
    ),
    (
        "def check(value):\n    if value > 100:\n        return True\n    return False\n"
        + LOSS
        + "            probe(check(loss.item()))",
        "data",
    ),
    ("def check(value):\n    probe(value > 100)\n" + LOSS + "            check(loss.item())", "data"),
    (
        "def epoch_loss(model, loader, criterion):\n    total, n = 0.0, 0\n    for x, y in loader:\n"
        "        total += criterion(model(x), y).item()\n        n += 1\n    return total / n\n"
        + LOSS
        + "        probe(epoch_loss(model, loader, criterion) > best)",
        "data",
    ),
    (
        "def evaluate(model, loader):\n    right = 0\n    for x, y in loader:\n        right += (model(x) > 0).sum().item()\n"
        "    return right, len(loader)\n"
        + LOSS
        + "        right, count = evaluate(model, loader)\n        probe(right / count > 0.9)",
        "data",
    ),
    (
        "class Trainer:\n    def __init__(self, model, loader):\n        self.model, self.loader = model, loader\n        self.loss = None\n"
        "    def run(self):\n        for x, y in self.loader:\n            self.loss = F.mse_loss(self.model(x), y)\n"
        "            probe(torch.isnan(self.loss))\n" + LOSS + "    Trainer(model, loader).run()",
        "data",
    ),
    (
        "class Meter:\n    def __init__(self):\n        self.sum, self.n = 0.0, 0\n    def update(self, v):\n        self.sum += v\n"
        "        self.n += 1\n    @property\n    def avg(self):\n        return self.sum / self.n\n"
        + LOSS.replace("    start = time.time()", "    meter = Meter()")
        + "            meter.update(loss.item())\n        probe(meter.avg > 3)",
        "data",
    ),
    (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(4, 1)\n"
        "    def forward(self, x):\n        return self.l(x)\n"
        + LOSS.replace("DDP(nn.Linear(4, 1))", "DDP(Net())")
        + "            probe(model(x).mean() > 0)",
        "data",
    ),
    ("rank = dist.get_rank()\ndata = list(range(10))\nshard = data[rank::2]\nprobe(shard[0] > 0)", "the rank"),
    (
        (
            "rank = dist.get_rank()\nds = Subset(TensorDataset(torch.ones(8, 1)), range(rank, 8, 2))\nloader = DataLoader(ds)\n"
            "for (x,) in loader:\n    probe(x.sum() > 3)"
        ),
        "the rank",
    ),
    (
        "ds = TensorDataset(torch.ones(8, 1))\nloader = DataLoader(ds, shuffle=True)\nfor (x,) in loader:\n    probe(x.sum() > 3)",
        "random",
    ),
    (
        (
            "acc = Accelerator()\nloader = DataLoader(TensorDataset(torch.ones(8, 1)), batch_size=2)\nloader = acc.prepare(loader)\n"
            "for (x,) in loader:\n    probe(x.sum() > 3)"
        ),
        "prepare",
    ),
    (
        (
            "acc = Accelerator()\nset_seed(0)\nmodel = nn.Linear(1, 1)\nopt = torch.optim.SGD(model.parameters(), 0.1)\n"
            "loader = DataLoader(TensorDataset(torch.ones(8, 1)), batch_size=2)\nmodel, opt, loader = acc.prepare(model, opt, loader)\n"
            "for (x,) in loader:\n    loss = model(x).mean()\n    probe(loss.item() > 3)"
        ),
        "prepare",
    ),
    (
        "import lightning as L\nclass M(L.LightningModule):\n    def training_step(self, batch, i):\n        probe(batch.sum() > 0)",
        "batch",
    ),
    # files
    ("rank = dist.get_rank()\nif rank == 0:\n    open('done', 'w').close()\nprobe(os.path.exists('done'))", "file"),
    (
        "from pathlib import Path\nmark = Path('done')\nif dist.get_rank() == 0:\n    mark.touch()\nprobe(mark.exists())",
        "file",
    ),
    ("path = f'ckpt_{dist.get_rank()}.pt'\nprobe(os.path.exists(path))", "the rank"),
    (
        (
            "def main(out):\n    for i in range(9):\n        if os.path.exists(os.path.join(out, 'stop')):\n            probe(os.path.exists(os.path.join(out, 'stop')))\n"
            "        if dist.get_rank() == 0 and i == 3:\n            open(os.path.join(out, 'stop'), 'w').close()"
        ),
        "file",
    ),
    # what an object holds, and is called
    (
        HOLDER + "        self.f = nn.L1Loss()\n    def run(self, x, y):\n        probe(self.f(x, y))\n" + HELD,
        "the rank",
    ),
    (HOLDER + "        self.f = F.l1_loss\n    def run(self, x, y):\n        probe(self.f(x, y))\n" + HELD, "the rank"),
    (
        HOLDER + "        self.f = partial(F.l1_loss)\n    def run(self, x, y):\n        probe(self.f(x, y))\n" + HELD,
        "the rank",
    ),
    (
        HOLDER + "        self.f = lambda a, b: a - b\n    def run(self, x, y):\n        probe(self.f(x, y))\n" + HELD,
        "the rank",
    ),
    # exceptions, signals
    (
        LOSS
        + "            try:\n                step(loss.item())\n                ok = True\n            except RuntimeError:\n"
        "                ok = False\n            probe(ok)",
        "exception",
    ),
    (
        LOSS + "            failed = False\n            try:\n                check(x)\n            except Exception:\n"
        "                failed = True\n            probe(failed)",
        "exception",
    ),
    (
        (
            "STOP = False\ndef handler(signum, frame):\n    global STOP\n    STOP = True\nsignal.signal(signal.SIGTERM, handler)\n"
            "def main():\n    probe(STOP)"
        ),
        "signal",
    ),
]


@pytest.mark.parametrize(("code", "why"), DIFFERENT)
def test_what_differs_is_shown_to(make_project: MakeProject, code: str, why: str) -> None:
    found = asked(make_project, code)
    assert found.state == "differs"
    assert why in found.why
    assert found.places


NOT_DIFFERENT = [
    # parts of what a function gives
    (
        "def h():\n    if g():\n        return dict(own=dist.get_rank(), over=True)\n    return dict(own=0, over=False)\nprobe(h()['over'])",
        None,
    ),
    (
        "from collections import namedtuple\nT = namedtuple('T', 'own over')\ndef h():\n    return T(dist.get_rank(), g())\ndef main():\n    x = h()\n    probe(x.over)",
        "unknown",
    ),
    # keys of mappings whose values differ
    ("for k, v in {'x': dist.get_rank()}.items():\n    probe(k)", "same"),
    ("d = {'x': dist.get_rank()}\nfor k in d:\n    probe(k)", "same"),
    ("d = {'x': dist.get_rank()}\nfor k in sorted(d.keys()):\n    probe(k)", "same"),
    ("d = dict(x=dist.get_rank())\nfor k in sorted(d):\n    probe(k)", "same"),
    ("d = {}\nd['x'] = dist.get_rank()\nfor i, k in enumerate(d):\n    probe(k)", "same"),
    ("d = {'x': 1, **{'y': dist.get_rank()}}\nfor k in d.keys():\n    probe(k)", "same"),
    ("d = {}\nfor name in ('x', 'y'):\n    d[name] = dist.get_rank()\nfor k in list(d):\n    probe(k)", "same"),
    (
        "from collections import defaultdict\nd = defaultdict(int)\nd['x'] += dist.get_rank()\nfor k in d:\n    probe(k)",
        "same",
    ),
    ("def h(d):\n    for k in d:\n        probe(k)\nh({'x': dist.get_rank()})", "same"),
    ("d = {k: dist.get_rank() for k in ('x', 'y')}\nfor k, v in d.items():\n    probe(k)", "same"),
    (
        "class T:\n    def __init__(self):\n        self.d = {'x': dist.get_rank()}\n    def go(self):\n        for k in self.d.keys():\n            probe(k)",
        None,
    ),
    (
        "def even(d):\n    if not dist.is_initialized():\n        return d\n    names = sorted(d.keys())\n    values = torch.stack([d[k] for k in names])\n    dist.all_reduce(values)\n    return {k: v for k, v in zip(names, values)}\nfound = {k: v.item() for k, v in even({'x': torch.ones(()) * dist.get_rank(), 'y': torch.ones(())}).items()}\nprobe(found['x'])",
        None,
    ),
    (
        "def even(d):\n    names, values = [], []\n    for k in sorted(d.keys()):\n        names.append(k)\n        values.append(d[k])\n    values = torch.stack(values)\n    dist.all_reduce(values)\n    return dict(zip(names, values))\nfound = even({'x': torch.ones(()) * dist.get_rank(), 'y': torch.ones(())})\nprobe(found['x'] > 0)",
        "same",
    ),
    # the same by what they are
    ("probe(3)", "same"),
    ("probe(dist.get_world_size() > 1)", "same"),
    ("probe(dist.is_initialized())", "same"),
    ("n = 4\nprobe(n > 2)", "same"),
    ("args = argparse.ArgumentParser().parse_args()\nprobe(args.epochs > 3)", "same"),
    ("args = argparse.ArgumentParser().parse_args()\ndef main():\n    probe(args.use_amp and args.lr > 0.1)", "same"),
    (LOSS + "        probe(epoch % 2 == 0)", "same"),
    (LOSS + "            probe(step % 10 == 0)", "same"),
    (LOSS + "        probe(epoch == 3 - 1)", "same"),
    ("steps = 0\nfor i in range(100):\n    steps += 1\n    probe(steps % 10 == 0)", "same"),
    ("@dataclass\nclass Cfg:\n    epochs: int = 3\ncfg = Cfg()\nprobe(cfg.epochs > 1)", "same"),
    ("CFG = {'epochs': 3}\ndef main():\n    probe(CFG['epochs'] > 1)", "same"),
    (LOSS + "        probe(len(loader) > 3)", "same"),
    (LOSS + "            probe(x.shape[0])", None),
    (LOSS + "            probe(x.size(0) < 4)", None),
    (LOSS + "            probe(loss.dtype == torch.float32)", "same"),
    (LOSS + "            probe(isinstance(loss, torch.Tensor))", "same"),
    (LOSS + "            probe(loss is None)", None),
    # seeded alike
    ("random.seed(0)\nprobe(random.random() < 0.1)", "same"),
    ("torch.manual_seed(1)\nprobe(torch.rand(1).item() < 0.5)", "same"),
    ("np.random.seed(1)\nprobe(np.random.rand() < 0.5)", "same"),
    ("set_seed(3)\nprobe(random.random() < 0.5)", "same"),
    ("set_seed(3, device_specific=False)\nprobe(random.random() < 0.5)", "same"),
    ("set_seed(3)\nprobe(random.random() < 0.5)\nset_seed(3, device_specific=True)", "unknown"),
    (
        "def seed_all(seed):\n    random.seed(seed)\n    torch.manual_seed(seed)\nseed_all(7)\nprobe(random.random())",
        "same",
    ),
    ("args = argparse.ArgumentParser().parse_args()\nrandom.seed(args.seed)\nprobe(random.random())", "same"),
    ("rng = random.Random(0)\nprobe(rng.random() < 0.5)", "same"),
    ("rng = np.random.default_rng(0)\nprobe(rng.random() < 0.5)", "same"),
    ("g = torch.Generator()\ng.manual_seed(0)\nprobe(torch.rand(1, generator=g).item())", "same"),
    ("g = torch.Generator().manual_seed(0)\nprobe(torch.rand(1, generator=g).item())", None),
    # a function that each rank calls with its own seed, and once more with one that all have
    (SITE.format(made="random.Random(s)") + "mine = site(dist.get_rank())\nprobe(site(7))", "same"),
    (SITE.format(made="make(s)") + "mine = site(dist.get_rank())\nprobe(site(7))", "same"),
    (SITE.format(made="make(s)") + "mine = site(dist.get_rank())\nprobe([site(s) for s in (0, 1)])", "same"),
    (OF_SITE + "mine = Site(dist.get_rank()).draw()\ncommon = Site(7)\nprobe(common.draw())", "same"),
    (OF_SITE + "mine = Site(dist.get_rank())\ncommon = Site(7)\nprobe(common.seed)", "same"),
    # the same again
    ("x = torch.tensor([dist.get_rank()])\ndist.all_reduce(x)\nprobe(x.item() > 0)", "same"),
    ("x = torch.tensor([dist.get_rank()])\ndist.broadcast(x, src=0)\nprobe(x.item() > 0)", "same"),
    ("x = [dist.get_rank()]\ndist.broadcast_object_list(x, src=0)\nprobe(x[0])", "same"),
    ("x = [None] * 2\ndist.all_gather_object(x, dist.get_rank())\nprobe(any(x))", "same"),
    (
        "x = [torch.zeros(1) for _ in range(2)]\ndist.all_gather(x, torch.ones(1) * dist.get_rank())\nprobe(max(x).item())",
        "same",
    ),
    (LOSS + "            dist.all_reduce(loss)\n            probe(loss.item() > 3)", "same"),
    (
        LOSS
        + "            t = torch.tensor(loss.item())\n            dist.all_reduce(t)\n            probe(t.item() > 3)",
        "same",
    ),
    (
        LOSS
        + "            t = loss.detach().clone()\n            dist.all_reduce(t, op=dist.ReduceOp.SUM)\n            t /= dist.get_world_size()\n"
        "            probe(t.item() > 3)",
        "same",
    ),
    (
        LOSS + "            flag = torch.isnan(loss).float()\n            dist.all_reduce(flag, op=dist.ReduceOp.MAX)\n"
        "            if flag.item() > 0:\n                skip = True\n            else:\n                skip = False\n            probe(skip)",
        "same",
    ),
    (
        LOSS + "            flag = torch.zeros(1)\n            if torch.isnan(loss):\n                flag += 1\n"
        "            dist.all_reduce(flag)\n            probe(flag.item() > 0)",
        "same",
    ),
    (
        LOSS
        + "        stop_t = torch.tensor(int(total > best))\n        dist.broadcast(stop_t, 0)\n        probe(bool(stop_t))",
        "same",
    ),
    (
        LOSS
        + "        obj = [total > best if dist.get_rank() == 0 else None]\n        dist.broadcast_object_list(obj, src=0)\n"
        "        probe(obj[0])",
        "same",
    ),
    (
        LOSS
        + "        stats = torch.tensor([total, 1.0])\n        dist.all_reduce(stats)\n        avg = stats[0] / stats[1]\n"
        "        probe(avg < best)",
        "same",
    ),
    (LOSS + "        for t in (loss, x):\n            dist.all_reduce(t)\n        probe(loss.item() > 2)", None),
    (
        LOSS
        + "            view = loss.detach()\n            dist.all_reduce(view)\n            probe(loss.item() > 1)",
        None,
    ),
    (LOSS + "            dist.all_reduce(loss.data)\n            probe(loss.data.item() > 1)", "same"),
    (
        LOSS
        + "            work = dist.all_reduce(loss, async_op=True)\n            work.wait()\n            probe(loss.item() > 1)",
        "same",
    ),
    (
        "def average(t):\n    dist.all_reduce(t)\n    return t / dist.get_world_size()\n"
        + LOSS
        + "            probe(average(loss.detach()).item() > 3)",
        "same",
    ),
    (
        "def average(t):\n    t = t.clone()\n    dist.all_reduce(t)\n    t /= dist.get_world_size()\n    return t\n"
        + LOSS
        + "            probe(average(loss) > 3)",
        "same",
    ),
    (
        "def average(value):\n    t = torch.tensor(value)\n    dist.all_reduce(t)\n    return t.item() / 2\n"
        + LOSS
        + "        probe(average(total) > 3)",
        "same",
    ),
    (
        "def average_(t):\n    dist.all_reduce(t)\n"
        + LOSS
        + "            average_(loss)\n            probe(loss.item() > 3)",
        "same",
    ),
    (
        "def average(t):\n    if not dist.is_initialized():\n        return t\n    dist.all_reduce(t)\n    return t\n"
        + LOSS
        + "            probe(average(loss).item() > 3)",
        "same",
    ),
    (
        "def average(t):\n    if dist.get_world_size() < 2:\n        return t\n    dist.all_reduce(t)\n    return t\n"
        + LOSS
        + "            probe(average(loss).item() > 3)",
        "same",
    ),
    (
        "def average(t, on):\n    if not on:\n        return t\n    dist.all_reduce(t)\n    return t\n"
        + LOSS
        + "            probe(average(loss, flag()).item() > 3)",
        None,
    ),
    (
        LOSS
        + "            if distributed():\n                dist.all_reduce(loss)\n            probe(loss.item() > 3)",
        None,
    ),
    (
        "class Meter:\n    def __init__(self):\n        self.sum = torch.zeros(1)\n    def update(self, v):\n        self.sum += v\n"
        "    def sync(self):\n        dist.all_reduce(self.sum)\n    def value(self):\n        return self.sum.item()\n"
        + LOSS.replace("    start = time.time()", "    meter = Meter()")
        + "            meter.update(loss.item())\n        meter.sync()\n        probe(meter.value() > 3)",
        None,
    ),
    (
        "class Meter:\n    def __init__(self):\n        self.total = 0.0\n    def update(self, v):\n        self.total += v\n"
        "    def reduced(self):\n        t = torch.tensor(self.total)\n        dist.all_reduce(t)\n        return t.item()\n"
        + LOSS.replace("    start = time.time()", "    meter = Meter()")
        + "            meter.update(loss.item())\n        probe(meter.reduced() > 3)",
        "same",
    ),
    (
        "class Stopper:\n    def __init__(self):\n        self.best, self.stop = 1e9, False\n"
        "    def step(self, value):\n        t = torch.tensor(value)\n        dist.all_reduce(t)\n        if t.item() > self.best:\n"
        "            self.stop = True\n        return self.stop\n"
        + LOSS.replace("    start = time.time()", "    stopper = Stopper()")
        + "        probe(stopper.step(total))",
        "same",
    ),
    (
        (
            "acc = Accelerator()\nloader = acc.prepare(DataLoader(TensorDataset(torch.ones(8, 1))))\nfor (x,) in loader:\n"
            "    probe(acc.gather(x).sum() > 3)"
        ),
        "same",
    ),
    (
        (
            "acc = Accelerator()\nloader = acc.prepare(DataLoader(TensorDataset(torch.ones(8, 1))))\nfor (x,) in loader:\n"
            "    loss = acc.reduce(x.mean(), reduction='mean')\n    probe(loss.item() > 3)"
        ),
        "same",
    ),
    # files that are waited for
    ("if dist.get_rank() == 0:\n    open('done', 'w').close()\ndist.barrier()\nprobe(os.path.exists('done'))", None),
    (
        "def sync():\n    dist.barrier()\nif dist.get_rank() == 0:\n    open('done', 'w').close()\nsync()\nprobe(os.path.exists('done'))",
        None,
    ),
    ("if dist.get_rank() == 0:\n    open('log', 'w').close()\nprobe(os.path.exists('done'))", None),
    ("open('done', 'w').close()\nprobe(os.path.exists('done'))", None),
    (
        "for i in range(9):\n    dist.barrier()\n    if os.path.exists('stop'):\n        probe(os.path.exists('stop'))\n    if dist.get_rank() == 0:\n        open('stop', 'w').close()",
        None,
    ),
    # what an object holds, and is called
    (HOLDER + "        self.f = make()\n    def run(self, x, y):\n        probe(self.f(x, y))\n" + HELD, "unknown"),
    (HOLDER + "        self.f = mean_of_all\n    def run(self, x, y):\n        probe(self.f(x))\n" + HELD + MEAN, None),
    (
        HOLDER
        + "        self.f = dist.all_reduce\n    def run(self, x, y):\n        self.f(x)\n        probe(x)\n"
        + HELD,
        None,
    ),
    (
        HOLDER
        + "        self.f = partial(dist.all_reduce, op=dist.ReduceOp.SUM)\n    def run(self, x, y):\n        self.f(x)\n        probe(x)\n"
        + HELD,
        None,
    ),
    # nobody knows
    ("probe(os.getppid() % 2)", "unknown"),
    ("probe(unknown())", "unknown"),
    ("from lib import thing\nprobe(thing.value)", "unknown"),
    ("def main(x):\n    probe(x > 1)", "unknown"),
    ("probe(os.path.exists('ckpt.pt'))", None),
    ("probe(os.environ.get('DEBUG') == '1')", "unknown"),
    (
        "ds = TensorDataset(torch.ones(8, 1))\nloader = DataLoader(ds)\nfor (x,) in loader:\n    probe(x.sum() > 3)",
        None,
    ),
    (
        (
            "torch.manual_seed(0)\nds = TensorDataset(torch.randn(8, 1))\nloader = DataLoader(ds, shuffle=True)\n"
            "for (x,) in loader:\n    probe(x.sum() > 3)"
        ),
        None,
    ),
    ("try:\n    import apex\n    HAS = True\nexcept ImportError:\n    HAS = False\ndef main():\n    probe(HAS)", None),
    ("x = 1\ndef f():\n    return f()\nprobe(f() > x)", None),
    ("a = b\nb = a\nprobe(a > 1)", None),
]


@pytest.mark.parametrize(("code", "state"), NOT_DIFFERENT)
def test_nothing_is_said_to_differ_that_may_be_the_same(
    make_project: MakeProject, code: str, state: str | None
) -> None:
    found = asked(make_project, code)
    assert found.state != "differs", found
    if state is not None:
        assert found.state == state


@pytest.mark.parametrize(
    ("code", "differs"),
    [
        ("n = 8 + dist.get_rank()\nprobe(range(n))", True),
        ("probe(range(8))", False),
        ("shard = list(range(11))[dist.get_rank()::2]\nprobe(shard)", True),
        ("shard = list(range(10))[dist.get_rank()::2]\nprobe(shard)", False),
        ("shard = list(range(11))[dist.get_rank()::2]\nprobe(DataLoader(shard, batch_size=4))", False),
        ("shard = list(range(11))[dist.get_rank()::2]\nprobe(enumerate(DataLoader(shard, batch_size=5)))", True),
        (LOSS + "        probe(loader)", False),
        (
            (
                "def batches(rank):\n    return [torch.zeros(2)] * (3 + rank)\ndef worker(rank):\n    probe(batches(rank))\n"
                "mp.spawn(worker, nprocs=2)"
            ),
            True,
        ),
        ("ds = TensorDataset(torch.zeros(8 + 4 * dist.get_rank(), 1))\nprobe(DataLoader(ds, batch_size=4))", True),
        ("torch.manual_seed(dist.get_rank())\nn = torch.randint(3, 9, (1,)).item()\nprobe(range(n))", True),
        ("n = random.randint(3, 9)\nprobe(range(n))", True),
        ("lines = load()\nprobe(lines)", False),
        (STREAM.replace("N", "9") + "probe(DataLoader(Stream(dist.get_rank()), batch_size=1))", True),
        (STREAM.replace("N", "8") + "probe(DataLoader(Stream(dist.get_rank()), batch_size=2))", False),
        (
            "class T:\n    def __init__(self):\n        self.n = range(random.randint(1, 9))\n    def go(self):\n        probe(self.n)",
            True,
        ),
        ("def train(steps):\n    probe(range(steps))\ntrain(random.randint(1, 9))", True),
        ("def gen(n):\n    for i in range(n):\n        yield i\nprobe(gen(random.randint(1, 9)))", True),
        ("def gen(n):\n    for i in range(n):\n        yield i\nprobe(gen(4))", False),
        ("def make():\n    return list(range(3 + dist.get_rank()))\nprobe(make())", True),
        ("def make():\n    n = random.randint(1, 4)\n    return range(n)\nprobe(make())", True),
        (LOSS + "            probe([v for v in x if v > 0])", True),
    ],
)
def test_the_number_of_rounds_is_compared(make_project: MakeProject, code: str, differs: bool) -> None:
    project = make_project({"train.py": HEAD + code})
    site = project.sites("probe")[0].site
    found = DivergenceView(project).length(site.call.args[0], "train.py", site.function)
    assert (found.state == "differs") is differs


def test_outcomes_are_given_for_each_process(make_project: MakeProject) -> None:
    project = make_project({"train.py": HEAD + "probe(dist.get_rank() == dist.get_world_size() - 1)"})
    site = project.sites("probe")[0].site
    view = DivergenceView(project)
    assert view.outcomes(site.call.args[0], "train.py", -1) == (False, True)
    assert view.outcomes(site.call.args[0], "train.py", -1, (Process(0, 0, world=3), Process(1, 1, world=3))) == (
        False,
        False,
    )


def test_answers_do_not_depend_on_what_was_asked_before(make_project: MakeProject) -> None:
    code = "def f(n):\n    a = b = n\n    while a < 9:\n        a, b = b, a + g(b)\n    probe(a)\n    probe(b)\ndef g(x):\n    return f(x) or x\n"
    code += "f(dist.get_rank())"
    project = make_project({"train.py": HEAD + code})
    sites = [site.site for site in project.sites("probe")]
    forwards, backwards = DivergenceView(project), DivergenceView(project)
    one = [forwards.of(site.call.args[0], "train.py", site.function) for site in sites]
    other = [backwards.of(site.call.args[0], "train.py", site.function) for site in reversed(sites)]
    assert [(found.state, found.why) for found in one] == [(found.state, found.why) for found in reversed(other)]


def test_a_long_chain_is_given_up_in_time(make_project: MakeProject) -> None:
    lines = ["x0 = dist.get_rank()"] + [f"x{n} = x{n - 1} + x{n - 1} * h(x{n - 1})" for n in range(1, 3000)]
    project = make_project({"train.py": HEAD + "\n".join(lines) + "\nprobe(x2999)"})
    site = project.sites("probe")[0].site
    assert DivergenceView(project).of(site.call.args[0], "train.py", -1).state == "unknown"
