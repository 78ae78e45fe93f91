"""Decides from names and first bytes what kind of file something is."""

from __future__ import annotations

import re

from distlint.model.source import SourceKind

_BY_SUFFIX = {
    ".py": SourceKind.PYTHON,
    ".json": SourceKind.JSON,
    ".hjson": SourceKind.JSON,
    ".json5": SourceKind.JSON,
    ".jsonc": SourceKind.JSON,
    ".yaml": SourceKind.YAML,
    ".yml": SourceKind.YAML,
    ".toml": SourceKind.TOML,
    ".ini": SourceKind.INI,
    ".cfg": SourceKind.INI,
    ".sh": SourceKind.SHELL,
    ".bash": SourceKind.SHELL,
    ".slurm": SourceKind.SHELL,
    ".sbatch": SourceKind.SHELL,
    ".sub": SourceKind.SHELL,
    ".pbs": SourceKind.SHELL,
    ".env": SourceKind.SHELL,
    ".dockerfile": SourceKind.DOCKERFILE,
    ".containerfile": SourceKind.DOCKERFILE,
    ".mk": SourceKind.MAKEFILE,
}

_TEMPLATE_SUFFIXES = (".j2", ".jinja", ".jinja2", ".template", ".tmpl", ".tpl", ".in")

_BY_NAME = {
    "pipfile": SourceKind.TOML,
    "pipfile.lock": SourceKind.LOCK,
    "poetry.lock": SourceKind.LOCK,
    "uv.lock": SourceKind.LOCK,
    "pdm.lock": SourceKind.LOCK,
    "setup.cfg": SourceKind.SETUP_CFG,
    "tox.ini": SourceKind.SETUP_CFG,
    "pylock.toml": SourceKind.LOCK,
    "conda-lock.yml": SourceKind.LOCK,
    "conda-lock.yaml": SourceKind.LOCK,
    "pixi.lock": SourceKind.LOCK,
    ".python-version": SourceKind.REQUIREMENTS,
    "runtime.txt": SourceKind.REQUIREMENTS,
    "dockerfile": SourceKind.DOCKERFILE,
    "containerfile": SourceKind.DOCKERFILE,
    "makefile": SourceKind.MAKEFILE,
    "gnumakefile": SourceKind.MAKEFILE,
}

_REQUIREMENTS = re.compile(
    r"(^|[-_./])(requirements?|constraints?|overrides?|reqs?|pip-requirements)([-_.][^/]*)?\.(txt|in|pip|lock)\Z"
    r"|(^|/)(requirements?|reqs|constraints)/[^/]+\.(txt|in|pip|lock)\Z"
)
_LOCK = re.compile(
    r"pylock\.[^/]*\.toml\Z|conda-(linux|osx|win)-[^/]*\.lock\Z|[^/]*[-.]conda-lock\.ya?ml\Z"
    r"|conda-[^/]*explicit[^/]*\.txt\Z"
)
_HOSTFILE = re.compile(
    r"(^|[-_])(hostfile|hosts|hosts?_?list|machinefile|machines|host(?=\.txt\Z))([-_]\w+)?(\.txt|\.\d+)?\Z"
)
_SHELL_START = re.compile(rb"#![ \t]*\S*(?:/|env[ \t]+(?:-S[ \t]+)?)(?:ba|da|k|z)?sh\b|#SBATCH\b")
_PYTHON_START = re.compile(rb"#![ \t]*\S*(?:/|env[ \t]+(?:-S[ \t]+)?)python[\d.]*\b")


def kind_by_name(path: str) -> SourceKind | None:
    """The kind that a file's path tells, or ``None`` if it tells nothing."""
    name = path.rpartition("/")[2].lower()
    if (named := _BY_NAME.get(name)) is not None:
        return named
    if _LOCK.match(name):
        return SourceKind.LOCK
    if _REQUIREMENTS.search(path.lower()):
        return SourceKind.REQUIREMENTS
    stem, dot, suffix = name.rpartition(".")
    if dot and stem:
        if (known := _BY_SUFFIX.get("." + suffix)) is not None:
            return known
        if "." + suffix in _TEMPLATE_SUFFIXES:
            return kind_by_name(path[: -len(suffix) - 1])
    if name.startswith(("dockerfile", "containerfile")):
        return SourceKind.DOCKERFILE
    if _HOSTFILE.search(name):
        return SourceKind.HOSTFILE
    return None


def kind_by_content(head: bytes) -> SourceKind | None:
    """The kind that the first bytes of a file without a telling name show (a shebang, a scheduler header)."""
    if _SHELL_START.match(head) or (head.startswith(b"#!") and b"\n#SBATCH" in head):
        return SourceKind.SHELL
    return SourceKind.PYTHON if _PYTHON_START.match(head) else None


_TEST_NAME = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$|(^|/)(tests|unit_tests)/")
_TEST_CONTENT = re.compile(rb"^[ \t]*(?:async[ \t]+)?def test_|^(?:import|from) (?:pytest|unittest)\b", re.MULTILINE)


def is_test_module(path: str, data: bytes) -> bool:
    """Whether a Python file holds tests: by its name or folder, and by what stands in it.

    Tests start no job, and what is wrong in them is often wrong on purpose.
    """
    return _TEST_NAME.search(path) is not None and _TEST_CONTENT.search(data) is not None
