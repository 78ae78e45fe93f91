"""Settings that reach a call on the ways that repositories take: seen by a plugin of Colossal-AI for 3 among 4 processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from distlint.engine import Request, analyse
from distlint.settings import load_settings

HEAD = """import argparse
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import SimpleNamespace

import colossalai
import torch.distributed as dist
from colossalai.booster.plugin import HybridParallelPlugin

colossalai.launch_from_torch()
"""
RIGHT = ('{"plugin": {"size": 2, "name": "hybrid"}}', "2")
WRONG = ('{"plugin": {"size": 3, "name": "hybrid"}}', "3")

WAYS = {
    "attributes of what a hook makes objects of": """
settings = json.load(open("settings.json"), object_hook=lambda entries: SimpleNamespace(**entries))
plugin = HybridParallelPlugin(tp_size=settings.plugin.size, pp_size=1)
""",
    "a path as an option": """
parser = argparse.ArgumentParser()
parser.add_argument("--settings", type=Path)
args = parser.parse_args()
settings = json.loads(args.settings.read_text())
plugin = HybridParallelPlugin(tp_size=settings["plugin"]["size"], pp_size=1)
""",
    "keys that the same call takes out": """
settings = json.load(open("settings.json"))["plugin"]
PLUGINS = {"hybrid": HybridParallelPlugin}
plugin = PLUGINS[settings.pop("name")](tp_size=settings.pop("size"), pp_size=1, **settings)
""",
    "fields of the object itself": """
@dataclass
class Layout:
    size: int

    def plugin(self):
        return HybridParallelPlugin(tp_size=self.size, pp_size=1)


plugin = Layout(SIZE).plugin()
""",
    "the object itself as a dictionary": """
@dataclass
class Layout:
    tp_size: int = SIZE
    pp_size: int = 1

    def settings(self):
        return asdict(self)


plugin = HybridParallelPlugin(**Layout().settings())
""",
    "a static method that is a lambda": """
class Layout:
    size = staticmethod(lambda: SIZE)


plugin = HybridParallelPlugin(tp_size=Layout.size(), pp_size=1)
""",
    "the name of a function as a key": """
def deep():
    return SIZE


SIZES = {one.__name__: one for one in (deep,)}
plugin = HybridParallelPlugin(tp_size=SIZES["deep"](), pp_size=1)
""",
    "the number of processes": """
plugin = HybridParallelPlugin(tp_size=dist.get_world_size() - 4 + SIZE, pp_size=1)
""",
    "a loop that sets all attributes": """
parser = argparse.ArgumentParser()
parser.add_argument("--settings")
parser.add_argument("--size", type=int, default=1)
args = parser.parse_args()
for key, value in json.load(open(args.settings))["plugin"].items():
    setattr(args, key, value)
plugin = HybridParallelPlugin(tp_size=args.size, pp_size=1)
""",
    "options that are given, over a dictionary": """
parser = argparse.ArgumentParser()
parser.add_argument("--settings")
parser.add_argument("--precision")
parser.add_argument("--size", type=int, default=SIZE)
settings = {"size": 1, "precision": "bf16"}
for key, value in vars(parser.parse_args()).items():
    if value is None or key == "settings":
        continue
    settings[key] = value
plugin = HybridParallelPlugin(tp_size=settings["size"], pp_size=1, precision=settings["precision"])
""",
    "all options as keywords": """
parser = argparse.ArgumentParser()
parser.add_argument("--tp_size", type=int, default=SIZE)
parser.add_argument("--pp_size", type=int, default=1)
args, _ = parser.parse_known_args()
plugin = HybridParallelPlugin(**vars(args))
""",
    "pairs on the command line": """
parser = argparse.ArgumentParser()
parser.add_argument("--settings")
parser.add_argument("--set", action="append", default=[])
settings = {"size": 1}
for pair in parser.parse_args().set:
    key, _, value = pair.partition("=")
    settings[key] = int(value)
plugin = HybridParallelPlugin(tp_size=settings["size"], pp_size=1)
""",
    "a preset that is chosen": """
@dataclass
class Layout:
    size: int = 1

    def plugin(self):
        return HybridParallelPlugin(**self.arguments())

    def arguments(self):
        return {"tp_size": self.size, "pp_size": 1}


LAYOUTS = {"one": Layout(), "other": Layout(SIZE)}
layout = LAYOUTS["other"]
plugin = layout.plugin()
""",
    "pairs of the kind that a default has": """
parser = argparse.ArgumentParser()
parser.add_argument("--settings")
parser.add_argument("--set", nargs="*")
settings = json.load(open("settings.json"))["plugin"]
settings["size"] = 1
for pair in parser.parse_args().set:
    key, value = pair.split("=", 1)
    settings[key] = type(settings[key])(value)
plugin = HybridParallelPlugin(tp_size=settings["size"], pp_size=1)
""",
    "a class that is asked of its module by its name": """
from colossalai.booster import plugin as plugins

kind = getattr(plugins, "HybridParallelPlugin")
plugin = kind(tp_size=json.load(open("settings.json"))["plugin"]["size"], pp_size=1)
""",
    "a table that decorators fill": """
MAKERS = {}


def register(name):
    def put(maker):
        MAKERS[name] = maker
        return maker

    return put


@register("hybrid")
def hybrid(settings):
    return HybridParallelPlugin(tp_size=settings["size"], pp_size=1)


settings = json.load(open("settings.json"))["plugin"]
plugin = MAKERS[settings["name"]](settings)
""",
    "a table that is filled under the functions' own names": """
MAKERS = {}


def register(maker):
    MAKERS[maker.__name__] = maker
    return maker


@register
def hybrid(size):
    return HybridParallelPlugin(tp_size=size, pp_size=1)


settings = json.load(open("settings.json"))["plugin"]
plugin = MAKERS[settings["name"]](settings["size"])
""",
}


def found(folder: Path, text: str, document: tuple[str, str]) -> list[str]:
    (folder / ".git").mkdir()
    (folder / "requirements.txt").write_text("colossalai==0.5.0\n")
    (folder / "settings.json").write_text(document[0])
    (folder / "train.py").write_text(
        HEAD + text.replace("SIZE)", f"{document[1]})").replace("SIZE\n", f"{document[1]}\n")
    )
    words = [f"--set size={document[1]}"] if '"--set"' in text else []
    words += ["--settings settings.json"] if '"--settings"' in text else []
    (folder / "run.sh").write_text(f"torchrun --nproc_per_node 4 train.py {' '.join(words)}\n")
    report = analyse(Request((folder,), load_settings(folder), jobs=1, use_cache=False))
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize("way", WAYS)
def test_a_size_that_does_not_fit_is_found(tmp_path: Path, way: str) -> None:
    text = WAYS[way].replace("SIZE,", "3,")
    assert found(tmp_path, text, WRONG) == ["CAI101"]


@pytest.mark.parametrize("way", WAYS)
def test_a_size_that_fits_is_not(tmp_path: Path, way: str) -> None:
    text = WAYS[way].replace("SIZE,", "2,")
    assert found(tmp_path, text, RIGHT) == []


SET_BY_NAME = """
@dataclass
class Layout:
    tp_size: int = 3
    pp_size: int = 1
    enable_sequence_overlap: bool = False

    def settings(self):
        return asdict(self)


def override(layout, args):
    for one in fields(layout):
        setattr(layout, one.name, getattr(args, one.name, None))
    return layout


plugin = HybridParallelPlugin(**override(Layout(), SimpleNamespace(tp_size=2)).settings())
"""


def test_of_fields_that_are_set_by_name_the_names_are_known_and_the_values_are_not(tmp_path: Path) -> None:
    assert found(tmp_path, SET_BY_NAME, RIGHT) == ["CAI411"]
