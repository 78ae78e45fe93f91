"""Batches that a program fills up to their longest row, and what processes bring together of them (PT706)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
PAD = 0
def rows(count, seed):
    drawn = torch.Generator().manual_seed(seed)
    out = []
    for _ in range(count):
        size = int(torch.randint(2, 9, (1,), generator=drawn)) * 2
        words = torch.randint(2, 40, (size,), generator=drawn).tolist()
        out.append({{"labels": {words}}})
    return out
class Filler:
    def __init__(self, pad=-100):
        self.pad = pad
    def __call__(self, rows):
        width = max(len(r["labels"]) for r in rows)
        return {{"labels": torch.tensor([r["labels"] + [self.pad] * (width - len(r["labels"])) for r in rows])}}
def collate(rows):
    {width}
    {filled}
    return {{"labels": labels}}
def main():
    accelerator = Accelerator(cpu=True)
    loader = accelerator.prepare(DataLoader(rows(30, 2), batch_size=4, collate_fn={collate}))
    for batch in loader:
        print(accelerator.gather_for_metrics(batch["labels"]).shape)
main()
"""
WIDTH = 'width = max(len(r["labels"]) for r in rows)'
FILLED = 'labels = torch.tensor([r["labels"] + [PAD] * (width - len(r["labels"])) for r in rows])'
IN_PLACE = (
    "labels = torch.zeros(len(rows), width, dtype=torch.long)\n    for i, r in enumerate(rows):\n"
    '        labels[i, :len(r["labels"])] = torch.tensor(r["labels"])'
)
ONE_BY_ONE = (
    'lengths = [len(r["labels"]) for r in rows]\n    width = max(lengths)\n    out = []\n'
    "    for r, n in zip(rows, lengths):\n        out.append(r['labels'] + [PAD] * (width - n))\n"
    "    labels = torch.tensor(out)"
)
PADDED = (
    'labels = torch.stack([torch.nn.functional.pad(torch.tensor(r["labels"]), (0, width - len(r["labels"])))'
    " for r in rows])"
)
SEQUENCES = 'labels = torch.nn.utils.rnn.pad_sequence([torch.tensor(r["labels"]) for r in rows], batch_first=True)'


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that is looked at."""
    monkeypatch.chdir(tmp_path)


def found(words: str = "words", width: str = WIDTH, filled: str = FILLED, collate: str = "collate") -> bool:
    """Whether a program has a finding about rows of a size of each rank's own."""
    text = PROGRAM.format(words=words, width=width, filled=filled, collate=collate)
    Path("train.py").write_text(text, encoding="utf-8")
    return "PT706" in {one["code"] for one in check()["findings"]}


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"words": "words + [1]"},
        {"words": "words[size // 2:] + [1]"},
        {"collate": "Filler()"},
        {"width": "pass", "filled": ONE_BY_ONE},
        {"filled": IN_PLACE},
        {"filled": PADDED},
        {"width": "pass", "filled": SEQUENCES},
        {"width": 'width = max(map(len, [r["labels"] for r in rows]))'},
    ],
)
def test_rows_as_long_as_the_longest(parts: dict[str, str]) -> None:
    """Each rank's batch has another longest row."""
    assert found(**parts)


@pytest.mark.parametrize(
    "parts",
    [{"width": "width = 32"}, {"width": "pass", "filled": 'labels = torch.tensor([r["labels"][:2] for r in rows])'}],
)
def test_rows_of_one_length(parts: dict[str, str]) -> None:
    """All batches are as wide as each other."""
    assert not found(**parts)
