"""How many items generators and streams of a project give where they are not followed one by one, and how many files a program finds."""

from __future__ import annotations

import pytest

from distlint.checks.trace_faults import TraceFaults
from tests.conftest import MakeProject

HEAD = """
import glob
import itertools
import json
import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
"""
STREAM = """
class Stream(IterableDataset):
    def __init__(self, rows):
        self.rows = rows
    def __iter__(self):
{0}
kept = [row for row in map(json.loads, open("rows.jsonl")) if row]
for batch in DataLoader(Stream(kept), batch_size=8{1}):
    dist.all_reduce(torch.ones(1))
"""


def said(make_project: MakeProject, text: str) -> list[str]:
    """The operations that some processes make more often than others."""
    return [fault.name for fault in TraceFaults.of_project(make_project({"train.py": HEAD + text}))]


@pytest.mark.parametrize(
    "body",
    [
        "for row in self.rows[rank::world]: yield row",
        "yield from self.rows[rank::world]",
        "yield from (row for row in self.rows[rank::world])",
        "return iter(self.rows[rank::world])",
        "return itertools.islice(self.rows, rank, None, world)",
        "for number, row in enumerate(self.rows):\n    if number % world == rank:\n        yield row",
        "for number, row in enumerate(self.rows):\n    if number % world != rank: continue\n    yield row",
        "for number in range(rank, len(self.rows), world): yield self.rows[number]",
        "info = get_worker_info()\nfor row in self.rows[rank::world * (info.num_workers if info else 1)]: yield row",
    ],
)
def test_uneven_shares_of_a_stream_make_more_batches(make_project: MakeProject, body: str) -> None:
    lines = "\n".join("        " + line for line in body.split("\n"))
    assert said(make_project, STREAM.replace("{0}", lines).replace("{1}", "")) == ["all_reduce"]
    assert said(make_project, STREAM.replace("{0}", lines).replace("{1}", ", drop_last=True")) == []


@pytest.mark.parametrize(
    "body",
    [
        "each = len(self.rows) // world\nfor row in self.rows[rank * each:(rank + 1) * each]: yield row",
        "for number, row in enumerate(self.rows[:512]):\n    if number % world == rank:\n        yield row",
        "for number, row in enumerate(self.rows[rank::world]):\n    if number == 64: return\n    yield row",
        "for number, row in enumerate(self.rows):\n    if number * 3 % world == rank:\n        yield row",
    ],
)
def test_other_streams_may_give_as_much_on_all(make_project: MakeProject, body: str) -> None:
    lines = "\n".join("        " + line for line in body.split("\n"))
    assert said(make_project, STREAM.replace("{0}", lines).replace("{1}", "")) == []


FILES = """
def write(folder, count):
    os.makedirs(folder, exist_ok=True)
    for number in range(count):
        with open({0}, "w") as file:
            for _ in range(8):
                file.write("[1.0]\\n")
def lines(paths):
    for path in paths:
        with open(path) as file:
            for line in file:
                yield json.loads(line)
if rank == 0:
    write("data", {1})
dist.barrier()
paths = {2}
for line in lines({3}):
    dist.all_reduce(torch.tensor(line))
"""
SHARE = "paths[rank::world]"


@pytest.mark.parametrize(
    ("name", "count", "paths", "share", "is_uneven"),
    [
        ('f"{folder}/{number}.json"', "5", 'sorted(glob.glob("data/*.json"))', SHARE, True),
        ('os.path.join(folder, f"{number}.json")', "3", 'list(Path("data").iterdir())', SHARE, True),
        ('Path(folder) / f"{number}.json"', "7", 'sorted(os.listdir("data"))', SHARE, True),
        ('f"{folder}/{number}.json"', "5", '[f"data/{one}.json" for one in range(5)]', SHARE, True),
        ('f"{folder}/{number}.json"', "4", 'sorted(glob.glob("data/*.json"))', SHARE, False),
        ('f"{folder}/{number}.txt"', "5", 'sorted(glob.glob("data/*.json"))', SHARE, False),
        ('f"{folder}/{number}.json"', "5", 'sorted(glob.glob("other/*.json"))', SHARE, False),
        ('f"{folder}/{number}.json"', "5", 'sorted(glob.glob("data/*.json"))', "paths", False),
        ('f"{folder}/{number}.json"', "5", 'sorted(glob.glob("data/*.json"))[:4]', SHARE, False),
        ('f"{folder}/{number}.json"', "1", 'sorted(glob.glob("data/*.json"))', SHARE, False),
        ('f"{folder}/{number}.json"', "5 * world", 'sorted(glob.glob("data/*.json"))', SHARE, False),
    ],
)
def test_a_program_finds_the_files_that_it_has_written(
    make_project: MakeProject, name: str, count: str, paths: str, share: str, is_uneven: bool
) -> None:
    code = FILES.replace("{0}", name).replace("{1}", count).replace("{2}", paths).replace("{3}", share)
    assert said(make_project, code) == (["all_reduce"] if is_uneven else [])


FOUND = 'sorted(glob.glob("data/*.json"))'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if rank == 0:\n    write", "if os.environ.get('AGAIN'):\n    write"),
        ('write("data", 5)', 'write("data", 5); os.remove("data/4.json")'),
        ('write("data", 5)', f'write("data", 5 - len({FOUND}))'),
        ("            for line in file:", "            for line in itertools.islice(file, 20 // len(paths)):"),
        (
            "            for line in file:",
            "            for number, line in enumerate(file):\n                if number == 2: return",
        ),
    ],
)
def test_what_is_not_known_of_files_is_not_counted(make_project: MakeProject, old: str, new: str) -> None:
    code = FILES.replace("{0}", 'f"{folder}/{number}.json"').replace("{1}", "5").replace("{3}", SHARE)
    code = code.replace("{2}", FOUND)
    assert old in code
    assert said(make_project, code) == ["all_reduce"]
    assert said(make_project, code.replace(old, new)) == []


@pytest.mark.parametrize(
    "guard",
    [
        "if not os.path.exists('data'):",
        "if rank == 0 and not os.path.isdir('data'):",
        "if rank == 0 and not Path('data', 'done').exists():",
    ],
)
def test_what_is_written_unless_it_is_there_was_written_once(make_project: MakeProject, guard: str) -> None:
    code = FILES.replace("{0}", 'f"{folder}/{number}.json"').replace("{2}", FOUND).replace("{3}", SHARE)
    code = code.replace("if rank == 0:", guard)
    assert said(make_project, code.replace("{1}", "5")) == ["all_reduce"]
    assert said(make_project, code.replace("{1}", "4")) == []


def test_each_process_finds_what_all_of_them_have_written(make_project: MakeProject) -> None:
    code = (
        FILES.replace("{0}", 'f"{folder}/{rank}-{number}.json"').replace("{1}", "3").replace("{3}", "range(len(paths))")
    )
    code = (
        code.replace("{2}", FOUND).replace("if rank == 0:", "if True:").replace("with open(path) as file:", "if True:")
    )
    code = code.replace("for line in file:", "for line in ['[1.0]']:")
    assert said(make_project, code) == []


def test_a_folder_that_one_process_has_made_is_known_to_all_that_it_tells(make_project: MakeProject) -> None:
    code = FILES.replace("{0}", 'f"{folder}/{number}.json"').replace("{1}", "5").replace("{3}", SHARE)
    code = code.replace("{2}", 'sorted(Path(root[0]).glob("*.json"))').replace(
        "dist.barrier()", "dist.broadcast_object_list(root)"
    )
    code = code.replace("if rank == 0:", "root = [None]\nif rank == 0:\n    root = [tempfile.mkdtemp()]")
    assert said(make_project, code.replace('write("data", 5)', "write(root[0], 5)")) == ["all_reduce"]


def test_a_path_may_be_none_at_all(make_project: MakeProject) -> None:
    code = (
        HEAD + "torch.save({}, '.')\ndist.barrier()\nfor one in glob.glob('') + os.listdir('.'):\n    dist.barrier()\n"
    )
    assert TraceFaults.of_project(make_project({"train.py": code})) == ()
