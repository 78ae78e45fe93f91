"""Keywords that a call spreads out of a dictionary written beside it."""

from __future__ import annotations

import ast

import pytest

from distlint.read.spread_options import MAX_KEYS, write_out

HELD = "f(**o)"
"""The call as it is written."""


@pytest.mark.parametrize(
    ("program", "call"),
    [
        ("f(**{'a': 1, 'b': g()})", "f(a=1, b=g())"),
        ("f(**dict(a=1), c=2)", "f(a=1, c=2)"),
        ("o = dict(a=1)\nf(**o)", "f(a=1)"),
        ("o: dict = {'a': x}\nf(**o)", "f(a=x)"),
        ("o = dict(a=x.y)\nf(**o)", "f(a=x.y)"),
        ("o = dict(a=1)\nprint(o, o['a'], o.get('a'), f'{o}')\nf(**o)", "f(a=1)"),
        ("o = dict(a=1)\ndef run():\n    f(**o)", "f(a=1)"),
        ("o = dict(a=1)\nclass C:\n    o = 2\n    def run(self):\n        f(**o)", "f(a=1)"),
    ],
)
def test_what_is_written_beside_a_call(program: str, call: str) -> None:
    assert _call_of(program) == call


@pytest.mark.parametrize(
    "program",
    [
        "f(**o)",
        "o = dict(a=1)\no = g()\nf(**o)",
        "o = dict(a=1)\no['b'] = 2\nf(**o)",
        "o = dict(a=1)\ndel o['a']\nf(**o)",
        "o = dict(a=1)\no.update(b=2)\nf(**o)",
        "o = dict(a=1)\no |= {'b': 2}\nf(**o)",
        "o = dict(a=1)\ng(o)\nf(**o)",
        "o = dict(a=1)\np = o\nf(**o)",
        "f(**o)\no = dict(a=1)",
        "o = dict(a=1, **p)\nf(**o)",
        "o = {k: 1}\nf(**o)",
        "o = {'a': 1, 'a': 2}\nf(**o)",
        "o = {'not a name': 1}\nf(**o)",
        "o = dict(a=1)\ndef run(o):\n    f(**o)",
        "o = dict(a=1)\ndef change():\n    global o\n    o = g()\ndef run():\n    f(**o)",
        "o = dict(a=x)\ndef run(x):\n    f(**o)",
        "o = dict(a=g())\ndef run():\n    f(**o)",
        "def run():\n    class C:\n        o = dict(a=1)\n    f(**o)",
        f"o = dict({', '.join(f'a{number}=1' for number in range(MAX_KEYS + 1))})\nf(**o)",
    ],
)
def test_what_may_be_another_dictionary_is_left(program: str) -> None:
    assert _call_of(program) == HELD


def test_a_keyword_that_is_given_twice_is_left() -> None:
    assert _call_of("o = dict(a=1)\nf(a=2, **o)") == "f(a=2, **o)"


@pytest.mark.parametrize("value", ["g()", "x", "x.y"])
def test_what_is_made_once_stays_made_once(value: str) -> None:
    """The value gets a name of its own before, which both the dictionary and the call read."""
    tree = _written_out(f"x = h()\no = dict(a={value})\nx = h()\nx.y = 3\nf(**o)")
    assert ast.unparse(tree).splitlines() == [
        "x = h()",
        f"o.a = {value}",
        "o = {'a': o.a}",
        "x = h()",
        "x.y = 3",
        "f(a=o.a)",
    ]


def _written_out(program: str) -> ast.Module:
    tree = ast.parse(program)
    write_out(tree)
    return tree


def _call_of(program: str) -> str:
    calls = [node for node in ast.walk(_written_out(program)) if isinstance(node, ast.Call)]
    return next(text for text in map(ast.unparse, calls) if text.startswith("f("))
