"""Paths that processes draw for themselves, or that the one which starts them draws for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

HEAD = """
import multiprocessing
import os
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from functools import partial
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

"""
WORK = """
def work({0}):
    dist.init_process_group("gloo", "tcp://127.0.0.1:29500", rank=rank, world_size=world)
    if rank == 0:
        os.makedirs({1}, exist_ok=True)
        torch.save(torch.ones(2), os.path.join({1}, "best.pt"))
    dist.barrier()
    print(torch.load(os.path.join({1}, "best.pt")))
"""
DRAWN = "os.path.join('runs', uuid.uuid4().hex)"
FACTORY = f"@dataclass\nclass Places:\n    folder: str = field(default_factory=lambda: {DRAWN})\n"
MADE = f"class Places:\n    def __init__(self):\n        self.folder = {DRAWN}\n"
SPAWN = "mp.spawn(work, args=(2,), nprocs=2)"
WRAPPED = "def start(function, *given):\n    mp.spawn(function, args=(2, *given), nprocs=2)\n"
LOOP = "for rank in range(2):\n        {}.Process(target=work, args=(rank, 2)).start()"
METHOD = """
class Job:
    def __init__(self):
        self.folder = tempfile.mkdtemp()
    def work(self, rank, world):
        dist.init_process_group("gloo", "tcp://127.0.0.1:29500", rank=rank, world_size=world)
        if rank == 0:
            torch.save(torch.ones(2), self.folder + "/best.pt")
        dist.barrier()
        print(torch.load(self.folder + "/best.pt"))
"""


def codes(folder: Path, monkeypatch: pytest.MonkeyPatch, top: str, parameters: str, path: str, main: str) -> list[str]:
    """The rules that speak of a program whose first rank writes under a path, where all read."""
    (folder / ".git").mkdir()
    program = HEAD + top + WORK.format(parameters, path) + f"\nif __name__ == '__main__':\n    {main}\n"
    (folder / "train.py").write_text(program)
    monkeypatch.chdir(folder)
    return [one["code"] for one in check()["findings"] if one["severity"] != "note"]


@pytest.mark.parametrize(
    ("top", "parameters", "path", "main"),
    [
        (f"RUN = {DRAWN}\n", "rank, world", "RUN", SPAWN),
        ("RUN = f'runs/{time.time()}'\n", "rank, world", "RUN", SPAWN),
        ("RUN = tempfile.mkdtemp()\n", "rank, world", "RUN", SPAWN),
        (f"RUN = {DRAWN}\n{WRAPPED}", "rank, world", "RUN", "start(work)"),
        (f"class Places:\n    folder = {DRAWN}\n", "rank, world", "Places.folder", SPAWN),
        (f"{MADE}PLACES = Places()\n", "rank, world", "PLACES.folder", SPAWN),
        (f"{FACTORY}PLACES = Places()\n", "rank, world", "PLACES.folder", f"{SPAWN}"),
        ("", f"rank, world, run={DRAWN}", "run", SPAWN),
        (f"RUN = {DRAWN}\n", "rank, world", "RUN", LOOP.format("mp.get_context('spawn')")),
        (f"RUN = {DRAWN}\n", "rank, world", "RUN", "mp.set_start_method('spawn')\n    " + LOOP.format("mp")),
        (f"RUN = {DRAWN}\n", "rank, world", "RUN", "mp.start_processes(work, args=(2,), nprocs=2)"),
        (f"RUN = {DRAWN}\nrank = int(os.environ['RANK'])\nworld = 2\n", "", "RUN", "work()"),
    ],
)
def test_what_each_process_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, top: str, parameters: str, path: str, main: str
) -> None:
    assert codes(tmp_path, monkeypatch, top, parameters, path, main) == ["PT535"]


@pytest.mark.parametrize(
    ("top", "parameters", "path", "main"),
    [
        ("", "rank, world, run", "run", f"mp.spawn(work, args=(2, {DRAWN}), nprocs=2)"),
        (WRAPPED, "rank, world, run", "run", f"start(work, {DRAWN})"),
        (WRAPPED, "rank, world, run", "run", "run = tempfile.mkdtemp()\n    start(work, run)"),
        (MADE, "rank, world, places", "places.folder", "mp.spawn(work, args=(2, Places()), nprocs=2)"),
        (FACTORY, "rank, world, places", "places.folder", "mp.spawn(work, args=(2, Places()), nprocs=2)"),
        ("", "rank, world, run", "run['folder']", f"mp.spawn(work, args=(2, {{'folder': {DRAWN}}}), nprocs=2)"),
        ("", "rank, world, run", "run", f"mp.spawn(partial(work, run={DRAWN}), args=(2,), nprocs=2)"),
        ("", "rank, world", "os.environ['RUN']", f"os.environ['RUN'] = {DRAWN}\n    {SPAWN}"),
        (
            f"RUN = {DRAWN}\n",
            "rank, world",
            "RUN",
            "mp.start_processes(work, args=(2,), nprocs=2, start_method='fork')",
        ),
        (f"RUN = {DRAWN}\n", "rank, world", "RUN", LOOP.format("multiprocessing.get_context('fork')")),
        (f"RUN = {DRAWN}\n", "rank, world", "RUN", LOOP.format("multiprocessing")),
        (f"{MADE}PLACES = Places()\n", "rank, world", "PLACES.folder", LOOP.format("mp")),
        (f"class Places:\n    folder = {DRAWN}\n", "rank, world", "Places.folder", LOOP.format("mp")),
        (METHOD, "rank, world", "'fixed'", "job = Job()\n    mp.spawn(job.work, args=(2,), nprocs=2)"),
    ],
)
def test_what_the_first_process_draws_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, top: str, parameters: str, path: str, main: str
) -> None:
    assert codes(tmp_path, monkeypatch, top, parameters, path, main) == []
