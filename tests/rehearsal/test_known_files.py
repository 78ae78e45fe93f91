"""Texts and paths of the project's own files, as a run that is known reads them."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.rehearsal.witnesses import second_opinion
from tests.conftest import MakeProject
from tests.link.test_evaluate import shown

HEAD = """
from csv import reader
import csv, json, os, runpy, string, yaml
import torch.distributed as dist
from pathlib import Path
"""
FILES = {
    "conf/job.env": "# knobs\nSTAGES=2\n\nRATE = 0.5\n",
    "conf/runs.csv": "row,tp,mode\nfirst,1,plain\nsecond,4,fast\n",
    "conf/plan.yaml": "size: ${DEGREE}\nkind: $KIND\n",
    "conf/values.py": "BASE = 3\nplugin = dict(size=BASE * 2)\n",
    "conf/more.env": "DEGREE=9\nexport EXTRA='x'\n",
    "conf/large.txt": "x" * 30_000,
}


def seen(make_project: MakeProject, body: str) -> Any:
    """What the argument of ``probe`` is in the only run."""
    run_sh = "export DEGREE=4\nKIND=fast torchrun --nproc_per_node 4 tools/train.py\n"
    project = make_project({"tools/train.py": HEAD + body + "\n", "run.sh": run_sh, **FILES})
    project.second_opinion = second_opinion
    (run,) = project.runs
    (found,) = project.sites("probe")
    return shown(project.evaluator(run).ask(found.site.call.args[0], found.file, found.site.function))


KNOBS = """
class Knobs(dict):
    @classmethod
    def load(cls, path):
        found = cls()
        for line in OPENED:
            line = line.strip()
            if line and not line.startswith("#"):
                key, _, value = line.partition("=")
                found[key.strip().lower()] = float(value) if "." in value else int(value)
        return found
probe({**Knobs.load(Path(__file__).resolve().parents[1] / "conf" / "job.env")})
"""


@pytest.mark.parametrize("opened", ["path.read_text().splitlines()", "open(path)", "path.open().readlines()"])
def test_a_file_is_read_line_by_line(make_project: MakeProject, opened: str) -> None:
    assert seen(make_project, KNOBS.replace("OPENED", opened)) == {"stages": 2, "rate": 0.5}


CSV = """
def pick(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conf", "runs.csv")) as file:
        for record in csv.DictReader(file):
            if record.pop("row") == name:
                return {key: int(one) if one.isdigit() else one for key, one in record.items()}
probe(pick("second"))
"""


def test_the_rows_of_a_table_are_those_of_the_file(make_project: MakeProject) -> None:
    assert seen(make_project, CSV) == {"tp": 4, "mode": "fast"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("string.Template(text).substitute({'DEGREE': '1', **os.environ})", {"size": 4, "kind": "fast"}),
        ("string.Template(text).safe_substitute(DEGREE=8, KIND='slow')", {"size": 8, "kind": "slow"}),
        ("os.path.expandvars(text)", {"size": 4, "kind": "fast"}),
        ("string.Template(text).substitute(DEGREE=input(), KIND='slow')", {"...": True}),
        ("os.path.expandvars(text + 'more: $UNSET')", {"...": True}),
    ],
)
def test_templates_are_filled_in_with_what_the_launch_sets(
    make_project: MakeProject, text: str, expected: object
) -> None:
    body = f"text = Path('conf/plan.yaml').read_text()\nprobe(dict(list(yaml.safe_load({text}).items())))"
    assert seen(make_project, body) == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("runpy.run_path('conf/values.py')['plugin']", {"size": 6}),
        ("str(Path('conf') / 'a.yaml')", "conf/a.yaml"),
        ("[f\"{Path('conf', 'a.yaml').with_suffix('.json')}\"][0]", "conf/a.json"),
        ("[one.name for one in Path('conf/a/b').parents][0]", "a"),
        ("[*csv.reader(Path('conf/runs.csv').open())][2][1] + ''", "4"),
        ("[row[2] for row in reader(open('conf/runs.csv'))][0]", "mode"),
        ("len(open('conf/runs.csv', 'rb').read()) + 0", "?"),
        ("len(Path('conf/large.txt').read_text()) + 0", "?"),
        ("len(Path('conf/none.txt').read_text()) + 0", "?"),
    ],
)
def test_paths_and_modules(make_project: MakeProject, asked: str, expected: object) -> None:
    assert seen(make_project, f"probe({asked})") == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("[int(one) for one in re.fullmatch(r'(\\d+)x(\\d+)', '4x2').groups()]", [4, 2]),
        ("re.compile(r'tp(?P<tp>[0-9]+)').match('tp8-pp1')['tp'] + ''", "8"),
        ("[2 if re.search('pp', 'tp8') else 1 if re.search('tp', 'tp8') else 0][0]", 1),
        ("dict((key, int(one)) for key, one in re.findall(r'([a-z]+)=([0-9]+)', 'tp=3,pp=1'))", {"tp": 3, "pp": 1}),
        ("re.sub('[0-9]', '', 'a1b2') + re.split('-', 'x-y')[1]", "aby"),
        ("[one for one in re.match(r'(a+)+b', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaac').groups()]", ["..."]),
        (
            "[one for one in re.match(r'(a|aa)*b', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac').groups()]",
            ["..."],
        ),
        ("ast.literal_eval('{\"a\": (1, [2])}')['a'][1][0] + 1", 3),
        ("{key.lower(): int(one) for key, one in os.environ.items() if key.startswith('DEG')}", {"degree": 4}),
        ("dict(os.environ)['DEGREE'] + ''", "4"),
        ("len([1 for key in os.environ.keys() if key == 'WORLD_SIZE']) + 0", 1),
        ("len(ast.literal_eval('[1, {2}, b\"x\"]')) + 0", 3),
        ("int(dotenv.dotenv_values('conf/job.env')['STAGES']) + 1", 3),
    ],
)
def test_patterns_literals_and_the_environment(make_project: MakeProject, asked: str, expected: object) -> None:
    assert seen(make_project, f"import ast, dotenv, re\nprobe({asked})") == expected


def test_variables_of_a_file_do_not_replace_those_of_the_launch(make_project: MakeProject) -> None:
    body = "import dotenv\ndotenv.load_dotenv('conf/more.env')\nprobe(os.environ['DEGREE'] + os.environ['EXTRA'])"
    assert seen(make_project, body) == "4x"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("config.num_local_experts * 2", 16), ("config.hidden_size + 0", "?"), ("changed.num_local_experts + 0", 4)],
)
def test_a_configuration_has_what_it_was_made_with(make_project: MakeProject, asked: str, expected: object) -> None:
    body = "from transformers import MixtralConfig\nconfig = MixtralConfig(num_local_experts=8)\n"
    body += "changed = MixtralConfig(num_local_experts=8)\nchanged.num_local_experts = 4\n"
    assert seen(make_project, f"{body}probe({asked})") == expected
