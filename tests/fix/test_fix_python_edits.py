"""Python: dict displays, arguments, callees, imports and statements; exact texts after each operation."""

from __future__ import annotations

import pytest

CONFIG = """import os

cfg = «{
    "zero": {"stage": 2},  # zero
    'b': (1 + 2),
    "off": {},
}»
"""


def plain(text: str) -> str:
    return text.replace("«", "").replace("»", "")


def at(text: str, part: str) -> str:
    assert part in plain(text)
    return plain(text).replace(part, f"«{part}»", 1)


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (["zero", "stage"], 3, "2}", "3}"),
        (["zero", "x", "y"], "s", "2}", '2, "x": {"y": "s"}}'),
        (["off", "a"], [1, None], "{}", '{"a": [1, None]}'),
        (["n"], 1e-5, '"off": {},\n', '"off": {},\n    "n": 1e-05,\n'),
        (["b"], 3, "(1 + 2)", "(3)"),
    ],
)
def test_set_key_in_a_dict_display(fixed, path: list[str], value: object, old: str, new: str) -> None:
    assert fixed("a.py", CONFIG, "set-key", path=path, value=value) == plain(CONFIG).replace(old, new, 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(«{**b, 'a': {}}»)", "f({**b, 'a': {'x': 1}})"),
        ("f(«{'a': {}, **b}»)", "! a `**` behind `a` may set it again"),
        ("f(«{**b}»)", "! `a` may come from `**`"),
        ("f(«{'a': other}»)", "! the value of `a` is not written out here"),
        ("f(«{'a': dict(y=2)}»)", "f({'a': dict(y=2, x=1)})"),
        ("«f(q, a={})»", "f(q, a={'x': 1})"),
        ("«f(q)»", 'f(q, a={"x": 1})'),
        ("«f(**q)»", "! `a` may come from `**`"),
        ("x = «1»", "! there is no dict display or call at this place"),
        ("f(«{}»", "! the file does not parse"),
    ],
)
def test_set_key_below_dicts_and_calls(fixed, before: str, after: str) -> None:
    if "'" in after and '"' not in after and "`" not in after:
        before, after = before.replace("{}", "{'': 0}"), after.replace("{'x'", "{'': 0, 'x'")
    assert fixed("a.py", before, "set-key", path=["a", "x"], value=1) == after


def test_remove_key_from_dicts_calls_and_subscripts(fixed) -> None:
    assert fixed("a.py", at(CONFIG, '"zero"'), "remove-key") == plain(CONFIG).replace(
        '    "zero": {"stage": 2},  # zero\n', ""
    )
    assert fixed("a.py", at(CONFIG, '"stage"'), "remove-key") == plain(CONFIG).replace('{"stage": 2}', "{}")
    assert fixed("a.py", "f(a, «b=2», c=3)", "remove-key") == "f(a, c=3)"
    assert fixed("a.py", "c = {}\nc['x'][«'y'»] = 3\nd = 1\n", "remove-key") == "c = {}\nd = 1\n"
    assert fixed("a.py", "if q:\n    c[«'y'»] = 3\n", "remove-key") == "if q:\n    pass\n"


def test_rename_and_move_a_key(fixed) -> None:
    assert fixed("a.py", at(CONFIG, "'b'"), "rename-key", to="c") == plain(CONFIG).replace("'b'", "'c'")
    assert fixed("a.py", "f(a, «b=2»)", "rename-key", to="c") == "f(a, c=2)"
    assert fixed("a.py", "c[«'y'»] = 3\n", "rename-key", to="z") == "c['z'] = 3\n"
    assert fixed("a.py", at(CONFIG, '"off"'), "rename-key", to="b") == "! `b` is set already"
    assert fixed("a.py", at(CONFIG, '"stage"'), "move-key", to_path=["off", "stage"]) == plain(CONFIG).replace(
        '{"stage": 2}', "{}"
    ).replace('"off": {}', '"off": {"stage": 2}')


SPREAD = """x = «foo(
    1,  # one
    bar=2,
    é="ü",
)»
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SPREAD, plain(SPREAD).replace('"ü",\n', '"ü",\n    c=rank,\n')),
        ("«g()»", "g(c=rank)"),
        ("«g(c=1)»", "g(c=rank)"),
        ("«g( a , b )»", "g( a , b, c=rank )"),
        ("«(g)(a)»", "(g)(a, c=rank)"),
        ("«g(lambda x, y: 0)»", "g(lambda x, y: 0, c=rank)"),
        ("«g(h(1)[2:3, 4], {1: 2, 3: 4})»", "g(h(1)[2:3, 4], {1: 2, 3: 4}, c=rank)"),
        ('«g(f"{a, b}", "𝄞,(")»', 'g(f"{a, b}", "𝄞,(", c=rank)'),
        ("«g(*a)»", "! the call takes further arguments from `*` or `**`"),
        ("«g(i for i in j)»", "! a.py: the file would no longer parse"),
        ("«g(\n  a # why\n)»", "g(\n  a, # why\n  c=rank\n)"),
        ("«g(c=rank)»", "! there is nothing to change"),
    ],
)
def test_set_argument_adds_or_replaces(fixed, before: str, after: str) -> None:
    assert fixed("a.py", before, "set-argument", name="c", text="rank") == after


def test_set_argument_given_by_position(fixed) -> None:
    assert fixed("a.py", "«g(a, b)»", "set-argument", name="c", position=1, value=None) == "g(a, None)"
    assert fixed("a.py", "«g(*a, b)»", "set-argument", name="c", position=1, value=1).startswith("! the call takes")


def test_remove_and_rename_an_argument(fixed) -> None:
    assert fixed("a.py", SPREAD, "remove-argument", name="bar") == plain(SPREAD).replace("    bar=2,\n", "")
    assert fixed("a.py", "«g(a, b, k=1)»", "remove-argument", name="q", position=1) == "g(a, k=1)"
    assert fixed("a.py", "«g(a, b)»", "remove-argument", name="q", position=0).startswith("! `q` is given by position")
    assert fixed("a.py", "«g(a)»", "remove-argument", name="q") == "! the call has no argument `q`"
    assert fixed("a.py", SPREAD, "rename-argument", name="é", to="e") == plain(SPREAD).replace("é", "e")
    assert fixed("a.py", "«g(a=1, b=2)»", "rename-argument", name="a", to="b") == "! `b` is given already"


HEADER = '''"""doc"""
from __future__ import annotations
import os
from old.amp import autocast, GradScaler
import pack.comm as comm

with «autocast()»:
    pass
'''


@pytest.mark.parametrize(
    ("before", "to", "after"),
    [
        (HEADER, "pack.comm.foo", plain(HEADER).replace("autocast, ", "").replace("autocast()", "comm.foo()")),
        (
            HEADER,
            "new.zero.Init",
            plain(HEADER)
            .replace("autocast, ", "")
            .replace("comm\n\n", "comm\nfrom new.zero import Init\n\n")
            .replace("autocast", "Init"),
        ),
        (HEADER, "new.autocast", plain(HEADER).replace("autocast, GradScaler", "GradScaler\nfrom new import autocast")),
        ("from a.b import x\nx()\n«x()»\n", "a.c.x", "from a.b import x\nimport a.c\nx()\na.c.x()\n"),
        ("import a\nfrom a.b import x\nx()\n«x()»\n", "a.c.x", "import a\nfrom a.b import x\nx()\na.c.x()\n"),
        ("import a\n«a.q.x(1)»\n", "a.c.x", "import a\na.c.x(1)\n"),
        ("import a\n\ny = 1\n«a.q.x(1)»\n", "b.y", "import a\nimport b\n\ny = 1\nb.y(1)\n"),
        ("import a as z\n«z.x(1)»\n", "open", "open(1)\n"),
        ("from a import x\r\n«x(1)»\r\nz = 1\r\n", "a.y", "from a import y\r\ny(1)\r\nz = 1\r\n"),
        ("from a import x\n__all__ = ['x']\n«x(1)»\n", "open", "from a import x\n__all__ = ['x']\nopen(1)\n"),
    ],
)
def test_replace_callee_keeps_imports_in_order(fixed, before: str, to: str, after: str) -> None:
    assert fixed("a.py", before, "replace-callee", to=to) == after


@pytest.mark.parametrize(
    ("before", "to", "after"),
    [
        ("«from a._six import inf»\nx = inf\n", "a.inf", "from a import inf\nx = inf\n"),
        (
            "from a import (\n    b,  # b\n    «c»,\n)\n",
            "z.q",
            "from a import (\n    b,  # b\n)\nfrom z import q as c\n",
        ),
        ("«from ._six import inf as i»\n", "math.inf", "from math import inf as i\n"),
        ("«from . import inf»\n", "math.inf", "from math import inf\n"),
        ("«from .import inf»\n", "math.inf", "from math import inf\n"),
        ("«from a import b»\n", "a.c", "from a import c as b\n"),
        ("«import a.b»\nx = a.b.c(a.b.d)\n", "z.q", "import z.q\nx = z.q.c(z.q.d)\n"),
        ("«import a.b as c»\n", "z.q", "import z.q as c\n"),
        ("«from a import b, c»\n", "a.d", "! the import has several names"),
        ("«from a import *»\n", "a.d", "! the import cannot be replaced"),
        (
            "try:\n    from a import b, «c»; x = 1\nexcept E:\n    pass\n",
            "z.c",
            "! the import shares its line with another statement",
        ),
        ("if q:\n\tfrom a import b, «c»  # why\n", "z.c", "if q:\n\tfrom a import b  # why\n\tfrom z import c\n"),
    ],
)
def test_replace_import_keeps_the_bound_name(fixed, before: str, to: str, after: str) -> None:
    assert fixed("a.py", before, "replace-import", to=to) == after


def test_add_import(fixed) -> None:
    assert fixed("a.py", HEADER, "add-import", to="os.path.join") == plain(HEADER).replace(
        "as comm\n", "as comm\nfrom os.path import join\n"
    )
    assert fixed("a.py", HEADER, "add-import", to="old.amp.other") == plain(HEADER).replace(
        "import autocast", "import other, autocast"
    )
    assert fixed("a.py", HEADER, "add-import", to="os") == "! there is nothing to change"


BODY = '''#!/usr/bin/env python
# heading
import os  # imp


def f():
    """Doc."""
    # comment
    a = 1
    for i in x:
        b(i); c(i)
    if q: d()
'''


@pytest.mark.parametrize(
    ("part", "where", "old", "new"),
    [
        ("a = 1", "before", "    # comment\n", "    k()\n    if z:\n        l()\n    # comment\n"),
        ("a = 1", "after", "a = 1\n", "a = 1\n    k()\n    if z:\n        l()\n"),
        ("import os", "before", "import os", "k()\nif z:\n    l()\nimport os"),
        ("import os", "after", "  # imp\n", "  # imp\nk()\nif z:\n    l()\n"),
        ("for i in x:\n        b(i); c(i)", "after", "c(i)\n", "c(i)\n    k()\n    if z:\n        l()\n"),
        (BODY[BODY.index("def") : -1], "first", '"""Doc."""\n', '"""Doc."""\n    k()\n    if z:\n        l()\n'),
    ],
)
def test_insert_statement(fixed, part: str, where: str, old: str, new: str) -> None:
    expected = BODY.replace(old, new, 1)
    assert fixed("a.py", at(BODY, part), "insert-statement", text="k()\nif z:\n    l()", where=where) == expected


def test_insert_statement_follows_tabs_and_refuses_shared_lines(fixed) -> None:
    tabs = "def f():\r\n\t«x = 1»\r\n\ty = 2\r\n"
    assert fixed("a.py", tabs, "insert-statement", text="if a:\n    b()", where="after") == (
        "def f():\r\n\tx = 1\r\n\tif a:\r\n\t\tb()\r\n\ty = 2\r\n"
    )
    assert fixed("a.py", at(BODY, "d()"), "insert-statement", text="k()", where="after").startswith(
        "! the statement shares"
    )


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("a = 1", "    a = 1\n", ""),
        ("import os", "import os  # imp\n", ""),
        ("b(i)", "b(i); ", ""),
        ("c(i)", "; c(i)", ""),
        ("d()", "d()", "pass"),
        ("for i in x:\n        b(i); c(i)", "    for i in x:\n        b(i); c(i)\n", ""),
    ],
)
def test_remove_statement(fixed, part: str, old: str, new: str) -> None:
    assert fixed("a.py", at(BODY, part), "remove-statement") == BODY.replace(old, new, 1)


def test_remove_statement_takes_decorators_along(fixed) -> None:
    assert fixed("a.py", "«@a\n@b(1)\ndef f(): pass»\nx = 1\n", "remove-statement") == "x = 1\n"


def test_move_statement(fixed) -> None:
    text = "def f():\n    «y = 2»\n    x = [\n  1]  # why\n    «z = 3»"
    assert fixed("a.py", text, "move-statement", spans={"target": 1}) == (
        "def f():\n    x = [\n  1]  # why\n    z = 3\n    y = 2"
    )
    text = "def f():\n    «y = 2»\n    if x:\n        «z = 3»\n"
    assert fixed("a.py", text, "move-statement", spans={"target": 1}).startswith("! the statement cannot be moved")
