"""Collectives in the order of a set (PT298), and the ways in which a program shows that strings are in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixture_cases import check

PROGRAM = """
import argparse, json, os, yaml
from collections import Counter, defaultdict
from dataclasses import dataclass, field
import torch
import torch.distributed as dist
{defs}
def main():
    dist.init_process_group("gloo")
    {before}
    for name in {names}:
        value = torch.tensor(float(len(str(name))) + dist.get_rank())
        dist.all_reduce(value)
        print(name, value.item())
    dist.destroy_process_group()
main()
"""
YAML = "tasks: [a, b, c]\nsizes: [1, 2, 3]\n"
JSON = '{"tasks": {"x": 1, "y": 2, "z": 3}}'
PARSER = "p = argparse.ArgumentParser(); p.add_argument({0}); args = p.parse_args()"
LOADED = 'c = yaml.safe_load(open("c.yaml")); names = set(c["{0}"])'
RECORDS = """
CORPUS = {"books": 3, "news": 4}
def load():
    rows = []
    for domain, count in CORPUS.items():
        for i in range(count):
            rows.append({"domain": domain, "id": i})
    return rows
"""
SETTINGS = """
@dataclass
class Settings:
    tasks: list = field(default_factory=lambda: ["mu", "alpha", "homo"])
    @property
    def active(self):
        return {0}(self.tasks)
"""

METER = """
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, reduce
class Meter:
    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.names = {kind}
        self.sums = {{}}
    def put(self, **values):
        for name, value in values.items():
            self.names.{put}(name)
            self.sums[name] = self.sums.get(name, 0.0) + value
    def total(self):
        out = {{}}
        for name in {names}:
            out[name] = {joined}
        return out
def main():
    meter = Meter(Accelerator(cpu=True))
    for i in range(3):
        meter.put(loss=0.1 * i, accuracy=0.5, lr=1e-3)
    print(meter.total())
main()
"""
REDUCED = 'self.accelerator.reduce(torch.tensor(self.sums[name]), reduction="mean").item()'


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that is looked at, with configurations."""
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(YAML, encoding="utf-8")
    Path("c.json").write_text(JSON, encoding="utf-8")


def found(names: str, before: str = "pass", defs: str = "") -> bool:
    """Whether a program has a finding about the order of its collectives."""
    text = PROGRAM.format(names=names, before=before, defs=defs)
    Path("train.py").write_text(text, encoding="utf-8")
    return "PT298" in {one["code"] for one in check()["findings"]}


@pytest.mark.parametrize(
    ("names", "before", "defs"),
    [
        ("names", LOADED.format("tasks"), ""),
        ('set(c["tasks"].keys())', 'c = json.load(open("c.json"))', ""),
        ('set(args.tasks.split(","))', PARSER.format('"--tasks", default="a,b,c"'), ""),
        ("set(args.tasks)", PARSER.format('"--tasks", nargs="+", default=["a", "b", "c"]'), ""),
        ("set(args.tasks)", PARSER.format('"--tasks", nargs="+", required=True'), ""),
        ('s.active - {"mu"}', "s = Settings()", SETTINGS.replace("{0}", "frozenset")),
        ('{r["domain"] for r in load()}', "pass", RECORDS),
        ("seen", 'seen = set(); seen.update(["a", "b"]); seen.add("c")', ""),
        ("names", 'names = set(load()); names |= {"all"}', 'def load():\n    return open("x").read().split()\n'),
        ('pick(["a", "b", "c"])', "pass", "def pick(names: list[str]):\n    return set(names)\n"),
        ('set(line.strip() for line in open("tasks.txt"))', "pass", ""),
        ("names", 'names = list(set(["a", "b", "c"]))', ""),
        ("set(counts)", 'counts = Counter(w for w in "a b c".split())', ""),
        ("table", 'table = {n: 0 for n in {"a", "b", "c"}}', ""),
        ("table", 'table = {}\n    for n in {"a", "b", "c"}:\n        table[n] = 0', ""),
        ("table", 'table = defaultdict(int)\n    for n in {"a", "b", "c"}:\n        table[n] += 1', ""),
        ("set(a) & set(b)", 'a, b = ["x", "y", "z"], ["y", "z"]', ""),
        ('{("a", 2), ("b", 4)}', "pass", ""),
        ("{n.split('.')[0] for n, _ in m.named_parameters()}", "m = torch.nn.Linear(2, 2)", ""),
        ('set(os.listdir("x"))', "pass", ""),
    ],
)
def test_set_of_strings(names: str, before: str, defs: str) -> None:
    """Each process goes through it in an order of its own."""
    assert found(names, before, defs)


@pytest.mark.parametrize(
    ("names", "before", "defs"),
    [
        ("names", LOADED.format("sizes"), ""),
        ('sorted(set(args.tasks.split(",")))', PARSER.format('"--tasks", default="a,b,c"'), ""),
        ("set(args.folds)", PARSER.format('"--folds", nargs="+", type=int, default=[1, 2]'), ""),
        ("set(args.folds)", PARSER.format('"--folds", nargs="+", type=int, required=True'), ""),
        ("s.active", "s = Settings()", SETTINGS.replace("{0}", "sorted")),
        ('{r["id"] for r in load()}', "pass", RECORDS),
        ('dict.fromkeys(["a", "b", "a"])', "pass", ""),
        ('{"a"}', "pass", ""),
        ('{"a", "b"}', 'os.environ["PYTHONHASHSEED"] = "0"', ""),
        ("{(1, 2), (3, 4)}", "pass", ""),
        ("table", 'table = {}\n    for n in sorted({"a", "b"}):\n        table[n] = 0', ""),
        ("table", 'table = {"a": 1, "b": 2}\n    for n in {"a", "b"}:\n        table[n] += 1', ""),
        ("table", 'table = {k: 0 for k in ("a", "b")}\n    for n in set(table):\n        table[n] = 1', ""),
    ],
)
def test_order_that_is_the_same_everywhere(names: str, before: str, defs: str) -> None:
    """Numbers hash alike in all processes, and what is sorted has one order."""
    assert not found(names, before, defs)


@pytest.mark.parametrize(
    ("kind", "put", "names", "joined", "holds"),
    [
        ("set()", "add", "self.names", REDUCED, True),
        ("set()", "add", "list(self.names)", REDUCED, True),
        ("set()", "add", "self.names", "reduce(torch.tensor(self.sums[name]))", True),
        ("set()", "add", "self.names", "self.accelerator.gather(torch.tensor([self.sums[name]])).mean()", True),
        ("set()", "add", "self.names", "sum(gather_object([self.sums[name]]))", True),
        ("set()", "add", "sorted(self.names)", REDUCED, False),
        ("[]", "append", "self.names", REDUCED, False),
        ("set()", "add", "self.sums", REDUCED, False),
        ("set()", "add", "self.names", "self.sums[name]", False),
    ],
)
def test_names_of_keywords(kind: str, put: str, names: str, joined: str, *, holds: bool) -> None:
    """The names of figures come out of keywords, and what a library brings together has the order of them."""
    text = METER.format(kind=kind, put=put, names=names, joined=joined)
    Path("train.py").write_text(text, encoding="utf-8")
    assert ("PT298" in {one["code"] for one in check()["findings"]}) is holds
