"""Wrapped models of which the rehearsal of a program has seen that each backward pass reaches all layers: what it clears."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.model.span import Span
from distlint.rehearsal.performance import Rehearsal

if TYPE_CHECKING:
    from distlint.link.project import Project

_WATCHED = "wrapped models whose layers are all known"


class _Fitting(frozenset[Span]):
    """The places where such models are wrapped."""

    __slots__ = ()


def fitting(project: Project) -> frozenset[Span]:
    """Where models are wrapped whose passes all fit, in every program that was followed to its end on all processes."""
    found = project.kept.get(_Fitting)
    if found is None:
        good: set[Span] = set()
        bad: set[Span] = set()
        for performance in Rehearsal.of(project).performances():
            for stage in performance.stages:
                for one in stage.kept.get(_WATCHED, {}).values():
                    fits = one.fits and performance.complete and performance.function < 0
                    (good if fits else bad).add(one.wrapper.span)
        found = project.kept[_Fitting] = _Fitting(good - bad)
    assert isinstance(found, _Fitting)  # noqa: S101 - stored just above
    return found
