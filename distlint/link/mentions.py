"""Whether a project mentions something anywhere that could decide how a program runs: in its code, a configuration or a launch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from distlint.model.source import SourceKind

if TYPE_CHECKING:
    from distlint.link.project import Project

_CARRYING = frozenset({SourceKind.YAML, SourceKind.JSON, SourceKind.SHELL, SourceKind.MAKEFILE, SourceKind.DOCKERFILE})


class _Beside:
    """The texts of those files of a project that are no code, and which words stand in them."""

    def __init__(self, project: Project) -> None:
        self._texts = [project.text_of(path) for path, facts in project.facts.items() if facts.kind in _CARRYING]
        self._known: dict[str, bool] = {}

    def mention(self, word: str) -> bool:
        if word not in self._known:
            self._known[word] = any(word in text for text in self._texts)
        return self._known[word]


def mentioned_beside(project: Project, words: Iterable[str]) -> bool:
    """Whether one of some words stands in a configuration or launch of a project."""
    beside = _beside(project)
    return any(beside.mention(word) for word in words)


def _beside(project: Project) -> _Beside:
    beside = project.kept.get(_Beside)
    if beside is None:
        beside = project.kept[_Beside] = _Beside(project)
    assert isinstance(beside, _Beside)  # noqa: S101 - stored just above
    return beside


def mentions(project: Project, entry: str, words: Iterable[str]) -> bool:
    """Whether one of some words stands in the files that a program imports, or in a configuration or launch of its project."""
    beside = _beside(project)
    texts = [project.text_of(file) for file in project.closure(entry)]
    return any(beside.mention(word) or any(word in text for text in texts) for word in words)
