"""Draws the pictures of the documentation.

``docs/images/showcase.svg`` is what ``distlint check fixtures/showcase`` prints, in its colours. The text is the real
report; of its findings only those in ``SHOWN`` are drawn, and a line says how many are left out.
``docs/images/plan.svg`` is what ``distlint plan`` draws of one of the showcase's jobs.
``--check`` writes nothing and exits with 1 when a picture is stale.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import distlint  # noqa: E402
from distlint.engine import Request, analyse  # noqa: E402
from distlint.planning.project_plans import plans_of  # noqa: E402
from distlint.report.formats import RenderOptions, render  # noqa: E402
from distlint.report.plan_svg import plans_as_svg  # noqa: E402
from distlint.settings import load_settings  # noqa: E402

SHOWCASE = "fixtures/showcase"
PLANNED = f"{SHOWCASE}/launch/megatron_30b.slurm"
IMAGES = ROOT / "docs" / "images"

SHOWN = ("DS101", "PT501", "RUN103", "RUN401")
"""Codes of the findings in the picture: of each the first, in the order of the report."""

COLUMNS = 134
"""Longer lines go on in the next one, as a terminal of this width shows them."""

CELL, LINE, SIZE, MARGIN = 7.8, 17, 13, 20
"""Width of a character, height of a line, size of the font and margin of the picture, in pixels."""

STYLE = """\
.screen{fill:#0d1117}
text{fill:#c9d1d9;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}
.b{font-weight:bold}.d{fill:#8b949e}.c31{fill:#ff7b72}.c32{fill:#7ee787}.c33{fill:#e3b341}.c34{fill:#6e9bd8}.c36{fill:#76e3ea}
"""

_LINK = re.compile(r"\x1b\]8;;.*?\x1b\\")
_COLOR = re.compile(r"\x1b\[([0-9;]*)m")


class Run(NamedTuple):
    """Characters in one style; ``style`` is what stands between ``ESC[`` and ``m``, ``""`` for the plain one."""

    text: str
    style: str


def report_text() -> str:
    """What ``distlint check fixtures/showcase`` shows on a terminal; its hyperlinks are taken away."""
    report = distlint.check(ROOT / SHOWCASE, jobs=1, use_cache=False)
    text = render("text", report, RenderOptions(color=True, links=True, width=COLUMNS, base=str(ROOT)))
    return _LINK.sub("", text)


def plan() -> str:
    """The drawing of the planned job's ranks."""
    analysed = analyse(Request(paths=(ROOT / PLANNED,), settings=load_settings(ROOT / SHOWCASE), judged=False))
    plans, report = plans_of(analysed)
    if report.project is None or len(plans) != 1:
        raise ValueError(f"{PLANNED} is not the one run that it should be")
    return plans_as_svg(report.project, plans)


def chosen(text: str) -> str:
    """The report with the findings that the picture shows; raises ``ValueError`` for a code that it does not hold."""
    *blocks, summary = text.rstrip("\n").split("\n\n")
    picked: dict[str, str] = {}
    for block in blocks:
        code = re.search(r"\[([A-Z]+[0-9]+)\]", block)
        if code is not None and code.group(1) in SHOWN:
            picked.setdefault(code.group(1), block)
    if missing := set(SHOWN) - set(picked):
        raise ValueError(f"the showcase does not yield {', '.join(sorted(missing))}")
    left = f"\x1b[2m... and {len(blocks) - len(picked)} more ...\x1b[0m"
    return "\n\n".join([*picked.values(), left, summary])


def svg(text: str) -> str:
    """The picture of a text with terminal colours."""
    prompt = [[Run("$ ", "32"), Run(f"distlint check {SHOWCASE}", "1")], []]
    lines = [*prompt, *(part for line in text.split("\n") for part in _wrapped(list(_runs(line))))]
    width = round(COLUMNS * CELL + 2 * MARGIN)
    height = len(lines) * LINE + 2 * MARGIN
    drawn = (_line(runs, MARGIN + number * LINE + SIZE) for number, runs in enumerate(lines) if runs)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    label = f"Findings of distlint check {SHOWCASE}"
    return "\n".join(
        [
            f'{head} role="img" xml:space="preserve" aria-label="{label}" font-size="{SIZE}">',
            f"<style>\n{STYLE}</style>",
            f'<rect class="screen" width="{width}" height="{height}" rx="8"/>',
            *drawn,
            "</svg>\n",
        ]
    )


def _runs(line: str) -> Iterator[Run]:
    style = ""
    parts = _COLOR.split(line)
    for index, part in enumerate(parts):
        if index % 2:
            style = "" if part in ("", "0") else part
        elif part:
            yield Run(part, style)


def _wrapped(runs: list[Run]) -> list[list[Run]]:
    """A line as the lines that it takes on a terminal of ``COLUMNS`` columns."""
    lines: list[list[Run]] = [[]]
    room = COLUMNS
    for text, style in runs:
        while len(text) > room:
            lines[-1].append(Run(text[:room], style))
            text, room = text[room:], COLUMNS
            lines.append([])
        lines[-1].append(Run(text, style))
        room -= len(text)
    return lines


def _line(runs: list[Run], y: int) -> str:
    """One line of text; every run has its own place and length, so that columns hold in any font."""
    spans = []
    column = 0
    for text, style in runs:
        bare = text.lstrip(" ")
        at = column + len(text) - len(bare)
        column += len(text)
        if not bare.strip():
            continue
        bare = bare.rstrip(" ")
        names = " ".join({"1": "b", "2": "d"}.get(word, f"c{word}") for word in style.split(";") if word)
        attributes = f' class="{names}"' if names else ""
        place = f'x="{MARGIN + at * CELL:.1f}" textLength="{len(bare) * CELL:.1f}"'
        spans.append(f"<tspan {place}{attributes}>{escape(bare)}</tspan>")
    return f'<text y="{y}">{"".join(spans)}</text>'


def main(arguments: list[str] | None = None) -> int:
    """Draws or checks the picture; the exit code is 1 if a check found it stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the picture is stale")
    given = parser.parse_args(arguments)
    pictures = {IMAGES / "showcase.svg": svg(chosen(report_text())), IMAGES / "plan.svg": plan()}
    stale = [
        path for path, drawn in pictures.items() if not path.is_file() or path.read_text(encoding="utf-8") != drawn
    ]
    for path in stale:
        print(f"{'stale' if given.check else 'written'}: {path.relative_to(ROOT)}")
        if not given.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pictures[path], encoding="utf-8", newline="\n")
    return 1 if stale and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
