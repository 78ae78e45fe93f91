"""Files that ranks write row by row, of something that may be empty on all of them but one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import gzip
import io
import pathlib
import torch.distributed as dist

dist.init_process_group("gloo")
rows = [1, 2, 3] if dist.get_rank() == 0 else []
with {opened} as file:
    for row in {rows}:
        file.write(str(row))
dist.barrier()
"""
OPENED = ['open("a.txt", "w")', 'io.open("a.txt", "w")', 'gzip.open("a.gz", "wt")', 'pathlib.Path("a.txt").open("w")']


@pytest.mark.parametrize("opened", OPENED)
@pytest.mark.parametrize(("rows", "is_found"), [("rows", False), ("range(3)", True)])
def test_rows_of_one_rank(
    opened: str, rows: str, is_found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(opened=opened, rows=rows))
    monkeypatch.chdir(tmp_path)
    assert ("PT271" in [one["code"] for one in check("--select", "PT271")["findings"]]) is is_found
