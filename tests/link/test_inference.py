"""What astroid is asked, and what of its answers is believed."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from distlint.frameworks.general import argument_settings
from distlint.model.value import Confidence
from tests.conftest import MakeProject

HEAD = "import deepspeed\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("probe(x='%d-%s' % (3, 'é'))", "3-é"),
        (
            "class A:\n    n = 2\n    @property\n    def m(self):\n        return self.n * 3\nclass B(A):\n    n = 4\nprobe(x=B().m)",
            12,
        ),
        ("probe(x=','.join(['a', 'b']))", "a,b"),
        ("probe(x='{}'.format(3))", "3"),
        ("import os\nprobe(x='%s' % os.getcwd())", None),
        ("import evil\nprobe(x=evil.value)", None),
    ],
)
def test_arguments(make_project: MakeProject, body: str, expected: Any) -> None:
    project = make_project({"a.py": HEAD + "é = 1\n" + body + "\n", "evil.py": "raise SystemExit\n"})
    settings, _ = argument_settings(project, project.sites("probe")[0], [], None)
    assert settings["x"].value.only == expected


def test_nothing_of_the_analysed_code_is_imported(make_project: MakeProject) -> None:
    project = make_project({"a.py": HEAD + "import analysed_only\nprobe(x='%s' % analysed_only.x)\n"})
    argument_settings(project, project.sites("probe")[0], [], None)
    assert "analysed_only" not in sys.modules


def test_an_inferred_value_is_never_certain(make_project: MakeProject) -> None:
    project = make_project({"a.py": HEAD + "probe(x='%05d' % 3)\n"})
    settings, _ = argument_settings(project, project.sites("probe")[0], [], None)
    assert settings["x"].value.confidence is Confidence.LIKELY
