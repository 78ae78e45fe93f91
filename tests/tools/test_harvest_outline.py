"""Modules of which only names are kept are cut to their outline: the names must be those of the whole file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools" / "harvest"


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))


def test_bodies_are_left_out_and_names_stay() -> None:
    import outline

    source = (
        b'"""Text."""\nimport os\n@cache\ndef one(\n    a,\n) -> int:\n    x = 1\n\n    return x\n'
        b"class Two(Base):\n    y = 2\nLAST = 3\n"
    )
    tree = outline.parsed(source)
    assert tree is not None
    assert [getattr(node, "name", type(node).__name__) for node in tree.body] == [
        "Expr",
        "Import",
        "one",
        "Two",
        "Assign",
    ]


@pytest.mark.parametrize(
    "source",
    [
        b"def one():\n    globals()['two'] = 2\n",
        b"def one():\n    global two\n    two = 2\n",
        b'def one():\n    """\nText at the margin.\n    """\n',
        b"\xff\xfe",
    ],
)
def test_where_a_body_may_matter_or_the_margin_deceives_the_whole_file_is_read(source: bytes) -> None:
    import outline

    assert outline.parsed(source) is None


@pytest.mark.parametrize(
    ("wrapper", "kept"),
    [
        ("return f(*args, **kwargs)", "all"),
        ("if len(args) == 2:\n            kwargs['to'] = args[1]\n        return f(*args, **kwargs)", "keywords"),
        ("kwargs['to'] = 1\n        return f(*args, **kwargs)", ""),
        ("return f(args)", ""),
    ],
)
def test_what_a_decorator_keeps_of_the_parameters(wrapper: str, kept: str) -> None:
    import dynamic

    text = f"def mark(f):\n    def inner(*args, **kwargs):\n        {wrapper}\n    return inner\n"
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    assert dynamic.passes_through(node) == kept
