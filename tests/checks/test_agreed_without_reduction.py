"""Right programs whose ranks go the same way for a reason that is no reduction, beside ones that only look like them."""

from __future__ import annotations

from pathlib import Path

import pytest

import distlint

HEAD = """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

"""


def found(folder: Path, code: str) -> set[str]:
    """The codes of what is found in a program, notes aside."""
    (folder / "train.py").write_text(HEAD + code)
    findings = distlint.check(folder, use_cache=False).findings
    return {one.code for one in findings if one.code.startswith(("PT5", "PT2", "PT6", "PT7"))}


RING = """
def best_of(value, rank, world):
    best = torch.tensor([value])
    token = best.clone()
    for _ in range(world - 1):
        incoming = torch.empty_like(token)
        if rank % 2 == 0:
            dist.send(token, (rank + 1) % world)
            dist.recv(incoming, (rank - 1) % world)
        else:
            dist.recv(incoming, (rank - 1) % world)
            dist.send(token, (rank + 1) % world)
        token = incoming
        best = COMBINED
    return best.item()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    for step in range(10):
        low = best_of(float(torch.rand(1)), rank, world)
        if low < 0.05:
            break
        dist.all_reduce(torch.ones(1))
    dist.destroy_process_group()


main()
"""


def test_what_goes_round_a_ring_may_be_the_same_in_the_end(tmp_path: Path) -> None:
    assert not found(tmp_path, RING.replace("COMBINED", "torch.minimum(best, token)"))


def test_what_only_goes_round_says_nothing_of_the_own_value(tmp_path: Path) -> None:
    assert "PT501" in found(tmp_path, RING.replace("COMBINED", "best"))


CREW = """
def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    members = [one for one in range(world) if one < int(os.environ.get("CREW", "1"))]
    crew = dist.new_group(members)
    if rank not in members:
        return
    model = DDP(nn.Linear(4, 1)GROUP)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(10):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).sum().backward()
        optimizer.step()
    dist.barrier(group=crew)


main()
"""


def test_the_passes_of_a_model_meet_in_the_group_of_its_wrapper(tmp_path: Path) -> None:
    assert not found(tmp_path, CREW.replace("GROUP", ", process_group=crew"))


def test_the_passes_of_a_model_meet_everybody_without_one(tmp_path: Path) -> None:
    assert "PT501" in found(tmp_path, CREW.replace("GROUP", ""))


CHUNKS = """
def chunks(loader, every):
    last = len(loader) - 1
    for i, batch in enumerate(loader):
        yield batch, BOUNDARY


def main():
    dist.init_process_group("gloo")
    data = TensorDataset(torch.randn(64, 4))
    loader = DataLoader(data, 4, sampler=DistributedSampler(data, drop_last=True))
    total = torch.zeros(4)
    for (rows,), boundary in chunks(loader, 3):
        total += rows.sum(0)
        if boundary:
            dist.all_reduce(total)
    dist.barrier()


main()
"""


@pytest.mark.parametrize("boundary", ["i == last or (i + 1) % every == 0", "(i + 1) % every == 0"])
def test_what_a_generator_counts_is_no_data(tmp_path: Path, boundary: str) -> None:
    assert "PT501" not in found(tmp_path, CHUNKS.replace("BOUNDARY", boundary))


def test_what_a_generator_reads_in_its_batch_is(tmp_path: Path) -> None:
    assert "PT501" in found(tmp_path, CHUNKS.replace("BOUNDARY", "batch[0].mean() > 0"))


RAGGED = """
def gathered(rows):
    world = dist.get_world_size()
    size = torch.tensor([len(rows)])
    sizes = [torch.zeros_like(size) for _ in range(world)]
    dist.all_gather(sizes, size)
    longest = int(max(sizes))
    if TEST:
        parts = [torch.empty_like(rows) for _ in range(world)]
        dist.all_gather(parts, rows)
        return torch.cat(parts)
    wide = rows.new_zeros(longest, 3)
    wide[: len(rows)] = rows
    parts = [torch.empty_like(wide) for _ in range(world)]
    dist.all_gather(parts, wide)
    return torch.cat([part[: int(size)] for part, size in zip(parts, sizes)])


def main():
    dist.init_process_group("gloo")
    everything = torch.arange(75).reshape(25, 3)
    print(gathered(everything[dist.get_rank() :: dist.get_world_size()]))


main()
"""


def test_whoever_has_compared_the_sizes_knows_that_they_are_equal(tmp_path: Path) -> None:
    assert "PT701" not in found(tmp_path, RAGGED.replace("TEST", "int(min(sizes)) == longest"))


def test_whoever_has_not_may_bring_unequal_ones(tmp_path: Path) -> None:
    assert "PT701" in found(tmp_path, RAGGED.replace("TEST", "world > 1"))


SCALED = """
def search(make):
    for lr in (0.1, 0.01):
        net = make()
        optimizer = torch.optim.SGD(net.parameters(), lr=lr)
        net(torch.randn(4, 4)).sum().backward()
        optimizer.step()
    return lr


def new():
    return nn.Linear(4, 1)


def main():
    dist.init_process_group("gloo")
    lr = search(new)
    model = DDP(new())
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    scaler = torch.amp.GradScaler("cuda")
    for step in range(10):
        optimizer.zero_grad()
        scaler.scale(model(torch.randn(4, 4)).sum()).backward()
        UNSCALED
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


main()
"""


def test_models_of_one_factory_have_optimizers_of_their_own(tmp_path: Path) -> None:
    assert "PT208" not in found(tmp_path, SCALED.replace("UNSCALED", "scaler.unscale_(optimizer)"))


def test_gradients_that_are_clipped_while_scaled_are_found_where_models_are_told_apart(tmp_path: Path) -> None:
    code = SCALED.replace("search(new)", "0.1").replace("UNSCALED", "pass")
    assert "PT208" in found(tmp_path, code)


PLACED = """
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main():
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    state = torch.load("last.pt", map_location=lambda storage, _: PLACE)
    print(state.keys())


main()
"""


def test_a_test_inside_a_lambda_guards_as_well(tmp_path: Path) -> None:
    assert "PT610" not in found(
        tmp_path, PLACED.replace("PLACE", 'storage.cuda() if device.type == "cuda" else storage')
    )


def test_a_lambda_without_one_needs_a_device(tmp_path: Path) -> None:
    assert "PT610" in found(tmp_path, PLACED.replace("PLACE", "storage.cuda()"))
