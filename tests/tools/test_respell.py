"""The spellings of ``tools/respell``: what they make of a program does the same, and is another text."""

from __future__ import annotations

import importlib.util
import io
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).parents[2] / "tools" / "respell" / "spellings.py"
PROGRAM = '''
"""Counts."""
import math


def scaled(value, by=2):
    return math.floor(value * by)


def main(limit):
    total = 0
    rows = [scaled(one, by=3) for one in range(limit)]
    for row in rows:
        print("row", row, sep="=")
        total = total + scaled(row, by=1)
        if row > 3:
            total = abs(total - 1)
    if total > 5:
        print("large", total)
    else:
        print("small", total)
    if limit > 2:
        print("several")


if __name__ == "__main__":
    main(4)
'''


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("respell_spellings", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _printed(text: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(text, "program", "exec"), {"__name__": "__main__"})  # noqa: S102 - a program of this file
    return "\n".join(line for line in out.getvalue().splitlines() if line != "done")


@pytest.mark.parametrize("spelling", sorted(_module().SPELLINGS))
def test_a_spelling_keeps_what_a_program_does(spelling: str) -> None:
    other = _module().respelled(PROGRAM, spelling)
    assert other is not None
    assert _printed(other) == _printed(PROGRAM)


def test_nothing_to_spell_otherwise() -> None:
    assert all(_module().respelled("x = 1\n", spelling) is None for spelling in _module().SPELLINGS)
