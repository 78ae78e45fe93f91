"""Where a project calls what its processes make together: functions, methods, wrapped models, backward passes, context managers.

What is collective comes from the frameworks' descriptions (``FrameworkSpec.collectives``), so no names of theirs stand here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.loss_sources import LossSources
from distlint.checks.wrapped_calls import called_object, may_hold_buffers, names_given, names_handed_on
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite
from distlint.link.walking import statements
from distlint.model import python as ir
from distlint.model.framework import CollectiveSpec

if TYPE_CHECKING:
    from distlint.link.project import Project

CALLED = "()"
"""How the name of a collective ends that is the call of an object itself: ``pkg.Class()()``, ``pkg.function()[0]()``."""

BACKWARD = CollectiveSpec("backward", "backward")
"""A backward pass that adds up the gradients of all processes."""


class Operation(NamedTuple):
    """A call that processes make together: what it is, where it stands, and what a message calls it."""

    spec: CollectiveSpec
    file: str
    function: int
    call: ir.Call
    what: str

    @property
    def key(self) -> tuple[str, int]:
        """The place of the call."""
        return self.file, self.call.at


class Collectives:
    """All collective calls of a project, by the place of the call."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._specs = {spec.name: spec for spec in project.collectives}

    @classmethod
    def of_project(cls, project: Project) -> Collectives:
        """The index that all checks of a project share."""
        if cls not in project.kept:
            project.kept[cls] = cls(project)
        found: Collectives = project.kept[cls]
        return found

    @cached_property
    def operations(self) -> dict[tuple[str, int], Operation]:
        """The operations by file and packed position of the call."""
        found: dict[tuple[str, int], Operation] = {}
        for one in (*self._named(), *self._called(), *self._backward()):
            if not self._is_lone(one):
                found.setdefault(one.key, one)
        return found

    @cached_property
    def uneven(self) -> frozenset[tuple[str, int]]:
        """The calls that make a context in which processes may make different numbers of steps."""
        names = {name for one in self._project.specs for name in one.uneven}
        return frozenset((site.file, site.site.call.at) for site in self._project.calls_to(names))

    def _named(self) -> Iterator[Operation]:
        named = {name for name in self._specs if not name.endswith(CALLED)}
        for site in self._project.calls_to({name for name in named if self._may_be_made(name)}):
            yield _operation(self._specs[site.name], site, f"{site.name.rpartition('.')[2]}")

    def _may_be_made(self, name: str) -> bool:
        """Whether the project names what makes the object of a method at all: receivers are costly to ask for."""
        return "()" not in name or name.partition("()")[0].rpartition(".")[2] in self._mentioned

    @cached_property
    def _mentioned(self) -> frozenset[str]:
        """Every name that is imported, or stands behind a dot."""
        modules = [self._project.module(file) for file in self._project.python_files]
        return frozenset(item.name for one in modules for item in one.imports).union(
            *(one.attributes for one in modules)
        )

    def _called(self) -> Iterator[Operation]:
        """The calls of objects that a maker made: of wrapped models."""
        makers = {name.removesuffix(CALLED): spec for name, spec in self._specs.items() if name.endswith(CALLED)}
        project = self._project
        made = [site for name in makers for site in project.calls_to({name.partition("()")[0]})]
        if not made:
            return
        evaluator = project.evaluator(None)
        # An object keeps its name wherever it goes in nearly all programs; asking about every callee would cost far more.
        names = {name for site in made for name in self._names(site)}
        names |= names_handed_on(project, names)
        for file in project.python_files:
            module = project.module(file)
            for name in sorted(names & module.calls.keys()):
                for site in module.calls[name]:
                    found = CallSite(file, site)
                    instance = called_object(project, evaluator, found)
                    if instance is None:
                        continue
                    spec = makers.get(evaluator.instance_name(instance))
                    if spec is None:
                        continue
                    switch, value = spec.lone_argument
                    if switch:
                        given, certain = find_argument(instance.call, switch, None)
                        off = type(given) is ir.Constant and given.value == value
                        if off or (spec.buffers and (given is not None or not certain)):
                            continue
                    if not spec.buffers or may_hold_buffers(project, evaluator, instance):
                        yield _operation(spec, found, f"{text_of(site.call.func)}(...)")

    def _names(self, site: CallSite) -> set[str]:
        """The names that what a call made goes by: where it is assigned, and where a function that returns it is called."""
        names = set(names_given(self._project, site))
        if site.site.function >= 0:
            function = self._project.module(site.file).functions[site.site.function]
            for statement in statements(body_of(self._project, site.file, site.site.function)):
                value = statement.value if type(statement) is ir.Return else None
                items = value.items if type(value) is ir.ListDisplay else (value,)
                if any(
                    item is not None
                    and (ir.encloses(item.at, site.site.call.at) or (type(item) is ir.Name and item.id in names))
                    for item in items
                ):
                    for caller in self._project.sites(function.name)[:20]:
                        names |= set(names_given(self._project, caller))
                    break
        return names

    def _backward(self) -> Iterator[Operation]:
        makers = frozenset(name for one in self._project.specs for name in one.losses)
        if not makers or not any(True for _ in self._project.calls_to(makers)):
            return
        sources = LossSources(self._project, makers)
        for site in self._project.sites("backward"):
            func = site.site.call.func
            if type(func) is ir.Attribute and sources.comes_from(func.base, site.file, site.site.function):
                yield _operation(BACKWARD, site, f"{text_of(func)}()")

    def _is_lone(self, one: Operation) -> bool:
        """Whether an argument makes a call one that no other process takes part in."""
        name, value = one.spec.lone_argument
        if not name or one.spec.name.endswith(CALLED):
            return False
        given, certain = find_argument(one.call, name, None)
        return not certain or (type(given) is ir.Constant and given.value == value)


def _operation(spec: CollectiveSpec, site: CallSite, what: str) -> Operation:
    return Operation(spec, site.file, site.site.function, site.site.call, what)


def text_of(expr: ir.Expr) -> str:
    """A dotted name as it is written; ``...`` for what is none."""
    if type(expr) is ir.Name:
        return expr.id
    if type(expr) is ir.Attribute:
        return f"{text_of(expr.base)}.{expr.name}"
    return "..."
