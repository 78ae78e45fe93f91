"""What a program learns of the releases that it runs with, and what it does where something certainly fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from distlint.engine import Request, analyse
from distlint.rehearsal.witnesses import second_opinion
from distlint.settings import load_settings
from tests.conftest import MakeProject
from tests.link.test_evaluate import shown

HEAD = """
import dataclasses, enum, inspect, json, os, sys
from ast import literal_eval
from dataclasses import dataclass, field, fields
import colossalai
import torch.distributed as dist
from colossalai.booster.plugin import GeminiPlugin, HybridParallelPlugin
from colossalai.inference import InferenceConfig
from importlib.metadata import version
SETTINGS = {"sp_size": 2, "tp_size": 1, "unheard": 3}
"""


def seen(
    make_project: MakeProject,
    body: str,
    pin: str = "0.4.4",
    run: str = "",
    more: Mapping[str, str] = MappingProxyType({}),
) -> list[Any]:
    """What the arguments of ``probe`` are in the only run."""
    run_sh = run or "torchrun --nproc_per_node 4 train.py\n"
    files = {"train.py": HEAD + body + "\n", "run.sh": run_sh, "requirements.txt": f"colossalai=={pin}\n", **more}
    project = make_project(files)
    project.second_opinion = second_opinion
    (only,) = project.runs
    evaluator = project.evaluator(only)
    return [
        shown(evaluator.ask(found.site.call.args[0], found.file, found.site.function))
        for found in project.sites("probe")
    ]


TAKEN = "known = inspect.signature(HybridParallelPlugin{}).parameters\nprobe({{k: v for k, v in SETTINGS.items() if k in known}})"


@pytest.mark.parametrize(
    ("pin", "expected"),
    [
        ("0.4.4", {"sp_size": 2, "tp_size": 1}),
        ("0.3.6", {"tp_size": 1}),
        ("0.3.5,>0.3.4", {"tp_size": 1}),
        (">=0.3.6,<0.4.5", "?"),
    ],
)
@pytest.mark.parametrize("named", ["", ".__init__"])
def test_the_parameters_of_a_library_are_those_of_the_pinned_release(
    make_project: MakeProject, named: str, pin: str, expected: Any
) -> None:
    pin = pin if pin[0] == ">" else f"=={pin}"
    body = TAKEN.format(named)
    files = {"train.py": HEAD + body + "\n", "run.sh": "torchrun --nproc_per_node 4 train.py\n"}
    project = make_project({**files, "requirements.txt": f"colossalai{pin}\n"})
    project.second_opinion = second_opinion
    (run,) = project.runs
    (found,) = project.sites("probe")
    value = shown(project.evaluator(run).ask(found.site.call.args[0], found.file, found.site.function))
    # where releases differ nothing is left out
    assert value == expected or (expected == "?" and value != {"tp_size": 1})


def test_the_fields_of_a_library_are_those_of_the_pinned_release(make_project: MakeProject) -> None:
    body = "known = {one.name for one in fields(InferenceConfig)}\nprobe([one for one in ('block_size', 'unheard') if one in known])"
    assert seen(make_project, body) == [["block_size"]]


@pytest.mark.parametrize(
    ("test", "pin", "expected"),
    [
        ("hasattr(colossalai, 'launch_from_torch')", "0.4.4", 1),
        ("not hasattr(colossalai, 'launch_from_torch')", "0.4.4", 2),
        ("hasattr(colossalai, 'get_default_parser')", "0.4.4", 2),
        ("hasattr(colossalai, 'get_default_parser')", "0.3.0", 1),
        ("colossalai.__version__.startswith('0.4.')", "0.4.4", 1),
        ("version('colossalai').startswith('0.3')", "0.4.4", 2),
    ],
)
def test_a_release_decides_which_way_a_run_goes(make_project: MakeProject, test: str, pin: str, expected: int) -> None:
    assert seen(make_project, f"size = []\nsize.append(1 if {test} else 2)\nprobe(size[-1])", pin) == [expected]


CAST = """
def cast(text):
    try:
        return READ
    except (ValueError, SyntaxError):
        return text
    except KeyError:
        return None
probe([cast(one) for one in "4 wide 1.5".split()])
"""


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("literal_eval(text)", [4, "wide", 1.5]),
        ("int(text)", [4, "wide", "1.5"]),
        ("json.loads(text)", [4, "wide", 1.5]),
        ("{'4': 8}[text]", [8, None, None]),
    ],
)
def test_what_certainly_fails_goes_to_its_handler(make_project: MakeProject, read: str, expected: list[Any]) -> None:
    assert seen(make_project, CAST.replace("READ", read)) == [expected]


DERIVED = """
KNOWN = {}
class Base:
    size = 1
    def __init_subclass__(cls, name, size=2, **more):
        super().__init_subclass__(**more)
        KNOWN[name] = cls
        cls.size = size
class Narrow(Base, name="narrow"):
    pass
class Wide(Base, name="wide", size=8):
    pass
probe(sorted(KNOWN))
probe([KNOWN[one].size for one in ("narrow", "wide")])
"""


def test_a_base_is_told_of_what_derives_from_it(make_project: MakeProject) -> None:
    assert seen(make_project, DERIVED) == [["narrow", "wide"], [2, 8]]


FLAGS = """
class Part(enum.Flag):
    NONE = 0
    STATES = enum.auto()
    GRADS = enum.auto()
    BOTH = STATES | GRADS
class Kind(enum.Enum):
    FIRST = 3
    NEXT = enum.auto()
def parse(text):
    found = Part.NONE
    for word in text.split("+"):
        found |= Part[word.upper()]
    return found
def level(part):
    return sum(bool(part & one) for one in (Part.STATES, Part.GRADS))
probe([level(parse(one)) for one in ("none", "states", "states+grads", "both")])
probe(Kind.NEXT.value)
"""


def test_flags_are_put_together(make_project: MakeProject) -> None:
    assert seen(make_project, FLAGS) == [[0, 1, 2, 2], 4]


RECORD = """
@dataclass
class Plan:
    size: int
    rate: float = field(default=0.5, metadata={"local": True})
    name: str = ""
raw = {"size": "4", "rate": "2", "name": "x"}
plan = Plan(**{one.name: one.type(raw[one.name]) for one in fields(Plan)})
local = {one.name for one in fields(plan) if one.metadata.get("local")}
probe({key: value for key, value in dataclasses.asdict(plan).items() if key not in local})
probe(plan.rate)
"""


def test_fields_tell_their_types_and_what_is_noted_of_them(make_project: MakeProject) -> None:
    assert seen(make_project, RECORD) == [{"size": 4, "name": "x"}, 2.0]


LONG = """
found = {}
for key, value in os.environ.items():
    if key.startswith("CC_"):
        found[key[3:].lower()] = int(value)
probe(found["last"])
"""


def test_a_loop_over_many_settings_is_followed_to_its_end(make_project: MakeProject) -> None:
    exports = "".join(f"export CC_N{number}={number}\n" for number in range(20))
    run = f"{exports}export CC_LAST=7\ntorchrun --nproc_per_node 4 train.py\n"
    assert seen(make_project, LONG, run=run) == [7]


@pytest.mark.parametrize(
    ("plugin", "options", "expected"),
    [
        ("HybridParallelPlugin(tp_size=2, pp_size=1)", "drop_last=True", 3),
        ("HybridParallelPlugin(2, 1)", "", 4),
        ("GeminiPlugin()", "drop_last=True", 1),
        ("GeminiPlugin(tp_size=2)", "", 4),
        ("HybridParallelPlugin(tp_size=2, pp_size=unheard_of)", "", "?"),
        ("HybridParallelPlugin(tp_size=2, pp_size=1)", "distributed_sampler_cls=object", "?"),
    ],
)
def test_a_prepared_loader_is_as_long_as_a_share_of_the_data(
    make_project: MakeProject, plugin: str, options: str, expected: Any
) -> None:
    body = f"""
import torch
from torch.utils.data import TensorDataset
loader = {plugin}.prepare_dataloader(TensorDataset(torch.randn(28, 4)), batch_size=4, {options})
probe(len(loader))
"""
    assert seen(make_project, body) == [expected]


CONTEXT = """
from {package}core import global_context as gpc
{package_name}.launch_from_torch(config={config})
probe(gpc.config.plugin.stage + gpc.config["more"] + gpc.config.get("rest", 1) + int(hasattr(gpc.config, "json")))
"""


@pytest.mark.parametrize(
    ("pin", "package", "config", "expected"),
    [
        ("0.3.2", "colossalai.", "dict(plugin=dict(stage=1), more=2)", 4),
        ("0.3.2", "colossalai.", "'settings.py'", 9),
        ("0.4.4", "colossalai.legacy.", "'settings.py'", 9),
        ("0.4.4", "colossalai.", "dict(plugin=dict(stage=1), more=2)", "?"),
        ("0.3.2", "colossalai.", "unheard_of", "?"),
    ],
)
def test_a_launch_keeps_its_configuration(
    make_project: MakeProject, pin: str, package: str, config: str, expected: Any
) -> None:
    settings = "import json\nSTAGE = 3\nplugin = dict(stage=STAGE)\nmore = STAGE + 2\n"
    body = CONTEXT.format(package=package, package_name=package[:-1], config=config)
    assert seen(make_project, body, pin, more={"settings.py": settings}) == [expected]


DESCRIBED = """
class Size:
    def __init__(self, default):
        self.default = default
    def __set_name__(self, owner, name):
        self.name = "_" + name
    def __get__(self, thing, owner=None):
        return getattr(thing, self.name, self.default) * 2
    def __set__(self, thing, value):
        setattr(thing, self.name, int(value))
class Plan:
    rows = Size(1)
    columns = Size(3)
plan = Plan()
plan.columns = "5"
probe([plan.rows, plan.columns])
probe(plan.rows)
"""


def test_a_descriptor_says_what_an_attribute_is(make_project: MakeProject) -> None:
    assert seen(make_project, DESCRIBED) == [[2, 10], 2]


REGISTRY = """
class Tuning:
    registry = {}
    def __init_subclass__(cls, method, **more):
        Tuning.registry[method] = cls
    @classmethod
    def of(cls, plan):
        return cls.registry[plan["method"]](**plan)
    def __init__(self, **fields):
        self.fields = fields
class Full(Tuning, method="full"):
    pass
"""


def test_a_class_of_another_file_keeps_what_its_body_has_set(make_project: MakeProject) -> None:
    body = "from tuning import Tuning\nprobe(Tuning.of(dict(method='full', size=3)).fields['size'])"
    run_sh = "torchrun --nproc_per_node 4 train.py\n"
    project = make_project({"train.py": body + "\n", "tuning.py": REGISTRY, "run.sh": run_sh})
    project.second_opinion = second_opinion
    (run,) = project.runs
    evaluator = project.evaluator(run)
    found = [shown(evaluator.ask(c.site.call.args[0], c.file, c.site.function)) for c in project.sites("probe")]
    assert found == [3]


SEEN_METHOD = """
from colossalai.booster import Booster
from colossalai.booster.plugin import TorchDDPPlugin
from torch.optim import SGD

class Keeper:
    options = dict(shard=True, use_safetensors=True)
    def keep(self, loop):
        for part in ("model", "optimizer"):
            write = getattr(loop["booster"], f"save_{part}")
            write(loop[part], part, **self.options)

colossalai.launch_from_torch()
booster = Booster(plugin=TorchDDPPlugin())
model, optimizer, *_ = booster.boost(make_model(), make_optimizer())
Keeper().keep(dict(booster=booster, model=model, optimizer=optimizer))
"""


@pytest.mark.parametrize("given", [True, False])
def test_a_method_that_a_run_calls_is_judged_by_its_release(tmp_path: Path, *, given: bool) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("colossalai==0.3.8\n")
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node 2 train.py\n")
    body = HEAD + SEEN_METHOD
    (tmp_path / "train.py").write_text(body if given else body.replace(", use_safetensors=True", ""))
    report = analyse(Request((tmp_path,), load_settings(tmp_path), jobs=1, use_cache=False))
    assert ("CAI226" in {finding.code for finding in report.findings}) is given
