"""Which scripts of a project use Hugging Face's trainers or Accelerate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distlint.link.project import Project

ACCELERATOR = "accelerate.Accelerator"


def accelerator_scripts(project: Project) -> list[str]:
    """The files that make an ``Accelerator``, sorted."""
    return sorted({found.file for found in project.calls_to({ACCELERATOR})})
