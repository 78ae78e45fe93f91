"""pixi's tables of requirements, in ``pixi.toml`` and in ``tool.pixi`` of ``pyproject.toml``."""

from __future__ import annotations

from distlint.model.document import Entry, Leaf, Mapping, Node
from distlint.model.span import LineIndex
from distlint.read.pins.conda import add_conda
from distlint.read.pins.quoted import inner_span
from distlint.read.pins.reading import Collector, PinReading
from distlint.read.pins.requirement import Requirement, normalise_name
from distlint.read.pins.urls import repository_url

_CONDA = ("dependencies", "host-dependencies")
_PYPI = "pypi-dependencies"


def read_pixi(text: str, file: str) -> PinReading:
    """Reads ``pixi.toml``."""
    from distlint.read.toml import read_toml

    reading = read_toml(text, file)
    collector = Collector(file, "conda")
    root = reading.documents[0].root if reading.documents else None
    if isinstance(root, Mapping):
        read_pixi_tables(root, collector, LineIndex(text))
    return collector.reading()


def read_pixi_tables(root: Mapping, collector: Collector, index: LineIndex) -> None:
    """Reads the tables below a node; those of a feature are a group of its name."""
    _read_tables(root, "", collector, index)
    for feature in _entries(_child(root, "feature")):
        _read_tables(feature.node, str(feature.key), collector, index)


def _read_tables(node: Node | None, group: str, collector: Collector, index: LineIndex) -> None:
    for name in _CONDA:
        for entry in _entries(_child(node, name)):
            _read_conda(entry, group, collector, index)
    for entry in _entries(_child(node, _PYPI)):
        _read_pypi(entry, group, collector, index)
    for target in _entries(_child(node, "target")):
        if str(target.key).startswith(("linux", "unix")):
            _read_tables(target.node, group, collector, index)


def _read_conda(entry: Entry, group: str, collector: Collector, index: LineIndex) -> None:
    version, build = _field(entry.node, "version"), _field(entry.node, "build")
    leaf = version or (entry.node if isinstance(entry.node, Leaf) else None)
    span = inner_span(leaf, index) if leaf is not None else entry.key_span
    text = str(leaf.value.only) if leaf is not None else "*"
    keys = [f"version='{text}'"] + ([f"build='{build.value.only}'"] if build is not None else [])
    plain = text if text[:1] in "<>=!~" or text in ("", "*") else f"=={text}"
    written = f"{entry.key}[{','.join(keys)}]" if build is not None else f"{entry.key} {plain}".removesuffix(" *")
    add_conda(written, span, collector, group, optional=bool(group))


def _read_pypi(entry: Entry, group: str, collector: Collector, index: LineIndex) -> None:
    leaf = _field(entry.node, "version") or (entry.node if isinstance(entry.node, Leaf) else None)
    span = inner_span(leaf, index) if leaf is not None else entry.key_span
    text = str(leaf.value.only) if leaf is not None else "*"
    git, reference = _field(entry.node, "git"), _field(entry.node, "tag") or _field(entry.node, "rev")
    place = _field(entry.node, "url") or _field(entry.node, "path")
    url = str(place.value.only) if place is not None else ""
    if git is not None:
        url = repository_url(str(git.value.only), str(reference.value.only) if reference is not None else "")
    name = normalise_name(str(entry.key))
    for key in ("index", "extra-index-urls"):
        if (address := _field(entry.node, key)) is not None:
            collector.add_index(str(address.value.only), span, group, optional=bool(group))
    if url:
        collector.add_parsed(Requirement(name, url=url), span, group, optional=bool(group))
    else:
        spec = "" if text in ("*", "") else text if text[:1] in "<>=!~" else f"=={text}"
        collector.add(f"{name}{spec}", span, group, optional=bool(group))


def _child(node: Node | None, key: str) -> Node | None:
    entry = node.entry(key) if isinstance(node, Mapping) else None
    return entry.node if entry is not None else None


def _field(node: Node | None, key: str) -> Leaf | None:
    child = _child(node, key)
    return child if isinstance(child, Leaf) and isinstance(child.value.only, str) else None


def _entries(node: Node | None) -> tuple[Entry, ...]:
    return tuple(node.entries) if isinstance(node, Mapping) else ()
