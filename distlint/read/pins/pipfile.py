"""``Pipfile``: Pipenv's tables of requirements."""

from __future__ import annotations

from distlint.model.document import Leaf, Mapping, Sequence
from distlint.model.span import LineIndex
from distlint.read.pins.pyproject import read_table_entry
from distlint.read.pins.quoted import inner_span
from distlint.read.pins.reading import Collector, PinReading
from distlint.read.pins.requirement import Requirement

_GROUPS = {"packages": "", "dev-packages": "dev"}


def read_pipfile(text: str, file: str) -> PinReading:
    """Reads ``packages``, ``dev-packages``, other categories as groups of their name, and the version of Python."""
    from distlint.read.toml import read_toml

    reading = read_toml(text, file)
    collector = Collector(file, "pipfile")
    root = reading.documents[0].root if reading.documents else None
    index = LineIndex(text)
    for table in root.entries if isinstance(root, Mapping) else ():
        if table.key == "source" and isinstance(table.node, Sequence):
            for source in table.node.items:
                entry = source.entry("url") if isinstance(source, Mapping) else None
                if entry is not None and isinstance(entry.node, Leaf) and isinstance(entry.node.value.only, str):
                    collector.add_index(entry.node.value.only, inner_span(entry.node, index))
        if not isinstance(table.node, Mapping) or table.key in ("source", "scripts", "pipenv"):
            continue
        if table.key == "requires":
            _read_python(table.node, collector, index)
            continue
        for entry in table.node.entries:
            read_table_entry(entry, _GROUPS.get(table.key, str(table.key)), collector, index)
    return collector.reading()


def _read_python(requires: Mapping, collector: Collector, index: LineIndex) -> None:
    for key, ending in (("python_full_version", ""), ("python_version", ".*")):
        entry = requires.entry(key)
        if entry is not None and isinstance(entry.node, Leaf) and isinstance(entry.node.value.only, str):
            requirement = Requirement("python", f"=={entry.node.value.only}{ending}")
            collector.add_parsed(requirement, inner_span(entry.node, index))
            return
