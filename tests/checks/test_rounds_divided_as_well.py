"""Batches of which the size and the rounds that they are added up over are both divided by the number of processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import argparse
import os
from dataclasses import dataclass
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset


def rows(count):
    return TensorDataset(torch.randn(count, 4), torch.randint(0, 2, (count,)))

"""
TRAINER = """
from transformers import HfArgumentParser, Trainer, TrainingArguments


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x, labels=None):
        out = self.layer(x)
        return {"loss": nn.functional.cross_entropy(out, labels), "logits": out}


class Data(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return {"x": torch.full((4,), float(index)), "labels": index % 2}

"""
BRANCH = """
def train(batch_size=64, micro=8):
    rounds = batch_size // micro
    world = int(os.environ.get("WORLD_SIZE", 1))
    ddp = world != 1
    if ddp:
        CHANGED
    args = TrainingArguments("out", per_device_train_batch_size=micro, gradient_accumulation_steps=rounds, max_steps=4)
    Trainer(model=Net(), args=args, train_dataset=Data()).train()


train()
"""
COMPUTED = """
world = int(os.environ["WORLD_SIZE"])
micro = 32 // world
args = TrainingArguments("out", per_device_train_batch_size=micro, gradient_accumulation_steps=ROUNDS, max_steps=4)
Trainer(model=Net(), args=args, train_dataset=Data()).train()
"""
STORED = """
args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
CHANGED
args.gradient_accumulation_steps //= args.world_size
Trainer(model=Net(), args=args, train_dataset=Data()).train()
"""
SETTINGS = """
def settings(total, micro):
    world = int(os.environ.get("WORLD_SIZE", "1"))
    rounds = max(1, total // micro // world)
    return {"per_device_train_batch_size": MICRO, "gradient_accumulation_steps": rounds}


args = TrainingArguments(output_dir="out", max_steps=4, **settings(64, 16))
Trainer(model=Net(), args=args, train_dataset=Data()).train()
"""
FIELDS = """
@dataclass
class Settings:
    batch: int = 32
    rounds: int = 4

    def __post_init__(self):
        world = int(os.environ.get("WORLD_SIZE", 1))
        self.rounds //= world
        CHANGED


cfg = Settings()
args = TrainingArguments(
    "out", max_steps=4, per_device_train_batch_size=cfg.batch, gradient_accumulation_steps=cfg.rounds
)
Trainer(model=Net(), args=args, train_dataset=Data()).train()
"""
LOOP = """
def main():
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=4)
    args = parser.parse_args()
    batch, rounds = args.batch_size, args.rounds
    CHANGED
    data = rows(64)
    loader = DataLoader(data, batch_size=batch, sampler=DistributedSampler(data, shuffle=False), drop_last=True)
    model = DistributedDataParallel(nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x), y) / rounds
        loss.backward()
        if (step + 1) % rounds == 0:
            optimizer.step()
            optimizer.zero_grad()
    dist.destroy_process_group()


main()
"""
NEXT = """
def main():
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    batch, rounds = 16, 4 // world
    CHANGED
    data = rows(64)
    loader = DataLoader(data, batch_size=batch, sampler=DistributedSampler(data, shuffle=False), drop_last=True)
    other = DataLoader(data, batch_size=16 // world, sampler=DistributedSampler(data, shuffle=False), drop_last=True)
    model = DistributedDataParallel(nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = iter(loader)
    for step in range(2):
        for turn in range(rounds):
            x, y = next(batches)
            loss = nn.functional.cross_entropy(model(x), y) / rounds
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    for x, y in other:
        model(x)
    dist.destroy_process_group()


main()
"""
OWN_CLASS = """
class Runner:
    def __init__(self, batch, rounds):
        dist.init_process_group("gloo")
        self.world = dist.get_world_size()
        self.rounds = ROUNDS
        data = rows(64)
        self.loader = DataLoader(data, batch // self.world, sampler=DistributedSampler(data, shuffle=False))
        self.model = DistributedDataParallel(nn.Linear(4, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def run(self):
        for step, (x, y) in enumerate(self.loader):
            loss = nn.functional.cross_entropy(self.model(x), y) / self.rounds
            loss.backward()
            if (step + 1) % self.rounds != 0:
                continue
            self.optimizer.step()
            self.optimizer.zero_grad()


Runner(16, 4).run()
"""
PREPARED = """
from accelerate import Accelerator

world = int(os.environ.get("WORLD_SIZE", 1))
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=8 // world)
loader = DataLoader(rows(64), batch_size=GIVEN, shuffle=True)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    with accelerator.accumulate(model):
        loss = nn.functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
"""
ENGINE = """
import deepspeed

deepspeed.init_distributed("gloo")
config = {"train_micro_batch_size_per_gpu": GIVEN, "gradient_accumulation_steps": 8 // dist.get_world_size()}
config["optimizer"] = {"type": "Adam", "params": {"lr": 1e-3}}
model = nn.Linear(4, 2)
engine, _, loader, _ = deepspeed.initialize(
    model=model, model_parameters=model.parameters(), config=config, training_data=rows(64)
)
for x, y in loader:
    engine.backward(nn.functional.cross_entropy(engine(x), y))
    engine.step()
"""
MODULE = """
import lightning as L

WORLD = int(os.environ.get("WORLD_SIZE", "1"))


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def training_step(self, batch, index):
        return nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Data(L.LightningDataModule):
    def train_dataloader(self):
        return DataLoader(rows(64), batch_size=GIVEN, shuffle=True)


L.Trainer(max_epochs=1, accumulate_grad_batches=8 // WORLD, accelerator="cpu", devices=2).fit(Net(), Data())
"""
LOGGED = """
def main():
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    batch, every = 16 // world, 32 // world
    data = rows(64)
    loader = DataLoader(data, batch_size=batch, sampler=DistributedSampler(data, shuffle=False), drop_last=True)
    model = DistributedDataParallel(nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % every == 0:
            print(loss.item())
    dist.destroy_process_group()


main()
"""


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (TRAINER + BRANCH.replace("CHANGED", "rounds, micro = rounds // world, micro // world"), True),
        (TRAINER + BRANCH.replace("CHANGED", "rounds //= world; micro //= world"), True),
        (TRAINER + BRANCH.replace("CHANGED", "rounds = rounds // world"), False),
        (TRAINER + BRANCH.replace("CHANGED", "micro = micro // world"), False),
        (TRAINER + BRANCH.replace("CHANGED", "rounds = batch_size // world // micro // world"), True),
        (TRAINER + BRANCH.replace("CHANGED", "micro //= world; rounds = batch_size // (micro * world)"), False),
        (TRAINER + COMPUTED.replace("ROUNDS", "8 // world"), True),
        (TRAINER + COMPUTED.replace("ROUNDS", "256 // (micro * world)"), False),
        (TRAINER + STORED.replace("CHANGED", "args.per_device_train_batch_size //= args.world_size"), True),
        (TRAINER + STORED.replace("CHANGED", ""), False),
        (TRAINER + SETTINGS.replace("MICRO", "micro // world"), True),
        (TRAINER + SETTINGS.replace("MICRO", "micro"), False),
        (TRAINER + FIELDS.replace("CHANGED", "self.batch //= world"), True),
        (TRAINER + FIELDS.replace("CHANGED", "self.world = world"), False),
        (LOOP.replace("CHANGED", "batch, rounds = batch // world, rounds // world"), True),
        (LOOP.replace("CHANGED", "if world > 1: batch //= world; rounds = max(1, rounds // world)"), True),
        (LOOP.replace("CHANGED", "rounds = rounds // world"), False),
        (LOOP.replace("CHANGED", "batch = batch // world; rounds = 128 // (batch * world)"), False),
        (NEXT.replace("CHANGED", "batch = batch // world"), True),
        (NEXT.replace("CHANGED", ""), False),
        (OWN_CLASS.replace("ROUNDS", "rounds // self.world"), True),
        (OWN_CLASS.replace("ROUNDS", "rounds"), False),
        (PREPARED.replace("GIVEN", "16 // world"), True),
        (PREPARED.replace("GIVEN", "16"), False),
        (ENGINE.replace("GIVEN", "16 // dist.get_world_size()"), True),
        (ENGINE.replace("GIVEN", "16"), False),
        (MODULE.replace("GIVEN", "32 // WORLD"), True),
        (MODULE.replace("GIVEN", "32"), False),
        (LOGGED, False),
    ],
)
def test_rounds_divided_as_well(text: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(HEAD + text)
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == (["PT258"] if wrong else [])
