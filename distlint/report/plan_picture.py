"""The rank grid of one run as an SVG drawing.

Nodes are boxes, ranks are cells. The colour of a cell is its pipeline stage (its data-parallel replica where there is one
stage), a bar on its left edge joins the ranks of a tensor-parallel group, and the words in it name its place on each axis.
Everything that comes from the project is escaped; there are no scripts, no links and nothing from outside in the drawing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from distlint.model.layout import CONTEXT, DATA, PIPELINE, SEQUENCE, SHARD, TENSOR, TITLES, Grid
from distlint.model.record import dataclass
from distlint.report.plan_text import axes_text, shown
from distlint.report.terminal import harmless

if TYPE_CHECKING:
    from distlint.planning.run_plan import RunPlan

MAX_NODES = 64
"""With more nodes than this the middle ones are left out."""
SHOWN_ENDS = 12
"""How many nodes stand at either end where the replicas do not tell which ones to leave out."""
MAX_COLLAPSED = 1 << 16
"""In a job with more ranks than this nobody looks for the replicas."""
MAX_CELLS = 1024
PER_BOX = 8
"""Ranks in a box where nobody knows how many a node has."""
CELL, GAP, PAD, WIDTH = 62, 6, 12, 1140
HEIGHT = 50
COLOURS = 8

STYLE = """
.distlint { font: 11px ui-sans-serif, system-ui, sans-serif; }
.distlint .bg { fill: #ffffff; } .distlint text { fill: #1b1f24; } .distlint .dim { fill: #57606a; }
.distlint .node { fill: #f6f8fa; stroke: #d0d7de; } .distlint .tp { fill: #1b1f24; } .distlint .warn { fill: #b35900; }
.distlint .c0 { fill: #a8d1ff; } .distlint .c1 { fill: #ffd59e; } .distlint .c2 { fill: #b5e3b5; } .distlint .c3 { fill: #f6b8c6; }
.distlint .c4 { fill: #d4c1f0; } .distlint .c5 { fill: #f0e68c; } .distlint .c6 { fill: #a6e4e0; } .distlint .c7 { fill: #e0c9b4; }
@media (prefers-color-scheme: dark) {
.distlint .bg { fill: #0d1117; } .distlint text { fill: #e6edf3; } .distlint .dim { fill: #9198a1; }
.distlint .node { fill: #161b22; stroke: #3d444d; } .distlint .tp { fill: #e6edf3; } .distlint .warn { fill: #f0883e; }
.distlint .c0 { fill: #1f4b7a; } .distlint .c1 { fill: #7a4d12; } .distlint .c2 { fill: #24602a; } .distlint .c3 { fill: #7d2b40; }
.distlint .c4 { fill: #503a7a; } .distlint .c5 { fill: #655b10; } .distlint .c6 { fill: #155e5a; } .distlint .c7 { fill: #5e4329; }
}
"""
"""Colours for light and dark; printed once for each drawing that stands alone."""

_FORBIDDEN = re.compile("[^\t\n\r -퟿-�\U00010000-\U0010ffff]")


def escaped(text: object) -> str:
    """Text that is only text in XML and HTML."""
    plain = _FORBIDDEN.sub("�", harmless(str(text)))
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        plain = plain.replace(char, entity)
    return plain


@dataclass(frozen=True, slots=True)
class Drawing:
    """The inside of a drawing and its height; all are ``WIDTH`` wide."""

    body: str
    height: int


def draw(plan: RunPlan) -> Drawing:
    """The rank grid of a run with its title, or a line that says why there is none."""
    lines = [f'<text x="{PAD}" y="22" font-size="15" font-weight="600">{escaped(plan.title)}</text>']
    place = f"{plan.span.file}:{plan.span.line}"
    lines.append(f'<text class="dim" x="{PAD}" y="40">{escaped(place)}</text>')
    world = f"world size {shown(plan.world)}"
    if plan.layout is not None:
        world += f" = {axes_text(plan.layout)}"
    lines.append(f'<text x="{PAD}" y="58">{escaped(world)}</text>')
    grid = plan.grid()
    if grid is None:
        why = "; ".join(f"{name}: {reason}" for name, reason in plan.unknown[:2]) or "the layout is not known"
        lines.append(f'<text class="dim" x="{PAD}" y="78">{escaped("no picture: " + why)}</text>')
        return Drawing("\n".join(lines), 92)
    top = 70
    for axis, split, groups in plan.splits:
        if axis in (TENSOR, "ETP"):
            text = f"{split} of {groups} {TITLES[axis]} groups lie on several nodes"
            lines.append(f'<text class="warn" x="{PAD}" y="{top + 8}">{escaped(text)}</text>')
            top += 20
    lines += _legend(grid, top)
    top += 26
    boxes, height = _boxes(plan, grid, top)
    return Drawing("\n".join([*lines, *boxes]), height)


# Cells ---------------------------------------------------------------------------------------------------------------


def _legend(grid: Grid, top: int) -> Iterator[str]:
    axis = _coloured(grid)
    x = PAD
    if axis:
        size = grid.sizes[grid.names.index(axis)]
        yield f'<text class="dim" x="{x}" y="{top + 11}">{escaped(TITLES.get(axis, axis))} rank</text>'
        x += 130
        for number in range(min(size, COLOURS)):
            yield f'<rect class="c{number}" x="{x}" y="{top}" width="14" height="14" rx="3"/>'
            more = "…" if number == COLOURS - 1 and size > COLOURS else ""
            yield f'<text x="{x + 18}" y="{top + 11}">{number}{more}</text>'
            x += 46
    if _lined(grid):
        yield f'<rect class="tp" x="{x}" y="{top}" width="14" height="3"/>'
        yield f'<text class="dim" x="{x + 20}" y="{top + 11}">a line joins the ranks of a tensor-parallel group</text>'


def _coloured(grid: Grid) -> str:
    """The axis that colours stand for: the pipeline, else the replicas, else whatever there is."""
    for name in (PIPELINE, DATA, SHARD, CONTEXT, SEQUENCE, TENSOR):
        if name in grid.names and grid.sizes[grid.names.index(name)] > 1:
            return name
    return ""


def _lined(grid: Grid) -> bool:
    """Whether neighbours form tensor-parallel groups, so that a line can join them."""
    spread = [name for name, size in zip(grid.names, grid.sizes, strict=True) if size > 1]
    return spread[:1] == [TENSOR]


def _boxes(plan: RunPlan, grid: Grid, top: int) -> tuple[list[str], int]:
    told = plan.per_node.only if plan.blocks else None
    known = isinstance(told, int) and told > 0
    size = int(told) if isinstance(told, int) and known else min(PER_BOX, grid.world)
    count = -(-grid.world // size)
    columns = min(size, 8)
    rows = -(-size // columns)
    if size > MAX_CELLS:
        return [f'<text class="dim" x="{PAD}" y="{top + 14}">too many ranks on a node to draw</text>'], top + 30
    box_width = columns * (CELL + GAP) + GAP
    box_height = rows * (HEIGHT + GAP) + GAP + 18
    across = max((WIDTH - 2 * PAD + GAP) // (box_width + GAP), 1)
    shown_nodes = _shown(grid, count, size)
    lines: list[str] = []
    slot = 0
    last = -1
    for node in shown_nodes:
        if node != last + 1:
            slot += (-slot) % across
            y = top + slot // across * (box_height + GAP)
            left = f"nodes {last + 1} to {node - 1} go on in the same way" if known else "further ranks in the same way"
            lines.append(f'<text class="dim" x="{PAD}" y="{y + 14}">{escaped(left)}</text>')
            top += 26
        x = PAD + slot % across * (box_width + GAP)
        y = top + slot // across * (box_height + GAP)
        first = node * size
        name = f"node {node}" if known else f"ranks {first} to {min(first + size, grid.world) - 1}"
        lines.append(f'<rect class="node" x="{x}" y="{y}" width="{box_width}" height="{box_height}" rx="6"/>')
        lines.append(f'<text class="dim" x="{x + GAP}" y="{y + 14}">{name}</text>')
        for rank in range(first, min(first + size, grid.world)):
            column, row = (rank - first) % columns, (rank - first) // columns
            lines += _cell(grid, rank, x + GAP + column * (CELL + GAP), y + 18 + row * (HEIGHT + GAP), column > 0)
        slot += 1
        last = node
    used = -(-slot // across)
    if last < count - 1:
        y = top + used * (box_height + GAP)
        lines.append(f'<text class="dim" x="{PAD}" y="{y + 14}">nodes up to {count - 1} go on in the same way</text>')
        top += 26
    return lines, top + used * (box_height + GAP) + PAD


def _shown(grid: Grid, count: int, size: int) -> Sequence[int]:
    """The nodes that are drawn: all of a few; else those with the first or last replica; else the first and last ones."""
    most = min(MAX_NODES, MAX_CELLS // size)
    if count <= most:
        return range(count)
    replicas = [name for name in (DATA, SHARD) if name in grid.names and grid.sizes[grid.names.index(name)] > 2]
    if replicas and grid.world <= MAX_COLLAPSED:
        last = grid.sizes[grid.names.index(replicas[0])] - 1
        for wanted in ((0, last), (0,)):
            nodes = sorted({rank // size for rank in range(grid.world) if grid.at(replicas[0], rank) in wanted})
            if len(nodes) <= most:
                return nodes
    ends = max(min(SHOWN_ENDS, MAX_CELLS // (2 * size)), 1)
    return [*range(min(ends, count)), *range(max(count - ends, ends), count)]


def _cell(grid: Grid, rank: int, x: int, y: int, has_left: bool) -> Iterator[str]:
    axis = _coloured(grid)
    colour = grid.at(axis, rank) % COLOURS if axis else 0
    places = grid.coordinates(rank)
    title = ", ".join(f"{TITLES.get(name, name)} rank {number}" for name, number in places.items())
    yield f"<g><title>{escaped(f'rank {rank}: {title}')}</title>"
    yield f'<rect class="c{colour}" x="{x}" y="{y}" width="{CELL}" height="{HEIGHT}" rx="4"/>'
    if _lined(grid):
        begins = places[TENSOR] == 0 or not has_left
        ends = places[TENSOR] == grid.sizes[grid.names.index(TENSOR)] - 1
        start = x + 4 if begins and places[TENSOR] == 0 else x - GAP if has_left else x
        stop = x + CELL - 4 if ends else x + CELL
        yield f'<rect class="tp" x="{start}" y="{y + HEIGHT - 4}" width="{stop - start}" height="2.5"/>'
    yield f'<text x="{x + 5}" y="{y + 14}" font-weight="600">{rank}</text>'
    words = [f"{name.lower()}{number}" for name, number in places.items() if grid.sizes[grid.names.index(name)] > 1]
    half = 2 if len(words) > 2 else 1
    rows = [" ".join(words[:half]), " ".join(words[half:])] if len(words) > 1 else [*words, ""]
    for offset, text in zip((27, 38), rows, strict=True):
        yield f'<text class="dim" x="{x + 5}" y="{y + offset}" font-size="{_font(text)}">{escaped(text)}</text>'
    yield "</g>"


def _font(text: str) -> int:
    """A size at which a row of words fits into a cell."""
    return 9 if len(text) <= 11 else 7 if len(text) <= 14 else 6
