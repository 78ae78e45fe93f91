"""Which parameters of a sharded model are trained, and which of them go into one flat parameter (PT283)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

CODE = """
import functools

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy, transformer_auto_wrap_policy


class Adapter(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Linear(16, 2)
        self.up = nn.Linear(2, 16)

    def forward(self, h):
        return h + self.up(self.down(h))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.dense = nn.Linear(16, 16)
        self.adapter = Adapter()

    def forward(self, h):
        return self.adapter(h + self.dense(self.norm(h)))


class Net(nn.Module):
    def __init__(self, depth=9):
        super().__init__()
        self.stem = nn.Linear(16, 16)
        self.blocks = nn.ModuleList([Block() for _ in range(depth)])
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = block(h)
        return self.head(h)


def main():
    dist.init_process_group("nccl")
    net = Net()
{body}
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.randn(4, 16)).mean().backward()
    opt.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
BY_NAME = "for name, p in net.named_parameters():\n    p.requires_grad = {test}\n"
BY_BLOCK = "model = FSDP(net, auto_wrap_policy=ModuleWrapPolicy({Block}))"
WRONG = {
    "adapters in their blocks": BY_NAME.replace("{test}", "'adapter' in name") + BY_BLOCK,
    "told in branches": (
        "for name, p in net.named_parameters():\n    if name.startswith('blocks') and 'adapter' not in name:\n"
        "        p.requires_grad_(False)\n    else:\n        p.requires_grad_(True)\n"
    )
    + BY_BLOCK,
    "the others go on": (
        "for name, p in net.named_parameters():\n    if 'norm' in name:\n        continue\n    p.requires_grad = False\n"
        + BY_BLOCK
    ),
    "frozen, but for the heads": (
        "net.requires_grad_(False)\nfor block in net.blocks:\n    block.norm.requires_grad_(True)\n" + BY_BLOCK
    ),
    "what is left for the root": "net.stem.requires_grad_(False)\n" + BY_BLOCK,
    "all in one": BY_NAME.replace("{test}", "'head' in name") + "model = FSDP(net)",
    "said to be flat": BY_NAME.replace("{test}", "'adapter' in name") + BY_BLOCK[:-1] + ", use_orig_params=False)",
}
RIGHT = {
    "original parameters": BY_NAME.replace("{test}", "'adapter' in name") + BY_BLOCK[:-1] + ", use_orig_params=True)",
    "adapters are units": (
        BY_NAME.replace("{test}", "'adapter' in name")
        + "model = FSDP(net, auto_wrap_policy=ModuleWrapPolicy({Block, Adapter}))"
    ),
    "all frozen but whole blocks": BY_NAME.replace("{test}", "'blocks' in name") + BY_BLOCK,
    "all trained": BY_NAME.replace("{test}", "len(name) > 0") + BY_BLOCK,
    "trained again": (BY_NAME.replace("{test}", "'adapter' in name") + "net.requires_grad_(True)\n" + BY_BLOCK),
    "some test": BY_NAME.replace("{test}", "p.mean().item() > 0") + BY_BLOCK,
    "by size": (
        BY_NAME.replace("{test}", "'adapter' in name")
        + "model = FSDP(net, auto_wrap_policy=size_based_auto_wrap_policy)"
    ),
    "by a function": (
        BY_NAME.replace("{test}", "'adapter' in name")
        + "model = FSDP(net, auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block, Adapter}))"
    ),
    "frozen blocks": "for block in net.blocks:\n    for p in block.parameters():\n        p.requires_grad = False\n"
    + BY_BLOCK,
    "ignored": (
        "net.stem.requires_grad_(False)\nmodel = FSDP(net, auto_wrap_policy=ModuleWrapPolicy({Block}), ignored_modules=[net.stem])"
    ),
    "wrapped part by part": "net.stem.requires_grad_(False)\nnet.stem = FSDP(net.stem)\nmodel = FSDP(net)",
}


def _is_found(body: str, folder: Path, patch: pytest.MonkeyPatch) -> bool:
    patch.chdir(folder)
    text = CODE.replace("{body}", "\n".join("    " + line for line in body.split("\n")))
    compile(text, "train.py", "exec")
    (folder / "train.py").write_text(text)
    return any(finding["code"] == "PT283" for finding in check()["findings"])


@pytest.mark.parametrize("name", WRONG)
def test_some_of_a_unit_are_trained(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _is_found(WRONG[name], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", RIGHT)
def test_units_are_trained_as_a_whole_or_nobody_knows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not _is_found(RIGHT[name], tmp_path, monkeypatch)
