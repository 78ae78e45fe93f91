"""The control-flow graph: what may come after what, for every statement and expression that branches."""

from __future__ import annotations

import pytest

from distlint.link.control_flow import EXIT, ControlFlow, Point
from distlint.model import python as ir
from tests.conftest import MakeProject


def graph(make_project: MakeProject, body: str) -> ControlFlow:
    inner = "".join(f"    {line}\n" for line in body.splitlines())
    project = make_project({"a.py": f"import deepspeed\nasync def f():\n{inner}"})
    return project.control_flow("a.py", 0)


def word(point: Point) -> str:
    """What a way shows of a point: the called name, or the kind of the point where it matters."""
    if point.kind == "call":
        assert isinstance(point.expr, ir.Call)
        func = point.expr.func
        return func.id if isinstance(func, ir.Name) else func.name if isinstance(func, ir.Attribute) else "?"
    if point.kind in ("enter", "leave", "return", "yield", "exit", "failure"):
        return f"<{point.kind}>"
    return ""


def ways(flow: ControlFlow, *, failing: bool = False, most: int = 60) -> list[str]:
    """All ways through a graph as words, each branch taken once at most; exceptions only where asked, out of calls."""
    found: set[str] = set()

    def walk(index: int, said: tuple[str, ...], taken: dict[tuple[int, int], int]) -> None:
        point = flow.points[index]
        said = (*said, word(point)) if word(point) else said
        if point.kind in ("exit", "failure") or (not point.next and point.kind != "raise"):
            found.add(" ".join(said))
            return
        targets = [target for target, _ in point.next]
        if point.kind == "raise" or (failing and point.kind == "call"):
            targets.append(point.fails)
        for target in targets:
            edge = (index, target)
            if taken.get(edge, 0) < (1 if len(point.next) > 1 else 2) and len(found) < most:
                walk(target, said, {**taken, edge: taken.get(edge, 0) + 1})

    walk(flow.entry, (), {})
    return sorted(found)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a(b(), c=d())", ["b d a <exit>"]),
        ("a().b(c())", ["a c b <exit>"]),
        ("if x: a()\nelse: b()\nc()", ["a c <exit>", "b c <exit>"]),
        ("if x: a()\nelif y: b()", ["<exit>", "a <exit>", "b <exit>"]),
        ("if x: return a()\nb()", ["a <return> <exit>", "b <exit>"]),
        ("if not x:\n    return\nb()", ["<return> <exit>", "b <exit>"]),
        ("if x and a(): b()", ["<exit>", "a <exit>", "a b <exit>"]),
        ("if x or a(): b()", ["a <exit>", "a b <exit>", "b <exit>"]),
        ("if not (x or y): b()", ["<exit>", "b <exit>"]),
        ("x and a()", ["<exit>", "a <exit>"]),
        ("x or y or a()", ["<exit>", "a <exit>"]),
        ("v = a() if x else b()", ["a <exit>", "b <exit>"]),
        ("for i in a():\n    b()\nelse:\n    c()\nd()", ["a b c d <exit>", "a c d <exit>"]),
        ("for i in x:\n    if i: break\n    a()\nelse:\n    b()\nc()", ["a b c <exit>", "b c <exit>", "c <exit>"]),
        ("for i in x:\n    if i: continue\n    a()\nb()", ["a b <exit>", "b <exit>"]),
        ("while x:\n    a()\nelse:\n    b()", ["a b <exit>", "b <exit>"]),
        ("while True:\n    if a(): break\n    b()\nc()", ["a b a c <exit>", "a c <exit>"]),
        ("while 1:\n    a()", []),
        ("assert a()\nb()", ["a <failure>", "a b <exit>"]),
        ("raise a()", ["a <failure>"]),
        ("import sys\nif x: sys.exit(1)\na()", ["a <exit>", "exit"]),
        ("with a() as b:\n    c()\nd()", ["a <enter> c <leave> d <exit>"]),
        ("with a(), b():\n    return c()\nd()", ["a <enter> b <enter> c <return> <leave> <leave> <exit>"]),
        ("async with a():\n    await b()", ["a <enter> b <yield> <leave> <exit>"]),
        ("try:\n    a()\nfinally:\n    b()\nc()", ["a b c <exit>"]),
        ("try:\n    return a()\nfinally:\n    b()\nc()", ["a <return> b <exit>"]),
        ("for i in x:\n    try:\n        if a(): break\n        continue\n    finally:\n        b()\nc()", ["a b c <exit>", "c <exit>"]),
        ("try:\n    a()\nexcept E:\n    b()\nelse:\n    c()\nd()", ["a c d <exit>"]),
        ("match x:\n    case 1: a()\n    case [y]: b()\n    case _: c()", ["a <exit>", "len b <exit>", "len c <exit>"]),
        ("match x:\n    case 1 if a(): b()", ["<exit>", "a <exit>", "a b <exit>"]),
        ("v = [a(i) for i in b() if c(i)]\nd()", ["b c a d <exit>", "b c d <exit>", "b d <exit>"]),
        ("v = (i for i in x for j in a(i))", ["<exit>", "a <exit>"]),
        ("if (n := a()): b(n)", ["a <exit>", "a b <exit>"]),
        ("yield a()\nb()", ["a <yield> b <exit>"]),
        ("f = lambda: a()\nb()", ["b <exit>"]),
        ("return\na()", ["<return> <exit>"]),
        ("x[a()] += b()", ["a b <exit>"]),
        ("del x[a()]", ["a <exit>"]),
    ],
)  # fmt: skip
def test_ways(make_project: MakeProject, body: str, expected: list[str]) -> None:
    assert ways(graph(make_project, body)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a()", ["a <exit>", "a <failure>"]),
        ("try:\n    a()\nexcept E:\n    b()", ["a <exit>", "a <failure>", "a b <exit>", "a b <failure>"]),
        ("try:\n    a()\nexcept Exception:\n    pass", ["a <exit>"]),
        ("try:\n    a()\nfinally:\n    b()", ["a b <exit>", "a b <failure>"]),
        ("with a():\n    b()", ["a <enter> b <leave> <exit>", "a <enter> b <leave> <failure>", "a <failure>"]),
        (
            "with contextlib.suppress(E):\n    b()\nc()",
            [
                "suppress <enter> b <leave> <failure>",
                "suppress <enter> b <leave> c <exit>",
                "suppress <enter> b <leave> c <failure>",
                "suppress <failure>",
            ],
        ),
        (
            "try:\n    try:\n        a()\n    finally:\n        b()\nexcept:\n    c()",
            ["a b <exit>", "a b c <exit>", "a b c <failure>"],
        ),
    ],
)
def test_ways_of_exceptions(make_project: MakeProject, body: str, expected: list[str]) -> None:
    assert ways(graph(make_project, body), failing=True) == expected


def test_where_ways_meet_again(make_project: MakeProject) -> None:
    flow = graph(make_project, "if x:\n    a()\n    if y: return\nelse:\n    b()\nc()")
    meets = flow.postdominators()
    tests = [point.index for point in flow.points if point.kind == "test"]
    (after_b,) = (point.index for point in flow.points if word(point) == "c")
    assert [meets[index] for index in tests] == [EXIT, EXIT]
    (b,) = (point.index for point in flow.points if word(point) == "b")
    assert meets[b] == after_b


def test_a_way_that_never_ends_has_nothing_behind_it(make_project: MakeProject) -> None:
    flow = graph(make_project, "if x:\n    while True: a()\nb()")
    (a,) = (point.index for point in flow.points if word(point) == "a")
    (b,) = (point.index for point in flow.points if word(point) == "b")
    assert flow.postdominators()[a] == -1
    assert b not in flow.reachable([a])
    assert flow.failure in flow.reachable([a], failing=True)


def test_a_call_in_a_finally_body_stands_for_each_way(make_project: MakeProject) -> None:
    flow = graph(make_project, "try:\n    if x: return\n    a()\nfinally:\n    b()")
    (at,) = {point.at for point in flow.points if word(point) == "b"}
    assert len(flow.of_call(at)) == 3


@pytest.mark.parametrize(
    "body",
    [
        "\n".join(f"if x{i}: a()" for i in range(10_000)),
        "\n".join(f"v{i} = a({i})" for i in range(5_000)),
        "\n".join(["try:\n    if x: return", *("    b()" for _ in range(500)), "finally:\n    c()"]),
    ],
    ids=["branches", "lines", "exits"],
)
def test_long_bodies_have_whole_graphs(make_project: MakeProject, body: str) -> None:
    flow = graph(make_project, body)
    assert not flow.cut
    assert flow.postdominators()[flow.entry] >= 0


def test_nested_finally_bodies_stay_bounded(make_project: MakeProject) -> None:
    lines, pad = [], ""
    for _ in range(15):
        lines += [pad + "for i in x:", pad + "    try:", pad + "        if a(): return", pad + "        if b(): break"]
        pad += "        "
    lines.append(pad + "c()")
    for depth in range(15, 0, -1):
        lines += ["        " * (depth - 1) + "    finally:", "        " * (depth - 1) + "        d()"]
    assert len(graph(make_project, "\n".join(lines)).points) < 5_000
