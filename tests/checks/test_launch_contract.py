"""Which command lines are certainly read by which parser, and how they are read."""

from __future__ import annotations

import pytest

from distlint.checks.command_contract import contracts
from tests.conftest import MakeProject

RUN = "torchrun --nproc_per_node 2 train.py --epochs 3 --lr -1 --fp16 rest\n"
OPTIONS = """
p.add_argument("--epochs", type=int)
p.add_argument("--lr", type=float)
p.add_argument("--fp16", action="store_true")
"""
HEAD = "import argparse\nimport sys\nimport torch.distributed as dist\np = argparse.ArgumentParser()\n" + OPTIONS


def test_a_command_line_is_read_as_argparse_does(make_project: MakeProject) -> None:
    (contract,) = contracts(make_project({"train.py": HEAD + "p.parse_args()\n", "run.sh": RUN}))
    reading = contract.reading()
    assert [(given.flag, [value.only for value in given.values]) for given in reading.options] == [
        ("--epochs", ["3"]),
        ("--lr", ["-1"]),
        ("--fp16", []),
    ]
    assert [word.value.only for word in reading.operands] == ["rest"]


@pytest.mark.parametrize(
    "parsing",
    [
        "p.parse_known_args()",
        "p.parse_args(['--epochs', '1'])",
        "if flag():\n    p.parse_args()",
        "def unused():\n    p.parse_args()",
        "try:\n    p.parse_args()\nexcept SystemExit:\n    pass",
        "sys.argv.remove('x')\np.parse_args()",
        "hidden(p)\np.parse_args()",
        "p.add_argument(*names)\np.parse_args()",
        "p.add_argument('rest', nargs='...')\np.parse_args()",
        "for i in range(3):\n    p.parse_args()",
    ],
)
def test_no_parser_is_certain_where_the_line_may_be_read_otherwise(make_project: MakeProject, parsing: str) -> None:
    assert contracts(make_project({"train.py": HEAD + parsing + "\n", "run.sh": RUN})) == ()


def test_a_parser_of_another_module_counts_where_the_script_calls_it(make_project: MakeProject) -> None:
    files = {
        "options.py": "import argparse\ndef read():\n    p = argparse.ArgumentParser()\n"
        "    p.add_argument('--epochs', type=int)\n    return p.parse_args()\n",
        "train.py": "import torch.distributed as dist\nfrom options import read\n"
        "if __name__ == '__main__':\n    args = read()\n    dist.barrier()\n",
        "run.sh": RUN,
    }
    (contract,) = contracts(make_project(files))
    assert contract.parse.file == "options.py"
    assert [given.flag for given in contract.reading().options if given.option is None] == ["--lr", "--fp16"]
