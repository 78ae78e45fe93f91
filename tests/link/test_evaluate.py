"""What expressions evaluate to: through assignments, calls, parameters, attributes, mappings, files and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from distlint.link import evaluate
from distlint.link.abstract import Abstract, node_of, options_of
from distlint.link.project import Project
from distlint.model.document import Leaf
from distlint.model.document import Mapping as Tree
from distlint.model.document import Sequence as Items
from distlint.model.span import whole_line
from distlint.model.value import Confidence, State, Value
from tests.conftest import MakeProject

HEAD = "import deepspeed\n"


def probe(project: Project, name: str = "probe") -> list[Abstract]:
    """What the first argument of each call of ``probe`` is."""
    evaluator = project.evaluator(None)
    return [evaluator.ask(c.site.call.args[0], c.file, c.site.function) for c in project.sites(name)]


def _hashable(option: Any) -> Any:
    return option if isinstance(option, str | int | float | bool | None) else repr(option)


def shown(value: Abstract) -> Any:
    """A value as plain data: ``?`` for unknown, ``(a|b)`` for one of several, keys with ``?`` where only some paths set them."""
    options = options_of(value)
    if len(options) > 1:
        return [shown(option) for option in options]
    node = node_of(value, whole_line("x"))
    if isinstance(node, Leaf):
        state = node.value.state
        return (
            node.value.only
            if state is State.KNOWN
            else set(map(_hashable, node.value.options))
            if state is State.ONE_OF
            else "?"
        )
    if isinstance(node, Items):
        return [shown(item) for item in node.items] + (["..."] if node.open else [])
    assert isinstance(node, Tree)
    plain = {f"{e.key}{'' if e.certain else '?'}": shown(e.node) for e in node.entries}
    return {**plain, **({"...": True} if node.open else {})}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x = 1\nx = x + 2\nprobe(x)", 3),
        ("x = 1\nx += 4\nprobe(x)", 5),
        ("a, (b, c) = 1, (2, 3)\nprobe(c)", 3),
        ("a = b = 7\nprobe(a * b)", 49),
        ("if cond():\n    x = 1\nelse:\n    x = 2\nprobe(x)", {1, 2}),
        ("x = 1\nif cond():\n    raise SystemExit\n    x = 2\nprobe(x)", 1),
        ("if cond():\n    x = 1\nprobe(x)", 1),
        ("x = 0\nfor i in things():\n    x = x + 1\nprobe(x)", "?"),
        ("x = 3\nfor i in things():\n    y = i\nprobe(x)", 3),
        ("for x in (1, 2):\n    probe(x)", {1, 2}),
        ("d = {}\nfor i in things():\n    d['a'] = i\nprobe(d)", {"a?": "?"}),
        ("d = {'a': 1}\nwhile cond():\n    d['a'] = 2\nprobe(d)", {"a": {1, 2}}),
        ("x = 1\nwhile cond():\n    if cond():\n        x = 2\nprobe(x)", {1, 2}),
        ("try:\n    x = risky()\nexcept ValueError:\n    x = 1\nprobe(x)", "?"),
        ("x = 4 if cond() else 8\nprobe(x // 2)", {2, 4}),
        ("x = None\nprobe(x or 5)", 5),
        (
            "def f(k):\n    if k == 1:\n        x = 'a'\n    elif k == 2:\n        x = 'b'\n    return {x: 1, 'c': 2}\nprobe(f(q()))",
            {"a?": 1, "b?": 1, "c": 2},
        ),
        ("probe(f'{1 + 1}-{\"a\"}')", "2-a"),
        ("probe(f'{3:03d}-{\"a\"!r}-{0.25:.0%}')", "003-'a'-25%"),
        ("probe(f'{3:{4}}')", "?"),
        ("probe(f'{3:99999}')", "?"),
        ("probe('{:03d}-{name!r:>4}'.format(3, name='a'))", "003- 'a'"),
        ("probe('{:99999}'.format(3))", "?"),
        ("probe({**{'a': 1}, 'b': 2}['a'])", 1),
        ("probe(dict(a=1, **{'b': 2}))", {"a": 1, "b": 2}),
        ("d = {'a': {'b': 1}}\nd['a']['b'] = 2\nd['c'] = 3\nprobe(d)", {"a": {"b": 2}, "c": 3}),
        ("d = {'a': 1}\nd.update(b=2)\nd.update({'a': 3})\nprobe(d)", {"b": 2, "a": 3}),
        ("d = {'a': 1}\nd.update(unknown())\nprobe(d)", {"a": "?", "...": True}),
        ("d = {'a': 1, 'b': 2}\ndel d['a']\nd.pop('b')\nprobe(d)", {}),
        ("d = {'a': 1}\nd.setdefault('a', 5)\nd.setdefault('b', 6)\nprobe(d)", {"a": 1, "b": 6}),
        ("d = {'a': {}}\nd.get('a')['b'] = 1\nprobe(d)", {"a": "?", "...": True}),
        ("d = {}\nd.setdefault('a', {}).update(b=1)\nprobe(d['a'])", "?"),
        ("d = {}\nif cond():\n    d['a'] = 1\nprobe(d)", {"a?": 1}),
        ("d = {'n': 1}\nd[key()] = 2\nprobe(d)", {"n": "?", "...": True}),
        ("d = {'a': 1}\nprobe(d.get('b', 9))", 9),
        ("from pathlib import Path\nprobe(Path('a') / 'b.json')", "a/b.json"),
        ("import os\nprobe(os.path.join('a', 'b', 'c.json'))", "a/b/c.json"),
        ("probe('A-b'.lower().replace('-', '_'))", "a_b"),
        ("probe(2 ** 10000)", "?"),
        ("probe('x' * 10**9)", "?"),
        ("probe(x := 5)", 5),
        ("probe(undefined)", "?"),
        ("x = x\nprobe(x)", "?"),
    ],
)
def test_one_file(make_project: MakeProject, body: str, expected: Any) -> None:
    assert shown(probe(make_project({"a.py": HEAD + body + "\n"}))[0]) == expected


def test_a_parameter_is_what_the_callers_give(make_project: MakeProject) -> None:
    text = HEAD + "def f(a, b=2):\n    probe(a + b)\ndef g():\n    f(1)\n    f(1, b=5)\n"
    assert shown(probe(make_project({"a.py": text}))[0]) == {3, 6}


def test_configurations_of_different_callers_stay_apart(make_project: MakeProject) -> None:
    text = HEAD + "def start(cfg):\n    probe(cfg)\nstart({'a': 1, 'b': 1})\nstart({'a': 2, 'b': 2})\n"
    assert shown(probe(make_project({"a.py": text}))[0]) == [{"a": 1, "b": 1}, {"a": 2, "b": 2}]


def test_a_function_that_nobody_calls_has_unknown_parameters(make_project: MakeProject) -> None:
    assert shown(probe(make_project({"a.py": HEAD + "def f(a=1):\n    probe(a)\n"}))[0]) == "?"


def test_values_cross_modules_through_reexports_and_calls(make_project: MakeProject) -> None:
    project = make_project(
        {
            "train.py": HEAD + "from pkg import make, SIZE as S\nprobe(make(S, extra={'k': 1}))\n",
            "pkg/__init__.py": "from .conf import *\n",
            "pkg/conf.py": "SIZE = 4\ndef make(n, extra):\n    cfg = {'size': n, **extra}\n    if n == 4:\n        cfg['four'] = True\n    return cfg\n# deepspeed\n",  # noqa: E501 - one program in one line
        }
    )
    assert shown(probe(project)[0]) == {"size": 4, "k": 1, "four": True}


def test_attributes_go_through_the_methods_that_set_them(make_project: MakeProject) -> None:
    text = (
        HEAD
        + "class T:\n    kind = 'x'\n    def __init__(self, n):\n        self.n = n\n        self.cfg = {'n': self.n}\n"
        "    def go(self):\n        probe(self.cfg)\n        probe(self.kind)\nT(3).go()\n"
    )
    assert [shown(value) for value in probe(make_project({"a.py": text}))] == [{"n": 3}, "x"]


def test_a_method_called_between_two_stores_sees_the_first(make_project: MakeProject) -> None:
    text = (
        HEAD + "class T:\n    def __init__(self, n):\n        self.model = n\n        self.restore()\n"
        "        self.model = 'wrapped'\n        self.run()\n"
        "    def restore(self):\n        probe(self.model)\n"
        "    def run(self):\n        probe(self.model)\n"
        "    def later(self):\n        probe(self.model)\nT('plain').later()\n"
    )
    assert [shown(value) for value in probe(make_project({"a.py": text}))] == ["plain", "wrapped", "wrapped"]


def test_a_mapping_that_a_function_changes_is_what_the_function_leaves(make_project: MakeProject) -> None:
    text = HEAD + "def fill(c):\n    c['a'] = 1\nd = {}\nfill(d)\nprobe(d)\n"
    assert shown(probe(make_project({"a.py": text}))[0]) == {"a": 1}


@pytest.mark.parametrize(
    "load",
    [
        "json.load(open('conf/ds.json'))",
        "json.load(open(os.path.join(os.path.dirname(__file__), 'conf', 'ds.json')))",
        "json.loads(Path('conf/ds.json').read_text())",
        "json.loads(open('conf/ds.json').read())",
        "json.load(Path(__file__).parent.joinpath('conf/ds.json').open())",
        "json.load(Path(__file__).with_name('conf').joinpath('ds.json').open())",
        "json.loads((Path(__file__).resolve().parents[0] / 'conf/ds.yaml').with_suffix('.json').read_text())",
        "json.load(open(os.path.splitext('conf/ds.yaml')[0] + '.json'))",
        "json.load(open(os.path.join(os.path.split(__file__)[0], 'conf', 'ds.json')))",
        "json.load(open('conf/ds.json' if not os.path.isabs('conf/ds.json') else 'other.json'))",
    ],
)
def test_a_loaded_file_is_its_tree(make_project: MakeProject, load: str) -> None:
    project = make_project(
        {
            "a.py": f"import deepspeed, json, os\nfrom pathlib import Path\nprobe({load})\n",
            "conf/ds.json": '{"train_batch_size": 8}',
        }
    )
    value = probe(project)[0]
    assert shown(value) == {"train_batch_size": 8}
    assert isinstance(value, Tree)
    assert value.entries[0].key_span.file == "conf/ds.json"


@pytest.mark.parametrize(
    ("path", "ends"),
    [
        ("f'{out}/epoch_{n}.bin'", ("", ".bin")),
        ("'run-' + out + '.bin'", ("run-", ".bin")),
        ("os.path.join(out, f'epoch_{n}', 'model.bin')", ("", "model.bin")),
        ("Path(out) / f'epoch_{n}.bin'", ("", ".bin")),
        ("'step_%05d.bin' % n", ("step_", ".bin")),
        ("'step_{}.{kind}.bin'.format(n, kind='model')", ("step_", ".bin")),
        ("'{0:{1}}'.format(1, 10**9)", None),
        ("n + 1", None),
        ("os.path.basename(out)", None),
    ],
)
def test_of_a_text_with_unknown_parts_the_ends_are_known(
    make_project: MakeProject, path: str, ends: tuple[str, str] | None
) -> None:
    text = HEAD + f"import os\nfrom pathlib import Path\ndef go(out, n):\n    probe({path})\n"
    value = probe(make_project({"a.py": text}))[0]
    assert isinstance(value, Leaf)
    assert value.value.is_unknown
    assert value.value.ends == ends


def test_a_template_with_a_dot_outside_its_fields_is_filled_in(make_project: MakeProject) -> None:
    assert shown(probe(make_project({"a.py": HEAD + "probe('epoch_{}.bin'.format(3))\n"}))[0]) == "epoch_3.bin"


def test_paths_never_leave_the_project(make_project: MakeProject) -> None:
    project = make_project({"a.py": HEAD + "import json\nprobe(json.load(open('../../etc/ds.json')))\n"})
    assert shown(probe(project)[0]) == "?"


OPTIONS = (
    "import argparse, deepspeed\np = argparse.ArgumentParser()\ng = p.add_argument_group('g')\n"
    "g.add_argument('--zero-stage', type=int, default=1)\np.add_argument('--cpu', action='store_true')\n"
    "args, rest = p.parse_known_args()\nprobe(args.zero_stage)\nprobe(args.cpu)\n"
    "if __name__ == '__main__':\n    pass\n"
)


def options_of_run(project: Project) -> list[Value]:
    run = project.runs[0]
    evaluator = project.evaluator(run)
    return [evaluator.value(c.site.call.args[0], c.file, c.site.function) for c in project.sites("probe")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torchrun a.py --zero-stage 3 --cpu", [3, True]),
        ("torchrun a.py --zero-stage=2", [2, False]),
        ("torchrun a.py --zero 0", [0, False]),
        ("Z=3\ntorchrun a.py --zero-stage $Z", [3, False]),
        ("torchrun a.py", [1, False]),
    ],
)
def test_a_run_decides_what_options_are(make_project: MakeProject, line: str, expected: list[Any]) -> None:
    values = options_of_run(make_project({"a.py": OPTIONS, "run.sh": line + "\n"}))
    assert [value.only for value in values] == expected
    assert all(value.confidence is Confidence.CERTAIN for value in values)


@pytest.mark.parametrize(
    "line", ["torchrun a.py $ARGS", 'torchrun a.py $ARGS "$@"', "torchrun a.py --zero-stage $UNKNOWN --cpu"]
)
def test_arguments_that_we_cannot_see_leave_options_unknown(make_project: MakeProject, line: str) -> None:
    assert options_of_run(make_project({"a.py": OPTIONS, "run.sh": line + "\n"}))[0].is_unknown


def test_what_a_caller_may_add_leaves_defaults_possible(
    make_project: MakeProject,
) -> None:
    value = options_of_run(make_project({"a.py": OPTIONS, "run.sh": 'torchrun a.py "$@"\n'}))[0]
    assert (value.only, value.confidence) == (1, Confidence.POSSIBLE)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", (4, Confidence.CERTAIN)),
        ('"$@"', (4, Confidence.POSSIBLE)),
        ("$ARGS", (None, None)),
    ],
)
def test_fields_that_a_caller_may_give_are_possibly_their_defaults(
    make_project: MakeProject, words: str, expected: tuple[Any, Any]
) -> None:
    text = (
        "from dataclasses import dataclass\nfrom transformers import HfArgumentParser\n"
        "@dataclass\nclass A:\n    n: int = 4\n"
        "a = HfArgumentParser(A).parse_args_into_dataclasses()[0]\nprobe(a.n)\n"
    )
    value = options_of_run(make_project({"a.py": text, "run.sh": f"torchrun a.py {words}\n"}))[0]
    assert (value.only, None if value.is_unknown else value.confidence) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", [{"stage": 2, "ways": [1, {"a": 2}]}, 2]),
        ("--zero '{\"stage\": 3}'", [{"stage": 3}, 3]),
        ("--zero '{stage}'", ["?", "?"]),
        ('--zero "$ZERO"', ["?", "?"]),
    ],
)
def test_an_option_may_be_a_json_text(make_project: MakeProject, words: str, expected: object) -> None:
    text = """
import argparse, deepspeed, json
parser = argparse.ArgumentParser()
parser.add_argument("--zero", type=json.loads, default='{"stage": 2, "ways": [1, {"a": 2}]}')
args = parser.parse_args()
stage = args.zero["stage"]
probe(args.zero)
probe(stage)
"""
    project = make_project({"a.py": text, "run.sh": f"torchrun a.py {words}\n"})
    (run,) = project.runs
    evaluator = project.evaluator(run)
    sites = project.sites("probe")
    assert [shown(evaluator.ask(s.site.call.args[0], s.file, s.site.function)) for s in sites] == expected


def test_without_a_launch_a_default_is_only_possible(make_project: MakeProject) -> None:
    value = options_of_run(make_project({"a.py": OPTIONS}))[0]
    assert (value.only, value.confidence) == (1, Confidence.POSSIBLE)


@pytest.mark.parametrize(
    ("spread", "expected"),
    [("json.load(open('c.json'))", [2, "?"]), ("json.load(sys.stdin)", ["?", "?"]), ("dict(size=4)", [4, "?"])],
)
def test_defaults_that_are_spread_out_replace_those_of_options(
    make_project: MakeProject, spread: str, expected: list[Any]
) -> None:
    text = (
        "import argparse, deepspeed, json, sys\np = argparse.ArgumentParser()\np.add_argument('--size', type=int, default=1)\n"
        f"p.set_defaults(**{spread})\nargs = p.parse_args()\nprobe(args.size)\nprobe(args.other)\n"
    )
    values = options_of_run(
        make_project({"a.py": text, "c.json": '{"size": 2}', "run.sh": "torchrun --nproc_per_node 2 a.py\n"})
    )
    assert [value.only if value.is_known else "?" for value in values] == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("'STAGE' in os.environ", True),
        ("'STAGE' not in os.environ", False),
        ("'LOCAL_RANK' in os.environ", True),
        ("'SLURM_PROCID' in os.environ", "?"),
    ],
)
def test_what_a_launch_sets_is_in_the_environment(make_project: MakeProject, test: str, expected: object) -> None:
    files = {"a.py": f"import os, torch\nprobe({test})\n", "run.sh": "STAGE=1 torchrun --nproc_per_node 2 a.py\n"}
    project = make_project(files)
    (found,) = project.sites("probe")
    answers = [
        shown(project.evaluator(run).ask(found.site.call.args[0], found.file, found.site.function))
        for run in (project.runs[0], None)
    ]
    assert answers == [expected, "?"], "who starts it without that line may set nothing"


def test_environment_variables_come_from_the_launch(make_project: MakeProject) -> None:
    text = "import os, deepspeed\nprobe(os.environ.get('STAGE', '1'))\nprobe(os.environ['WORLD_SIZE'])\nprobe(os.environ['RANK'])\n"
    values = options_of_run(
        make_project({"a.py": text, "run.sh": "export STAGE=3\ntorchrun --nproc_per_node 4 a.py\n"})
    )
    assert [value.only for value in values] == ["3", "4", None]


def test_objects_are_known_by_what_made_them(make_project: MakeProject) -> None:
    text = (
        HEAD
        + "engine, opt, *_ = deepspeed.initialize(model=m)\nclass E:\n    def __init__(self):\n        self.inner = engine\n    def go(self):\n        self.inner.backward(1)\nE().go()\n"  # noqa: E501 - one program in one line
    )
    project = make_project({"a.py": text})
    found = list(project.calls_to({"deepspeed.initialize()[0].backward"}))
    assert [call.span.line for call in found] == [7]


@pytest.mark.parametrize("depth", [10, 400])
def test_long_chains_end_in_an_answer(make_project: MakeProject, depth: int) -> None:
    lines = "\n".join(f"x{i + 1} = x{i}" for i in range(depth))
    value = shown(probe(make_project({"a.py": HEAD + f"x0 = 1\n{lines}\nprobe(x{depth})\n"}))[0])
    assert value == (1 if depth == 10 else "?")


def test_mutual_recursion_ends(make_project: MakeProject) -> None:
    texts: Mapping[str, str] = {"a.py": HEAD + "def f(x):\n    return g(x)\ndef g(x):\n    return f(x)\nprobe(f(1))\n"}
    assert shown(probe(make_project(texts))[0]) == "?"


def test_the_answer_does_not_depend_on_what_was_asked_before(make_project: MakeProject) -> None:
    text = (
        HEAD
        + "def f(x):\n    return g(x) if x else 1\ndef g(x):\n    return f(x - 1)\nprobe(f(3))\nprobe(g(2))\nprobe(f(0))\n"
    )
    forward = [shown(value) for value in probe(make_project({"a.py": text}))]
    project = make_project({"a.py": text})
    evaluator = project.evaluator(None)
    backward = [
        shown(evaluator.ask(c.site.call.args[0], c.file, c.site.function)) for c in reversed(project.sites("probe"))
    ]
    assert forward == backward[::-1]


def test_a_function_that_hands_its_parameter_on_to_itself(make_project: MakeProject) -> None:
    """The question for an attribute goes round in a circle: what comes from outside is the answer."""
    text = (
        "class Options:\n    def __init__(self):\n        self.depth = 4\n\n"
        "def walk(options):\n    probe(options.depth)\n    walk(options)\n\nwalk(Options())\n"
    )
    assert shown(probe(make_project({"a.py": HEAD + text}))[0]) == 4


def test_a_question_that_is_asked_everywhere_is_given_up_early_and_only_then(
    make_project: MakeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its few steps are not those of the questions after it, whichever way they are asked."""
    monkeypatch.setattr(evaluate, "LEAST_STEPS", 5)
    monkeypatch.setattr(evaluate, "SHARED_STEPS", 1)
    chain = "".join(f"def f{n}():\n    return f{n - 1}()\n" for n in range(1, 4))
    project = make_project({"train.py": f"def f0():\n    return 7\n{chain}probe(f3())\n"})
    evaluator, (site,) = project.evaluator(None), project.sites("probe")
    given = site.site.call.args[0]
    assert shown(evaluator.ask(given, site.file, site.site.function, everywhere=True)) == "?"
    frame = evaluator.frame(site.file, site.site.function)
    assert shown(evaluator.evaluate(given, frame, evaluator.state(frame, given.at))) == 7
    assert shown(evaluator.ask(given, site.file, site.site.function)) == 7


@pytest.mark.parametrize(
    "made",
    [
        'Config.load("a.json", ())',
        'Config.load(path="a.json")',
        'Config.load("a.json").scaled(2)',
        "Config(3).scaled(2)",
    ],
)
def test_a_class_method_makes_an_object_of_its_class(make_project: MakeProject, made: str) -> None:
    code = (
        "import json\n\nclass Config:\n    def __init__(self, rate):\n        self.rate = rate\n        self.kind = 'linear'\n\n"
        "    @classmethod\n    def load(cls, path, more=()):\n        return cls(**json.load(open(path)))\n\n"
        f"    def scaled(self, by):\n        self.by = by\n        return self\n\nprobe({made}.kind)\n"
    )
    project = make_project({"train.py": code})
    (site,) = project.module("train.py").calls["probe"]
    assert project.evaluator(None).value(site.call.args[0], "train.py", -1).only == "linear"
