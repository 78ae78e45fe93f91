"""How bad and how sure findings about versions are, by what the pins allow; what pins bring together."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from distlint.checks.registry import CheckContext, find_check
from distlint.judge.rulefile import parse_rule
from distlint.model.finding import Finding, Severity
from distlint.model.value import Confidence
from tests.conftest import MakeProject

RULE = """
code = "XY401"
name = "test"
framework = "torch"
root-cause = "version-incompatibility"
symptom = "crash"
bites = "import"
severity = "error"
summary = "s"
help = "h"

[check]
python = "{check}"

{parameters}

[fix]
safety = "safe"
title = "t"
"""
SIX = """[[check.parameters.symbols]]
names = ["torch._six"]
package = "torch"
removed = "2.0.0"
instead = "compat"
"""


def judged(make_project: MakeProject, check: str, parameters: str, files: Mapping[str, str]) -> list[Finding]:
    """The findings of a check with parameters over a project of these files."""
    rule = parse_rule(RULE.format(check=check, parameters=parameters), "rule.toml")
    function = find_check(check)
    assert function is not None
    return list(function(CheckContext(rule, make_project(files), lambda kind: ())))


@pytest.mark.parametrize(
    ("pins", "severity", "confidence"),
    [
        ("torch==2.1.0", Severity.ERROR, Confidence.CERTAIN),
        ("torch>=1.8", Severity.ERROR, Confidence.CERTAIN),
        ("numpy", Severity.ERROR, Confidence.LIKELY),
        ("torch==1.13.1", None, None),
        ("torch<2", None, None),
        ("torch @ https://example.com/torch.zip", None, None),
    ],
)
def test_the_newest_allowed_release_decides(
    make_project: MakeProject, pins: str, severity: Severity | None, confidence: Confidence | None
) -> None:
    files = {"requirements.txt": pins + "\n", "main.py": "import torch.distributed\nfrom torch._six import inf\n"}
    found = judged(make_project, "api-by-version", SIX, files)
    assert [(f.severity, f.confidence) for f in found] == ([(severity, confidence)] if severity is not None else [])


def test_an_older_allowed_release_is_a_warning_that_names_it(make_project: MakeProject) -> None:
    parameters = SIX.replace('removed = "2.0.0"', 'since = "2.0.0"')
    text = "import torch.distributed\nfrom torch._six import inf\n"
    (found,) = judged(
        make_project, "api-by-version", parameters, {"requirements.txt": "torch>=1.12\n", "main.py": text}
    )
    assert found.severity is Severity.WARNING
    assert "1.13.1, which the pins allow" in found.message
    inside = "import torch.distributed\n\n\ndef f():\n    from torch._six import inf\n    return inf\n"
    (found,) = judged(
        make_project, "api-by-version", parameters, {"requirements.txt": "torch>=1.12\n", "main.py": inside}
    )
    assert found.confidence is Confidence.LIKELY


def test_a_module_and_what_is_taken_from_it_are_one_finding_without_a_fix(make_project: MakeProject) -> None:
    text = "import torch.distributed\nimport torch._six\n\nprint(torch._six.inf, torch._six.nan)\n"
    (found,) = judged(make_project, "api-by-version", SIX, {"main.py": text})
    assert len(found.related) == 2
    assert found.plan is None


CONFLICT = """[[check.parameters.conflicts]]
packages = {{ deepspeed = "<0.8.2", torch = ">=2.0" }}
why = "{{deepspeed}} and {{torch}}"
{more}
mend = {{ deepspeed = ">=0.8.2" }}
"""


@pytest.mark.parametrize(
    ("pins", "more", "count"),
    [
        ("deepspeed==0.7.0\ntorch==2.0.1", "", 1),
        ("deepspeed==0.7.0\ntorch", "", 1),
        ("deepspeed==0.7.0", "", 0),
        ("deepspeed==0.7.0", 'implied = ["torch"]', 1),
        ("deepspeed>=0.7.0\ntorch==2.0.1", "", 0),
        ("deepspeed==0.7.0\ntorch>=1.13", "every = true", 0),
        ("deepspeed==0.7.0\ntorch==2.0.1", "every = true", 0),
        ("deepspeed==0.7.0\ntorch==2.0.1", 'uses = ["deepspeed.initialize"]', 0),
    ],
)
def test_a_conflict_needs_all_of_its_releases(make_project: MakeProject, pins: str, more: str, count: int) -> None:
    files = {"requirements.txt": pins + "\n", "main.py": "import deepspeed\n"}
    found = judged(make_project, "pin-conflict", CONFLICT.format(more=more), files)
    assert len(found) == count


@pytest.mark.parametrize(
    ("more", "confidence"), [("", Confidence.POSSIBLE), ("numpy\ntransformers==4.30.0\ndatasets\n", Confidence.LIKELY)]
)
def test_what_is_not_named_is_picked_where_an_environment_is_described(
    make_project: MakeProject, more: str, confidence: Confidence
) -> None:
    files = {"requirements.txt": "deepspeed==0.7.0\n" + more, "main.py": "import deepspeed\n"}
    (found,) = judged(make_project, "pin-conflict", CONFLICT.format(more='implied = ["torch"]'), files)
    assert found.confidence is confidence


def test_what_one_command_refuses_two_commands_install(make_project: MakeProject) -> None:
    files = {
        "setup.sh": "pip install torch==2.0.1\npip install deepspeed==0.7.0\n",
        "main.py": "import deepspeed\n",
    }
    assert len(judged(make_project, "pin-conflict", CONFLICT.format(more="every = true"), files)) == 1


def test_the_mended_specifier_keeps_the_other_bound(make_project: MakeProject) -> None:
    files = {"requirements.txt": "deepspeed>=0.5,<0.8\ntorch==2.0.1\n", "main.py": "import deepspeed\n"}
    parameters = CONFLICT.format(more="").replace('mend = { deepspeed = ">=0.8.2" }', 'mend = { deepspeed = "<0.7" }')
    (found,) = judged(make_project, "pin-conflict", parameters, files)
    assert found.plan is not None
    assert found.plan.operations[0].arguments["specifier"] == ">=0.5,<0.7"


def test_environments_are_judged_each_for_itself(make_project: MakeProject) -> None:
    files = {
        "a/requirements.txt": "deepspeed==0.7.0\ntorch==1.13.1\n",
        "b/requirements.txt": "deepspeed==0.16.0\ntorch==2.5.1\n",
        "a/main.py": "import deepspeed\n",
        "b/main.py": "import deepspeed\n",
    }
    assert not judged(make_project, "pin-conflict", CONFLICT.format(more=""), files)


@pytest.mark.parametrize(
    ("arguments", "is_refused"),
    [
        ("CONFIG", False),
        ("CONFIG, 12", False),
        ("CONFIG, 'nccl'", True),
        ("CONFIG, other()", False),
        ("config=CONFIG", True),
    ],
)
def test_an_argument_that_does_no_harm_by_position_counts_with_a_text_behind_it(
    make_project: MakeProject, arguments: str, is_refused: bool
) -> None:
    parameters = """[[check.parameters.symbols]]
names = ["torch.distributed.launch"]
keywords = ["config"]
position = 0
mapping = true
alone = true
required = true
supply = "{}"
package = "torch"
removed = "2.0.0"
"""
    text = f"import torch.distributed\nCONFIG = {{}}\ntorch.distributed.launch({arguments})\n"
    found = judged(make_project, "api-by-version", parameters, {"requirements.txt": "torch==2.1.0\n", "main.py": text})
    assert bool(found) is is_refused
