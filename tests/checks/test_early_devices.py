"""Tensors that a module keeps on the first device from before its trainer started, and what they meet, in many spellings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
import os
import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def make_centers(n):
    return torch.randn(n, 3, device=DEVICE)

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.margin = 0.5
KEPT

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def training_step(self, batch, batch_idx):
        x, y = batch
USED

def main():
    trainer = L.Trainer(accelerator="gpu", devices=4, strategy="ddp", max_epochs=1)
    rows = TensorDataset(torch.randn(24, 6), torch.arange(24) % 3)
    trainer.fit(Net(), DataLoader(rows, batch_size=4))


if __name__ == "__main__":
    main()
"""
WRONG = {
    "queue": (
        """        self.queue = torch.randn(6, 128).cuda()
        self.ptr = 0""",
        """        z = F.normalize(self.layer(x), dim=1)
        neg = z @ self.queue.clone().detach()
        return neg.mean()""",
    ),
    "helperfn": (
        """        self.centers = make_centers(3)""",
        """        z = self.layer(x)
        d = torch.cdist(z, self.centers.unsqueeze(0))
        return d.mean()""",
    ),
    "derived": (
        """        self.anchors = (torch.arange(3, device=DEVICE).float() / 3).view(1, 3)""",
        """        z = self.layer(x)
        a = self.anchors.expand(z.shape[0], 3)
        return F.mse_loss(z, a)""",
    ),
    "stats": (
        """        self.mean, self.std = 0.0, 1.0
        self.shift = torch.tensor([0.1] * 6, device="cuda")""",
        """        return self.loss(x, y)

    def loss(self, inputs, labels):
        inputs = inputs.sub(self.shift)
        return F.cross_entropy(self.layer(inputs), labels)""",
    ),
    "stack": (
        """        self.table = torch.stack([torch.zeros(3, device=DEVICE), torch.ones(3, device=DEVICE)])""",
        """        z = self.layer(x)
        return (z[:2] - self.table).abs().mean()""",
    ),
    "made here": (
        """        self.anchors = torch.eye(3, device=DEVICE)""",
        """        w = torch.rand(3, 3, device=self.device)
        return self.layer(x).mean() + (w * self.anchors).sum()""",
    ),
}
RIGHT = {
    "number": (
        """        self.scale = torch.ones((), device=DEVICE)
        self.count = torch.zeros(3, device=DEVICE)""",
        """        n = x.shape[0]
        share = self.count / n
        self.log("share", share.mean() * len(y))
        return self.layer(x).mean()""",
    ),
    "moved": (
        """        self.queue = torch.randn(6, 128, device=DEVICE)""",
        """        q = self.queue.to(x)
        return (x @ q).mean() + self.layer(x).mean()""",
    ),
    "on fit start": (
        """        self.queue = torch.randn(6, 128, device=DEVICE)""",
        """        return (x @ self.queue).mean() + self.layer(x).mean()

    def on_fit_start(self):
        self.queue = self.queue.to(self.device)""",
    ),
    "param": (
        """        self.queue = nn.Parameter(torch.randn(6, 128, device=DEVICE))
        self.register_buffer("mean", torch.randn(6, device=DEVICE))""",
        """        return ((x - self.mean) @ self.queue).mean() + self.layer(x).mean()""",
    ),
    "together": (
        """        self.a = torch.randn(6, 128, device=DEVICE)
        self.b = torch.randn(128, 6, device=DEVICE)""",
        """        both = self.a @ self.b
        reg = both - self.a.sum() * self.margin
        self.log("reg", reg.mean().item())
        return self.layer(x).mean() + reg.mean().item()""",
    ),
    "cpu table": (
        """        self.table = torch.randn(6, 128)""",
        """        return (x @ self.table.to(x.device)).mean() + self.layer(x).mean()""",
    ),
    "copied": (
        """        self.bank = torch.zeros(64, 3, device=DEVICE)
        self.ptr = 0""",
        """        z = self.layer(x)
        n = len(z)
        self.bank[self.ptr:self.ptr + n].copy_(z.detach())
        self.ptr = (self.ptr + n) % 64
        hist = self.bank.mean(0).to(z.device)
        return (z - hist).pow(2).mean()""",
    ),
    "explicit": (
        """        self.anchors = torch.eye(3, device="cuda:0")""",
        """        z = self.layer(x).to("cuda:0")
        return (z @ self.anchors).mean()""",
    ),
    "cfg device": (
        """        self.dev = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        self.anchors = torch.eye(3, device=self.dev)""",
        """        return (self.layer(x) @ self.anchors).mean()""",
    ),
    "list": (
        """        self.names = torch.arange(3, device=DEVICE)""",
        """        for i in self.names.tolist():
            x = x + i
        k = int(self.names[0])
        return (self.layer(x) * k).mean()""",
    ),
}


def _is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str, used: str) -> bool:
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(CODE.replace("KEPT", kept).replace("USED", used))
    monkeypatch.chdir(tmp_path)
    return any(finding["code"] == "PT612" for finding in check()["findings"])


@pytest.mark.parametrize(("kept", "used"), WRONG.values(), ids=WRONG)
def test_a_tensor_of_the_first_device_meets_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str, used: str
) -> None:
    assert _is_found(tmp_path, monkeypatch, kept, used)


@pytest.mark.parametrize(("kept", "used"), RIGHT.values(), ids=RIGHT)
def test_a_tensor_that_meets_no_others_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str, used: str
) -> None:
    assert not _is_found(tmp_path, monkeypatch, kept, used)
