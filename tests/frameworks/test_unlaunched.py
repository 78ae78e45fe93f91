"""Places that no known launch comes to: what is wrong there is a warning, and what a table, a test or a name leaves out says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from distlint.engine import Request, analyse
from distlint.settings import load_settings

HEAD = """
import argparse

import torch
import torch.distributed as dist
from colossalai.booster import Booster
from colossalai.booster.plugin import HybridParallelPlugin, LowLevelZeroPlugin

parser = argparse.ArgumentParser()
parser.add_argument("--mode", default="train")
parser.add_argument("--export", default="")
args = parser.parse_args()
"""
EXPORTED = """
def export(booster, model):
    booster.save_lora_as_pretrained(model, args.export)
def main():
    booster = Booster(plugin=LowLevelZeroPlugin(stage=1))
    if args.export:
        export(booster, torch.nn.Linear(2, 2))
main()
"""


def found(folder: Path, body: str, options: str | None) -> dict[str, str]:
    """The severities of what is found, by the codes of the rules; ``None`` for a program without a launch."""
    (folder / ".git").mkdir()
    (folder / "requirements.txt").write_text("colossalai==0.3.6\n")
    (folder / "train.py").write_text(HEAD + body)
    if options is not None:
        (folder / "run.sh").write_text(f"torchrun --nproc_per_node 2 train.py {options}\n")
    report = analyse(Request((folder,), load_settings(folder), jobs=1, use_cache=False))
    return {finding.code: finding.severity.name for finding in report.findings}


@pytest.mark.parametrize(("options", "expected"), [(None, "ERROR"), ("--export out", "ERROR"), ("", "WARNING")])
def test_what_is_wrong_where_no_launch_comes_is_a_warning(tmp_path: Path, options: str | None, expected: str) -> None:
    assert found(tmp_path, EXPORTED, options).get("CAI410") == expected


TABLE = """
def choose(kind):
    table = {
        "zero": lambda: LowLevelZeroPlugin(stage=2),
        "hybrid": lambda: HybridParallelPlugin(tp_size=1, pp_size=2, zero_stage=2, num_microbatches=2),
    }
    return table[kind]()
choose(KIND)
"""


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("args.mode", "--mode hybrid", True),
        ("args.mode", "--mode zero", False),
        ("open('kind.txt').read()", "", False),
    ],
)
def test_a_lambda_of_a_table_is_entered_where_the_table_is_asked_for_it(
    tmp_path: Path, kind: str, options: str, *, expected: bool
) -> None:
    assert ("CAI102" in found(tmp_path, TABLE.replace("KIND", kind), options)) is expected


BY_NAME = """
def train():
    Booster(plugin=HybridParallelPlugin(tp_size=1, pp_size=2, zero_stage=2, num_microbatches=2))
def evaluate():
    Booster(plugin=LowLevelZeroPlugin(stage=1))
globals()[args.mode]()
"""


@pytest.mark.parametrize(("options", "expected"), [("", True), ("--mode evaluate", False)])
def test_a_function_that_is_asked_for_by_its_name(tmp_path: Path, options: str, *, expected: bool) -> None:
    assert ("CAI102" in found(tmp_path, BY_NAME, options)) is expected


CHOSEN = """
def train():
    Booster(plugin=HybridParallelPlugin(tp_size=1, pp_size=2, zero_stage=2, num_microbatches=2))
def evaluate():
    Booster(plugin=LowLevelZeroPlugin(stage=1))
def main():
    CHOICE
    job()
main()
"""


@pytest.mark.parametrize(
    "choice",
    [
        'job = train if args.mode == "train" else evaluate',
        'job = evaluate\n    if args.mode == "train":\n        job = train',
        'job = print if args.mode == "none" else train if args.mode == "train" else evaluate',
    ],
)
@pytest.mark.parametrize(("options", "expected"), [("", True), ("--mode evaluate", False)])
def test_a_function_that_a_variable_gets_is_entered_where_the_run_chooses_it(
    tmp_path: Path, choice: str, options: str, *, expected: bool
) -> None:
    assert ("CAI102" in found(tmp_path, CHOSEN.replace("CHOICE", choice), options)) is expected


LAUNCHED = """
import functools
import colossalai
LAUNCHERS = {"torch": functools.partial(colossalai.launch_from_torch, {}), "slurm": colossalai.launch_from_slurm}
def main():
    LAUNCH
    Booster(plugin=LowLevelZeroPlugin(stage=1))
main()
"""


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        ('LAUNCHERS["torch"]()', set()),
        ("print(args)", {"CAI301"}),
        ('LAUNCHERS["slurm"](host="a", port=1)', {"CAI401"}),
    ],
)
def test_a_launch_that_a_table_holds_may_be_what_is_called(tmp_path: Path, launch: str, expected: set[str]) -> None:
    body = LAUNCHED.replace("LAUNCH\n", f"{launch}\n")
    if "LAUNCHERS" not in launch:
        body = body.replace(next(one for one in body.splitlines() if one.startswith("LAUNCHERS")), "")
    assert {code for code in found(tmp_path, body, "") if code in ("CAI301", "CAI401")} == expected


GUARDED = """
def plugin_for(mode):
    if mode == "hybrid":
        return HybridParallelPlugin(tp_size=1, pp_size=1)
    return LowLevelZeroPlugin(stage=1)
def main():
    plugin = plugin_for(args.mode)
    if isinstance(plugin, HybridParallelPlugin):
        Booster(plugin=HybridParallelPlugin(tp_size=1, pp_size=2, zero_stage=2, num_microbatches=2))
main()
"""


@pytest.mark.parametrize(("options", "expected"), [("--mode hybrid", "ERROR"), ("--mode zero", None)])
def test_a_class_that_derives_from_no_other_is_no_other(tmp_path: Path, options: str, expected: str | None) -> None:
    assert found(tmp_path, GUARDED, options).get("CAI102") == expected


UNUSED = """
def kept():
    LowLevelZeroPlugin(stage=5)
def main():
    Booster(plugin=LowLevelZeroPlugin(stage=1))
    REST
main()
"""


@pytest.mark.parametrize(
    ("rest", "files", "expected"),
    [
        ("pass", {}, "WARNING"),
        ("kept()", {}, "ERROR"),
        ("dist.barrier(kept)", {}, "ERROR"),
        ("pass", {"other.py": "import train\ntrain.kept()\n"}, "ERROR"),
        ("pass", {"jobs.yaml": "call: train.kept\n"}, "ERROR"),
        ("pass\ndef before():\n    kept()", {}, "WARNING"),
        ("pass\ndef before():\n    kept()\nbefore()", {}, "ERROR"),
        ("pass\ndef one():\n    kept()\n    other()\ndef other():\n    one()", {}, "WARNING"),
    ],
)
def test_a_function_that_nothing_names_is_not_come_to(
    tmp_path: Path, rest: str, files: dict[str, str], expected: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert found(tmp_path, UNUSED.replace("REST", rest), "")["CAI107"] == expected


@pytest.mark.parametrize(
    ("rest", "expected"),
    [("pass", "WARNING"), ("Jobs().run_plain()", "WARNING"), ("getattr(Jobs(), f'run_{args.mode}')()", "ERROR")],
)
def test_a_method_whose_name_may_be_put_together_is_one_that_is_named(tmp_path: Path, rest: str, expected: str) -> None:
    methods = "class Jobs:\n    def run_kept(self):\n        LowLevelZeroPlugin(stage=5)\n    def run_plain(self):\n        pass\n"
    body = UNUSED.replace("def kept():\n    LowLevelZeroPlugin(stage=5)\n", methods).replace("REST", rest)
    assert found(tmp_path, body, "")["CAI107"] == expected


OLD_WAY = """
def old():
    from torch._six import inf
def new():
    pass
KINDS = {"old": old, "new": new}
import os
def main():
    Booster(plugin=LowLevelZeroPlugin(stage=1))
    if args.export:
        old()
CALL
main()
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("", "WARNING"),
        ("if not args.export:\n    old()", "ERROR"),
        ("if 'RANK' not in os.environ:\n    old()", "WARNING"),
        ("if 'RANK' in os.environ:\n    old()", "ERROR"),
        ("if 'PROFILE' in os.environ:\n    old()", "ERROR"),
        ("KINDS['old' if args.export else 'new']()", "WARNING"),
        ("KINDS['old' if dist.is_initialized() else 'new']()", "WARNING"),
        ("KINDS['new' if args.export else 'old']()", "ERROR"),
        ("if args.export:\n    from torch._six import inf", "WARNING"),
    ],
)
def test_what_decides_whether_a_launch_comes_to_a_place(tmp_path: Path, call: str, expected: str) -> None:
    found_here = found(tmp_path, OLD_WAY.replace("CALL", call), "")
    assert {severity for code, severity in found_here.items() if code.startswith("PT4")} == {expected}


OF_RELEASE = """
try:
    from colossalai.booster.plugin import MoeHybridParallelPlugin
except ImportError:
    MoeHybridParallelPlugin = None
def main():
    if TEST:
        Booster(plugin=LowLevelZeroPlugin(stage=5))
main()
"""


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("MoeHybridParallelPlugin is not None", False),
        ("MoeHybridParallelPlugin is None", True),
        ("args.mode == 'train'", True),
        ("colossalai.__version__ >= '0.4'", False),
        ("colossalai.__version__ < '0.4'", True),
    ],
)
def test_what_the_pinned_release_does_not_come_to_says_nothing(tmp_path: Path, test: str, *, expected: bool) -> None:
    body = "import colossalai\n" + OF_RELEASE.replace("TEST", test)
    assert ("CAI107" in found(tmp_path, body, "")) is expected


SWITCHED = """
from dataclasses import dataclass
@dataclass
class Settings:
    enabled: bool = False
    def options(self):
        if not self.enabled:
            return {}
        return dict(stage=5)
ON = Settings(enabled=True)
def main():
    Booster(plugin=LowLevelZeroPlugin(**ON.options()))
main()
"""


def test_a_test_about_no_release_is_no_matter_of_releases(tmp_path: Path) -> None:
    assert found(tmp_path, SWITCHED, "")["CAI107"] == "ERROR"


STEPS = """
class Staged:
    def step(self, booster, model):
        booster.save_lora_as_pretrained(model, "out")
class Plain(Staged):
    def step(self, booster, model):
        pass
def main():
    plugin = HybridParallelPlugin(tp_size=1, pp_size=STAGES, num_microbatches=2, precision="fp16")
    booster = Booster(plugin=plugin)
    kind = Staged() if plugin.stage_manager is not None else Plain()
    kind.step(booster, torch.nn.Linear(2, 2))
main()
"""


@pytest.mark.parametrize(("stages", "expected"), [("2", "ERROR"), ("1", "WARNING")])
def test_a_call_of_a_method_goes_where_a_run_was_seen_to_go(tmp_path: Path, stages: str, expected: str) -> None:
    assert found(tmp_path, STEPS.replace("STAGES", stages), "").get("CAI410") == expected


PASSED = """
def other():
    return Booster(plugin=LowLevelZeroPlugin(stage=5))
def main():
    booster = Booster(plugin=LowLevelZeroPlugin(stage=1))
    found = {}
    found.update(json.loads('{"keep": KEEP}'))
    if found["keep"] and TEST:
        other()
main()
"""


@pytest.mark.parametrize(
    ("keep", "test", "expected"),
    [
        ("true", "True", "ERROR"),
        ("false", "True", None),
        ("true", 'hasattr(booster, "save_model")', "ERROR"),
        ("true", 'hasattr(booster, "save_lora_as_pretrained")', None),
    ],
)
def test_a_run_that_goes_by_a_call_does_not_come_behind_it(
    tmp_path: Path, keep: str, test: str, expected: str | None
) -> None:
    body = "import json\n" + PASSED.replace("KEEP", keep).replace("TEST", test)
    assert found(tmp_path, body, "").get("CAI107") == expected


LAZY = """
import importlib
PARTS = {"context": ("colossalai.MODULE", "NAME")}
def part(name):
    module, attribute = PARTS[name]
    return getattr(importlib.import_module(module), attribute)
part("context")
"""


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("core", "global_context", {"CAI403", "CAI410"}),
        ("booster.plugin", "GeminiPlugin", set()),
        ("inference", "InferenceConfig", {"CAI410"}),
    ],
)
def test_what_a_run_imports_by_a_text_is_judged_by_its_release(
    tmp_path: Path, module: str, name: str, expected: set[str]
) -> None:
    report = set(found(tmp_path, LAZY.replace("MODULE", module).replace("NAME", name), ""))
    assert bool(report & {"CAI403", "CAI410"}) is bool(expected)
    assert report & {"CAI403", "CAI410"} <= expected
