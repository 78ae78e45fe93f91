"""What each process has for itself, and what is the same for all: spellings unlike the fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PADDED = """
import random
import torch
from accelerate import Accelerator
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def rows(count):
    draw = random.Random(3)
    made = []
    for _ in range(count):
        ids = [draw.randrange(1, 9) for _ in range(draw.randint(2, 30))]
        made.append((torch.tensor(ids), torch.tensor([one % 3 for one in ids])))
    return made


def batch(examples):
    ids, tags = zip(*examples)
    return pad_sequence(ids, batch_first=True), pad_sequence(tags, batch_first=True)


def main():
    accelerator = Accelerator(cpu=True)
    model = nn.Embedding(9, 3)
    model, loader = accelerator.prepare(model, DataLoader(rows(64), batch_size=4, collate_fn=batch))
    for ids, tags in loader:
        with torch.no_grad():
            found = model(ids).argmax(-1)
        {even}
        found, tags = accelerator.gather_for_metrics((found, tags))
        print((found == tags).float().mean().item())


main()
"""
CUT_OFF = """
import math
import os
from itertools import islice
import torch
import torch.distributed as dist


def pieces(names):
    for name in names:
        yield from torch.load(name).split(8)


def main():
    dist.init_process_group("gloo")
    with open("names.txt") as listed:
        names = listed.read().split()[dist.get_rank() :: dist.get_world_size()]
    steps = sum(math.ceil(os.path.getsize(name) / 64) for name in names)
    {agree}
    for piece in islice(pieces(names), steps):
        dist.all_reduce(piece.sum())
    dist.barrier()


main()
"""
AGREED = """count = torch.tensor([steps])
    dist.all_reduce(count, op=dist.ReduceOp.MIN)
    steps = int(count.item())"""
NAMES = """
import torch
import torch.distributed as dist


def total(figures, wanted):
    for name in {names}:
        dist.all_reduce(figures[name])
    return figures


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    figures = {{}}
    for name in open("names.txt"):
        figures[name.strip()] = torch.rand(3)
    print(total(figures, ["loss", "grade", "error"]))


main()
"""
WINDOWS = """
import torch
from lightning.fabric import Fabric
from torch import nn


def main():
    fabric = Fabric(accelerator="cpu", devices=2, strategy="ddp")
    fabric.launch()
    model = nn.Linear(4, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for number in range(1, 41):
        with fabric.no_backward_sync(model, enabled={waits}):
            fabric.backward(model(torch.randn(2, 4)).square().mean() / 4)
        if number % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()


main()
"""
TOLD = """
import torch
import torch.distributed as dist


def joined(own):
    sizes = [torch.zeros(1, dtype=torch.long) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, torch.tensor([len(own)]))
    parts = []
    for root, size in enumerate(int(one) for one in sizes):
        part = own if root == dist.get_rank() else torch.empty({size})
        dist.broadcast(part, src=root)
        parts.append(part)
    return torch.cat(parts)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(dist.get_rank())
    drawn = torch.randn(50)
    print(len(joined(drawn[drawn > 0])))


main()
"""
FAILING = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Refused(Exception):
    pass


def part(number, rank):
    if number == 1 and rank == 1:
        raise OSError("not readable")
    return torch.ones(12, 4)


def ask_all(problem):
    problems = [None] * dist.get_world_size()
    dist.all_gather_object(problems, problem)
    if any(one is not None for one in problems):
        raise Refused


def train(model, rows):
    for few in rows.split(4):
        model(few).sum().backward()


def main():
    dist.init_process_group("gloo")
    model = DistributedDataParallel(nn.Linear(4, 1))
    for number in range(4):
        given, problem = None, None
        try:
            given = (part(number, dist.get_rank()),)
        except OSError as error:
            problem = str(error)
        try:
            ask_all(problem)
        except Refused:
            continue
        train(model, *given)
    dist.barrier()


main()
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PADDED.format(even="pass"), ["PT706"]),
        (PADDED.format(even="found, tags = accelerator.pad_across_processes((found, tags), dim=1)"), []),
        (CUT_OFF.format(agree=""), ["PT504"]),
        (CUT_OFF.format(agree=AGREED), []),
        (NAMES.format(names="set(wanted) & set(figures)"), ["PT298"]),
        (NAMES.format(names="sorted(set(wanted) & set(figures))"), []),
        (WINDOWS.format(waits="(number - 1) % 4 != 0"), ["PT212"]),
        (WINDOWS.format(waits="number % 4 != 0"), []),
        (TOLD.format(size="size"), []),
        (FAILING, []),
    ],
)
def test_what_is_each_ranks_own_and_what_all_agree_on(
    text: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"] if finding["severity"] != "note"] == expected


OWN_KEYS = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Finder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, values, marks):
        found = self.layer(values)
        losses = {{"all": found.square().mean(), "sum": found.abs().mean()}}
        if marks.sum() > 0:
            losses["marked"] = found[marks.bool()].abs().mean()
        return losses


def reduced(losses):
    values = []
    {shown}
    dist.all_reduce(joined)
    return joined


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(32, 4), (torch.rand(32) < 0.1).float())
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(Finder())
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for batch in loader:
            losses = model(*batch)
            sum(losses.values()).backward()
            print(reduced({{name: one.detach() for name, one in losses.items()}}) / dist.get_world_size())


main()
"""


@pytest.mark.parametrize(
    ("shown", "differs"),
    [
        ("for name in sorted(losses):\n        values.append(losses[name])\n    joined = torch.stack(values)", True),
        ("with torch.no_grad():\n        joined = torch.stack([losses[name] for name in sorted(losses)])", True),
        ("joined = torch.tensor([one.item() for one in losses.values()])", True),
        ("joined = torch.stack(list(losses.values())).sum()", False),
        (
            (
                "for name, one in losses.items():\n        if name in ('all', 'sum'):\n            values.append(one)\n"
                "    joined = torch.stack(values)"
            ),
            False,
        ),
        ("joined = torch.stack([losses.get(name, torch.zeros(())) for name in ('all', 'sum', 'marked')])", False),
    ],
)
def test_values_under_keys_that_only_some_processes_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str, differs: bool
) -> None:
    """As many figures are joined as each process's own data gave keys, unless they are summed or asked for by name."""
    (tmp_path / "train.py").write_text(OWN_KEYS.format(shown=shown))
    monkeypatch.chdir(tmp_path)
    assert ("PT706" in [finding["code"] for finding in check()["findings"]]) is differs


OWN_WIDTHS = """
import random
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, DistributedSampler

MAX = 24


class Lines(Dataset):
    def __init__(self, count):
        draw = random.Random(1)
        self.rows = []
        for _ in range(count):
            {row}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return torch.tensor(self.rows[place])


def batch(rows):
    return {batch}


dist.init_process_group("gloo")
lines = Lines(64)
for ids in DataLoader(lines, 4, sampler=DistributedSampler(lines), collate_fn=batch):
    everyone = [torch.zeros_like(ids) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, ids)
"""
DRAWN = "size = draw.randint(3, 20)\n            self.rows.append([draw.randrange(1, 9) for _ in range(size)])"
LETTERS = "word = ''.join(draw.choice('abcd') for _ in range(draw.randint(3, 9)))\n            self.rows.append([ord(one) for one in word])"
FIELDS = "line = ' '.join(str(draw.randrange(1, 9)) for _ in range(6))\n            self.rows.append([int(one) for one in line.split()])"


@pytest.mark.parametrize(
    ("row", "batch", "differs"),
    [
        (DRAWN, "pad_sequence(rows, batch_first=True)", True),
        (LETTERS, "pad_sequence(rows, batch_first=True)", True),
        (DRAWN, "torch.stack([F.pad(one, (0, max(map(len, rows)) - len(one))) for one in rows])", True),
        (DRAWN, "torch.stack([F.pad(one, (0, MAX - len(one))) for one in rows])", False),
        (DRAWN, "pad_sequence([*rows, torch.zeros(MAX, dtype=torch.long)], batch_first=True)[:-1]", False),
        (DRAWN, "pad_sequence(rows + [torch.zeros(MAX, dtype=torch.long)], batch_first=True)[:-1]", False),
        (FIELDS, "torch.stack(rows)", False),
        ("self.rows.append([draw.randrange(1, 9) for _ in range(16)])", "torch.stack(rows)", False),
    ],
)
def test_rows_of_which_the_program_says_no_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, batch: str, differs: bool
) -> None:
    """Rows that are padded are of several lengths, rows that are stacked as they are have one."""
    (tmp_path / "train.py").write_text(OWN_WIDTHS.format(row=row, batch=batch))
    monkeypatch.chdir(tmp_path)
    assert ("PT706" in [finding["code"] for finding in check()["findings"]]) is differs
