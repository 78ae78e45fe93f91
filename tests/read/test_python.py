"""Lowering Python files: positions, control flow, and what is refused."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.span import LineIndex
from distlint.read.python import read_python


def lowered(text: str) -> ir.Module:
    module, errors = read_python(text, "a.py")
    assert errors == ()
    assert module is not None
    return module


def all_expressions(module: ir.Module) -> list[ir.Expr]:
    bodies = [module.body, *(f.body for f in module.functions), *(c.body for c in module.classes)]
    return [p for body in bodies for s in statements(body) for e in expressions_of(s) for p in below(e)]


SAMPLE = """\
import os
naïve = {"ключ": os.environ["RANK"], **more}
x = f(a, *b, key=1, **rest)[0].attr if not y else [1, -2.5, *z]
for i, (j, k) in enumerate(items):
    total += i ** 2 and j or k
with open("é") as handle, lock:
    data = handle.read(); print("🎉", data)
"""


def test_every_position_slices_to_text_that_parses_to_the_same_expression() -> None:
    index = LineIndex(SAMPLE)
    seen = 0
    for expr in all_expressions(lowered(SAMPLE)):
        if isinstance(expr, (ir.Starred, ir.Slice)):
            continue
        text = index.slice(ir.unpack(expr.at, "a.py"))
        parsed = ast.parse(f"({text})", mode="eval").body
        if isinstance(expr, ir.Name):
            assert isinstance(parsed, ast.Name)
            assert parsed.id == expr.id
        elif isinstance(expr, ir.Constant):
            assert ast.literal_eval(parsed) == expr.value
        seen += 1
    assert seen > 30


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_definitions_know_their_names_places(newline: str) -> None:
    text = newline.join(
        [
            "# é",
            "async def outer(a, /, b=1, *c, d, **e):",
            "    class Inner(Base, meta=1):",
            "        def m(self): pass",
            "",
        ]
    )
    module = lowered(text)
    index = LineIndex(text)
    names = [(f.qualname, index.slice(ir.unpack(f.name_at, "a.py"))) for f in module.functions]
    assert names == [("outer", "outer"), ("outer.Inner.m", "m")]
    assert [(p.name, p.kind) for p in module.functions[0].parameters] == [
        ("a", "positional"),
        ("b", "normal"),
        ("c", "var-positional"),
        ("d", "keyword"),
        ("e", "var-keyword"),
    ]
    assert module.functions[1].owner == 0
    assert module.classes[0].parent == 0


def test_calls_are_found_by_their_last_name() -> None:
    module = lowered("import a\na.b.go(1)\ndef f():\n    go(x.go())\n")
    assert [(site.function, ir.line_of(site.call.at)) for site in module.calls["go"]] == [(-1, 2), (0, 4), (0, 4)]


@pytest.mark.parametrize(
    ("text", "line"), [("def f(:\n", 1), ("x = 1\n  y = 2\n", 2), ("print 'old'\n", 1), ("x = '\n", 1)]
)
def test_what_python_refuses_is_an_error_with_its_place(text: str, line: int) -> None:
    module, errors = read_python(text, "a.py")
    assert module is None
    assert [error.span.line for error in errors] == [line]


def test_deep_nesting_is_cut_and_not_followed_to_the_end() -> None:
    module, errors = read_python("x = " + "f(" * 90 + "1" + ")" * 90 + "\n", "a.py")
    assert module is not None or errors
    module, errors = read_python("x = " + "-" * 50_000 + "1\n", "a.py")
    assert module is not None or errors


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_any_text_gives_facts_or_an_error(text: str) -> None:
    module, errors = read_python(text, "a.py")
    assert (module is None) == bool(errors)
