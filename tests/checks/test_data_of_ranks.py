"""Data, orders, schedules and paths of each rank: programs in spellings unlike the fixtures, wrong ones and right ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

BAD = {
    "PT202 callback": (
        """\
import os, random
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, IterableDataset, Dataset, get_worker_info
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, x.sum(1, keepdim=True))

def step(model, opt, x, y):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss


class Callback:
    def on_epoch_start(self, runner): pass
    def on_epoch_end(self, runner): pass

class SamplerSeed(Callback):
    def on_epoch_start(self, runner):
        runner.val_loader.sampler.set_epoch(runner.epoch)

class Runner:
    def __init__(self, model, train_loader, val_loader, callbacks):
        self.model, self.train_loader, self.val_loader = model, train_loader, val_loader
        self.callbacks = callbacks
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
        self.epoch = 0
    def call(self, name):
        for cb in self.callbacks:
            getattr(cb, name)(self)
    def fit(self, epochs):
        for self.epoch in range(epochs):
            self.call("on_epoch_start")
            for x, y in self.train_loader:
                step(self.model, self.opt, x, y)
            self.call("on_epoch_end")

def main():
    dist.init_process_group("gloo")
    train, val = data(), data(16)
    tl = DataLoader(train, batch_size=4, sampler=DistributedSampler(train))
    vl = DataLoader(val, batch_size=4, sampler=DistributedSampler(val, shuffle=False))
    runner = Runner(DDP(nn.Linear(8, 1)), tl, vl, [SamplerSeed()])
    runner.fit(3)
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT202",
    ),
    "PT202 resume if": (
        """\
import os, random
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, IterableDataset, Dataset, get_worker_info
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, x.sum(1, keepdim=True))

def step(model, opt, x, y):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss


def main():
    dist.init_process_group("gloo")
    train = data()
    sampler = DistributedSampler(train, shuffle=True)
    loader = DataLoader(train, batch_size=4, sampler=sampler)
    model = DDP(nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    start_epoch = int(os.environ.get("START_EPOCH", "0"))
    resumed = start_epoch > 0
    for epoch in range(start_epoch, 4):
        if resumed and epoch == start_epoch:
            sampler.set_epoch(epoch)
        for x, y in loader:
            step(model, opt, x, y)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT202",
    ),
    "PT202 valsampler": (
        """\
import os, random
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, IterableDataset, Dataset, get_worker_info
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, x.sum(1, keepdim=True))

def step(model, opt, x, y):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss


def build(ds, shuffle):
    sampler = DistributedSampler(ds, shuffle=shuffle)
    return DataLoader(ds, batch_size=4, sampler=sampler), sampler

def train_epoch(model, opt, loader):
    for x, y in loader:
        step(model, opt, x, y)

def main():
    dist.init_process_group("gloo")
    train_loader, train_sampler = build(data(), True)
    val_loader, val_sampler = build(data(16), False)
    model = DDP(nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        val_sampler.set_epoch(epoch)
        train_epoch(model, opt, train_loader)
        with torch.no_grad():
            for x, y in val_loader:
                model.module(x)
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT202",
    ),
    "PT202 runner lambda": (
        """\
import os, random
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, IterableDataset, Dataset, get_worker_info
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, x.sum(1, keepdim=True))

def step(model, opt, x, y):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss


class Hooks:
    def __init__(self):
        self.table = {"before_epoch": [], "after_epoch": []}
    def on(self, name, fn):
        self.table[name].append(fn)
    def fire(self, name, *args):
        for fn in self.table[name]:
            fn(*args)

def run(model, loader, hooks, epochs):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(epochs):
        hooks.fire("before_epoch", epoch)
        for x, y in loader:
            step(model, opt, x, y)
        hooks.fire("after_epoch", epoch)

def main():
    dist.init_process_group("gloo")
    ds = data()
    sampler = DistributedSampler(ds, seed=3)
    loader = DataLoader(ds, batch_size=4, sampler=sampler)
    hooks = Hooks()
    hooks.on("before_epoch", lambda epoch: sampler.set_epoch(0))
    run(DDP(nn.Linear(8, 1)), loader, hooks, 3)
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT202",
    ),
    "PT299 workers islice": (
        """\
import os, random
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, IterableDataset, Dataset, get_worker_info
from torch.utils.data.distributed import DistributedSampler

def step(model, opt, x, y):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss


def rows(n=64):
    g = torch.Generator().manual_seed(0)
    for i in range(n):
        x = torch.randn(8, generator=g)
        yield x, x.sum().view(1)


from itertools import islice
class Stream(IterableDataset):
    def __init__(self, rank, world):
        super().__init__()
        self.rank, self.world = rank, world
    def __iter__(self):
        return islice(rows(), self.rank, None, self.world)

def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DDP(nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Stream(dist.get_rank(), dist.get_world_size()), batch_size=4, num_workers=2)
    for epoch in range(2):
        for x, y in loader:
            step(model, opt, x, y)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT299",
    ),
    "PT535 np unseeded": (
        """\
import os, random, time, uuid, tempfile, secrets
from datetime import datetime
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, (x.sum(1) > 0).long())


from pathlib import Path
def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    out = f"runs/{np.random.randint(10**6)}"
    model = DDP(nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(3):
        opt.zero_grad()
        model(torch.randn(4, 8)).mean().backward()
        opt.step()
    if rank == 0:
        os.makedirs(out, exist_ok=True)
        torch.save(model.module.state_dict(), os.path.join(out, "model.pt"))
    dist.barrier()
    state = torch.load(os.path.join(out, "model.pt"), map_location="cpu")
    model.module.load_state_dict(state)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT535",
    ),
    "PT535 class": (
        """\
import os, time
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

class Trainer:
    def __init__(self, model):
        self.model = DDP(model)
        self.rank = dist.get_rank()
        self.workdir = os.path.join("work", f"exp_{time.time_ns()}")
        if self.rank == 0:
            os.makedirs(self.workdir, exist_ok=True)
        dist.barrier()
    def save(self):
        if self.rank == 0:
            torch.save(self.model.module.state_dict(), os.path.join(self.workdir, "last.pt"))
        dist.barrier()
    def restore(self):
        state = torch.load(os.path.join(self.workdir, "last.pt"), map_location="cpu")
        self.model.module.load_state_dict(state)

def main():
    dist.init_process_group("gloo")
    t = Trainer(nn.Linear(8, 2))
    t.save()
    t.restore()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT535",
    ),
    "HF221 split batches": (
        """\
import os, random, time, uuid, tempfile, secrets
from datetime import datetime
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, (x.sum(1) > 0).long())


from accelerate import Accelerator
def main():
    accelerator = Accelerator(split_batches=True)
    model = nn.Linear(8, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(data(), batch_size=4, shuffle=True)
    epochs = 2
    total = len(loader) * epochs * accelerator.num_processes
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.0, 1 - s / total))
    model, opt, loader, sched = accelerator.prepare(model, opt, loader, sched)
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            opt.step()
            sched.step()
            opt.zero_grad()
    accelerator.end_training()

if __name__ == "__main__":
    main()
""",
        "HF221",
    ),
    "HF221 divided unprepared": (
        """\
import os, random, time, uuid, tempfile, secrets
from datetime import datetime
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, (x.sum(1) > 0).long())


from accelerate import Accelerator
def main():
    accelerator = Accelerator()
    model = nn.Linear(8, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(data(), batch_size=4, shuffle=True)
    epochs = 2
    total = len(loader) // accelerator.num_processes * epochs
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.0, 1 - s / total))
    model, opt, loader, sched = accelerator.prepare(model, opt, loader, sched)
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            opt.step()
            sched.step()
            opt.zero_grad()
    accelerator.end_training()

if __name__ == "__main__":
    main()
""",
        "HF221",
    ),
    "HF221 onecycle": (
        """\
import os, random, time, uuid, tempfile, secrets
from datetime import datetime
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, (x.sum(1) > 0).long())


from accelerate import Accelerator
def main():
    accelerator = Accelerator()
    model = nn.Linear(8, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(data(), batch_size=4, shuffle=True)
    epochs = 2
    model, opt, loader = accelerator.prepare(model, opt, loader)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, steps_per_epoch=len(loader), epochs=epochs)
    sched = accelerator.prepare(sched)
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            opt.step()
            sched.step()
            opt.zero_grad()
    accelerator.end_training()

if __name__ == "__main__":
    main()
""",
        "HF221",
    ),
    "PT250 gen": (
        """\
import os, random
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    data = torch.randn(512, 8, generator=torch.Generator().manual_seed(7))
    model = DDP(nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    bs = 8
    g = torch.Generator().manual_seed(42)
    for it in range(20):
        ix = torch.randint(len(data), (bs,), generator=g)
        x = data[ix]
        loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT250",
    ),
    "PT250 random sample": (
        """\
import os, random
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    random.seed(1)
    torch.manual_seed(1)
    data = torch.randn(512, 8, generator=torch.Generator().manual_seed(7))
    model = DDP(nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    bs = 8

    for it in range(20):
        ix = torch.tensor(random.sample(range(len(data)), bs))
        x = data[ix]
        loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT250",
    ),
}

GOOD = {
    "PT202 callback": (
        """\
import os, random
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, IterableDataset, Dataset, get_worker_info
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, x.sum(1, keepdim=True))

def step(model, opt, x, y):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss


class Callback:
    def on_epoch_start(self, runner): pass
    def on_epoch_end(self, runner): pass

class SamplerSeed(Callback):
    def on_epoch_start(self, runner):
        runner.train_loader.sampler.set_epoch(runner.epoch)

class Runner:
    def __init__(self, model, train_loader, val_loader, callbacks):
        self.model, self.train_loader, self.val_loader = model, train_loader, val_loader
        self.callbacks = callbacks
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
        self.epoch = 0
    def call(self, name):
        for cb in self.callbacks:
            getattr(cb, name)(self)
    def fit(self, epochs):
        for self.epoch in range(epochs):
            self.call("on_epoch_start")
            for x, y in self.train_loader:
                step(self.model, self.opt, x, y)
            self.call("on_epoch_end")

def main():
    dist.init_process_group("gloo")
    train, val = data(), data(16)
    tl = DataLoader(train, batch_size=4, sampler=DistributedSampler(train))
    vl = DataLoader(val, batch_size=4, sampler=DistributedSampler(val, shuffle=False))
    runner = Runner(DDP(nn.Linear(8, 1)), tl, vl, [SamplerSeed()])
    runner.fit(3)
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT202",
    ),
    "PT202 shards": (
        """\
import os, random
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, IterableDataset, Dataset, get_worker_info
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, x.sum(1, keepdim=True))

def step(model, opt, x, y):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss


def load(path):
    return torch.load(path)

def main():
    dist.init_process_group("gloo")
    model = DDP(nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for path in ["a.pt", "b.pt", "c.pt"]:
        ds = load(path)
        loader = DataLoader(ds, batch_size=4, sampler=DistributedSampler(ds))
        for x, y in loader:
            step(model, opt, x, y)
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT202",
    ),
    "PT202 wrapped loader": (
        """\
import os, random
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, IterableDataset, Dataset, get_worker_info
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, x.sum(1, keepdim=True))

def step(model, opt, x, y):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss


class Epochs:
    def __init__(self, loader):
        self.loader = loader
        self.epoch = 0
    def __iter__(self):
        self.loader.sampler.set_epoch(self.epoch)
        self.epoch += 1
        return iter(self.loader)

def main():
    dist.init_process_group("gloo")
    ds = data()
    loader = Epochs(DataLoader(ds, 4, sampler=DistributedSampler(ds)))
    model = DDP(nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for x, y in loader:
            step(model, opt, x, y)
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT202",
    ),
    "PT299 worker init": (
        """\
import os, random
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, IterableDataset, Dataset, get_worker_info
from torch.utils.data.distributed import DistributedSampler

def step(model, opt, x, y):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss


def rows(n=64):
    g = torch.Generator().manual_seed(0)
    for i in range(n):
        x = torch.randn(8, generator=g)
        yield x, x.sum().view(1)


from itertools import islice
class Stream(IterableDataset):
    def __init__(self, rank, world):
        super().__init__()
        self.rank, self.world = rank, world
        self.start, self.step = rank, world
    def __iter__(self):
        return islice(rows(), self.start, None, self.step)

def init(worker_id):
    info = get_worker_info()
    ds = info.dataset
    ds.start = ds.rank * info.num_workers + worker_id
    ds.step = ds.world * info.num_workers

def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DDP(nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Stream(dist.get_rank(), dist.get_world_size()), batch_size=4, num_workers=2, worker_init_fn=init)
    for epoch in range(2):
        for x, y in loader:
            step(model, opt, x, y)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT299",
    ),
    "PT299 random stream": (
        """\
import os, random
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, IterableDataset, Dataset, get_worker_info
from torch.utils.data.distributed import DistributedSampler

def step(model, opt, x, y):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss


def rows(n=64):
    g = torch.Generator().manual_seed(0)
    for i in range(n):
        x = torch.randn(8, generator=g)
        yield x, x.sum().view(1)


class Stream(IterableDataset):
    def __iter__(self):
        g = torch.Generator().manual_seed(dist.get_rank())
        for _ in range(64):
            x = torch.randn(8, generator=g)
            yield x, x.sum().view(1)

def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DDP(nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Stream(), batch_size=4)
    for epoch in range(2):
        for x, y in loader:
            step(model, opt, x, y)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT299",
    ),
    "PT535 date": (
        """\
import os
from datetime import date, datetime
import torch, torch.distributed as dist
from torch import nn
def main():
    dist.init_process_group("gloo")
    out = os.path.join("runs", datetime.now().strftime("%Y-%m-%d"))
    model = nn.Linear(2, 2)
    if dist.get_rank() == 0:
        os.makedirs(out, exist_ok=True)
        torch.save(model.state_dict(), os.path.join(out, "m.pt"))
    dist.barrier()
    model.load_state_dict(torch.load(os.path.join(out, "m.pt"), map_location="cpu"))
    dist.destroy_process_group()
main()
""",
        "PT535",
    ),
    "PT535 tensor stamp": (
        """\
import os, time
import torch, torch.distributed as dist
from torch import nn
def main():
    dist.init_process_group("gloo")
    stamp = torch.tensor([int(time.time())])
    dist.broadcast(stamp, 0)
    out = os.path.join("runs", str(stamp.item()))
    rank = dist.get_rank()
    model = nn.Linear(2, 2)
    if rank == 0:
        os.makedirs(out, exist_ok=True)
    dist.barrier()
    torch.save(model.state_dict(), os.path.join(out, f"m{rank}.pt"))
    if rank == 0:
        torch.save(model.state_dict(), os.path.join(out, f"full{rank}.pt"))
    dist.barrier()
    model.load_state_dict(torch.load(os.path.join(out, f"m{rank}.pt"), map_location="cpu"))
    dist.destroy_process_group()
main()
""",
        "PT535",
    ),
    "PT535 seeded": (
        """\
import os, random, time, uuid, tempfile, secrets
from datetime import datetime
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, (x.sum(1) > 0).long())


from pathlib import Path
def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    random.seed(3)
    out = f"runs/{random.randint(0, 10**6)}"
    model = DDP(nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(3):
        opt.zero_grad()
        model(torch.randn(4, 8)).mean().backward()
        opt.step()
    if rank == 0:
        os.makedirs(out, exist_ok=True)
        torch.save(model.module.state_dict(), os.path.join(out, "model.pt"))
    dist.barrier()
    state = torch.load(os.path.join(out, "model.pt"), map_location="cpu")
    model.module.load_state_dict(state)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT535",
    ),
    "HF221 hf style": (
        """\
import os, random, time, uuid, tempfile, secrets
from datetime import datetime
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, (x.sum(1) > 0).long())


from accelerate import Accelerator
def main():
    accelerator = Accelerator()
    model = nn.Linear(8, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(data(), batch_size=4, shuffle=True)
    epochs = 2
    max_steps = None
    overrode = False
    if max_steps is None:
        max_steps = len(loader) * epochs
        overrode = True
    total = max_steps if overrode else max_steps * accelerator.num_processes
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.0, 1 - s / total))
    model, opt, loader, sched = accelerator.prepare(model, opt, loader, sched)
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            opt.step()
            sched.step()
            opt.zero_grad()
    accelerator.end_training()

if __name__ == "__main__":
    main()
""",
        "HF221",
    ),
    "HF221 lr scaled": (
        """\
import os, random, time, uuid, tempfile, secrets
from datetime import datetime
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, (x.sum(1) > 0).long())


from accelerate import Accelerator
def main():
    accelerator = Accelerator()
    model = nn.Linear(8, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1 * accelerator.num_processes)
    loader = DataLoader(data(), batch_size=4, shuffle=True)
    epochs = 2
    total = len(loader) * epochs
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.0, 1 - s / total))
    model, opt, loader, sched = accelerator.prepare(model, opt, loader, sched)
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            opt.step()
            sched.step()
            opt.zero_grad()
    accelerator.end_training()

if __name__ == "__main__":
    main()
""",
        "HF221",
    ),
    "HF221 prepared times": (
        """\
import os, random, time, uuid, tempfile, secrets
from datetime import datetime
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, (x.sum(1) > 0).long())


from accelerate import Accelerator
def main():
    accelerator = Accelerator()
    model = nn.Linear(8, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(data(), batch_size=4, shuffle=True)
    epochs = 2
    model, opt, loader = accelerator.prepare(model, opt, loader)
    total = len(loader) * epochs * accelerator.num_processes
    sched = accelerator.prepare(torch.optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.0, 1 - s / total)))
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            opt.step()
            sched.step()
            opt.zero_grad()
    accelerator.end_training()

if __name__ == "__main__":
    main()
""",
        "HF221",
    ),
    "PT250 gen": (
        """\
import os, random
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    data = torch.randn(512, 8, generator=torch.Generator().manual_seed(7))
    model = DDP(nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    bs = 8
    g = torch.Generator().manual_seed(42 + rank)
    for it in range(20):
        ix = torch.randint(len(data), (bs,), generator=g)
        x = data[ix]
        loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT250",
    ),
    "PT250 perm shard": (
        """\
import os, random
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    data = torch.randn(512, 8, generator=torch.Generator().manual_seed(7))
    model = DDP(nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    bs = 8
    perm = torch.randperm(len(data))[rank::world]
    for it in range(20):
        ix = perm[it * bs:(it + 1) * bs]
        x = data[ix]
        loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
        opt.zero_grad()
        loss.backward()
        opt.step()
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT250",
    ),
    "PT275 padded trimmed": (
        """\
import os, random, time, uuid, tempfile, secrets
from datetime import datetime
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

def data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 8, generator=g)
    return TensorDataset(x, (x.sum(1) > 0).long())


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    preds, labels = [], []
    for x, y in loader:
        preds.append(model(x).argmax(1)); labels.append(y)
    preds, labels = torch.cat(preds), torch.cat(labels)
    world = dist.get_world_size()
    all_p = [torch.empty_like(preds) for _ in range(world)]
    all_l = [torch.empty_like(labels) for _ in range(world)]
    dist.all_gather(all_p, preds); dist.all_gather(all_l, labels)
    n = len(loader.dataset)
    p, l = torch.stack(all_p, 1).flatten()[:n], torch.stack(all_l, 1).flatten()[:n]
    return (p == l).float().mean().item()

def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    train, val = data(), data(37)
    sampler = DistributedSampler(train)
    loader = DataLoader(train, batch_size=4, sampler=sampler)
    val_loader = DataLoader(val, batch_size=4, sampler=DistributedSampler(val, shuffle=False))
    model = DDP(nn.Linear(8, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(model(x), y).backward()
            opt.step()
        result = evaluate(model, val_loader, "cpu")
        if rank == 0:
            print(epoch, result)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
""",
        "PT275",
    ),
    "PT259 fold hand": (
        """\
import os
import torch, torch.distributed as dist
from torch import nn
FOLDS = 1
def average(model, group, size):
    for p in model.parameters():
        dist.all_reduce(p.grad, group=group)
        p.grad /= size
def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    per = world // FOLDS
    fold = rank // per
    groups = [dist.new_group(list(range(f * per, (f + 1) * per))) for f in range(FOLDS)]
    torch.manual_seed(100 + fold)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        average(model, groups[fold], per)
        opt.step()
    score = torch.tensor([1.0])
    dist.all_reduce(score)
    dist.barrier()
    dist.destroy_process_group()
main()
""",
        "PT259",
    ),
}


def codes(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The codes of what is found in a program."""
    (folder / "train.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    return {finding["code"] for finding in check()["findings"]}


@pytest.mark.parametrize("name", BAD, ids=str)
def test_a_fault_of_data_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, code = BAD[name]
    assert code in codes(tmp_path, text, monkeypatch)


@pytest.mark.parametrize("name", GOOD, ids=str)
def test_data_that_are_right_are_left_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, code = GOOD[name]
    assert code not in codes(tmp_path, text, monkeypatch)
