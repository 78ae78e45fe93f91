"""Whether a program that is followed comes to everything that may change the state of its process.

A ``with`` over an object of the project, a generator that is a context, a decorator or a registered hook runs functions that the steps
of a program do not hold. If one of them starts or ends what the protocol is about, the states that were walked say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.protocol_model import Protocol
from distlint.link.modules import FunctionRef
from distlint.link.program import Program
from distlint.link.project import Project
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir


def is_followed(project: Project, declared: Protocol, program: Program) -> bool:
    """Whether the program holds the steps of each function that changes the state and that something in its files may run."""
    moving = {move.event for move in declared.moves}
    calls = {name for event in moving for one in declared.events.get(event, ()) for name in one.calls}
    closure = project.closure(program.start.file)
    for name in sorted(calls & declared.needs_any) or sorted(calls):
        for site in project.calls_to({name}):
            place = (site.file, site.site.function)
            if site.file not in closure or place[1] < 0 or place in program.copies:
                continue
            if _may_run(project, FunctionRef(*place), closure):
                return False
    return True


def _may_run(project: Project, ref: FunctionRef, closure: frozenset[str]) -> bool:
    """Whether anything may run a function: its name is mentioned, or it is one that Python runs by itself."""
    function = project.function(ref)
    if function.decorators or function.parent >= 0 or function.name.startswith("__"):
        return True
    mentions = project.kept.setdefault(_Mentions, _Mentions(project))
    return any(function.name in mentions.of(file) for file in closure)


class _Mentions:
    """The last names that the expressions of each file mention."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[str, frozenset[str]] = {}

    def of(self, file: str) -> frozenset[str]:
        """Those of one file."""
        if file not in self._known:
            self._known[file] = frozenset(self._names(file))
        return self._known[file]

    def _names(self, file: str) -> Iterator[str]:
        module = self._project.module(file)
        bodies = [module.body, *(function.body for function in module.functions)]
        held = [expr for body in bodies for one in statements(body) for expr in expressions_of(one)]
        decorators = [one for function in module.functions for one in function.decorators]
        for part in (part for expr in (*decorators, *held) for part in below(expr)):
            if isinstance(part, ir.Name):
                yield part.id
            elif isinstance(part, ir.Attribute):
                yield part.name
