"""Which file a module name means, and what names refer to across files."""

from __future__ import annotations

import pytest

from distlint.link.modules import ClassRef, External, FunctionRef, GlobalRef, ModuleFile, ModuleTable
from distlint.link.project import Project
from distlint.model import python as ir
from tests.conftest import MakeProject

USE = "import deepspeed\n"


def table(project: Project) -> ModuleTable:
    return project.modules


@pytest.mark.parametrize(
    ("dotted", "importer", "level", "expected"),
    [
        ("lib", "pkg/train.py", 0, "pkg/lib.py"),
        ("pkg.lib", "pkg/train.py", 0, "pkg/lib.py"),
        ("lib", "train.py", 0, None),
        ("pkg", "train.py", 0, "pkg/__init__.py"),
        ("core.model", "train.py", 0, "src/core/model.py"),
        ("lib", "pkg/train.py", 1, "pkg/lib.py"),
        ("", "pkg/sub/deep.py", 2, "pkg/__init__.py"),
        ("lib", "pkg/sub/deep.py", 2, "pkg/lib.py"),
        ("lib", "pkg/sub/deep.py", 9, None),
        ("torch.distributed", "train.py", 0, None),
        ("", "train.py", 0, None),
        ("..", "train.py", 0, None),
    ],
)
def test_module_names_mean_files(make_project: MakeProject, dotted, importer, level, expected):
    files = ["train.py", "pkg/__init__.py", "pkg/lib.py", "pkg/train.py", "pkg/sub/deep.py", "src/core/model.py"]
    assert table(make_project(dict.fromkeys(files, USE))).find(dotted, importer, level) == expected


def test_names_are_followed_through_re_exports(make_project: MakeProject):
    modules = table(
        make_project(
            {
                "train.py": "from pkg import build, Engine, PATH, lib\nimport torch.distributed as dist\n",
                "pkg/__init__.py": "from .lib import *\nfrom .lib import make as build\n",
                "pkg/lib.py": f"{USE}PATH = 'x'\ndef make(): pass\n"
                "class Engine(deepspeed.Base):\n    def step(self): pass\n",
            }
        )
    )
    assert modules.lookup("build", "train.py") == FunctionRef("pkg/lib.py", 0)
    assert modules.lookup("Engine", "train.py") == ClassRef("pkg/lib.py", 0)
    assert modules.lookup("PATH", "train.py") == GlobalRef("pkg/lib.py", "PATH")
    assert modules.lookup("lib", "train.py") == ModuleFile("pkg/lib.py")
    assert modules.lookup("dist", "train.py") == External("torch.distributed")
    assert modules.lookup("nothing", "train.py") is None
    assert modules.external_bases(ClassRef("pkg/lib.py", 0)) == {"deepspeed.Base"}
    assert modules.attribute(ClassRef("pkg/lib.py", 0), "step") == FunctionRef("pkg/lib.py", 1)


def test_a_fallback_does_not_hide_the_import(make_project: MakeProject):
    text = "try:\n    from deepspeed import zero\nexcept ImportError:\n    zero = None\n"
    assert table(make_project({"a.py": text})).lookup("zero", "a.py") == External("deepspeed.zero")


def test_circles_of_imports_and_of_bases_end(make_project: MakeProject):
    files = {
        f"m{n}.py": f"{USE}from m{(n + 1) % 5} import *\nfrom m{(n + 2) % 5} import f\nclass C{n}(C{n}): pass\n"
        for n in range(5)
    }
    files["own.py"] = f"{USE}from own import *\nfrom own import x\nclass A(B): pass\nclass B(A): pass\n"
    modules = table(make_project(files))
    assert modules.lookup("f", "m0.py") is None
    assert modules.lookup("x", "own.py") is None
    assert modules.lookup("nothing", "m0.py") is None
    assert modules.method(ClassRef("own.py", 0), "step") is None
    assert modules.external_bases(ClassRef("own.py", 0)) == set()


def test_star_imports_that_branch_are_searched_once_per_module(make_project: MakeProject):
    files = {
        f"m{n}.py": USE + "".join(f"from m{(n + step) % 12} import *\n" for step in range(1, 12)) for n in range(12)
    }
    assert table(make_project(files)).lookup("nothing", "m0.py") is None


def test_classes_that_share_many_bases_are_searched_once_each(make_project: MakeProject):
    classes = [f"class C{n}({', '.join(f'C{m}' for m in range(40) if m != n)}, L{n}): pass\n" for n in range(40)]
    modules = table(make_project({"a.py": "from deepspeed import *\nimport deepspeed as L7\n" + "".join(classes)}))
    assert modules.method(ClassRef("a.py", 0), "step") is None
    assert modules.external_bases(ClassRef("a.py", 0)) == {"deepspeed"}


@pytest.mark.parametrize(
    "text",
    [
        "import torch.distributed as dist\ndist.barrier()\n",
        "import torch.distributed as torch\ntorch.barrier()\n",
        "import torch.distributed\ntorch.distributed.barrier()\n",
        "from torch import distributed as torch\ntorch.barrier()\n",
    ],
)
def test_a_dotted_expression_has_the_library_name(make_project: MakeProject, text: str):
    project = make_project({"a.py": text})
    call = project.sites("barrier")[0].site.call
    assert isinstance(call, ir.Call)
    assert table(project).dotted(call.func, "a.py") == "torch.distributed.barrier"


@pytest.mark.parametrize(
    ("imports", "name", "expected"),
    [
        ("from torch.distributed import *", "barrier", "torch.distributed.barrier"),
        ("from torch.distributed import *", "no_such_function", None),
        ("from torch.distributed import *", "_private", None),
        ("from torch import *", "sum", None),
        ("from torch.distributed import *\nfrom another_library import *", "barrier", None),
        ("from another_library import *\nfrom torch.distributed import *", "barrier", "torch.distributed.barrier"),
        ("from torch.distributed import *\nfrom lib import *", "barrier", "lib.py"),
    ],
)
def test_import_of_all_names_of_a_known_library(make_project: MakeProject, imports, name, expected):
    """The tables of released names say what it gives; a built-in name keeps its meaning, and an unknown library may give anything."""
    project = make_project({"train.py": f"{imports}\n", "lib.py": f"{USE}\ndef barrier(): pass\n"})
    found = table(project).lookup(name, "train.py")
    shown = found.name if isinstance(found, External) else getattr(found, "file", None)
    assert shown == expected
