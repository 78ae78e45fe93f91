"""Settings that an object keeps: what is under one key of them says nothing of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import random, tempfile, yaml
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, model, settings):
        self.model = DDP(model)
        self.settings = settings
        {later}

    def fit(self):
        for epoch in range(self.settings["rounds"]):
            self.model(torch.ones(2, 4)).mean().backward()
            {inside}
        dist.barrier()


def main():
    dist.init_process_group("gloo")
    settings = {made}
    settings["{key}"] = {value}
    Trainer(nn.Linear(4, 1), settings).fit()


main()
"""
FOLDER, COUNT = 'tempfile.mkdtemp(prefix="kept")', "random.randint(1, 9)"
READ, WRITTEN = 'yaml.safe_load(open("settings.yaml"))', '{"rounds": 3, "folder": ""}'
ALONE = "if dist.get_rank() == 0: dist.all_reduce(torch.ones(1))"


@pytest.mark.parametrize(
    ("made", "key", "value", "later", "inside", "found"),
    [
        (READ, "folder", FOLDER, "pass", "pass", []),
        (READ, "folder", FOLDER, "pass", ALONE, ["PT501"]),
        (WRITTEN, "rounds", COUNT, "pass", "pass", ["PT504"]),
        (WRITTEN, "folder", "1", 'self.settings["rounds"] = random.randint(1, 9)', "pass", ["PT504"]),
    ],
)
def test_keys_of_kept_settings(
    made: str,
    key: str,
    value: str,
    later: str,
    inside: str,
    found: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = PROGRAM.format(made=made, key=key, value=value, later=later, inside=inside)
    (tmp_path / "train.py").write_text(program)
    monkeypatch.chdir(tmp_path)
    assert [one["code"] for one in check()["findings"] if one["code"].startswith("PT50")] == found
