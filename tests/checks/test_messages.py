"""Messages between two ranks: which are never met, and which may be for all we know (PT524)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=10)
args = parser.parse_args()


def give(x, total):
    {give}


def take(x, total):
    {take}


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    x = torch.zeros(4)
    generator = torch.Generator().manual_seed(rank)
    total = torch.rand(4, generator=generator).sum()
    if rank == 0:
        give(x, total)
    else:
        take(x, total)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""

TAKES = "dist.recv(x, src=0)"

BAD = {
    "a receive left out where there is little": (
        "dist.send(x, dst=1)",
        """if total > 2:
        dist.recv(x, src=0)""",
    ),
    "a send skipped by a return": (
        """if total < 2:
        return
    dist.send(x, dst=1)""",
        TAKES,
    ),
    "a send in the other branch": (
        """if total < 2:
        x += 1
    else:
        dist.send(x, dst=1)""",
        TAKES,
    ),
}

GOOD = {
    "a send on the way out, whatever happens": (
        """try:
        if total < 2:
            return
        x += 1
    finally:
        dist.send(x, dst=1)""",
        TAKES,
    ),
    "a send on either way": (
        """if total < 2:
        dist.send(x * 2, dst=1)
        return
    dist.send(x, dst=1)""",
        TAKES,
    ),
    "told whether there is one": (
        """flag = (total > 2).float().reshape(1)
    dist.broadcast(flag, src=0)
    if flag.item():
        dist.send(x, dst=1)""",
        """flag = torch.zeros(1)
    dist.broadcast(flag, src=0)
    if flag.item():
        dist.recv(x, src=0)""",
    ),
    "a receive that the other side may leave out too": (
        """if total > 2:
        dist.send(x, dst=1)""",
        """if total > 2:
        dist.recv(x, src=0)""",
    ),
    "as many as were told": (
        """for _ in range(args.rounds):
        dist.send(x, dst=1)""",
        """for _ in range(args.rounds):
        dist.recv(x, src=0)""",
    ),
}


def never_met(folder: Path, monkeypatch: pytest.MonkeyPatch, give: str, take: str) -> bool:
    """Whether messages of the program are said to be never met."""
    (folder / "train.py").write_text(HEAD.format(give=give, take=take))
    monkeypatch.chdir(folder)
    return any(finding["code"] == "PT524" for finding in check()["findings"])


@pytest.mark.parametrize("name", BAD)
def test_messages_that_are_never_met(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert never_met(tmp_path, monkeypatch, *BAD[name])


@pytest.mark.parametrize("name", GOOD)
def test_messages_that_may_be_met(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not never_met(tmp_path, monkeypatch, *GOOD[name])


def test_calls_of_a_helper_tell_who_comes_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where both sides stand in one helper, the place alone does not tell which call is one too many."""
    helper = "\n\ndef put(x, to):\n    dist.send(x, dst=to)\n"
    give = "for _ in range(5):\n        put(x, 1)\n    dist.recv(x, src=1)"
    take = "for _ in range(4):\n        dist.recv(x, src=0)\n    put(x, 0)"
    text = HEAD.format(give=give, take=take).replace("\n\ndef give", helper + "\n\ndef give")
    (tmp_path / "train.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    (finding,) = check()["findings"]
    lines = text.splitlines()
    told = [(lines[one["line"] - 1].strip(), one["message"]) for one in finding["related"]]
    assert ("put(x, 1)", "rank 0 comes to `send` from here, 5 times in a row") in told
    assert ("put(x, 0)", "rank 1 comes to `send` from here") in told
