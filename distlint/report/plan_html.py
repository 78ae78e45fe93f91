"""Plans of runs as one HTML page that needs nothing from outside and runs no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distlint.report.plan_picture import STYLE, WIDTH, draw, escaped
from distlint.report.plan_svg import MAX_DRAWN
from distlint.report.plan_text import plan_lines

if TYPE_CHECKING:
    from distlint.link.project import Project
    from distlint.planning.run_plan import RunPlan

_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1160px; padding: 0 1rem;
  background: light-dark(#ffffff, #0d1117); color: light-dark(#1b1f24, #e6edf3); }
h2 { font-size: 1.05rem; margin: 2.5rem 0 .5rem; }
pre { overflow-x: auto; padding: .75rem; border-radius: 6px; background: light-dark(#f6f8fa, #161b22); }
svg { max-width: 100%; height: auto; }
"""


def plans_as_html(project: Project, plans: Sequence[RunPlan]) -> str:
    """For each run the words of the text format and the picture of its ranks."""
    parts = []
    for plan in plans[:MAX_DRAWN]:
        lines = list(plan_lines(project, plan))
        drawing = draw(plan)
        parts.append(
            f"<section>\n<h2>{escaped(lines[0])}</h2>\n<pre>"
            + "\n".join(escaped(line) for line in lines[1:])
            + f'</pre>\n<svg class="distlint" role="img" aria-label="{escaped(plan.title)}" width="{WIDTH}"'
            f' height="{drawing.height}" viewBox="0 0 {WIDTH} {drawing.height}">\n{drawing.body}\n</svg>\n</section>'
        )
    if not plans:
        parts.append("<p>No runs: nothing in these paths starts a distributed job.</p>")
    elif len(plans) > MAX_DRAWN:
        parts.append(f"<p>And {len(plans) - MAX_DRAWN} more runs.</p>")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width">\n<title>Plan of the runs</title>\n'
        f"<style>{_PAGE_STYLE}{STYLE}</style>\n</head>\n<body>\n<h1>Plan of the runs</h1>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )
