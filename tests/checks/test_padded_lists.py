"""Lists of each process's own length that are filled up to one that all have agreed on: as many turns everywhere, whatever is in them."""

from __future__ import annotations

from pathlib import Path

import pytest

import distlint

PROGRAM = """
import itertools
import os

import torch
import torch.distributed as dist


def own(paths):
    rank, world = dist.get_rank(), dist.get_world_size()
OWN
    return mine


def main(paths):
    dist.init_process_group("gloo")
    mine = own(paths)
MOST
FILLED
    if not mine:
        return
    for block in mine:
        if block is not None:
            print(block)
        dist.barrier()


main(open("paths.txt").read().split())
"""
OWN = {
    "share": "    mine = paths[rank::world]",
    "chosen": "    mine = [p for i, p in enumerate(paths) if i % world == rank and not os.path.exists(p)]",
    "folder": '    mine = sorted(os.listdir(f"data/{rank}"))',
    "loop": "    mine = []\n    for i, p in enumerate(paths):\n        if i % world == rank and len(p) > 10:\n            mine.append(p)",
}
MOST = {
    "reduced": "    count = torch.tensor([len(mine)])\n    dist.all_reduce(count, op=dist.ReduceOp.MAX)\n    most = count.item()",
    "gathered": "    sizes = [None] * dist.get_world_size()\n    dist.all_gather_object(sizes, len(mine))\n    most = max(sizes)",
}
FILLED = {
    "in place": "    mine += [None] * (most - len(mine))",
    "added": "    mine = mine + [None] * (most - len(mine))",
    "extended": "    mine.extend(None for _ in range(most - len(mine)))",
    "in a loop": "    for _ in range(most - len(mine)):\n        mine.append(None)",
    "as long as needed": "    while len(mine) < most:\n        mine.append(None)",
    "displayed": "    mine = [*mine, *([None] * (most - len(mine)))]",
    "cut": "    mine = (mine + [None] * most)[:most]",
    "if needed": "    missing = most - len(mine)\n    if missing > 0:\n        mine = mine + [None] * missing",
    "if shorter": "    if len(mine) < most:\n        mine.extend([None] * (most - len(mine)))",
}


def _found(folder: Path, own: str, most: str, filled: str) -> set[str]:
    code = PROGRAM.replace("OWN", own).replace("MOST", most).replace("FILLED", filled)
    (folder / "train.py").write_text(code)
    return {finding.code for finding in distlint.check(folder, use_cache=False).findings} & {"PT501", "PT503"}


@pytest.mark.parametrize("filled", FILLED.values(), ids=FILLED)
@pytest.mark.parametrize("own", OWN.values(), ids=OWN)
def test_a_filled_list_has_as_many_items_everywhere(tmp_path: Path, own: str, filled: str) -> None:
    assert not _found(tmp_path, own, MOST["reduced"], filled)


def test_a_gathered_length_is_agreed_on(tmp_path: Path) -> None:
    assert not _found(tmp_path, OWN["share"], MOST["gathered"], FILLED["in place"])


@pytest.mark.parametrize("filled", ["    pass", "    mine += [None] * 3", "    mine.append(None)"])
@pytest.mark.parametrize("own", [OWN["share"], OWN["chosen"], OWN["loop"]])
def test_a_list_that_is_not_filled_up_differs(tmp_path: Path, own: str, filled: str) -> None:
    assert _found(tmp_path, own, MOST["reduced"], filled)


@pytest.mark.parametrize(
    "filled", [FILLED["in place"], FILLED["added"], FILLED["in a loop"], FILLED["as long as needed"]]
)
def test_a_list_that_is_filled_up_to_a_length_of_its_own_differs(tmp_path: Path, filled: str) -> None:
    assert _found(tmp_path, OWN["share"], "    most = len(mine) + dist.get_rank()", filled)
