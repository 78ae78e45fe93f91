"""Rows that each process has worked out of its share, joined in one order or another, and what they are put beside."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import indent

import pytest

from distlint.checks.meeting_rows import rows_out_of_order
from distlint.checks.meetings import Suspicion
from distlint.model.span import Span
from distlint.rehearsal.performance import Rehearsal
from tests.conftest import MakeProject

HEAD = """
import csv
import itertools
import json
import os
import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset


class Digits(Dataset):
    def __init__(self, n):
        self.targets = torch.arange(n) % 10
        self.images = torch.nn.functional.one_hot(self.targets, 10).float()
        self.ids = [f"row-{i}" for i in range(n)]

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        return self.images[index], self.targets[index]


class Reviews(Dataset):
    def __init__(self, records):
        self.records = records

    def __len__(self):
        return len(self.records)

    def __getitem__(self, index):
        record = self.records[index]
        return {"x": torch.tensor(record["x"]), "label": record["label"], "id": index}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x * self.scale


def gather(value):
    parts = [torch.empty_like(value) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, value)
    return parts


def gather_objects(value):
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, value)
    return parts


def result(wrong):
    if dist.get_rank() == 0:
        print(f"result wrong={wrong}", flush=True)


"""
SETUP = """
data = Digits(60)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
"""
ROWS = (
    SETUP
    + """
mine = torch.cat([net(x).argmax(1) for x, _ in loader]).detach()
"""
)
LISTS = (
    SETUP
    + """
mine = []
for x, _ in loader:
    mine.extend(net(x).argmax(dim=-1).tolist())
"""
)
RECORDS = """
with open("records.jsonl", "w") as f:
    for i in range(60):
        f.write(json.dumps({"x": [float(i % 7 == k) for k in range(7)], "label": i % 7, "id": i}) + "\\n")
dist.barrier()
with open("records.jsonl") as f:
    records = [json.loads(line) for line in f]
data = Reviews(records)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
mine = []
for batch in loader:
    mine += net(batch["x"]).argmax(1).tolist()
"""
INDEXED = """
class Indexed(Digits):
    def __getitem__(self, index):
        return self.images[index], self.targets[index], index
data = Indexed(60)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
"""
PLACES = """
class Indexed(Digits):
    def __getitem__(self, index):
        return self.images[index], index
data = Indexed(60)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
"""

BAD: Mapping[str, str] = {
    "wrapped inner cat": """
class Wrap(Dataset):
    def __init__(self, inner):
        self.inner = inner
    def __len__(self):
        return len(self.inner)
    def __getitem__(self, index):
        x, y = self.inner[index]
        return x * 1.0, y
inner = Digits(60)
data = Wrap(inner)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
mine = torch.cat([net(x).argmax(1) for x, _ in loader]).detach()
preds = torch.cat(gather(mine))[: len(data)]
result(int((preds != inner.targets).sum()))
""",
    "cat targets": ROWS
    + """
preds = torch.cat(gather(mine))[: len(data)]
result((preds != data.targets).sum().item())
""",
    "stack view": ROWS
    + """
preds = torch.stack(gather(mine)).view(-1)[: len(data)]
result((preds != data.targets).sum().item())
""",
    "stack flatten01": SETUP
    + """
mine = torch.cat([net(x) for x, _ in loader]).detach()
logits = torch.stack(gather(mine)).flatten(0, 1)[: len(data)]
result((logits.argmax(-1) != data.targets).sum().item())
""",
    "into tensor": ROWS
    + """
world = dist.get_world_size()
preds = torch.empty(world * mine.numel(), dtype=mine.dtype)
dist.all_gather_into_tensor(preds, mine)
hits = preds[: len(data)] == data.targets
result((~hits).sum().item())
""",
    "sum lists": LISTS
    + """
preds = sum(gather_objects(mine), [])[: len(data)]
truth = data.targets.tolist()
result(sum(p != t for p, t in zip(preds, truth)))
""",
    "chain": LISTS
    + """
preds = list(itertools.chain(*gather_objects(mine)))
result(int((torch.tensor(preds[: len(data)]) != data.targets).sum()))
""",
    "chain from iterable": LISTS
    + """
preds = list(itertools.chain.from_iterable(gather_objects(mine)))[: len(data)]
result(sum(int(p != t) for p, t in zip(preds, data.targets)))
""",
    "loop extend": LISTS
    + """
preds = []
for part in gather_objects(mine):
    preds.extend(part)
result(int((torch.tensor(preds[: len(data)]) != data.targets).sum()))
""",
    "loop plus": LISTS
    + """
preds = []
for part in gather_objects(mine):
    preds += part
result(int((np.array(preds[: len(data)]) != data.targets.numpy()).sum()))
""",
    "zip records": RECORDS
    + """
preds = sum(gather_objects(mine), [])
result(sum(p != r["label"] for p, r in zip(preds, records)))
""",
    "enumerate records": RECORDS
    + """
preds = sum(gather_objects(mine), [])[: len(records)]
wrong = 0
for i, p in enumerate(preds):
    wrong += int(records[i]["label"] != p)
result(wrong)
""",
    "index both": RECORDS
    + """
preds = [p for part in gather_objects(mine) for p in part]
wrong = 0
for i in range(len(data)):
    wrong += int(data[i]["label"] != preds[i])
result(wrong)
""",
    "rows of file": RECORDS
    + """
preds = [p for part in gather_objects(mine) for p in part]
rows = [{"id": records[i]["id"], "pred": preds[i]} for i in range(len(records))]
result(sum(records[row["id"]]["label"] != row["pred"] for row in rows))
""",
    "writerows enumerate": ROWS
    + """
preds = torch.cat(gather(mine))[: len(data)]
if dist.get_rank() == 0:
    with open(os.devnull, "w") as f:
        w = csv.writer(f)
        w.writerows(enumerate(preds.tolist()))
wrong = sum(1 for i, p in enumerate(preds.tolist()) if i % 10 != p)
result(wrong)
""",
    "tensor dataset": """
x = torch.nn.functional.one_hot(torch.arange(60) % 10, 10).float()
y = torch.arange(60) % 10
data = TensorDataset(x, y)
net = Net().eval()
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
with torch.no_grad():
    mine = torch.cat([net(batch).argmax(1) for batch, _ in loader])
preds = torch.cat(gather(mine))[: len(y)]
result((preds != y).sum().item())
""",
    "tensor dataset numpy": """
y = np.arange(60) % 10
x = np.eye(10, dtype=np.float32)[y]
data = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
net = Net().eval()
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
with torch.no_grad():
    mine = torch.cat([net(batch).argmax(1) for batch, _ in loader])
preds = torch.cat(gather(mine))[: len(data)].numpy()
result(int((preds != y).sum()))
""",
    "tensors attr": """
y = torch.arange(60) % 10
data = TensorDataset(torch.nn.functional.one_hot(y, 10).float(), y)
net = Net().eval()
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
mine = torch.cat([net(batch).argmax(1) for batch, _ in loader])
preds = torch.cat(gather(mine))[: len(data)]
result(preds.ne(data.tensors[1]).sum().item())
""",
    "loss of whole": SETUP
    + """
mine = torch.cat([net(x) for x, _ in loader]).detach()
logits = torch.cat(gather(mine), dim=0)[: len(data)]
result(round(F.cross_entropy(logits, data.targets).item(), 4))
""",
    "batch by batch": SETUP
    + """
found = []
for x, _ in loader:
    found.append(torch.cat(gather(net(x).argmax(1).detach())))
preds = torch.cat(found)[: len(data)]
result((preds != data.targets).sum().item())
""",
    "shuffled in turn": """
data = Digits(60)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, seed=3))

mine = torch.cat([net(x).argmax(1) for x, _ in loader]).detach()

preds = torch.stack(gather(mine), dim=1).flatten()[: len(data)]
result((preds != data.targets).sum().item())
""",
    "dict rows zipped": """
with open("records.jsonl", "w") as f:
    for i in range(60):
        f.write(json.dumps({"x": [float(i % 7 == k) for k in range(7)], "label": i % 7, "id": i}) + "\\n")
dist.barrier()
with open("records.jsonl") as f:
    records = [json.loads(line) for line in f]
data = Reviews(records)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
mine = []
for batch in loader:
    mine += [{"pred": int(p)} for p in net(batch["x"]).argmax(1)]

rows = [row for part in gather_objects(mine) for row in part]
result(sum(record["label"] != row["pred"] for record, row in zip(records, rows)))
""",
    "numpy concatenate": LISTS
    + """
parts = [np.asarray(part) for part in gather_objects(mine)]
preds = np.concatenate(parts)[: len(data)]
result(int((preds != data.targets.numpy()).sum()))
""",
    "vstack ravel": LISTS
    + """
preds = np.vstack([np.array(part) for part in gather_objects(mine)]).ravel()
result(int((preds[: len(data)] != data.targets.numpy()).sum()))
""",
    "gather on root": ROWS
    + """
world, rank = dist.get_world_size(), dist.get_rank()
parts = [torch.empty_like(mine) for _ in range(world)] if rank == 0 else None
dist.gather(mine, parts, dst=0)
if rank == 0:
    preds = torch.cat(parts)[: len(data)]
    result((preds != data.targets).sum().item())
""",
    "gather object on root": LISTS
    + """
world, rank = dist.get_world_size(), dist.get_rank()
parts = [None] * world if rank == 0 else None
dist.gather_object(mine, parts, dst=0)
if rank == 0:
    preds = list(itertools.chain.from_iterable(parts))
    result(sum(int(t) != p for t, p in zip(data.targets, preds)))
""",
    "functional": ROWS
    + """
import torch.distributed.nn.functional as dnn
preds = torch.cat(dnn.all_gather(mine.float()))[: len(data)]
result((preds.long() != data.targets).sum().item())
""",
    "several returned": SETUP
    + """
def evaluate(net, loader):
    found = {"preds": [], "loss": 0.0}
    for x, y in loader:
        out = net(x)
        found["preds"].append(out.argmax(1).detach())
        found["loss"] += F.cross_entropy(out, y).item()
    found["preds"] = torch.cat(found["preds"])
    return found
found = evaluate(net, loader)
preds = torch.cat(gather(found["preds"]))[: len(data)]
result(int(torch.ne(preds, data.targets).sum()))
""",
    "class keeps": SETUP
    + """
class Evaluator:
    def __init__(self, net, loader):
        self.net, self.loader, self.preds = net, loader, []
    def run(self):
        for x, _ in self.loader:
            self.preds.append(self.net(x).argmax(1).detach())
        return torch.cat(self.preds, 0)
    def score(self, truth):
        preds = torch.cat(gather(self.run()), 0)[: len(truth)]
        return (preds != truth).sum().item()
result(Evaluator(net, loader).score(data.targets))
""",
    "labels of rows": ROWS
    + """truth = torch.tensor([int(data[i][1]) for i in range(len(data))])
preds = torch.cat(gather(mine))[: len(data)]
result((preds != truth).sum().item())
""",
    "labels in loop": ROWS
    + """truth = []
for _, y in data:
    truth.append(int(y))
preds = torch.cat(gather(mine))[: len(data)]
result((preds != torch.tensor(truth)).sum().item())
""",
    "world guard": SETUP
    + """
def collect(value):
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return value
    parts = [torch.zeros_like(value) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, value)
    return torch.cat(parts, dim=0)
with torch.inference_mode():
    mine = torch.cat([net(x).argmax(1) for x, _ in loader])
preds = collect(mine)[: len(data)]
result((preds == data.targets).logical_not().sum().item())
""",
    "column stack": ROWS
    + """
preds = torch.cat(gather(mine))[: len(data)]
table = torch.stack([data.targets, preds], dim=1)
result(sum(int(a != b) for a, b in table.tolist()))
""",
    "batch sampler": """
data = Digits(60)
net = Net().eval()
sampler = DistributedSampler(data, shuffle=False)
loader = DataLoader(data, batch_sampler=torch.utils.data.BatchSampler(sampler, 4, False))
mine = torch.cat([net(x).argmax(1) for x, _ in loader]).detach()
preds = torch.cat(gather(mine))[: len(data)]
result((preds != data.targets).sum().item())
""",
    "given rank": """
data = Digits(60)
net = Net().eval()
rank, world = dist.get_rank(), dist.get_world_size()
sampler = DistributedSampler(data, num_replicas=world, rank=rank, shuffle=False)
loader = DataLoader(data, batch_size=4, sampler=sampler)
mine = torch.cat([net(x).argmax(1) for x, _ in loader]).detach()
preds = torch.cat(gather(mine))[: len(data)]
result((preds != data.targets).sum().item())
""",
    "generator join": LISTS
    + """
preds = list(p for part in gather_objects(mine) for p in part)
result(sum(int(t) != p for t, p in zip(data.targets, preds)))
""",
    "tuple gathered": SETUP
    + """
outs, losses = [], []
for x, y in loader:
    out = net(x)
    outs += out.argmax(1).tolist()
    losses.append(F.cross_entropy(out, y).item())
preds = []
for part, _ in gather_objects((outs, losses)):
    preds += part
result(sum(int(t) != p for t, p in zip(data.targets, preds)))
""",
    "dict gathered": SETUP
    + """
outs, losses = [], []
for x, y in loader:
    out = net(x)
    outs += out.argmax(1).tolist()
    losses.append(F.cross_entropy(out, y).item())
parts = gather_objects({"preds": outs, "loss": losses})
preds = [p for part in parts for p in part["preds"]]
result(sum(int(t) != p for t, p in zip(data.targets, preds)))
""",
    "subset labels": """
whole = Digits(100)
data, _ = torch.utils.data.random_split(whole, [60, 40], generator=torch.Generator().manual_seed(0))
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
truth = torch.stack([y for _, y in data])
mine = torch.cat([net(x).argmax(1) for x, _ in loader]).detach()
preds = torch.cat(gather(mine))[: len(data)]
result((preds != truth).sum().item())
""",
    "ddp model": """
from torch.nn.parallel import DistributedDataParallel as DDP
data = Digits(60)
net = DDP(Net())
net.eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False), num_workers=0)
outs = []
with torch.no_grad():
    for x, _ in loader:
        probs = torch.softmax(net(x), dim=-1)
        conf, cls = probs.max(dim=-1)
        outs.append(cls)
mine = torch.cat(outs, dim=0)
parts = gather(mine)
preds = torch.cat(parts, dim=0)[: len(data)]
if dist.get_rank() == 0:
    result((preds != data.targets).sum().item())
""",
    "enumerate dataset": LISTS
    + """
preds = []
for part in gather_objects(mine):
    preds.extend(part)
wrong = 0
for i, (x, y) in enumerate(data):
    wrong += int(preds[i] != y)
result(wrong)
""",
    "dict comprehension": RECORDS
    + """
preds = [p for part in gather_objects(mine) for p in part]
answers = {records[i]["id"]: p for i, p in enumerate(preds)}
result(sum(answers[r["id"]] != r["label"] for r in records))
""",
    "static helper": SETUP
    + """
class Tools:
    @staticmethod
    def join(value):
        world = dist.get_world_size()
        shape = (value.size(0) * world, *value.shape[1:])
        out = value.new_zeros(shape)
        dist.all_gather_into_tensor(out, value.contiguous())
        return out
@torch.no_grad()
def run(net, loader):
    net.eval()
    return torch.cat([net(x) for x, _ in loader])
logits = Tools.join(run(net, loader))
acc = (logits.argmax(1)[: len(data)] == data.targets).float().mean()
result(round(1 - acc.item(), 3))
""",
    "meter class": SETUP
    + """
class Rows:
    def __init__(self):
        self.parts = []
    def update(self, value):
        self.parts.append(value.detach().cpu())
    def compute(self):
        own = torch.cat(self.parts)
        out = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(out, own)
        return torch.cat(out).numpy()
meter = Rows()
for x, _ in loader:
    meter.update(net(x).argmax(-1))
result(int((meter.compute()[: len(data)] != data.targets.numpy()).sum()))
""",
    "predictions file ids": LISTS
    + """preds = [p for part in gather_objects(mine) for p in part][: len(data)]
if dist.get_rank() == 0:
    with open(os.devnull, "w", newline="") as f:
        writer = csv.writer(f)
        for i, p in enumerate(preds):
            writer.writerow([i, p])
result(sum(p != i % 10 for i, p in enumerate(preds)))
""",
    "ids attribute": LISTS
    + """preds = [p for part in gather_objects(mine) for p in part]
answers = dict(zip(data.ids, preds))
result(sum(answers[f"row-{i}"] != i % 10 for i in range(60)))
""",
    "compute method": SETUP
    + """
class Trainer:
    def __init__(self, data):
        self.data = data
        self.net = Net()
        self.loader = self.make_loader(data)
    def make_loader(self, data):
        sampler = DistributedSampler(data, shuffle=False) if dist.is_initialized() else None
        return DataLoader(data, batch_size=4, sampler=sampler)
    @torch.no_grad()
    def predict(self):
        self.net.eval()
        rows = []
        for batch in self.loader:
            x, _ = batch
            rows.append(self.net(x).softmax(-1).max(-1).indices)
        return self.all_rows(torch.cat(rows))
    def all_rows(self, rows):
        world = dist.get_world_size()
        buckets = [torch.zeros_like(rows) for _ in range(world)]
        dist.all_gather(buckets, rows)
        return torch.cat(buckets)[: len(self.data)]
    def report(self):
        preds = self.predict()
        return {"acc": preds.eq(self.data.targets).float().mean().item()}
result(1 - Trainer(data).report()["acc"])
""",
    "hf columns": """
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification
data = load_dataset("imdb", split="test").with_format("torch")
model = AutoModelForSequenceClassification.from_pretrained("bert")
model.eval()
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
mine = []
with torch.no_grad():
    for batch in loader:
        out = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        mine.append(out.logits.argmax(-1).cpu())
preds = torch.cat(gather(torch.cat(mine)))[: len(data)]
result((preds != data["label"]).sum().item())
""",
    "data frame": """
import pandas as pd
class Frame(Dataset):
    def __init__(self, path):
        self.df = pd.read_csv(path)
    def __len__(self):
        return len(self.df)
    def __getitem__(self, index):
        row = self.df.iloc[index]
        return torch.tensor([row["a"], row["b"]]), row["label"]
data = Frame("test.csv")
net = Net()
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
mine = torch.cat([net(x).argmax(1) for x, _ in loader])
preds = torch.cat(gather(mine))[: len(data)]
if dist.get_rank() == 0:
    data.df["pred"] = preds.cpu().numpy()
    data.df.to_csv("out.csv")
""",
    "submission": """
import pandas as pd
df = pd.read_csv("test.csv")
class Frame(Dataset):
    def __init__(self, df):
        self.x = torch.tensor(df[["a", "b"]].values, dtype=torch.float32)
        self.texts = df["text"].tolist()
    def __len__(self):
        return len(self.x)
    def __getitem__(self, index):
        return self.x[index], self.texts[index]
data = Frame(df)
net = Net()
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
mine = torch.cat([net(x).argmax(1) for x, _ in loader])
preds = torch.cat(gather(mine))[: len(data)]
if dist.get_rank() == 0:
    pd.DataFrame({"id": df["id"], "pred": preds.tolist()}).to_csv("out.csv")
""",
    "torchvision targets": """
from torchvision import datasets, models, transforms
data = datasets.CIFAR10("data", train=False, transform=transforms.ToTensor())
net = models.resnet18()
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
mine = torch.cat([net(x).argmax(1) for x, _ in loader])
preds = torch.cat(gather(mine))[: len(data)]
acc = (preds == torch.tensor(data.targets)).float().mean()
result(acc.item())
""",
    "image paths": """
from torchvision import datasets, models, transforms
data = datasets.ImageFolder("test", transform=transforms.ToTensor())
net = models.resnet18()
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
mine = []
for x, _ in loader:
    mine += net(x).argmax(1).tolist()
preds = sum(gather_objects(mine), [])[: len(data)]
with open("out.csv", "w") as f:
    for (path, _), pred in zip(data.samples, preds):
        f.write(f"{path},{pred}\\n")
""",
    "embedding labels": SETUP
    + """
feats = torch.cat(gather(torch.cat([net(x) for x, _ in loader]).detach()))
labels = data.targets
same = labels[:, None] == labels[None, :]
nearest = (feats @ torch.eye(10)).argmax(1)
result(int((nearest != labels).sum()))
""",
}

GOOD: Mapping[str, str] = {
    "feature bank": INDEXED
    + """
bank = torch.zeros(len(data), 10)
for x, _, index in loader:
    feats = torch.cat(gather(net(x).detach()))
    places = torch.cat(gather(index))
    bank.index_copy_(0, places, feats)
result((bank.argmax(1) != data.targets).sum().item())
""",
    "np argsort": INDEXED
    + """
outs, places = [], []
for x, _, index in loader:
    outs.extend(net(x).argmax(1).tolist())
    places.extend(index.tolist())
outs = np.concatenate([np.array(p) for p in gather_objects(outs)])
places = np.concatenate([np.array(p) for p in gather_objects(places)])
preds = outs[np.argsort(places)]
result(int((preds != data.targets.numpy()).sum()))
""",
    "index loop": INDEXED
    + """
outs, places = [], []
for x, _, index in loader:
    outs.append(net(x).argmax(1))
    places.append(index)
outs, places = torch.cat(gather(torch.cat(outs))), torch.cat(gather(torch.cat(places)))
final = [None] * len(data)
for k, i in enumerate(places.tolist()):
    final[i] = outs[k].item()
result(sum(p != int(t) for p, t in zip(final, data.targets)))
""",
    "order of sampler": ROWS
    + """
world = dist.get_world_size()
order = list(itertools.chain(*[range(rank, len(data), world) for rank in range(world)]))
preds = torch.cat(gather(mine)).tolist()
final = {}
for k, i in enumerate(order):
    final[i] = preds[k]
result(sum(final[i] != int(data.targets[i]) for i in range(len(data))))
""",
    "zip with order": ROWS
    + """
world = dist.get_world_size()
order = [i for rank in range(world) for i in range(rank, len(data), world)]
preds = torch.cat(gather(mine)).tolist()
result(sum(p != int(data.targets[i]) for i, p in zip(order, preds)))
""",
    "records by order": RECORDS
    + """
world = dist.get_world_size()
for rank, part in enumerate(gather_objects(mine)):
    for k, p in enumerate(part):
        records[k * world + rank]["pred"] = p
result(sum(r["pred"] != r["label"] for r in records))
""",
    "records of rank": RECORDS
    + """
world = dist.get_world_size()
wrong = 0
for rank, part in enumerate(gather_objects(mine)):
    for record, p in zip(records[rank::world], part):
        wrong += int(record["label"] != p)
result(wrong)
""",
    "shapes and ends": ROWS
    + """
preds = torch.cat(gather(mine))[: len(data)]
assert preds.shape == data.targets.shape and len(preds) == len(data.targets)
assert preds.dtype == data.targets.dtype and int(preds.max()) == int(data.targets.max())
result(0 * int(preds.numel() - data.targets.numel()) + int(preds[0] != data.targets[0]))
""",
    "counter": LISTS
    + """
from collections import Counter
preds = [p for part in gather_objects(mine) for p in part]
result(sum((Counter(preds) - Counter(data.targets.tolist())).values()))
""",
    "stack rows": ROWS
    + """
preds = torch.cat(gather(mine))[: len(data)]
both = torch.stack([preds.float(), data.targets.float()])
means = both.mean(dim=1)
result(int((means[0] - means[1]).abs() > 1e-6))
""",
    "per rank truth": SETUP
    + """
rows = []
for x, y in loader:
    rows.append(torch.stack([net(x).argmax(1), y], dim=1))
table = torch.cat(gather(torch.cat(rows)))
result((table[:, 0] != table[:, 1]).sum().item())
""",
    "stack dim1": ROWS
    + """
preds = torch.stack(gather(mine), dim=1).flatten()[: len(data)]
result((preds != data.targets).sum().item())
""",
    "stack t": ROWS
    + """
preds = torch.stack(gather(mine)).t().reshape(-1)[: len(data)]
result((preds != data.targets).sum().item())
""",
    "stack transpose": ROWS
    + """
preds = torch.stack(gather(mine)).transpose(0, 1).contiguous().view(-1)[: len(data)]
result((preds != data.targets).sum().item())
""",
    "into tensor view t": ROWS
    + """
world = dist.get_world_size()
preds = torch.empty(world * mine.numel(), dtype=mine.dtype)
dist.all_gather_into_tensor(preds, mine)
preds = preds.view(world, -1).t().reshape(-1)
result((preds[: len(data)] != data.targets).sum().item())
""",
    "slots": ROWS
    + """
preds = torch.empty(len(data), dtype=torch.long)
world = dist.get_world_size()
for rank, part in enumerate(gather(mine)):
    preds[rank::world] = part
result((preds != data.targets).sum().item())
""",
    "labels too": SETUP
    + """
outs, labels = [], []
for x, y in loader:
    outs.append(net(x).argmax(1).detach())
    labels.append(y)
preds = torch.cat(gather(torch.cat(outs)))
truth = torch.cat(gather(torch.cat(labels)))
result((preds != truth).sum().item())
""",
    "zip comprehension": LISTS
    + """
preds = [p for row in zip(*gather_objects(mine)) for p in row]
preds = torch.tensor(preds[: len(data)])
result(int((preds != data.targets).sum()))
""",
    "chain zip": LISTS
    + """
preds = list(itertools.chain.from_iterable(zip(*gather_objects(mine))))
result(int((torch.tensor(preds[: len(data)]) != data.targets).sum()))
""",
    "loop zip extend": LISTS
    + """
preds = []
for row in zip(*gather_objects(mine)):
    preds.extend(row)
result(int((torch.tensor(preds[: len(data)]) != data.targets).sum()))
""",
    "loop index": LISTS
    + """
preds = []
parts = gather_objects(mine)
for i in range(len(parts[0])):
    for part in parts:
        preds.append(part[i])
result(int((torch.tensor(preds[: len(data)]) != data.targets).sum()))
""",
    "divmod index": LISTS
    + """
parts = gather_objects(mine)
world = dist.get_world_size()
preds = [parts[i % world][i // world] for i in range(len(data))]
result(int((torch.tensor(preds) != data.targets).sum()))
""",
    "sorted by index": """
with open("records.jsonl", "w") as f:
    for i in range(60):
        f.write(json.dumps({"x": [float(i % 7 == k) for k in range(7)], "label": i % 7, "id": i}) + "\\n")
dist.barrier()
with open("records.jsonl") as f:
    records = [json.loads(line) for line in f]
data = Reviews(records)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
mine = []
for batch in loader:
    mine += list(zip(batch["id"].tolist(), net(batch["x"]).argmax(1).tolist()))

rows = sum(gather_objects(mine), [])
rows = sorted(set(rows))
preds = [p for _, p in rows]
result(sum(p != r["label"] for p, r in zip(preds, records)))
""",
    "by id": """
with open("records.jsonl", "w") as f:
    for i in range(60):
        f.write(json.dumps({"x": [float(i % 7 == k) for k in range(7)], "label": i % 7, "id": i}) + "\\n")
dist.barrier()
with open("records.jsonl") as f:
    records = [json.loads(line) for line in f]
data = Reviews(records)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
mine = []
for batch in loader:
    mine += list(zip(batch["id"].tolist(), net(batch["x"]).argmax(1).tolist()))

found = {}
for part in gather_objects(mine):
    for i, p in part:
        found[i] = p
result(sum(found[i] != records[i]["label"] for i in range(len(records))))
""",
    "loss of whole in turn": SETUP
    + """
mine = torch.cat([net(x) for x, _ in loader]).detach()
logits = torch.stack(gather(mine), 1).flatten(0, 1)[: len(data)]
result(0 * round(F.cross_entropy(logits, data.targets).item(), 4))
""",
    "batch by batch in turn": SETUP
    + """
found = []
for x, _ in loader:
    found.append(torch.stack(gather(net(x).argmax(1).detach()), dim=1).flatten())
preds = torch.cat(found)[: len(data)]
result((preds != data.targets).sum().item())
""",
    "one by one": """
data = Digits(60)
net = Net().eval()
loader = DataLoader(data, batch_size=1, sampler=DistributedSampler(data, shuffle=False))

found = []
for x, _ in loader:
    found.append(torch.cat(gather(net(x).argmax(1).detach())))
preds = torch.cat(found)[: len(data)]
result((preds != data.targets).sum().item())
""",
    "shuffled labels too": """
data = Digits(60)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data))

outs, labels = [], []
for x, y in loader:
    outs.append(net(x).argmax(1).detach())
    labels.append(y)
preds = torch.cat(gather(torch.cat(outs)))
truth = torch.cat(gather(torch.cat(labels)))
result((preds != truth).sum().item())
""",
    "contiguous": """
data = Digits(60)
net = Net().eval()
rank, world = dist.get_rank(), dist.get_world_size()
per = len(data) // world
part = torch.utils.data.Subset(data, range(rank * per, (rank + 1) * per))
loader = DataLoader(part, batch_size=4)
mine = torch.cat([net(x).argmax(1) for x, _ in loader]).detach()
preds = torch.cat(gather(mine))[: len(data)]
result((preds != data.targets).sum().item())
""",
    "own sampler": """
data = Digits(60)
net = Net().eval()
class Blocks(torch.utils.data.Sampler):
    def __init__(self, data):
        per = len(data) // dist.get_world_size()
        self.rows = range(dist.get_rank() * per, (dist.get_rank() + 1) * per)
    def __iter__(self):
        return iter(self.rows)
    def __len__(self):
        return len(self.rows)
loader = DataLoader(data, batch_size=4, sampler=Blocks(data))
mine = torch.cat([net(x).argmax(1) for x, _ in loader]).detach()
preds = torch.cat(gather(mine))[: len(data)]
result((preds != data.targets).sum().item())
""",
    "index gathered": PLACES
    + """
outs, places = [], []
for x, i in loader:
    outs.append(net(x).argmax(1).detach())
    places.append(i)
preds = torch.cat(gather(torch.cat(outs)))
order = torch.cat(gather(torch.cat(places)))
preds = preds[order.argsort()]
result((preds[: len(data)] != data.targets).sum().item())
""",
    "index scattered": PLACES
    + """
outs, places = [], []
for x, i in loader:
    outs.append(net(x).argmax(1).detach())
    places.append(i)
preds = torch.cat(gather(torch.cat(outs)))
order = torch.cat(gather(torch.cat(places)))
whole = torch.zeros(len(data), dtype=torch.long)
whole[order] = preds
result((whole != data.targets).sum().item())
""",
    "targets by index": PLACES
    + """
outs, places = [], []
for x, i in loader:
    outs.append(net(x).argmax(1).detach())
    places.append(i)
preds = torch.cat(gather(torch.cat(outs)))
order = torch.cat(gather(torch.cat(places)))
result((preds != data.targets[order]).sum().item())
""",
    "targets in rank order": ROWS
    + """
preds = torch.cat(gather(mine))
world = dist.get_world_size()
truth = torch.cat([data.targets[rank::world] for rank in range(world)])
result((preds != truth).sum().item())
""",
    "own share": ROWS
    + """
rank, world = dist.get_rank(), dist.get_world_size()
wrong = (mine != data.targets[rank::world]).sum()
dist.all_reduce(wrong)
result(wrong.item())
""",
    "histogram": ROWS
    + """
preds = torch.cat(gather(mine))[: len(data)]
result((torch.bincount(preds, minlength=10) - torch.bincount(data.targets, minlength=10)).abs().sum().item())
""",
    "ids too": """
with open("records.jsonl", "w") as f:
    for i in range(60):
        f.write(json.dumps({"x": [float(i % 7 == k) for k in range(7)], "label": i % 7, "id": i}) + "\\n")
dist.barrier()
with open("records.jsonl") as f:
    records = [json.loads(line) for line in f]
data = Reviews(records)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
mine, ids = [], []
for batch in loader:
    ids += batch["id"].tolist()
    mine += net(batch["x"]).argmax(1).tolist()

preds = sum(gather_objects(mine), [])
ids = sum(gather_objects(ids), [])
result(sum(records[i]["label"] != p for i, p in zip(ids, preds)))
""",
    "dict rows": """
with open("records.jsonl", "w") as f:
    for i in range(60):
        f.write(json.dumps({"x": [float(i % 7 == k) for k in range(7)], "label": i % 7, "id": i}) + "\\n")
dist.barrier()
with open("records.jsonl") as f:
    records = [json.loads(line) for line in f]
data = Reviews(records)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
mine = []
for batch in loader:
    mine += [{"id": int(i), "pred": int(p)} for i, p in zip(batch["id"], net(batch["x"]).argmax(1))]

rows = [row for part in gather_objects(mine) for row in part]
result(sum(records[row["id"]]["label"] != row["pred"] for row in rows))
""",
    "dict rows sorted": """
with open("records.jsonl", "w") as f:
    for i in range(60):
        f.write(json.dumps({"x": [float(i % 7 == k) for k in range(7)], "label": i % 7, "id": i}) + "\\n")
dist.barrier()
with open("records.jsonl") as f:
    records = [json.loads(line) for line in f]
data = Reviews(records)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
mine = []
for batch in loader:
    mine += [{"id": int(i), "pred": int(p)} for i, p in zip(batch["id"], net(batch["x"]).argmax(1))]

rows = [row for part in gather_objects(mine) for row in part]
rows.sort(key=lambda row: row["id"])
result(sum(record["label"] != row["pred"] for record, row in zip(records, rows)))
""",
    "numpy order F": LISTS
    + """
parts = [np.asarray(part) for part in gather_objects(mine)]
preds = np.stack(parts).reshape(-1, order="F")[: len(data)]
result(int((preds != data.targets.numpy()).sum()))
""",
    "numpy stack T": LISTS
    + """
parts = [np.asarray(part) for part in gather_objects(mine)]
preds = np.stack(parts).T.reshape(-1)[: len(data)]
result(int((preds != data.targets.numpy()).sum()))
""",
    "matrix": ROWS
    + """
preds = torch.cat(gather(mine))
best = 0
for p in preds[:3].tolist():
    for t in data.targets.tolist():
        best += int(p == t)
result(best - 18)
""",
    "constants": ROWS
    + """
preds = torch.cat(gather(mine))
result(int((preds < len(data.ids)).logical_not().sum()) + int(preds.max() >= data.targets.max() + 1))
""",
    "not all paired": LISTS
    + """
parts = gather_objects(mine)
found = [None] * len(data)
world = dist.get_world_size()
for rank, part in enumerate(parts):
    for k, p in enumerate(part):
        found[k * world + rank] = p
result(int((torch.tensor(found) != data.targets).sum()))
""",
    "inverse order": ROWS
    + """
preds = torch.cat(gather(mine))
world = dist.get_world_size()
order = torch.cat([torch.arange(rank, len(data), world) for rank in range(world)])
result((preds[order.argsort()] != data.targets).sum().item())
""",
    "dict by id merge": """
with open("records.jsonl", "w") as f:
    for i in range(60):
        f.write(json.dumps({"x": [float(i % 7 == k) for k in range(7)], "label": i % 7, "id": i}) + "\\n")
dist.barrier()
with open("records.jsonl") as f:
    records = [json.loads(line) for line in f]
data = Reviews(records)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
mine = {}
for batch in loader:
    mine.update(zip(batch["id"].tolist(), net(batch["x"]).argmax(1).tolist()))

found = {}
for part in gather_objects(mine):
    found.update(part)
preds = [found[i] for i in range(len(data))]
result(sum(p != r["label"] for p, r in zip(preds, records)))
""",
    "rows carry labels": SETUP
    + """
rows = []
for x, y in loader:
    rows += zip(net(x).argmax(1).tolist(), y.tolist())
rows = [row for part in gather_objects(rows) for row in part]
result(sum(p != t for p, t in rows))
""",
    "numbered lines": SETUP
    + """
rows = []
for x, y in loader:
    rows += zip(net(x).argmax(1).tolist(), y.tolist())
rows = [row for part in gather_objects(rows) for row in part]
for i, (p, t) in enumerate(rows):
    print(i, p, t)
result(0)
""",
    "meter class labels": SETUP
    + """
class Rows:
    def __init__(self):
        self.parts = []
    def update(self, value):
        self.parts.append(value.detach().cpu())
    def compute(self):
        own = torch.cat(self.parts)
        out = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(out, own)
        return torch.cat(out).numpy()
preds, truth = Rows(), Rows()
for x, y in loader:
    preds.update(net(x).argmax(-1))
    truth.update(y)
result(int((preds.compute() != truth.compute()).sum()))
""",
    "embedding matrix": SETUP
    + """
feats = torch.cat(gather(torch.cat([net(x) for x, _ in loader]).detach()))
labels = torch.cat(gather(torch.cat([y for _, y in loader])))
same = labels[:, None] == labels[None, :]
sim = feats @ feats.t()
result(int(((sim > 0.5) != same).sum()))
""",
    "class counts": SETUP
    + """
preds = torch.cat(gather(torch.cat([net(x).argmax(1) for x, _ in loader])))
table = torch.zeros(10)
for c in range(10):
    table[c] = (preds == c).sum() - (data.targets == c).sum()
result(int(table.abs().sum()))
""",
    "regathered targets name": SETUP
    + """
targets = []
mine = []
for x, y in loader:
    mine.append(net(x).argmax(1))
    targets.append(y)
data.gathered = torch.cat(gather(torch.cat(targets)))
result(int((torch.cat(gather(torch.cat(mine))) != data.gathered).sum()))
""",
    "permuted index": ROWS
    + """
world = dist.get_world_size()
preds = torch.cat(gather(mine))
per = len(mine)
wrong = 0
for i in range(len(data)):
    rank, k = i % world, i // world
    wrong += int(preds[rank * per + k] != data.targets[i])
result(wrong)
""",
    "cat dim1": ROWS
    + """
preds = torch.cat([part.view(-1, 1) for part in gather(mine)], dim=1).view(-1)
result((preds[: len(data)] != data.targets).sum().item())
""",
    "hstack columns": ROWS
    + """
preds = torch.hstack([part.unsqueeze(1) for part in gather(mine)]).reshape(-1)
result((preds[: len(data)] != data.targets).sum().item())
""",
    "column stack ravel": LISTS
    + """
preds = np.column_stack([np.array(part) for part in gather_objects(mine)]).ravel()
result(int((preds[: len(data)] != data.targets.numpy()).sum()))
""",
    "map add": LISTS
    + """
parts = gather_objects(mine)
preds = [p for group in map(list, zip(*parts)) for p in group]
result(int((torch.tensor(preds[: len(data)]) != data.targets).sum()))
""",
    "while pop": LISTS
    + """
queues = [list(part) for part in gather_objects(mine)]
preds = []
while queues[-1]:
    for queue in queues:
        preds.append(queue.pop(0))
result(int((torch.tensor(preds[: len(data)]) != data.targets).sum()))
""",
    "slice assign list": LISTS
    + """
parts = gather_objects(mine)
preds = [0] * sum(map(len, parts))
for rank, part in enumerate(parts):
    preds[rank::len(parts)] = part
result(int((torch.tensor(preds[: len(data)]) != data.targets).sum()))
""",
    "torchvision classes": """
from torchvision import datasets, models, transforms
data = datasets.CIFAR10("data", train=False, transform=transforms.ToTensor())
net = models.resnet18()
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
mine = torch.cat([net(x).argmax(1) for x, _ in loader])
preds = torch.cat(gather(mine))[: len(data)]
names = [data.classes[p] for p in preds.tolist()]
per_class = [(data.classes[c], (preds == c).sum().item()) for c in range(len(data.classes))]
counts = {name: names.count(name) for name in data.classes}
print(counts, per_class)
""",
    "accelerate metrics": """
from accelerate import Accelerator
accelerator = Accelerator()
data = Digits(60)
net, loader = accelerator.prepare(Net(), DataLoader(data, batch_size=4))
mine = []
for x, y in loader:
    mine.append(accelerator.gather_for_metrics(net(x).argmax(1)))
preds = torch.cat(mine)
result((preds != data.targets).sum().item())
""",
    "sorted both": ROWS
    + """
preds = torch.cat(gather(mine))
a, _ = preds.sort()
b, _ = data.targets.sort()
result((a != b).sum().item())
""",
    "np sort in place": ROWS
    + """
preds = torch.cat(gather(mine)).numpy()
preds.sort()
result(int((preds != np.sort(data.targets.numpy())).sum()))
""",
    "copy in order": ROWS
    + """
parts = gather(mine)
preds = torch.cat(parts)
preds.copy_(torch.stack(parts, dim=1).flatten())
result((preds != data.targets).sum().item())
""",
    "index put": ROWS
    + """
parts = gather(mine)
preds = torch.cat(parts)
world = dist.get_world_size()
preds = preds[torch.arange(len(preds)).view(world, -1).t().flatten()]
result((preds != data.targets).sum().item())
""",
    "reshape chain": ROWS
    + """
world = dist.get_world_size()
preds = torch.cat(gather(mine)).reshape(world, -1).transpose(0, 1).reshape(-1)
result((preds != data.targets).sum().item())
""",
    "reshape logits": SETUP
    + """
world = dist.get_world_size()
mine = torch.cat([net(x) for x, _ in loader]).detach()
logits = torch.cat(gather(mine)).view(world, len(mine), -1).permute(1, 0, 2).reshape(world * len(mine), -1)
result((logits.argmax(1) != data.targets).sum().item())
""",
    "steps of parts": SETUP
    + """
found = []
for x, _ in loader:
    parts = gather(net(x).argmax(1).detach())
    for row in zip(*parts):
        found.extend(int(p) for p in row)
result((torch.tensor(found) != data.targets).sum().item())
""",
    "world of one": """
data = Digits(60)
net = Net().eval()
loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, num_replicas=1, rank=0, shuffle=False))

preds = torch.cat([net(x).argmax(1) for x, _ in loader]).detach()
result((preds != data.targets).sum().item())
""",
    "prints rows": ROWS
    + """
preds = torch.cat(gather(mine))
if dist.get_rank() == 0:
    for i, p in enumerate(preds[:5].tolist()):
        print("example", i, p)
result(0)
""",
}


def found_in(make_project: MakeProject, body: str) -> list[Suspicion]:
    """What two processes are seen to pair, and what eight are as well."""
    lines = body.strip().split("\n")
    top = [line for line in lines if line.startswith(("import ", "from "))]
    inner = "\n".join(line for line in lines if line not in top)
    text = "\n".join(
        [*top, HEAD, "def main():", indent(inner, "    "), "", 'dist.init_process_group("gloo")', "main()", ""]
    )
    rehearsal = Rehearsal.of(make_project({"evaluate.py": text}))
    found: dict[Span, Suspicion] = {}
    for performance in rehearsal.performances():
        larger = rehearsal.again(performance)
        places = {one.span for one in rows_out_of_order(larger)} if larger is not None else set()
        found.update({one.span: one for one in rows_out_of_order(performance) if one.span in places})
    return list(found.values())


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_rows_of_two_orders_are_paired(make_project: MakeProject, body: str) -> None:
    """The finding stands where the rows are joined, and names the sampler and the pair."""
    found = found_in(make_project, body)
    assert len(found) == 1
    whys = [one.message for one in found[0].related]
    assert "this sampler deals out the rows" in whys
    assert "here they stand beside rows in the order of the data set" in whys or len(whys) == 1


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_rows_correspond(make_project: MakeProject, body: str) -> None:
    """Nothing is said of rows in the same order, nor of what is not paired."""
    assert not found_in(make_project, body)
