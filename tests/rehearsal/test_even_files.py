"""Files that a project writes itself: whether each of them gets as many rows as the others."""

from __future__ import annotations

import pytest

from distlint.rehearsal.even_files import writes_evenly
from tests.conftest import MakeProject

WRITE = """
import json
import os

def write(path, count):
    with open(path, "w") as file:
        for number in range(count):
            file.write(json.dumps(number) + "\\n")
"""


@pytest.mark.parametrize(
    "program",
    [
        "for part in range(8):\n    write(f'{part}.jsonl', 40)",
        "write(f'{os.environ[\"RANK\"]}.jsonl', 40)",
        "COUNT = 30\nfor part in range(8):\n    write(f'{part}.jsonl', COUNT)",
        "args = parse()\nfor part in range(args.files):\n    write(f'{part}.jsonl', args.rows)",
        "args = parse()\nfor part in range(8):\n    write(f'{part}.jsonl', args.rows_per_shard)",
    ],
)
def test_as_many_rows_for_each_file_are_even(make_project: MakeProject, program: str) -> None:
    assert writes_evenly(make_project({"train.py": f"{WRITE}\n{program}\n"}))


@pytest.mark.parametrize(
    "program",
    [
        "for part in range(8):\n    write(f'{part}.jsonl', 40 + part)",
        "rank = int(os.environ['RANK'])\nwrite(f'{rank}.jsonl', 40 + rank)",
        "import random\nfor part in range(8):\n    write(f'{part}.jsonl', random.randint(1, 9))",
        "write('first.jsonl', 40)\nwrite('second.jsonl', 50)",
        "args = parse()\nwrite('first.jsonl', args.rows)\nwrite('second.jsonl', args.others)",
        "args = parse()\nfor part in range(8):\n    write(f'{part}.jsonl', args.shard_rows)",
        "for args in parse():\n    write(args.name, args.rows)",
        "for part, count in enumerate([3, 4]):\n    write(f'{part}.jsonl', count)",
        "with open('own.txt', 'w') as file:\n    file.write('all at once')",
    ],
)
def test_what_may_be_another_number_for_each_file_is_not(make_project: MakeProject, program: str) -> None:
    assert not writes_evenly(make_project({"train.py": f"{WRITE}\n{program}\n"}))


def test_rows_that_a_test_leaves_out_are_not_even(make_project: MakeProject) -> None:
    tested = WRITE.replace("            file.write", "            if number % 3:\n                file.write")
    assert not writes_evenly(make_project({"train.py": f"{tested}\nfor part in range(8):\n    write(str(part), 40)\n"}))


def test_a_project_that_writes_nothing_says_nothing_of_its_files(make_project: MakeProject) -> None:
    assert not writes_evenly(make_project({"train.py": "print(open('rows.txt').read())\n"}))


SAVE = """
import torch

def save(path, count, width):
    rows = torch.randn(count, width)
    torch.save({"rows": rows, "sums": rows.sum(1)}, path)
"""


def test_files_that_are_saved_at_once_with_as_much_in_them_are_even(make_project: MakeProject) -> None:
    assert writes_evenly(make_project({"train.py": SAVE + "for part in range(8):\n    save(f'{part}.pt', 40, 3)\n"}))


def test_files_that_are_saved_at_once_with_other_sizes_are_not(make_project: MakeProject) -> None:
    assert not writes_evenly(
        make_project({"train.py": SAVE + "for part in range(8):\n    save(f'{part}.pt', 40 + part, 3)\n"})
    )


def test_checkpoints_say_nothing_of_files_with_rows(make_project: MakeProject) -> None:
    program = "import torch\nnoise = torch.randn(3)\ntorch.save(model.state_dict(), 'model.pt')\n"
    assert not writes_evenly(make_project({"train.py": program}))
