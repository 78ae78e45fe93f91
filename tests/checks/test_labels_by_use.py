"""Labels of rows out of files, numbered in the order of a set: strings by how they are used, numbers, or nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import csv, json
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Rows(Dataset):
    def __init__(self, path):
        with open(path) as fh:
            self.rows = {rows}
        self.ids = {{}}
        {number}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return torch.tensor([float(v) for v in row["x"]]), {item}


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    data = Rows("train.jsonl")
    sampler = DistributedSampler(data)
    model = DDP(nn.Linear(4, len(data.ids)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in DataLoader(data, batch_size=8, sampler=sampler):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
JSON, CSV = "[json.loads(line) for line in fh]", "list(csv.DictReader(fh))"
PLAIN = 'self.ids[row["label"]]'
BY_NAME = 'self.ids = {name: i for i, name in enumerate(set(r["label"] for r in self.rows))}'
BY_LABEL = 'self.ids = {k: i for i, k in enumerate(set(r["label"] for r in self.rows))}'
LOOP = 'for label in {r["label"] for r in self.rows}:\n            self.ids[label] = len(self.ids)'
LOWER = 'for k in {r.get("label") for r in self.rows}:\n            self.ids[k.lower()] = 1\n            self.ids[k] = len(self.ids)'
LISTED = (
    'labels = [r["class_name"] for r in self.rows]\n        self.ids = dict(zip(set(labels), range(len(set(labels)))))'
)


@pytest.mark.parametrize(
    ("rows", "number", "item", "wrong"),
    [
        (JSON, BY_NAME, PLAIN, True),
        (CSV, BY_LABEL, PLAIN, True),
        (JSON, LISTED, 'self.ids[row["class_name"]]', True),
        (JSON, BY_LABEL, 'self.ids[row["label"].strip()]', True),
        (JSON, LOOP, 'self.ids[row["label"]] if row["label"] != "none" else 0', True),
        (JSON, LOWER, PLAIN, True),
        (JSON, BY_LABEL, PLAIN, False),
        (JSON, LOOP, PLAIN, False),
        (JSON, BY_NAME.replace('r["label"] for', 'int(r["label"]) for'), PLAIN, False),
        (JSON, BY_NAME.replace("set(", "sorted(set(").replace("rows))", "rows)))"), PLAIN, False),
        (JSON, BY_NAME.replace("set(r", "dict.fromkeys(r"), PLAIN, False),
        (JSON, BY_LABEL, 'self.ids[row["label"]] + (row["split"] == "test")', False),
    ],
)
def test_what_labels_are(
    rows: str, number: str, item: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = PROGRAM.replace("{{}}", "{}").replace("{rows}", rows).replace("{number}", number).replace("{item}", item)
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [one["code"] for one in check()["findings"] if one["code"] == "PT261"] == ["PT261"] * wrong
