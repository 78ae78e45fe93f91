"""Options of a loader that exclude each other, in the ways that programs hand them on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import argparse
import functools
from dataclasses import dataclass
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, IterableDataset, TensorDataset


def rows(count):
    return TensorDataset(torch.randn(count, 4), torch.randint(0, 2, (count,)))


{make}

def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in make():
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()


main()
"""
STREAM = """
class Stream(IterableDataset):
    def __iter__(self):
        for number in range(dist.get_rank(), 64, dist.get_world_size()):
            yield torch.full((4,), float(number)), number % 2

    def __len__(self):
        return 64

"""
PARTS = """
PARTS = {"train": {"size": 64, "shuffle": True}, "test": {"size": 16, "shuffle": False}}

def make():
    made = {}
    for name, part in PARTS.items():
        data = rows(part["size"])
        sampler = DistributedSampler(data, shuffle=part["shuffle"])
        made[name] = DataLoader(data, batch_size=4, shuffle=SHUFFLE, sampler=sampler)
    return made["train"]
"""
DATACLASS = """
@dataclass
class Options:
    batch_size: int = 4
    shuffle: bool = SHUFFLE

def make():
    data, options = rows(64), Options()
    return DataLoader(data, options.batch_size, options.shuffle, DistributedSampler(data))
"""
PARTIAL = """
loader = functools.partial(DataLoader, batch_size=4, shuffle=True)

def make():
    data = rows(64)
    return loader(data, sampler=DistributedSampler(data)MORE)
"""
HELPER = """
def build(data, sampler=None, shuffle=True, **extra):
    BEFORE
    return DataLoader(data, batch_size=4, sampler=sampler, shuffle=shuffle, **extra)

def make():
    data = rows(64)
    return build(data, sampler=DistributedSampler(data), num_workers=0)
"""
FILLED = """
def make():
    data = rows(64)
    options = dict(batch_size=4, shuffle=True)
    if dist.is_initialized():
        options["sampler"] = DistributedSampler(data, shuffle=TAKEN)
    return DataLoader(data, **options)
"""
HOLDER = """
class Source:
    def __init__(self, shuffle=True, batch_size=4):
        self.shuffle = shuffle
        self.options = {"batch_size": batch_size, KEPT}

    def loader(self, data):
        return DataLoader(data, sampler=DistributedSampler(data, shuffle=self.shuffle), **self.options)

def make():
    return Source().loader(rows(64))
"""
BATCHES = """
def make():
    data = rows(64)
    batches = BatchSampler(DistributedSampler(data), 8, drop_last=True)
    options = OPTIONS
    return DataLoader(data, batch_sampler=batches, **options)
"""
PARSED = """
def make():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    args = parser.parse_args()
    data = rows(64)
    return DataLoader(data, MOREbatch_sampler=BatchSampler(DistributedSampler(data), args.batch_size, True))
"""
STREAMED = STREAM + "def make():\n    options = OPTIONS\n    return DataLoader(Stream(), batch_size=4, **options)\n"


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (PARTS.replace("SHUFFLE", 'part["shuffle"]'), "PT101"),
        (PARTS.replace("SHUFFLE", 'part["shuffle"] and sampler is None'), ""),
        (DATACLASS.replace("SHUFFLE", "True"), "PT101"),
        (DATACLASS.replace("SHUFFLE", "False"), ""),
        (PARTIAL.replace("MORE", ""), "PT101"),
        (PARTIAL.replace("MORE", ", shuffle=False"), ""),
        (HELPER.replace("BEFORE", "pass"), "PT101"),
        (HELPER.replace("BEFORE", "shuffle = shuffle and sampler is None"), ""),
        (FILLED.replace("TAKEN", 'options["shuffle"]'), "PT101"),
        (FILLED.replace("TAKEN", 'options.pop("shuffle")'), ""),
        (HOLDER.replace("KEPT", '"shuffle": shuffle'), "PT101"),
        (HOLDER.replace("KEPT", '"num_workers": 0'), ""),
        (BATCHES.replace("OPTIONS", '{"batch_size": 8}'), "PT225"),
        (BATCHES.replace("OPTIONS", '{"shuffle": True}'), "PT225"),
        (BATCHES.replace("OPTIONS", '{"drop_last": True}'), "PT225"),
        (BATCHES.replace("OPTIONS", '{"sampler": batches.sampler}'), "PT225"),
        (BATCHES.replace("OPTIONS", '{"batch_size": 1, "shuffle": False, "sampler": None, "drop_last": False}'), ""),
        (PARSED.replace("MORE", "batch_size=args.batch_size, "), "PT225"),
        (PARSED.replace("MORE", ""), ""),
        (STREAMED.replace("OPTIONS", '{"shuffle": True}'), "PT225"),
        (STREAMED.replace("OPTIONS", '{"sampler": DistributedSampler(rows(64))}'), "PT225"),
        (STREAMED.replace("OPTIONS", '{"shuffle": False}'), ""),
    ],
)
def test_options_of_loaders(make: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.replace("{make}", make))
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == ([code] if code else [])
