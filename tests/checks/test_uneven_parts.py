"""Programs over two modules in which each rank loops over its own part of something: which parts are as long as each other.

Each spelling comes with a number of items that leaves a rest (then the loops of the ranks differ) and with one that does not, or with
something that evens the parts out.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.fixture_cases import check

PARTS = """
import argparse, glob, itertools, json, math, os, random
from pathlib import Path
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Sampler, TensorDataset
"""
TRAIN = """
from parts import *

def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DDP(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{setup}
    for epoch in range(2):
{loop}
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
EACH, ROWS = "for x in loader:", "for (x,) in loader:"
NUMBERS = "for i in mine:\n    x = torch.randn(8, 4)"

WRITE = """
def write(folder, count, rows=16):
    os.makedirs(folder, exist_ok=True)
    for number in range(count):
        torch.save(torch.randn(rows, 4), os.path.join(folder, f"part-{number}.pt"))
"""
WROTE = "if rank == 0:\n    write('data', COUNT)\ndist.barrier()\nfiles = sorted(glob.glob('data/part-*.pt'))\n"
SETS = "loader = DataLoader(ConcatDataset([TensorDataset(torch.load(f)) for f in mine]), batch_size=8)"
MINE = WROTE + "mine = files[rank::world]\n"

SAMPLER = """
class Part(Sampler):
    def __init__(self, n, rank, world):
        self.n, self.rank, self.world = n, rank, world
    def __len__(self):
        return len(range(self.rank, self.n, self.world))
    def __iter__(self):
        order = torch.randperm(self.n, generator=torch.Generator().manual_seed(0)).tolist()
        return iter(order[self.rank::self.world])
"""
SPLIT_SAMPLER = """
class Part(Sampler):
    def __init__(self, n, rank, world):
        self.indices = np.array_split(np.arange(n), world)[rank].tolist()
    def __len__(self):
        return len(self.indices)
    def __iter__(self):
        return iter(self.indices)
"""
SAMPLED = "data = TensorDataset(torch.randn(COUNT, 4))\nloader = DataLoader(data, batch_size=8, sampler=Part(len(data), rank, world))"
BOUNDS = """
def bounds(n, rank, world):
    base, rest = divmod(n, world)
    begin = rank * base + min(rank, rest)
    return begin, begin + base + (1 if rank < rest else 0)
"""
STREAM = """
class Shards(IterableDataset):
    def __init__(self, count, rank, world):
        self.count, self.rank, self.world = count, rank, world
    def __iter__(self):
        for number in range(self.rank, self.count, self.world):
            for row in torch.randn(32, 4):
                yield row
"""
SHUFFLED_STREAM = """
class Shards(IterableDataset):
    def __init__(self, count, rank, world):
        self.count, self.rank, self.world = count, rank, world
    def __iter__(self):
        order = torch.randperm(self.count, generator=torch.Generator().manual_seed(0)).tolist()
        for number in order[self.rank::self.world]:
            yield from torch.randn(32, 4)
"""
STREAMED = "loader = DataLoader(Shards(COUNT, rank, world), batch_size=8)"
OPTIONS = """
def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", type=int, default=COUNT)
    return parser.parse_args()
"""
FILES_GENERATOR = """
def batches(files, rank, world):
    for number, path in enumerate(files):
        if number % world == rank:
            rows = torch.load(path)
            for at in range(0, len(rows), 8):
                yield rows[at:at + 8]
"""
READER = """
class Reader(IterableDataset):
    def __init__(self, files):
        self.files = files
    def __iter__(self):
        for path in self.files:
            rows = torch.load(path)
            yield from rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))]

def loader_of(folder, epoch, rank, world):
    files = sorted(Path(folder).glob("part-*.pt"))
    random.Random(epoch).shuffle(files)
    FIX
    return DataLoader(Reader(files[rank::world]), batch_size=8)
"""
READ = "for x in loader_of('data', epoch, rank, world):"
FEED = """
class Feed:
    def __init__(self, folder, rank, world):
        self.paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        self.rank, self.world = rank, world
    def own(self):
        return self.paths[self.rank::self.world]
    def __iter__(self):
        for path in self.own():
            yield from torch.load(path).split(8)
"""
OWN_ROWS = """
class Rows(Dataset):
    def __init__(self, files):
        self.items = []
        for path in files:
            FILL
    def __len__(self):
        return len(self.items)
    def __getitem__(self, index):
        return self.items[index]
"""
MADE_ROWS = """
class Rows(Dataset):
    def __init__(self, count, rank, world):
        self.items = []
        for number in range(count):
            if number % world == rank:
                for row in torch.randn(16, 4):
                    self.items.append(row)
    def __len__(self):
        return len(self.items)
    def __getitem__(self, index):
        return self.items[index]
"""
PREPARED = """
def prepare(folder, rank, count):
    if rank == 0 and not os.path.exists(folder):
        write(folder + ".new", count)
        os.rename(folder + ".new", folder)
    dist.barrier()
"""
WRITE_ASIDE = """
def write(folder, count, rows=16):
    os.makedirs(folder, exist_ok=True)
    for number in range(count):
        aside = os.path.join(folder, f"aside-{number}")
        torch.save(torch.randn(rows, 4), aside)
        os.replace(aside, os.path.join(folder, f"part-{number}.pt"))
"""


def codes(parts: str, setup: str, loop: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The codes of all findings of a program in two modules, with so many items."""
    parts, setup, loop = (one.replace("COUNT", str(count)) for one in (parts, setup, loop))
    (tmp_path / "parts.py").write_text(PARTS + parts)
    (tmp_path / "train.py").write_text(
        TRAIN.format(setup=textwrap.indent(setup, " " * 4), loop=textwrap.indent(loop, " " * 8))
    )
    monkeypatch.chdir(tmp_path)
    return {finding["code"] for finding in check()["findings"]}


SPELLINGS = {
    "list": ("", "loader = [torch.randn(8, 4) for _ in range(COUNT)][rank::world]", EACH, 7, 8),
    "range": ("", "mine = range(rank, COUNT, world)", NUMBERS, 1001, 1000),
    "array-split": ("", "mine = np.array_split(np.arange(COUNT), world)[rank]", NUMBERS, 7, 8),
    "tensor-split": ("", "mine = torch.tensor_split(torch.arange(COUNT), world)[rank].tolist()", NUMBERS, 7, 8),
    "rest-for-last": (
        "",
        "per = COUNT // world\nmine = range(rank * per, COUNT if rank == world - 1 else (rank + 1) * per)",
        NUMBERS,
        7,
        8,
    ),
    "rest-for-first": (BOUNDS, "begin, end = bounds(COUNT, rank, world)\nmine = range(begin, end)", NUMBERS, 7, 8),
    "filter": ("", "mine = [i for i in range(COUNT) if i % world == rank]", NUMBERS, 7, 8),
    "sampler": (SAMPLER, SAMPLED, ROWS, 33, 32),
    "sampler-of-split": (SPLIT_SAMPLER, SAMPLED, ROWS, 129, 128),
    "stream": (STREAM, STREAMED, EACH, 7, 8),
    "stream-shuffled": (SHUFFLED_STREAM, STREAMED, EACH, 7, 8),
    "stream-of-option": (STREAM + OPTIONS, STREAMED.replace("COUNT", "options().shards"), EACH, 7, 8),
    "rows-made": (MADE_ROWS, "loader = DataLoader(Rows(COUNT, rank, world), batch_size=8)", EACH, 7, 8),
    "files": (WRITE, MINE, "for path in mine:\n    x = torch.load(path)", 7, 8),
    "files-many": (WRITE, MINE + SETS, ROWS, 33, 32),
    "files-starred": (
        WRITE.replace("torch.randn(rows, 4)", "(torch.randn(rows, 4), torch.zeros(rows))"),
        MINE + SETS.replace("torch.load", "*torch.load"),
        "for x, _ in loader:",
        5,
        4,
    ),
    "files-joined": (
        WRITE,
        MINE + "x = torch.cat([torch.load(f) for f in mine])\nloader = DataLoader(TensorDataset(x), batch_size=8)",
        ROWS,
        7,
        8,
    ),
    "files-in-comprehension": (WRITE, MINE, "for x in (b for f in mine for b in torch.load(f).split(8)):", 7, 8),
    "files-in-generator": (WRITE + FILES_GENERATOR, WROTE, "for x in batches(files, rank, world):", 7, 8),
    "files-in-stream": (WRITE + READER.replace("FIX", ""), WROTE, READ, 7, 8),
    "files-of-class": (WRITE + FEED, WROTE + "feed = Feed('data', rank, world)", "for x in feed:", 7, 8),
    "files-extend": (
        WRITE + OWN_ROWS.replace("FILL", "self.items.extend(torch.load(path))"),
        MINE + "loader = DataLoader(Rows(mine), batch_size=8)",
        EACH,
        7,
        8,
    ),
    "files-append": (
        WRITE + OWN_ROWS.replace("FILL", "for row in torch.load(path):\n                self.items.append(row)"),
        MINE + "loader = DataLoader(Rows(mine), batch_size=8)",
        EACH,
        7,
        8,
    ),
    "files-unless-there": (
        WRITE + PREPARED,
        "prepare('data', rank, COUNT)" + MINE[MINE.index("\nfiles") :] + SETS,
        ROWS,
        7,
        8,
    ),
    "files-renamed": (
        WRITE_ASIDE,
        WROTE + "mine = [os.path.join('data', name) for name in sorted(os.listdir('data'))[rank::world]]\n" + SETS,
        ROWS,
        7,
        8,
    ),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_number_with_a_rest(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, setup, loop, odd, _ = SPELLINGS[name]
    assert codes(parts, setup, loop, odd, tmp_path, monkeypatch) & {"PT501", "PT504"}


@pytest.mark.parametrize("name", SPELLINGS)
def test_number_without_a_rest(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, setup, loop, _, even = SPELLINGS[name]
    assert not codes(parts, setup, loop, even, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("fix", "loop"),
    [
        pytest.param("files += files[:-len(files) % world]", READ, id="padded"),
        pytest.param("files = files[:len(files) // world * world]", READ, id="cut"),
        pytest.param("assert len(files) % world == 0", READ, id="asserted"),
        pytest.param("if len(files) % world:\n        raise ValueError('uneven')", READ, id="raised"),
        pytest.param("", f"with model.join():\n  {READ}", id="join-of-model"),
        pytest.param("", f"with Join([model]):\n  {READ}", id="join"),
        pytest.param("", "for x in itertools.islice(loader_of('data', epoch, rank, world), 5):", id="islice"),
        pytest.param(
            "",
            "rows = itertools.cycle(loader_of('data', epoch, rank, world))\nfor _ in range(9):\n    x = next(rows)",
            id="cycle",
        ),
        pytest.param(
            "",
            "batches = list(loader_of('data', epoch, rank, world))\nfewest = torch.tensor(len(batches))\n"
            "dist.all_reduce(fewest, op=dist.ReduceOp.MIN)\nfor x in batches[:int(fewest)]:",
            id="fewest",
        ),
    ],
)
def test_what_evens_out_a_rest(fix: str, loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not codes(WRITE + READER.replace("FIX", fix), WROTE, loop, 7, tmp_path, monkeypatch)


SIZED = """
class Shards(IterableDataset):
    def __init__(self, count, rank, world):
        self.sizes = SIZES
        self.rank, self.world = rank, world
    def read(self, number):
        return torch.randn(self.sizes[number], 4)
    def __iter__(self):
        for number in ORDER[self.rank::self.world]:
            for row in self.read(number):
                yield row
"""
ORDER = "range(len(self.sizes))"
SHUFFLED = "torch.randperm(len(self.sizes), generator=torch.Generator().manual_seed(1)).tolist()"
DRAWN = "torch.randint(60, 200, (count,), generator=torch.Generator().manual_seed(3)).tolist()"
SHARDS = "drawn = random.Random(0)\nshards = [torch.randn(drawn.randint(10, 50), 4) for _ in range(8)]\n"
JOINED = SHARDS + "rows = torch.cat(shards[rank::world])\n"
LOADER = "loader = DataLoader(TensorDataset(rows), batch_size=4)"


@pytest.mark.parametrize(
    ("parts", "setup", "loop", "told"),
    [
        pytest.param(SIZED.replace("SIZES", DRAWN).replace("ORDER", ORDER), STREAMED, EACH, True, id="drawn"),
        pytest.param(SIZED.replace("SIZES", DRAWN).replace("ORDER", SHUFFLED), STREAMED, EACH, True, id="shuffled"),
        pytest.param(
            SIZED.replace("SIZES", "[random.Random(i).randint(60, 200) for i in range(count)]").replace("ORDER", ORDER),
            STREAMED,
            EACH,
            True,
            id="drawn-by-python",
        ),
        pytest.param(
            SIZED.replace("SIZES", "np.random.default_rng(0).integers(60, 200, size=count).tolist()").replace(
                "ORDER", ORDER
            ),
            STREAMED,
            EACH,
            True,
            id="drawn-by-numpy",
        ),
        pytest.param(
            SIZED.replace("SIZES", "[32 + 16 * i for i in range(count)]").replace("ORDER", ORDER),
            STREAMED,
            EACH,
            True,
            id="growing",
        ),
        pytest.param(
            SIZED.replace("SIZES", DRAWN)
            .replace("ORDER", ORDER)
            .replace("for row in self.read(number):", "for row, _ in zip(self.read(number), self.read(number)):"),
            STREAMED,
            EACH,
            True,
            id="zipped",
        ),
        pytest.param("", JOINED + LOADER, ROWS, True, id="joined"),
        pytest.param(
            "",
            SHARDS
            + "loader = DataLoader(ConcatDataset([TensorDataset(one) for one in shards[rank::world]]), batch_size=4)",
            ROWS,
            True,
            id="concatenated",
        ),
        pytest.param(
            WRITE.replace("torch.randn(rows, 4)", "torch.randn(rows * (number + 1), 4)"),
            MINE + SETS,
            ROWS,
            True,
            id="growing-files",
        ),
        pytest.param(SIZED.replace("SIZES", "[64] * count").replace("ORDER", ORDER), STREAMED, EACH, False, id="same"),
        pytest.param(
            SIZED.replace("SIZES", "[random.Random(0).randint(60, 200)] * count").replace("ORDER", ORDER),
            STREAMED,
            EACH,
            False,
            id="drawn-once",
        ),
        pytest.param(
            SIZED.replace("SIZES", DRAWN).replace("ORDER", ORDER),
            STREAMED,
            "with Join([model]):\n  for x in loader:",
            False,
            id="drawn-but-join",
        ),
        pytest.param(
            SIZED.replace("SIZES", DRAWN).replace("ORDER", ORDER),
            STREAMED + "\nrows = itertools.cycle(loader)",
            "for _ in range(20):\n    x = next(rows)",
            False,
            id="drawn-but-fixed-steps",
        ),
        pytest.param(
            "",
            JOINED + "fewest = torch.tensor(len(rows))\ndist.all_reduce(fewest, op=dist.ReduceOp.MIN)\n"
            "rows = rows[:int(fewest)]\n" + LOADER,
            ROWS,
            False,
            id="joined-but-fewest",
        ),
        pytest.param(
            "",
            SHARDS + "rows = torch.cat([one[:8] for one in shards[rank::world]])\n" + LOADER,
            ROWS,
            False,
            id="first-of-each",
        ),
        pytest.param(
            "",
            SHARDS + "rows = torch.cat(shards)\nrows = rows[:len(rows) // world * world][rank::world]\n" + LOADER,
            ROWS,
            False,
            id="parts-of-all",
        ),
    ],
)
def test_items_with_sizes_of_their_own(
    parts: str, setup: str, loop: str, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = codes(parts, setup, loop, 8, tmp_path, monkeypatch)
    assert bool(found & {"PT501", "PT504"}) is told
    assert told or not found


def test_files_that_nobody_is_seen_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many there are is not known."""
    setup = "mine = sorted(glob.glob('data/*.pt'))[rank::world]"
    loop = "for path in mine:\n    x = torch.load(path)"
    assert not codes("", setup, loop, 7, tmp_path, monkeypatch)
