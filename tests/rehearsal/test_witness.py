"""What a run is seen to give to calls, where following values backwards does not come to an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from distlint.engine import Request, analyse
from distlint.link.project import Project
from distlint.rehearsal.witnesses import second_opinion
from distlint.settings import load_settings
from tests.conftest import MakeProject
from tests.link.test_evaluate import shown

HEAD = """
import argparse, json, os, sys
from dataclasses import dataclass, field
from functools import partial
import torch.distributed as dist
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=1)
parser.add_argument("--part", default="small")
parser.add_argument("--names", nargs="*", default=[])
args = parser.parse_args()
"""
SETTINGS = '{"common": {"x": 1}, "small": {}, "large": {"y": 2}}'


def seen(make_project: MakeProject, body: str, options: str = "", head: str = "") -> list[Any]:
    """What each argument of ``probe`` is in the only run, with the run as a witness."""
    run_sh = f"{head}torchrun --nproc_per_node 4 train.py {options}\n"
    project = make_project({"train.py": HEAD + body + "\n", "run.sh": run_sh, "settings.json": SETTINGS})
    project.second_opinion = second_opinion
    return _asked(project)


def _asked(project: Project) -> list[Any]:
    (run,) = project.runs
    evaluator = project.evaluator(run)
    sites = project.sites("probe")
    return [shown(evaluator.ask(c.site.call.args[0], c.file, c.site.function)) for c in sites]


PROFILES = """
class Profiles:
    def __init__(self, path):
        with open(path) as file:
            self.sections = json.load(file)
        self.common = self.sections.pop("common", {})
    def of(self, name, **more):
        return {key: one for part in (self.common, self.sections[name], more) for key, one in part.items()}
probe(Profiles("settings.json").of(args.part, z=3))
"""
PLAN = """
@dataclass
class Plan:
    size: int = 1
    mode: str = ""
    def spread(self, size):
        if size > 1:
            self.size = size
            self.mode = "spread"
        return self
    def items(self):
        return {name: getattr(self, name) for name in ("size", "mode") if getattr(self, name)}
probe(Plan().spread(args.size).items())
"""
SECTIONS = """
def merged(*parts):
    whole = {}
    for part in parts:
        for key, one in part.items():
            whole[key] = one * 2
    return whole
probe(merged({"x": args.size}, {"y": 3}))
"""


@pytest.mark.parametrize(
    ("body", "options", "expected"),
    [
        (PROFILES, "--part large", {"x": 1, "y": 2, "z": 3}),
        (PROFILES, "", {"x": 1, "z": 3}),
        (PLAN, "--size 4", {"size": 4, "mode": "spread"}),
        (PLAN, "", {"size": 1}),
        (SECTIONS, "--size 4", {"x": 8, "y": 6}),
    ],
)
def test_what_no_single_step_tells_is_seen_in_the_run(
    make_project: MakeProject, body: str, options: str, expected: object
) -> None:
    assert seen(make_project, body, options) == [expected]


@pytest.mark.parametrize(
    "body",
    [
        # another value each time
        "def show(x):\n    probe(list(map(str, x))[0])\nshow([1])\nshow([2])",
        # another one on each process
        "dist.init_process_group('gloo')\nprobe([one for one in (1, 2, 3, 4)][dist.get_rank()])",
        # what nobody writes down
        "probe([int(one) for one in sys.stdin][0])",
        # rows that a test left: how many is not known
        "probe(len([one for one in open('rows.txt') if len(one) > 3]))",
    ],
)
def test_what_differs_or_depends_on_data_is_not_known(make_project: MakeProject, body: str) -> None:
    assert seen(make_project, body) == ["?"]


INI = """
[DEFAULT]
size = 2
[small]
kind = x-%(size)s
big = no
[large]
size = 3
Mixed = 1
"""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("dict(ini['small'])", {"kind": "x-2", "big": "no", "size": "2"}),
        (
            "[ini.getint(args.part, 'size'), ini['small'].getboolean('big'), ini['small'].getfloat('lr', 0.5)]",
            [2, False, 0.5],
        ),
        ("[ini.sections(), 'none' in ini, ini.has_option('small', 'Kind')]", [["small", "large"], False, True]),
        ("{key: one for key, one in ini.items('small')}", {"kind": "x-2", "big": "no", "size": "2"}),
        ("ini.get('large', 'lr', fallback=1)", "?"),
        ("ini['large'].getint('size') + int(args.size)", 4),
    ],
)
def test_ini_files_are_read_as_configparser_does(make_project: MakeProject, asked: str, expected: object) -> None:
    body = f"import configparser\nini = configparser.ConfigParser()\nini.read('train.ini')\nprobe({asked})\n"
    run_sh = "torchrun --nproc_per_node 4 train.py\n"
    project = make_project({"train.py": HEAD + body, "run.sh": run_sh, "train.ini": INI})
    project.second_opinion = second_opinion
    assert _asked(project) == [expected]


def test_the_environment_is_that_of_the_launch(make_project: MakeProject) -> None:
    body = """
def from_environment():
    return os.environ.get("KIND", "") or None
@dataclass
class Settings:
    kind: str = field(default_factory=from_environment)
    def words(self):
        return {name: one for name, one in self.__dict__.items() if one not in (None, "plain")}
probe(Settings().words())
"""
    assert seen(make_project, body, head="export KIND=fast\n") == [{"kind": "fast"}]


GRID = """
class Grid:
    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
    @classmethod
    def parse(cls, text):
        one, other = text.lower().split("x")
        return cls(int(one), int(other))
def doubled(text):
    return Grid(int(text) * 2, 1)
more = argparse.ArgumentParser()
more.add_argument("--grid", type=Grid.parse, default=Grid(2, 2))
more.add_argument("--double", type=doubled, default="3")
given = more.parse_args()
probe([given.grid.rows, given.grid.columns, given.double.rows])
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--grid 4X1", [4, 1, 6]),
        ("--grid=1x8 --double 5", [1, 8, 10]),
        ("", [2, 2, 6]),
        ("--grid $LAYOUT", ["?", "?", 6]),
    ],
)
def test_options_are_what_functions_of_the_program_make_of_their_texts(
    make_project: MakeProject, options: str, expected: object
) -> None:
    assert seen(make_project, GRID, options) == [expected]


def test_an_option_that_is_called_like_the_rank_is_what_the_launch_says(make_project: MakeProject) -> None:
    body = """
more = argparse.ArgumentParser()
more.add_argument("--rank", type=int, default=0)
given = more.parse_args()
probe([one for one in (given.rank,)][0] + len([1 for one in "ab"]))
"""
    assert seen(make_project, body, "--rank 8") == [10]


PLUGINS = """
import argparse
from functools import partial
import colossalai
from colossalai.booster import Booster
from colossalai.booster.plugin import GeminiPlugin, LowLevelZeroPlugin, TorchDDPPlugin
HARDWARE = {"old": {"precision": "fp16"}, "new": {"precision": "fp64"}}
KINDS = {"zero": partial(LowLevelZeroPlugin, stage=2), "ddp": partial(TorchDDPPlugin), "gemini": partial(GeminiPlugin)}
def prepared(name):
    return partial(LowLevelZeroPlugin, **{"stage": 2}, **HARDWARE[name])
def create(table, section, **more):
    return table[section["name"]](**{**more, **section.get("options", {})})
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="zero")
    parser.add_argument("--hardware", default="old")
    args = parser.parse_args()
    colossalai.launch_from_torch()
    PLUGIN
    booster = Booster(plugin=plugin)
    model = booster.enable_lora(make(), lora_config=make())
main()
"""


@pytest.mark.parametrize(
    ("plugin", "options", "expected"),
    [
        ("make_it = prepared(args.hardware)\n    plugin = make_it()", "--hardware new", {"CAI106"}),
        ("make_it = prepared(args.hardware)\n    plugin = make_it()", "", set()),
        ("plugin = KINDS[args.kind]()", "--kind gemini", {"CAI206"}),
        ("plugin = KINDS[args.kind]()", "", set()),
        (
            "plugin = create({'z': LowLevelZeroPlugin}, {'name': 'z', 'options': {'precision': 'fp64'}}, stage=1)",
            "",
            {"CAI106"},
        ),
    ],
)
def test_calls_that_name_nothing_are_known_by_the_run(
    tmp_path: Path, plugin: str, options: str, expected: set[str]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("colossalai==0.4.4\n")
    (tmp_path / "train.py").write_text(PLUGINS.replace("PLUGIN\n", f"{plugin}\n"))
    (tmp_path / "run.sh").write_text(f"torchrun --nproc_per_node 4 train.py {options}\n")
    report = analyse(Request((tmp_path,), load_settings(tmp_path), jobs=1, use_cache=False))
    assert {finding.code for finding in report.findings if finding.severity.name == "ERROR"} == expected


@pytest.mark.parametrize(
    ("asked", "expected"), [("[one * 2 for one in (args.size,)][0]", 8), ("dist.get_world_size()", "?")]
)
def test_where_the_number_of_processes_is_not_known_it_must_not_matter(
    make_project: MakeProject, asked: str, expected: object
) -> None:
    run_sh = "torchrun --nproc_per_node $GPUS train.py --size 4\n"
    project = make_project({"train.py": f"{HEAD}dist.init_process_group('gloo')\nprobe({asked})\n", "run.sh": run_sh})
    project.second_opinion = second_opinion
    assert _asked(project) == [expected]


def test_a_run_that_can_not_be_followed_leaves_the_first_answers_and_a_note(
    make_project: MakeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> bool:
        raise ZeroDivisionError("no way on")

    monkeypatch.setattr("distlint.rehearsal.witnesses.follow", fails)
    project = make_project({"train.py": HEAD + PLAN + "probe(args.size)\n", "run.sh": "torchrun train.py --size 4\n"})
    project.second_opinion = second_opinion
    assert _asked(project)[1] == 4
    assert ["no way on" in note.message for note in project.notes] == [True]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("vars(args).update(size=3)", 3),
        ("vars(args).update({'size': 3, 'other': 1})", 3),
        ("vars(args).update({'other': 1})", 1),
        ("args.__dict__.update(json.load(open('sizes.json')))", 4),
        ("vars(args)['size'] = 5", 5),
        ("vars(args)['other'] = 5", 1),
        ("held = vars(args)\nheld['size'] = 6", 6),
        ("vars(args).update(input())", "?"),
        ("vars(args)[input()] = 3", "?"),
        ("vars(args).pop(input())", "?"),
        ("print(vars(args))", 1),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_attributes_are_changed_through_their_dictionary(
    make_project: MakeProject, change: str, expected: Any, *, known: bool
) -> None:
    files = {"train.py": f"{HEAD}{change}\nprobe(args.size)\n", "sizes.json": '{"size": 4}'}
    project = make_project({**files, "run.sh": "torchrun --nproc_per_node 4 train.py\n"})
    project.second_opinion = second_opinion if known else None
    assert _asked(project) == [expected]


OVERRIDDEN = """
class Recipe:
    size = 2
    def build(self):
        probe(self.size)
class Wide(Recipe):
    size = 8
class Double(Recipe):
    factor = 2
    @property
    def size(self):
        return self.factor * 3
class Plain(Recipe):
    pass
KNOWN = {one.__name__.lower(): one for one in (Wide, Double, Plain)}
KNOWN[args.part]().build()
"""


@pytest.mark.parametrize(("part", "expected"), [("wide", 8), ("double", 6), ("plain", 2)])
def test_an_attribute_is_that_of_the_class_that_is_chosen(make_project: MakeProject, part: str, expected: int) -> None:
    assert seen(make_project, OVERRIDDEN, f"--part {part}") == [expected]


def test_an_attribute_that_derived_classes_have_too_is_one_of_theirs(make_project: MakeProject) -> None:
    project = make_project({"train.py": HEAD + OVERRIDDEN.replace("KNOWN[args.part]()", "KNOWN[input()]()")})
    (found,) = project.sites("probe")
    value = project.evaluator(None).ask(found.site.call.args[0], found.file, found.site.function)
    assert sorted(shown(value)) == sorted([2, 8, 6])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("globals()['SIZE'] = 3", 3),
        ("globals().update(json.load(open('sizes.json')))", 4),
        ("globals()[input()] = 3", "?"),
        ("globals().update(input())", "?"),
        ("print(globals())", 1),
    ],
)
def test_variables_are_changed_through_their_dictionary(make_project: MakeProject, change: str, expected: Any) -> None:
    files = {"train.py": f"{HEAD}SIZE = 1\n{change}\nprobe(SIZE)\n", "sizes.json": '{"SIZE": 4}'}
    project = make_project({**files, "run.sh": "torchrun --nproc_per_node 4 train.py\n"})
    project.second_opinion = second_opinion
    assert _asked(project) == [expected]


MIXED = """
class Recipe:
    stage = 0
    def build(self):
        probe(self.stage)
class Sharded:
    stage = 1
class Plain(Recipe):
    pass
class Mixed(Sharded, Recipe):
    pass
KNOWN = {one.__name__.lower(): one for one in (Plain, Mixed)}
KNOWN[args.part]().build()
"""


@pytest.mark.parametrize(("part", "expected"), [("plain", 0), ("mixed", 1)])
def test_an_attribute_may_come_from_a_class_that_is_mixed_in(
    make_project: MakeProject, part: str, expected: int
) -> None:
    assert seen(make_project, MIXED, f"--part {part}") == [expected]


ACTION = """
class Grid(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        namespace.pipe, namespace.tensor = (int(one) for one in values.split("x"))
more = argparse.ArgumentParser()
more.add_argument("--grid", action=Grid)
more.add_argument("--pipe", type=int, default=2)
more.add_argument("--other", type=int, default=3)
more.set_defaults(tensor=4)
found = more.parse_args()
probe(found.pipe)
probe(found.tensor)
probe(found.other)
"""


@pytest.mark.parametrize(("options", "expected"), [("", [2, 4, 3]), ("--grid 1x1", ["?", "?", 3])])
def test_an_action_of_the_program_may_set_other_options(
    make_project: MakeProject, options: str, expected: list[Any]
) -> None:
    assert seen(make_project, ACTION, options) == expected


HOOK = """
from types import SimpleNamespace
def made(table):
    return table if "plain" in table else SimpleNamespace(**table)
found = json.load(open("nested.json"), object_hook=made)
probe(dict(found.inner, more=1))
probe(found.list[0].size)
"""


def test_a_function_makes_over_what_is_read(make_project: MakeProject) -> None:
    nested = '{"inner": {"plain": true, "x": 2}, "list": [{"size": 3}]}'
    project = make_project({"train.py": HEAD + HOOK, "nested.json": nested, "run.sh": "torchrun train.py\n"})
    project.second_opinion = second_opinion
    assert _asked(project) == [{"plain": True, "x": 2, "more": 1}, 3]


GIVEN = """
def batches(size):
    while True:
        yield dict(ids=size)
feed = batches(4)
ready = [next(feed)["ids"]]
unheard = dist.group()
unheard.run(feed)
probe(ready[0])
probe(next(feed)["ids"])
"""


def test_an_iterator_that_is_looked_into_gives_what_it_gave(make_project: MakeProject) -> None:
    assert seen(make_project, GIVEN) == [4, 4]


def test_constructors_of_records_that_a_class_calls(make_project: MakeProject) -> None:
    body = """
from dataclasses import asdict

@dataclass
class Sizes:
    x: int = 1
    y: int = 2

class Long(Sizes):
    def __init__(self, **given):
        super().__init__(**given)
        self.y = self.y * 10

made = (Long if args.part == "large" else Sizes)(x=args.size)
probe(asdict(made))
probe({key: value for key, value in asdict(Long()).items() if value is not None})
"""
    assert seen(make_project, body, "--size 4 --part large") == [{"x": 4, "y": 20}, {"x": 1, "y": 20}]
