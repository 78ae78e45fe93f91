"""What a project says about the versions of the packages that it needs: one reader for each format.

Every reader takes the text and the path of a file, gives a ``PinReading``, and reads on behind what it can't make
sense of. A reader is imported when it is asked for, because a project has pins in few of these formats.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distlint.read.pins.command_lines import pins_from_words
    from distlint.read.pins.conda import read_conda
    from distlint.read.pins.dockerfile import read_dockerfile
    from distlint.read.pins.inline_metadata import read_inline_metadata
    from distlint.read.pins.locks import read_lock
    from distlint.read.pins.noxfile import read_noxfile
    from distlint.read.pins.pipfile import read_pipfile
    from distlint.read.pins.pixi import read_pixi
    from distlint.read.pins.pyproject import read_pyproject
    from distlint.read.pins.reading import PinReading
    from distlint.read.pins.requirements import read_requirements
    from distlint.read.pins.setup_cfg import read_setup_cfg
    from distlint.read.pins.setup_py import read_setup_py
    from distlint.read.pins.shell_installs import pins_of_statements
    from distlint.read.pins.yaml_installs import read_yaml_installs

__all__ = [
    "PinReading",
    "pins_from_words",
    "pins_of_statements",
    "read_conda",
    "read_dockerfile",
    "read_inline_metadata",
    "read_lock",
    "read_noxfile",
    "read_pipfile",
    "read_pixi",
    "read_pyproject",
    "read_requirements",
    "read_setup_cfg",
    "read_setup_py",
    "read_yaml_installs",
]

_MODULES = {
    "PinReading": "reading",
    "pins_from_words": "command_lines",
    "pins_of_statements": "shell_installs",
    "read_yaml_installs": "yaml_installs",
    "read_conda": "conda",
    "read_dockerfile": "dockerfile",
    "read_inline_metadata": "inline_metadata",
    "read_lock": "locks",
    "read_noxfile": "noxfile",
    "read_pipfile": "pipfile",
    "read_pixi": "pixi",
    "read_pyproject": "pyproject",
    "read_requirements": "requirements",
    "read_setup_cfg": "setup_cfg",
    "read_setup_py": "setup_py",
}


def __getattr__(name: str) -> Any:
    """Imports a reader on first use."""
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
