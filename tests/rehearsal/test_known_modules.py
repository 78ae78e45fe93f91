"""Files that a program executes or imports by paths and names it has made, folders that it lists, words that it gives to a parser."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.rehearsal.witnesses import second_opinion
from tests.conftest import MakeProject
from tests.link.test_evaluate import shown

HEAD = """
import argparse, configparser, glob, importlib, importlib.util, json, os, runpy, shlex, sys, yaml
from importlib import resources
from pathlib import Path
import torch.distributed as dist
"""
FILES = {
    "conf.py": "BASE = 2\nSIZE = BASE * 3\ndef build(more=0):\n    return dict(size=SIZE + more)\n",
    "presets/__init__.py": "",
    "presets/wide.py": "SIZES = dict(size=5)\n",
    "presets/wide.json": '{"size": 4}',
    "more/10-base.json": '{"size": 1, "kind": "plain"}',
    "more/20-over.json": '{"size": 7}',
    "more/notes.txt": "nothing",
    "words.txt": "--size 3 --name 'one two'\n",
    "two.yaml": "size: 1\n---\nsize: 9\n",
    "sizes.ini": "[mesh]\nsize = 8\n",
}


def seen(make_project: MakeProject, body: str, options: str = "") -> list[Any]:
    """What the arguments of ``probe`` are in the only run."""
    run_sh = f"torchrun --nproc_per_node 4 train.py {options}\n"
    project = make_project({"train.py": HEAD + body + "\n", "run.sh": run_sh, **FILES})
    project.second_opinion = second_opinion
    (run,) = project.runs
    evaluator = project.evaluator(run)
    return [
        shown(evaluator.ask(found.site.call.args[0], found.file, found.site.function))
        for found in project.sites("probe")
    ]


FROM_SPEC = """
spec = importlib.util.spec_from_file_location("any", Path(__file__).parent / "conf.py")
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)
probe(made.build(more=1)["size"])
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("space = {}\nexec(open('conf.py').read(), space)\nprobe(space['SIZE'])", 6),
        ("space = {}\nexec(compile(Path('conf.py').read_text(), 'conf.py', 'exec'), space)\nprobe(space['BASE'])", 2),
        ("SIZE = 1\nexec(open('conf.py').read())\nprobe(SIZE)", 6),
        ("SIZE = 1\nexec(open(input()).read())\nprobe(SIZE)", "?"),
        ("SIZE = 1\nexec(open(input()).read(), {})\nprobe(SIZE)", 1),
        ("probe(runpy.run_path('conf.py')['SIZE'])", 6),
        (FROM_SPEC, 7),
        ("probe(importlib.import_module('presets.' + sys.argv[1]).SIZES['size'])", 5),
    ],
)
def test_a_file_that_is_executed_has_its_variables(make_project: MakeProject, body: str, expected: Any) -> None:
    assert seen(make_project, body, "wide") == [expected]


MERGED = """
found = {}
for path in LISTED:
    found.update(json.loads(Path(path).read_text()))
probe(found["size"])
"""


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("sorted(Path('more').glob('*.json'))", 7),
        ("sorted(glob.glob('more/*.json'))", 7),
        ("sorted(glob.glob('more/*.json'), reverse=True)", 1),
        ("[f'more/{one}' for one in sorted(os.listdir('more')) if one.endswith('.json')]", 7),
        ("glob.glob('more/1*.json')", 1),
        ("Path('more').glob('*.json')", "?"),
        ("[resources.files('presets') / 'wide.json']", 4),
    ],
)
def test_a_folder_is_listed_in_an_order_that_only_sorting_tells(
    make_project: MakeProject, listed: str, expected: Any
) -> None:
    assert seen(make_project, MERGED.replace("LISTED", listed)) == [expected]


PARSER = """
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=1)
parser.add_argument("--name", default="")
args = parser.parse_args(WORDS)
probe(args.size)
probe(args.name)
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("shlex.split(open('words.txt').read())", [3, "one two"]),
        ("['--name', 'x'] + shlex.split('--size 4')", [4, "x"]),
        ("shlex.split(input())", ["?", "?"]),
        ("", [2, ""]),
    ],
)
def test_a_parser_reads_the_words_that_the_program_gives(make_project: MakeProject, words: str, expected: Any) -> None:
    assert seen(make_project, PARSER.replace("WORDS", words), "--size 2") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("probe(list(yaml.safe_load_all(open('two.yaml')))[1]['size'])", 9),
        (
            "ini = configparser.ConfigParser()\nini.read_string(Path('sizes.ini').read_text())\nprobe(ini['mesh'].getint('size'))",
            8,
        ),
        (
            "ini = configparser.ConfigParser()\nwith open('sizes.ini') as f:\n    ini.read_file(f)\nprobe(ini.getint('mesh', 'size'))",
            8,
        ),
    ],
)
def test_settings_are_read_from_open_files_and_texts(make_project: MakeProject, body: str, expected: Any) -> None:
    assert seen(make_project, body) == [expected]


ONE_OPTION = """
parser = argparse.ArgumentParser()
parser.add_argument("--plan", type=KIND, default=1)
probe(parser.parse_args().plan)
"""


@pytest.mark.parametrize(("options", "expected"), [("--plan wide", [4]), ("", [1]), ("--plan unheard", [None])])
def test_a_table_may_read_an_option(make_project: MakeProject, options: str, expected: Any) -> None:
    assert seen(make_project, ONE_OPTION.replace("KIND", "{'small': 1, 'wide': 4}.get"), options) == expected


@pytest.mark.parametrize("kind", ["lambda text: Path(input())", "lambda text: unheard_of(text)", "unheard_of"])
def test_an_option_that_is_given_and_not_read_has_not_its_default(make_project: MakeProject, kind: str) -> None:
    assert seen(make_project, ONE_OPTION.replace("KIND", kind), "--plan 4") != [1]


def test_an_object_takes_the_options_of_a_parser(make_project: MakeProject) -> None:
    body = """
class Settings(argparse.Namespace):
    name = "own"
    @classmethod
    def read(cls):
        p = argparse.ArgumentParser()
        p.add_argument("--size", type=int, default=1)
        p.add_argument("--name", default="given")
        return p.parse_args(namespace=cls())
    @property
    def doubled(self):
        return self.size * 2
settings = Settings.read()
probe(settings.doubled)
probe(settings.name)
"""
    # what the object has already is no default
    assert seen(make_project, body, "--size 4") == [8, "?"]


LAZY = """
import lazy
probe(lazy.Size().doubled)
probe(getattr(importlib.import_module("json"), "loads")('{"a": 3}')["a"])
"""
LAZY_MODULE = """
import importlib
TABLE = {"Size": ("presets.sizes", "Size")}
def __getattr__(name):
    module, attribute = TABLE[name]
    return getattr(importlib.import_module(module), attribute)
"""


def test_a_module_says_itself_what_it_has_besides(make_project: MakeProject) -> None:
    files = {"train.py": HEAD + LAZY, "lazy.py": LAZY_MODULE, "presets/__init__.py": ""}
    size = "class Size:\n    own = 4\n    @property\n    def doubled(self):\n        return self.own * 2\n"
    run_sh = "torchrun --nproc_per_node 4 train.py\n"
    project = make_project({**files, "presets/sizes.py": size, "run.sh": run_sh})
    project.second_opinion = second_opinion
    (run,) = project.runs
    evaluator = project.evaluator(run)
    found = [shown(evaluator.ask(c.site.call.args[0], c.file, c.site.function)) for c in project.sites("probe")]
    assert found == [8, 3]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("@words.txt", [3, "one two"]),
        ("--size 9 @words.txt --name x", [3, "x"]),
        ("@unheard.txt", ["?", "?"]),
        ("", [1, ""]),
    ],
)
def test_a_file_of_words_is_read_as_the_command_line(
    make_project: MakeProject, options: str, expected: list[Any]
) -> None:
    body = PARSER.replace("ArgumentParser()", "ArgumentParser(fromfile_prefix_chars='@')").replace("WORDS", "")
    words = {"words.txt": "--size\n3\n--name\none two\n"}
    project = make_project(
        {"train.py": HEAD + body, "run.sh": f"torchrun --nproc_per_node 4 train.py {options}\n", **words}
    )
    (run,) = project.runs
    evaluator = project.evaluator(run)
    found = [shown(evaluator.ask(c.site.call.args[0], c.file, c.site.function)) for c in project.sites("probe")]
    assert found == expected
