"""The ways in which programs spell their configurations: each one here is found in public repositories."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import MakeProject
from tests.link.test_evaluate import HEAD, probe, shown

FILES = {"conf.py": "CFG = {'a': 1}\nN = 1\n# deepspeed\n", "c.json": '{"a": 1}'}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "C={1:{'a':1},2:{'a':2}}\nprobe(C[2])",
            {"a": 2},
            id="lookup",
        ),
        pytest.param(
            "def get(offload=False, stage=2):\n"
            "    return {'stage':stage,'dev':'cpu' if offload else 'none'}\n"
            "probe(get(stage=3))",
            {"stage": 3, "dev": "none"},
            id="kwdefault",
        ),
        pytest.param(
            "import argparse\np=argparse.ArgumentParser()\nargs=p.parse_args()\nargs.cfg={'a':1}\nprobe(args.cfg)",
            {"a": 1},
            id="ns store",
        ),
        pytest.param(
            "import argparse\n"
            "p=argparse.ArgumentParser()\n"
            "def main():\n"
            "    args=p.parse_args()\n"
            "    args.cfg={'a':1}\n"
            "    go(args)\n"
            "def go(args):\n"
            "    probe(args.cfg)\n"
            "main()",
            {"a": 1},
            id="ns store fn",
        ),
        pytest.param(
            "import argparse\n"
            "p=argparse.ArgumentParser()\n"
            "p.add_argument('--lr',default=3)\n"
            "args=p.parse_args()\n"
            "probe(vars(args)['lr'])",
            3,
            id="vars",
        ),
        pytest.param(
            "import argparse\n"
            "p=argparse.ArgumentParser()\n"
            "p.add_argument('--lr',default=3)\n"
            "args=vars(p.parse_args())\n"
            "probe(args['lr'])",
            3,
            id="vars2",
        ),
        pytest.param(
            "import argparse\n"
            "p=argparse.ArgumentParser()\n"
            "p.add_argument('--lr',default=3)\n"
            "args=p.parse_args().__dict__\n"
            "probe(args.get('lr'))",
            3,
            id="vars3",
        ),
        pytest.param(
            "B={'a':1,'b':2}\nO={'b':3}\nprobe({**B,**O})",
            {"a": 1, "b": 3},
            id="spread",
        ),
        pytest.param(
            "class C:\n    cfg={'a':1}\nprobe(C.cfg)",
            {"a": 1},
            id="classattr",
        ),
        pytest.param(
            "class C:\n    x=1\nclass D(C):\n    y=2\nprobe(D.x)",
            1,
            id="classattr inh",
        ),
        pytest.param(
            "class C:\n    x=1\n    @classmethod\n    def get(cls):\n        return {'x':cls.x}\nprobe(C.get())",
            {"x": 1},
            id="classattr via method",
        ),
        pytest.param(
            "class C:\n    @staticmethod\n    def get(n):\n        return {'x':n}\nprobe(C.get(4))",
            {"x": 4},
            id="static",
        ),
        pytest.param(
            "from dataclasses import dataclass\n"
            "@dataclass\n"
            "class C:\n"
            "    lr: float = 1\n"
            "    b: int = 2\n"
            "c=C(lr=5)\n"
            "probe(c.lr)",
            5,
            id="dataclass",
        ),
        pytest.param(
            "from dataclasses import dataclass\n"
            "@dataclass\n"
            "class C:\n"
            "    lr: float = 1\n"
            "    b: int = 2\n"
            "c=C(lr=5)\n"
            "probe(c.b)",
            2,
            id="dataclass default",
        ),
        pytest.param(
            "from dataclasses import dataclass\n"
            "@dataclass\n"
            "class C:\n"
            "    lr: float\n"
            "    b: int = 2\n"
            "c=C(5,6)\n"
            "probe(c.b)",
            6,
            id="dataclass pos",
        ),
        pytest.param(
            "from dataclasses import dataclass\n"
            "@dataclass\n"
            "class A:\n"
            "    z: int = 9\n"
            "@dataclass\n"
            "class C(A):\n"
            "    lr: float=1\n"
            "c=C(8,7)\n"
            "probe((c.z,c.lr))",
            [8, 7],
            id="dataclass inh",
        ),
        pytest.param(
            "from dataclasses import dataclass, field\n"
            "@dataclass\n"
            "class C:\n"
            "    cfg: dict = field(default_factory=lambda: {'a': 1})\n"
            "    n: int = field(default=3)\n"
            "probe((C().cfg, C().n))",
            [{"a": 1}, 3],
            id="dataclass field",
        ),
        pytest.param(
            "from dataclasses import dataclass, replace\n"
            "@dataclass\n"
            "class C:\n"
            "    lr: float = 1\n"
            "    b: int = 2\n"
            "c=replace(C(lr=5),b=7)\n"
            "probe((c.lr,c.b))",
            [5, 7],
            id="dataclass replace",
        ),
        pytest.param(
            "from dataclasses import dataclass, asdict\n"
            "@dataclass\n"
            "class C:\n"
            "    lr: float = 1\n"
            "    b: int = 2\n"
            "probe(asdict(C(lr=5)))",
            {"lr": 5, "b": 2},
            id="asdict",
        ),
        pytest.param(
            "from dataclasses import dataclass\n@dataclass\nclass C:\n    lr: float = 1\nc=C()\nc.lr=4\nprobe(c.lr)",
            4,
            id="dataclass set",
        ),
        pytest.param(
            "from typing import NamedTuple\n"
            "class C(NamedTuple):\n"
            "    lr: float = 1\n"
            "    b: int = 2\n"
            "c=C(3)\n"
            "probe((c.lr,c.b,c[0]))",
            [3, 2, 3],
            id="namedtuple",
        ),
        pytest.param(
            "from enum import Enum\nclass E(Enum):\n    A='x'\n    B='y'\nprobe(E.A.value)",
            "x",
            id="enum",
        ),
        pytest.param(
            "from enum import Enum\nclass E(str, Enum):\n    A='x'\nprobe(E.A.value)",
            "x",
            id="enum str",
        ),
        pytest.param(
            "from functools import partial\ndef f(a,b):\n    return {'a':a,'b':b}\ng=partial(f,1)\nprobe(g(b=2))",
            {"a": 1, "b": 2},
            id="partial",
        ),
        pytest.param(
            "import functools\ndef f(a,b=0):\n    return {'a':a,'b':b}\ng=functools.partial(f,b=2)\nprobe(g(1))",
            {"a": 1, "b": 2},
            id="partial kw",
        ),
        pytest.param(
            "class A:\n"
            "    def __init__(self, cfg):\n"
            "        self.cfg=cfg\n"
            "class B(A):\n"
            "    def __init__(self, cfg):\n"
            "        super().__init__(cfg)\n"
            "        self.z=1\n"
            "    def go(self):\n"
            "        probe(self.cfg)\n"
            "B({'a':1}).go()",
            {"a": 1},
            id="self inh",
        ),
        pytest.param(
            "class A:\n"
            "    def __init__(self, cfg):\n"
            "        self.cfg=cfg\n"
            "class B(A):\n"
            "    def go(self):\n"
            "        return self.cfg\n"
            "probe(B({'a':1}).go())",
            {"a": 1},
            id="self inh no init",
        ),
        pytest.param(
            "class A:\n"
            "    def __init__(self, n):\n"
            "        self.n=n\n"
            "    def conf(self):\n"
            "        return {'n':self.n}\n"
            "probe(A(3).conf())",
            {"n": 3},
            id="method returning",
        ),
        pytest.param(
            "import argparse\n"
            "def main(args):\n"
            "    probe(args.lr)\n"
            "if __name__=='__main__':\n"
            "    p=argparse.ArgumentParser()\n"
            "    p.add_argument('--lr',default=3)\n"
            "    main(p.parse_args())",
            3,
            id="main guard",
        ),
        pytest.param(
            "def outer(n):\n    cfg={'n':n}\n    def inner():\n        return cfg\n    return inner()\nprobe(outer(4))",
            {"n": 4},
            id="closure",
        ),
        pytest.param(
            "def outer(n):\n"
            "    cfg={'n':n}\n"
            "    def inner(k):\n"
            "        return {**cfg,'k':k}\n"
            "    return inner\n"
            "probe(outer(4)(5))",
            {"n": 4, "k": 5},
            id="closure2",
        ),
        pytest.param(
            "f=lambda x, y=2: {'x':x,'y':y}\nprobe(f(1))",
            {"x": 1, "y": 2},
            id="lambda",
        ),
        pytest.param(
            "def start(**kw):\n    probe(kw)\nstart(a=1,b={'c':2})",
            {"a": 1, "b": {"c": 2}},
            id="kwargs pass",
        ),
        pytest.param(
            "def init(a, b=0):\n    probe(b)\ndef start(*args, **kw):\n    return init(*args, **kw)\nstart(1, b=7)",
            7,
            id="kwargs pass2",
        ),
        pytest.param(
            "def init(a, b=0):\n    probe(b)\ndef start(*args):\n    return init(*args)\nstart(1, 8)",
            8,
            id="args pass",
        ),
        pytest.param(
            "def mk(**kw):\n    return {'x':1, **kw}\nprobe(mk(y=2))",
            {"x": 1, "y": 2},
            id="kwargs ret",
        ),
        pytest.param(
            "def mk(a=1, **kw):\n    return dict(a=a, **kw)\nprobe(mk(b=2))",
            {"a": 1, "b": 2},
            id="kwargs dict(**)",
        ),
        pytest.param(
            "def mk(*xs):\n    return list(xs)\nprobe(mk(1,2))",
            [1, 2],
            id="args list",
        ),
        pytest.param(
            "import torch.multiprocessing as mp\n"
            "def w(rank, a, b):\n"
            "    probe(b)\n"
            "mp.spawn(w, args=(1, {'z':2}), nprocs=4)",
            {"z": 2},
            id="spawn",
        ),
        pytest.param(
            "import torch.multiprocessing as mp\ndef w(rank, a):\n    probe(rank)\nmp.spawn(w, args=(1,), nprocs=4)",
            "?",
            id="spawn rank",
        ),
        pytest.param(
            "import torch.multiprocessing as mp\n"
            "def w(a, b):\n"
            "    probe(b)\n"
            "mp.Process(target=w, args=(1, {'z':2})).start()",
            {"z": 2},
            id="process",
        ),
        pytest.param(
            "import threading\ndef w(a, b):\n    probe(b)\nthreading.Thread(target=w, kwargs={'a':1,'b':2}).start()",
            2,
            id="thread",
        ),
        pytest.param(
            "import argparse\n"
            "def get():\n"
            "    p=argparse.ArgumentParser()\n"
            "    p.add_argument('--lr',default=3)\n"
            "    return p\n"
            "args=get().parse_args()\n"
            "probe(args.lr)",
            3,
            id="get_parser",
        ),
        pytest.param(
            "import argparse\n"
            "def add(p):\n"
            "    p.add_argument('--lr',default=3)\n"
            "    return p\n"
            "p=add(argparse.ArgumentParser())\n"
            "args=p.parse_args()\n"
            "probe(args.lr)",
            3,
            id="add_args",
        ),
        pytest.param(
            "import argparse\n"
            "def add(parser):\n"
            "    g=parser.add_argument_group('x')\n"
            "    g.add_argument('--lr',default=3)\n"
            "def main():\n"
            "    p=argparse.ArgumentParser()\n"
            "    add(p)\n"
            "    args=p.parse_args()\n"
            "    probe(args.lr)\n"
            "main()",
            3,
            id="add_args2",
        ),
        pytest.param(
            "import argparse\n"
            "b=argparse.ArgumentParser(add_help=False)\n"
            "b.add_argument('--lr',default=3)\n"
            "p=argparse.ArgumentParser(parents=[b])\n"
            "args=p.parse_args()\n"
            "probe(args.lr)",
            3,
            id="parents",
        ),
        pytest.param(
            "import argparse\n"
            "p=argparse.ArgumentParser()\n"
            "p.add_argument('--x',default=2)\n"
            "s=p.add_subparsers(dest='cmd')\n"
            "t=s.add_parser('train')\n"
            "t.add_argument('--lr',default=3)\n"
            "args=p.parse_args()\n"
            "probe((args.lr,args.x))",
            [3, 2],
            id="subparsers",
        ),
        pytest.param(
            "import argparse\n"
            "p=argparse.ArgumentParser()\n"
            "p.add_argument('--lr',default=3)\n"
            "p.set_defaults(lr=4, extra=5)\n"
            "args=p.parse_args()\n"
            "probe((args.lr,args.extra))",
            [4, 5],
            id="set_defaults",
        ),
        pytest.param(
            "import argparse\n"
            "p=argparse.ArgumentParser()\n"
            "n=('--lr','-l')\n"
            "p.add_argument(*n,default=3)\n"
            "args=p.parse_args()\n"
            "probe(args.lr)",
            3,
            id="names",
        ),
        pytest.param(
            "import argparse\n"
            "p=argparse.ArgumentParser()\n"
            "p.add_argument('--lr',type=int,default=3)\n"
            "args=p.parse_args(['--lr','7'])\n"
            "probe(args.lr)",
            7,
            id="literal list",
        ),
        pytest.param(
            "import argparse\n"
            "p=argparse.ArgumentParser()\n"
            "p.add_argument('--lr',type=int,default=3)\n"
            "args=p.parse_args(args=['--lr=7'])\n"
            "probe(args.lr)",
            7,
            id="literal list kw",
        ),
        pytest.param(
            "import argparse\n"
            "p=argparse.ArgumentParser()\n"
            "p.add_argument('--lr',type=int,default=3)\n"
            "args=p.parse_args([])\n"
            "probe(args.lr)",
            3,
            id="literal empty",
        ),
        pytest.param(
            "import argparse\n"
            "p=argparse.ArgumentParser()\n"
            "p.add_argument('--lr',type=int,default=3)\n"
            "args=p.parse_known_args()[0]\n"
            "probe(args.lr)",
            3,
            id="known0",
        ),
        pytest.param(
            "import argparse\nd={'lr':1}\na=argparse.Namespace(**d, x=2)\nprobe((a.lr,a.x))",
            [1, 2],
            id="Namespace",
        ),
        pytest.param(
            "from types import SimpleNamespace\na=SimpleNamespace(x=2)\na.y=3\nprobe((a.x,a.y))",
            [2, 3],
            id="SimpleNamespace",
        ),
        pytest.param(
            "from easydict import EasyDict as edict\na=edict({'x':2})\nprobe(a.x)",
            2,
            id="edict",
        ),
        pytest.param(
            "import argparse\n"
            "def str2bool(v):\n"
            "    return v.lower() in ('yes','true')\n"
            "p=argparse.ArgumentParser()\n"
            "p.add_argument('--lr',type=str2bool,default=True)\n"
            "args=p.parse_args(['--lr','no'])\n"
            "probe(args.lr)",
            False,
            id="str2bool",
        ),
        pytest.param(
            "from transformers import HfArgumentParser, TrainingArguments\n"
            "from dataclasses import dataclass\n"
            "@dataclass\n"
            "class A:\n"
            "    n: int = 4\n"
            "@dataclass\n"
            "class B:\n"
            "    m: int = 5\n"
            "a,b=HfArgumentParser((A,B)).parse_args_into_dataclasses()\n"
            "probe((a.n,b.m))",
            [4, 5],
            id="hf",
        ),
        pytest.param(
            "from transformers import HfArgumentParser, TrainingArguments\n"
            "from dataclasses import dataclass\n"
            "@dataclass\n"
            "class A:\n"
            "    n: int = 4\n"
            "a=HfArgumentParser(A).parse_args_into_dataclasses()[0]\n"
            "probe(a.n)",
            4,
            id="hf single",
        ),
        pytest.param(
            "from transformers import HfArgumentParser, TrainingArguments\n"
            "from dataclasses import dataclass\n"
            "@dataclass\n"
            "class A:\n"
            "    n: int = 4\n"
            "(a,)=HfArgumentParser(A).parse_args_into_dataclasses()\n"
            "probe(a.n)",
            4,
            id="hf single unpack",
        ),
        pytest.param(
            "from transformers import HfArgumentParser\n"
            "from dataclasses import dataclass\n"
            "@dataclass\n"
            "class A:\n"
            "    n: int = 4\n"
            "    k: int = 1\n"
            "a,=HfArgumentParser(A).parse_dict({'n':9})\n"
            "probe((a.n,a.k))",
            [9, 1],
            id="hf dict",
        ),
        pytest.param(
            "import os\nos.environ.setdefault('X','3')\nprobe(os.environ['X'])",
            "3",
            id="env default",
        ),
        pytest.param(
            "import os\nos.environ['X']='3'\nprobe(int(os.environ['X']))",
            3,
            id="env set",
        ),
        pytest.param(
            "import os\nprobe(int(os.environ.get('W', 1)))",
            1,
            id="env int",
        ),
        pytest.param(
            "if (n := 5) > 3:\n    probe(n)",
            5,
            id="walrus",
        ),
        pytest.param(
            "x = [y := 5, y*2]\nprobe(y)",
            5,
            id="walrus2",
        ),
        pytest.param(
            "try:\n"
            "    import json5 as j\n"
            "except ImportError:\n"
            "    j = None\n"
            "try:\n"
            "    from foo import bar\n"
            "    X = 1\n"
            "except ImportError:\n"
            "    X = 1\n"
            "probe(X)",
            1,
            id="try import",
        ),
        pytest.param(
            "import importlib\nm=importlib.import_module('conf')\nprobe(m.CFG)",
            {"a": 1},
            id="import_module",
        ),
        pytest.param(
            "from conf import *\nprobe(CFG)",
            {"a": 1},
            id="star",
        ),
        pytest.param(
            "x=2\n"
            "match x:\n"
            "    case 1:\n"
            "        y='a'\n"
            "    case 2:\n"
            "        y='b'\n"
            "    case _:\n"
            "        y='c'\n"
            "probe(y)",
            "b",
            id="match",
        ),
        pytest.param(
            "match f():\n    case 1:\n        y='a'\n    case _:\n        y='c'\nprobe(y)",
            {"a", "c"},
            id="match unk",
        ),
        pytest.param(
            "probe('%s-%d' % ('a', 3))",
            "a-3",
            id="percent",
        ),
        pytest.param(
            "probe('zero%d.json' % 3)",
            "zero3.json",
            id="percent1",
        ),
        pytest.param(
            "probe('{}-{n}'.format('a', n=3))",
            "a-3",
            id="format",
        ),
        pytest.param(
            "probe(','.join(['a','b']))",
            "a,b",
            id="join",
        ),
        pytest.param(
            "d={}\nfor k in ('a','b'):\n    d[k]=1\nprobe(d)",
            {"a": 1, "b": 1},
            id="loop fill",
        ),
        pytest.param(
            "d={}\nfor k,v in {'a':1,'b':2}.items():\n    d[k]=v\nprobe(d)",
            {"a": 1, "b": 2},
            id="loop fill items",
        ),
        pytest.param(
            "probe({k:v*2 for k,v in {'a':1,'b':2}.items()})",
            {"a": 2, "b": 4},
            id="dictcomp",
        ),
        pytest.param(
            "probe({k:v for k,v in {'a':1,'b':None}.items() if v is not None})",
            {"a": 1},
            id="dictcomp if",
        ),
        pytest.param(
            "probe([i*2 for i in (1,2,3)])",
            [2, 4, 6],
            id="listcomp",
        ),
        pytest.param(
            "probe([i for i in range(3)])",
            [0, 1, 2],
            id="listcomp range",
        ),
        pytest.param(
            "probe(dict(zip(['a','b'],[1,2])))",
            {"a": 1, "b": 2},
            id="zip",
        ),
        pytest.param(
            "import copy\nB={'a':{'b':1}}\nc=copy.deepcopy(B)\nc['a']['b']=2\nprobe((B,c))",
            [{"a": {"b": 1}}, {"a": {"b": 2}}],
            id="deepcopy",
        ),
        pytest.param(
            "import json\nprobe(json.loads('''{\"a\": 1}'''))",
            {"a": 1},
            id="loads",
        ),
        pytest.param(
            "import yaml\nprobe(yaml.safe_load('''a: 1\n'''))",
            {"a": 1},
            id="yaml",
        ),
        pytest.param(
            "import json\nwith open('c.json') as f:\n    cfg=json.load(f)\nprobe(cfg)",
            {"a": 1},
            id="load with",
        ),
        pytest.param(
            "import json\n"
            "def read(path):\n"
            "    with open(path, 'r') as f:\n"
            "        return json.load(f)\n"
            "probe(read('c.json'))",
            {"a": 1},
            id="load fn",
        ),
        pytest.param(
            "import json\nprobe(json.loads(json.dumps({'a':1})))",
            {"a": 1},
            id="dumps loads",
        ),
        pytest.param(
            "probe(list({'a':1}.keys()))",
            ["a"],
            id="dict items",
        ),
        pytest.param(
            "probe(len({'a':1,'b':2}))",
            2,
            id="len",
        ),
        pytest.param(
            "probe(sum([1,2,3]))",
            6,
            id="sum",
        ),
        pytest.param(
            "probe(max([1,2,3]))",
            3,
            id="max list",
        ),
        pytest.param(
            "probe([1,2,3][1:])",
            [2, 3],
            id="slice",
        ),
        pytest.param(
            "probe('abcdef'[:3])",
            "abc",
            id="slice str",
        ),
        pytest.param(
            "probe('a' in ['a','b'])",
            True,
            id="in list",
        ),
        pytest.param(
            "a,*b=[1,2,3]\nprobe(b)",
            [2, 3],
            id="tuple unpack star",
        ),
        pytest.param(
            "x=[1]\nx.append(2)\nx.extend([3])\nx += [4]\nprobe(x)",
            [1, 2, 3, 4],
            id="list append",
        ),
        pytest.param(
            "x={'a':1}\nif isinstance(x, str):\n    x=None\nprobe(x)",
            {"a": 1},
            id="isinstance",
        ),
        pytest.param(
            "def rd(c):\n    if isinstance(c, dict):\n        return c\n    return 3\nprobe(rd({'a':1}))",
            {"a": 1},
            id="isinstance2",
        ),
        pytest.param(
            "x={'a':1}\nprobe(x.get('b') or 7)",
            7,
            id="hasattr dict",
        ),
        pytest.param(
            "CFG=None\ndef init():\n    global CFG\n    CFG={'a':1}\ninit()\ndef go():\n    probe(CFG)\ngo()",
            {"a": 1},
            id="global",
        ),
        pytest.param(
            "d={}\nd['a']={}\nd['a']['b']=1\nprobe(d)",
            {"a": {"b": 1}},
            id="nested dict set missing",
        ),
        pytest.param(
            "def f(c=None):\n    c = c or {'a':1}\n    return c\nprobe(f())",
            {"a": 1},
            id="or default",
        ),
        pytest.param(
            "def f(c=None):\n    if c is None:\n        c={'a':1}\n    return c\nprobe(f())",
            {"a": 1},
            id="is none default",
        ),
        pytest.param(
            "def f(s):\n"
            "    if s==1:\n"
            "        c='a'\n"
            "    elif s==2:\n"
            "        c='b'\n"
            "    else:\n"
            "        raise ValueError\n"
            "    return c\n"
            "probe(f(2))",
            "b",
            id="elif",
        ),
        pytest.param(
            "def f(s):\n"
            "    if s==1:\n"
            "        return 'a'\n"
            "    if s==2:\n"
            "        return 'b'\n"
            "    return 'c'\n"
            "probe(f(2))",
            "b",
            id="early return",
        ),
        pytest.param(
            "def f(s):\n    if s not in (1,2):\n        raise ValueError\n    return s\nprobe(f(2))",
            2,
            id="raise exit",
        ),
        pytest.param(
            "class T:\n    def run(self, cfg):\n        probe(cfg)\nT().run({'a':1})",
            {"a": 1},
            id="inst method arg",
        ),
        pytest.param(
            "class T:\n    def __call__(self, n):\n        return {'n':n}\nprobe(T()(3))",
            {"n": 3},
            id="call dunder",
        ),
        pytest.param(
            "def f(n):\n    return {'n':n}\ng=f\nprobe(g(3))",
            {"n": 3},
            id="alias fn",
        ),
        pytest.param(
            "def f():\n    return 1\ndef g():\n    return 2\nM={'f':f,'g':g}\nprobe(M['g']())",
            2,
            id="fn dict",
        ),
        pytest.param(
            "def f():\n    return 1\nprobe((f if True else None)())",
            1,
            id="cond call",
        ),
        pytest.param(
            "class C: pass\nc=C()\nsetattr(c,'x',3)\nprobe(c.x)",
            3,
            id="setattr",
        ),
        pytest.param(
            "import argparse\n"
            "p=argparse.ArgumentParser()\n"
            "p.add_argument('--lr',default=3)\n"
            "a=p.parse_args()\n"
            "probe(getattr(a,'lr',None))",
            3,
            id="getattr default",
        ),
        pytest.param(
            "import argparse\np=argparse.ArgumentParser()\na=p.parse_args()\na.cfg={}\na.cfg['x']=1\nprobe(a.cfg)",
            {"x": 1},
            id="ns dict store sub",
        ),
        pytest.param(
            "class C:\n"
            "    def __init__(self):\n"
            "        self.cfg={}\n"
            "        self.cfg['x']=1\n"
            "        probe(self.cfg)\n"
            "C()",
            {"x": 1},
            id="self dict store",
        ),
        pytest.param(
            "class C:\n"
            "    def __init__(self):\n"
            "        self.cfg={'a':1}\n"
            "        self.fill()\n"
            "    def fill(self):\n"
            "        self.cfg['x']=1\n"
            "    def go(self):\n"
            "        probe(self.cfg)\n"
            "C().go()",
            {"a": 1, "x?": 1},
            id="self dict update other method",
        ),
    ],
)
def test_a_spelling_is_understood(make_project: MakeProject, body: str, expected: Any) -> None:
    assert shown(probe(make_project({"a.py": HEAD + body + "\n", **FILES}))[0]) == expected
