"""Whether a program may have its models parted between the processes, by an engine or by sharding, instead of copied to each.

What `prepare` makes of a model is decided by its configuration, by options of the launch and by variables, as well as by the program
itself (accelerate 1.15.0, ``accelerator.py``, ``Accelerator.__init__``; ``commands/launch.py``).
"""

from __future__ import annotations

from distlint.link.mentions import mentions
from distlint.link.project import Project

_WORDS = ("deepspeed", "fsdp", "FSDP", "MEGATRON", "megatron")


def may_part(project: Project, entry: str) -> bool:
    """Whether a program, a configuration or a launch of the project mentions what parts models."""
    return mentions(project, entry, _WORDS)
