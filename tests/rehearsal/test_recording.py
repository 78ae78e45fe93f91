"""Whether gradients are recorded, which tensors need one, and which certainly have none."""

from __future__ import annotations

from typing import Any

import pytest

from distlint.rehearsal.unknowns import Opaque
from tests.conftest import MakeProject
from tests.rehearsal.test_frameworks import performed, variables

HEAD = """
import torch, torch.nn as nn, torch.distributed as dist

net = nn.Linear(2, 2)
x = torch.ones(1, 2)

def out():
    return net(x)

@torch.no_grad()
def silent():
    return net(x)

@torch.inference_mode()
def inferred():
    return net(x).requires_grad

@torch.no_grad()
def woken():
    with torch.enable_grad():
        return net(x)

dist.init_process_group("gloo")
some = bool(input())
"""


def found(make_project: MakeProject, code: str) -> Any:
    """What a script stores under that name on its first process; ``?`` for what is not known."""
    value = variables(performed(make_project, code, HEAD), "found")[0]
    return "?" if isinstance(value, Opaque) else value


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("found = out().requires_grad", True),
        ("found = silent().requires_grad", False),
        ("found = inferred()", False),
        ("found = woken().requires_grad", True),
        ("silent()\nfound = out().requires_grad", True),
        ("with torch.no_grad():\n    found = out().mean().requires_grad", False),
        ("with torch.set_grad_enabled(False):\n    y = out()\nfound = y.requires_grad", False),
        ("with torch.set_grad_enabled(False):\n    pass\nfound = out().requires_grad", True),
        ("with torch.set_grad_enabled(some):\n    found = out().requires_grad", "?"),
        ("torch.set_grad_enabled(False)\nfound = (out() * 2).requires_grad", False),
        ("if some:\n    torch.set_grad_enabled(False)\nfound = out().requires_grad", "?"),
        ("found = torch.is_grad_enabled()", True),
        ("with torch.no_grad():\n    found = torch.is_grad_enabled()", False),
        ("found = x.requires_grad", False),
        ("found = (x * 2 + 1).requires_grad", False),
        ("found = (x * some).requires_grad", "?"),
        ("x.requires_grad_()\nfound = x.requires_grad", True),
        ("x.requires_grad_(some)\nfound = x.requires_grad", "?"),
        ("x.requires_grad = True\nfound = (x * 2).requires_grad", True),
        ("found = out().detach().requires_grad", False),
        ("for p in net.parameters():\n    p.requires_grad_(some)\nfound = out().requires_grad", "?"),
    ],
)
def test_whether_a_tensor_needs_a_gradient(make_project: MakeProject, code: str, expected: Any) -> None:
    assert found(make_project, code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("found = x.grad is None", True),
        ("x.requires_grad_()\nnet(x).sum().backward()\nfound = x.grad is None", False),
        ("x.requires_grad = True\nnet(x).sum().backward()\nfound = x.grad is None", False),
        ("with torch.no_grad():\n    y = torch.ones(2).requires_grad_(some)\n    found = y.grad is None", True),
        (
            """
rows = [torch.ones(2) for _ in range(len(input()))]
for row in rows:
    row.requires_grad_()
found = [row.grad is None for row in rows][0] is True
""",
            False,
        ),
        ("x.grad = torch.ones(1, 2)\nfound = x.grad is None", False),
    ],
)
def test_which_tensors_have_no_gradient(make_project: MakeProject, code: str, expected: Any) -> None:
    assert found(make_project, code) in (expected, "?")
    assert found(make_project, code) == expected or expected is False
