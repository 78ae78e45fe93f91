"""Files that every rank writes, makes or moves, and those that one of them does for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """import json
import os
import pickle
import shutil
import tarfile
import zipfile
import urllib.request
from pathlib import Path
import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, DistributedSampler
"""
TEMPLATES = {
    "samples": """
def build():
    g = torch.Generator().manual_seed(0)
    return torch.randn(64, 4, generator=g)

{top}

def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    {prep}
    data = TensorDataset(rows)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    model = DDP(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (x,) in loader:
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()
    dist.destroy_process_group()

main()
""",
    "data": """
import lightning as L
class Data(L.LightningDataModule):
    def __init__(self):
        super().__init__()
        self.path = "rows.pt"

    def {hook}(self, {args}):
        if not os.path.exists(self.path):
            {write}

    def train_dataloader(self):
        rows = torch.load(self.path)
        return DataLoader(TensorDataset(rows), batch_size=8, shuffle=True)

class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)
    def training_step(self, batch, i):
        return self.net(batch[0]).pow(2).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

def main():
    trainer = L.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=1)
    trainer.fit(Model(), datamodule=Data())
main()
""",
    "hooks": """
import lightning as L
from lightning.pytorch.utilities import rank_zero_only
class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)
        self.seen = []
    def training_step(self, batch, i):
        loss = self.net(batch[0]).pow(2).mean()
        self.seen.append(loss.item())
        return loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
    {deco}
    def {hook}(self):
        {body}

def main():
    rows = torch.randn(64, 4)
    trainer = L.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=1)
    trainer.fit(Model(), DataLoader(TensorDataset(rows), batch_size=8))
main()
""",
    "trainer": """
from transformers import Trainer, TrainingArguments
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)
    def forward(self, x, labels=None):
        return {{"loss": self.net(x).pow(2).mean()}}
def main():
    args = TrainingArguments("out", per_device_train_batch_size=4, max_steps=3, use_cpu=True, ddp_backend="gloo")
    {prep}
    data = [{{"x": r, "labels": r[0]}} for r in rows]
    trainer = Trainer(model=M(), args=args, train_dataset=data)
    trainer.train()
main()
""",
    "prepared": """
from accelerate import Accelerator
def main():
    accelerator = Accelerator()
    {prep}
    loader = DataLoader(TensorDataset(rows), batch_size=4, shuffle=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    model, opt, loader = accelerator.prepare(model, opt, loader)
    for (x,) in loader:
        loss = model(x).pow(2).mean()
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()
{more}
main()
""",
    "decorated": """
from accelerate import Accelerator
acc = Accelerator()


@acc.on_main_process
def make():
    torch.save(torch.randn(64, 4), "rows.pt")


def main():
    accelerator = Accelerator()
    {prep}
    loader = DataLoader(TensorDataset(rows), batch_size=4, shuffle=True)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    model, opt, loader = accelerator.prepare(model, opt, loader)
    for (x,) in loader:
        loss = model(x).pow(2).mean()
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()
main()
""",
}
EMPTY = {"top": "pass", "deco": "", "more": ""}
ABOUT_FILES = {"PT271", "PT531"}


@pytest.mark.parametrize(
    ("template", "parts", "by_all"),
    [
        pytest.param(
            "samples",
            {
                "prep": (
                    'if not os.path.exists("rows.pt"):\n'
                    '        torch.save(build(), "rows.pt")\n'
                    '    rows = torch.load("rows.pt")'
                )
            },
            True,
            id="save",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'if rank == 0 and not os.path.exists("rows.pt"):\n'
                    '        torch.save(build(), "rows.pt")\n'
                    "    dist.barrier()\n"
                    '    rows = torch.load("rows.pt")'
                )
            },
            False,
            id="save-right",
        ),
        pytest.param(
            "samples",
            {"prep": ('torch.save(build(), f"rows{rank}.pt")\n    rows = torch.load(f"rows{rank}.pt")')},
            False,
            id="save-own-right",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'if not os.path.isfile("rows.npy"):\n'
                    '        np.save("rows.npy", build().numpy())\n'
                    '    rows = torch.from_numpy(np.load("rows.npy"))'
                )
            },
            True,
            id="npsave",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'if not Path("rows.bin").exists():\n'
                    '        m = np.memmap("rows.bin", dtype="float32", mode="w+", shape=(64, 4))\n'
                    "        m[:] = build().numpy()\n"
                    "        m.flush()\n"
                    '    rows = torch.from_numpy(np.memmap("rows.bin", dtype="float32", mode="r", shape=(64, 4)).copy())'
                )
            },
            True,
            id="memmap",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'path = Path("rows.json")\n'
                    "    if not path.exists():\n"
                    '        with path.open("w") as f:\n'
                    "            json.dump(build().tolist(), f)\n"
                    "    rows = torch.tensor(json.loads(path.read_text()))"
                )
            },
            True,
            id="json",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'with open("rows.jsonl", "w") as f:\n'
                    "        for r in build().tolist():\n"
                    '            f.write(json.dumps(r) + "\\n")\n'
                    '    with open("rows.jsonl") as f:\n'
                    "        rows = torch.tensor([json.loads(line) for line in f])"
                )
            },
            True,
            id="jsonl",
        ),
        pytest.param(
            "samples",
            {
                "prep": 'rows = load_rows("cache")',
                "top": (
                    "def load_rows(folder):\n"
                    "    os.makedirs(folder, exist_ok=True)\n"
                    '    path = os.path.join(folder, "rows.pkl")\n'
                    "    if os.path.exists(path):\n"
                    '        with open(path, "rb") as f:\n'
                    "            return pickle.load(f)\n"
                    "    rows = build()\n"
                    '    with open(path, "wb") as f:\n'
                    "        pickle.dump(rows, f)\n"
                    "    return rows"
                ),
            },
            True,
            id="pickle-fn",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    "if rank != 0:\n"
                    "        dist.barrier()\n"
                    '    rows = load_rows("cache")\n'
                    "    if rank == 0:\n"
                    "        dist.barrier()"
                ),
                "top": (
                    "def load_rows(folder):\n"
                    "    os.makedirs(folder, exist_ok=True)\n"
                    '    path = os.path.join(folder, "rows.pkl")\n'
                    "    if os.path.exists(path):\n"
                    '        with open(path, "rb") as f:\n'
                    "            return pickle.load(f)\n"
                    "    rows = build()\n"
                    '    with open(path, "wb") as f:\n'
                    "        pickle.dump(rows, f)\n"
                    "    return rows"
                ),
            },
            False,
            id="pickle-first-right",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'if not os.path.exists("rows.pt"):\n'
                    '        urllib.request.urlretrieve("https://example.org/rows.pt", "rows.pt")\n'
                    '    rows = torch.load("rows.pt")'
                )
            },
            True,
            id="urlretrieve",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'torch.hub.download_url_to_file("https://example.org/rows.pt", "rows.pt")\n'
                    '    rows = torch.load("rows.pt")'
                )
            },
            True,
            id="torchhub",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'if not os.path.isdir("rows"):\n'
                    '        with tarfile.open("rows.tar.gz") as t:\n'
                    '            t.extractall("rows")\n'
                    '    rows = torch.load("rows/rows.pt")'
                )
            },
            True,
            id="tar",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'if not os.path.isdir("rows"):\n'
                    '        with zipfile.ZipFile("rows.zip") as z:\n'
                    '            z.extractall("rows")\n'
                    '    rows = torch.load("rows/rows.pt")'
                )
            },
            True,
            id="zip",
        ),
        pytest.param(
            "samples",
            {"prep": ('shutil.unpack_archive("rows.zip", "rows")\n    rows = torch.load("rows/rows.pt")')},
            True,
            id="unpack",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    "from torchvision.datasets import MNIST\n"
                    '    rows = MNIST("data", train=True, download=True).data.float().view(-1, 4)'
                )
            },
            True,
            id="mnist",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    "from torchvision.datasets import MNIST\n"
                    "    if rank == 0:\n"
                    '        MNIST("data", train=True, download=True)\n'
                    "    dist.barrier()\n"
                    '    rows = MNIST("data", train=True, download=False).data.float().view(-1, 4)'
                )
            },
            False,
            id="mnist-right",
        ),
        pytest.param(
            "samples",
            {"prep": ('if not os.path.exists("cache"):\n        os.mkdir("cache")\n    rows = build()')},
            True,
            id="mkdir",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'if not os.path.exists("rows.pt"):\n'
                    '        torch.save(build(), "rows.pt.tmp")\n'
                    '        os.rename("rows.pt.tmp", "rows.pt")\n'
                    '    rows = torch.load("rows.pt")'
                )
            },
            True,
            id="rename",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'if not os.path.exists("rows.pt"):\n'
                    '        tmp = f"rows.pt.{os.getpid()}"\n'
                    "        torch.save(build(), tmp)\n"
                    '        os.replace(tmp, "rows.pt")\n'
                    '    rows = torch.load("rows.pt")'
                )
            },
            False,
            id="rename-own-right",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'if os.path.exists("cache"):\n'
                    '        shutil.rmtree("cache")\n'
                    '    os.makedirs("cache", exist_ok=True)\n'
                    "    rows = build()"
                )
            },
            True,
            id="rmtree",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'if int(os.environ["LOCAL_RANK"]) == 0:\n'
                    '        torch.save(build(), "rows.pt")\n'
                    "    dist.barrier()\n"
                    '    rows = torch.load("rows.pt")'
                )
            },
            False,
            id="local-rank-right",
        ),
        pytest.param(
            "data",
            {"hook": "setup", "args": "stage=None", "write": "torch.save(torch.randn(64, 4), self.path)"},
            True,
            id="pl-setup-save",
        ),
        pytest.param(
            "data",
            {
                "hook": "setup",
                "args": "stage=None",
                "write": (
                    'torch.save(torch.randn(64, 4), self.path + ".tmp")\n'
                    '            os.rename(self.path + ".tmp", self.path)'
                ),
            },
            True,
            id="pl-setup-rename",
        ),
        pytest.param(
            "data",
            {"hook": "prepare_data", "args": "", "write": "torch.save(torch.randn(64, 4), self.path)"},
            False,
            id="pl-prepare-right",
        ),
        pytest.param(
            "data",
            {
                "hook": "setup",
                "args": "stage",
                "write": 'urllib.request.urlretrieve("https://example.org/r.pt", self.path)',
            },
            True,
            id="pl-setup-url",
        ),
        pytest.param(
            "trainer",
            {
                "prep": (
                    'if not os.path.exists("rows.pt"):\n'
                    '        torch.save(torch.randn(64, 4), "rows.pt")\n'
                    '    rows = torch.load("rows.pt")'
                )
            },
            True,
            id="hf-save",
        ),
        pytest.param(
            "trainer",
            {
                "prep": (
                    "with args.main_process_first():\n"
                    '        if not os.path.exists("rows.pt"):\n'
                    '            torch.save(torch.randn(64, 4), "rows.pt")\n'
                    '    rows = torch.load("rows.pt")'
                )
            },
            False,
            id="hf-first-right",
        ),
        pytest.param(
            "trainer",
            {
                "prep": (
                    'if not os.path.exists("rows.pt"):\n'
                    '        torch.save(torch.randn(64, 4), "t.pt")\n'
                    '        os.rename("t.pt", "rows.pt")\n'
                    '    rows = torch.load("rows.pt")'
                )
            },
            True,
            id="hf-rename",
        ),
        pytest.param(
            "prepared",
            {
                "prep": (
                    'if not os.path.exists("rows.pt"):\n'
                    '        torch.save(torch.randn(64, 4), "rows.pt")\n'
                    '    rows = torch.load("rows.pt")'
                )
            },
            True,
            id="acc-save",
        ),
        pytest.param(
            "prepared",
            {
                "prep": (
                    "with accelerator.main_process_first():\n"
                    '        if not os.path.exists("rows.pt"):\n'
                    '            torch.save(torch.randn(64, 4), "rows.pt")\n'
                    '    rows = torch.load("rows.pt")'
                )
            },
            False,
            id="acc-first-right",
        ),
        pytest.param(
            "prepared",
            {
                "prep": (
                    "if accelerator.is_main_process:\n"
                    '        torch.save(torch.randn(64, 4), "rows.pt")\n'
                    "    accelerator.wait_for_everyone()\n"
                    '    rows = torch.load("rows.pt")'
                )
            },
            False,
            id="acc-main-right",
        ),
        pytest.param(
            "decorated",
            {"prep": ('make()\n    accelerator.wait_for_everyone()\n    rows = torch.load("rows.pt")')},
            False,
            id="acc-deco-right",
        ),
        pytest.param(
            "hooks",
            {
                "hook": "on_train_end",
                "body": ('with open("loss.json", "w") as f:\n            json.dump(self.seen, f)'),
            },
            True,
            id="hook-end-dump",
        ),
        pytest.param(
            "hooks",
            {
                "hook": "on_train_end",
                "body": (
                    "if self.trainer.is_global_zero:\n"
                    '            with open("loss.json", "w") as f:\n'
                    "                json.dump(self.seen, f)"
                ),
            },
            False,
            id="hook-zero-right",
        ),
        pytest.param(
            "hooks",
            {
                "hook": "on_train_end",
                "body": (
                    "if self.trainer.is_global_zero and len(self.seen) > 1:\n"
                    '            with open("loss.json", "w") as f:\n'
                    "                json.dump(self.seen, f)"
                ),
            },
            False,
            id="hook-zero-and-right",
        ),
        pytest.param(
            "hooks",
            {
                "hook": "on_train_end",
                "body": (
                    "if self.current_epoch > 0 and self.trainer.is_global_zero:\n"
                    '            with open("loss.json", "w") as f:\n'
                    "                json.dump(self.seen, f)"
                ),
            },
            False,
            id="hook-and-zero-right",
        ),
        pytest.param(
            "hooks",
            {
                "hook": "on_train_end",
                "body": (
                    "if self.global_rank == 0:\n"
                    '            with open("loss.json", "w") as f:\n'
                    "                json.dump(self.seen, f)"
                ),
            },
            False,
            id="hook-rank-right",
        ),
        pytest.param(
            "hooks",
            {
                "hook": "on_train_end",
                "body": ('with open(f"loss{self.global_rank}.json", "w") as f:\n            json.dump(self.seen, f)'),
            },
            False,
            id="hook-own-right",
        ),
        pytest.param(
            "hooks",
            {
                "hook": "on_train_end",
                "body": ('with open("loss.json", "w") as f:\n            json.dump(self.seen, f)'),
                "deco": "@rank_zero_only",
            },
            False,
            id="hook-deco-right",
        ),
        pytest.param(
            "hooks",
            {
                "hook": "on_train_end",
                "body": (
                    "if not self.trainer.is_global_zero:\n"
                    "            return\n"
                    '        with open("loss.json", "w") as f:\n'
                    "            json.dump(self.seen, f)"
                ),
            },
            False,
            id="hook-early-right",
        ),
        pytest.param(
            "prepared",
            {
                "prep": (
                    "rows = torch.randn(64, 4)\n"
                    "    if accelerator.is_local_main_process:\n"
                    '        torch.save(rows, "rows.pt")'
                )
            },
            False,
            id="acc-local-right",
        ),
        pytest.param(
            "prepared",
            {
                "prep": (
                    "rows = torch.randn(64, 4)\n"
                    "    if accelerator.process_index == 0:\n"
                    '        torch.save(rows, "rows.pt")'
                )
            },
            False,
            id="acc-idx-right",
        ),
        pytest.param(
            "prepared",
            {
                "prep": (
                    "rows = torch.randn(64, 4)\n"
                    "    if accelerator.state.is_main_process:\n"
                    '        torch.save(rows, "rows.pt")'
                )
            },
            False,
            id="acc-state-right",
        ),
        pytest.param(
            "prepared",
            {
                "prep": "rows = torch.randn(64, 4)",
                "more": '    torch.save(accelerator.unwrap_model(model).state_dict(), "model.pt")',
            },
            True,
            id="acc-model",
        ),
        pytest.param(
            "prepared",
            {
                "prep": "rows = torch.randn(64, 4)",
                "more": '    accelerator.save(accelerator.unwrap_model(model).state_dict(), "model.pt")',
            },
            False,
            id="acc-accsave-right",
        ),
        pytest.param(
            "prepared",
            {
                "prep": "rows = torch.randn(64, 4)",
                "more": ('    with open("log.txt", "a") as f:\n        f.write(f"{loss.item()}\\n")'),
            },
            True,
            id="acc-log",
        ),
        pytest.param(
            "prepared",
            {
                "prep": "rows = torch.randn(64, 4)",
                "more": (
                    "    if accelerator.is_main_process:\n"
                    '        with open("log.txt", "a") as f:\n'
                    '            f.write(f"{loss.item()}\\n")'
                ),
            },
            False,
            id="acc-prog-right",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    'args_rank = int(os.environ.get("LOCAL_RANK", -1))\n'
                    "    rows = build()\n"
                    "    if args_rank in (-1, 0):\n"
                    '        np.save("rows.npy", rows.numpy())'
                )
            },
            False,
            id="lr-right",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    "rows = build()\n"
                    "    if rank % torch.cuda.device_count() == 0:\n"
                    '        np.save("rows.npy", rows.numpy())'
                )
            },
            False,
            id="node-right",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    "import tempfile\n"
                    "    rows = build()\n"
                    "    with tempfile.TemporaryDirectory() as d:\n"
                    '        np.save(os.path.join(d, "rows.npy"), rows.numpy())'
                )
            },
            False,
            id="tmpdir-right",
        ),
        pytest.param(
            "samples",
            {
                "prep": (
                    "import time\n"
                    "    rows = build()\n"
                    '    out = os.path.join("runs", time.strftime("%Y%m%d-%H%M%S"))\n'
                    "    os.makedirs(out, exist_ok=True)\n"
                    '    np.save(os.path.join(out, "rows.npy"), rows.numpy())'
                )
            },
            False,
            id="timestamp-right",
        ),
    ],
)
def test_files_of_all(
    template: str, parts: dict[str, str], by_all: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What every rank does to a file at once is found; what one of them does, or each for itself, is not, and nothing else is said."""
    (tmp_path / "train.py").write_text(HEAD + TEMPLATES[template].format(**{**EMPTY, **parts}))
    monkeypatch.chdir(tmp_path)
    codes = {finding["code"] for finding in check()["findings"]}
    assert codes <= ABOUT_FILES
    assert bool(codes) is by_all
