"""What programs of Accelerate, Trainer and Lightning lose with several processes, in spellings that are unlike the fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CHECKPOINTS = """
import torch
from torch.utils.data import Dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

class Rows(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return {"input_ids": torch.arange(4), "labels": torch.arange(4)}

CHECKPOINTS = {"gradient_checkpointing": True, "ddp_find_unused_parameters": True}
model = AutoModelForCausalLM.from_pretrained("gpt2")
args = TrainingArguments("out", max_steps=2, **CHECKPOINTS)
Trainer(model=model, args=args, train_dataset=Rows()).train()
"""

BAD = {
    "checkpoints as an older release makes them": (
        {"train.py": CHECKPOINTS, "requirements.txt": "transformers==4.57.6\n"},
        {"HF226"},
    ),
    "a step in an engine of its own": (
        {
            "train.py": """
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Engine:
    def __init__(self, cfg):
        self.cfg = cfg
        self.acc = Accelerator(cpu=True, gradient_accumulation_steps=cfg["accum"])
        self.net = nn.Linear(4, 1)
        self.opt = torch.optim.Adam(self.net.parameters())
        self.dl = DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=cfg["bs"])
        self.setup()
    def setup(self):
        self.ddp, self.opt, self.dl = self.acc.prepare(self.net, self.opt, self.dl)
    def step(self, batch):
        x, y = batch
        pred = self.net(x)
        loss = ((pred - y) ** 2).mean()
        self.acc.backward(loss)
        if self.acc.sync_gradients:
            self.acc.clip_grad_norm_(self.ddp.parameters(), 1.0)
        self.opt.step()
        self.opt.zero_grad()
    def run(self):
        for b in self.dl:
            with self.acc.accumulate(self.ddp):
                self.step(b)

if __name__ == "__main__":
    Engine({"accum": 2, "bs": 4}).run()
""",
        },
        {"HF209"},
    ),
    "a method of the model in another module": (
        {
            "train.py": """
import torch
from accelerate import Accelerator
from model import Tiny
from data import build
def main():
    accelerator = Accelerator(cpu=True)
    model = Tiny()
    optimizer = torch.optim.SGD(model.parameters(), lr=.1)
    dl = build(8)
    model, optimizer = accelerator.prepare(model, optimizer)
    for epoch in range(2):
        it = iter(dl)
        while True:
            try:
                x, y = next(it)
            except StopIteration:
                break
            loss = model.compute_loss(x, y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
main()
""",
            "model.py": """
import torch
class Tiny(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 1)
    def forward(self, x):
        return self.l(x)
    def compute_loss(self, x, y):
        return ((self(x) - y) ** 2).mean()
""",
            "data.py": """
import torch
from torch.utils.data import DataLoader, TensorDataset
def build(bs):
    torch.manual_seed(0)
    return DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=bs)
""",
        },
        {"HF215"},
    ),
    "a helper that gives the prepared objects to nobody": (
        {
            "train.py": """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
def setup(acc, net, opt, dl):
    return acc.prepare(net, opt, dl)
def train(acc, net, opt, dl):
    for (x,) in dl:
        loss = net(x).pow(2).mean()
        acc.backward(loss)
        opt.step(); opt.zero_grad()
def main():
    acc = Accelerator(cpu=True)
    net = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    dl = DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=4)
    setup(acc, net, opt, dl)
    train(acc, net, opt, dl)
main()
""",
        },
        {"HF209"},
    ),
    "parts of a tuple": (
        {
            "train.py": """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
dl = DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=4)
prepared = acc.prepare(net, opt, dl)
ddp, dl = prepared[0], prepared[2]
for (x,) in dl:
    with acc.accumulate(ddp):
        acc.backward(ddp(x).pow(2).mean())
        opt.step()
        opt.zero_grad()
""",
        },
        {"HF210"},
    ),
    "a mixin with the loss": (
        {
            "train.py": """
from base import LossMixin
from transformers import Trainer, TrainingArguments
import torch
class MyTrainer(LossMixin, Trainer):
    pass
def main(net, data):
    t = MyTrainer(model=net, args=TrainingArguments("o", use_cpu=True), train_dataset=data)
    t.train()
main(torch.nn.Linear(1, 1), [])
""",
            "base.py": """
class LossMixin:
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        logits = self.model(inputs["x"])
        loss = (logits.squeeze(-1) - labels).pow(2).mean()
        return (loss, {"logits": logits}) if return_outputs else loss
""",
        },
        {"HF230"},
    ),
    "a variable between test and flag": (
        {
            "train.py": """
from transformers import Trainer, TrainingArguments, TrainerCallback
import torch
class Cb(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        main = state.is_world_process_zero
        reached = state.global_step >= 2
        stop = main and reached
        control.should_training_stop = stop
        return control
class Cb2(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        if not state.is_world_process_zero:
            return control
        if state.global_step >= 2:
            control.should_training_stop = True
        return control
""",
        },
        {"HF501"},
    ),
    "a switch in a base class": (
        {
            "train.py": """
import lightning.pytorch as pl
import torch
class Base(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
class M(Base):
    def __init__(self):
        super().__init__(); self.l = torch.nn.Linear(4, 1)
    def training_step(self, b, i):
        opt = self.optimizers()
        loss = self.l(b).pow(2).mean()
        self._update(opt, loss)
    def _update(self, opt, loss):
        opt.zero_grad()
        loss.backward()
        opt.step()
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), 0.1)
def build():
    return pl.Trainer(accelerator="cpu", devices=[0, 1], strategy="ddp")
if __name__ == "__main__":
    t = build(); t.fit(M(), torch.utils.data.DataLoader(torch.randn(32, 4), batch_size=4))
""",
        },
        {"PT230"},
    ),
    "a division by the number of an option": (
        {
            "train.py": """
import torch, argparse
from accelerate import Accelerator
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

def get_loaders(bs):
    g = torch.Generator().manual_seed(0)
    ds = TensorDataset(torch.randn(64, 4, generator=g), torch.randint(0, 2, (64,), generator=g))
    return DataLoader(ds, batch_size=bs, shuffle=True), DataLoader(ds, batch_size=bs)

def train_one_epoch(acc, model, loader, opt, sched):
    model.train()
    for step, (x, y) in enumerate(loader):
        with acc.accumulate(model):
            out = model(x)
            loss = nn.functional.cross_entropy(out, y) / acc.gradient_accumulation_steps
            acc.backward(loss)
            opt.step(); sched.step(); opt.zero_grad()

def main():
    p = argparse.ArgumentParser()
    p.add_argument("--accum", type=int, default=4)
    args = p.parse_args()
    acc = Accelerator(cpu=True, gradient_accumulation_steps=args.accum)
    train, val = get_loaders(8)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = optim.AdamW(model.parameters(), lr=1e-3)
    sched = optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10)
    model, opt, train, sched = acc.prepare(model, opt, train, sched)
    for _ in range(3):
        train_one_epoch(acc, model, train, opt, sched)
main()
""",
        },
        {"HF213"},
    ),
}

GOOD = {
    "checkpoints as a newer release makes them": {
        "train.py": CHECKPOINTS,
        "requirements.txt": "transformers==5.23.0\n",
    },
    "checkpoints of a model that is sharded": {
        "train.py": CHECKPOINTS.replace("True}", 'True, "gradient_checkpointing_kwargs": {"use_reentrant": True}}'),
        "run.sh": "accelerate launch --use_fsdp --num_processes 4 train.py\n",
    },
    "own rounds without synchronisation": {
        "train.py": """
# own rounds of accumulation with no_sync; manual division, since the accelerator was not told the number
import contextlib
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
ROUNDS = 4
def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=4)
    model, opt, loader = accelerator.prepare(model, opt, loader)
    for i, (x, y) in enumerate(loader, 1):
        last = i % ROUNDS == 0
        with contextlib.nullcontext() if last else accelerator.no_sync(model):
            loss = (model(x) - y).pow(2).mean() / ROUNDS
            accelerator.backward(loss)
        if last:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
    print("result w=", sum(p.sum().item() for p in model.parameters()))
main()
""",
    },
    "attributes set by name": {
        "train.py": """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
class Learner:
    def __init__(self, acc, **parts):
        self.acc = acc
        names = list(parts)
        ready = acc.prepare(*[parts[n] for n in names])
        for n, r in zip(names, ready):
            setattr(self, n, r)
    @property
    def raw(self):
        return self.acc.unwrap_model(self.model)
    def fit(self):
        for (x,) in self.loader:
            with self.acc.accumulate(self.model):
                loss = self.model(x).pow(2).mean()
                self.acc.backward(loss)
                self.opt.step()
                self.opt.zero_grad()
        return self.raw.weight.sum().item()
def main():
    acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
    torch.manual_seed(0)
    m = torch.nn.Linear(4, 1)
    l = Learner(acc, model=m, opt=torch.optim.SGD(m.parameters(), 0.1), loader=DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=4))
    print("result w=", l.fit())
main()
""",
    },
    "two models, and one without its wrapper": {
        "train.py": """
# GAN: two models, teacher frozen, generator evaluated raw, validation on every process over all the data on purpose
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 4)
    def forward(self, z): return self.net(z)
    def sample(self, n): return self(torch.randn(n, 2))
class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)
    def forward(self, x): return self.net(x)
def main():
    acc = Accelerator(cpu=True)
    torch.manual_seed(0)
    g, d = G(), D()
    og = torch.optim.SGD(g.parameters(), 0.1)
    od = torch.optim.SGD(d.parameters(), 0.1)
    data = TensorDataset(torch.randn(32, 4))
    train = DataLoader(data, batch_size=4)
    fixed = DataLoader(data, batch_size=8)
    g, d, og, od, train = acc.prepare(g, d, og, od, train)
    for (x,) in train:
        z = torch.randn(4, 2)
        fake = g(z).detach()
        ld = nn.functional.softplus(d(fake)).mean() + nn.functional.softplus(-d(x)).mean()
        od.zero_grad(); acc.backward(ld); od.step()
        lg = nn.functional.softplus(-d(g(z))).mean()
        og.zero_grad(); acc.backward(lg); og.step()
    raw = acc.unwrap_model(g)
    raw.eval()
    with torch.no_grad():
        score = 0.0
        for (x,) in fixed:
            score += (raw.sample(8) - x).abs().mean().item()
    if acc.is_main_process:
        print("result s=", score)
        torch.save(raw.state_dict(), "g.pt")
    acc.wait_for_everyone()
    again = G()
    again.load_state_dict(torch.load("g.pt"))
main()
""",
    },
    "clips and sums of complete rounds": {
        "train.py": """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    loader = DataLoader(TensorDataset(torch.randn(36, 4), torch.randn(36, 1)), batch_size=4)
    eval_loader = DataLoader(TensorDataset(torch.randn(10, 4), torch.randn(10, 1)), batch_size=4)
    model, opt, loader, eval_loader = accelerator.prepare(model, opt, loader, eval_loader)
    total = torch.zeros((), device=accelerator.device)
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = (model(x) - y).pow(2).mean()
            total += loss.detach()
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
    mean = accelerator.reduce(total, "mean") / len(loader)
    losses = []
    for x, y in eval_loader:
        with torch.no_grad():
            loss = (model(x) - y).pow(2).mean()
        losses.append(accelerator.gather_for_metrics(loss.repeat(4)))
    losses = torch.cat(losses)
    n = accelerator.gather(torch.tensor([len(loader)])).sum().item()
    rank_losses = accelerator.gather(total)
    if accelerator.num_processes == 1:
        print(rank_losses.item())
    accelerator.print("result", mean.item(), losses.mean().item(), n)
main()
""",
    },
    "a replaced loss that calls the base": {
        "train.py": """
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import Trainer, TrainingArguments, TrainerCallback
class Pts(Dataset):
    def __len__(self): return 32
    def __getitem__(self, i): return {"x": torch.ones(4) * i, "labels": torch.tensor(float(i))}
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.l = torch.nn.Linear(4, 1); self.alpha = 0.1
    def forward(self, x, labels=None):
        o = self.l(x).squeeze(-1)
        return {"loss": (o - labels).pow(2).mean(), "logits": o}
    def reg(self): return self.l.weight.pow(2).sum()
class T(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        loss, out = super().compute_loss(model, inputs, return_outputs=True, **kw)
        inner = self.accelerator.unwrap_model(model)
        loss = loss + inner.alpha * self.model.reg()
        return (loss, out) if return_outputs else loss
    def get_train_dataloader(self):
        base = super().get_train_dataloader()
        return base
    def get_eval_dataloader(self, ds=None):
        return DataLoader(ds or self.eval_dataset, batch_size=4)
class Best(TrainerCallback):
    def on_evaluate(self, args, state, control, metrics=None, **kw):
        if metrics["eval_loss"] < 1e-4:
            control.should_training_stop = True
        if state.is_world_process_zero:
            print(metrics)
        return control
def main():
    a = TrainingArguments("o", use_cpu=True, max_steps=2, report_to=[], eval_strategy="steps", eval_steps=1)
    d = Pts()
    with a.main_process_first():
        n = len(d)
    t = T(Net(), a, train_dataset=d, eval_dataset=torch.utils.data.Subset(d, range(n // 2)), callbacks=[Best()])
    t.train()
    print("result", t.state.global_step)
main()
""",
    },
    "metrics that reduce themselves": {
        "train.py": """
import lightning as L
import torch
import torchmetrics
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
class DM(L.LightningDataModule):
    def __init__(self):
        super().__init__(); self.path = None
    def prepare_data(self):
        path = "data.pt"
        torch.save(torch.randn(32, 4), path)
    def setup(self, stage=None):
        self.x = torch.load("data.pt")
    def train_dataloader(self): return torch.utils.data.DataLoader(self.x, batch_size=4)
    def val_dataloader(self): return torch.utils.data.DataLoader(self.x, batch_size=4)
class M(L.LightningModule):
    def __init__(self):
        super().__init__(); self.l = torch.nn.Linear(4, 1); self.err = torchmetrics.MeanMetric(); self.buf = []
    def training_step(self, b, i):
        loss = self.l(b).pow(2).mean()
        self.log("train_loss", loss)
        if self.trainer.is_global_zero and i % 2 == 0:
            print(loss.item())
        return loss
    def validation_step(self, b, i):
        loss = self.l(b).pow(2).mean()
        self.err.update(loss)
        self.log("val_err", self.err, on_epoch=True)
        self.log("debug", loss)
        self.buf.append(loss)
    def on_validation_epoch_end(self):
        v = self.all_gather(torch.stack(self.buf)).mean(); self.buf.clear()
        self.log("val_all", v, rank_zero_only=False)
    def configure_optimizers(self):
        o = torch.optim.SGD(self.parameters(), 0.1)
        return {"optimizer": o, "lr_scheduler": {"scheduler": torch.optim.lr_scheduler.ReduceLROnPlateau(o), "monitor": "val_all"}}
def main():
    t = L.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        callbacks=[ModelCheckpoint("ck", monitor="val_err"), EarlyStopping("val_all")],
    )
    t.fit(M(), DM())
    t.save_checkpoint("z.ckpt")
    if t.is_global_zero:
        print("result", t.global_step)
if __name__ == "__main__":
    main()
""",
    },
    "figures collected in each step": {
        "train.py": """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
def main():
    acc = Accelerator(cpu=True)
    torch.manual_seed(0)
    ds = TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,)))
    model, test = acc.prepare(torch.nn.Linear(4, 2), DataLoader(ds, batch_size=4))
    correct = total = 0
    losses = []
    model.eval()
    with torch.no_grad():
        for x, y in test:
            out = model(x)
            pred, ref = acc.gather_for_metrics((out.argmax(1), y))
            correct += (pred == ref).sum().item()
            total += len(ref)
            losses.append(acc.gather(torch.nn.functional.cross_entropy(out, y)))
    if acc.is_main_process:
        print("accuracy", correct / total, correct / len(ds), torch.cat(losses).mean().item())
def second():
    acc = Accelerator(cpu=True)
    ds = TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,)))
    model, test = acc.prepare(torch.nn.Linear(4, 2), DataLoader(ds, batch_size=4))
    hits = 0
    for x, y in test:
        with torch.no_grad():
            hits += (model(x).argmax(1) == y).sum()
    hits = acc.reduce(hits, "sum").item()
    acc.print("accuracy", hits / len(ds))
def third():
    acc = Accelerator(cpu=True)
    ds = TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,)))
    model = torch.nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    model, opt, loader = acc.prepare(model, opt, DataLoader(ds, batch_size=4))
    total_loss = 0
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        total_loss += loss.detach().float()
        acc.backward(loss); opt.step(); opt.zero_grad()
    if acc.is_main_process:
        print("train loss", total_loss.item() / len(loader))
def fourth():
    acc = Accelerator(cpu=True)
    ds = TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,)))
    model, test = acc.prepare(torch.nn.Linear(4, 2), DataLoader(ds, batch_size=4))
    class Metric:
        def __init__(self): self.n = 0
        def add(self, p, r): self.n += (p == r).sum().item()
    m = Metric()
    steps = 0
    for x, y in test:
        p, r = acc.gather_for_metrics((model(x).argmax(1), y))
        m.add(p, r)
        steps += 1
    if acc.is_main_process:
        print("done", steps, m.n / len(ds))
main(); second(); third(); fourth()
""",
    },
    "a length that is worked out anew behind prepare": {
        "train.py": """
import argparse, math, torch
from accelerate import Accelerator
from torch.optim.lr_scheduler import LinearLR
from torch.utils.data import DataLoader, TensorDataset
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_steps", type=int, default=None)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    acc = Accelerator(cpu=True)
    model = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    loader = DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=4, shuffle=True)
    overrode = False
    per_epoch = math.ceil(len(loader) / 1)
    if args.max_steps is None:
        args.max_steps = args.epochs * per_epoch
        overrode = True
    sched = LinearLR(opt, start_factor=1.0, end_factor=0.0, total_iters=args.max_steps)
    model, opt, loader, sched = acc.prepare(model, opt, loader, sched)
    per_epoch = math.ceil(len(loader) / 1)
    if overrode:
        args.max_steps = args.epochs * per_epoch
    args.epochs = math.ceil(args.max_steps / per_epoch)
    for _ in range(args.epochs):
        for (x,) in loader:
            acc.backward(model(x).pow(2).mean())
            opt.step()
            sched.step()
            opt.zero_grad()
main()
""",
    },
}


def codes_of(files: dict[str, str], folder: Path) -> set[str]:
    """The rules with findings in a project of some files."""
    (folder / ".git").mkdir()
    for name, text in files.items():
        (folder / name).write_text(text.lstrip("\n"), encoding="utf-8")
    return {found["code"] for found in check()["findings"]}


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_fault_is_found_in_an_unlike_spelling(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files, expected = BAD[name]
    assert codes_of(files, tmp_path) == expected


@pytest.mark.parametrize("name", sorted(GOOD))
def test_what_is_right_but_unusual_is_left_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert codes_of(GOOD[name], tmp_path) == set()
