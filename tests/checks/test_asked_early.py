"""The size of the job and the rank, asked when modules are imported: kept in many ways, too early and in time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

COMM = """
import torch.distributed as dist


def world_size():
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank():
    if not ready():
        return 0
    return dist.get_rank()


def ready():
    return dist.is_available() and dist.is_initialized()


def place():
    if ready():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def tried():
    try:
        return dist.get_world_size()
    except (RuntimeError, ValueError):
        return 1


def kept_number():
    number = 1
    if ready():
        number = dist.get_world_size()
    return number


def start():
    dist.init_process_group("gloo")
"""
TRAIN = """
import torch
from torch.utils.data import DataLoader, DistributedSampler
import comm
HEAD


def main():
    comm.start()
    USE


if __name__ == "__main__":
    main()
"""
FIELD = """
from dataclasses import dataclass, field
import comm


@dataclass
class Config:
    batch: int = 32
    world: int = comm.world_size()
"""
SHARES = """
import comm


class Shares:
    def __init__(self, rows, world=comm.world_size()):
        self.rows = rows
        self.world = world

    def __len__(self):
        return len(self.rows) // self.world
"""
OF_FIELD = "from config import Config", "config = Config()\n    print(config.batch // config.world)"
CONSTANT = "from comm import world_size, rank, place, tried, kept_number\nWORLD = world_size()\n"
OF_CONSTANT = "from config import WORLD", "batch = 32 // WORLD\n    print(batch)"


@pytest.mark.parametrize(
    ("config", "head", "use"),
    [
        (FIELD, *OF_FIELD),
        (FIELD.replace("= comm.world_size()", "= field(default=comm.world_size())"), *OF_FIELD),
        (FIELD.replace("@dataclass\n", "").replace(": int", ""), *OF_FIELD),
        (FIELD, "from config import Config", "print(32 // Config.world)"),
        (CONSTANT, *OF_CONSTANT),
        (CONSTANT.replace("world_size()", "tried()"), *OF_CONSTANT),
        (CONSTANT.replace("world_size()", "kept_number()"), *OF_CONSTANT),
        (CONSTANT.replace("world_size()", "max(1, world_size())"), *OF_CONSTANT),
        (CONSTANT.replace("WORLD =", "RANK, WORLD =").replace("world_size()", "place()"), *OF_CONSTANT),
        (CONSTANT, "import config", "rows = list(range(100))[:: config.WORLD]\n    print(rows)"),
        (
            CONSTANT,
            "from config import WORLD as n",
            "sampler = DistributedSampler([1, 2], num_replicas=n, rank=0)\n    print(sampler)",
        ),
        (
            CONSTANT,
            "from config import WORLD",
            "net = torch.nn.Linear(1, 1)\n    if WORLD > 1:\n        net = torch.nn.parallel.DistributedDataParallel(net)\n    print(net)",
        ),
        (CONSTANT + "LOCAL = 64 // WORLD\n", "from config import LOCAL", "print(DataLoader([1, 2], LOCAL))"),
        (
            "import comm\nLOCAL = 64 // comm.world_size()\n",
            "from config import LOCAL",
            "print(DataLoader([1, 2], batch_size=LOCAL))",
        ),
        (
            "import torch.distributed as dist\nWORLD = 1\nif dist.is_initialized():\n    WORLD = dist.get_world_size()\n",
            *OF_CONSTANT,
        ),
        (
            "import torch.distributed as dist\nWORLD = dist.get_world_size() if dist.is_initialized() else 1\n",
            *OF_CONSTANT,
        ),
        (
            "from comm import rank\nRANK = rank()\n",
            "from config import RANK",
            "if RANK == 0:\n        torch.save({}, 'model.pt')",
        ),
        (
            "import comm\n\n\ndef share(rows, rank=comm.rank(), world=comm.world_size()):\n    return rows[rank::world]\n",
            "from config import share",
            "print(share([1, 2, 3]))",
        ),
        (
            SHARES,
            "from config import Shares",
            "print(len(Shares([1, 2, 3])))",
        ),
    ],
)
def test_it_is_asked_too_early(
    config: str, head: str, use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert codes(tmp_path, monkeypatch, config, head, use).count("PT238") >= 1


@pytest.mark.parametrize(
    ("config", "head", "use", "comm"),
    [
        (FIELD.replace("comm.world_size()", "field(default_factory=comm.world_size)"), *OF_FIELD, COMM),
        (FIELD.replace("comm.world_size()", "field(default_factory=lambda: comm.world_size())"), *OF_FIELD, COMM),
        (
            FIELD,
            "from config import Config",
            "config = Config(world=comm.world_size())\n    print(32 // config.world)",
            COMM,
        ),
        (
            FIELD,
            "from config import Config",
            "config = Config()\n    config.world = comm.world_size()\n    print(32 // config.world)",
            COMM,
        ),
        (FIELD, "from config import Config", "print(Config())", COMM),
        (CONSTANT, "import config", "config.WORLD = comm.world_size()\n    print(32 // config.WORLD)", COMM),
        (CONSTANT + "\n\ndef again():\n    global WORLD\n    WORLD = world_size()\n", *OF_CONSTANT, COMM),
        (CONSTANT, "", "from config import WORLD\n    print(32 // WORLD)", COMM),
        (CONSTANT, "comm.start()\nfrom config import WORLD", "print(32 // WORLD)", COMM),
        (CONSTANT, *OF_CONSTANT, f"{COMM}\n\nstart()\n"),
        (CONSTANT, "from config import WORLD", "print(WORLD)", COMM),
        (
            CONSTANT,
            "from config import WORLD",
            "pass\n\n\ndef start():\n    if WORLD > 1:\n        comm.start()",
            COMM,
        ),
        (
            "from comm import rank\nRANK = rank()\n",
            "from config import RANK",
            "if RANK == 0:\n        print('ready')",
            COMM,
        ),
        (CONSTANT, "from config import WORLD", "WORLD = comm.world_size()\n    print(32 // WORLD)", COMM),
        (CONSTANT, *OF_CONSTANT, COMM.replace('dist.init_process_group("gloo")', "pass")),
        (
            "import os\nWORLD = int(os.environ.get('WORLD_SIZE', 1))\n",
            *OF_CONSTANT,
            COMM,
        ),
        (
            "import comm\n\n\ndef share(rows, world=None):\n    world = world or comm.world_size()\n    return rows[::world]\n",
            "from config import share",
            "print(share([1, 2, 3]))",
            COMM,
        ),
        (
            "import comm\n\n\ndef share(rows, world=comm.world_size()):\n    return rows[::world]\n",
            "from config import share",
            "print(share([1, 2, 3], comm.world_size()))",
            COMM,
        ),
        (
            "import comm\n\n\nclass Config:\n    @property\n    def world(self):\n        return comm.world_size()\n",
            *OF_FIELD,
            COMM,
        ),
    ],
)
def test_it_is_asked_in_time(
    config: str, head: str, use: str, comm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "PT238" not in codes(tmp_path, monkeypatch, config, head, use, comm)


def codes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, config: str, head: str, use: str, comm: str = COMM
) -> list[str]:
    """The codes of the findings about a program of three files."""
    (folder / "comm.py").write_text(comm)
    (folder / "config.py").write_text(config)
    (folder / "train.py").write_text(TRAIN.replace("HEAD", head).replace("USE", use))
    monkeypatch.chdir(folder)
    return [finding["code"] for finding in check()["findings"]]
