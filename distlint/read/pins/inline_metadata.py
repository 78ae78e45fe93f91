"""The ``# /// script`` block of a Python file (PEP 723)."""

from __future__ import annotations

from distlint.model.document import Leaf, Mapping, Sequence
from distlint.model.span import LineIndex, Span, whole_line
from distlint.read.pins.quoted import inner_span
from distlint.read.pins.reading import Collector, PinReading
from distlint.read.pins.requirement import Requirement

_START = "# /// script"
_END = "# ///"


def read_inline_metadata(text: str, file: str) -> PinReading:
    """Reads the requirements that a script declares for itself; origin ``script``.

    Two blocks are an error, as the standard says.
    """
    collector = Collector(file, "script")
    blocks = _blocks(text) if _START in text else []
    if len(blocks) > 1:
        collector.error(whole_line(file, blocks[1][0]), "a second `script` block: tools refuse a script that has two")
    if len(blocks) != 1:
        return collector.reading()
    from distlint.read.toml import read_toml

    first_line, body = blocks[0]
    reading = read_toml(body, file)
    for error in reading.errors:
        collector.error(_moved(error.span, first_line), error.message)
    root = reading.documents[0].root if reading.documents else None
    if isinstance(root, Mapping):
        _read_table(root, LineIndex(body), first_line, collector)
    return collector.reading()


def _blocks(text: str) -> list[tuple[int, str]]:
    """(line of the opening comment, TOML text) of each block; it ends at the last ``# ///`` of its run of comments."""
    lines = text.splitlines()
    blocks = []
    at = 0
    while at < len(lines):
        if lines[at].rstrip() != _START:
            at += 1
            continue
        end = at + 1
        while end < len(lines) and (lines[end].startswith("# ") or lines[end].rstrip() == "#"):
            end += 1
        last = next((number for number in range(end - 1, at, -1) if lines[number].rstrip() == _END), None)
        if last is not None:
            blocks.append((at + 1, "\n".join(line[2:] for line in lines[at + 1 : last])))
        at = end
    return blocks


def _read_table(root: Mapping, index: LineIndex, first_line: int, collector: Collector) -> None:
    for entry in root.entries:
        if entry.key == "dependencies" and isinstance(entry.node, Sequence):
            for item in entry.node.items:
                if isinstance(item, Leaf) and isinstance(item.value.only, str):
                    collector.add(item.value.only, _moved(inner_span(item, index), first_line))
        elif entry.key == "requires-python" and isinstance(entry.node, Leaf) and isinstance(entry.node.value.only, str):
            span = _moved(inner_span(entry.node, index), first_line)
            collector.add_parsed(Requirement("python", entry.node.value.only), span)


def _moved(span: Span, first_line: int) -> Span:
    """A span in the block's text as a span in the file: further down, and two columns (``# ``) to the right."""
    return Span(span.file, span.line + first_line, span.column + 2, span.end_line + first_line, span.end_column + 2)
