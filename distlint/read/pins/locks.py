"""Lock files: every package with the one version that was resolved.

They are written by programs in a fixed layout and are long, so they are read line by line.
"""

from __future__ import annotations

import re

from distlint.model.span import LineIndex, Span
from distlint.read.pins.reading import Collector, PinReading
from distlint.read.pins.requirement import Requirement, normalise_name

_TABLE = re.compile(r"\[\[?\s*([A-Za-z0-9_.\"'-]+)\s*\]\]?\s*(?:#.*)?")
_STRING = re.compile(
    r"""(name|version|marker|optional|source)\s*=\s*(?:"([^"\\]*)"|'([^']*)'|(true|\{.*))\s*(?:#.*)?"""
)
_PACKAGE_TABLES = ("package", "packages")
_JSON_ENTRY = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*:\s*(\{\s*\}|\{|"((?:[^"\\]|\\.)*)")?')


def read_lock(text: str, file: str) -> PinReading:
    """Reads ``uv.lock``, ``poetry.lock``, ``pdm.lock``, ``pylock.toml`` or ``Pipfile.lock``; every pin is ``==``.

    The project itself (a package from an editable or virtual source) is not among them.
    """
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


def _read_pipfile_lock(text: str, file: str) -> PinReading:
    """Follows the layout that pipenv writes: section, package, fields, each on a line of its own."""
    collector = Collector(file, "lock")
    index = LineIndex(text)
    path: list[str] = []
    for number in range(1, index.line_count + 1):
        line = index.line_text(number)
        match = _JSON_ENTRY.match(line)
        if match is not None and match[2] == "{":
            path.append(match[1])
        elif match is not None and len(path) == 2 and match[1] == "version" and match[3]:
            span = Span(file, number, match.start(3) + 1, number, match.end(3) + 1)
            section, name = path
            requirement = Requirement(normalise_name(name), match[3])
            collector.add_parsed(
                requirement, span, "dev" if section == "develop" else "", optional=section == "develop"
            )
        elif line.strip().startswith("}") and path:
            path.pop()
    return collector.reading()
