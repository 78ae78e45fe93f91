"""Plans of runs as one SVG file: the rank grids below each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distlint.report.plan_picture import PAD, STYLE, WIDTH, draw, escaped

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.planning.run_plan import RunPlan

MAX_DRAWN = 100
"""Further runs are only counted: a drawing has to stay one that a viewer opens."""


def plans_as_svg(project: Project, plans: Sequence[RunPlan]) -> str:
    """A drawing that stands alone; the names of all runs are text in it."""
    parts = []
    top = 0
    for plan in plans[:MAX_DRAWN]:
        drawing = draw(plan)
        parts.append(f'<g transform="translate(0 {top})">\n{drawing.body}\n</g>')
        top += drawing.height + PAD
    left = len(plans) - MAX_DRAWN
    if left > 0 or not plans:
        text = f"and {left} more runs" if left > 0 else "no runs"
        parts.append(f'<text class="dim" x="{PAD}" y="{top + 20}">{escaped(text)}</text>')
        top += 36
    title = "Parallel layout of " + (plans[0].title if len(plans) == 1 else f"{len(plans)} runs")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="distlint" role="img" width="{WIDTH}" height="{top}"'
        f' viewBox="0 0 {WIDTH} {top}">\n<title>{escaped(title)}</title>\n<style>{STYLE}</style>\n'
        f'<rect class="bg" width="{WIDTH}" height="{top}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
