"""``match`` statements whose patterns take their subject apart, and what is bound where a function is defined."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import MakeProject
from tests.rehearsal.test_recording import found

CLASSES = """
from dataclasses import dataclass

@dataclass
class Event:
    kind: str
    step: int = 3

rank = dist.get_rank()
"""


@pytest.mark.parametrize(
    ("subject", "cases", "expected"),
    [
        ('(rank, "save")', [('(0, "save")', "1"), ("_", "2")], 1),
        ('(rank, "save")', [('(1, "save")', "1"), ("(_, kind)", "kind")], "save"),
        ("(rank, 1, 2)", [("(0, 1)", "1"), ("(0, 1, last)", "last")], 2),
        ("rank", [("r if r == 1", "1"), ("r", "r + 5")], 5),
        ("dist.get_rank()", [("r if r == 0", "r + 7"), ("_", "2")], 7),
        ("[1, 2, 3]", [("[first]", "first"), ("[first, *rest, last]", "last")], 3),
        ("[1, 2, 3]", [("[_, *rest]", "rest"), ("_", "2")], "?"),
        ('{"op": "sum", "on": 4}', [('{"op": "none"}', "1"), ('{"op": "sum", "on": on}', "on")], 4),
        ("Event('eval')", [('Event(kind="train")', "1"), ('Event(kind="eval", step=step)', "step")], 3),
        ("Event('eval')", [("Event(kind)", "kind"), ("_", "2")], "?"),
        ("2.5", [("int(n)", "n"), ("float(n)", "n")], 2.5),
        ("None", [("None | 0", "1"), ("_", "2")], 1),
        ("(1, rank)", [("(0 | 2, _)", "1"), ("(0 | 1, 0 | 3) as both", "both")], (1, 0)),
    ],
)
def test_the_case_that_is_taken(
    make_project: MakeProject, subject: str, cases: list[tuple[str, str]], expected: Any
) -> None:
    arms = "".join(f"    case {pattern}:\n        found = {value}\n" for pattern, value in cases)
    assert found(make_project, f"{CLASSES}found = None\nmatch {subject}:\n{arms}") == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("made = [lambda k=k: k for k in range(3)]\nfound = made[0]()", 0),
        ("made = []\nfor k in range(3):\n    made.append(lambda k=k: k)\nfound = made[1]()", 1),
        (
            (
                "def all_of():\n    made = []\n    for k in range(3):\n        def one(k=k):\n            return k\n"
                "        made.append(one)\n    return made\nfound = all_of()[1]()"
            ),
            1,
        ),
    ],
)
def test_defaults_are_those_of_the_definition(make_project: MakeProject, code: str, expected: Any) -> None:
    assert found(make_project, code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("found = torch.ones(3, dtype=torch.float16).element_size()", 2),
        ("found = torch.ones(3, 4).nbytes", 48),
        ("found = torch.ones(3, dtype=torch.bfloat16).dtype.itemsize", 2),
        ("found = torch.zeros(2, dtype=torch.bool).itemsize", 1),
        ("found = 4.0 * 2**20", 4194304.0),
        ("found = 10**100", "?"),
    ],
)
def test_sizes_in_bytes(make_project: MakeProject, code: str, expected: Any) -> None:
    assert found(make_project, code) == expected
