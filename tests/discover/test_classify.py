"""What kind of file a name or the first bytes tell, and which files matter."""

from __future__ import annotations

import pytest

from distlint.discover.classify import kind_by_content, kind_by_name
from distlint.discover.triage import Triage
from distlint.frameworks import specs
from distlint.model.source import SourceKind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("train.py", "python"),
        ("TRAIN.PY", "python"),
        ("conf/ds.json", "json"),
        ("ds.json.j2", "json"),
        ("ds.template.json", "json"),
        ("a.yml", "yaml"),
        ("run.slurm", "shell"),
        ("requirements.txt", "requirements"),
        ("requirements-dev.txt", "requirements"),
        ("requirements/base.in", "requirements"),
        ("constraints.txt", "requirements"),
        ("Dockerfile", "dockerfile"),
        ("Dockerfile.gpu", "dockerfile"),
        ("gpu.dockerfile", "dockerfile"),
        ("Makefile", "makefile"),
        ("poetry.lock", "lock"),
        ("setup.cfg", "setup-cfg"),
        ("Pipfile", "toml"),
        ("hostfile", "hostfile"),
        ("my_hostfile", "hostfile"),
    ],
)
def test_names_tell_the_kind(path, kind):
    assert kind_by_name(path) is SourceKind(kind)


@pytest.mark.parametrize(
    "path",
    ["notes.txt", "train", ".py", "a.pyc", "hosts.c", "requirements.txt\n", "requirements.md", "x.j2", "data.bin"],
)
def test_names_that_tell_nothing(path):
    assert kind_by_name(path) is None


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"#!/bin/bash\n", SourceKind.SHELL),
        (b"#!/usr/bin/env -S bash -e\n", SourceKind.SHELL),
        (b"#! /usr/bin/env zsh\n", SourceKind.SHELL),
        (b"#SBATCH --nodes=2\n", SourceKind.SHELL),
        (b"#!/opt/site/shell -l\n#SBATCH --nodes=2\n", SourceKind.SHELL),
        (b"#!/usr/bin/env python3.11\n", SourceKind.PYTHON),
        (b"#!/usr/bin/python\n", SourceKind.PYTHON),
        (b"#!/usr/bin/perl\n", None),
        (b"\x7fELF", None),
        (b"", None),
    ],
)
def test_first_bytes_tell_the_kind(head, kind):
    assert kind_by_content(head) is kind


@pytest.mark.parametrize(
    ("path", "text", "matters"),
    [
        ("a.py", "import torch.distributed", True),
        ("a.py", "import json", False),
        ("a.py", "x = 1  # distlint: ignore[DS1]", True),
        ("a.json", '{"zero_optimization": {}}', True),
        ("a.json", '{"prose": "about torch.distributed"}', False),
        ("a.yaml", "- pip:\n", True),
        ("a.sh", "torchrun x.py", True),
        ("a.sh", "echo hello", False),
        ("Dockerfile", "RUN pip install x", True),
        ("uv.lock", 'name = "deepspeed"', True),
        ("uv.lock", 'name = "flask"', False),
        ("requirements.txt", "", True),
        ("pyproject.toml", "", True),
        ("hostfile", "", True),
    ],
)
def test_only_files_that_name_something_of_ours_matter(path, text, matters):
    kind = kind_by_name(path)
    assert kind is not None
    assert Triage(specs()).matters(path, kind, text.encode()) is matters


def test_a_text_in_wide_characters_is_never_left_out_by_its_bytes():
    triage = Triage(specs())
    assert triage.matters("a.json", SourceKind.JSON, '{"zero_optimization": 1}'.encode("utf-16"))
