"""Settings that a program reads from a configuration file of the project."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.rehearsal.performance import Performance, Rehearsal
from distlint.rehearsal.unknowns import Opaque
from distlint.rehearsal.values import signature
from tests.conftest import MakeProject

HEAD = "import json\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n"
READ = "with open('run.json') as file:\n    settings = json.load(file)\n"
RUN = '{"steps": 3, "model": {"width": 8, "names": ["a", "b"]}, "rate": 0.5, "name": null}'


def performed(make_project: MakeProject, code: str, **files: str) -> tuple[Performance, Performance | None]:
    """A script at first, and as it usually goes."""
    written = {name.replace("_", "."): text for name, text in files.items()}
    rehearsal = Rehearsal.of(make_project({"train.py": HEAD + code, **({"run.json": RUN} | written)}))
    (first,) = rehearsal.performances()
    return first, rehearsal.by_default(first)


def variable(performance: Performance, name: str) -> list[Any]:
    """A variable of the script behind its last statement, on each process."""
    return [stage.modules["train.py"].variables[name] for stage in performance.stages]


@pytest.mark.parametrize(
    "read",
    [
        READ,
        "settings = json.load(open('run.json'))\n",
        "settings = json.loads(open('run.json').read())\n",
        "from pathlib import Path\nsettings = json.loads((Path(__file__).parent / 'run.json').read_text())\n",
        "def load(path):\n    with open(path) as file:\n        return json.load(file)\nload('other.json')\nsettings = load('run.json')\n",
        (
            "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--config', default='run.json')\n"
            "settings = json.load(open(parser.parse_args().config))\n"
        ),
        "import yaml\nsettings = yaml.safe_load(open('run.json'))\n",
    ],
)
def test_settings_are_those_of_the_file_where_a_program_goes_as_usual(make_project: MakeProject, read: str) -> None:
    code = f"{read}steps = settings['steps']\nwidth = settings['model']['width']\n"
    first, usual = performed(make_project, code)
    assert usual is not None
    for name, value in (("steps", 3), ("width", 8)):
        before = variable(first, name)
        assert all(isinstance(one, Opaque) for one in before)
        assert len({signature(one) for one in before}) == 1
        assert variable(usual, name) == [value, value]
    assert "with the settings of `run.json`" in usual.supposes()
    assert not first.supposes()


def test_lists_and_plain_values_are_read_as_they_are(make_project: MakeProject) -> None:
    code = f"{READ}names = len(settings['model']['names'])\nrate = settings['rate']\nname = settings['name']\n"
    _, usual = performed(make_project, code)
    assert usual is not None
    assert [variable(usual, name)[0] for name in ("names", "rate", "name")] == [2, 0.5, None]


@pytest.mark.parametrize(
    ("code", "files"),
    [
        ("settings = json.load(open('elsewhere.json'))\n", {}),
        ("settings = json.load(open('/etc/run.json'))\n", {}),
        ("settings = json.loads('{\"steps\": 3}')\n", {}),
        (READ, {"run_json": "[1, 2, 3]"}),
        (READ, {"run_json": "{" + ", ".join(f'"{key}": 1' for key in range(400)) + "}"}),
    ],
)
def test_other_files_texts_and_data_are_not_settings(
    make_project: MakeProject, code: str, files: dict[str, str]
) -> None:
    first, usual = performed(make_project, code, **files)
    assert usual is None
    assert not any(stage.configurations for stage in first.stages)
