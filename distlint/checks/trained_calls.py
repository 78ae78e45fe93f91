"""The calls of a wrapped model that a loss comes from, and whether each backward pass goes through one of them only."""

from __future__ import annotations

from typing import NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.programs import family
from distlint.checks.protocol_things import Things
from distlint.link.abstract import Frame
from distlint.link.flow import Env
from distlint.link.project import CallSite
from distlint.link.walking import calls_in, statements
from distlint.model import python as ir

MAX_CALLS = 3_000
"""Calls of a program that are looked at; with more, none is known."""


MAX_CALLERS = 3
"""Functions, one called by the other, from the call of the model to the backward pass."""


class Called(NamedTuple):
    """A call of the model, with where it stands."""

    call: ir.Call
    frame: Frame
    state: Env


class TrainedCalls:
    """The calls of what one call of a wrapper gives, or of a part of that (``part``)."""

    def __init__(self, things: Things, site: CallSite, part: tuple[int | str, ...]) -> None:
        self._things = things
        self._site = site
        self._part = part
        self._found: list[Called] | None = None

    def known(self) -> list[Called]:
        """All calls of the wrapped model under which gradients are kept."""
        if self._found is None:
            self._found = [one for one in self._all() if not self._is_silent(one)]
        return self._found

    def is_one_for_each_backward(self) -> bool:
        """Whether the model is called once before each backward pass: one call in the text, and none in a loop without such a pass."""
        found = self.known()
        return len(found) == 1 and self._is_one(found[0].call, found[0].frame.file, found[0].frame.function, 0)

    def _is_one(self, call: ir.Call, file: str, function: int, depth: int) -> bool:
        project = self._things.project
        body = body_of(project, file, function)
        loops = [one for one in statements(body) if type(one) is ir.For and ir.encloses(one.at, call.at)]
        inner = loops[-1].body if loops else body
        if any(type(one.func) is ir.Attribute and one.func.name.endswith("backward") for one in calls_in(inner)):
            return True
        if loops or function < 0 or depth >= MAX_CALLERS:
            return False
        # a helper that computes the loss: whoever calls it goes backward
        callers = project.sites(project.module(file).functions[function].name)
        return len(callers) == 1 and self._is_one(
            callers[0].site.call, callers[0].file, callers[0].site.function, depth + 1
        )

    def _all(self) -> list[Called]:
        project = self._things.project
        thing = (self._site.file, self._site.site.call.at, self._part)
        found: list[Called] = []
        looked = 0
        for file in sorted(family(project, self._site.file)):
            for sites in project.module(file).calls.values():
                for site in sites:
                    func = site.call.func
                    if not isinstance(func, ir.Name | ir.Attribute) or project.modules.resolve(func, file) is not None:
                        continue
                    looked += 1
                    if looked > MAX_CALLS:
                        return []
                    frame = self._things.evaluator.frame(file, site.function)
                    if any(one.identity == thing for one in self._things.mention(func, frame).options):
                        found.append(Called(site.call, frame, self._things.evaluator.state(frame, site.call.at)))
        return found

    def _is_silent(self, called: Called) -> bool:
        """Whether a call stands under a context, or in a function with a decorator, under which no gradients are kept."""
        project, frame = self._things.project, called.frame
        contexts: list[ir.Expr] = []
        for statement in statements(body_of(project, frame.file, frame.function)):
            if type(statement) is ir.With and ir.encloses(statement.at, called.call.at):
                contexts += [context for context, _ in statement.items]
        if frame.function >= 0:
            contexts += project.module(frame.file).functions[frame.function].decorators
        made = [one.func if type(one) is ir.Call else one for one in contexts]
        return any(project.modules.dotted(one, frame.file) in self._things.silent for one in made)
