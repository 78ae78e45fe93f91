"""Programs that a naive evaluator would answer wrongly: the answer must be right, or unknown.

What is expected is the answer that is given now; one that says more is welcome as long as it is true.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import MakeProject
from tests.link.test_evaluate import HEAD, probe, shown
from tests.link.test_spellings import FILES


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "b={'x':0}\na=b\na['x']=1\nprobe(b)",
            {"x": 1},
            id="alias",
        ),
        pytest.param(
            "b={'x':{}}\na=b['x']\na['y']=1\nprobe(b)",
            {"x": {"y": 1}},
            id="alias nested",
        ),
        pytest.param(
            "class C: pass\nc=C()\nc.d={'x':0}\ne=c.d\ne['x']=1\nprobe(c.d)",
            {"x": 1},
            id="alias attr",
        ),
        pytest.param(
            "b=[1]\na=b\na.append(2)\nprobe(b)",
            [1, 2],
            id="alias list",
        ),
        pytest.param(
            "def put(tree,path,v):\n  at=tree\n  for one in path: at=at[one]\n  at['x']=v\n"
            "b={'x':0,'y':{'x':0}}\nput(b,open('p'),1)\nprobe(b['y']['x'])",
            "?",
            id="alias that goes down",
        ),
        pytest.param(
            "b={'x':0,'y':{'x':0}}\na=b\na=a['y']\na['x']=1\nprobe(b)",
            {"x": 0, "y": {"x": 1}},
            id="alias that goes down once",
        ),
        pytest.param(
            "b={'x':0}\nc={'x':0}\na=b\nif open('p'): a=c\na['x']=1\nprobe([b['x'],c['x']])",
            ["?", "?"],
            id="alias of one of two",
        ),
        pytest.param(
            "import functools\nb={'y':{'x':0}}\na=functools.reduce(dict.get,open('p'),b)\na['x']=1\nprobe(b['y']['x'])",
            "?",
            id="alias by reduce",
        ),
        pytest.param(
            "def pick(tree,path):\n  for one in path: tree=tree[one]\n  return tree\n"
            "b={'y':{'x':0}}\npick(b,open('p'))['x']=1\nprobe(b['y']['x'])",
            "?",
            id="item of what a call gives",
        ),
        pytest.param(
            "def make(tree): return object()\nb={'x':0}\nmake(b).x=1\nprobe(b['x'])",
            0,
            id="attribute of what a call makes",
        ),
        pytest.param(
            "d={'x':0}\nobj().fill(d)\nprobe(d)",
            {"x": 0},
            id="escape method",
        ),
        pytest.param(
            "from .nothere import fill\nd={'x':0}\nfill(d)\nprobe(d)",
            {"x": "?", "...": True},
            id="escape unresolved import",
        ),
        pytest.param(
            "import torch\nd={'x':0}\ntorch.save(d)\nprobe(d)",
            {"x": 0},
            id="lib no mutate",
        ),
        pytest.param(
            "d={'x':0}\nprint(d)\nprobe(d)",
            {"x": 0},
            id="print no mutate",
        ),
        pytest.param(
            "def fill(c):\n    c['x']=1\n    return c\nd={'x':0}\ne=fill(d)\nprobe(d)",
            {"x": 1},
            id="escape in assign",
        ),
        pytest.param(
            "def fill(c):\n    c['x']=1\n    return c\nd={'x':0}\ne=fill(d)\nprobe(e)",
            {"x": 1},
            id="escape in assign 2",
        ),
        pytest.param(
            "x=1\nfor i in y():\n    probe(x)\n    x=2",
            {1, 2},
            id="rebind loop",
        ),
        pytest.param(
            "x=1\nwhile x<10:\n    x=x*2\nprobe(x)",
            "?",
            id="rebind while",
        ),
        pytest.param(
            "X=1\ndef f():\n    global X\n    X=2\ndef g():\n    probe(X)\nf()\ng()",
            {1, 2},
            id="global",
        ),
        pytest.param(
            "X=1\ndef f():\n    global X\n    X=2\nf()\nprobe(X)",
            {1, 2},
            id="global2",
        ),
        pytest.param(
            "x=1\ntry:\n    x=2\n    risky()\n    x=3\nexcept E:\n    pass\nprobe(x)",
            {1, 2, 3},
            id="exception",
        ),
        pytest.param(
            "d={'a':1}\ntry:\n    d['a']=2\n    risky()\n    d['a']=3\nexcept E:\n    pass\nprobe(d['a'])",
            {1, 2, 3},
            id="exception2",
        ),
        pytest.param(
            "x=1\ntry:\n    risky()\nfinally:\n    x=2\nprobe(x)",
            2,
            id="finally",
        ),
        pytest.param(
            "import os\ndef f(os):\n    probe(os.environ.get('A','1'))\nf(3)",
            "?",
            id="shadow import param",
        ),
        pytest.param(
            "import json\ndef f():\n    json = thing()\n    probe(json.loads('1'))\nf()",
            "?",
            id="shadow import local",
        ),
        pytest.param(
            "x=5\ny=[x for x in (1,2)]\nprobe(x)",
            5,
            id="shadow compr",
        ),
        pytest.param(
            "x=5\nprobe([x for x in z()])",
            ["..."],
            id="shadow compr inner",
        ),
        pytest.param(
            "def dict(**k):\n    return 3\nprobe(dict(a=1))",
            3,
            id="shadow builtin",
        ),
        pytest.param(
            "def f(dict):\n    probe(dict(a=1))\nf(g)",
            "?",
            id="shadow builtin param",
        ),
        pytest.param(
            "x=5\nf=lambda x: x\nprobe(f(7))",
            7,
            id="shadow lambda",
        ),
        pytest.param(
            "class C:\n"
            "    def __init__(self):\n"
            "        self.x=1\n"
            "    def other(self):\n"
            "        self.x=2\n"
            "    def go(self):\n"
            "        probe(self.x)\n"
            "C().go()",
            {1, 2},
            id="attr two places",
        ),
        pytest.param(
            "class C:\n"
            "    def __init__(self):\n"
            "        self.x=1\n"
            "    def go(self):\n"
            "        probe(self.x)\n"
            "c=C()\n"
            "c.x=2\n"
            "c.go()",
            {1, 2},
            id="attr from outside",
        ),
        pytest.param(
            "d={'x':0}\nprobe(d)\nd['x']=1",
            {"x": 0},
            id="after call",
        ),
        pytest.param(
            "def g():\n    d={'a':1}\n    yield d\nprobe(g())",
            "?",
            id="generator",
        ),
        pytest.param(
            "def g():\n    x = yield 3\n    return 4\nprobe(g())",
            "?",
            id="generator2",
        ),
        pytest.param(
            "def g():\n    for i in (1,2):\n        z = yield i\n    return 4\nprobe(g())",
            "?",
            id="generator assigned yield",
        ),
        pytest.param(
            "def deco(f):\n    return lambda: 5\n@deco\ndef f():\n    return 4\nprobe(f())",
            "?",
            id="decorator",
        ),
        pytest.param(
            "@thing\nclass C:\n    x=1\nprobe(C().x)",
            1,
            id="decorator cls",
        ),
        pytest.param(
            "class C:\n    @property\n    def x(self):\n        return 3\nprobe(C().x)",
            3,
            id="property",
        ),
        pytest.param(
            "class C:\n"
            "    def __init__(self): self._x=1\n"
            "    @property\n"
            "    def x(self):\n"
            "        return self._x\n"
            "    @x.setter\n"
            "    def x(self, v):\n"
            "        self._x=v\n"
            "c=C()\n"
            "c.x=9\n"
            "probe(c.x)",
            9,
            id="property setter",
        ),
        pytest.param(
            "class C:\n    x=1\n    def __init__(self):\n        self.x=2\nprobe(C().x)",
            2,
            id="class vs instance",
        ),
        pytest.param(
            "class C:\n    x=1\n    def set(self):\n        self.x=2\nprobe(C.x)",
            1,
            id="class vs instance 2",
        ),
        pytest.param(
            "class C:\n    cfg={'a':1}\nC.cfg['a']=2\nprobe(C.cfg)",
            {"a": 2},
            id="class attr mutated",
        ),
        pytest.param(
            "def f(c={}):\n    c['n']=c.get('n',0)+1\n    return c\nf()\nprobe(f())",
            {"n": "?", "...": True},
            id="mutable default",
        ),
        pytest.param(
            "d={'a':1}\nif q():\n    del d['a']\nprobe(d)",
            {"a?": 1},
            id="cond del",
        ),
        pytest.param(
            "x=1\ndel x\nprobe(x)",
            "?",
            id="del name",
        ),
        pytest.param(
            "d={'a':1,'b':2}\nd.popitem()\nprobe(d)",
            {"a": "?", "b": "?", "...": True},
            id="popitem",
        ),
        pytest.param(
            "d={'a':1,'b':2}\nd.clear()\nprobe(d)",
            {},
            id="clear",
        ),
        pytest.param(
            "d={'a':1,'b':2}\nx=d.pop('a')\nprobe(d)",
            {"b": 2},
            id="pop as value",
        ),
        pytest.param(
            "d={'a':1,'b':2}\nx=d.pop('a')\nprobe(x)",
            1,
            id="pop as value2",
        ),
        pytest.param(
            "d={'a':1}\nx=d.setdefault('b', 2)\nprobe(d)",
            {"a": 1, "b": 2},
            id="setdefault value",
        ),
        pytest.param(
            "def f(c, k):\n    c[k]=1\nd={}\nf(d,'a')\nf(d,'b')\nprobe(d)",
            {"a": 1, "b": 1},
            id="two sites",
        ),
        pytest.param(
            "d={'a':1}\nd['a']+=1\nprobe(d)",
            {"a": 2},
            id="aug dict",
        ),
        pytest.param(
            "d={'a':1}\nd |= {'b':2}\nprobe(d)",
            {"a": 1, "b": 2},
            id="aug or",
        ),
        pytest.param(
            "x=1\nwhile q():\n    x=2\n    break\nelse:\n    x=3\nprobe(x)",
            {2, 3},
            id="while else",
        ),
        pytest.param(
            "x=0\nfor i in q():\n    x=1\n    continue\n    x=2\nprobe(x)",
            {0, 1},
            id="continue",
        ),
        pytest.param(
            "for i in (1,2,3):\n    pass\nprobe(i)",
            3,
            id="for else last",
        ),
        pytest.param(
            "async def f():\n    return 1\nprobe(f())",
            "?",
            id="async",
        ),
        pytest.param(
            "def f():\n    return 1\ndef g():\n    def f():\n        return 2\n    probe(f())\ng()",
            2,
            id="nested def shadow",
        ),
        pytest.param(
            "def f():\n    return 1\ndef f():\n    return 2\nprobe(f())",
            2,
            id="redefined fn",
        ),
        pytest.param(
            "if q():\n    def f():\n        return 1\nelse:\n    def f():\n        return 2\nprobe(f())",
            {1, 2},
            id="cond fn",
        ),
        pytest.param(
            "def f():\n    return 1\nf = g()\nprobe(f())",
            "?",
            id="fn then var",
        ),
        pytest.param(
            "import json\njson = None\nprobe(json)",
            None,
            id="import then var",
        ),
        pytest.param(
            "try:\n    import apex as A\nexcept ImportError:\n    A = None\nprobe(A is None)",
            "?",
            id="try import var",
        ),
        pytest.param(
            "def f():\n    import json\n    return json.loads('1')\njson = None\nprobe(f())",
            1,
            id="local import",
        ),
        pytest.param(
            "x=1\nclass C:\n    x=2\n    def f(self):\n        return x\nprobe(C().f())",
            1,
            id="class scope",
        ),
        pytest.param(
            "x=1\nexec('x=2')\nprobe(x)",
            "?",
            id="exec",
        ),
        pytest.param(
            "def f(a, **kw):\n    return {'a':a, **kw}\nprobe(f(1, **g()))",
            {"a": 1, "...": True},
            id="star kw override",
        ),
        pytest.param(
            "class C: pass\nc=C()\nc.x=1\nsetattr(c, name(), 3)\nprobe(c.x)",
            "?",
            id="setattr unknown",
        ),
        pytest.param(
            "d={'a':1}\nd.update(**o())\nprobe(d)",
            {"a": "?", "...": True},
            id="update kw open",
        ),
        pytest.param(
            "d={'a':{'b':1}}\nd['a'].update(c=2)\nprobe(d)",
            {"a": {"b": 1, "c": 2}},
            id="nested update",
        ),
        pytest.param(
            "d={'a':1}\nd[k()]=2\nprobe(d['a'])",
            "?",
            id="unknown key then read",
        ),
        pytest.param(
            "import os\nprobe(os.environ['HOME'])",
            "?",
            id="env lib override",
        ),
        pytest.param(
            "def f(n):\n    return 1 if n==0 else n*f(n-1)\nprobe(f(3))",
            6,
            id="recursion",
        ),
        pytest.param(
            "x = None\nprobe(x and x['a'])",
            None,
            id="and short",
        ),
        pytest.param(
            "probe(1 < 2 < 3)",
            True,
            id="chain cmp",
        ),
        pytest.param(
            "import contextlib\nx=1\nwith contextlib.suppress(E):\n    x=r()\nprobe(x)",
            "?",
            id="with suppress",
        ),
        pytest.param(
            "def f():\n    try:\n        return 1\n    finally:\n        pass\nprobe(f())",
            1,
            id="return in finally",
        ),
        pytest.param(
            "def f():\n    try:\n        return risky()\n    except E:\n        return 1\nprobe(f())",
            "?",
            id="return try except",
        ),
        pytest.param(
            "def f():\n    for i in (1,2):\n        if q(i):\n            return i\n    return 9\nprobe(f())",
            {1, 2, 9},
            id="return in loop",
        ),
        pytest.param(
            "def o():\n    x=1\n    def i():\n        return x\n    x=2\n    return i()\nprobe(o())",
            2,
            id="closure late",
        ),
        pytest.param(
            "fs=[]\nfor i in (1,2):\n    fs.append(lambda: i)\nprobe(fs[0]())",
            2,
            id="loop lambda",
        ),
        pytest.param(
            "b={'x':{'y':1}}\na=b.copy()\na['x']['y']=2\nprobe(b)",
            {"x": "?", "...": True},
            id="copy alias",
        ),
        pytest.param(
            "b={'x':1}\na=b.copy()\na['x']=2\nprobe(b)",
            {"x": 1},
            id="copy flat",
        ),
        pytest.param(
            "b={'x':1}\na=dict(b)\na['x']=2\nprobe(b)",
            {"x": 1},
            id="dict() copy",
        ),
        pytest.param(
            "def f(c):\n    d=c\n    d['x']=1\nz={'x':0}\nf(z)\nprobe(z)",
            {"x": 1},
            id="param alias",
        ),
        pytest.param(
            "def g(c):\n    c['x']=1\ndef f(c):\n    g(c)\nz={'x':0}\nf(z)\nprobe(z)",
            {"x": 1},
            id="param nested call",
        ),
        pytest.param(
            "class T:\n    def __init__(self,c):\n        self.c=c\n        self.c['x']=1\nz={'x':0}\nt=T(z)\nprobe(z)",
            {"x": "?", "...": True},
            id="stored in obj mutated",
        ),
        pytest.param(
            "z={'x':0}\nw={'z':z}\nw['z']['x']=1\nprobe(z)",
            {"x": "?", "...": True},
            id="stored in dict mutated",
        ),
        pytest.param(
            "z={'x':0}\nw={'z':z}\nz['x']=1\nprobe(w)",
            {"z": "?", "...": True},
            id="stored in dict later",
        ),
        pytest.param(
            "CFG={'a':1}\ndef tweak():\n    CFG['a']=2\ndef main():\n    tweak()\n    probe(CFG)\nmain()",
            {"a": {1, 2}},
            id="module global mutated elsewhere",
        ),
        pytest.param(
            "import conf\nconf.CFG['a']=2\nprobe(conf.CFG)",
            {"a": 2},
            id="module global of other file",
        ),
        pytest.param(
            "import conf\nconf.N=2\nprobe(conf.N)",
            2,
            id="module attr set from outside",
        ),
        pytest.param(
            "def o():\n    c=1\n    def i():\n        nonlocal c\n        c=2\n    i()\n    probe(c)\no()",
            "?",
            id="nonlocal",
        ),
    ],
)
def test_no_wrong_answer(make_project: MakeProject, body: str, expected: Any) -> None:
    assert shown(probe(make_project({"a.py": HEAD + body + "\n", **FILES}))[0]) == expected


def test_an_unresolved_method_may_change_what_it_is_given_if_the_project_has_one_of_that_name(
    make_project: MakeProject,
) -> None:
    text = HEAD + "class T:\n    def fill(self, c):\n        c['x'] = 1\nd = {'x': 0}\nmystery().fill(d)\nprobe(d)\n"
    assert shown(probe(make_project({"a.py": text}))[0]) == {"x": "?", "...": True}


LOOPED = """
import argparse, unheard
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=None)
args = parser.parse_args([])
for _ in unheard.rounds():
    if args.size is not None:
        unheard.use(args.size)
    probe(args.size)
"""


def test_what_is_handed_on_behind_a_test_in_a_loop_stays_what_it_is(make_project: MakeProject) -> None:
    assert shown(probe(make_project({"a.py": LOOPED}))[0]) is None
