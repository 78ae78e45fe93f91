"""The subjects of a project, by kind: built when the first rule asks for them, and indexed for conditions once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from distlint.judge.view import View
from distlint.model.rule import Rule
from distlint.model.subject import Subject, SubjectKind


class SubjectRegistry:
    """The kinds of subjects that the frameworks offer, and the subjects of one project.

    ``failed`` is told the kind and the exception where a framework can't build its subjects; the kind has none then.
    """

    def __init__(
        self, project: Any, kinds: Iterable[SubjectKind], failed: Callable[[SubjectKind, Exception], None]
    ) -> None:
        self._project = project
        self._kinds: Mapping[str, SubjectKind] = {kind.name: kind for kind in kinds}
        self._failed = failed
        self._views: dict[str, tuple[View, ...]] = {}

    def kind(self, name: str) -> SubjectKind | None:
        """The kind with a name, or ``None`` where no framework that is loaded offers it."""
        return self._kinds.get(name)

    def views_for(self, rule: Rule) -> tuple[View, ...]:
        """The subjects that a declared rule is judged over, as conditions see them."""
        kind = self.kind(rule.check.subject)
        if kind is None or kind.build_for is None:
            return self.views(rule.check.subject)
        return tuple(View(subject) for subject in kind.build_for(self._project, rule))

    def views(self, name: str) -> tuple[View, ...]:
        """The subjects of a kind, as conditions see them."""
        views = self._views.get(name)
        if views is None:
            views = self._views[name] = self._build(name)
        return views

    def subjects(self, name: str) -> tuple[Subject, ...]:
        """The subjects of a kind."""
        return tuple(view.subject for view in self.views(name))

    def subjects_for(self, name: str, rule: Rule) -> tuple[Subject, ...]:
        """The subjects of a kind for a check: of a kind that depends on the rule, those that its parameters ask for."""
        kind = self.kind(name)
        if kind is None or kind.build_for is None:
            return self.subjects(name)
        return tuple(kind.build_for(self._project, rule))

    def _build(self, name: str) -> tuple[View, ...]:
        kind = self._kinds.get(name)
        if kind is None:
            return ()
        try:
            return tuple(View(subject) for subject in kind.build(self._project))
        except Exception as error:  # one framework that fails must not end the others
            self._failed(kind, error)
            return ()
