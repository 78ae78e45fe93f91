"""Data sets that are told the epoch, beside workers that live on or start anew (PT246)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset


class Stream(IterableDataset):
    def __init__(self, rank):
        self.rank, self.epoch = rank, 0

    def set_epoch(self, epoch):
        {setter}

    def __iter__(self):
        order = torch.randperm(64, generator=torch.Generator().manual_seed({read}))
        yield from order[self.rank :: 2].tolist()


class Rows(Dataset):
    def __init__(self):
        self.strength = 0

    def grow(self, epoch):
        self.strength = 0.1 * epoch

    def __len__(self):
        return 64

    def __getitem__(self, index):
        return self._changed(index)

    def _changed(self, index):
        return index + self.strength


def main():
    dist.init_process_group("gloo")
    stream = Stream(dist.get_rank())
    rows = Rows()
    sampler = DistributedSampler(rows)
{body}


if __name__ == "__main__":
    main()
"""
KEEP = "num_workers=2, persistent_workers=True"
EPOCHS = "\n    for epoch in range(9):\n        {}\n        for x in loader:\n            print(x)"
OF_STREAM = f"    loader = DataLoader(stream, 4, {KEEP})" + EPOCHS
OF_ROWS = f"    loader = DataLoader(rows, batch_size=4, sampler=sampler, {KEEP})" + EPOCHS
SET = "self.epoch = epoch"


@pytest.mark.parametrize(
    ("body", "setter", "read", "said"),
    [
        (OF_STREAM.format("stream.set_epoch(epoch)"), SET, "self.epoch", True),
        (OF_STREAM.format("loader.dataset.set_epoch(epoch)"), SET, "self.epoch", True),
        (OF_STREAM.format("stream.epoch = epoch"), "pass", "self.epoch", True),
        (OF_STREAM.format("stream.set_epoch(epoch)"), "self.epoch = 7 * epoch + 1", "self.epoch", True),
        (OF_ROWS.format("rows.grow(epoch)"), SET, "0", True),
        (OF_ROWS.format("loader.dataset.strength = epoch / 9"), SET, "0", True),
        (OF_ROWS.format("sampler.set_epoch(epoch)"), SET, "0", False),
        (OF_STREAM.format("stream.set_epoch(epoch)"), "self.epoch.fill_(epoch)", "int(self.epoch)", False),
        (OF_STREAM.format("stream.set_epoch(epoch)"), "self.epoch.value = epoch", "self.epoch.value", False),
        (OF_STREAM.format("stream.set_epoch(epoch)"), SET, "0", False),
        (OF_STREAM.format("stream.set_epoch(epoch)").replace("=True", "=False"), SET, "self.epoch", False),
        (
            OF_STREAM.format("stream.set_epoch(epoch)").replace("=True", "=dist.get_world_size() > 4"),
            SET,
            "self.epoch",
            False,
        ),
        (
            f"    for epoch in range(9):\n        stream.set_epoch(epoch)\n        for x in DataLoader(stream, 4, {KEEP}):\n            x",
            SET,
            "self.epoch",
            False,
        ),
        (OF_STREAM.format("stream.set_epoch(epoch)\n        loader._iterator = None"), SET, "self.epoch", False),
        (
            OF_STREAM.format("pass").replace("    loader", "    stream.set_epoch(3)\n    loader", 1),
            SET,
            "self.epoch",
            False,
        ),
    ],
)
def test_told_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, setter: str, read: str, said: bool
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(body=body, setter=setter, read=read))
    monkeypatch.chdir(tmp_path)
    assert ("PT246" in {finding["code"] for finding in check()["findings"]}) is said
