"""How large a batch is does not differ between processes because what is in it does; how many batches a process has may."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.test_agreed_without_reduction import found

LOOP = """
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from data import make


def main():
    dist.init_process_group("gloo")
    dataset = make()
    loader = DataLoader(dataset, batch_size=8, sampler=DistributedSampler(dataset, shuffle=False))
    for batch in loader:
        tokens = batch["tokens"]
        for first in range(0, ROUNDS, 4):
            dist.all_reduce(tokens[first : first + 4].float())


main()
"""


@pytest.mark.parametrize("size", ["tokens.size(0)", "tokens.shape[0]", "tokens.numel()", "len(tokens)"])
def test_loops_over_the_rows_of_a_batch_are_as_long_on_each_rank(tmp_path: Path, size: str) -> None:
    assert "PT504" not in found(tmp_path, LOOP.replace("ROUNDS", size))


def test_loops_over_a_number_in_a_batch_are_not(tmp_path: Path) -> None:
    assert "PT504" in found(tmp_path, LOOP.replace("ROUNDS", 'int(batch["length"].sum())'))
