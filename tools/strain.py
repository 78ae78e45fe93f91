"""Measures what programs cost that are made to strain the analyses, and what the analyses of a program's behaviour add to a check.

    python tools/strain.py [CASE ...]            CPU seconds of each case at its size and at twice that
    python tools/strain.py --share FOLDER        CPU seconds of a check with and without the rules that are proven by running
    python tools/strain.py --write FOLDER        writes the cases there, and measures nothing

A case that takes longer than ``MAX_SECONDS``, grows faster than ``MAX_GROWTH``, or makes distlint fail ends the program with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import tomllib

MAX_SECONDS = 20.0
"""CPU time that a case may take at its size."""

MAX_GROWTH = 2.6
"""How much longer a case of twice the size may take: a little more than twice as long, as sorting and the machine make it."""

MAX_SHARE = 2.0
"""How often the time of a check without the analyses of what programs do fits into that of a whole one."""

HEAD = """import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

"""

START = """
if __name__ == "__main__":
    main(sys.argv)
"""


class Case(NamedTuple):
    """A program of a size, and how it is written."""

    size: int
    write: Callable[[int], Iterator[str]]


def branches(size: int) -> Iterator[str]:
    """One function with many tests, some of the rank, some around a collective."""
    yield "def main(given):"
    yield "    dist.init_process_group('gloo')"
    yield "    rank, total, values = dist.get_rank(), 0, [int(one) for one in given]"
    for number in range(size):
        yield f"    if values[{number % 7}] > {number}:" if number % 10 else "    if rank == 0:"
        yield f"        total = total + values[{number % 5}]" if number % 50 else "        dist.barrier()"
    yield "    return total"


def recursion(size: int) -> Iterator[str]:
    """Functions that all call each other, with tests of the rank and collectives."""
    for number in range(size):
        yield f"def step{number}(depth, rank, tensor):"
        yield "    if depth == 0:"
        yield "        return tensor"
        yield f"    if rank == {number % 4}:"
        yield f"        tensor = step{(number * 7 + 1) % size}(depth - 1, rank, tensor + 1)"
        if number % 9 == 0:
            yield "    dist.all_reduce(tensor)"
        yield f"    tensor = step{(number * 3 + 2) % size}(depth - 1, rank, tensor)"
        yield f"    return step{(number + 1) % size}(depth - 1, rank, tensor)"
        yield ""
    yield "def main(given):"
    yield "    dist.init_process_group('gloo')"
    yield "    step0(len(given), dist.get_rank(), torch.zeros(1))"


def long_body(size: int) -> Iterator[str]:
    """One function of many lines: collectives, tests of the rank, loops and handlers in turn."""
    yield "def main(given):"
    yield "    dist.init_process_group('gloo')"
    yield "    rank = dist.get_rank()"
    yield "    tensor = torch.zeros(len(given))"
    lines = 4
    number = 0
    while lines < size:
        block = [
            ["    dist.all_reduce(tensor)"],
            ["    if rank == 0:", f"        print({number}, tensor)"],
            [
                f"    for item in range({number % 6}):",
                "        tensor = tensor + item",
                "        dist.broadcast(tensor, 0)",
            ],
            ["    try:", "        tensor = torch.load(given[0])", "    except OSError:", "        tensor = tensor * 2"],
            ["    if rank:", "        dist.send(tensor, 0)", "    else:", "        dist.recv(tensor, 1)"],
            [f"    while tensor.sum() > {number}:", "        tensor = tensor - rank"],
        ][number % 6]
        yield from block
        lines += len(block)
        number += 1


def loops(size: int) -> Iterator[str]:
    """Loops inside each other, each with a test of the rank and a collective."""
    yield "def main(given):"
    yield "    dist.init_process_group('gloo')"
    yield "    rank, tensor = dist.get_rank(), torch.zeros(1)"
    for depth in range(size):
        inner = "    " * (depth + 1)
        yield f"{inner}for turn{depth} in range(len(given) + rank % 2):"
        yield f"{inner}    if rank == turn{depth}:"
        yield f"{inner}        tensor = tensor + turn{depth}"
        yield f"{inner}    elif tensor.sum() > turn{depth}:"
        yield f"{inner}        dist.all_reduce(tensor)"


def classes(size: int) -> Iterator[str]:
    """Classes that hold and extend each other, with methods that come to collectives."""
    for number in range(size):
        yield f"class Part{number}({f'Part{number // 3}' if number % 4 == 1 else 'torch.nn.Module'}):"
        yield "    def __init__(self, rank, inner=None):"
        yield "        super().__init__()"
        yield "        self.rank, self.inner = rank, inner"
        yield "    def forward(self, tensor):"
        yield "        if self.rank == 0 and self.inner is not None:"
        yield "            tensor = self.inner(tensor)"
        if number % 20 == 0:
            yield "        dist.all_reduce(tensor)"
        yield "        return tensor"
        yield ""
    yield "def main(given):"
    yield "    dist.init_process_group('gloo')"
    yield "    rank = dist.get_rank()"
    yield "    part = Part0(rank)"
    for number in range(1, size):
        yield f"    part = Part{number}(rank, part)"
    yield "    model = DistributedDataParallel(part)"
    yield "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"
    yield "    for _ in given:"
    yield "        optimizer.zero_grad()"
    yield "        model(torch.zeros(1)).sum().backward()"
    yield "        optimizer.step()"


def chain(size: int) -> Iterator[str]:
    """Functions of which each calls the next, a collective in the last."""
    for number in range(size - 1):
        yield f"def link{number}(rank, tensor):"
        yield f"    return link{number + 1}(rank, tensor + {number})"
        yield ""
    yield f"def link{size - 1}(rank, tensor):"
    yield "    if rank == 0:"
    yield "        dist.all_reduce(tensor)"
    yield "    return tensor"
    yield ""
    yield "def main(given):"
    yield "    dist.init_process_group('gloo')"
    yield "    link0(dist.get_rank(), torch.zeros(1))"


def training(size: int) -> Iterator[str]:
    """Many training functions over one model, with everything that the rules about loops, scalers and loaders ask for."""
    for number in range(size):
        yield f"def train{number}(model, loader, sampler, optimizer, scaler, rank):"
        yield f"    for epoch in range({number % 5 + 2}):"
        yield "        total = 0.0"
        yield "        for index, (inputs, targets) in enumerate(loader):"
        yield "            with torch.autocast('cuda'):"
        yield "                loss = torch.nn.functional.mse_loss(model(inputs), targets)"
        yield "            scaler.scale(loss).backward()"
        yield f"            if (index + 1) % {number % 3 + 2} == 0:"
        yield "                scaler.step(optimizer)"
        yield "                scaler.update()"
        yield "                optimizer.zero_grad()"
        yield "            total += loss.item()"
        yield "        if rank == 0:"
        yield "            torch.save(model.module.state_dict(), 'model.pt')"
        yield "        dist.barrier()"
        yield ""
    yield "def main(given):"
    yield "    dist.init_process_group('gloo')"
    yield "    rank = dist.get_rank()"
    yield "    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())"
    yield "    data = torch.utils.data.TensorDataset(torch.zeros(8, 2), torch.zeros(8, 2))"
    yield "    sampler = torch.utils.data.DistributedSampler(data)"
    yield "    loader = torch.utils.data.DataLoader(data, sampler=sampler)"
    yield "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"
    yield "    scaler = torch.cuda.amp.GradScaler()"
    for number in range(size):
        yield f"    train{number}(model, loader, sampler, optimizer, scaler, rank)"


CASES = {
    "branches": Case(10_000, branches),
    "recursion": Case(200, recursion),
    "long-body": Case(5_000, long_body),
    "loops": Case(18, loops),
    "classes": Case(3_000, classes),
    "chain": Case(2_000, chain),
    "training": Case(200, training),
}


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description="CPU time of distlint on programs that strain its analyses")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"cases to run (default: all): {', '.join(CASES)}")
    parser.add_argument("--share", type=Path, metavar="FOLDER", help="measure what the analyses add on a repository")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write the cases there and measure nothing")
    given = parser.parse_args()
    unknown = sorted(set(given.cases) - CASES.keys())
    if unknown:
        parser.error(f"there is no case {unknown[0]}")
    names = given.cases or list(CASES)
    if given.write is not None:
        for name in names:
            write(given.write / name, CASES[name].write(CASES[name].size))
    elif given.share is not None:
        sys.exit(0 if share(given.share) else 1)
    else:
        good = [measure(name) for name in names]
        sys.exit(0 if all(good) else 1)


def write(folder: Path, lines: Iterator[str]) -> None:
    """Makes a project of one program."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "train.py").write_text(HEAD + "\n".join(lines) + "\n" + START)


def measure(name: str) -> bool:
    """Runs a case at its size and at twice that; whether both are as they should be."""
    case = CASES[name]
    seconds = []
    for size in (case.size, 2 * case.size):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder) / name, case.write(size))
            seconds.append(cpu_seconds(Path(folder) / name))
    growth = seconds[1] / seconds[0]
    is_good = seconds[0] <= MAX_SECONDS and growth <= MAX_GROWTH
    print(
        f"{name:12} {seconds[0]:8.1f} s {seconds[1]:8.1f} s {growth:6.2f} {'' if is_good else 'too much'}", flush=True
    )
    return is_good


def share(folder: Path) -> bool:
    """Compares a whole check with one that leaves out the rules about what programs do."""
    whole, less = cpu_seconds(folder), cpu_seconds(folder, "--ignore", ",".join(proven()))
    print(f"{whole:.1f} s, without the rules that are proven by running {less:.1f} s: {whole / less:.2f} times as much")
    return whole <= MAX_SHARE * less


def proven() -> list[str]:
    """The codes of the rules whose cases are programs that are run."""
    rules = Path(__file__).parent.parent / "rules"
    read = [tomllib.loads(file.read_text()) for file in sorted(rules.glob("*/*.toml"))]
    return [rule["code"] for rule in read if "proof" in rule]


def cpu_seconds(path: Path, *options: str) -> float:
    """User and system time of a check in one process without a cache; ends the program if distlint fails, or a rule of it."""
    command = [sys.executable, "-m", "distlint", "check", str(path), "--no-cache", "--jobs", "1", "--exit-zero"]
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([*command, "--output-format", "json", *options], stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        if process.returncode != 0:
            sys.exit(f"distlint ended with {process.returncode} on {path}")
        errors = [error["message"] for error in json.loads(out.read())["errors"]]
    if any("failed" in error for error in errors):
        sys.exit(f"{path}: {errors[0]}")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
