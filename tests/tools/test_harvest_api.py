"""The harvester of released APIs: made-up packages in, rows out; adding releases one by one gives what all at once gives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from distlint.knowledge.api import Api

HARVEST = Path(__file__).parents[2] / "tools" / "harvest"

FIRST = {
    "accelerate/__init__.py": "from .core import Engine, helper\nfrom . import extra\n",
    "accelerate/core.py": (
        "import warnings\n"
        "class Base:\n"
        "    def inherited(self): pass\n"
        "class Engine(Base):\n"
        "    def __init__(self, model, fp16=False, *, steps=1):\n"
        "        self.model = model\n"
        "    def gone(self): pass\n"
        "    def run(self, data, old=None):\n"
        "        if old is not None:\n"
        "            warnings.warn('`old` is deprecated, use `data` instead')\n"
        "def helper(a, b=2): pass\n"
    ),
    "accelerate/extra.py": "def tool(x): pass\nLIMIT = 3\n",
    "accelerate/dynamic.py": "NAMES = ['made']\nfor name in NAMES:\n    globals()[name] = 1\ndef fixed(): pass\ndef later(): pass\n",
    "accelerate/bound.py": (
        "from accelerate._C import Store, start\n"
        "class Meta(type):\n"
        "    @property\n"
        "    def WORLD(cls): return 1\n"
        "class Group:\n"
        "    WORLD = 1\n"
        "class Open:\n"
        "    def __init__(self, **given):\n"
        "        for name, value in given.items(): setattr(self, name, value)\n"
        "    def hook(self): pass\n"
        "    plain = 1\n"
        "def listed(): pass\n"
        "class Listed: pass\n"
    ),
    "accelerate/_C.pyi": "class Store: ...\ndef start() -> None: ...\n",
}
SECOND = {
    **FIRST,
    "accelerate/core.py": (
        "from typing_extensions import deprecated\n"
        "from .settings import Settings\n"
        "class Base:\n"
        "    def inherited(self): pass\n"
        "class Engine(Base):\n"
        "    def __init__(self, model, *, steps=2):\n"
        "        self.model = model\n"
        "    def run(self, data): pass\n"
        "@deprecated('use `Engine` instead')\n"
        "def helper(a, b=2): pass\n"
    ),
    "accelerate/settings.py": (
        "from dataclasses import dataclass, field\n"
        "@dataclass\n"
        "class Parent:\n"
        "    first: int\n"
        "    hidden: int = field(default=0, init=False)\n"
        "@dataclass\n"
        "class Settings(Parent):\n"
        "    second: list = field(default_factory=list)\n"
    ),
    "accelerate/utils/__init__.py": "from accelerate.tools import tool\n",
    "accelerate/tools.py": "def tool(x): pass\n",
    "accelerate/dynamic.py": "NAMES = ['made']\nfor name in NAMES:\n    globals()[name] = 1\ndef fixed(): pass\n",
}
del SECOND["accelerate/extra.py"]
SECOND["accelerate/bound.py"] = (
    "import accelerate\n"
    "if not accelerate._C._bound_init(): raise RuntimeError\n"
    "class Meta(type):\n"
    "    @property\n"
    "    def WORLD(cls): return 1\n"
    "class Group(metaclass=Meta): pass\n"
    "class Open:\n"
    "    def __init__(self, **given):\n"
    "        for name, value in given.items(): setattr(self, name, value)\n"
)
SECOND["accelerate/__init__.py"] = "from .core import Engine, helper\nfrom . import tools\n"
PATCH = {**FIRST, "accelerate/extra.py": "def tool(x, y=None): pass\n"}


def put(folder: Path, version: str, files: dict[str, str], *, yanked: bool = False) -> None:
    release = folder / f"accelerate-{version}"
    for name, text in files.items():
        (release / name).parent.mkdir(parents=True, exist_ok=True)
        (release / name).write_text(text, encoding="utf-8")
    record = {"package": "accelerate", "version": version, "yanked": yanked}
    (release / "release.json").write_text(json.dumps(record), encoding="utf-8")


def harvest(folder: Path, target: Path, *options: str) -> str:
    pytest.importorskip("packaging")
    command = [sys.executable, str(HARVEST), "accelerate", "--offline", "--only", "api", "--workers", "1"]
    command += ["--folder", str(folder), "--target", str(target), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Api:
    folder = tmp_path_factory.mktemp("releases")
    put(folder, "1.0", FIRST)
    put(folder, "1.0.1", PATCH)
    put(folder, "2.0", SECOND)
    target = folder / "api.zip"
    harvest(folder, target)
    return Api(target)


def test_one_by_one_equals_all_at_once_even_for_a_patch_of_an_old_branch(tmp_path: Path) -> None:
    releases = {"1.0": FIRST, "1.0.1": PATCH, "2.0": SECOND}
    for version, files in releases.items():
        put(tmp_path / "all", version, files)
    harvest(tmp_path / "all", tmp_path / "all.zip")
    for version in ("1.0", "2.0", "1.0.1"):
        put(tmp_path / "some", version, releases[version])
        harvest(tmp_path / "some", tmp_path / "some.zip")
    both = [Api(tmp_path / name).edition.checksum for name in ("all.zip", "some.zip")]
    assert both[0] == both[1] != ""
    assert Api(tmp_path / "some.zip").releases("accelerate") == ("1.0", "1.0.1", "2.0")
    assert Api(tmp_path / "some.zip").is_intact()


def test_the_same_input_gives_the_same_bytes_and_nothing_new_is_left_alone(tmp_path: Path) -> None:
    put(tmp_path, "1.0", FIRST)
    for name in ("a.zip", "b.zip"):
        harvest(tmp_path, tmp_path / name)
    before = (tmp_path / "a.zip").read_bytes()
    assert before == (tmp_path / "b.zip").read_bytes()
    assert "nothing new" in harvest(tmp_path, tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == before


def test_a_report_tells_what_a_release_changed(tmp_path: Path) -> None:
    put(tmp_path, "1.0", FIRST)
    harvest(tmp_path, tmp_path / "api.zip")
    put(tmp_path, "2.0", SECOND)
    harvest(tmp_path, tmp_path / "api.zip", "--report", str(tmp_path / "report"))
    report = (tmp_path / "report").read_text(encoding="utf-8")
    assert "accelerate.core.Engine.gone" in report
    assert "accelerate.extra.tool -> accelerate.tools.tool" in report
    assert "accelerate.core.Engine: -fp16=False -steps=1 +steps=2" in report
    assert "deprecated (1)\n    accelerate.core.helper" in report


def test_a_withdrawn_release_is_known_and_marked(tmp_path: Path) -> None:
    put(tmp_path, "1.0", FIRST)
    put(tmp_path, "2.0", SECOND, yanked=True)
    harvest(tmp_path, tmp_path / "api.zip")
    table = Api(tmp_path / "api.zip")
    assert table.covers("accelerate", "2.0")
    assert table.yanked("accelerate") == ("2.0",)


@pytest.mark.parametrize(
    ("name", "version", "state"),
    [
        ("accelerate.Engine", "1.0", "present"),
        ("accelerate.Engine.gone", "1.0", "present"),
        ("accelerate.Engine.gone", "2.0", "absent"),
        ("accelerate.Engine.inherited", "2.0", "present"),
        ("accelerate.Engine.model", "2.0", "present"),
        ("accelerate.Engine.never", "2.0", "unknown"),
        ("accelerate.extra", "2.0", "absent"),
        ("accelerate.extra.tool", "2.0", "absent"),
        ("accelerate.utils.tool", "1.0", "absent"),
        ("accelerate.utils.tool", "2.0.0", "present"),
        ("accelerate.dynamic.made", "1.0", "unknown"),
        ("accelerate.dynamic.later", "2.0", "absent"),
        ("accelerate.bound.Group.WORLD", "2.0", "present"),
        ("accelerate.bound.Open.hook", "2.0", "absent"),
        ("accelerate.bound.Open.plain", "2.0", "unknown"),
        ("accelerate.bound.Store", "2.0", "unknown"),
        ("accelerate.bound.Listed", "2.0", "unknown"),
        ("accelerate.bound.listed", "2.0", "absent"),
        ("accelerate.Engine", "3.0", "unknown"),
        ("other.Engine", "1.0", "unknown"),
    ],
)
def test_names_are_present_absent_or_unknown(table: Api, name: str, version: str, state: str) -> None:
    assert table.find(name, version).state == state


def test_an_absent_name_comes_with_the_releases_that_have_it(table: Api) -> None:
    found = table.find("accelerate.extra.tool", "2.0")
    assert (found.missing, found.others) == ("accelerate.extra", (("1.0", "1.0.1"),))
    assert table.moved("accelerate.extra.tool", "2.0") == "accelerate.tools.tool"


def test_imports_need_the_module_and_the_name(table: Api) -> None:
    assert table.find_import("accelerate.extra", None, "1.0").state == "present"
    assert table.find_import("accelerate.extra", "tool", "2.0").missing == "accelerate.extra"
    assert table.find_import("accelerate.core", "helper", "2.0").state == "present"
    assert table.find_import("accelerate.nowhere", None, "2.0").state == "unknown"


def test_constructors_keywords_and_defaults(table: Api) -> None:
    symbol = table.find("accelerate.Engine", "2.0").symbol
    assert symbol is not None
    assert symbol.accepts("steps") is True
    assert symbol.accepts("fp16") is False
    assert table.default("accelerate.Engine", "steps", "2.0") == "2"
    assert table.history("accelerate.Engine", "fp16") == (("1.0", "1.0.1"),)
    settings = table.find("accelerate.settings.Settings", "2.0").symbol
    assert settings is not None
    assert settings.parameters is not None
    assert [one.name for one in settings.parameters] == ["first", "second"]


def test_deprecations_of_names_and_of_parameters(table: Api) -> None:
    assert table.deprecated_since("accelerate.helper", "2.0") == "2.0"
    assert table.deprecated_since("accelerate.helper", "1.0") == ""
    run = table.find("accelerate.Engine.run", "1.0").symbol
    assert run is not None
    assert list(run.deprecated_parameters) == ["old"]


def test_a_missing_or_damaged_table_knows_nothing(tmp_path: Path) -> None:
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 no archive")
    for name in ("none.zip", "broken.zip"):
        table = Api(tmp_path / name)
        assert table.packages == ()
        assert table.find("accelerate.Engine", "1.0").state == "unknown"
        assert not table.is_intact()
