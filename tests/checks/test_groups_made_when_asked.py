"""Groups that are made when somebody first asks for them, and whether all processes ask at the same point."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import functools
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


{helper}


class Writer:
    def __init__(self):
        self.count = dist.get_world_size({group})


def main():
    dist.init_process_group("gloo")
    {use}
    model = DDP(nn.Linear(4, 1))
    model(torch.randn(2, 4)).sum().backward()
    total = torch.ones(1)
    dist.all_reduce(total, group={group})
    dist.destroy_process_group()


main()
"""
MADE = 'dist.new_group(backend="gloo")'
HELPERS = [
    (f"@functools.lru_cache()\ndef group():\n    return {MADE}", "group()"),
    (f"@functools.cache\ndef group():\n    return {MADE}", "group()"),
    (
        (
            "_group = None\n\n\ndef group():\n    global _group\n    if _group is None:\n"
            f"        _group = {MADE}\n    return _group"
        ),
        "group()",
    ),
    (
        (
            '_groups = {}\n\n\ndef group(kind="gloo"):\n    if kind not in _groups:\n'
            "        _groups[kind] = dist.new_group(backend=kind)\n    return _groups[kind]"
        ),
        "group()",
    ),
    (
        (
            "class Groups:\n    def __init__(self):\n        self._plain = None\n\n    @property\n"
            f"    def plain(self):\n        if self._plain is None:\n            self._plain = {MADE}\n"
            "        return self._plain\n\n\ngroups = Groups()"
        ),
        "groups.plain",
    ),
    (
        (
            "class Groups:\n    @functools.cached_property\n    def plain(self):\n"
            f"        return {MADE}\n\n\ngroups = Groups()"
        ),
        "groups.plain",
    ),
    (
        (f'def group():\n    if not hasattr(group, "made"):\n        group.made = {MADE}\n    return group.made'),
        "group()",
    ),
]


@pytest.mark.parametrize(("helper", "group"), HELPERS)
@pytest.mark.parametrize(
    ("use", "wrong"),
    [
        ("writer = Writer() if dist.get_rank() == 0 else None", True),
        ("if dist.get_rank() == 0:\n        print(dist.get_world_size({group}))", True),
        ("{group}\n    writer = Writer() if dist.get_rank() == 0 else None", False),
        ("count = dist.get_world_size({group})", False),
        ("if dist.get_rank() == 0:\n        print(dist.get_world_size())", False),
    ],
)
def test_all_processes_have_to_ask_at_the_same_point(
    helper: str, group: str, use: str, *, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(helper=helper, group=group, use=use.format(group=group)))
    monkeypatch.chdir(tmp_path)
    assert [finding["code"] for finding in check()["findings"]] == (["PT502"] if wrong else [])
