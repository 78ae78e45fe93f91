"""How many devices a node has, where the settings tell it."""

from __future__ import annotations

import pytest

from distlint.discover.walk import sources_of
from distlint.frameworks import specs
from distlint.link.project import Project
from distlint.read.reader import read_source


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torchrun --nproc_per_node gpu train.py", 4),
        ("torchrun --nnodes 2 --nproc_per_node=auto train.py", 8),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node gpu train.py", 2),
        ("torchrun --nproc_per_node cpu train.py", None),
        ("torchrun --nproc_per_node 8 train.py", 8),
        ("torchrun train.py", 1),
        ("deepspeed train.py", 4),
        ("deepspeed --num_nodes 2 train.py", 8),
        ("deepspeed --include localhost:1,2 train.py", 2),
        ("deepspeed --hostfile elsewhere train.py", None),
        ("accelerate launch train.py", 4),
        ("deepspeed $OPTIONS train.py", None),
    ],
)
def test_it_stands_in_for_what_the_machine_would_say(line: str, expected: int | None) -> None:
    texts = {"run.sh": line, "train.py": "import torch.distributed\n"}
    facts = {source.path: read_source(source) for source in sources_of(dict(texts))}
    project = Project(facts, set(texts), specs(), lambda path: None, lambda path: texts.get(path, ""), gpus_per_node=4)
    assert [launch.world_size.only for launch in project.launches] == [expected]
