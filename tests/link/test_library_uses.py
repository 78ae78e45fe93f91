"""Where the names of a library are used, as files spell them."""

from __future__ import annotations

import pytest

from distlint.link.library_uses import calls_of, uses_of
from tests.conftest import MakeProject

HEAD = "import torch.distributed\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from lib.old import thing\n", ["lib.old.thing"]),
        ("import lib.old as o\nprint(o.thing)\n", ["lib.old"]),
        ("import lib\nprint(lib.old.thing.more)\n", ["lib.old.thing.more"]),
        ("from lib import old\nprint(old.thing)\n", ["lib.old"]),
        ("from lib import older\nprint(older.old)\n", []),
        ("from .lib.old import thing\n", []),
        ("from lib.old import *\n", []),
        ("def f(lib):\n    return lib.old\n", []),
        ("try:\n    import lib as l\nexcept ImportError:\n    import other as l\nprint(l.old)\n", []),
    ],
)
def test_imports_and_expressions_are_found_by_full_name(
    make_project: MakeProject, text: str, expected: list[str]
) -> None:
    project = make_project({"main.py": HEAD + text})
    assert [use.name for use in uses_of(project, {"lib.old"})] == expected


def test_a_package_of_the_project_is_not_the_library(make_project: MakeProject) -> None:
    project = make_project({"main.py": HEAD + "from lib.old import thing\n", "lib/__init__.py": HEAD})
    assert not list(uses_of(project, {"lib.old"}))


def test_names_are_followed_through_modules_of_the_project(make_project: MakeProject) -> None:
    files = {"base.py": HEAD + "import lib.sub as sub\n", "main.py": HEAD + "from base import sub\nprint(sub.old)\n"}
    assert [use.file for use in uses_of(make_project(files), {"lib.sub.old"})] == ["main.py"]


def test_calls_of_derived_classes_count_where_the_arguments_go_to_the_library(make_project: MakeProject) -> None:
    text = (
        "from lib import Base as B\n\n\nclass Plain(B):\n    pass\n\n\nclass Own(B):\n"
        "    def __init__(self, x):\n        super().__init__(y=x)\n\n\nB(1)\nPlain(2)\nOwn(3)\n"
    )
    project = make_project({"main.py": HEAD + text})
    lines = [found.span.line for found in calls_of(project, {"lib.Base"}, derived=True)]
    assert sorted(lines) == [11, 14, 15]
