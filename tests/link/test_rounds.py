"""Loops over what is known item by item, round by round."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import MakeProject
from tests.link.test_evaluate import HEAD, probe, shown

ITEMS = "items = make()\n"
MAKE = "def make():\n    return {'a': 1, 'b': 2, 'c': 3}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("d = {}\nfor k, v in items.items():\n    d[k] = v * 2\nprobe(d)", {"a": 2, "b": 4, "c": 6}),
        ("d = {}\nfor k in items:\n    d[k] = items[k]\nprobe(d)", {"a": 1, "b": 2, "c": 3}),
        ("d = []\nfor v in items.values():\n    d.append(v)\nprobe(d)", [1, 2, 3]),
        ("x = 0\nfor v in items.values():\n    x += v\nprobe(x)", 6),
        ("d = {}\nfor k, v in items.items():\n    if v == 2:\n        continue\n    d[k] = v\nprobe(d)", {"a": 1, "c": 3}),
        ("d = {}\nfor k in items:\n    if k > 'a':\n        d[k] = 1\n    else:\n        d['x'] = k\nprobe(d)", {"x": "a", "b": 1, "c": 1}),
        ("d = {}\nfor k in items:\n    for v in ['x', 'y']:\n        d[k + v] = 1\nprobe(d)", {f"{a}{b}": 1 for a in "abc" for b in "xy"}),
        ("x = 1\nfor v in []:\n    x = 2\nprobe(x)", 1),
        ("x = 1\nfor v in items.values():\n    x = v\nprobe(x)", 3),
        ("x = 1\nfor v in items.values():\n    x = v\nelse:\n    x = x + 1\nprobe(x)", 4),
        ("for v in items.values():\n    if cond():\n        raise ValueError\n    x = v\nprobe(x)", 3),
        # what can't be told stays open
        ("d = {}\nfor k, v in other().items():\n    d[k] = v\nprobe(d)", {"...": True}),
        ("x = 0\nfor v in items.values():\n    if cond():\n        break\n    x = v\nprobe(x)", {0, 1, 2, 3}),
        ("x = 0\nfor v in items.values():\n    if cond():\n        x = v\nprobe(x)", {0, 1, 2, 3}),
        ("for v in items.values():\n    probe(v)", {1, 2, 3}),
        ("x = 0\nfor v in range(100000):\n    x = v\nprobe(x)", [0, "?"]),
    ],
)  # fmt: skip
def test_a_loop(make_project: MakeProject, body: str, expected: Any) -> None:
    project = make_project({"a.py": HEAD + MAKE + ITEMS + body + "\n"})
    assert shown(probe(project)[0]) == expected


def test_a_loop_of_many_rounds_is_followed_to_its_end(make_project: MakeProject) -> None:
    text = "items = dict((f'k{i}', i) for i in range(40))\nd = {}\nfor k, v in items.items():\n    if v >= 0:\n        d[k] = v\n"
    assert shown(probe(make_project({"a.py": HEAD + text + "probe(d)\n"}))[0]) == {f"k{i}": i for i in range(40)}


def test_attributes_that_a_loop_sets_by_name(make_project: MakeProject) -> None:
    text = "class Settings:\n    size = 1\n    depth = 5\n\nargs = Settings()\nfor k, v in {**make()}.items():\n    setattr(args, k, v)\n"
    project = make_project({"a.py": HEAD + MAKE + text + "probe(args.b, 0)\nprobe(args.depth)\n"})
    assert [shown(one) for one in probe(project)] == [2, 5]


def test_a_name_that_is_not_known_may_be_any_attribute(make_project: MakeProject) -> None:
    text = "class Settings:\n    size = 1\n\nargs = Settings()\nsetattr(args, name(), 2)\nprobe(args.size)\n"
    assert shown(probe(make_project({"a.py": HEAD + text}))[0]) == "?"


NAMESPACE = """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=2)
parser.add_argument("--add", action="append")
args = parser.parse_args()
"""


def test_all_options_of_a_parser_by_name(make_project: MakeProject) -> None:
    project = make_project({"a.py": HEAD + NAMESPACE + "args.depth = 3\nprobe(vars(args))\n"})
    assert shown(probe(project)[0]) == {"size": 2, "add": None, "depth": 3}


def test_an_object_whose_attributes_are_set_by_unknown_names_is_not_listed(make_project: MakeProject) -> None:
    project = make_project({"a.py": HEAD + NAMESPACE + "setattr(args, name(), 3)\nprobe(vars(args))\n"})
    assert shown(probe(project)[0]) == "?"


def test_a_table_of_which_a_key_is_not_known_is_open(make_project: MakeProject) -> None:
    text = "TABLE = {}\ndef register(fn):\n    TABLE[name(fn)] = 1\n    return fn\n@register\ndef a():\n    pass\nprobe(TABLE)\n"
    assert shown(probe(make_project({"a.py": HEAD + text}))[0]) == {"...": True}
