from __future__ import annotations

import json

import networkx as nx
import pytest

from distlint.report.graph import GRAPH_FORMATS


@pytest.fixture
def graph() -> nx.DiGraph:
    made = nx.DiGraph()
    made.add_node(("launch", 1), kind="launch", label='torchrun "x" \\', file="run.sh", line=3)
    made.add_node("train", kind="script", label="train.py", file="train.py", line=0)
    made.add_node("ds", kind="document", label="ds [1].json", file="ds [1].json", line=1)
    made.add_node("alone", kind="pin", label="torch==2.4\x1b[2J", file="requirements.txt", line=1)
    made.add_edge(("launch", 1), "train", kind="launches")
    made.add_edge("train", "ds", kind="loads")
    return made


def test_text_shows_what_leads_where(graph):
    lines = GRAPH_FORMATS["text"](graph).splitlines()
    assert lines[lines.index("script train.py") + 1] == "  loads -> document ds [1].json (ds [1].json:1)"
    assert [line for line in lines if line.startswith("pin torch==2.4")]


def test_json_edges_refer_to_nodes(graph):
    written = json.loads(GRAPH_FORMATS["json"](graph))
    labels = {node["id"]: node["label"] for node in written["nodes"]}
    assert {(labels[e["source"]], e["kind"], labels[e["target"]]) for e in written["edges"]} == {
        ('torchrun "x" \\', "launches", "train.py"),
        ("train.py", "loads", "ds [1].json"),
    }


def test_dot_escapes_quotes(graph):
    assert r'label="torchrun \"x\" \\"' in GRAPH_FORMATS["dot"](graph)


def test_mermaid_escapes_brackets_and_quotes(graph):
    chart = GRAPH_FORMATS["mermaid"](graph)
    assert '["ds #91;1#93;.json"]' in chart
    assert chart.count('"') == 2 * (4 + 2)


@pytest.mark.parametrize("name", sorted(GRAPH_FORMATS))
def test_order_of_insertion_does_not_matter(graph, name):
    again = nx.DiGraph()
    again.add_nodes_from(reversed(list(graph.nodes(data=True))))
    again.add_edges_from(reversed(list(graph.edges(data=True))))
    text = GRAPH_FORMATS[name](graph)
    assert GRAPH_FORMATS[name](again) == text
    assert "\x1b" not in text


@pytest.mark.parametrize("name", sorted(GRAPH_FORMATS))
def test_empty_graph(name):
    assert GRAPH_FORMATS[name](nx.DiGraph()).strip() or name == "text"
