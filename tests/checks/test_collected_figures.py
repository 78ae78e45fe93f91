"""Figures and predictions that are brought together in each round of an evaluation, and what is worked out beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

SCRIPT = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset

def everyone(part):
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part)
    return torch.cat(parts)
def added(part):
    dist.all_reduce(part)
def evaluate(loader):
    found, own = [], 0
    for (x,) in loader:
        hits = (x > 0).float()
        own += hits.sum().item()
        {0}
    return {1}
def main():
    dist.init_process_group("gloo")
    data = TensorDataset(torch.randn(64, 4))
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
    {2}
    if dist.get_rank() == 0:
        print({3})
main()
"""


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that is looked at."""
    monkeypatch.chdir(tmp_path)


def codes(script: str) -> list[str]:
    """The rules that have findings in a script."""
    Path("train.py").write_text(script, encoding="utf-8")
    return sorted({one["code"] for one in check()["findings"] if one["severity"] != "note"})


@pytest.mark.parametrize(
    "round_",
    [
        "found.extend(one.item() for one in everyone(hits))",
        "found += everyone(hits).tolist()",
        "every = everyone(hits)\n        found.append(every.cpu())",
        "dist.all_reduce(hits)\n        found.append(hits)",
        "added(hits)\n        found = found + [hits]",
        "rows = [torch.empty_like(hits)] + [hits + 0]; dist.all_gather(rows, hits)\n        found.extend(rows)",
    ],
)
def test_what_is_brought_together_in_each_round_is_of_all(round_: str) -> None:
    script = SCRIPT.replace("{0}", round_)
    whole = script.replace("{1}", "found").replace("{2}", "found = evaluate(loader)").replace("{3}", "len(found)")
    assert codes(whole) == []
    both = script.replace("{1}", "found, own").replace("{2}", "found, own = evaluate(loader)")
    assert codes(both.replace("{3}", "len(found)")) == []
    if "everyone" in round_:
        assert codes(both.replace("{3}", "own")) == ["PT254"]


@pytest.mark.parametrize("round_", ["found.append(hits)", "everyone(hits)\n        found.append(x)", "found += [own]"])
def test_what_is_not_brought_together_is_of_one(round_: str) -> None:
    script = SCRIPT.replace("{0}", round_).replace("{1}", "found").replace("{2}", "found = evaluate(loader)")
    assert codes(script.replace("{3}", "len(found)")) == ["PT254"]


PADDED = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, DistributedSampler

class Rows(Dataset):
    def __init__(self):
        self.sizes = torch.randint(2, 9, (40,), generator=torch.Generator().manual_seed(1)).tolist()
    def __len__(self):
        return len(self.sizes)
    def __getitem__(self, index):
        return torch.arange(self.sizes[index])
def padded(rows):
    return pad_sequence(rows, batch_first=True)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 8)
        self.inner = {0}
    def forward(self, words):
        x = self.words(words)
        {1}
def main():
    dist.init_process_group("gloo")
    data = Rows()
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False), collate_fn=padded)
    model = DDP(Net()).eval()
    for words in loader:
        out = model(words){2}
        every = [torch.empty_like(out) for _ in range(dist.get_world_size())]
        dist.all_gather(every, out)
main()
"""


@pytest.mark.parametrize(
    ("inner", "forward", "then", "is_own"),
    [
        ("nn.GRU(8, 8, batch_first=True)", "steps, _ = self.inner(x); return steps", "", True),
        ("nn.LSTM(8, 4, 2, bidirectional=True)", "return self.inner(x)[0]", ".argmax(-1)", True),
        ("nn.RNN(8, 8, batch_first=True)", "steps, last = self.inner(x); return steps", ".max(-1)[1]", True),
        ("nn.MultiheadAttention(8, 2, batch_first=True)", "return self.inner(x, x, x)[0]", ".max(-1).indices", True),
        ("nn.TransformerEncoderLayer(8, 2, batch_first=True)", "return self.inner(x)", ".topk(2).values", True),
        ("nn.GRU(8, 8, batch_first=True)", "steps, last = self.inner(x); return last[-1]", "", False),
        ("nn.LSTM(8, 8, batch_first=True)", "_, (last, _) = self.inner(x); return last[0]", ".argmax(-1)", False),
        ("nn.GRU(8, 8, batch_first=True)", "steps, _ = self.inner(x); return steps[:, 0]", "", False),
        ("nn.GRU(8, 8, batch_first=True)", "return self.inner(x)[0].mean(1)", "", False),
        ("nn.Linear(8, 8)", "return self.inner(x).max(1).values", "", False),
    ],
)
def test_the_longest_of_own_rows_goes_through_layers(inner: str, forward: str, then: str, is_own: bool) -> None:
    script = PADDED.replace("{0}", inner).replace("{1}", forward).replace("{2}", then)
    assert codes(script) == (["PT706"] if is_own else [])
