"""Whether a program may have its models parted between the processes, by an engine or by sharding, instead of copied to each.

What `prepare` makes of a model is decided by its configuration, by options of the launch and by variables, as well as by the program
itself (accelerate 1.15.0, ``accelerator.py``, ``Accelerator.__init__``; ``commands/launch.py``).
"""

from __future__ import annotations

from distlint.link.project import Project
from distlint.model.source import SourceKind

_WORDS = ("deepspeed", "fsdp", "FSDP", "MEGATRON", "megatron")
_CARRYING = frozenset({SourceKind.YAML, SourceKind.JSON, SourceKind.SHELL})


class _Elsewhere:
    """Whether a file of the project that is no code mentions it."""

    def __init__(self, project: Project) -> None:
        texts = (project.text_of(path) for path, facts in project.facts.items() if facts.kind in _CARRYING)
        self.mentioned = any(word in text for text in texts for word in _WORDS)


def may_part(project: Project, entry: str) -> bool:
    """Whether a program, a configuration or a launch of the project mentions what parts models."""
    found = project.kept.get(_Elsewhere)
    if found is None:
        found = project.kept[_Elsewhere] = _Elsewhere(project)
    assert isinstance(found, _Elsewhere)  # noqa: S101 - stored just above
    if found.mentioned:
        return True
    return any(word in project.text_of(file) for file in project.closure(entry) for word in _WORDS)
