"""The formats of ``distlint plan``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.planning.run_plan import RunPlan

Render = Callable[["Project", "Sequence[RunPlan]"], str]

PLAN_FORMATS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "text": ("distlint.report.plan_text", "plans_as_text"),
        "json": ("distlint.report.plan_json", "plans_as_json"),
        "svg": ("distlint.report.plan_svg", "plans_as_svg"),
        "html": ("distlint.report.plan_html", "plans_as_html"),
    }
)
"""Names of the formats, and the modules and functions that render them."""


def render_plans(name: str, project: Project, plans: Sequence[RunPlan]) -> str:
    """The plans in a format; raises ``KeyError`` for a name that is none."""
    module, function = PLAN_FORMATS[name]
    render: Render = getattr(import_module(module), function)
    return render(project, plans)
