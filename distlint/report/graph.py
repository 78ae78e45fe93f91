"""The project graph as text, JSON, Graphviz DOT and Mermaid.

Works on the graph's own methods only, so that nothing here imports the graph library. Nodes carry ``kind``,
``label``, ``file`` and ``line``; edges carry ``kind``. Everything is sorted: the same project gives the same output.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from distlint.model.record import dataclass
from distlint.report.terminal import harmless

_DOT_SHAPES = {
    "source": "note",
    "script": "note",
    "function": "ellipse",
    "document": "folder",
    "launch": "cds",
    "pin": "tag",
}


@dataclass(frozen=True, slots=True)
class _Node:
    """A node by its number in the output, which identifies it there."""

    number: int
    kind: str
    label: str
    file: str
    line: int

    @property
    def place(self) -> str:
        """``file:line``, the file alone, or nothing."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file


@dataclass(frozen=True, slots=True)
class _Edge:
    source: _Node
    target: _Node
    kind: str


def as_text(graph: Any) -> str:
    """One paragraph per node that something leads out of: the node, and below it what each edge leads to."""
    nodes, edges = _sorted(graph)
    linked = {edge.source.number for edge in edges} | {edge.target.number for edge in edges}
    lines = []
    for node in nodes:
        leaving = [edge for edge in edges if edge.source == node]
        if leaving or node.number not in linked:
            lines.append(_title(node))
            lines += [f"  {harmless(edge.kind)} -> {_title(edge.target)}" for edge in leaving]
    return "\n".join([*lines, ""])


def as_json(graph: Any) -> str:
    """One object with ``nodes`` (``id`` is a number) and ``edges`` (``source`` and ``target`` are such numbers)."""
    nodes, edges = _sorted(graph)
    written = {
        "schema_version": 1,
        "nodes": [
            {"id": node.number, "kind": node.kind, "label": node.label, "file": node.file, "line": node.line}
            for node in nodes
        ],
        "edges": [{"source": edge.source.number, "target": edge.target.number, "kind": edge.kind} for edge in edges],
    }
    return json.dumps(written, indent=2) + "\n"


def as_dot(graph: Any) -> str:
    """A digraph for Graphviz."""
    nodes, edges = _sorted(graph)
    lines = ["digraph distlint {", "  rankdir=LR;", "  node [fontname=monospace];"]
    for node in nodes:
        shape = _DOT_SHAPES.get(node.kind, "box")
        lines.append(f"  n{node.number} [label={_dot(node.label)}, tooltip={_dot(node.place)}, shape={shape}];")
    lines += [f"  n{e.source.number} -> n{e.target.number} [label={_dot(e.kind)}];" for e in edges]
    return "\n".join([*lines, "}", ""])


def as_mermaid(graph: Any) -> str:
    """A flow chart for Mermaid, as Markdown viewers show it."""
    nodes, edges = _sorted(graph)
    lines = ["flowchart LR"]
    lines += [f'  n{node.number}["{_mermaid(node.label)}"]' for node in nodes]
    lines += [f'  n{e.source.number} -->|"{_mermaid(e.kind)}"| n{e.target.number}' for e in edges]
    return "\n".join([*lines, ""])


GRAPH_FORMATS: Mapping[str, Callable[[Any], str]] = MappingProxyType(
    {"text": as_text, "json": as_json, "dot": as_dot, "mermaid": as_mermaid}
)
"""Names of the graph formats and the functions that render them."""


def _sorted(graph: Any) -> tuple[list[_Node], list[_Edge]]:
    ordered = sorted(graph.nodes(data=True), key=lambda item: (*_key(item[1]), str(item[0])))
    nodes = {name: _Node(number, *_fields(name, data)) for number, (name, data) in enumerate(ordered)}
    edges = [
        _Edge(nodes[source], nodes[target], str(data.get("kind", "")))
        for source, target, data in graph.edges(data=True)
    ]
    edges.sort(key=lambda edge: (edge.source.number, edge.target.number, edge.kind))
    return list(nodes.values()), edges


def _key(data: Mapping[str, Any]) -> tuple[str, int, str, str]:
    return (str(data.get("file", "")), int(data.get("line", 0)), str(data.get("kind", "")), str(data.get("label", "")))


def _fields(name: Any, data: Mapping[str, Any]) -> tuple[str, str, str, int]:
    file, line, kind, label = _key(data)
    return kind, label or str(name), file, line


def _title(node: _Node) -> str:
    place = f" ({harmless(node.place)})" if node.place and node.place != node.label else ""
    return f"{harmless(node.kind)} {harmless(node.label)}{place}".strip()


def _dot(text: str) -> str:
    escaped = harmless(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _mermaid(text: str) -> str:
    """Label text with everything but plain characters as Mermaid's numeric entities."""
    return "".join(char if char.isalnum() or char in " ._-/:=" else f"#{ord(char)};" for char in harmless(text))
