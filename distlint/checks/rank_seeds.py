"""Calls that seed random numbers, and are told by an argument to seed each rank otherwise (``FrameworkSpec.rank_seeds``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.arguments import find_argument

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


def told_by_rank(project: Project, site: CallSite) -> bool | None:
    """Whether a call that seeds is told to seed each rank otherwise by an argument of its own; ``None`` where that is not known."""
    words = next((one for spec in project.specs for one in spec.rank_seeds if one[0] == site.name), None)
    if words is None:
        return False
    given, certain = find_argument(site.site.call, *words[1:])
    if given is None:
        return False if certain else None
    value = project.evaluator(None).value(given, site.file, site.site.function)
    return value.only if value.is_known and type(value.only) is bool else None
