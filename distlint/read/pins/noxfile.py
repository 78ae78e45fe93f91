"""``noxfile.py``: what the sessions of nox install."""

from __future__ import annotations

import ast

from distlint.model.span import LineIndex
from distlint.read.pins.reading import Collector, PinReading
from distlint.read.pins.setup_py import node_span

_METHODS = frozenset({"install", "conda_install"})


def read_noxfile(text: str, file: str) -> PinReading:
    """Reads ``session.install("torch==2.1", …)``: each function is an environment of its own."""
    collector = Collector(file, "session")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return collector.reading()
    index = LineIndex(text)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
                    _read_call(node, function.name, collector, index)
    return collector.reading()


def _read_call(call: ast.Call, group: str, collector: Collector, index: LineIndex) -> None:
    words = [argument for argument in call.args if isinstance(argument, ast.Constant)]
    skip = False
    for word in words:
        text = word.value
        if not isinstance(text, str) or skip or text.startswith("-"):
            skip = isinstance(text, str) and text in ("-r", "-c", "-e", "-f", "--index-url", "--extra-index-url")
            continue
        collector.add(text, node_span(word, index, collector.file), group, optional=True)
