"""``setup.py``, read without running it."""

from __future__ import annotations

import ast
import re

from distlint.model.span import LineIndex, Span
from distlint.read.pins.reading import Collector, PinReading
from distlint.read.pins.requirement import Requirement, normalise_name
from distlint.read.pins.requirements import requirement_extent
from distlint.read.pins.static_lists import Item, ModuleValues

_COMPUTED = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*(?:[=~<>]=|[<>])\s*")
_GROUPS = {"install_requires": "", "setup_requires": "build", "tests_require": "test"}


def read_setup_py(text: str, file: str) -> PinReading:
    """Reads what ``setup()`` is given for ``install_requires``, ``extras_require``, ``python_requires`` and their like.

    Lists are followed through names, sums, ``append`` and ``extend``; a call that reads a requirements file becomes
    an include. What only some paths of the program add is optional. What can't be followed is left out; where it is
    the version alone, the requirement is dynamic.
    """
    collector = Collector(file, "setup")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = error.lineno if isinstance(error, SyntaxError) and error.lineno else 1
        collector.error(Span(file, line, 1, line, 1), "is not Python that we can parse")
        return collector.reading()
    values = ModuleValues(tree)
    index = LineIndex(text)
    for call in values.calls("setup"):
        for name, expression in values.keywords(call):
            _read_keyword(name, expression, values, collector, index)
            if name == "install_requires":
                _add_computed(values, collector, index)
    return collector.reading()


def _read_keyword(
    name: str, expression: ast.expr, values: ModuleValues, collector: Collector, index: LineIndex
) -> None:
    if name in _GROUPS:
        for item in values.strings(expression):
            _add(item, _GROUPS[name], collector, index)
        for path, node in values.files(expression) if name == "install_requires" else ():
            collector.include(path, node_span(node, index, collector.file))
    elif name == "extras_require":
        for group, value in values.entries(expression):
            for item in values.strings(value):
                _add(item, group, collector, index)
    elif name == "python_requires":
        for item in values.strings(expression)[:1]:
            span = node_span(item.node, index, collector.file)
            collector.add_parsed(Requirement("python", item.text), span)


def _add(item: Item, group: str, collector: Collector, index: LineIndex) -> None:
    """Adds the requirements in a string: one, or one on each line."""
    span = node_span(item.node, index, collector.file)
    for line in item.text.splitlines():
        first, last = requirement_extent(line)
        if first < last:
            collector.add(line[first:last], span, group, optional=bool(group) or not item.certain)


def _add_computed(values: ModuleValues, collector: Collector, index: LineIndex) -> None:
    """Adds requirements whose version the program works out (``f"torch=={installed}"``), where no other names one."""
    known = {pin.name for pin in collector.pins if not pin.optional}
    for start, node in values.computed():
        written = _COMPUTED.fullmatch(start)
        if written and normalise_name(written[1]) not in known:
            requirement = Requirement(normalise_name(written[1]), dynamic=True)
            collector.add_parsed(requirement, node_span(node, index, collector.file))


def node_span(node: ast.expr, index: LineIndex, file: str) -> Span:
    """Where an expression stands; a plain string without its quotes."""
    end_line, end_byte = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    start = index.offset(node.lineno, index.column_of_byte(node.lineno, node.col_offset))
    end = index.offset(end_line, index.column_of_byte(end_line, end_byte))
    if isinstance(node, ast.Constant) and index.text[start + 1 : end - 1] == node.value:
        start, end = start + 1, end - 1
    return index.span(file, start, end)
