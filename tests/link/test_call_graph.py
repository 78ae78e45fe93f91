"""Which functions of the project a call comes to, who calls a function, and summaries over all that lead to a place."""

from __future__ import annotations

import random
from typing import Any

import pytest

from distlint.link.call_graph import CallEdge, summarise
from distlint.link.components import components_of
from distlint.link.modules import FunctionRef
from distlint.link.project import Project
from distlint.model import python as ir
from tests.conftest import MakeProject

HEAD = "import torch.distributed as dist\nimport torch\nimport contextlib\nimport functools\n"


TWO_CLASSES = "class C:\n    def m(self): pass\n    def n(self): self.m()\nclass D(C):\n    def m(self): pass\n"
HELD_OBJECT = """
class T:
    def __init__(self): self.h = H()
    def run(self): self.h.go()
class H:
    def go(self): pass
"""
WITH_CLASS = "class C:\n    def __enter__(self): pass\n    def __exit__(self, *a): pass\n"


def name_of(project: Project, ref: FunctionRef) -> str:
    return project.function(ref).qualname


def edges_of(project: Project, called: str) -> list[CallEdge]:
    """The edges of the only call of a name in a.py."""
    (site,) = project.sites(called)
    return list(project.call_graph.targets(site.file, site.site.function, site.site.call))


@pytest.mark.parametrize(
    ("body", "called", "expected"),
    [
        ("def f(): pass\nf()\n", "f", ["f call 0 certain"]),
        ("def f(): pass\ng = f\ng()\n", "g", ["f call 0 certain"]),
        ("def f(): pass\ndef h(): pass\ng = f if x else h\ng()\n", "g", ["f call 0", "h call 0"]),
        ("def f():\n    def g(): pass\n    g()\n", "g", ["f.g call 0 certain"]),
        ("class C:\n    def __init__(self): pass\nC()\n", "C", ["C.__init__ call 0 certain"]),
        ("class C:\n    def m(self): pass\nc = C()\nc.m()\n", "m", ["C.m call 0 certain"]),
        ("class C:\n    def m(self): pass\n    def n(self): self.m()\n", "m", ["C.m call 0 certain"]),
        (TWO_CLASSES, "m", ["C.m call 0", "D.m call 0"]),
        ("class C:\n    def m(self): pass\nclass D(C):\n    def n(self): super().m()\n", "m", ["C.m call 0 certain"]),
        ("class C:\n    def __call__(self): pass\nc = C()\nc()\n", "c", ["C.__call__ call 0 certain"]),
        ("class M(torch.nn.Module):\n    def forward(self, x): pass\nm = M()\nm(1)\n", "m", ["M.forward call 0 certain"]),
        (HELD_OBJECT, "go", ["H.go call 0 certain"]),
        ("def f(a, b): pass\ng = functools.partial(f, 1)\ng(2)\n", "g", ["f call 1 certain"]),
        ("def f(rank, n): pass\ntorch.multiprocessing.spawn(f, args=(2,))\n", "spawn", ["f callback -1 certain"]),
        ("def f(x): pass\ntorch.utils.checkpoint.checkpoint(f, 1)\n", "checkpoint", ["f callback 1 certain"]),
        ("def f(cb): cb()\ndef g(): pass\nf(g)\n", "cb", ["g call 0 certain"]),
        ("print(1)\n", "print", []),
        ("unknown.thing()\n", "thing", []),
    ],
)  # fmt: skip
def test_targets(make_project: MakeProject, body: str, called: str, expected: list[str]) -> None:
    project = make_project({"a.py": HEAD + body})
    told = [
        f"{name_of(project, one.target)} {one.how} {one.shift}{' certain' if one.certain else ''}"
        for one in edges_of(project, called)
    ]
    assert told == expected


def test_targets_through_modules(make_project: MakeProject) -> None:
    project = make_project(
        {
            "train.py": HEAD + "from pkg import tools as t\nfrom pkg.tools import sync as s\nt.sync()\ns()\n",
            "pkg/__init__.py": "",
            "pkg/tools.py": HEAD + "def sync(): dist.barrier()\n",
        }
    )
    for called in ("sync", "s"):
        (edge,) = edges_of(project, called)
        assert (edge.target.file, name_of(project, edge.target), edge.certain) == ("pkg/tools.py", "sync", True)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("@contextlib.contextmanager\ndef c():\n    yield\nwith c(): pass\n", (["c"], ["c"])),
        (WITH_CLASS + "with C(): pass\n", (["C.__enter__"], ["C.__exit__"])),
        (WITH_CLASS + "c = C()\nwith c: pass\n", (["C.__enter__"], ["C.__exit__"])),
        ("with open('x'): pass\n", ([], [])),
    ],
)  # fmt: skip
def test_contexts(make_project: MakeProject, body: str, expected: tuple[list[str], list[str]]) -> None:
    project = make_project({"a.py": HEAD + body})
    (context,) = (one.expr for one in project.control_flow("a.py", -1).points if one.kind == "enter")
    assert context is not None
    entered, left = project.call_graph.contexts("a.py", -1, context)
    assert (
        [name_of(project, one.target) for one in entered],
        [name_of(project, one.target) for one in left],
    ) == expected
    assert {one.how for one in entered} <= {"enter"}
    assert {one.how for one in left} <= {"leave"}


def test_decorators_stand_around(make_project: MakeProject) -> None:
    body = """
def main_only(fn):
    def inner(*args): return fn(*args)
    return inner

def every(n):
    def around(fn):
        def inner(*args): return fn(*args)
        return inner
    return around

@main_only
@every(2)
@torch.no_grad()
def f(): pass
"""
    project = make_project({"a.py": HEAD + body})
    (index,) = (i for i, one in enumerate(project.module("a.py").functions) if one.name == "f")
    around = project.call_graph.wrappers(FunctionRef("a.py", index))
    assert [one and name_of(project, one) for one in around] == ["main_only.inner", "every.around.inner", None]


CHAIN = """
def low(): dist.barrier()
def middle(n):
    if n: high(n - 1)
    low()
def high(n): middle(n)
class Trainer:
    def __init__(self): self.step()
    def step(self): high(3)
def other(): print(1)
def main():
    Trainer()
    other()
main()
"""


def test_the_cone_holds_what_leads_to_a_place(make_project: MakeProject) -> None:
    project = make_project({"a.py": HEAD + CHAIN})
    cone = project.call_graph.cone(project.sites("barrier"))
    names = [[name_of(project, ref) for ref in component] for component in cone.components]
    assert names == [["low"], ["middle", "high"], ["Trainer.step"], ["Trainer.__init__"], ["main"]]
    assert not cone.cut


def test_summaries_are_made_callees_first_and_to_a_fixed_point(make_project: MakeProject) -> None:
    project = make_project({"a.py": HEAD + CHAIN})
    cone = project.call_graph.cone(project.sites("barrier"))

    def calls(ref: FunctionRef, known: Any) -> frozenset[str]:
        own = {name_of(project, ref)}
        return frozenset(own.union(*(known(edge.target) for edge in cone.edges[ref])))

    found = summarise(cone, lambda ref: frozenset[str](), calls)
    by_name = {name_of(project, ref): names for ref, names in found.items()}
    assert by_name["middle"] == by_name["high"] == {"low", "middle", "high"}
    assert by_name["main"] == {"low", "middle", "high", "Trainer.step", "Trainer.__init__", "main"}


def test_summaries_that_never_settle_are_given_up(make_project: MakeProject) -> None:
    project = make_project({"a.py": HEAD + CHAIN})
    cone = project.call_graph.cone(project.sites("barrier"))
    found = summarise(cone, lambda ref: 0, lambda ref, known: 1 + sum(known(edge.target) for edge in cone.edges[ref]))
    assert all(isinstance(one, int) for one in found.values())


def test_components_agree_with_networkx() -> None:
    import networkx as nx

    chance = random.Random(6)  # noqa: S311 - drawn graphs, no secrets
    for _ in range(200):
        size = chance.randrange(1, 12)
        edges = {node: sorted({chance.randrange(size) for _ in range(chance.randrange(3))}) for node in range(size)}
        found = components_of(range(size), edges.__getitem__)
        graph = nx.DiGraph([(one, other) for one, others in edges.items() for other in others])
        graph.add_nodes_from(range(size))
        assert {frozenset(one) for one in found} == {frozenset(one) for one in nx.strongly_connected_components(graph)}
        place = {node: index for index, component in enumerate(found) for node in component}
        assert all(place[one] >= place[other] for one, others in edges.items() for other in others)


def test_long_chains_need_no_recursion(make_project: MakeProject) -> None:
    functions = "".join(f"def f{i}(): f{i + 1}()\n" for i in range(1_500))
    project = make_project({"a.py": HEAD + functions + "def f1500():\n    f0()\n    dist.barrier()\n"})
    cone = project.call_graph.cone(project.sites("barrier"))
    assert [len(one) for one in cone.components] == [1_501]


def test_every_call_of_a_body_has_its_point(make_project: MakeProject) -> None:
    project = make_project({"a.py": HEAD + CHAIN})
    for name in ("low", "high", "middle", "Trainer", "step"):
        for site in project.sites(name):
            flow = project.control_flow(site.file, site.site.function)
            assert all(isinstance(flow.points[one].expr, ir.Call) for one in flow.of_call(site.site.call.at))
            assert flow.of_call(site.site.call.at)


def test_a_method_named_like_a_lists_leaves_the_object_what_it_is(make_project: MakeProject) -> None:
    body = """
class Meter:
    def add(self, value): self.total = value
    def share(self): dist.all_reduce(self.total)

def main():
    meter = Meter()
    for step in range(3):
        meter.add(step)
        meter.share()
"""
    project = make_project({"a.py": HEAD + body})
    (edge,) = edges_of(project, "share")
    assert name_of(project, edge.target) == "Meter.share"
