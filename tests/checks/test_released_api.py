"""Uses of a library in every form, judged against a small table of releases that stands for the real one."""

from __future__ import annotations

import json
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest

from distlint.checks import released_faults
from distlint.checks.registry import CheckContext
from distlint.checks.released_api import released_api
from distlint.judge.rulefile import parse_rule
from distlint.knowledge.api import Api
from distlint.model.finding import Finding, Severity
from tests.conftest import MakeProject

RELEASES = ["1.13.0", "1.13.1", "2.0.0", "2.0.1", "2.1.0", "2.1.1", "2.1.2", "2.2.0", "2.15.0"]
OLD, NEW, ALL = [0, 1], [2, 8], [0, 8]

RULE = """
code = "XY410"
name = "test"
framework = "torch"
root-cause = "version-incompatibility"
symptom = "crash"
bites = "import"
severity = "error"
summary = "s"
help = "h"

[check]
python = "released-api"

[check.parameters]
packages = ["torch"]
about = "{about}"
{more}

[fix]
safety = "safe"
title = "t"
"""


def function(*parameters: str, **more: Any) -> dict[str, Any]:
    """The value of a function's row."""
    return {"k": "f", "p": list(parameters), **more}


def rows() -> dict[str, list[list[Any]]]:
    """A library: module ``gone`` and its ``inf`` until 1.13, ``fresh`` since 2.0, and things that changed between."""
    module: dict[str, Any] = {}
    wrapper_old = {"k": "c", "b": [], "p": ["module", "policy=None"]}
    wrapper_new = {"k": "c", "b": [], "p": ["module", "auto_policy=None", "*", "orig=False"]}
    return {
        "torch": [[*ALL, module]],
        "torch.gone": [[*OLD, module]],
        "torch.gone:inf": [[*OLD, {"k": "v"}]],
        "torch.parts": [[*ALL, module]],
        "torch.parts:stays": [[*ALL, function("x")]],
        "torch.parts:leaves": [[*OLD, function("x")]],
        "torch.parts:comes": [[*NEW, function("x")]],
        "torch.parts:old_way": [[*OLD, function("x")], [*NEW, function("x", dep="use stays")]],
        "torch.parts:grows": [[*OLD, function("a")], [*NEW, function("a", "b=1")]],
        "torch.parts:wants": [[*OLD, function("a", "b=1")], [*NEW, function("a", "b")]],
        "torch.parts:asks": [[*OLD, function("a", "x")], [*NEW, function("b", "x=1")]],
        "torch.parts:Wrapper": [[*OLD, wrapper_old], [*NEW, wrapper_new]],
        "torch.parts:Wrapper.close": [[*OLD, function()]],
        "torch.parts:Wrapper.run": [[*OLD, function("n")], [*NEW, function("n", "k=1")]],
        "torch.parts:Middle": [[*ALL, {"k": "c", "b": []}]],
        "torch.parts:Middle.close": [[*OLD, function()]],
        "torch.parts:Lower": [[*ALL, {"k": "c", "b": ["torch.parts:Middle"]}]],
        "torch.parts:Lower.close": [[*ALL, function()]],
        "torch.parts:Mode": [[*ALL, {"k": "c", "b": []}]],
        "torch.parts:Mode.FAST": [[*NEW, {"k": "v"}]],
    }


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Api:
    """The small table in place of the real one."""
    path = tmp_path / "api.zip"
    index = {"format": 1, "packages": {"torch": {"releases": RELEASES, "yanked": [], "tops": ["torch"]}}}
    lines = "\n".join(json.dumps([key, value], separators=(",", ":")) for key, value in sorted(rows().items()))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("index.json", json.dumps(index))
        archive.writestr("api/torch/torch.jsonl", lines + "\n")
    made = Api(path)
    monkeypatch.setattr(released_faults, "api", lambda: made)
    return made


def judged(
    make_project: MakeProject, text: str, pin: str, about: str = "names", more: str = "", **files: str
) -> list[Finding]:
    """The findings in ``main.py``, which may stand beside other files (``name__py`` for ``name.py``)."""
    rule = parse_rule(RULE.format(about=about, more=more), "rule.toml")
    others = {name.replace("__", "."): textwrap.dedent(content) for name, content in files.items()}
    project = make_project({"main.py": textwrap.dedent(text), "requirements.txt": pin + "\n", **others})
    return list(released_api(CheckContext(rule, project, lambda kind: ())))


NAMES = [
    (
        "import torch.parts as lib\n\n\nclass C:\n    def __init__(self):\n        self.lib = lib\n\n"
        "    def f(self):\n        return self.lib.leaves(1)"
    ),
    "from torch.gone import inf",
    "import torch.gone",
    "import torch.gone as g",
    "import torch\nprint(torch.gone.inf)",
    "import torch as t\nprint(t.gone)",
    "from torch import gone",
    "from torch.parts import leaves",
    "from torch.parts import leaves as here",
    "from torch.parts import *\nleaves(1)",
    "import torch.parts as p\np.leaves(1)",
    "import torch\nP = torch.parts\nP.leaves(1)",
    "import torch\ngetattr(torch.parts, 'leaves')(1)",
    "import importlib\nimport torch\nimportlib.import_module('torch.gone')",
    "import importlib\nimport torch\nm = importlib.import_module('torch.parts')\nm.leaves(1)",
    "import torch\n\n\n@torch.parts.leaves(1)\ndef f():\n    pass",
    "import torch\n\n\ndef f(x: torch.parts.leaves):\n    return x",
    "import torch\n\n\nclass C(torch.parts.leaves):\n    pass",
    "import torch\n\n\ndef f(x):\n    return isinstance(x, torch.parts.leaves)",
    "import torch\nwith torch.parts.leaves(1):\n    pass",
    "import torch\ntry:\n    pass\nexcept torch.parts.leaves:\n    pass",
    "def f():\n    from torch.parts import leaves\n    leaves(1)",
    "import torch\nx = {k: torch.parts.leaves for k in 'ab'}",
    "import torch\nx = lambda k: torch.parts.leaves(k)",
    "from torch.parts import Wrapper\nw = Wrapper(1)\nw.close()",
    (
        "from torch.parts import Wrapper\n\n\nclass C:\n    def __init__(self):\n        self.w = Wrapper(1)\n\n"
        "    def f(self):\n        self.w.close()"
    ),
    "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    def f(self):\n        super().close()",
    "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    def f(self):\n        self.close()",
    "from torch.parts import Wrapper\n\n\ndef f(w: Wrapper):\n    w.close()",
    "from torch.parts import Wrapper\n\n\ndef f(w: 'Wrapper | None' = None):\n    def g():\n        w.close()",
    "import typing\nimport torch.parts as p\n\n\ndef f(w: typing.Optional[p.Wrapper]):\n    w.close()",
    "from torch.parts import Wrapper\n\n\ndef f(x):\n    w: Wrapper = x\n    w.close()",
    "from torch.parts import Wrapper\n\n\nclass C:\n    w: Wrapper\n\n    def f(self):\n        self.w.close()",
    (
        "from torch.parts import Wrapper\n\n\nclass C:\n    def __init__(self, w: Wrapper):\n        self.w = w\n\n"
        "    def f(self):\n        self.w.close()"
    ),
    "from torch.parts import Wrapper\n\n\ndef f(w):\n    if isinstance(w, Wrapper):\n        w.close()",
    "from torch.parts import Wrapper\n\n\ndef f(w):\n    assert isinstance(w, Wrapper)\n    w.close()",
    "from torch.parts import Wrapper\n\n\ndef f(w):\n    if not isinstance(w, Wrapper):\n        return\n    w.close()",
    "try:\n    from torch.parts import leaves\nexcept ModuleNotFoundError:\n    leaves = None",
    "try:\n    import torch\nexcept ImportError:\n    torch = None\nprint(torch.parts.leaves)",
    "try:\n    from torch.gone import inf\nexcept ImportError as err:\n    raise RuntimeError('no') from err",
    "import sys\ntry:\n    import torch.gone as g\nexcept ImportError:\n    sys.exit(1)",
    "from torch.parts import Wrapper\nWrapper(x.y).close()",
    "import torch.parts as p\n\n\ndef make():\n    return p.Wrapper(1)\n\n\nmake().close()",
    "from torch.parts import Wrapper\n\n\ndef make():\n    w = Wrapper(1)\n    return w\n\n\ndef f():\n    it = make()\n    it.close()",
    "from torch.parts import Wrapper\n\n\ndef f():\n    if (w := Wrapper(1)) is not None:\n        w.close()",
    "from torch.parts import Wrapper\n\n\ndef f(it):\n    it.close()\n\n\nf(Wrapper(1))",
    "from torch.parts import Wrapper\nw = Wrapper(1)\n\n\ndef f():\n    w.close()",
    "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    x = 1\n\n\ndef f():\n    w = W(1)\n    w.close()",
    "try:\n    import torch.gone as g\nexcept ImportError:\n    raise SystemExit('no')",
]


@pytest.mark.parametrize("text", NAMES)
def test_a_name_that_the_release_lacks_is_found_in_every_form(make_project: MakeProject, table: Api, text: str) -> None:
    found = judged(make_project, text, "torch==2.1.0")
    assert len(found) == 1, [f.message for f in found]
    assert "2.1.0" in found[0].message
    assert "removed in 2.0.0" in found[0].message
    assert not judged(make_project, text, "torch==1.13.1")
    assert not judged(make_project, text, "torch==1.12.0"), "older than the table"


SILENT = [
    (
        "import torch.parts as lib\n\n\nclass C:\n    def __init__(self, other=None):\n        self.lib = lib\n        if other:\n"
        "            self.lib = other\n\n    def f(self):\n        return self.lib.leaves(1)"
    ),
    (
        "import torch.parts as lib\n\n\nclass C:\n    def __init__(self):\n        self.lib = lib\n\n"
        "    def f(self):\n        return self.lib.leaves(1)\n\n\nc = C()\nc.lib = other"
    ),
    "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    def close(self):\n        pass\n\n\nW(1).close()",
    "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    def __getattr__(self, k):\n        return k\n\n\nW(1).close()",
    "from torch.parts import Wrapper\n\n\n@replaced\nclass W(Wrapper):\n    pass\n\n\nW(1).close()",
    "from torch.parts import Wrapper\n\n\ndef make(x):\n    return Wrapper(1) if x else open(x)\n\n\nmake(y).close()",
    "from torch.parts import Wrapper\n\n\n@wrapped\ndef make():\n    return Wrapper(1)\n\n\nmake().close()",
    "from torch.parts import Wrapper\n\n\ndef f(it):\n    it.close()\n\n\nf(Wrapper(1))\nf(open('x'))",
    "from torch.parts import Wrapper\n\n\ndef f(it=None):\n    it.close()\n\n\nf(Wrapper(1))\nf(other)",
    "from torch.parts import Wrapper\n\n\nasync def make():\n    return Wrapper(1)\n\n\nmake().close()",
    "from torch.parts import Wrapper\n\n\ndef make():\n    yield Wrapper(1)\n\n\nmake().close()",
    "from torch.parts import Wrapper\nx = [Wrapper.close() for Wrapper in objects]",
    "try:\n    from torch.gone import inf\nexcept ImportError:\n    from math import inf",
    "try:\n    from torch.parts import leaves\nexcept ImportError:\n    from torch.parts import stays as leaves\nleaves(1)",
    "import torch\nif hasattr(torch.parts, 'leaves'):\n    torch.parts.leaves(1)",
    "import torch\ngetattr(torch.parts, 'leaves', None)",
    "from torch.parts import Wrapper\n\n\ndef f(w: Wrapper, k):\n    w = k\n    w.close()",
    "from torch.parts import Wrapper\n\n\ndef f(w: Wrapper | int):\n    w.close()",
    "from torch.parts import Wrapper\n\n\ndef f(w):\n    if isinstance(w, (Wrapper, list)):\n        w.close()",
    "from torch.parts import Wrapper\n\n\ndef f(w):\n    if not isinstance(w, Wrapper):\n        w.close()",
    (
        "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    def close(self):\n        pass\n\n\n"
        "def f(w: Wrapper):\n    w.close()"
    ),
    "from torch.parts import Middle\n\n\ndef f(w: Middle):\n    w.close()",
    "import torch\nfor name in ('leaves',):\n    setattr(torch.parts, name, print)\ntorch.parts.leaves(1)",
    "import torch\ntorch.parts.__dict__['leaves'] = print\ntorch.parts.leaves(1)",
    "import torch\nvars(torch.parts).update(leaves=print)\ntorch.parts.leaves(1)",
    "import torch\ntorch.parts.leaves, x = print, 1\ntorch.parts.leaves(1)",
    "import sys\nimport torch\nsys.modules.update({'torch.gone': torch})\nimport torch.gone",
    (
        "from unittest import mock\nimport torch\nwith mock.patch.object(torch.parts, 'leaves', create=True):\n"
        "    torch.parts.leaves(1)"
    ),
    "from unittest.mock import patch\nimport torch\n\n\n@patch('torch.parts.leaves', create=True)\ndef f(m):\n    torch.parts.leaves(1)",
    "import torch\n\n\ndef f(monkeypatch):\n    monkeypatch.setattr('torch.parts.leaves', print, raising=False)\n    torch.parts.leaves(1)",
    "import sys\nimport torch\n\n\ndef f(monkeypatch):\n    monkeypatch.setitem(sys.modules, 'torch.gone', torch)\n    import torch.gone",
    (
        "import torch\nimport wrapt\n\n\n@wrapt.patch_function_wrapper('torch.parts', 'leaves')\n"
        "def f(*a):\n    pass\n\n\ntorch.parts.leaves(1)"
    ),
    "import torch\ntorch.parts.leaves = lambda x: x\ntorch.parts.leaves(1)",
    "import sys\nimport torch\nsys.modules['torch.gone'] = torch\nimport torch.gone",
    "import torch\n\n\ndef f(torch):\n    torch.parts.leaves(1)",
    "import torch\nx = [torch.parts.leaves for torch in objects]",
    "from __future__ import annotations\nimport torch\n\n\ndef f(x: torch.parts.leaves):\n    return x",
    "from typing import TYPE_CHECKING\nimport torch\nif TYPE_CHECKING:\n    from torch.parts import leaves",
    "import torch\ntorch.parts.never_there(1)",
    "from torch.parts import Wrapper\nw = Wrapper(1)\nw.close = print\nw.close()",
    (
        "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    def close(self):\n        pass\n\n"
        "    def f(self):\n        self.close()"
    ),
    (
        "import torch\nfrom packaging import version\nif version.parse(torch.__version__) < version.parse('2.0'):\n"
        "    from torch.parts import leaves"
    ),
]


@pytest.mark.parametrize("text", SILENT)
def test_what_is_guarded_or_not_the_librarys_is_left_alone(make_project: MakeProject, table: Api, text: str) -> None:
    assert not judged(make_project, text, "torch==2.1.0")


def test_names_of_the_project_hide_the_library(make_project: MakeProject, table: Api) -> None:
    text = "from torch.gone import inf\n"
    assert not judged(make_project, text, "torch==2.1.0", torch__py="")


def test_a_name_that_the_project_passes_on_is_followed(make_project: MakeProject, table: Api) -> None:
    found = judged(
        make_project, "import compat\ncompat.P.leaves(1)\n", "torch==2.1.0", compat__py="import torch.parts as P\n"
    )
    assert [f.span.file for f in found] == ["main.py"]


def test_only_an_older_allowed_release_gives_a_warning_that_names_the_bound(
    make_project: MakeProject, table: Api
) -> None:
    (found,) = judged(make_project, "from torch.parts import comes\n", "torch>=1.13,<2.2")
    assert found.severity is Severity.WARNING
    assert "torch 1.13.1, which the pins allow (new in 2.0.0)" in found.message


@pytest.mark.parametrize("pin", ["torch<2.2", "torch<=2.1.2", "torch!=2.0.0"])
def test_a_pin_without_a_lower_bound_allows_what_an_installer_picks(
    make_project: MakeProject, table: Api, pin: str
) -> None:
    assert not judged(make_project, "from torch.parts import comes\n", pin)
    assert judged(make_project, "from torch.parts import leaves\n", pin)


def test_a_module_that_another_package_may_add(make_project: MakeProject, table: Api) -> None:
    more = 'provided = ["torch.gone"]'
    assert not judged(make_project, "import torch.gone\nprint(torch.gone.inf)\n", "torch==2.1.0", more=more)
    assert judged(make_project, "from torch.parts import leaves\n", "torch==2.1.0", more=more)


def test_a_class_member_and_an_enumeration(make_project: MakeProject, table: Api) -> None:
    (found,) = judged(make_project, "from torch.parts import Mode\nprint(Mode.FAST)\n", "torch==1.13.1")
    assert found.symbol == "torch.parts.Mode.FAST"


ARGUMENTS = [
    "from torch.parts import Wrapper\n\n\nclass C:\n    maker = Wrapper\n\n    def f(self):\n        return self.maker(1, policy=x)",
    (
        "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    def __init__(self, *args, **kwargs):\n"
        "        kwargs['policy'] = x\n        super(W, self).__init__(*args, **kwargs)"
    ),
    "from torch.parts import Wrapper\n\n\ndef f(**kw):\n    kw.update(policy=x)\n    return Wrapper(1, **kw)",
    "from torch.parts import Wrapper\n\n\ndef f(**kw):\n    kw.setdefault('policy', x)\n    return Wrapper(1, **kw)",
    "from torch.parts import Wrapper\nWrapper(1, policy=2)",
    "import torch\ntorch.parts.Wrapper(module=1, policy=2)",
    "from functools import partial\nfrom torch.parts import Wrapper\nw = partial(Wrapper, policy=2)",
    "from torch.parts import Wrapper\noptions = {'policy': 2}\nWrapper(1, **options)",
    "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    pass\n\n\nW(1, policy=2)",
    (
        "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    def __init__(self, module):\n"
        "        super().__init__(module, policy=2)"
    ),
    (
        "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    def __init__(self, module):\n"
        "        Wrapper.__init__(self, module, policy=2)"
    ),
    (
        "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    def __init__(self, module, **kwargs):\n"
        "        super().__init__(module, **kwargs)\n\n\nW(1, policy=2)"
    ),
    "from torch.parts import Wrapper\n\n\n@Wrapper(1, policy=2)\ndef f():\n    pass",
]


@pytest.mark.parametrize("text", ARGUMENTS)
def test_an_argument_that_the_release_does_not_take(make_project: MakeProject, table: Api, text: str) -> None:
    found = judged(make_project, text, "torch==2.1.0", "arguments")
    assert [f.symbol for f in found] == ["torch.parts.Wrapper(policy)"], [f.span for f in found]
    assert "removed in 2.0.0" in found[0].message
    assert not judged(make_project, text, "torch==1.13.0", "arguments")


RIGHT_CALLS = [
    (
        "from torch.parts import Wrapper\n\n\nclass C:\n    maker = Wrapper\n\n    def f(self):\n"
        "        return self.maker(1, policy=x)\n\n\nclass D(C):\n    maker = other"
    ),
    (
        "from torch.parts import Wrapper\n\n\nclass C:\n    maker = Wrapper\n\n    def f(self):\n"
        "        return self.maker(1, policy=x)\n\n\nclass D(C):\n    def maker(self, *a, **k):\n        pass"
    ),
    "from torch.parts import wants\n\n\nclass C:\n    maker = wants\n\n    def f(self):\n        return self.maker(1)",
    "from torch.parts import Wrapper\n\n\ndef f(**kw):\n    kw['policy'] = x\n    kw.pop('policy')\n    Wrapper(1, **kw)",
    "from torch.parts import Wrapper\n\n\ndef f(**kw):\n    kw['policy'] = x\n    del kw['policy']\n    Wrapper(1, **kw)",
    (
        "from torch.parts import Wrapper\n\n\ndef f(**kw):\n    kw['policy'] = x\n    for k in list(kw):\n"
        "        kw.pop(k)\n    Wrapper(1, **kw)"
    ),
    "from torch.parts import Wrapper\n\n\ndef f(**kw):\n    kw['policy'] = x\n    adapt(kw)\n    Wrapper(1, **kw)",
    "from torch.parts import Wrapper\n\n\ndef f(**kw):\n    kw['policy'] = x\n    kw = {}\n    Wrapper(1, **kw)",
    "from torch.parts import Wrapper\n\n\ndef f(**kw):\n    if x:\n        kw['policy'] = x\n    Wrapper(1, **kw)",
    "from torch.parts import Wrapper\n\n\ndef f(**kw):\n    Wrapper(1, **kw)\n    kw['policy'] = x",
    "from torch.parts import Wrapper\nWrapper(1, never=2)",
    "from torch.parts import Wrapper\n\n\ndef f(**kwargs):\n    Wrapper(1, **kwargs)",
    (
        "from torch.parts import Wrapper\n\n\nclass W(Wrapper):\n    def __init__(self, module, policy=None):\n"
        "        super().__init__(module)\n\n\nW(1, policy=2)"
    ),
    (
        "import inspect\nfrom torch.parts import Wrapper\nif 'policy' in inspect.signature(Wrapper).parameters:\n"
        "    Wrapper(1, policy=2)"
    ),
    "from torch.parts import Wrapper\ntry:\n    Wrapper(1, policy=2)\nexcept TypeError:\n    Wrapper(1)",
    "from torch.parts import Wrapper\nw = Wrapper(1)\nw.run(*range(5))",
]


@pytest.mark.parametrize("text", RIGHT_CALLS)
def test_calls_that_may_be_right_are_left_alone(make_project: MakeProject, table: Api, text: str) -> None:
    assert not judged(make_project, text, "torch==2.1.0", "arguments")


def test_numbers_of_arguments_that_only_another_release_takes(make_project: MakeProject, table: Api) -> None:
    text = "from torch.parts import grows\ngrows(1, 2)\n"
    (found,) = judged(make_project, text, "torch==1.13.1", "arguments")
    assert "in torch 1.13.1 takes fewer arguments by position (2.0.0 to 2.15.0" in found.message
    text = "from torch.parts import wants\nwants(1)\n"
    (found,) = judged(make_project, text, "torch==2.1.0", "arguments")
    assert "in torch 2.1.0 needs `b`" in found.message
    text = "from torch.parts import Wrapper\nw = Wrapper(1)\nw.run(1, 2)\n"
    (found,) = judged(make_project, text, "torch==1.13.1", "arguments")
    assert found.symbol == "torch.parts.Wrapper.run"
    assert not judged(make_project, "from torch.parts import grows\ngrows(1, 2, 3)\n", "torch==1.13.1", "arguments")


def test_what_a_call_lacks_where_no_release_takes_it_as_it_is(make_project: MakeProject, table: Api) -> None:
    text = "from torch.parts import asks\nasks(x=1)\n"
    (found,) = judged(make_project, text, "torch==2.1.0", "arguments")
    assert "needs `b` (1.13.0 to 1.13.1 do without)" in found.message


def test_plain_calls_can_be_left_to_another_rule(make_project: MakeProject, table: Api) -> None:
    text = (
        "from functools import partial\nfrom torch.parts import Wrapper\n"
        "Wrapper(1, policy=2)\npartial(Wrapper, policy=2)\n"
    )
    (found,) = judged(make_project, text, "torch==2.1.0", "arguments", 'told = ["torch.parts.Wrapper"]')
    assert found.span.line == 4


def test_names_of_one_missing_module_are_told_together(make_project: MakeProject, table: Api) -> None:
    (found,) = judged(make_project, "from torch.gone import inf, nan\n", "torch==2.1.0")
    assert "`torch.gone.inf`, `torch.gone.nan` are not in torch 2.1.0" in found.message


def test_deprecation_is_one_finding_for_a_symbol_in_a_file(make_project: MakeProject, table: Api) -> None:
    text = "from torch.parts import old_way\nimport torch\ntorch.parts.old_way(1)\ntorch.parts.old_way(2)\n"
    (found,) = judged(make_project, text, "torch==2.1.0", "deprecated")
    assert "deprecated in torch 2.1.0 (since 2.0.0)" in found.message
    assert "use stays" in found.help
    assert len(found.related) == 3
    assert not judged(make_project, text, "torch==1.13.1", "deprecated")


CHANGES = """[[check.parameters.changes]]
names = ["torch.parts.stays"]
parameter = "x"
since = "2.0.0"
before = "1"
after = "2"
why = "w"
"""


def test_a_default_that_changed_between_the_allowed_releases(make_project: MakeProject, table: Api) -> None:
    text = "from torch.parts import stays\nstays()\n"
    (found,) = judged(make_project, text, "torch>=1.13", "defaults", CHANGES)
    assert "means `2` since torch 2.0.0, `1` before" in found.message
    assert not judged(make_project, text, "torch==2.1.0", "defaults", CHANGES)
    assert not judged(make_project, text.replace("stays()", "stays(x=1)"), "torch>=1.13", "defaults", CHANGES)
    assert not judged(make_project, text.replace("stays()", "stays(1)"), "torch>=1.13", "defaults", CHANGES)


def test_a_library_that_must_be_required_is_left_alone_without_a_requirement(
    make_project: MakeProject, table: Api
) -> None:
    text = "from torch.gone import inf\n"
    assert judged(make_project, text, "numpy")
    assert not judged(make_project, text, "numpy", more="required = true")
    assert judged(make_project, text, "torch", more="required = true")


def test_names_that_a_rule_excepts_are_left_to_others(make_project: MakeProject, table: Api) -> None:
    text = "from torch.gone import inf\nfrom torch.parts import leaves\n"
    found = judged(make_project, text, "torch==2.1.0", more='except = ["torch.gone"]')
    assert [f.symbol for f in found] == ["torch.parts.leaves"]


CURATED = """[[check.parameters.symbols]]
names = ["torch.gone"]
package = "torch"
removed = "2.0.0"

[[check.parameters.symbols]]
names = ["torch.parts.Wrapper"]
keywords = ["policy"]
package = "torch"
removed = "2.0.0"
"""


def test_what_a_curated_rule_says_is_not_said_again(make_project: MakeProject, table: Api) -> None:
    curated = parse_rule(
        RULE.format(about="", more="").replace("released-api", "api-by-version").partition("[check.parameters]")[0]
        + CURATED,
        "curated.toml",
    )
    text = "from torch.gone import inf\nfrom torch.parts import Wrapper, leaves\nWrapper(1, policy=2)\n"
    project = make_project({"main.py": text, "requirements.txt": "torch==2.1.0\n"})
    for about, expected in (("names", ["torch.parts.leaves"]), ("arguments", [])):
        rule = parse_rule(RULE.format(about=about, more=""), "rule.toml")
        found = released_api(CheckContext(rule, project, lambda kind: (), (curated,)))
        assert [f.symbol for f in found] == expected


def test_arguments_that_another_class_of_the_project_takes_are_its_own(make_project: MakeProject, table: Api) -> None:
    text = (
        "from torch.parts import Wrapper\n\n\nclass Engine(Wrapper):\n    def __init__(self, module, policy=None):\n"
        "        super().__init__(module)\n\n\nclass Pipe(Engine):\n    def __init__(self, *args, **kwargs):\n"
        "        super().__init__(*args, **kwargs)\n\n\nPipe(1, policy=2)\n"
    )
    assert not judged(make_project, text, "torch==2.1.0", "arguments")
