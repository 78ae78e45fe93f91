"""The order in which names get their values, and that no shape of a body is too much."""

from __future__ import annotations

import pytest

from distlint.link.flow import Bind, Env, Flow, Join, Store
from tests.conftest import MakeProject


def flow(make_project: MakeProject, body: str) -> Flow:
    return make_project({"a.py": "import deepspeed\n" + body}).flow("a.py", -1)


def chain(state: Env | None) -> list[str]:
    """The steps before a state, the last one first."""
    steps = []
    while state is not None:
        if isinstance(state, Bind):
            steps.append(state.name)
        elif isinstance(state, Store):
            steps.append(f"{state.name}:{state.action}")
        elif isinstance(state, Join):
            steps.append(f"join {'|'.join(sorted(state.touched))}")
        state = state.prev
    return steps


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = 1\ny = 2\n", ["y", "x"]),
        ("x, (y, *z) = f()\n", ["z", "y", "x"]),
        ("d = {}\nd['a'] = 1\nd.update(b=2)\ndel d['a']\n", ["d:delete", "d:update", "d:set", "d"]),
        ("d = {}\nf(d)\n", ["d:call", "d"]),
        ("x = 1\nif a:\n    y = 1\nelse:\n    z = 1\n", ["join y|z", "x"]),
        ("x = 1\nif a:\n    raise E\nelse:\n    z = 1\n", ["z", "x"]),
        ("for i in a:\n    x = i\n", ["join i|x"]),
        ("with a as b:\n    x = b\n", ["x", "b"]),
        ("o.name = 1\nsetattr(o, 'name', 2)\n", ["o:set", "o:set"]),
    ],
)
def test_the_steps_of_a_body(make_project: MakeProject, body, expected):
    assert chain(flow(make_project, body).exit) == expected


@pytest.mark.parametrize("body", ["raise SystemExit\n", "if a:\n    raise E\nelse:\n    raise F\n"])
def test_an_end_that_is_never_reached_has_no_state(make_project: MakeProject, body):
    assert flow(make_project, f"x = 1\n{body}").exit is None


@pytest.mark.parametrize(
    "body",
    [
        "".join(f"x{n} = x{n - 1}\n" for n in range(20_000)),
        "".join(f"if a{n}:\n    x = {n}\n" for n in range(5_000)),
        "".join(f"{' ' * n}while a{n}:\n" for n in range(18)) + " " * 18 + "x = 1\n",
        "".join(f"try:\n    x = {n}\nexcept E:\n    y = x\nfinally:\n    z = y\n" for n in range(2_000)),
        "break\ncontinue\nreturn\n",
    ],
)
def test_no_body_is_too_much(make_project: MakeProject, body):
    project = make_project({"a.py": "import deepspeed\n" + body})
    if project.facts["a.py"].module is not None:
        assert project.flow("a.py", -1).entry is not None
