"""Parts of the data that leave each process its own number of batches, and those that leave all as many."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import random, zlib
from itertools import islice
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, IterableDataset


def documents(count=80):
    drawn = random.Random(0)
    return [[drawn.randrange(50) for _ in range(drawn.randint(3, 90))] for _ in range(count)]


class Blocks(Dataset):
    def __init__(self, docs, rank, world, size=16):
        self.blocks = []
        {filled}

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, index):
        return torch.tensor(self.blocks[index])


class Stream(IterableDataset):
    def __init__(self, docs, rank, world, size=16):
        self.docs, self.rank, self.world, self.size = docs, rank, world, size

    def __iter__(self):
        {given}


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    loader = DataLoader({kind}(documents(), dist.get_rank(), dist.get_world_size()), batch_size=4)
    model = DDP(nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 50)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        {loop}
            loss = nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


main()
"""
EACH = "for batch in loader:"


def differs(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the loop is said to make another number of rounds on each rank, and nothing else."""
    (tmp_path / "train.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    found = [finding["code"] for finding in check()["findings"]]
    assert set(found) <= {"PT504"}
    return bool(found)


@pytest.mark.parametrize(
    ("filled", "loop", "own"),
    [
        (
            (
                "buf = []\n"
                "        for doc in [d for i, d in enumerate(docs) if i % world == rank]:\n"
                "            buf.extend(doc)\n"
                "            while len(buf) >= size:\n"
                "                self.blocks.append(buf[:size])\n"
                "                buf = buf[size:]"
            ),
            EACH,
            True,
        ),
        (
            (
                "for i, doc in enumerate(docs):\n"
                "            if i % world != rank:\n"
                "                continue\n"
                "            self.blocks += [doc[j:j + size] for j in range(0, len(doc) - size + 1, size)]"
            ),
            EACH,
            True,
        ),
        (
            (
                "for doc in docs[rank::world]:\n"
                "            for j in range(0, len(doc) - size + 1, size):\n"
                "                self.blocks.append(doc[j:j + size])"
            ),
            EACH,
            True,
        ),
        ("self.blocks = [doc[:size] for doc in docs[rank::world] if len(doc) >= size]", EACH, True),
        (
            (
                "mine = [d for i, d in enumerate(docs) if i % world == rank]\n"
                "        self.blocks = [doc[:size] for doc in mine if len(doc) >= size]"
            ),
            EACH,
            True,
        ),
        (
            (
                "tokens = [t for doc in docs[rank::world] for t in doc]\n"
                "        self.blocks = [tokens[j:j + size] for j in range(0, len(tokens) - size, size)]"
            ),
            EACH,
            True,
        ),
        ("self.blocks = [doc[:3] for doc in docs[rank::world]]", EACH, False),
        (
            (
                "for doc in docs[rank::world]:\n"
                "            for j in range(0, len(doc) - size + 1, size):\n"
                "                self.blocks.append(doc[j:j + size])\n"
                "        least = torch.tensor(len(self.blocks))\n"
                "        dist.all_reduce(least, op=dist.ReduceOp.MIN)\n"
                "        self.blocks = self.blocks[:int(least)]"
            ),
            EACH,
            False,
        ),
        (
            (
                "blocks = [doc[:size] for doc in docs if len(doc) >= size]\n"
                "        count = len(blocks) // world\n"
                "        self.blocks = blocks[rank * count:(rank + 1) * count]"
            ),
            EACH,
            False,
        ),
    ],
)
def test_rows_of_the_own_part(
    filled: str, loop: str, own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        differs(PROGRAM.format(kind="Blocks", filled=filled, given="yield 1", loop=loop), tmp_path, monkeypatch) is own
    )


@pytest.mark.parametrize(
    ("given", "loop", "own"),
    [
        (
            (
                "files = [self.docs[i : i + 8] for i in range(0, 80, 8)]\n"
                "        for docs in files[self.rank::self.world]:\n"
                "            for doc in docs:\n"
                "                if len(doc) >= self.size:\n"
                "                    yield torch.tensor(doc[:self.size])"
            ),
            EACH,
            True,
        ),
        (
            (
                "files = [self.docs[i : i + 8] for i in range(0, 80, 8)]\n"
                "        for docs in files[self.rank::self.world]:\n"
                "            for doc in docs:\n"
                "                yield torch.tensor(doc[:3])"
            ),
            EACH,
            False,
        ),
        (
            (
                "mine = [d for d in self.docs if zlib.crc32(bytes(d)) % self.world == self.rank]\n"
                "        for first in range(0, len(mine), 2):\n"
                "            yield torch.tensor(mine[first][:3])"
            ),
            EACH,
            True,
        ),
        (
            (
                "mine = [d for d in self.docs if zlib.crc32(bytes(d)) % self.world == self.rank]\n"
                "        order = range(len(mine))\n"
                "        for one in order:\n"
                "            yield torch.tensor(mine[one][:3])"
            ),
            EACH,
            True,
        ),
        (
            (
                "mine = [d for d in self.docs if zlib.crc32(bytes(d)) % self.world == self.rank]\n"
                "        least = torch.tensor(len(mine))\n"
                "        dist.all_reduce(least, op=dist.ReduceOp.MIN)\n"
                "        for first in range(0, int(least), 2):\n"
                "            yield torch.tensor(mine[first][:3])"
            ),
            EACH,
            False,
        ),
        (
            (
                "for doc in islice(self.docs, self.rank, None, self.world):\n"
                "            if len(doc) < self.size:\n"
                "                continue\n"
                "            yield torch.tensor(doc[:self.size])"
            ),
            EACH,
            True,
        ),
        (
            (
                "for i, doc in enumerate(self.docs):\n"
                "            if i % self.world == self.rank and len(doc) >= self.size:\n"
                "                yield torch.tensor(doc[:self.size])"
            ),
            EACH,
            True,
        ),
        (
            (
                "mine = self.docs[self.rank::self.world]\n"
                "        for doc in mine:\n"
                "            yield from torch.tensor(doc).split(self.size)"
            ),
            EACH,
            True,
        ),
        (
            (
                "for doc in self.docs:\n"
                "            if zlib.crc32(bytes(doc)) % self.world != self.rank:\n"
                "                continue\n"
                "            yield torch.tensor(doc[:3])"
            ),
            EACH,
            True,
        ),
        (
            (
                "for i, doc in enumerate(self.docs):\n"
                "            if i % self.world != self.rank:\n"
                "                continue\n"
                "            yield torch.tensor(doc[:3])"
            ),
            EACH,
            False,
        ),
        (
            (
                "while True:\n"
                "            for doc in self.docs[self.rank::self.world]:\n"
                "                if len(doc) >= self.size:\n"
                "                    yield torch.tensor(doc[:self.size])"
            ),
            "for step, batch in zip(range(20), loader):",
            False,
        ),
        (
            (
                "for doc in self.docs[self.rank::self.world]:\n"
                "            if len(doc) >= self.size:\n"
                "                yield torch.tensor(doc[:self.size])"
            ),
            (
                "it = iter(loader)\n"
                "        while True:\n"
                "            batch = next(it, None)\n"
                "            more = torch.tensor(float(batch is not None))\n"
                "            dist.all_reduce(more, op=dist.ReduceOp.MIN)\n"
                "            if more.item() == 0:\n"
                "                break"
            ),
            False,
        ),
        (
            (
                "for doc in self.docs[self.rank::self.world]:\n"
                "            if len(doc) >= self.size:\n"
                "                yield torch.tensor(doc[:self.size])"
            ),
            ("for step, batch in enumerate(loader):\n            if step >= 5:\n                break"),
            False,
        ),
    ],
)
def test_streams_of_the_own_part(
    given: str, loop: str, own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert differs(PROGRAM.format(kind="Stream", filled="pass", given=given, loop=loop), tmp_path, monkeypatch) is own


DISPATCHED = """
import random
import torch
from accelerate import Accelerator, DataLoaderConfiguration
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Events(IterableDataset):
    def __init__(self):
        self.drawn = random.Random()

    def __iter__(self):
        for number in range(self.drawn.randint(90, 180)):
            yield torch.tensor([self.drawn.random(), float(number)])


def main():
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration({how}))
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(Events(), batch_size=8))
    for epoch in range(2):
        steps = 0
        for batch in loader:
            accelerator.backward(model(batch).square().mean())
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
        print(accelerator.reduce(torch.tensor(float(steps)), reduction="mean"))


main()
"""


@pytest.mark.parametrize(
    ("how", "found"), [("dispatch_batches=True", []), ("", []), ("dispatch_batches=False", ["PT503"])]
)
def test_batches_that_the_first_process_hands_out(
    how: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream of random length is read by one process, and all get as many batches, unless each reads for itself."""
    (tmp_path / "train.py").write_text(DISPATCHED.replace("{how}", how))
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == found
