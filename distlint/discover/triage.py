"""Decides from a file's bytes whether anything in it can matter to us, before it is decoded or parsed."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from distlint.model.framework import FrameworkSpec
from distlint.model.source import SourceKind

_ALWAYS = frozenset({SourceKind.REQUIREMENTS, SourceKind.SETUP_CFG, SourceKind.HOSTFILE, SourceKind.DOCKERFILE})
"""Small files whose name says that they matter."""

_SHELL_WORDS = (
    b"python",
    b"srun",
    b"mpirun",
    b"mpiexec",
    b" install",
    b"source ",
    b"bash ",
    b"sbatch",
    b"qsub",
    b"bsub",
    b"uv add",
    b"uv run",
    b"poetry add",
    b"docker run",
    b"docker://",
    b"conda ",
    b"mamba ",
)
_YAML_INSTALLS = (b"pip:", b"pip install", b"conda install", b"mamba install", b"uv add", b"uv sync", b"channels:")
_SETS_VARIABLE = re.compile(rb"^[ \t]*(?:export[ \t]+|: *\"?\$\{)?[A-Z][A-Z0-9_]*(?::?=)", re.MULTILINE)
"""A script that sets variables of the environment may be read in by one that launches."""

_ALWAYS_NAMES = frozenset(
    {"pyproject.toml", "setup.py", "Pipfile", "environment.yml", "environment.yaml", "pixi.toml", "noxfile.py"}
)
_DATA_BYTES = 65536
"""A larger JSON file may be a data set, whose prose holds any word: there a word must stand as a key."""
_CONFIG_KINDS = frozenset({SourceKind.JSON, SourceKind.YAML, SourceKind.TOML})
_CARRIER_WORDS = (b"torch.distributed", b"RayJob", b"MPIJob")
"""What stands in a YAML file that starts jobs, beside the names of launchers."""
_SHORT = 3
_COMMENT = b"distlint:"
"""What our own comments begin with: they must be found wherever they stand, to silence findings or to be found idle."""
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""In such files no word can be found as it stands."""
_COMMAND_KINDS = frozenset({SourceKind.SHELL, SourceKind.MAKEFILE, SourceKind.DOCKERFILE})


class Triage:
    """The words that make a file matter.

    Scripts, configurations (whose prose must not count) and command files have their own.
    """

    def __init__(self, specs: Sequence[FrameworkSpec]) -> None:
        launchers = {words[0].encode() for spec in specs for launcher in spec.launchers for words in launcher.commands}
        self._script = _needed(literal for spec in specs for literal in spec.literals)
        self._config = _needed(key for spec in specs for key in spec.config_keys)
        self._config_key = re.compile(b"(?:" + b"|".join(map(re.escape, self._config)) + rb")[\w-]*[\"']?[ \t]*[:=]")
        self._carrier = _needed({word for word in launchers - {b"python"} if len(word) > _SHORT} | set(_CARRIER_WORDS))
        # The names of images hold those of the packages that they bring.
        self._image = (b"cuda", *(spec.packages[0].encode() for spec in specs if spec.packages))
        self._command = _needed(launchers | set(_SHELL_WORDS))
        modules = (module.replace("_", "-") for spec in specs for module in spec.modules if "." not in module)
        self._lock = _needed(
            name.encode() for name in (*modules, *(package for spec in specs for package in spec.packages))
        )

    def matters(self, path: str, kind: SourceKind, data: bytes) -> bool:
        """Whether the file must be read."""
        if kind in _ALWAYS or path.rpartition("/")[2] in _ALWAYS_NAMES or data.startswith(_WIDE_MARKS):
            return True
        if kind is SourceKind.INI:
            return _COMMENT in data  # it is read when a value leads there
        if kind is SourceKind.SHELL and _SETS_VARIABLE.search(data) is not None:
            return True
        if kind is SourceKind.PYTHON:
            words = self._script
        elif kind in _CONFIG_KINDS:
            words = self._config
            if kind is SourceKind.YAML and (self._brings_packages(data) or any(word in data for word in self._carrier)):
                return True
        else:
            words = self._command if kind in _COMMAND_KINDS else self._lock
        if kind is SourceKind.JSON and len(data) > _DATA_BYTES:
            return self._config_key.search(data) is not None
        # A search per word beats one pattern over all: `in` skips ahead, an alternation tries them all everywhere.
        return any(word in data for word in words)

    def _brings_packages(self, data: bytes) -> bool:
        """Whether a YAML file installs something, or names an image that may bring something."""
        if any(word in data for word in _YAML_INSTALLS):
            return True
        return b"image" in data and any(word in data for word in self._image)


def _needed(words: Iterable[bytes]) -> tuple[bytes, ...]:
    """The words, and that of our own comments; one that holds another is redundant and left out."""
    return _shortest(frozenset(words) | {_COMMENT})


@lru_cache(maxsize=16)
def _shortest(words: frozenset[bytes]) -> tuple[bytes, ...]:
    return tuple(sorted(word for word in words if not any(other != word and other in word for other in words)))
