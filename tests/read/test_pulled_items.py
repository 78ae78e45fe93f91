"""Loops that pull items out of an iterator by ``next``."""

from __future__ import annotations

import ast

import pytest

from distlint.read.pulled_items import write_loops

LOOP = "for x in a:\n    f(x)"


@pytest.mark.parametrize(
    ("program", "meant"),
    [
        ("while True:\n    try:\n        x = next(a)\n    except StopIteration:\n        break\n    f(x)", LOOP),
        ("while 1:\n    try:\n        x = next(a)\n        f(x)\n    except StopIteration:\n        break", LOOP),
        ("while True:\n    try:\n        x = next(a)\n    except StopIteration:\n        break\n    else:\n        f(x)", LOOP),
        (
            "while True:\n    try:\n        x = next(a)\n    except StopIteration:\n        g()\n        break\n    f(x)",
            f"{LOOP}\nelse:\n    g()",
        ),
        (
            (
                "def h():\n    while True:\n        try:\n            x = next(a)\n        "
                "except StopIteration:\n            return\n        yield x"
            ),
            "def h():\n    for x in a:\n        yield x\n    else:\n        return",
        ),
        ("try:\n    while True:\n        x = next(a)\n        f(x)\nexcept StopIteration:\n    pass", LOOP),
        ("while True:\n    x = next(a, None)\n    if x is None:\n        break\n    f(x)", LOOP),
        ("while True:\n    x = next(a, END)\n    if x is END:\n        break\n    f(x)", LOOP),
        ("while (x := next(a, None)) is not None:\n    f(x)", LOOP),
        ("x = next(a, None)\nwhile x is not None:\n    f(x)\n    x = next(a, None)", LOOP),
        (
            "while True:\n    try:\n        i, x = next(s.a)\n    except StopIteration:\n        break\n    f(x)",
            "for (i, x) in s.a:\n    f(x)",
        ),
        ("a = iter(b)\nn = 0\nwhile (x := next(a, None)) is not None:\n    f(x)", f"a = b\nn = 0\n{LOOP}"),
        ("a = iter(b)\nwhile (x := next(a, None)) is not None:\n    f(x)", "for x in b:\n    f(x)"),
        ("a = enumerate(b)\nwhile (x := next(a, None)) is not None:\n    f(x)", "for x in enumerate(b):\n    f(x)"),
        ("a = iter(b)\ng()\nwhile (x := next(a, None)) is not None:\n    f(x)", f"a = iter(b)\ng()\n{LOOP}"),
        ("a = iter(b)\nwhile (x := next(a, None)) is not None:\n    f(x)\ng(a)", f"a = iter(b)\n{LOOP}\ng(a)"),
    ],
)  # fmt: skip
def test_a_loop_that_pulls_is_a_loop_over_the_items(program: str, meant: str) -> None:
    assert _written(program) == ast.unparse(ast.parse(meant))


@pytest.mark.parametrize(
    "program",
    [
        "while n:\n    try:\n        x = next(a)\n    except StopIteration:\n        break\n    f(x)",
        "while True:\n    try:\n        x = next(a)\n    except StopIteration:\n        a = iter(b)\n        continue\n    f(x)",
        "while True:\n    try:\n        x = next(a)\n    except Exception:\n        break\n    f(x)",
        "while True:\n    try:\n        x = next(a)\n    except StopIteration:\n        break\n    a = g(x)",
        "while True:\n    try:\n        x = next(s.a)\n    except StopIteration:\n        break\n    s.a = g(x)",
        "while True:\n    x = next(a)\n    f(x)",
        "while True:\n    x = next(a, None)\n    if x is END:\n        break\n    f(x)",
        "x = next(a, None)\nwhile x is not None:\n    if f(x):\n        continue\n    x = next(a, None)",
        "x = next(a, None)\nwhile x is not None:\n    f(x)\n    x = next(b, None)",
        "while (x := next(a(), None)) is not None:\n    f(x)",
    ],
)
def test_what_may_be_another_loop_is_left(program: str) -> None:
    assert _written(program) == ast.unparse(ast.parse(program))


def test_blocks_without_end() -> None:
    program = "".join(f"{' ' * depth}if a:\n" for depth in range(90)) + f"{' ' * 90}pass"
    assert _written(program) == ast.unparse(ast.parse(program))


def _written(program: str) -> str:
    tree = ast.parse(program)
    write_loops(tree)
    return ast.unparse(tree)
