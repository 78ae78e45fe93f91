"""Modules that register functions in others when they are imported: what is looked up by the rank is called on some ranks only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HUB = """
from collections import defaultdict
TAKERS = defaultdict(list)
def taker(what, of="all"):
    def put(function):
        TAKERS[what, of].append(function)
        return function
    return put
class Board:
    def __init__(self):
        self.kept = {}
    def pin(self, of):
        def put(function):
            self.kept.setdefault(of, []).append(function)
            return function
        return put
board = Board()
def call(what, of, *things):
    for function in [*TAKERS[what, "all"], *TAKERS[what, of], *board.kept.get(of, ())]:
        function(*things)
"""
TAKES = """
import torch.distributed as dist
import hub
from hub import board, taker
{mark}
def whole(x):
    dist.all_reduce(x)
{behind}
"""
PROGRAM = """
import torch
import torch.distributed as dist
from hub import call
{load}
def main():
    {within}
    dist.init_process_group("gloo")
    of = "first" if dist.get_rank() == 0 else "other"
    for _ in range(2):
        x = torch.ones(2)
        dist.all_reduce(x)
        call("end", of, x)
    dist.barrier()
    dist.destroy_process_group()
if __name__ == "__main__":
    main()
"""


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that is looked at."""
    monkeypatch.chdir(tmp_path)


def found(mark: str, behind: str = "", load: str = "import takes", within: str = "pass") -> bool:
    """Whether a program has a finding about ranks that do not meet."""
    Path("hub.py").write_text(HUB, encoding="utf-8")
    Path("takes.py").write_text(TAKES.format(mark=mark, behind=behind), encoding="utf-8")
    Path("parts").mkdir(exist_ok=True)
    Path("parts/__init__.py").write_text("from . import inner\n", encoding="utf-8")
    Path("parts/inner.py").write_text(TAKES.format(mark=mark, behind=behind), encoding="utf-8")
    Path("train.py").write_text(PROGRAM.format(load=load, within=within), encoding="utf-8")
    return bool({"PT501", "PT503"} & {one["code"] for one in check()["findings"]})


@pytest.mark.parametrize(
    ("mark", "behind", "differs"),
    [
        ('@taker("end", of="first")', "", True),
        ('@taker("end")', "", False),
        ('@taker("start", of="first")', "", False),
        ('@taker("end", of="first")\n@taker("end", of="other")', "", False),
        ('@hub.taker("end", of="first")', "", True),
        ('@board.pin("first")', "", True),
        ('@board.pin("other")\n@board.pin("first")', "", False),
        ("", 'hub.TAKERS["end", "first"] = [whole]', True),
        ("", 'hub.TAKERS["end", "all"] = [whole]', False),
    ],
)
def test_what_a_module_registers_is_called_by_those_who_look_it_up(mark: str, behind: str, differs: bool) -> None:
    """By decorators of another module or an object of it, and by stores."""
    assert found(mark, behind) is differs


@pytest.mark.parametrize(
    ("load", "within", "differs"),
    [
        ("import parts", "pass", True),
        ("from parts import inner", "pass", True),
        ("import parts.inner", "pass", True),
        ("", "import takes", True),
        ("", "pass", False),
    ],
)
def test_modules_register_when_they_are_imported(load: str, within: str, differs: bool) -> None:
    """By a package, by name, inside a function; one that nobody imports registers nothing."""
    assert found('@taker("end", of="first")', "", load, within) is differs
