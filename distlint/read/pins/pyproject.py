"""``pyproject.toml``: the standard tables, and those of Poetry, PDM, uv, Hatch and setuptools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from distlint.model.document import Entry, Leaf, Mapping, Node, Sequence, find
from distlint.model.facts import ReadError
from distlint.model.span import LineIndex
from distlint.read.pins.pixi import read_pixi_tables
from distlint.read.pins.poetry import poetry_requirement
from distlint.read.pins.quoted import inner_span
from distlint.read.pins.reading import Collector, PinReading
from distlint.read.pins.requirement import Requirement, RequirementError, normalise_name
from distlint.read.pins.urls import package_of_url, repository_url

BUILD_GROUP = "build"
"""The group of ``build-system.requires``: it is installed where the project is built, not where it runs."""


def read_pyproject(text: str, file: str) -> PinReading:
    """Reads every table of requirements; ``requires-python`` becomes a pin of ``python``.

    Faults of the TOML itself are for ``read_toml`` to report.
    """
    from distlint.read.toml import read_toml

    reading = read_toml(text, file)
    collector = Collector(file, "pyproject")
    root = reading.documents[0].root if reading.documents else None
    if isinstance(root, Mapping):
        _Pyproject(root, LineIndex(text), collector).read()
    return collector.reading()


class _Pyproject:
    def __init__(self, root: Mapping, index: LineIndex, collector: Collector) -> None:
        self._root = root
        self._index = index
        self._collector = collector
        self._sources = {
            normalise_name(str(entry.key)): entry.node for entry in _entries(self._at("tool", "uv", "sources"))
        }

    def read(self) -> None:
        self._list(self._at("project", "dependencies"), "")
        self._lists(self._at("project", "optional-dependencies"))
        self._lists(self._at("dependency-groups"))
        self._list(self._at("build-system", "requires"), BUILD_GROUP)
        self._python(self._at("project", "requires-python"))
        self._lists(self._at("tool", "pdm", "dev-dependencies"))
        self._list(self._at("tool", "uv", "dev-dependencies"), "dev")
        self._list(self._at("tool", "uv", "constraint-dependencies"), "", origin="constraints")
        self._list(self._at("tool", "uv", "override-dependencies"), "", origin="overrides")
        self._overrides(self._at("tool", "pdm", "resolution", "overrides"))
        for entry in _entries(self._at("tool", "hatch", "envs")):
            group = "" if entry.key == "default" else str(entry.key)
            for name in ("dependencies", "extra-dependencies"):
                self._list(_child(entry.node, name), group)
        self._files(self._at("tool", "hatch", "metadata", "hooks", "requirements_txt", "files"))
        self._list(self._at("tool", "flit", "metadata", "requires"), "")
        self._lists(self._at("tool", "flit", "metadata", "requires-extra"))
        self._python(self._at("tool", "flit", "metadata", "requires-python"))
        self._indexes()
        if isinstance(pixi := self._at("tool", "pixi"), Mapping):
            before = len(self._collector.pins)
            read_pixi_tables(pixi, self._collector, self._index)
            found = self._collector.pins
            found[before:] = [replace(pin, origin="conda") for pin in found[before:]]
        self._poetry(self._at("tool", "poetry"))
        self._dynamic(self._at("tool", "setuptools", "dynamic", "dependencies"))

    def _at(self, *path: str) -> Node | None:
        entry, _ = find(self._root, path)
        return entry.node if entry is not None else None

    def _lists(self, table: Node | None) -> None:
        for entry in _entries(table):
            self._list(entry.node, str(entry.key))

    def _list(self, node: Node | None, group: str, origin: str = "") -> None:
        for leaf in _strings(node):
            span = inner_span(leaf, self._index)
            before = len(self._collector.pins)
            self._collector.add(leaf.value.only, span, group, optional=bool(group), origin=origin)
            for position in range(before, len(self._collector.pins)):
                self._move_to_source(position)

    def _move_to_source(self, position: int) -> None:
        """Makes a pin dynamic where ``tool.uv.sources`` takes the package from a repository or a folder."""
        pin = self._collector.pins[position]
        source = self._sources.get(pin.name)
        if not any(_child(source, key) is not None for key in ("git", "path", "url", "workspace")):
            return
        url = _text(source, "url") or _text(source, "path")
        if git := _text(source, "git"):
            url = repository_url(git, _text(source, "tag") or _text(source, "rev") or _text(source, "branch"))
        if url and package_of_url(url).version:
            self._collector.pins[position] = replace(pin, url=url, specifier="")
        else:
            self._collector.pins[position] = replace(pin, dynamic=True)

    def _python(self, node: Node | None) -> None:
        for leaf in _strings(node):
            span = inner_span(leaf, self._index)
            self._collector.add_parsed(Requirement("python", leaf.value.only.replace(" ", "")), span)

    def _poetry(self, poetry: Node | None) -> None:
        self._poetry_table(_child(poetry, "dependencies"), "")
        self._poetry_table(_child(poetry, "dev-dependencies"), "dev")
        for entry in _entries(_child(poetry, "group")):
            self._poetry_table(_child(entry.node, "dependencies"), str(entry.key))

    def _poetry_table(self, table: Node | None, group: str) -> None:
        for entry in _entries(table):
            read_table_entry(entry, group, self._collector, self._index)

    def _dynamic(self, node: Node | None) -> None:
        self._files(_child(node, "file"))

    def _files(self, node: Node | None) -> None:
        for leaf in _strings(node):
            self._collector.include(leaf.value.only, inner_span(leaf, self._index))

    def _overrides(self, table: Node | None) -> None:
        """PDM's: a version, or a specifier, for each package."""
        for entry in _entries(table):
            for leaf in _strings(entry.node):
                text = leaf.value.only
                spec = text if text[:1] in "<>=!~" else f"=={text}"
                self._collector.add(f"{entry.key}{spec}", inner_span(leaf, self._index), origin="overrides")

    def _indexes(self) -> None:
        """The addresses that uv, Poetry and PDM take wheels from."""
        for path in (("tool", "uv", "index"), ("tool", "poetry", "source"), ("tool", "pdm", "source")):
            node = self._at(*path)
            for item in node.items if isinstance(node, Sequence) else ():
                for leaf in _strings(_child(item, "url")):
                    self._collector.add_index(leaf.value.only, inner_span(leaf, self._index))
        for table in (self._at("tool", "uv"), self._at("tool", "uv", "pip")):
            for name in ("index-url", "extra-index-url", "find-links", "torch-backend"):
                for leaf in _strings(_child(table, name)):
                    self._collector.add_index(leaf.value.only, inner_span(leaf, self._index))


def read_table_entry(entry: Entry, group: str, collector: Collector, index: LineIndex) -> None:
    """Reads ``name = "^1.2"``, ``name = { version = "…", … }`` or a list of such, as Poetry and Pipenv write them."""
    choices = entry.node.items if isinstance(entry.node, Sequence) else (entry.node,)
    for node in choices:
        fields = node if isinstance(node, Mapping) else None
        version = _child(fields, "version") if fields is not None else node
        leaf = version if isinstance(version, Leaf) else None
        span = inner_span(leaf, index) if leaf is not None else entry.key_span
        try:
            requirement = poetry_requirement(str(entry.key), leaf.value if leaf is not None else None, fields)
        except RequirementError as error:
            collector.errors.append(ReadError(span, str(error)))
            continue
        optional = bool(group) or _is_true(_child(fields, "optional"))
        collector.add_parsed(requirement, span, group, optional=optional)


def _text(node: Node | None, key: str) -> str:
    leaf = _child(node, key)
    value = leaf.value.only if isinstance(leaf, Leaf) else None
    return value if isinstance(value, str) else ""


def _child(node: Node | None, key: str) -> Node | None:
    entry = node.entry(key) if isinstance(node, Mapping) else None
    return entry.node if entry is not None else None


def _entries(node: Node | None) -> Iterator[Entry]:
    if isinstance(node, Mapping):
        yield from node.entries


def _strings(node: Node | None) -> Iterator[Leaf]:
    for item in node.items if isinstance(node, Sequence) else (node,):
        if isinstance(item, Leaf) and isinstance(item.value.only, str):
            yield item


def _is_true(node: Node | None) -> bool:
    return isinstance(node, Leaf) and node.value.only is True
