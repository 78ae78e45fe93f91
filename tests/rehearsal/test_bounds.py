"""What numbers are at most: where a batch is known to fit, a model that refuses longer ones refuses none."""

from __future__ import annotations

import pytest

from distlint.checks.trace_faults import TraceFaults
from tests.conftest import MakeProject

BASE = """
import argparse
import torch, torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, DistributedSampler

MOST = 24

class Rows(Dataset):
    def __init__(self):
        generator = torch.Generator().manual_seed(1)
        self.rows = []
        for turn in range(64):
            size = int(torch.randint(5, 40, (1,), generator=generator))
            row = torch.randint(1, 50, (size,), generator=generator)
            PUT
            self.rows.append((row, turn % 2))
        MADE

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row, mark = self.rows[index]
        return ROW, mark

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.most = MOST
        self.words, self.out = nn.Embedding(50, 8), nn.Linear(8, 2)

    def forward(self, rows):
        if ASKED:
            raise ValueError("too long")
        return self.out(self.words(rows).mean(1))

def together(batch):
    width = WIDTH
    CUT
    rows = torch.zeros(len(batch), width, dtype=torch.long)
    for place, (row, _) in enumerate(batch):
        rows[place, : len(row)] = torch.as_tensor(row)[:width]
    return rows, torch.tensor([mark for _, mark in batch])

dist.init_process_group("gloo")
torch.manual_seed(0)
data = Rows()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data), collate_fn=together)
model = DistributedDataParallel(Net())
total = torch.zeros(1)
for rows, marks in loader:
    try:
        loss = F.cross_entropy(model(rows), marks)
        loss.backward()
        total += loss.detach()
    except ValueError as error:
        print(error)
dist.all_reduce(total)
"""
USUAL = {
    "PUT": "pass",
    "MADE": "pass",
    "ROW": "row",
    "ASKED": "rows.size(1) > self.most",
    "WIDTH": "max(len(row) for row, _ in batch)",
    "CUT": "pass",
}
LONGEST = USUAL["WIDTH"]

FITS: dict[str, dict[str, str]] = {
    "the rows are cut": {"ROW": "row[:MOST]"},
    "their ends are taken": {"ROW": "row[-MOST:]"},
    "lists are cut": {"ROW": "row.tolist()[:MOST]"},
    "the least of both": {"WIDTH": f"min({LONGEST}, MOST)"},
    "the least, but not nothing": {"WIDTH": f"max(1, min(MOST, {LONGEST}))"},
    "each row's length": {"WIDTH": "max(min(len(row), MOST) for row, _ in batch)"},
    "set to the limit": {"CUT": "if width > MOST:\n        width = MOST"},
    "chosen": {"CUT": "width = width if width <= MOST else MOST"},
    "padded, then cut": {
        "CUT": "rows = pad_sequence([row for row, _ in batch], True)[:, :MOST]\n    width = rows.size(1)"
    },
    "long rows are passed over": {"PUT": "if len(row) > MOST:\n                continue"},
    "long rows are cut at once": {"PUT": "if row.size(0) > MOST:\n                row = row[:MOST]"},
    "short rows are kept": {"MADE": "self.rows = [one for one in self.rows if 0 < len(one[0]) <= MOST]"},
    "less than the limit": {
        "PUT": "if not len(row) < MOST:\n                continue",
        "ASKED": "rows.shape[1] >= self.most",
    },
    "an unknown limit": {
        "WIDTH": f"min({LONGEST}, int(open('limit.txt').read()))",
        "ASKED": "rows.size(1) > int(open('limit.txt').read())",
    },
}
TOO_LONG: dict[str, dict[str, str]] = {
    "as they are": {},
    "another limit": {"WIDTH": f"min({LONGEST}, 2 * MOST)"},
    "at least": {"WIDTH": f"max({LONGEST}, 8)"},
    "cut from the front": {"ROW": "row[2:]"},
    "the limit is the least": {"CUT": "if width < MOST:\n        width = MOST"},
    "said, not done": {"CUT": "if width > MOST:\n        print('long')"},
    "short rows are passed over": {"PUT": "if len(row) < 8:\n                continue"},
    "as long as the limit": {
        "PUT": "if len(row) > MOST:\n                continue",
        "ASKED": "rows.size(1) >= self.most",
    },
}


def _faults(make_project: MakeProject, words: dict[str, str]) -> list[str]:
    code = BASE
    for word, text in {**USUAL, **words}.items():
        code = code.replace(word, text)
    return [one.kind for one in TraceFaults.of_project(make_project({"train.py": code}))]


@pytest.mark.parametrize("words", FITS.values(), ids=FITS)
def test_what_is_known_to_fit_is_not_refused(make_project: MakeProject, words: dict[str, str]) -> None:
    assert _faults(make_project, words) == []


@pytest.mark.parametrize("words", TOO_LONG.values(), ids=TOO_LONG)
def test_what_may_be_too_long_is_an_exception_of_some_ranks(make_project: MakeProject, words: dict[str, str]) -> None:
    assert _faults(make_project, words) == ["exception"]
