"""How many batches a process gets of a loader that a library deals out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import MakeProject
from tests.rehearsal.test_frameworks import performed, variables

HEAD = """
import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
from elsewhere import some

class Stream(IterableDataset):
    def __len__(self):
        return 52

    def __iter__(self):
        return iter(range(52))

rows = TensorDataset(torch.zeros(52, 3))
uneven = DataLoaderConfiguration(even_batches=False)
"""


@pytest.mark.parametrize(
    ("accelerator", "loader", "length"),
    [
        ("Accelerator()", "DataLoader(rows, batch_size=4)", [7, 7]),
        ("Accelerator()", "DataLoader(rows, batch_size=4, drop_last=True)", [6, 6]),
        ("Accelerator(dataloader_config=uneven)", "DataLoader(rows, batch_size=4)", [7, 6]),
        ("Accelerator(True, False, None, 1, True, uneven)", "DataLoader(rows, batch_size=4)", [7, 6]),
        ("Accelerator(even_batches=False)", "DataLoader(rows, batch_size=4)", [7, 6]),
        (
            "Accelerator(dataloader_config=DataLoaderConfiguration(False, False, False))",
            "DataLoader(rows, batch_size=4)",
            [7, 6],
        ),
        ("Accelerator(dataloader_config=uneven)", "DataLoader(rows, batch_size=4, drop_last=True)", [6, 6]),
        ("Accelerator(dataloader_config=uneven)", "DataLoader(rows, batch_size=13)", [2, 2]),
        ("Accelerator(dataloader_config=uneven)", "DataLoader(rows, batch_size=15)", [2, 2]),
        ("Accelerator(split_batches=True)", "DataLoader(rows, batch_size=6)", [9, 9]),
        ("Accelerator(split_batches=True, even_batches=False)", "DataLoader(rows, batch_size=6)", [9, 9]),
        ("Accelerator(split_batches=True, even_batches=False)", "DataLoader(rows, batch_size=10)", [6, 5]),
        ("Accelerator(dispatch_batches=True, even_batches=False)", "DataLoader(rows, batch_size=4)", [7, 7]),
        (
            "Accelerator(gradient_accumulation_steps=3, dataloader_config=uneven)",
            "DataLoader(rows, batch_size=4)",
            [7, 6],
        ),
    ],
)
def test_batches_are_dealt_out(make_project: MakeProject, accelerator: str, loader: str, length: list[int]) -> None:
    code = f"found = len({accelerator}.prepare({loader}))"
    assert variables(performed(make_project, code, HEAD), "found") == length


@pytest.mark.parametrize(
    "code",
    [
        "accelerator = Accelerator()\naccelerator.even_batches = False",
        "config = DataLoaderConfiguration()\nconfig.even_batches = False\naccelerator = Accelerator(dataloader_config=config)",
    ],
)
def test_what_deals_them_out_may_be_told_later(make_project: MakeProject, code: str) -> None:
    code += "\nfound = len(accelerator.prepare(DataLoader(rows, batch_size=4)))"
    assert variables(performed(make_project, code, HEAD), "found") == [7, 6]


@pytest.mark.parametrize(
    ("context", "length"),
    [("even_batches=True", [7, 7]), ("even_batches=False", [7, 6]), ("", [7, 6])],
)
def test_a_context_may_deal_them_out_another_way(make_project: MakeProject, context: str, length: list[int]) -> None:
    code = f"""
accelerator = Accelerator(dataloader_config=uneven)
loader = accelerator.prepare(DataLoader(rows, batch_size=4))
with accelerator.join_uneven_inputs([], {context}):
    found = len(loader)
behind = len(loader)
"""
    performance = performed(make_project, code, HEAD)
    assert variables(performance, "found") == length
    assert variables(performance, "behind") == [7, 6]


@pytest.mark.parametrize(
    ("accelerator", "loader"),
    [
        ("Accelerator(dataloader_config=uneven)", "DataLoader(some, batch_size=4)"),
        ("Accelerator(dataloader_config=uneven)", "DataLoader(Stream(), batch_size=4)"),
        ("Accelerator(dataloader_config=some)", "DataLoader(rows, batch_size=4)"),
        ("Accelerator(parallelism_config=some, dataloader_config=uneven)", "DataLoader(rows, batch_size=4)"),
        ("Accelerator(gradient_accumulation_steps=4, dataloader_config=uneven)", "DataLoader(rows, batch_size=4)"),
        ("Accelerator(gradient_accumulation_steps=some, dataloader_config=uneven)", "DataLoader(rows, batch_size=4)"),
    ],
)
def test_shares_that_are_not_known_are_not_told(make_project: MakeProject, accelerator: str, loader: str) -> None:
    found: list[Any] = variables(
        performed(make_project, f"found = len({accelerator}.prepare({loader}))", HEAD), "found"
    )
    assert not any(isinstance(one, int) for one in found)
