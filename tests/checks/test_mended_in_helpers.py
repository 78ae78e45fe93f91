"""What a helper of the project does to a state, or to a set of names, before it is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

STATES = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present
from torch.nn.parallel import DistributedDataParallel as DDP


def strip(state):
    consume_prefix_in_state_dict_if_present(state, "module.")


def count(state):
    print(len(state))


def put(state, net):
    net.load_state_dict(state)


def main():
    dist.init_process_group("gloo")
    state = DDP(nn.Linear(4, 2)).state_dict()
    net = nn.Linear(4, 2)
    {first}(state)
    put({given}, net)
    dist.destroy_process_group()


main()
"""
NAMES = """
import torch.distributed as dist


def send(box):
    dist.broadcast_object_list(box, src=0)


def send_on(box):
    send(box)


def show(box):
    print(box)


def main():
    dist.init_process_group("gloo")
    names = {name for name in "ant bee cow dog".split()}
    numbers = {name: number for number, name in enumerate(names)}
    box = [numbers]
    {first}(box)
    print(box[0]["ant"])
    dist.destroy_process_group()


main()
"""


@pytest.mark.parametrize(
    ("first", "given", "wrong"),
    [
        ("strip", "state", False),
        ("count", "state", True),
        ("strip", 'dict(state, **{"bias": state["bias"]})', False),
    ],
)
def test_prefixes(first: str, given: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = STATES.replace("{first}", first).replace("{given}", given)
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == ["PT280"] * wrong


@pytest.mark.parametrize(("first", "wrong"), [("send", False), ("send_on", False), ("show", True)])
def test_names(first: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(NAMES.replace("{first}", first), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == ["PT261"] * wrong
