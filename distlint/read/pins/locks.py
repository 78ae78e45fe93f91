"""Lock files: every package with the one version that was resolved.

They are written by programs in a fixed layout and are long, so they are read line by line.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from distlint.model.span import LineIndex, Span
from distlint.read.pins.conda import add_conda
from distlint.read.pins.reading import Collector, PinReading
from distlint.read.pins.requirement import Requirement, normalise_name

_TABLE = re.compile(r"\[\[?\s*([A-Za-z0-9_.\"'-]+)\s*\]\]?\s*(?:#.*)?")
_STRING = re.compile(
    r"""(name|version|marker|optional|source)\s*=\s*(?:"([^"\\]*)"|'([^']*)'|(true|\{.*))\s*(?:#.*)?"""
)
_PACKAGE_TABLES = ("package", "packages")
_ADDRESS = re.compile(r"/([A-Za-z0-9_.-]+?)-([0-9][^-/\s]*)-([^/\s#]*?(?:\.conda|\.tar\.bz2|\.whl))(?:[#\s]|$)")
_ENTRY = re.compile(r"(\s*-?\s*)(name|version|manager)\s*:\s*(\S+)")
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:\n]')


def read_lock(text: str, file: str) -> PinReading:
    """Reads ``uv.lock``, ``poetry.lock``, ``pdm.lock``, ``pylock.toml``, ``Pipfile.lock`` and the locks of conda and pixi.

    Every pin is ``==``. The project itself (a package from an editable or virtual source) is not among them.
    """
    if not file.lower().endswith(("pipfile.lock", ".toml")) and _is_conda_lock(text, file):
        return _read_conda_lock(text, file)
    if file.lower().endswith("pipfile.lock"):
        return _read_pipfile_lock(text, file)
    collector = Collector(file, "lock")
    index = LineIndex(text)
    fields: dict[str, tuple[str, Span]] = {}
    inside = False
    for number in range(1, index.line_count + 1):
        line = index.line_text(number)
        if line.startswith("["):
            table = _TABLE.fullmatch(line.rstrip())
            if table and table[1].startswith(tuple(f"{name}." for name in _PACKAGE_TABLES)):
                inside = False
                continue
            _flush(fields, collector)
            fields, inside = {}, table is not None and table[1] in _PACKAGE_TABLES
        elif inside and (match := _STRING.fullmatch(line.rstrip())):
            value = next(group for group in match.groups()[1:] if group is not None)
            start = match.start() + 1
            fields[match[1]] = (value, Span(file, number, start, number, len(line.rstrip()) + 1))
    _flush(fields, collector)
    return collector.reading()


def _flush(fields: dict[str, tuple[str, Span]], collector: Collector) -> None:
    if "name" not in fields or "version" not in fields:
        return
    source = fields["source"][0] if "source" in fields else ""
    if "editable" in source or "virtual" in source or "directory" in source:
        return
    version, span = fields["version"]
    marker = fields["marker"][0] if "marker" in fields else ""
    requirement = Requirement(normalise_name(fields["name"][0]), f"=={version}", marker=marker)
    collector.add_parsed(requirement, span, optional=fields.get("optional", ("",))[0] == "true")


def _is_conda_lock(text: str, file: str) -> bool:
    name = file.rpartition("/")[2].lower()
    return name.startswith("pixi") or "conda" in name or "@EXPLICIT" in text[:4096]


def _read_conda_lock(text: str, file: str) -> PinReading:
    """Addresses of conda packages and wheels, one on a line, or entries of name, version and manager."""
    collector = Collector(file, "lock")
    index = LineIndex(text)
    name = version = ""
    place = Span(file, 1, 1, 1, 1)
    for number in range(1, index.line_count + 1):
        line = index.line_text(number)
        span = Span(file, number, len(line) - len(line.lstrip()) + 1, number, len(line.rstrip()) + 1)
        if address := _ADDRESS.search(line):
            _add_build(address[1], address[2], address[3], span, collector)
            name = version = ""
            continue
        field = _ENTRY.fullmatch(line.rstrip())
        if field is None:
            continue
        key, value = field[2], field[3].strip("'\"")
        if key == "name":
            name, version = value, ""
        elif key == "version":
            version, place = value, span
        else:
            if name and version:
                _add_entry(name, version, "", place, collector, conda=value == "conda")
            name = version = ""
    return collector.reading()


def _add_build(name: str, version: str, build: str, span: Span, collector: Collector) -> None:
    if build.endswith((".conda", ".tar.bz2")):
        _add_entry(name, version, build.removesuffix(".conda").removesuffix(".tar.bz2"), span, collector, conda=True)
    else:
        _add_entry(name, unquote(version), "", span, collector, conda=False)


def _add_entry(name: str, version: str, build: str, span: Span, collector: Collector, *, conda: bool) -> None:
    if conda:
        add_conda(f"{name}={version}={build}" if build else f"{name}=={version}", span, collector)
    else:
        collector.add_parsed(Requirement(normalise_name(name), f"=={version}"), span)


def _read_pipfile_lock(text: str, file: str) -> PinReading:
    """Section, package, fields: JSON in any layout, read token by token for the places."""
    collector = Collector(file, "lock")
    path: list[str] = []
    key = word = ""
    line, start = 1, 0
    for match in _JSON_TOKEN.finditer(text):
        piece = match[0]
        if piece == "\n":
            line, start = line + 1, match.end()
        elif piece == ":":
            key = word
        elif piece in ("{", "["):
            path.append(key)
            key = ""
        elif piece in ("}", "]"):
            if path:
                path.pop()
        elif piece[0] == '"':
            word = piece[1:-1]
            if key == "version" and len(path) == 3 and path[1] in ("default", "develop"):
                column = match.start() - start + 2
                span = Span(file, line, column, line, column + len(word))
                optional = path[1] == "develop"
                requirement = Requirement(normalise_name(path[2]), word)
                collector.add_parsed(requirement, span, "dev" if optional else "", optional=optional)
            key = ""
    return collector.reading()
