"""Protocols of objects: what is followed through attributes, helpers, containers, copies, loops and branches."""

from __future__ import annotations

import pytest

from distlint.checks.registry import CheckContext, find_check
from distlint.judge.rulebook import parse_folder, rules_folder
from distlint.link.modules import ClassRef
from distlint.model.rule import Rule
from tests.conftest import MakeProject

HEAD = """
import copy
import functools
import torch
import torch.nn as nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP

"""


@pytest.fixture(scope="module")
def rules() -> dict[str, Rule]:
    """The rules of the framework by code: they hold the parameters of the protocols."""
    return {rule.code: rule for rule in parse_folder(rules_folder(), built_in=True) if rule.framework == "torch"}


def judged(make_project: MakeProject, rule: Rule, texts: dict[str, str] | str) -> list[str]:
    """What a protocol says of a program: the source text of each place that it names."""
    files = (
        {"train.py": HEAD + texts} if isinstance(texts, str) else {name: HEAD + text for name, text in texts.items()}
    )
    project = make_project(files)
    check = find_check(rule.check.python)
    assert check is not None
    found = []
    for one in check(CheckContext(rule, project, lambda kind: (), rules=(rule,))):
        line = files[one.span.file].splitlines()[one.span.line - 1]
        found.append(line[one.span.column - 1 : one.span.end_column - 1])
    return found


LOOP = """
    for x in torch.randn(4, 2, 2):
        optimizer.zero_grad()
        loss = {0}(x).sum()
        loss.backward()
        optimizer.step()
"""
PAST = {
    "through a helper": """
def unwrap(model):
    return model.module if hasattr(model, "module") else model
def train(model, optimizer):
    net = {0}
"""
    + LOOP.format("net")
    + """
model = DDP(nn.Linear(2, 2))
train(model, torch.optim.SGD(model.parameters(), lr=0.1))
""",
    "by attribute of an object": """
class Loop:
    def __init__(self, net):
        self.net = net
        self.optimizer = None
        self.ddp = None
    def setup(self):
        self.ddp = DDP(self.net)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=0.1)
    def run(self):
        model, optimizer = self.ddp, self.optimizer
        inner = {0}
"""
    + LOOP.format("inner").replace("\n", "\n    ")
    + """
loop = Loop(nn.Linear(2, 2))
loop.setup()
loop.run()
""",
}


@pytest.mark.parametrize(
    ("kind", "inner"),
    [
        ("through a helper", "unwrap(model)"),
        ("through a helper", "getattr(model, 'module', model)"),
        ("through a helper", "model.module if isinstance(model, DDP) else model"),
        ("by attribute of an object", "self.net"),
        ("by attribute of an object", "model.module"),
    ],
)
def test_the_model_inside_is_known_wherever_it_comes_from(
    make_project: MakeProject, rules: dict[str, Rule], kind: str, inner: str
) -> None:
    assert len(judged(make_project, rules["PT211"], PAST[kind].format(inner))) == 1
    assert judged(make_project, rules["PT211"], PAST[kind].format("model")) == []


def test_a_base_class_that_is_asked_for_first_keeps_its_attributes(
    make_project: MakeProject, rules: dict[str, Rule]
) -> None:
    texts = {
        "base.py": """
class Base:
    def __init__(self):
        self.net = self.build()
        self.ddp = DDP(self.net)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=0.1)
    def run(self):
        for x in torch.randn(4, 2, 2):
            self.optimizer.zero_grad()
            self.loss(x).backward()
            self.optimizer.step()
""",
        "train.py": """
from base import Base
class Own(Base):
    def build(self):
        return nn.Linear(2, 2)
    def loss(self, x):
        return self.net(x).sum()
Own().run()
""",
    }
    project = make_project({name: HEAD + text for name, text in texts.items()})
    assert (
        project.attribute_stores(ClassRef("base.py", 0)).keys()
        == project.attribute_stores(ClassRef("train.py", 0)).keys()
    )
    assert judged(make_project, rules["PT211"], texts) == ["self.net(x)"]


MAKERS = {
    "a table": "KINDS = {'sgd': torch.optim.SGD}\ndef make(net):\n    return KINDS['sgd'](net.parameters())\n",
    "a partial": "MAKE = functools.partial(torch.optim.SGD, lr=0.1)\ndef make(net):\n    return MAKE(net.parameters())\n",
    "groups": """
def make(net):
    decay, rest = [], []
    for name, one in net.named_parameters():
        (decay if one.ndim > 1 else rest).append(one)
    return torch.optim.AdamW([{"params": decay}, {"params": rest, "weight_decay": 0.0}])
""",
    "a list": """
def make(net):
    trained = []
    for one in net.parameters():
        if one.requires_grad:
            trained.append(one)
    return torch.optim.SGD(trained)
""",
}


@pytest.mark.parametrize("kind", MAKERS)
def test_the_parameters_of_an_optimizer_are_known(make_project: MakeProject, rules: dict[str, Rule], kind: str) -> None:
    made, sharded = "optimizer = make(net)\n", "fully_shard(net)\n"
    for text, count in ((made + sharded, 1), (sharded + made, 0)):
        script = MAKERS[kind] + "net = nn.Linear(2, 2)\n" + text + LOOP.format("net").replace("\n    ", "\n")
        assert len(judged(make_project, rules["PT201"], script)) == count


def test_a_copy_is_another_model(make_project: MakeProject, rules: dict[str, Rule]) -> None:
    script = "net = nn.Linear(2, 2)\noptimizer = torch.optim.SGD(net.parameters())\nmodel = DDP({0})\n" + LOOP.format(
        "model"
    ).replace("\n    ", "\n")
    assert len(judged(make_project, rules["PT209"], script.replace("{0}", "copy.deepcopy(net)"))) == 1
    assert judged(make_project, rules["PT209"], script.replace("{0}", "net")) == []


def test_gradients_that_a_helper_drops_are_cleared(make_project: MakeProject, rules: dict[str, Rule]) -> None:
    script = """
def clear(model):
    for one in model.parameters():
        one.grad = None
model = DDP(nn.Linear(2, 2))
optimizer = torch.optim.SGD(model.parameters())
for x in torch.randn(4, 2, 2):
    {0}
    model(x).sum().backward()
    optimizer.step()
"""
    assert judged(make_project, rules["PT204"], script.replace("{0}", "clear(model)")) == []
    assert len(judged(make_project, rules["PT204"], script.replace("{0}", "pass"))) == 1


UNFROZEN = """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
for one in net[0].parameters():
    one.requires_grad_(False)
model = DDP(net)
optimizer = torch.optim.SGD(net.parameters())
for epoch in range(4):
    if epoch == 2:
        for one in net[0].parameters():
            one.requires_grad_(True)
        {0}
    optimizer.zero_grad()
    model(torch.randn(2, 2)).sum().backward()
    optimizer.step()
"""


def test_what_a_short_loop_does_lasts_behind_it(make_project: MakeProject, rules: dict[str, Rule]) -> None:
    assert len(judged(make_project, rules["PT286"], UNFROZEN.replace("{0}", "pass"))) == 1
    assert judged(make_project, rules["PT286"], UNFROZEN.replace("{0}", "model = DDP(net)")) == []


CALLABLE = """
class Scaler:
    def __init__(self):
        self.inner = torch.amp.GradScaler("cpu")
    def __call__(self, loss, optimizer, parameters):
        self.inner.scale(loss).backward()
        {0}
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        self.inner.step(optimizer)
        self.inner.update()
def train(model, optimizer, scaler):
    for x in torch.randn(4, 2, 2):
        optimizer.zero_grad()
        scaler(model(x).sum(), optimizer, model.parameters())
model = DDP(nn.Linear(2, 2))
train(model, torch.optim.SGD(model.parameters(), lr=0.1), Scaler())
"""


def test_objects_that_are_called_are_gone_into(make_project: MakeProject, rules: dict[str, Rule]) -> None:
    assert judged(
        make_project,
        rules["PT208"],
        CALLABLE.replace("Scaler())", "scaler)")
        .replace("model = DDP", "scaler = Scaler()\nmodel = DDP")
        .replace("{0}", "pass"),
    )
    script = CALLABLE.replace("{0}", "self.inner.unscale_(optimizer)")
    assert judged(make_project, rules["PT208"], script) == []


SWITCHED = """
import argparse
import dataclasses
@dataclasses.dataclass
class Config:
    mixed: bool = False
parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true")
args = parser.parse_args()
off = False
model = DDP(nn.Linear(2, 2))
scaler = torch.amp.GradScaler({0})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(4, 2, 2):
    optimizer.zero_grad()
    scaler.scale(model(x).sum()).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize("given", ["enabled=False", "'cuda', enabled=off", "enabled=Config().mixed"])
def test_a_scaler_that_is_switched_off_scales_nothing(
    make_project: MakeProject, rules: dict[str, Rule], given: str
) -> None:
    script = SWITCHED.replace("{0}", given)
    assert judged(make_project, rules["PT208"], script) == []


@pytest.mark.parametrize("given", ["", "enabled=True", "enabled=args.amp", "enabled=torch.cuda.is_available()"])
def test_a_scaler_that_may_be_on_scales(make_project: MakeProject, rules: dict[str, Rule], given: str) -> None:
    script = SWITCHED.replace("{0}", given)
    assert len(judged(make_project, rules["PT208"], script)) == 1
    assert judged(make_project, rules["PT207"], script)


def test_a_scaler_that_is_switched_off_refuses_nothing(make_project: MakeProject, rules: dict[str, Rule]) -> None:
    assert judged(make_project, rules["PT207"], SWITCHED.replace("{0}", "enabled=off")) == []


SEPARATE = """
def forward_loss(model, x):
    return model(x).sum()
def train(model, optimizer, batches):
    for x in batches:
        with model.no_sync():
            loss = forward_loss(model, x)
            {0}
        loss = forward_loss(model, x){1}
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
model = DDP(nn.Linear(2, 2))
train(model, torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(4, 2, 2))
"""


def test_helpers_that_only_call_the_model_are_gone_into(make_project: MakeProject, rules: dict[str, Rule]) -> None:
    assert judged(make_project, rules["PT212"], SEPARATE.replace("{0}", "loss.backward()").replace("{1}", "")) == []
    script = SEPARATE.replace("loss = forward_loss(model, x){1}\n", "\n").replace("{0}", "pass")
    assert judged(make_project, rules["PT212"], script) == ["optimizer.step()"]


def test_a_state_that_is_loaded_before_the_wrap_fits(make_project: MakeProject, rules: dict[str, Rule]) -> None:
    script = """
class Loop:
    def __init__(self, net):
        self.model = net
        {0}
        self.model = DDP(self.model)
        {1}
    def load(self):
        self.model.load_state_dict(torch.load("state.pt"))
    def save(self):
        torch.save(self.model.module.state_dict(), "state.pt")
Loop(nn.Linear(2, 2)).save()
"""
    assert judged(make_project, rules["PT280"], script.replace("{0}", "self.load()").replace("{1}", "pass")) == []


PREPARED = """
from accelerate import Accelerator
from transformers import get_scheduler
class Training:
    def __init__(self, net):
        self.accelerator = Accelerator()
        self.net = net
        self.optimizer = torch.optim.AdamW(net.parameters())
        self.schedule = get_scheduler("linear", optimizer=self.optimizer, num_training_steps=9)
        self.net, self.optimizer, self.schedule = self.accelerator.prepare(self.net, self.optimizer, self.schedule)
    def step(self, x):
        loss = self.net(x).sum()
        self.accelerator.backward(loss)
        {0}
        self.optimizer.step()
        self.schedule.step()
        {1}
def main():
    training = Training(nn.Linear(2, 2))
    for x in torch.randn(4, 2, 2):
        training.step(x)
main()
"""


@pytest.mark.parametrize(
    ("code", "before", "behind", "found"),
    [
        ("PT204", "pass", "pass", ["self.accelerator.backward(loss)"]),
        ("PT204", "pass", "self.optimizer.zero_grad()", []),
        ("PT204", "pass", "self.net.zero_grad()", []),
        ("PT205", "self.optimizer.zero_grad()", "pass", ["self.optimizer.zero_grad()"]),
        ("PT205", "self.net.zero_grad()", "pass", ["self.net.zero_grad()"]),
        ("PT205", "pass", "self.optimizer.zero_grad()", []),
    ],
)
def test_what_a_library_prepares_is_the_object_itself(
    make_project: MakeProject, rules: dict[str, Rule], code: str, before: str, behind: str, found: list[str]
) -> None:
    script = PREPARED.replace("{0}", before).replace("{1}", behind)
    assert judged(make_project, rules[code], script) == found


def test_an_engine_that_a_program_may_run_with_makes_what_is_prepared_unknown(
    make_project: MakeProject, rules: dict[str, Rule]
) -> None:
    script = (
        PREPARED.replace("{0}", "pass")
        .replace("{1}", "pass")
        .replace("Accelerator()", "Accelerator(deepspeed_plugin=PLUGIN)")
    )
    assert judged(make_project, rules["PT204"], script) == []


def test_arguments_that_a_list_brings_to_a_preparation_are_not_told_apart(
    make_project: MakeProject, rules: dict[str, Rule]
) -> None:
    script = PREPARED.replace("{0}", "pass").replace("{1}", "pass").replace("prepare(self.net,", "prepare(*[self.net],")
    assert judged(make_project, rules["PT204"], script) == []
