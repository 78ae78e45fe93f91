"""Lists that are cut in pieces as long as a part of them: one more where something is left over."""

from __future__ import annotations

import pytest

from distlint.checks.meeting_lists import wrong_lengths
from distlint.rehearsal.performance import Rehearsal
from tests.conftest import MakeProject

HEAD = """
import argparse, math
import torch.distributed as dist

def cut(items, size):
    for start in range(0, len(items), size):
        yield items[start : start + size]

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
parser = argparse.ArgumentParser()
parser.add_argument("--count", type=int, default=8)
args = parser.parse_args()
names = open("names.txt").read().split()
"""
TAIL = "\nown = [None]\ndist.scatter_object_list(own, dealt if rank == 0 else None, src=0)\n"

LEFT = {
    "comprehension": "size = len(names) // world\ndealt = [names[i : i + size] for i in range(0, len(names), size)]",
    "at least one": "size = max(1, len(names) // world)\ndealt = [names[i : i + size] for i in range(0, len(names), size)]",
    "as an int": "size = int(len(names) / world)\ndealt = [names[i : i + size] for i in range(0, len(names), size)]",
    "floor": "size = math.floor(len(names) / world)\ndealt = list(cut(names, size))",
    "generator": "dealt = list(cut(names, len(names) // world))",
    "generator expression": "n = len(names)\nsize = n // world\ndealt = list(names[i : i + size] for i in range(0, n, size))",
}
EVEN = {
    "dealt in turn": "dealt = [names[r::world] for r in range(world)]",
    "by rank": "size = len(names) // world\ndealt = [names[r * size : (r + 1) * size] for r in range(world)]",
    "asked before": "assert len(names) % world == 0\ndealt = list(cut(names, len(names) // world))",
    "padded": "names += names[: -len(names) % world]\ndealt = list(cut(names, len(names) // world))",
    "cut": "size = len(names) // world\nnames = names[: size * world]\ndealt = list(cut(names, size))",
    "first ones": "dealt = list(cut(names, len(names) // world))[:world]",
    "the last ones joined": "dealt = list(cut(names, len(names) // world))\n"
    "if len(dealt) > world:\n    dealt[world - 1 :] = [sum(dealt[world - 1 :], [])]",
    "up to a multiple": "size = len(names) // world\ndealt = [names[i : i + size] for i in range(0, size * world, size)]",
    "an option": "size = args.count // world\ndealt = [list(range(i, i + size)) for i in range(0, args.count, size)]",
    "so many for each": "count = args.count * world\nsize = count // world\ndealt = [i for i in range(0, count, size)]",
}


def _lengths(make_project: MakeProject, code: str) -> list[str]:
    project = make_project({"train.py": HEAD + code + TAIL})
    (performance,) = Rehearsal.of(project).performances()
    return [one.message for one in wrong_lengths(performance)]


@pytest.mark.parametrize("code", LEFT.values(), ids=LEFT)
def test_pieces_as_long_as_a_part_are_more_than_the_parts(make_project: MakeProject, code: str) -> None:
    (message,) = _lengths(make_project, code)
    assert message.endswith("one more where something is left over")


@pytest.mark.parametrize("code", EVEN.values(), ids=EVEN)
def test_nothing_is_left_over(make_project: MakeProject, code: str) -> None:
    assert not _lengths(make_project, code)
