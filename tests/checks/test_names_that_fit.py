"""States of wrapped models that are taken over by what fits: nothing does, unless the prefix is taken off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import copy
import os
from collections import OrderedDict
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present

class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.stem(x))

{top}

def train(model):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(10):
        opt.zero_grad()
        model(torch.ones(8, 4)).square().mean().backward()
        opt.step()

def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DDP(Net())
    train(model)
    if dist.get_rank() == 0:
        torch.save({saved}, "last.pt")
    dist.barrier()
    net = {net}
    {load}
    print(sum(p.sum().item() for p in net.parameters()))
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
"""
READ = 'state = torch.load("last.pt", map_location="cpu")\n'
WRAPPED, BARE = "model.state_dict()", "model.module.state_dict()"
RULES = {"PT224", "PT280", "PT281"}
LOADS = {
    "strictfalse": ("net.load_state_dict(state, strict=False)"),
    "comp": (
        "own = net.state_dict()\n"
        "fit = {k: v for k, v in state.items() if k in own}\n"
        "own.update(fit)\n"
        "net.load_state_dict(own)"
    ),
    "comp-shape": (
        "own = net.state_dict()\n"
        "fit = {k: v for k, v in state.items() if k in own and v.shape == own[k].shape}\n"
        "own.update(fit)\n"
        "net.load_state_dict(own)"
    ),
    "comp-strictfalse": (
        "own = net.state_dict()\n"
        "state = {k: v for k, v in state.items() if k in own and own[k].size() == v.size()}\n"
        "net.load_state_dict(state, strict=False)"
    ),
    "update-strictfalse": ("own = net.state_dict()\nown.update(state)\nnet.load_state_dict(own, strict=False)"),
    "loop-items": (
        "own = net.state_dict()\n"
        "for k, v in state.items():\n"
        "    if k in own:\n"
        "        own[k] = v\n"
        "net.load_state_dict(own)"
    ),
    "loop-copy": (
        "own = net.state_dict()\n"
        "for name, param in state.items():\n"
        "    if name not in own:\n"
        "        continue\n"
        "    own[name].copy_(param)"
    ),
    "loop-own": (
        "own = net.state_dict()\n"
        "for k in own:\n"
        "    if k in state and state[k].shape == own[k].shape:\n"
        "        own[k] = state[k]\n"
        "net.load_state_dict(own)"
    ),
    "loop-named": (
        "with torch.no_grad():\n"
        "    for name, p in net.named_parameters():\n"
        "        if name in state:\n"
        "            p.copy_(state[name])"
    ),
    "merge-display": (
        "own = net.state_dict()\nnet.load_state_dict({**own, **{k: v for k, v in state.items() if k in own}})"
    ),
    "merge-or": (
        "own = net.state_dict()\nfit = {k: v for k, v in state.items() if k in own}\nnet.load_state_dict(own | fit)"
    ),
    "comp-own": ("own = net.state_dict()\nnet.load_state_dict({k: state.get(k, v) for k, v in own.items()})"),
    "comp-own-cond": (
        "own = net.state_dict()\n"
        "merged = {k: (state[k] if k in state else v) for k, v in own.items()}\n"
        "net.load_state_dict(merged)"
    ),
    "new-dict-loop-update": (
        "own = net.state_dict()\n"
        "fit = OrderedDict()\n"
        "for k, v in state.items():\n"
        "    if k in own and v.shape == own[k].shape:\n"
        "        fit[k] = v\n"
        "own.update(fit)\n"
        "net.load_state_dict(own)"
    ),
    "keys": (
        "own = net.state_dict()\n"
        "matched = [k for k in state.keys() if k in own]\n"
        "for k in matched:\n"
        "    own[k] = state[k]\n"
        "net.load_state_dict(own)"
    ),
    "inter": (
        "own = net.state_dict()\n"
        "common = own.keys() & state.keys()\n"
        "net.load_state_dict({k: state[k] for k in common}, strict=False)"
    ),
    "filter-del": (
        "own = net.state_dict()\n"
        "for k in list(state.keys()):\n"
        "    if k not in own or state[k].shape != own[k].shape:\n"
        "        del state[k]\n"
        "net.load_state_dict(state, strict=False)"
    ),
    "filter-pop": (
        "own = net.state_dict()\n"
        "for k in list(state):\n"
        "    if k not in own:\n"
        "        state.pop(k)\n"
        "net.load_state_dict(state, strict=False)"
    ),
    "getset": (
        "own = dict(net.named_parameters())\nfor k, v in state.items():\n    if k in own:\n        own[k].data.copy_(v)"
    ),
}
RIGHT = {
    "strip-comp": (
        "own = net.state_dict()\n"
        'state = {k.replace("module.", ""): v for k, v in state.items()}\n'
        "own.update({k: v for k, v in state.items() if k in own})\n"
        "net.load_state_dict(own)"
    ),
    "strip-comp2": (
        "own = net.state_dict()\n"
        "fit = {k[7:]: v for k, v in state.items() if k[7:] in own}\n"
        "own.update(fit)\n"
        "net.load_state_dict(own)"
    ),
    "strip-loop": (
        "own = net.state_dict()\n"
        "for k, v in state.items():\n"
        '    k = k.removeprefix("module.")\n'
        "    if k in own:\n"
        "        own[k] = v\n"
        "net.load_state_dict(own)"
    ),
    "consume": (
        'consume_prefix_in_state_dict_if_present(state, "module.")\n'
        "own = net.state_dict()\n"
        "own.update({k: v for k, v in state.items() if k in own})\n"
        "net.load_state_dict(own)"
    ),
    "consume-lax": (
        'consume_prefix_in_state_dict_if_present(state, "module.")\nnet.load_state_dict(state, strict=False)'
    ),
    "named-prefix": (
        'with torch.no_grad():\n    for name, p in net.named_parameters():\n        p.copy_(state["module." + name])'
    ),
    "named-prefix2": (
        "with torch.no_grad():\n"
        "    for name, p in net.named_parameters():\n"
        '        key = f"module.{name}"\n'
        "        if key in state:\n"
        "            p.copy_(state[key])"
    ),
    "startswith": (
        'if next(iter(state)).startswith("module."):\n'
        "    state = {k[7:]: v for k, v in state.items()}\n"
        "own = net.state_dict()\n"
        "own.update({k: v for k, v in state.items() if k in own})\n"
        "net.load_state_dict(own)"
    ),
    "fallback": (
        "own = net.state_dict()\n"
        "fit = {k: v for k, v in state.items() if k in own}\n"
        "if not fit:\n"
        "    fit = {k[7:]: v for k, v in state.items() if k[7:] in own}\n"
        "own.update(fit)\n"
        "net.load_state_dict(own)"
    ),
    "lax-then-strip": (
        "res = net.load_state_dict(state, strict=False)\n"
        "if res.missing_keys:\n"
        "    net.load_state_dict({k[7:]: v for k, v in state.items()})"
    ),
    "counter-raise": (
        "own = net.state_dict()\n"
        "n = 0\n"
        "for k, v in state.items():\n"
        "    if k in own:\n"
        "        own[k].copy_(v)\n"
        "        n += 1\n"
        "if n == 0:\n"
        '    raise RuntimeError("nothing")'
    ),
    "else-strip": (
        "own = net.state_dict()\n"
        "for k, v in state.items():\n"
        "    if k in own:\n"
        "        own[k].copy_(v)\n"
        "    elif k[7:] in own:\n"
        "        own[k[7:]].copy_(v)"
    ),
    "split": (
        "own = net.state_dict()\n"
        "for k, v in state.items():\n"
        '    name = k.split(".", 1)[1]\n'
        "    if name in own:\n"
        "        own[name].copy_(v)"
    ),
    "report-only": (
        "own = net.state_dict()\n"
        'print("known:", [k for k in state if k in own])\n'
        'net.load_state_dict({k.replace("module.", ""): v for k, v in state.items()})'
    ),
    "report-only2": (
        "own = net.state_dict()\n"
        "extra = [k for k in state if k not in own]\n"
        "if extra:\n"
        "    net.load_state_dict({k[7:]: v for k, v in state.items()})"
    ),
    "assert-missing": ("missing, unexpected = net.load_state_dict(state, strict=False)\nassert not missing, missing"),
}
FUNCTIONS = """
def save_checkpoint(path, model, epoch):
    torch.save({{"epoch": epoch, "model": model{inner}.state_dict()}}, path)

def load_pretrained(model, path):
    checkpoint = torch.load(path, map_location="cpu")
    own = model.state_dict()
    fit = {{k: v for k, v in checkpoint["model"].items() if k in own}}
    own.update(fit)
    model.load_state_dict(own)
    return model
"""
TRAINER = """
class Trainer:
    def __init__(self, net, path):
        self.net, self.path = net, path
        self.model = DDP(net)

    def save(self):
        torch.save({{"model": self.{kept}.state_dict()}}, self.path)

    def restore(self):
        own = self.net.state_dict()
        for k, v in torch.load(self.path)["model"].items():
            if k in own:
                own[k].copy_(v)
"""


def codes(folder: Path, monkeypatch: pytest.MonkeyPatch, **parts: str) -> list[str]:
    """The rules about names that speak of a program."""
    words = {"top": "", "net": "Net()", "saved": WRAPPED, "load": "pass", **parts}
    words["load"] = words["load"].replace("\n", "\n    ")
    (folder / "train.py").write_text(PROGRAM.format(**words))
    monkeypatch.chdir(folder)
    return [finding["code"] for finding in check()["findings"] if finding["code"] in RULES]


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_nothing_fits(load: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of the wrapper for the model without it, and told once."""
    assert len(codes(tmp_path, monkeypatch, load=READ + load)) == 1


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_all_fits(load: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same functions with the state of the model itself."""
    assert not codes(tmp_path, monkeypatch, load=READ + load, saved=BARE)


@pytest.mark.parametrize("load", RIGHT.values(), ids=RIGHT)
def test_prefix_is_minded(load: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prefix is taken off, or what came of it is looked at."""
    assert not codes(tmp_path, monkeypatch, load=READ + load)


@pytest.mark.parametrize(("saved", "found"), [(WRAPPED, 0), (BARE, 1)])
def test_into_the_wrapper(saved: str, found: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrapper needs the names of one."""
    for load in (LOADS["comp-shape"], LOADS["loop-named"], LOADS["strictfalse"]):
        assert len(codes(tmp_path, monkeypatch, load=READ + load, saved=saved, net="DDP(Net())")) == found


@pytest.mark.parametrize(("inner", "found"), [("", ["PT224"]), (".module", [])])
def test_functions(inner: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One function saves, another one takes over."""
    load = 'save_checkpoint("a.pt", model, 3)\nnet = DDP(load_pretrained(Net(2), "a.pt"))'
    assert codes(tmp_path, monkeypatch, top=FUNCTIONS.format(inner=inner), load=load) == found


@pytest.mark.parametrize(("kept", "found"), [("model", ["PT224"]), ("net", []), ("model.module", [])])
def test_methods(kept: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with the methods of a class."""
    load = 'first = Trainer(net, "a.pt")\nfirst.save()\nTrainer(Net(), "a.pt").restore()'
    assert codes(tmp_path, monkeypatch, top=TRAINER.format(kept=kept), load=load) == found
