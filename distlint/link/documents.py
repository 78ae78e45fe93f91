"""The configuration documents of a project: what a path that a script or a launch names means.

A document stands in a file, is written by a shell script's here-document, or is a string of the program.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from distlint.link.paths import ProjectPath, folders_around, resolve_path
from distlint.model.document import Document, Entry, Leaf, Mapping, Node
from distlint.model.document import Sequence as Items
from distlint.model.facts import FileFacts
from distlint.model.record import dataclass
from distlint.model.source import SourceKind
from distlint.model.span import Span, whole_line
from distlint.model.value import Value, known, unknown

if TYPE_CHECKING:
    from distlint.link.project import Project

_CONFIGURATIONS = (SourceKind.JSON, SourceKind.YAML, SourceKind.TOML)

NUMBERS = frozenset({"omegaconf"})
"""Loaders to which ``1e-3`` is a number: to PyYAML, without a point and a sign, it is a text."""
EXPONENT = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")

MAX_TEXT = 100_000
"""Characters of a text that is read as settings."""


@dataclass(frozen=True, slots=True)
class Load:
    """A script reads a configuration file: which one, from where, with which loader."""

    script: str
    path: str
    loader: str
    span: Span


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """A configuration file that a shell script writes: the path relative to the root, its tree, and the script."""

    path: str
    document: Document
    script: str
    symbol: str = ""
    """What stands for the path where it is not known."""


class Documents:
    """The configuration documents of a project, found by the paths that lead to them."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.loads: dict[tuple[str, str], Load] = {}
        """Which script was seen to read which file."""
        self._numbered: dict[str, Node] = {}

    def loaded(self, path: Value, script: str, loader: str, span: Span) -> Node:
        """The tree of a configuration file that a script reads.

        An unknown leaf if it is not known or not in the project.
        """
        document = self.found(path, script)
        if document is None:
            reason = f"`{path.only}` is not in the project" if path.is_known else path.reason or "the path is not known"
            return Leaf(unknown(reason, span), span)
        self.loads[(script, document.file)] = Load(script, document.file, loader, span)
        if loader not in NUMBERS:
            return document.root
        if document.file not in self._numbered:
            lines = self._project.text_of(document.file).splitlines()
            self._numbered[document.file] = _numbered(document.root, lines)
        return self._numbered[document.file]

    def found(self, path: Value, near: str, extra_folders: Sequence[str] = (), text: str = "") -> Document | None:
        """The configuration document that a path means for a file of the project.

        On disk, or written by a script's here-document.

        ``text`` is a shell word with ``${NAME}`` for what is not known of it: a script may write a file and name it
        by the same word.
        """
        if not path.is_known or not isinstance(path.only, str):
            for place in ("${PWD}/", "${PROJECT}/"):
                if path.symbol.startswith(place) and path.symbol.count("$") == 1:
                    rest = path.symbol.removeprefix(place)
                    found_there = known(ProjectPath(rest) if place == "${PROJECT}/" else rest, *path.spans)
                    return self.found(found_there, near, extra_folders)
            return self._written_as(path, lambda w: w.symbol == path.symbol) if path.symbol else self._named_alike(text)
        if path.only.startswith("/"):
            absolute = posixpath.normpath(path.only)
            return self._written_as(path, lambda w: w.path == absolute)
        folders = [*extra_folders, *folders_around(near)]
        written = {w.path: w for w in self.written}
        # of scripts that write the same name, that which names it here
        callers = {span.file for span in path.spans}
        written.update({w.path: w for w in self.written if w.script in callers})
        found = resolve_path(path.only, folders, {*self._project.paths, *written})
        if found is None:
            return None
        self.loads.setdefault((near, found), Load(near, found, "", path.spans[0] if path.spans else whole_line(near)))
        if found in written:
            return written[found].document
        facts = self._project.file_facts(found)
        return facts.documents[0] if facts is not None and facts.documents else None

    def _named_alike(self, text: str) -> Document | None:
        """The only document that is written under a word with this text."""
        same = [w for w in self.written if text and w.path == posixpath.normpath(text)]
        return same[0].document if len(same) == 1 else None

    def _written_as(self, path: Value, matches: Callable[[WrittenDocument], bool]) -> Document | None:
        """The document that a script writes where the path points; that of the launching script if several do."""
        same = [w for w in self.written if matches(w)]
        files = {span.file for span in path.spans}
        own = [w for w in same if w.script in files] or same
        return own[0].document if len(own) == 1 else None

    @cached_property
    def written(self) -> tuple[WrittenDocument, ...]:
        """The configuration files that shell scripts write, parsed."""
        from distlint.link.written import written_documents

        return tuple(written_documents(self._project.launch_index, self._project.text_of))

    def parsed(self, text: str, loader: str, span: Span) -> Node:
        """The tree of a configuration that stands as a string in the program.

        Every place in it is the string itself.
        """
        found = self.every_parsed(text, loader, span)
        return found[0] if found else Leaf(unknown("not a configuration", span), span)

    def every_parsed(self, text: str, loader: str, span: Span) -> list[Node]:
        """The trees of all documents that stand in a string (``---`` parts those of YAML); none where it is no configuration."""
        if len(text) > MAX_TEXT:
            return []
        from distlint.read.ini import read_ini
        from distlint.read.json import read_json
        from distlint.read.toml import read_toml
        from distlint.read.yaml import read_yaml

        read = {"yaml": read_yaml, "toml": read_toml, "ini": read_ini}.get(loader, read_json)
        reading = read(text, span.file)
        return [] if reading.errors else [respanned(one.root, span) for one in reading.documents]

    def is_broken(self, path: str) -> bool:
        """Whether a configuration file holds errors for which every loader refuses it."""
        facts = self._project.file_facts(path)
        return facts is not None and facts.kind in _CONFIGURATIONS and bool(facts.errors) and not facts.loaders

    def path_of(self, path: Value, near: str, folders: Sequence[str] = ()) -> str:
        """The file on disk that a path means for a file of the project, or ``""``."""
        if not isinstance(path.only, str) or path.only.startswith("/"):
            return ""
        return resolve_path(path.only, [*folders, *folders_around(near)], self._project.paths) or ""

    def files(self) -> Iterator[tuple[str, FileFacts]]:
        """The JSON, YAML and TOML files that were read, sorted."""
        for path in sorted(self._project.facts):
            facts = self._project.facts[path]
            if facts.kind in _CONFIGURATIONS and facts.documents:
                yield path, facts


def _numbered(node: Node, lines: list[str]) -> Node:
    """A tree in which ``1e-3`` is a number where it stands without quotes, which it is to readers of YAML 1.2."""
    if isinstance(node, Leaf):
        value = node.value.only if node.value.is_known else None
        if not isinstance(value, str) or EXPONENT.fullmatch(value) is None or node.span.line > len(lines):
            return node
        is_bare = lines[node.span.line - 1][node.span.column - 1 :].startswith(value)
        return Leaf(node.value.map(float), node.span) if is_bare else node
    if isinstance(node, Items):
        return Items(tuple(_numbered(item, lines) for item in node.items), node.span, node.open)
    entries = (Entry(one.key, one.key_span, _numbered(one.node, lines), one.certain) for one in node.entries)
    return Mapping(tuple(entries), node.span, node.open)


def respanned(node: Node, span: Span) -> Node:
    """A tree with every place replaced by ``span``."""
    if isinstance(node, Leaf):
        from dataclasses import replace

        return Leaf(replace(node.value, spans=(span,)), span)
    if isinstance(node, Items):
        return Items(tuple(respanned(item, span) for item in node.items), span, node.open)
    entries = tuple(Entry(entry.key, span, respanned(entry.node, span), entry.certain) for entry in node.entries)
    return Mapping(entries, span, node.open)
