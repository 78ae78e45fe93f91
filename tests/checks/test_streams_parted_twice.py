"""Streams that pick the part of a process themselves, under something that deals out what they give: in which method, and how."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

TEXT = """
import os
import itertools
import torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from transformers import Trainer, TrainingArguments
from elsewhere import model, decoded


class Stream(IterableDataset):
    def __init__(self, path):
        self.path = path
        self.rank = int(os.environ.get("RANK", 0))
        self.world = int(os.environ.get("WORLD_SIZE", 1))

BODY

    @staticmethod
    def decode(line):
        return decoded(line)


args = TrainingArguments("out", max_steps=8)
Trainer(model=model, args=args, train_dataset=Stream("rows.jsonl")).train()
"""
HELPER = """
    def lines(self):
        info = get_worker_info()
        part, parts = (info.id, info.num_workers) if info else (0, 1)
        part, parts = self.rank * parts + part, self.world * parts
        with open(self.path) as rows:
            for number, line in enumerate(rows):
                if number % parts == part:
                    yield line

    def __iter__(self):
        for line in self.lines():
            yield self.decode(line)
"""
PLAIN = """
    def __iter__(self):
        for number, line in enumerate(open(self.path)):
            if number % self.world != self.rank:
                continue
            yield self.decode(line)
"""
SLICED = """
    def mine(self, rows):
        return itertools.islice(rows, self.rank, None, self.world)

    def __iter__(self):
        with open(self.path) as rows:
            yield from map(self.decode, self.mine(rows))
"""
DEEPER = """
    def __iter__(self):
        yield from self.rows()

    def rows(self):
        for line in self.picked():
            yield self.decode(line)

    def picked(self):
        (first, every) = (self.rank, self.world)
        lines = open(self.path).readlines()
        return lines[first::every]
"""


@pytest.mark.parametrize("body", [HELPER, PLAIN, SLICED, DEEPER])
def test_a_stream_picks_the_part_of_the_process(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert codes(tmp_path, monkeypatch, body) == ["HF220"]


@pytest.mark.parametrize(
    "body",
    [
        HELPER.replace("        part, parts = self.rank * parts + part, self.world * parts\n", ""),
        HELPER.replace("in self.lines()", "in open(self.path)"),
        PLAIN.replace("number % self.world != self.rank", "number % 2 == 1"),
        SLICED.replace("self.mine(rows)", "rows"),
        DEEPER.replace("lines[first::every]", "lines"),
        DEEPER.replace("(self.rank, self.world)", "(0, 1)"),
    ],
)
def test_a_stream_gives_all(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert codes(tmp_path, monkeypatch, body) == []


def codes(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> list[str]:
    """The codes of the findings about a program with such a stream."""
    (folder / "train.py").write_text(TEXT.replace("BODY", body))
    monkeypatch.chdir(folder)
    return [one["code"] for one in check()["findings"] if one["severity"] != "note"]
