"""Values that go through several hands: partial calls, loops that declare options, namespaces, dictionary classes, fields, lookups."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.link.project import Project
from tests.conftest import MakeProject
from tests.link.test_evaluate import shown

RUN = "torchrun --nproc_per_node 4 train.py "


def probed(project: Project) -> list[Any]:
    """What each argument of ``probe`` is in the only run."""
    (run,) = project.runs
    evaluator = project.evaluator(run)
    sites = project.sites("probe")
    return [shown(evaluator.ask(c.site.call.args[0], c.file, c.site.function)) for c in sites]


def in_run(make_project: MakeProject, text: str, options: str = "", **files: str) -> list[Any]:
    """The same for a script of a text, started with options."""
    return probed(make_project({"train.py": text, "run.sh": RUN + options + "\n", **files}))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("make = partial(take, x=3)\nmake(y=4)", {"x": 3, "y": 4}),
        ("make = partial(take, x=3)\nmake(x=5)", {"x": 5}),
        ("def inner():\n    make(y=4)\nmake = partial(take, x=3)\ninner()", {"x": 3, "y": 4}),
        # bound twice, or handed on to where nobody sees the call: what else it gets is not known
        ("make = partial(take, x=3)\nmake = other()\nmake(y=4)", "?"),
        ("start(partial(take, x=3))", "?"),
    ],
)
def test_what_a_prepared_call_prepares_and_its_call_come_together(
    make_project: MakeProject, body: str, expected: object
) -> None:
    text = f"from functools import partial\ndef take(**given):\n    probe(given)\n{body}\n"
    assert in_run(make_project, text) == [expected]


def test_a_parameter_that_a_prepared_call_may_get_later_is_not_its_default(make_project: MakeProject) -> None:
    text = "from functools import partial\ndef take(x, y=1):\n    probe(x)\n    probe(y)\nstart(partial(take, 3))\n"
    assert in_run(make_project, text) == [3, "?"]


LOOPED = """
import argparse
OPTIONS = {"--lr": dict(type=float, default=1e-4), "--big": dict(action="store_true")}
parser = argparse.ArgumentParser()
for flag in ("alpha", "beta"):
    parser.add_argument(f"--{flag}", action="store_true")
for flag, settings in OPTIONS.items():
    parser.add_argument(flag, **settings)
for name, value in {"size": 1, "share": 2.5, "debug": False}.items():
    if isinstance(value, bool):
        parser.add_argument(f"--{name}", action="store_true")
    else:
        parser.add_argument(f"--{name}", type=type(value), default=value)
args = parser.parse_args()
probe({name: getattr(args, name) for name in ("alpha", "beta", "lr", "big", "size", "share", "debug")})
"""


def test_a_loop_declares_an_option_in_each_round(make_project: MakeProject) -> None:
    expected = {"alpha": True, "beta": False, "lr": 0.1, "big": False, "size": 1, "share": 3.0, "debug": False}
    assert in_run(make_project, LOOPED, "--alpha --lr 0.1 --share 3") == [expected]


FIELDS = """
import argparse
from dataclasses import dataclass, fields
@dataclass
class Settings:
    size: int = 2
    style: str = "plain"
    @classmethod
    def read(cls):
        parser = argparse.ArgumentParser()
        FILL
        return cls(**vars(parser.parse_args()))
found = Settings.read()
probe(found.size)
probe(found.style)
"""


@pytest.mark.parametrize(
    "fill",
    [
        "for one in fields(cls):\n            parser.add_argument('--' + one.name, type=one.type, default=one.default)",
        """for name, one in cls.__dataclass_fields__.items():
            kind = int if one.default.__class__ is int else one.default.__class__
            parser.add_argument(f'--{name}', type=kind, default=one.default)""",
    ],
)
def test_fields_of_a_dataclass_become_options(make_project: MakeProject, fill: str) -> None:
    assert in_run(make_project, FIELDS.replace("FILL", fill), "--size 8") == [8, "plain"]


NAMESPACES = """
import json
from types import SimpleNamespace
class Settings(dict):
    __getattr__ = dict.__getitem__
    @classmethod
    def nested(cls, tree):
        return cls({key: cls(one) if isinstance(one, dict) else one for key, one in tree.items()})
class Strict(dict):
    def __getitem__(self, key):
        return 0
class Plain:
    def __init__(self, size):
        self.size = size
        self.kind = "plain"
with open("settings.json") as file:
    tree = json.load(file)
"""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("vars({name: SimpleNamespace(**one) for name, one in tree.items()}['a'])", {"x": 1, "y": "z"}),
        ("Settings.nested(tree).a.y", "z"),
        ("{**Settings.nested(tree).a}", {"x": 1, "y": "z"}),
        ("Strict(tree)['a']", "?"),
        ("vars(Plain(3))", {"size": 3, "kind": "plain"}),
        ("1 if type(3) is int else 2", 1),
        ("1 if Plain is Strict else 2", 2),
        ("1 if int in (str, float) else 2", 2),
    ],
)
def test_namespaces_and_classes_that_are_dictionaries(make_project: MakeProject, asked: str, expected: object) -> None:
    text = f"{NAMESPACES}probe({asked})\n"
    assert in_run(make_project, text, **{"settings.json": '{"a": {"x": 1, "y": "z"}}'}) == [expected]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # what is put in beside it leaves alone what was taken out
        ("part = tree.pop('s', None)\ntree['on'] = True\nprobe(part['mode'])", "x"),
        ("part = tree['s']\ntree['s'] = {'mode': 'y'}\nprobe(part['mode'])", "x"),
        ("part = tree.get('s')\ntree.update(a=1)\nprobe(part['mode'])", "x"),
        ("part = tree.get('s')\ntree['s']['mode'] = 'y'\nprobe(part['mode'])", "?"),
    ],
)
def test_what_was_taken_out_of_a_dictionary(make_project: MakeProject, body: str, expected: object) -> None:
    assert in_run(make_project, f"tree = {{'n': 2, 's': {{'mode': 'x'}}}}\n{body}\n") == [expected]


@pytest.mark.parametrize(
    "body",
    [
        "step = 0\nfor row in rows():\n    step += 1\n    probe(step)",
        "step = 0\nfor row in rows():\n    step = step + 1\n    probe(step % 2 == 0)",
        "name = 'a'\nfor row in rows():\n    name = name + 'b'\n    probe(name)",
    ],
)
def test_what_counts_on_from_turn_to_turn_is_not_known_inside_of_the_loop(make_project: MakeProject, body: str) -> None:
    assert in_run(make_project, body + "\n") == ["?"]
