"""Exceptions, and ends of streams, that one process meets and another does not."""

from __future__ import annotations

import pytest

from distlint.checks.trace_faults import TraceFaults
from tests.conftest import MakeProject

HEAD = """
import json
import logging
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset

log = logging.getLogger(__name__)

def records():
    return [{"text": input(), "label": 1} for _ in range(96)]

def featurize(batch):
    return torch.tensor([[float(word) for word in row["text"].split()] for row in batch])

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
rows = records()
loader = DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows), collate_fn=list)
model = DDP(nn.Linear(5, 1))
"""

SKIPPED_BATCH = """
for batch in loader:
    try:
        loss = model(featurize(batch)).sum()
        loss.backward()
    except ValueError:
        continue
"""
NO_RESULT = """
def step(batch):
    try:
        return model(featurize(batch)).sum()
    except (KeyError, ValueError) as error:
        log.warning(error)
        return None

for batch in loader:
    loss = step(batch)
    if loss is None:
        continue
    loss.backward()
"""
LOSS_STAYS = """
for batch in loader:
    loss = None
    try:
        loss = model(torch.tensor(json.loads(batch[0]["text"]))).sum()
    except json.JSONDecodeError:
        log.warning("bad record")
    if loss is not None:
        loss.backward()
"""
OWN_FILE = """
total = torch.zeros(1)
for turn in range(3):
    try:
        with open(f"part-{rank}-{turn}.json") as file:
            total += json.load(file)["n"]
        dist.all_reduce(total)
    except FileNotFoundError:
        pass
dist.barrier()
"""
OUT_OF_MEMORY = """
for batch in loader:
    try:
        model(featurize(batch)).sum().backward()
    except RuntimeError as error:
        if "out of memory" not in str(error):
            raise
        torch.cuda.empty_cache()
"""
STREAM = """
class Lines(IterableDataset):
    def __iter__(self):
        with open(f"part-{rank}.txt") as file:
            for line in file:
                yield torch.tensor(float(line))

it = iter(DataLoader(Lines(), batch_size=8))
while True:
    try:
        batch = next(it)
    except StopIteration:
        break
    model(batch).sum().backward()
"""
# the same as a ``for`` loop over it
UNEQUAL_LISTS = """
it = iter(range(rank, 99, world))
while True:
    try:
        turn = next(it)
    except StopIteration:
        break
    dist.all_reduce(torch.ones(1))
"""

SHARDS = """
import glob

class Shards(IterableDataset):
    def __init__(self):
        self.files = sorted(glob.glob("*.pt"))[rank::world]

    def __iter__(self):
        for path in self.files:
            part = torch.load(path)
            yield from zip(part["x"], part["y"])

for x, y in DataLoader(Shards(), batch_size=8):
    model(x).sum().backward()
"""
KEPT_BY_TEST = """
class Lines(IterableDataset):
    def __iter__(self):
        for text in [input() for _ in range(200)][rank::world]:
            row = json.loads(text)
            if row["label"] > 0:
                yield torch.tensor(row["x"])

for x in DataLoader(Lines(), batch_size=8):
    model(x).sum().backward()
"""

SUPPRESSED = """
from contextlib import suppress
for batch in loader:
    with suppress(KeyError, ValueError):
        model(featurize(batch)).sum().backward()
"""

OWN_ROWS = """
import io
import numpy as np
packed = []
for place in range(96):
    packed.append(input())
for place in {places}:
    try:
        row = {read}
    except (ValueError, EOFError):
        continue
    model(torch.tensor(row)).sum().backward()
"""
FROM_TEXT = OWN_ROWS.format(places="DistributedSampler(packed)", read="json.loads(packed[place])")
FROM_MEMORY = OWN_ROWS.format(places="DistributedSampler(packed)", read="np.load(io.BytesIO(packed[place]))")

BAD = {
    "row of a text": (FROM_TEXT, "exception"),
    "row in memory": (FROM_MEMORY, "exception"),
    "suppressed": (SUPPRESSED, "exception"),
    "shards": (SHARDS, "rounds"),
    "kept by a test": (KEPT_BY_TEST, "rounds"),
    "skipped batch": (SKIPPED_BATCH, "exception"),
    "own file": (OWN_FILE, "exception"),
    "out of memory": (OUT_OF_MEMORY, "exception"),
    "stream": (STREAM, "rounds"),
    "unequal lists": (UNEQUAL_LISTS, "skipped"),
    "no result": (NO_RESULT, ""),
    "loss stays": (LOSS_STAYS, ""),
}

AGREED = """
for batch in loader:
    ok = torch.ones(1)
    features = torch.zeros(8, 5)
    try:
        features = featurize(batch)
    except ValueError:
        ok.zero_()
    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
    if ok.item() == 0:
        continue
    model(features).sum().backward()
"""
FILLED_IN = """
for batch in loader:
    try:
        features = featurize(batch)
    except ValueError:
        features = torch.zeros(8, 5)
    model(features).sum().backward()
"""
RAISED_AGAIN = """
for batch in loader:
    try:
        model(featurize(batch)).sum().backward()
    except ValueError:
        log.exception("bad record")
        raise
"""
ENDS_THE_PROCESS = """
import sys
for batch in loader:
    try:
        model(featurize(batch)).sum().backward()
    except ValueError:
        sys.exit(1)
"""
AROUND_EVERYTHING = """
def main():
    for batch in loader:
        model(featurize(batch)).sum().backward()

try:
    main()
except Exception:
    log.exception("failed")
finally:
    dist.destroy_process_group()
"""
OTHER_EXCEPTION = """
for batch in loader:
    try:
        model(featurize(batch)).sum().backward()
    except KeyboardInterrupt:
        break
dist.barrier()
"""
COMMON_DATA = """
for turn in range(9):
    try:
        scale = float(rows[turn]["text"])
        dist.all_reduce(torch.ones(1) * scale)
    except ValueError:
        continue
dist.barrier()
"""
COMMON_STREAM = """
it = iter(loader)
while True:
    try:
        batch = next(it)
    except StopIteration:
        break
    model(featurize(batch)).sum().backward()
"""
AGREED_END = """
class Lines(IterableDataset):
    def __iter__(self):
        with open(f"part-{rank}.txt") as file:
            for line in file:
                yield torch.tensor(float(line))

it = iter(DataLoader(Lines(), batch_size=8))
while True:
    batch = next(it, None)
    more = torch.tensor(0 if batch is None else 1)
    dist.all_reduce(more, op=dist.ReduceOp.MIN)
    if more.item() == 0:
        break
    model(batch).sum().backward()
"""
STARTED_AGAIN = """
class Lines(IterableDataset):
    def __iter__(self):
        with open(f"part-{rank}.txt") as file:
            for line in file:
                yield torch.tensor(float(line))

stream = DataLoader(Lines(), batch_size=8)
it = iter(stream)
for step in range(100):
    try:
        batch = next(it)
    except StopIteration:
        it = iter(stream)
        batch = next(it)
    model(batch).sum().backward()
"""
BEHIND_THE_MEETING = """
for batch in loader:
    model(featurize(batch)).sum().backward()
    try:
        log.info(json.loads(batch[0]["text"]))
    except ValueError:
        continue
dist.barrier()
"""

LIMITED = SHARDS.replace("for x, y in", "for step, (x, y) in enumerate(").replace(
    "batch_size=8):", "batch_size=8)):\n    if step >= 100:\n        break"
)
COUNTED = SHARDS.replace("for x, y in", "for step, (x, y) in zip(range(100),").replace(
    "batch_size=8):", "batch_size=8)):"
)
CUT = SHARDS.replace("for x, y in", "import itertools\nfor x, y in itertools.islice(").replace(
    "batch_size=8):", "batch_size=8), 100):"
)
CYCLED = SHARDS.replace(
    "for x, y in", "import itertools\nfor step, (x, y) in zip(range(100), itertools.cycle("
).replace("batch_size=8):", "batch_size=8))):")
JOINED = SHARDS.replace(
    "for x, y in", "from torch.distributed.algorithms.join import Join\nwith Join([model]):\n  for x, y in"
).replace("    model(x)", "      model(x)")
SHORTEST = SHARDS.replace(
    "for x, y in DataLoader(Shards(), batch_size=8):",
    """batches = list(DataLoader(Shards(), batch_size=8))
least = torch.tensor(len(batches))
dist.all_reduce(least, op=dist.ReduceOp.MIN)
for x, y in batches[: int(least)]:""",
)

SUPPRESSED_BEHIND = """
from contextlib import suppress
for batch in loader:
    model(featurize(batch)).sum().backward()
    with suppress(ValueError):
        log.info(json.loads(batch[0]["text"]))
"""

GOOD = {
    "rows of all": OWN_ROWS.format(places="range(96)", read="np.load(io.BytesIO(packed[place]))"),
    "row made up": FROM_MEMORY.replace("continue", "row = [0.0] * 5"),
    "suppressed behind": SUPPRESSED_BEHIND,
    "limited": LIMITED,
    "counted": COUNTED,
    "cut": CUT,
    "cycled": CYCLED,
    "joined": JOINED,
    "shortest": SHORTEST,
    "agreed": AGREED,
    "filled in": FILLED_IN,
    "raised again": RAISED_AGAIN,
    "ends the process": ENDS_THE_PROCESS,
    "around everything": AROUND_EVERYTHING,
    "other exception": OTHER_EXCEPTION,
    "common data": COMMON_DATA,
    "common stream": COMMON_STREAM,
    "agreed end": AGREED_END,
    "started again": STARTED_AGAIN,
    "behind the meeting": BEHIND_THE_MEETING,
}


def faults(make_project: MakeProject, code: str) -> list[str]:
    """The kinds of the faults of a program."""
    return [fault.kind for fault in TraceFaults.of_project(make_project({"train.py": HEAD + code}))]


@pytest.mark.parametrize("name", BAD)
def test_what_one_process_meets_alone_leads_past_a_collective(make_project: MakeProject, name: str) -> None:
    code, kind = BAD[name]
    found = faults(make_project, code)
    assert found
    assert not kind or kind in found


@pytest.mark.parametrize("name", GOOD)
def test_nothing_is_said_where_all_processes_go_on_alike(make_project: MakeProject, name: str) -> None:
    assert not faults(make_project, GOOD[name])
