"""Decides from a file's bytes whether anything in it can matter to us, before it is decoded or parsed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from distlint.model.framework import FrameworkSpec
from distlint.model.source import SourceKind

_ALWAYS = frozenset({SourceKind.REQUIREMENTS, SourceKind.SETUP_CFG, SourceKind.HOSTFILE})
"""Small files whose name says that they matter."""

_SHELL_WORDS = (b"python", b"srun", b"mpirun", b"mpiexec", b"pip install", b"source ", b"bash ", b"sbatch", b"conda install")
_ALWAYS_NAMES = frozenset({"pyproject.toml", "setup.py", "Pipfile", "environment.yml", "environment.yaml"})
_CONFIG_KINDS = frozenset({SourceKind.JSON, SourceKind.YAML, SourceKind.TOML})
_COMMAND_KINDS = frozenset({SourceKind.SHELL, SourceKind.MAKEFILE, SourceKind.DOCKERFILE})


class Triage:
    """The compiled patterns: one over scripts, one over configurations (whose prose must not count), one over command files."""

    def __init__(self, specs: Sequence[FrameworkSpec]) -> None:
        literals = sorted({literal for spec in specs for literal in spec.literals})
        keys = sorted({key for spec in specs for key in spec.config_keys})
        packages = sorted({package.encode() for spec in specs for package in spec.packages})
        launchers = {
            # ``deepy.py`` may stand there without the interpreter.
            (words[1] if words[-1].endswith(".py") else words[0]).encode()
            for spec in specs
            for launcher in spec.launchers
            for words in launcher.commands
        }
        self._script = _alternation(literals)
        # The word must stand as a key: data sets and vocabularies hold any word in their prose.
        self._config = re.compile(b"(?:" + _alternation(keys).pattern + rb")[\w-]*[\"']?[ \t]*[:=]")
        self._command = _alternation(sorted(launchers | set(_SHELL_WORDS)))
        self._lock = _alternation(packages)

    def matters(self, path: str, kind: SourceKind, data: bytes) -> bool:
        """Whether the file must be read."""
        if kind in _ALWAYS or path.rpartition("/")[2] in _ALWAYS_NAMES:
            return True
        if kind is SourceKind.PYTHON:
            return self._script.search(data) is not None
        if kind in _CONFIG_KINDS:
            return self._config.search(data) is not None or (kind is SourceKind.YAML and b"pip:" in data)
        if kind in _COMMAND_KINDS:
            return self._command.search(data) is not None
        return self._lock.search(data) is not None


def _alternation(literals: Sequence[bytes]) -> re.Pattern[bytes]:
    """One pattern for all literals; one that holds another is redundant and left out."""
    needed = [literal for literal in literals if not any(other != literal and other in literal for other in literals)]
    return re.compile(b"|".join(re.escape(literal) for literal in needed) or b"(?!)")
