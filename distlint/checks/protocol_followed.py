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
from distlint.link.walking import below, expressions_of, last_name, statements
from distlint.model import python as ir


def is_followed(project: Project, declared: Protocol, program: Program) -> bool:
    """Whether the program holds the steps of each function that changes the state and that something in its files may run."""
    moving = {move.event for move in declared.moves}
    calls = {name for event in moving for one in declared.events.get(event, ()) for name in one.calls}
    closure = project.closure(program.start.file)
    if any(_is_handed_on(project, name, closure) for name in calls):
        return False
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


def _is_handed_on(project: Project, name: str, closure: frozenset[str]) -> bool:
    """Whether some file has a function of a library as a value (in a table, for ``partial``): calls that name nothing may be of it."""
    last = name.rpartition(".")[2]
    mentions = project.kept.setdefault(_Mentions, _Mentions(project))
    return any(
        project.modules.dotted(one, file) == name
        for file in closure
        if last in mentions.of(file)
        for one in mentions.values(file)
        if last_name(one) == last
    )


class _Mentions:
    """The last names that the expressions of each file mention, and what it has as values without calling it."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[str, frozenset[str]] = {}
        self._values: dict[str, tuple[ir.Expr, ...]] = {}

    def of(self, file: str) -> frozenset[str]:
        """Those of one file."""
        if file not in self._known:
            self._known[file] = frozenset(self._names(file))
        return self._known[file]

    def values(self, file: str) -> tuple[ir.Expr, ...]:
        """The names and attributes of a file that are neither called nor taken attributes of."""
        if file not in self._values:
            parts = list(self._parts(file))
            inner = {id(one.func) for one in parts if isinstance(one, ir.Call)}
            inner |= {id(one.base) for one in parts if isinstance(one, ir.Attribute)}
            self._values[file] = tuple(
                one for one in parts if isinstance(one, ir.Name | ir.Attribute) and id(one) not in inner
            )
        return self._values[file]

    def _names(self, file: str) -> Iterator[str]:
        for part in self._parts(file):
            if isinstance(part, ir.Name):
                yield part.id
            elif isinstance(part, ir.Attribute):
                yield part.name

    def _parts(self, file: str) -> Iterator[ir.Expr]:
        module = self._project.module(file)
        bodies = [module.body, *(function.body for function in module.functions)]
        held = [expr for body in bodies for one in statements(body) for expr in expressions_of(one)]
        decorators = [one for function in module.functions for one in function.decorators]
        return (part for expr in (*decorators, *held) for part in below(expr))
