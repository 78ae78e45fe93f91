from __future__ import annotations

import json

import pytest

from distlint.model.span import LineIndex
from distlint.read.pins import read_conda, read_lock
from distlint.read.pins.conda import conda_requirement
from distlint.read.pins.requirement import RequirementError


@pytest.mark.parametrize(
    ("written", "name", "specifier"),
    [
        ("pytorch", "torch", ""),
        ("pytorch=2.1", "torch", "==2.1.*"),
        ("pytorch=2.1.*", "torch", "==2.1.*"),
        ("pytorch==2.1.0", "torch", "==2.1.0"),
        ("pytorch 2.1.0", "torch", "==2.1.0"),
        ("pytorch=2.1.0=py3.10_cuda11.8", "torch", "==2.1.0"),
        ("pytorch 2.1.0 py3.10_cuda11.8", "torch", "==2.1.0"),
        ("pytorch::pytorch>=2.0,<2.2", "torch", ">=2.0,<2.2"),
        ("conda-forge/linux-64::numpy >= 1.20", "numpy", ">=1.20"),
        ("numpy!=1.19.*", "numpy", "!=1.19.*"),
        ("numpy~=1.20", "numpy", "~=1.20"),
        ("numpy *", "numpy", ""),
        ("numpy[version='>=1.20,<2']", "numpy", ">=1.20,<2"),
        ("pytorch=*=*cuda*", "torch", ""),
        ("Scikit_Learn", "scikit-learn", ""),
    ],
)
def test_condas_specifications(written, name, specifier):
    found = conda_requirement(written)
    assert (found.name, found.specifier, found.dynamic) == (name, specifier, False)


def test_alternatives_are_dynamic():
    assert conda_requirement("numpy 1.20|1.22").dynamic


@pytest.mark.parametrize("written", ["", "=2.1", "a" * 900, "*"])
def test_what_conda_would_refuse(written):
    with pytest.raises(RequirementError):
        conda_requirement(written)


def test_an_environment_file():
    text = """\
name: train
channels: [pytorch]
dependencies:
  - python=3.10
  - "pytorch=2.1"  # gpu
  - pip:
      - deepspeed==0.14.0
      - -r requirements.txt
      - --pre
      - -e git+https://example.org/o/thing.git
  - 5
"""
    reading = read_conda(text, "env/environment.yml")
    index = LineIndex(text)
    assert [(pin.name, pin.specifier, index.slice(pin.span)) for pin in reading.pins] == [
        ("python", "==3.10.*", "python=3.10"),
        ("torch", "==2.1.*", "pytorch=2.1"),
        ("deepspeed", "==0.14.0", "deepspeed==0.14.0"),
        ("thing", "", "-e git+https://example.org/o/thing.git"),
    ]
    assert [include.path for include in reading.includes] == ["requirements.txt"]


@pytest.mark.parametrize(
    "text",
    [
        "dependencies:\n  - name: x\n    version: 1\n",
        "dependencies: 3\n",
        "- dependencies\n",
        "a: [",
        "",
        "dependencies:\n- torch\n",
    ],
)
def test_other_yaml_has_no_pins(text):
    assert read_conda(text, "chart.yaml").pins == ()


UV = """\
version = 1

[[package]]
name = "project"
version = "0.1.0"
source = { editable = "." }
dependencies = [
    { name = "torch" },
]

[package.optional-dependencies]
x = [{ name = "y", version = "9" }]

[[package]]
name = "Flash_Attn"
version = "2.5.6"
source = { registry = "https://example.org/simple" }

[[package]]
name = "torch"
version = "2.1.0+cu121"

[package.metadata]
version = "7"
"""


def test_a_lock_of_uv():
    reading = read_lock(UV, "uv.lock")
    assert [(pin.name, pin.specifier, pin.origin) for pin in reading.pins] == [
        ("flash-attn", "==2.5.6", "lock"),
        ("torch", "==2.1.0+cu121", "lock"),
        ("cuda", "==12.1.*", "lock"),
    ]
    assert LineIndex(UV).slice(reading.pins[1].span) == 'version = "2.1.0+cu121"'


def test_locks_of_poetry_and_pdm():
    text = '[[package]]\nname = "torch"\nversion = "2.1.0"\noptional = true\n\n[metadata]\nname = "a"\nversion = "1"\n'
    assert [(pin.name, pin.optional) for pin in read_lock(text, "poetry.lock").pins] == [("torch", True)]
    text = '[[package]]\r\nname = "torch"\r\nversion = "2.1.0"\r\nmarker = "python_version < \'3.12\'"\r\n'
    assert [pin.marker for pin in read_lock(text, "pdm.lock").pins] == ["python_version < '3.12'"]


def test_a_lock_of_the_standard():
    text = '[[packages]]\nname = "torch"\nversion = "2.1.0"\n[[packages.wheels]]\nname = "torch.whl"\n'
    assert [pin.specifier for pin in read_lock(text, "pylock.toml").pins] == ["==2.1.0"]


def test_a_lock_of_pipenv():
    content = {
        "_meta": {"hash": {"sha256": "x"}, "requires": {"python_version": "3.10"}},
        "default": {"torch": {"hashes": ["a", "b"], "index": "pypi", "version": "==2.1.0"}, "local": {"path": "."}},
        "develop": {"pytest": {"markers": "python_version >= '3.8'", "version": "==8.0.0"}},
    }
    text = json.dumps(content, indent=4)
    reading = read_lock(text, "Pipfile.lock")
    assert [(pin.name, pin.specifier, pin.optional) for pin in reading.pins] == [
        ("torch", "==2.1.0", False),
        ("pytest", "==8.0.0", True),
    ]
    assert LineIndex(text).slice(reading.pins[0].span) == "==2.1.0"


@pytest.mark.parametrize(
    "text", ["", "[[package]]", "[[package]]\nname = 5", "}" * 50, '{"a": {', "\0", '[[package]]\nversion = "1"']
)
def test_broken_locks_have_no_pins(text):
    for file in ("uv.lock", "Pipfile.lock"):
        assert read_lock(text, file).pins == ()
