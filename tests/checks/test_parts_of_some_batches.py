"""Layers that a pass uses where its batch has something for them: spellings unlike the fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import argparse
import json
from functools import partial
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from transformers import Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--pictures", action="store_true")
OPTIONS = parser.parse_args()


class Rows(Dataset):
    def __init__(self, pictures=OPTIONS.pictures):
        self.pictures = pictures
        {rows}

    def __len__(self):
        return 64

    def __getitem__(self, i):
        {row}


def put_together(rows):
    ids = torch.tensor([row["ids"] for row in rows])
    batch = {{"ids": ids, "labels": ids.clone()}}
    {images}
    {collate}
    return batch


class Collator:
    def __init__(self, size=8):
        self.size = size

    def __call__(self, rows):
        return put_together(rows)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 16)
        self.eye = nn.Conv2d(3, 16, 8)
        self.bridge = nn.Linear(16, 16)
        self.head = nn.Linear(16, 64)

    def see(self, pixels):
        return self.bridge(self.eye(pixels).flatten(2).mean(-1))

    def forward(self, {parameters}):
        h = self.embed(ids)
        {sees}
        loss = nn.functional.cross_entropy(self.head(h).flatten(0, 1), labels.flatten())
        return {{"loss": loss}}


{program}
"""
WITH_TRAINER = """
class Own(Trainer):
    {methods}


def told():
    return TrainingArguments("out", max_steps=9, remove_unused_columns=False, report_to=[], use_cpu=True, {switch})


def main():
    net = Net()
    {before}
    trainer = Own(model=net, args=told(), train_dataset=Rows(), data_collator={collator})
    trainer.train()


main()
"""
WITH_LOOP = """
def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    net = Net()
    {before}
    model = DDP(net{switch})
    rows = Rows()
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, batch_size=2, sampler=sampler, collate_fn={collator})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for batch in loader:
            {inside}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


main()
"""
LISTED = 'self.rows = [{"ids": [1, 2, 3], "image": torch.randn(3, 8, 8) if i % 3 else None} for i in range(64)]'
IMAGES = 'images = [row["image"] for row in rows if row["image"] is not None]'
STACKED = "batch['pixels'] = torch.stack(images)"
PARAMETERS = "ids, labels=None, pixels=None"
SEEN = "h = h + self.see(pixels).mean(0)"
GIVEN = f"if pixels is not None:\n            {SEEN}"
OFF = "ddp_find_unused_parameters=False"


def codes(*, loop: bool = False, **parts: str) -> list[str]:
    """The rules that have findings in a program with these parts."""
    usual = {
        "rows": LISTED,
        "row": "return self.rows[i]",
        "images": IMAGES,
        "collate": f"if images:\n        {STACKED}",
        "parameters": PARAMETERS,
        "sees": GIVEN,
        "collator": "put_together",
        "before": "pass",
        "methods": "pass",
        "switch": "" if loop else OFF,
        "inside": 'loss = model(**batch)["loss"]',
    }
    given = {**usual, **parts}
    program = (WITH_LOOP if loop else WITH_TRAINER).format(**given)
    Path("train.py").write_text(PROGRAM.format(**{**given, "program": program}), encoding="utf-8")
    return sorted({one["code"] for one in check()["findings"] if one["severity"] != "note"})


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"collate": f"if len(images) > 0:\n        {STACKED}"},
        {"collate": "batch['pixels'] = torch.stack(images) if images else None"},
        {"collate": f"if any(row['image'] is not None for row in rows):\n        {STACKED}"},
        {"collate": "if not images:\n        return batch\n    batch = {**batch, 'pixels': torch.stack(images)}"},
        {"collate": f"if not images:\n        return batch\n    {STACKED}"},
        {"collate": "if images:\n        batch.update(pixels=torch.stack(images))"},
        {"collate": "if images:\n        batch.update({'pixels': torch.stack(images)})"},
        {"collator": "Collator()"},
        {"collator": "lambda rows: put_together(rows)"},
        {"collator": "partial(put_together)"},
        {
            "parameters": "ids, labels=None, **more",
            "sees": f"if 'pixels' in more:\n            pixels = more['pixels']\n            {SEEN}",
        },
        {
            "parameters": "ids, labels=None, **more",
            "sees": f"pixels = more.get('pixels')\n        if pixels is not None:\n            {SEEN}",
        },
        {
            "parameters": "ids, labels=None, **more",
            "sees": f"pixels = more.pop('pixels', None)\n        if pixels is not None:\n            {SEEN}",
        },
        {"sees": "seen = self.see(pixels).mean(0) if pixels is not None else 0\n        h = h + seen"},
        {"sees": f"if pixels is not None and self.training:\n            {SEEN}"},
        {"sees": f"{GIVEN}\n        else:\n            h = h + self.bridge(torch.zeros(1, 16))"},
    ],
)
def test_a_batch_without_it_leaves_layers_out(parts: dict[str, str], *, loop: bool) -> None:
    assert codes(loop=loop, **parts) == ["PT289"]


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize(
    "parts",
    [
        {"collate": f"{STACKED}"},
        {"collate": f"if images:\n        {STACKED}\n    else:\n        batch['pixels'] = torch.zeros(1, 3, 8, 8)"},
        {"collate": "batch['pixels'] = torch.stack(images) if images else torch.zeros(1, 3, 8, 8)"},
        {
            "collate": "if not images:\n        images = [torch.zeros(3, 8, 8)]\n    batch['pixels'] = torch.stack(images)"
        },
        {"sees": f"{GIVEN}\n        else:\n            h = h + 0.0 * self.see(torch.zeros(1, 3, 8, 8)).sum()"},
        {"sees": f"if pixels is None:\n            pixels = torch.zeros(1, 3, 8, 8)\n        {SEEN}"},
        {"sees": f"pixels = pixels if pixels is not None else torch.zeros(1, 3, 8, 8)\n        {SEEN}"},
        {"before": "net.eye.requires_grad_(False)\n    net.bridge.requires_grad_(False)"},
        {
            "collate": "if images:\n        batch['marks'] = torch.stack(images)",
            "parameters": "ids, labels=None, marks=None",
            "sees": "h = h + self.see(torch.zeros(1, 3, 8, 8)).mean(0) * (2 if marks is not None else 1)",
        },
        {
            "parameters": "ids, labels=None, **more",
            "sees": "pixels = more.get('pixels', torch.zeros(1, 3, 8, 8))\n        " + SEEN,
        },
        {"sees": f"{GIVEN}\n        h = h + 0 * self.see(torch.zeros(1, 3, 8, 8)).mean(0)"},
    ],
)
def test_layers_that_have_a_part_anyway(parts: dict[str, str], *, loop: bool) -> None:
    assert codes(loop=loop, **parts) == []


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"row": 'return {"ids": [1, 2, 3], "image": torch.randn(3, 8, 8) if i % 3 else None}'}, ["PT289"]),
        (
            {
                "row": "image = None\n        if i % 3:\n            image = torch.randn(3, 8, 8)\n        return dict(ids=[], image=image)"
            },
            ["PT289"],
        ),
        (
            {
                "row": 'row = {"ids": [1]}\n        if i % 3:\n            row["image"] = torch.randn(3, 8, 8)\n        return row',
                "images": 'images = [row["image"] for row in rows if "image" in row]',
            },
            ["PT289"],
        ),
        (
            {
                "row": 'row = {"ids": [1]}\n        if i % 3:\n            row["image"] = torch.randn(3, 8, 8)\n        return row',
                "images": 'images = [row["image"] for row in rows if row.get("image") is not None]',
            },
            ["PT289"],
        ),
        (
            {
                "rows": "self.rows = []\n        for _ in range(900):\n            row = {'ids': [1], 'image': None}\n"
                "            if torch.rand(()) < 0.3:\n                row['image'] = torch.randn(3, 8, 8)\n"
                "            self.rows.append(row)",
            },
            ["PT289"],
        ),
        ({"rows": 'self.rows = [{"ids": [1, 2, 3], "image": torch.randn(3, 8, 8)} for i in range(64)]'}, []),
        ({"row": 'return {"ids": [1, 2, 3], "image": torch.randn(3, 8, 8)}'}, []),
        ({"row": 'return {"ids": [1, 2, 3], "image": torch.randn(3, 8, 8) if self.pictures else None}'}, []),
        ({"rows": 'self.rows = [json.loads(line) for line in open("rows.jsonl")]'}, []),
        ({"rows": 'self.rows = torch.load("rows.pt")'}, []),
        ({"images": 'images = [row["image"] for row in rows]'}, []),
    ],
)
def test_rows_of_which_some_certainly_lack_it(parts: dict[str, str], expected: list[str]) -> None:
    assert codes(**parts) == expected
    assert codes(loop=True, **parts) == expected


@pytest.mark.parametrize(
    "images",
    [
        'images = []\n    for row in rows:\n        if row["image"] is not None:\n            images.append(row["image"])',
        'images = [one for one in (row["image"] for row in rows) if one is not None]',
        'images = [row.get("image") for row in rows if row.get("image") is not None]',
    ],
)
def test_how_those_are_gathered_that_have_it(images: str) -> None:
    assert codes(images=images) == ["PT289"]


def test_a_wrapper_that_looks_for_what_is_unused() -> None:
    for switch in (
        "",
        "ddp_find_unused_parameters=True",
        "ddp_find_unused_parameters=None",
        f"{OFF}, fsdp='full_shard'",
    ):
        assert codes(switch=switch) == []
    assert codes(loop=True, switch=", find_unused_parameters=True") == []


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ('batch = {k: v.to("cpu") for k, v in batch.items()}\n            loss = model(**batch)["loss"]', ["PT289"]),
        ('loss = model(batch["ids"], batch["labels"], batch.get("pixels"))["loss"]', ["PT289"]),
        ('labels = batch.pop("labels")\n            loss = model(labels=labels, **batch)["loss"]', ["PT289"]),
        (
            'seen = batch.get("pixels", torch.zeros(1, 3, 8, 8))\n            loss = model(batch["ids"], batch["labels"], seen)["loss"]',
            [],
        ),
        ('if "pixels" not in batch:\n                continue\n            loss = model(**batch)["loss"]', []),
        ('batch.setdefault("pixels", torch.zeros(1, 3, 8, 8))\n            loss = model(**batch)["loss"]', []),
    ],
)
def test_how_a_loop_hands_it_on(inside: str, expected: list[str]) -> None:
    found = codes(loop=True, inside=inside)
    assert [one for one in found if one == "PT289"] == expected


METHOD = """def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        {code}
        return (loss, outputs) if return_outputs else loss"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('outputs = model(**inputs)\n        loss = outputs["loss"]', ["PT289"]),
        ("loss, outputs = super().compute_loss(model, inputs, return_outputs=True)", ["PT289"]),
        (
            'labels = inputs.pop("labels")\n        outputs = model(labels=labels, **inputs)\n        loss = outputs["loss"]',
            ["PT289"],
        ),
        (
            'inputs = self._prepare_inputs(inputs)\n        outputs = model(**inputs)\n        loss = outputs["loss"].mean()',
            ["PT289"],
        ),
        (
            'inputs.setdefault("pixels", torch.zeros(1, 3, 8, 8))\n        outputs = model(**inputs)\n        loss = outputs["loss"]',
            [],
        ),
        (
            "inputs['pixels'] = inputs.get('pixels', torch.ones(1, 3, 8, 8))\n        outputs = model(**inputs)\n        loss = outputs[0]",
            [],
        ),
    ],
)
def test_how_a_class_of_its_own_hands_it_on(code: str, expected: list[str]) -> None:
    assert codes(methods=METHOD.format(code=code)) == expected
