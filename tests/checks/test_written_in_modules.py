"""Files that all ranks write, in modules that name no library, at paths out of settings that travel beside the rank."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PREPARE = """
import os
from pathlib import Path


def lines(count):
    for number in range(count):
        yield str(number)


def prepare(path, count):
    path = Path(path)
    if path.exists():
        return
    partial = path.with_suffix(".partial")
    with open(partial, "w") as out:
        for line in lines(count):
            out.write(line)
    os.replace(partial, path)
"""
SETTINGS = """
from dataclasses import dataclass


@dataclass
class Settings:
    text: str = "corpus.txt"
    count: int = 100
"""
TRAIN = """
import torch.distributed as dist

from prepare import prepare
from settings import Settings


def work(settings, rank):
    {before}prepare({path}, settings.count)
    dist.barrier()
    print(rank, open(settings.text).read())


def main():
    dist.init_process_group("gloo")
    settings = Settings()
    work(settings, dist.get_rank())
    dist.destroy_process_group()


main()
"""


@pytest.mark.parametrize(
    ("before", "path", "wrong"),
    [
        ("", "settings.text", True),
        ("if rank == 0:\n        ", "settings.text", False),
        ("", 'f"{settings.text}.{rank}"', False),
        ('settings.text += f".{rank}"\n    ', "settings.text", False),
        ('settings.text = f"{rank}.txt"\n    ', "settings.text", False),
    ],
)
def test_what_every_rank_writes(
    before: str, path: str, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prepare.py").write_text(PREPARE, encoding="utf-8")
    (tmp_path / "settings.py").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "train.py").write_text(TRAIN.replace("{before}", before).replace("{path}", path), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = {finding["code"] for finding in check()["findings"]}
    assert found == ({"PT271", "PT531"} if wrong else set())
