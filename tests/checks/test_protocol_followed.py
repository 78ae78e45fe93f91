"""Protocols of a process: silent where something that is not followed may start or end the group."""

from __future__ import annotations

import pytest

from distlint.checks.registry import CheckContext, find_check
from distlint.judge.rulebook import parse_folder, rules_folder
from tests.conftest import MakeProject

HEAD = """
import contextlib
import functools
import torch.distributed as dist

def work():
    print(dist.get_rank())
"""
STARTED = {
    "context of a generator": """
@contextlib.contextmanager
def group():
    dist.init_process_group("gloo")
    yield
    dist.destroy_process_group()
with group():
    work()
""",
    "context of a class with a constructor": """
class Runtime:
    def __init__(self, backend):
        self.backend = backend
    def __enter__(self):
        dist.init_process_group(self.backend)
        return self
    def __exit__(self, *_):
        dist.destroy_process_group()
with Runtime("gloo") as runtime:
    work()
""",
    "decorator": """
def distributed(function):
    @functools.wraps(function)
    def inner():
        dist.init_process_group("gloo")
        return function()
    return inner
@distributed
def main():
    work()
main()
""",
    "property": """
class Setup:
    @functools.cached_property
    def device(self):
        dist.init_process_group("gloo")
        return "cpu"
setup = Setup()
print(setup.device)
work()
""",
    "function of a table": """
def start():
    dist.init_process_group("gloo")
HOOKS = [start]
for hook in HOOKS:
    hook()
work()
""",
}
TOO_LATE = """
def setup():
    dist.init_process_group("gloo")
work()
setup()
"""


def found(make_project: MakeProject, text: str) -> int:
    """How often the group is said to be used in front of its start."""
    rule = next(one for one in parse_folder(rules_folder(), built_in=True) if one.code == "PT301")
    check = find_check(rule.check.python)
    assert check is not None
    project = make_project({"train.py": HEAD + text})
    return len(list(check(CheckContext(rule, project, lambda kind: (), rules=(rule,)))))


@pytest.mark.parametrize("kind", STARTED)
def test_what_may_have_started_the_group_silences(make_project: MakeProject, kind: str) -> None:
    assert found(make_project, STARTED[kind]) == 0


def test_a_start_that_comes_too_late_is_said(make_project: MakeProject) -> None:
    assert found(make_project, TOO_LATE) == 1
