"""Which release of Megatron a project is taken to run with, where it says so and where it doesn't."""

from __future__ import annotations

from pathlib import Path

import pytest

from distlint.engine import Request, analyse
from distlint.frameworks.megatron.versions import PACKAGE, versions_for
from distlint.settings import load_settings

LAUNCH = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --micro-batch-size 1 --hidden-size 8\n"
SUBMODULE = '[submodule "third/Megatron-LM"]\n\tpath = third/Megatron-LM\n\turl = https://example.org/Megatron-LM.git\n'
COPY = "MAJOR = 0\nMINOR = 12\nPATCH = 3\n"


@pytest.mark.parametrize(
    ("files", "answers"),
    [
        ({"requirements.txt": "megatron-core==0.16.1\n"}, (True, True, False)),
        ({"megatron/core/package_info.py": COPY}, (False, True, False)),
        # Python 3.11 gets 0.16, later ones a later release: both have all that came until 0.16
        ({}, (True, None, None)),
        ({"pyproject.toml": '[project]\nname = "x"\nrequires-python = ">=3.12"\n'}, (True, False, True)),
        ({".gitmodules": SUBMODULE}, (None, None, None)),
        ({".gitmodules": SUBMODULE, "requirements.txt": "megatron-core==0.18.0\n"}, (True, False, True)),
    ],
)
def test_what_is_not_stated_is_as_open_as_an_installer_leaves_it(
    tmp_path: Path, files: dict[str, str], answers: tuple[bool | None, ...]
) -> None:
    (tmp_path / ".git").mkdir()
    for name, text in {"run.sh": LAUNCH, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    request = Request(paths=(tmp_path,), settings=load_settings(tmp_path), use_cache=False, judged=False)
    project = analyse(request).project
    assert project is not None
    versions = versions_for(project, "run.sh")
    assert tuple(versions.test(PACKAGE, specifier) for specifier in (">=0.14", "<0.17", ">=0.17")) == answers
