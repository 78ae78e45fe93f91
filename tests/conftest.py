"""What tests of several areas need: projects made from texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from distlint.discover.walk import sources_of
from distlint.frameworks import specs
from distlint.link.project import Project
from distlint.read.reader import read_source

MakeProject = Callable[[Mapping[str, str]], Project]


@pytest.fixture
def make_project() -> MakeProject:
    """Makes a linked project from texts by path."""

    def make(texts: Mapping[str, str]) -> Project:
        facts = {source.path: read_source(source) for source in sources_of(dict(texts))}
        return Project(facts, set(texts), specs(), lambda path: None, lambda path: texts.get(path, ""))

    return make
