"""Whose gradients a call brings together: ``all_reduce(p.grad)`` in a loop over ``model.parameters()``, in all its spellings.

Gradients in a list, flattened into one tensor, gone through by the groups of an optimizer, or with the parameters handed to
a helper.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.execution import body_of
from distlint.checks.spread_names import called_name
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

MAX_DEPTH = 4
MAX_CALLERS = 4
_PARAMETERS = frozenset({"parameters", "named_parameters"})
_JOINING = frozenset({"cat", "_flatten_dense_tensors", "flatten", "concat", "stack", "flatten_dense_tensors"})
_PASSING = frozenset({"list", "tuple", "filter", "reversed", "enumerate", "sorted", "iter", "chain"})
_VIEWS = frozenset({"view", "reshape", "flatten", "contiguous", "detach", "data", "float", "ravel"})


def models_of(project: Project, site: CallSite) -> list[Instance]:
    """The models whose gradients a call is given as its tensor; none where that can't be told."""
    tensor, _ = find_argument(site.site.call, "tensor", 0)
    if tensor is None:
        return []
    found = list(_Source(project, site.file, site.site.function).of_gradient(tensor, 0))
    unique = {one.identity: one for one in found}
    return list(unique.values())


class _Loops:
    """The loops and comprehensions of a function: where each stands and what it goes through, by the names that they bind."""

    def __init__(self, body: tuple[ir.Stmt, ...]) -> None:
        self.binding: dict[str, list[tuple[ir.Position, ir.Expr]]] = {}
        for statement in statements(body):
            if type(statement) is ir.For:
                self._add(statement.target, statement.at, statement.iterable)
            for expr in expressions_of(statement):
                for part in below(expr):
                    if type(part) is ir.Comprehension:
                        for target, iterable, _ in part.generators:
                            self._add(target, part.at, iterable)

    def _add(self, target: ir.Expr, at: ir.Position, iterable: ir.Expr) -> None:
        for name in {part.id for part in below(target) if type(part) is ir.Name}:
            self.binding.setdefault(name, []).append((at, iterable))

    @classmethod
    def of(cls, project: Project, file: str, function: int) -> _Loops:
        """Those of a function, looked for once."""
        kept: dict[tuple[str, int], _Loops] = project.kept.setdefault(cls, {})
        key = (file, function)
        if key not in kept:
            kept[key] = cls(body_of(project, file, function))
        return kept[key]


class _Source:
    """Follows expressions of one function back to models."""

    def __init__(self, project: Project, file: str, function: int) -> None:
        self._project = project
        self._file = file
        self._function = function
        self._body = body_of(project, file, function)

    def of_gradient(self, expr: ir.Expr, depth: int) -> Iterator[Instance]:
        """The models of an expression that is a gradient, or several in one tensor."""
        if depth > MAX_DEPTH:
            return
        expr = _bare(self._before(expr))
        if type(expr) is ir.Attribute and expr.name == "grad":
            yield from self._of_parameter(expr.base, depth + 1)
        elif type(expr) is ir.Call and called_name(expr) in _JOINING and expr.args:
            yield from self._of_gradients(expr.args[0], depth + 1)
        elif type(expr) is ir.Name:
            for iterable in self._ranges(expr.id, expr.at):
                yield from self._of_gradients(iterable, depth + 1)

    def _of_gradients(self, expr: ir.Expr, depth: int) -> Iterator[Instance]:
        """The models of a list of gradients."""
        expr = self._before(expr)
        if type(expr) is ir.Comprehension:
            element = _bare(expr.element)
            if type(element) is ir.Attribute and element.name == "grad" and type(element.base) is ir.Name:
                for target, iterable, _ in expr.generators:
                    if _binds(target, element.base.id):
                        yield from self._of_parameters(iterable, depth + 1)

    def _of_parameter(self, expr: ir.Expr, depth: int) -> Iterator[Instance]:
        if type(expr) is ir.Name:
            for iterable in self._ranges(expr.id, expr.at):
                yield from self._of_parameters(iterable, depth + 1)
        elif type(expr) is ir.Attribute and type(expr.base) is ir.Name and expr.name in ("weight", "bias"):
            yield from self._objects(expr.base)

    def _of_parameters(self, expr: ir.Expr, depth: int) -> Iterator[Instance]:
        """The models whose parameters an iterable goes through."""
        if depth > MAX_DEPTH + 2:
            return
        expr = self._before(expr)
        if type(expr) is ir.Call:
            name = called_name(expr)
            if name in _PARAMETERS and type(expr.func) is ir.Attribute:
                yield from self._objects(expr.func.base)
            elif name in _PASSING:
                for one in expr.args:
                    yield from self._of_parameters(one, depth + 1)
        elif type(expr) is ir.Comprehension:
            for _, iterable, _ in expr.generators:
                yield from self._of_parameters(iterable, depth + 1)
        elif type(expr) is ir.Subscript and type(expr.index) is ir.Constant and expr.index.value == "params":
            if type(expr.base) is ir.Name:
                for iterable in self._ranges(expr.base.id, expr.at):
                    yield from self._of_groups(iterable, depth + 1)
        elif type(expr) is ir.Name:
            yield from self._of_callers(expr.id, depth)
        elif type(expr) is ir.Attribute and type(expr.base) is ir.Name and expr.base.id in ("self", "cls"):
            yield from self._of_attribute(expr.name, depth + 1)

    def _of_attribute(self, name: str, depth: int) -> Iterator[Instance]:
        """The models of what an object of the class keeps under a name."""
        owner = self._project.module(self._file).functions[self._function].owner if self._function >= 0 else -1
        if owner < 0:
            return
        for where, value, _ in self._project.attribute_stores(ClassRef(self._file, owner)).get(name, ()):
            if value is not None:
                yield from _Source(self._project, where.file, where.index)._of_parameters(value, depth)

    def _of_groups(self, expr: ir.Expr, depth: int) -> Iterator[Instance]:
        """The models of the groups of an optimizer."""
        if type(expr) is ir.Attribute and expr.name == "param_groups":
            for made in self._objects(expr.base):
                given, _ = find_argument(made.call, "params", 0)
                if given is not None:
                    source = _Source(self._project, made.frame.file, made.frame.function)
                    yield from source._of_parameters(given, depth + 1)

    def _of_callers(self, name: str, depth: int) -> Iterator[Instance]:
        if self._function < 0:
            return
        ref = FunctionRef(self._file, self._function)
        definition = self._project.function(ref)
        position = next((i for i, one in enumerate(definition.parameters) if one.name == name), None)
        callers = self._project.callers(ref)
        if position is None or len(callers) > MAX_CALLERS:
            return
        for caller in callers:
            place = position - (1 if definition.owner >= 0 else 0) + caller.shift
            given, _ = find_argument(caller.site.call, name, place)
            if given is not None:
                source = _Source(self._project, caller.file, caller.site.function)
                yield from source._of_parameters(given, depth + 1)

    def _objects(self, expr: ir.Expr) -> Iterator[Instance]:
        options = options_of(self._project.evaluator(None).ask(expr, self._file, self._function))
        made = [one for one in options if isinstance(one, Instance)]
        if len(made) == len(options):
            yield from made

    def _before(self, expr: ir.Expr) -> ir.Expr:
        return followed(expr, self._project.flow(self._file, self._function).before(expr.at))

    def _ranges(self, name: str, at: ir.Position) -> Iterator[ir.Expr]:
        """What the loops around a place go through that bind a name."""
        for around, iterable in _Loops.of(self._project, self._file, self._function).binding.get(name, ()):
            if ir.encloses(around, at):
                yield iterable


def _binds(target: ir.Expr, name: str) -> bool:
    return any(type(part) is ir.Name and part.id == name for part in below(target))


def _bare(expr: ir.Expr) -> ir.Expr:
    """An expression without views of it: ``p.grad.data.view(-1)`` is ``p.grad``."""
    while True:
        if type(expr) is ir.Call and type(expr.func) is ir.Attribute and expr.func.name in _VIEWS:
            expr = expr.func.base
        elif type(expr) is ir.Attribute and expr.name == "data":
            expr = expr.base
        else:
            return expr
