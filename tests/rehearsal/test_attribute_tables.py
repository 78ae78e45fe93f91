"""Settings whose keys are attributes as well, and configurations that Hydra composes, as a run that is known has them.

What is expected is what omegaconf 2.3.0, hydra-core 1.3.2, easydict 1.13 and ml-collections 1.1.0 give for the same programs.
"""

from __future__ import annotations

from typing import Any

import pytest

from distlint.rehearsal.witnesses import second_opinion
from tests.conftest import MakeProject
from tests.link.test_evaluate import shown

HEAD = """
import json, yaml
import torch.distributed as dist
from dataclasses import dataclass, field
from easydict import EasyDict
from ml_collections import ConfigDict
from omegaconf import OmegaConf, DictConfig
import hydra
"""
BASE = "plugin:\n  name: zero\n  stage: 1\n  sizes: [1, 2]\nrate: 1e-3\nsame: ${rate}\n"
TRAIN = """
defaults:
  - plugin: zero
  - optional model: none
  - override hydra/job_logging: disabled
  - _self_
rate: 1e-3
plugin:
  extra: 5
"""
FILES = {
    "base.yaml": BASE,
    "conf/train.yaml": TRAIN,
    "conf/plain.yaml": "defaults:\n  - plugin: zero\nplugin:\n  stage: 7\n",
    "conf/early.yaml": "defaults:\n  - _self_\n  - plugin: zero\nplugin:\n  stage: 7\n",
    "conf/placed.yaml": "defaults:\n  - plugin@other.place: zero\nz: 1\n",
    "conf/chosen.yaml": "defaults:\n  - plugin: ${which}\n",
    "conf/plugin/zero.yaml": "name: zero\nstage: 1\n",
    "conf/plugin/gemini.yaml": "# @package _global_\nplugin:\n  name: gemini\n  kind: ${rate}\n",
}


def seen(make_project: MakeProject, body: str, words: str = "") -> Any:
    """What the argument of ``probe`` is in the only run."""
    run_sh = f"torchrun --nproc_per_node 4 train.py {words}\n"
    project = make_project({"train.py": HEAD + body + "\n", "run.sh": run_sh, **FILES})
    project.second_opinion = second_opinion
    (run,) = project.runs
    (found,) = project.sites("probe")
    return shown(project.evaluator(run).ask(found.site.call.args[0], found.file, found.site.function))


LATER = "more = OmegaConf.create({'plugin': {'stage': 2, 'sizes': [3]}})\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("cfg = OmegaConf.merge(OmegaConf.load('base.yaml'), more)\nprobe(cfg.plugin.stage)", 2),
        ("cfg = OmegaConf.merge(OmegaConf.load('base.yaml'), more)\nprobe(cfg.plugin.name)", "zero"),
        ("cfg = OmegaConf.merge(OmegaConf.load('base.yaml'), more)\nprobe(cfg['plugin'].sizes[0])", 3),
        ("cfg = OmegaConf.load('base.yaml')\ncfg.merge_with(more)\nprobe(cfg.plugin.stage)", 2),
        ("cfg = OmegaConf.load('base.yaml')\nOmegaConf.update(cfg, 'plugin.stage', 4)\nprobe(cfg.plugin.stage)", 4),
        ("cfg = OmegaConf.load('base.yaml')\nprobe(OmegaConf.select(cfg, 'plugin.size', default=8))", 8),
        ("cfg = OmegaConf.load('base.yaml')\ncfg.plugin.stage += 5\nprobe(cfg.plugin.get('stage', 3))", 6),
        ("cfg = OmegaConf.merge(OmegaConf.load('base.yaml'), more)\nprobe({**cfg.plugin})", {"name": "zero", "stage": 2, "sizes": [3]}),
        ("cfg = OmegaConf.merge(OmegaConf.load('base.yaml'), more)\nprobe(OmegaConf.to_container(cfg.plugin)['stage'])", 2),
        ("cfg = OmegaConf.load('base.yaml')\nprobe(cfg.rate * 2)", 0.002),
        ("probe(OmegaConf.from_dotlist(['a.b=7', 'a.c=[1,2]', 'a.d=true', 'a.e=null']).a)", {"b": 7, "c": [1, 2], "d": True, "e": None}),
        ("cfg = OmegaConf.merge(OmegaConf.load('base.yaml'), OmegaConf.from_cli())\nprobe(cfg.plugin.stage)", 9),
        ("cfg = EasyDict(yaml.safe_load(open('base.yaml')))\ncfg.plugin.new = {'size': 3}\nprobe(cfg.plugin.new.size)", 3),
        ("cfg = ConfigDict({'a': {'b': 1}})\ncfg.a.b = 5\nprobe(cfg.a.b + 1)", 6),
        ("probe(isinstance(EasyDict({'a': 1}), dict))", True),
        ("cfg = OmegaConf.create({'a': 1})\nprobe((hasattr(cfg, 'b'), hasattr(cfg, 'a')))", [False, True]),
    ],
)  # fmt: skip
def test_settings_are_what_is_put_into_them_last(make_project: MakeProject, body: str, expected: Any) -> None:
    assert seen(make_project, LATER + body, "plugin.stage=9") == expected


def test_records_are_settings(make_project: MakeProject) -> None:
    body = """
@dataclass
class Plugin:
    stage: int = 1
    name: str = "zero"
@dataclass
class Conf:
    plugin: Plugin = field(default_factory=Plugin)
cfg = OmegaConf.merge(OmegaConf.structured(Conf), OmegaConf.from_cli())
probe((cfg.plugin.stage, cfg.plugin.name))
"""
    assert seen(make_project, body, "plugin.stage=2") == [2, "zero"]


@pytest.mark.parametrize("expr", ["cfg.same", "cfg.plugin.nothing", "OmegaConf.merge(cfg, unseen()).plugin.stage"])
def test_what_refers_to_others_or_is_not_there_is_unknown(make_project: MakeProject, expr: str) -> None:
    assert seen(make_project, f"cfg = OmegaConf.load('base.yaml')\nprobe({expr})") not in (1, 0.001, "${rate}")


@pytest.mark.parametrize(
    "change",
    [
        "cfg.merge_with(unseen())",
        "cfg.merge_with_cli()",
        "OmegaConf.update(cfg, unseen(), 3)",
        "cfg.merge_from_list(unseen())",
    ],
)
def test_changes_that_are_not_seen_leave_nothing_known_to_the_text(make_project: MakeProject, change: str) -> None:
    body = f"def main():\n    cfg = OmegaConf.load('base.yaml')\n    {change}\n    probe(cfg.plugin.stage)\n"
    project = make_project({"train.py": HEAD + body, **FILES})
    (found,) = project.sites("probe")
    value = project.evaluator(None).ask(found.site.call.args[0], found.file, found.site.function)
    assert shown(value) != 1


HYDRA = """
@hydra.main(version_base=None, config_path="conf", config_name="train")
def main(cfg: DictConfig) -> None:
    probe(EXPR)
if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("words", "expr", "expected"),
    [
        ("", "cfg.plugin.stage", 1),
        ("", "(cfg.plugin.extra, cfg.rate)", [5, 0.001]),
        ("plugin.stage=3 hydra.run.dir=out", "cfg.plugin.stage", 3),
        ("'+plugin.size=[1,2]'", "cfg.plugin.size", [1, 2]),
        ("++new.key=4", "cfg.new.key", 4),
        ("plugin=gemini", "(cfg.plugin.name, 'stage' in cfg.plugin, cfg.plugin.extra)", ["gemini", False, 5]),
        ("~plugin.extra", "cfg.plugin", {"name": "zero", "stage": 1}),
        ("--config-name plain", "cfg.plugin.stage", 7),
        ("-cn=early", "cfg.plugin.stage", 1),
        ("--config-name=placed", "cfg.other.place.stage", 1),
        ("plugin.name=\"'a'\"", "cfg.plugin.name", "a"),
    ],
)
def test_hydra_composes_files_and_words(make_project: MakeProject, words: str, expr: str, expected: Any) -> None:
    assert seen(make_project, HYDRA.replace("EXPR", expr), words) == expected


@pytest.mark.parametrize(
    "words", ["plugin.none=3", "plugin=none", "-m plugin.stage=1,2", "--config-name chosen", "--config-dir other"]
)
def test_what_hydra_would_refuse_or_decide_elsewhere_is_unknown(make_project: MakeProject, words: str) -> None:
    assert not isinstance(seen(make_project, HYDRA.replace("EXPR", "cfg.plugin.stage"), words), int)


def test_configurations_are_composed_by_hand(make_project: MakeProject) -> None:
    body = """
with hydra.initialize(version_base=None, config_path="conf"):
    cfg = hydra.compose(config_name="train", overrides=["plugin.stage=2"])
probe(cfg.plugin.stage)
"""
    assert seen(make_project, body) == 2


FROZEN = """
class Frozen:
    __slots__ = ("_values",)
    def __init__(self, **values):
        object.__setattr__(self, "_values", dict(values))
    def __getattr__(self, name):
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None
    def __setattr__(self, name, value):
        raise TypeError("frozen")
probe(Frozen(stage=3).stage)
"""
CHAINED = """
import argparse
from collections import ChainMap
parser = argparse.ArgumentParser()
parser.add_argument("--stage", type=int)
given = {key: one for key, one in vars(parser.parse_args()).items() if one is not None}
settings = ChainMap(given, {"stage": 3, "name": "zero"})
probe(dict(**settings))
"""


REPLACED = """
from typing import NamedTuple, Optional
class Strategy(NamedTuple):
    tp_size: int = 1
    style: Optional[str] = None
    def kwargs(self):
        return {field: one for field, one in self._asdict().items() if one is not None}
probe(Strategy(tp_size=2)._replace(style="interleaved").kwargs())
"""
NUMBERED = """
import enum
class Zero(enum.IntEnum):
    NONE = 0
    STATES = enum.auto()
    GRADIENTS = enum.auto()
class Kind(enum.Enum):
    ONE = "1"
probe((int(Zero["GRADIENTS"]), float(Zero.STATES), bool(Zero.NONE)))
"""
SPREAD = """
class Mode:
    sequence = None
    @property
    def sizes(self):
        return {"tp_size": 1, "sp_size": 8 // 2}
    def keys(self):
        return [*self.sizes, "sequence"]
    def __getitem__(self, key):
        return {**self.sizes, "sequence": self.sequence}[key]
class Split(Mode):
    sequence = "split_gather"
probe((dict(**Split()), {**Split()}["sp_size"], dict(Split())["sp_size"]))
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (SPREAD, [{"tp_size": 1, "sp_size": 4, "sequence": "split_gather"}, 4, 4]),
        (FROZEN, 3),
        (CHAINED, {"stage": 3, "name": "zero"}),
        (REPLACED, {"tp_size": 2, "style": "interleaved"}),
        (NUMBERED, [2, 1.0, False]),
    ],
)
def test_other_ways_to_hold_settings(make_project: MakeProject, body: str, expected: Any) -> None:
    assert seen(make_project, body) == expected
