"""A script that only sets variables is read in by the one that launches."""

from __future__ import annotations

import pytest

from distlint.discover.triage import Triage
from distlint.frameworks import specs
from distlint.model.source import SourceKind
from tests.conftest import MakeProject


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"GPUS=8\n", True),
        (b"export GPUS=8\n", True),
        (b': "${GPUS:=8}"\n', True),
        (b"echo hello\n", False),
        (b"x=1\n", False),
    ],
)
def test_scripts_that_set_variables_are_read(text: bytes, expected: bool) -> None:
    assert Triage(specs()).matters("cluster.env", SourceKind.SHELL, text) is expected


def test_the_process_count_of_a_sourced_file_counts(make_project: MakeProject) -> None:
    project = make_project(
        {
            "run.sh": "source ./cluster.env\ntorchrun --nproc_per_node $GPUS train.py\n",
            "cluster.env": "GPUS=6\n",
            "train.py": "import torch.distributed\n",
        }
    )
    assert [launch.world_size.only for launch in project.launches] == [6]


def test_a_large_json_file_must_hold_a_setting_as_a_key() -> None:
    prose = b'{"text": "how to use zero_optimization"}' + b" " * 70_000
    triage = Triage(specs())
    assert not triage.matters("data.json", SourceKind.JSON, prose)
    assert triage.matters("ds.json", SourceKind.JSON, prose.replace(b'"text"', b'"zero_optimization"'))
