"""Checks of what a program does with an engine: backward past it, steps beside it, methods that need something."""

from __future__ import annotations

import json
from typing import Any

import pytest

from distlint.checks.registry import CheckContext, find_check
from distlint.frameworks.deepspeed.subjects import KINDS
from distlint.judge.rulebook import parse_folder, rules_folder
from distlint.model.finding import Finding
from distlint.model.rule import Rule
from tests.conftest import MakeProject

START = "import deepspeed\nimport torch\nengine, optimizer, _, _ = deepspeed.initialize(model=net, config='ds.json')\n"


@pytest.fixture(scope="module")
def rules() -> dict[str, Rule]:
    """The rules of the framework by code: they hold the parameters of the checks."""
    return {rule.code: rule for rule in parse_folder(rules_folder(), built_in=True) if rule.framework == "deepspeed"}


def judged(make_project: MakeProject, rule: Rule, script: str, zero: dict[str, Any], **files: str) -> list[Finding]:
    """The findings of a rule's check over a script with one configuration."""
    config = json.dumps({"train_batch_size": 8, "zero_optimization": zero})
    project = make_project({"train.py": script, "ds.json": config, **files})
    found = tuple(KINDS[0].build(project))
    check = find_check(rule.check.python)
    assert check is not None
    return list(check(CheckContext(rule, project, lambda kind: found)))


OLD = {"requirements.txt": "deepspeed==0.16.9\n"}


@pytest.mark.parametrize(
    "body",
    [
        "loss = engine(x).sum()\nloss.backward()\nengine.step()\n",
        "out = engine(x)\nloss = torch.nn.functional.mse_loss(out, y)\n(loss / 2).backward()\nengine.step()\n",
        "def train(model, x):\n    loss = model(x)\n    loss.backward()\n    engine.step()\ntrain(engine, x)\n",
    ],
)
def test_a_loss_of_the_engine_goes_backward_through_it(
    make_project: MakeProject, rules: dict[str, Rule], body: str
) -> None:
    assert len(judged(make_project, rules["DS201"], START + body, {"stage": 2}, **OLD)) == 1


@pytest.mark.parametrize(
    "body",
    [
        "loss = engine(x)\nengine.backward(loss)\nengine.step()\n",
        "loss = engine.scale(engine(x))\nloss.backward()\nengine.step()\n",
        "loss = other(x.to(engine.device))\nloss.backward()\nengine.step()\n",
        "with torch.no_grad():\n    y = engine(x)\nloss = student(x, y)\nloss.backward()\nengine.step()\n",
        "loss = engine(x)\nif fast:\n    engine.backward(loss)\n    engine.step()\nelse:\n    loss.backward()\n",
        "loss = (engine if fast else net)(x)\nloss.backward()\nengine.step()\n",
        "loss = engine(x)\nloss.backward()\n",
    ],
)
def test_a_plain_backward_may_be_right(make_project: MakeProject, rules: dict[str, Rule], body: str) -> None:
    assert not judged(make_project, rules["DS201"], START + body, {"stage": 2}, **OLD)


def test_newer_releases_refuse_a_plain_backward_without_zero_only(
    make_project: MakeProject, rules: dict[str, Rule]
) -> None:
    body = START + "loss = engine(x)\nloss.backward()\nengine.step()\n"
    assert judged(make_project, rules["DS201"], body, {"stage": 0})
    assert not judged(make_project, rules["DS201"], body, {"stage": 1})


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("engine.step()\noptimizer.step()\n", 1),
        ("if last:\n    optimizer.step()\nengine.step()\n", 1),
        ("if plain:\n    optimizer.step()\nelse:\n    engine.step()\n", 0),
        ("if plain:\n    optimizer.step()\nif not plain:\n    engine.step()\n", 0),
        ("optimizer.step()\n", 0),
        ("other = torch.optim.SGD(net.parameters())\nengine.step()\nother.step()\n", 0),
    ],
)
def test_a_step_beside_the_engines_own(
    make_project: MakeProject, rules: dict[str, Rule], body: str, count: int
) -> None:
    assert len(judged(make_project, rules["DS202"], START + body, {"stage": 1})) == count


@pytest.mark.parametrize(
    ("call", "shell", "stage", "count"),
    [
        ("engine.generate(ids)", "deepspeed --num_gpus 2 train.py\n", 3, 1),
        ("engine.module.generate(ids)", "deepspeed --num_gpus 2 train.py\n", 3, 1),
        ("engine.generate(ids, synced_gpus=False)", "deepspeed --num_gpus 2 train.py\n", 3, 1),
        ("engine.generate(ids, synced_gpus=True)", "deepspeed --num_gpus 2 train.py\n", 3, 0),
        ("engine.generate(ids, **more)", "deepspeed --num_gpus 2 train.py\n", 3, 0),
        ("engine.generate(ids)", "deepspeed --num_gpus 1 train.py\n", 3, 0),
        ("engine.generate(ids)", "deepspeed --num_gpus 2 train.py\n", 2, 0),
        ("engine.generate(ids)", "", 3, 0),
    ],
)
def test_generating_needs_all_ranks_to_go_on(
    make_project: MakeProject, rules: dict[str, Rule], call: str, shell: str, stage: int, count: int
) -> None:
    files = {"run.sh": shell} if shell else {}
    assert len(judged(make_project, rules["DS501"], START + call + "\n", {"stage": stage}, **files)) == count
