"""Where the variables of a body are set, with the conditions on the way there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from distlint.link.version_paths import Condition, conditions_to
from distlint.link.walking import below, blocks_of, expressions_of
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project


class Binding:
    """One place that binds a name.

    ``kind`` is ``value`` (``expr``, or the item of it that ``part`` leads to; ``None``: not followed), ``import``
    (``item``) or ``definition``.
    """

    def __init__(
        self,
        body: Sequence[ir.Stmt],
        kind: str,
        at: ir.Position,
        expr: ir.Expr | None = None,
        part: tuple[int, ...] = (),
        item: ir.Import | None = None,
    ) -> None:
        self._body = body
        self.kind = kind
        self.at = at
        self.expr = expr
        self.part = part
        self.item = item

    @cached_property
    def conditions(self) -> list[Condition]:
        """What has to hold for the binding to be made."""
        return conditions_to(self._body, self.at)


def bindings_of(project: Project, file: str, function: int) -> Mapping[str, Sequence[Binding]]:
    """The bindings in the body of a function, or of the module (-1), by name and in the order of the text.

    What functions inside bind is theirs; names that a function declares ``global`` are bound in it.
    """
    known = project.bindings
    key = (file, function)
    if key not in known:
        module = project.module(file)
        body = module.functions[function].body if function >= 0 else module.body
        found: dict[str, list[Binding]] = {}
        for name, binding in _bindings(module, body, body):
            found.setdefault(name, []).append(binding)
        known[key] = found
    return known[key]


def _bindings(module: ir.Module, body: Sequence[ir.Stmt], whole: Sequence[ir.Stmt]) -> Iterator[tuple[str, Binding]]:
    for statement in body:
        kind = type(statement)
        if kind is ir.Import:
            if statement.name != "*":  # type: ignore[union-attr]
                yield statement.alias, Binding(whole, "import", statement.at, item=statement)  # type: ignore[union-attr, arg-type]
            continue
        if kind is ir.Define:
            table = module.functions if statement.kind == "function" else module.classes  # type: ignore[union-attr]
            yield table[statement.index].name, Binding(whole, "definition", statement.at)  # type: ignore[union-attr]
            continue
        if type(statement) is ir.Assign and statement.value is not None:
            for target in statement.targets:
                for name, part in targets_of(target, ()):
                    value = None if part is None else statement.value
                    yield name, Binding(whole, "value", statement.at, value, part or ())
        elif kind is ir.AugAssign and type(statement.target) is ir.Name:  # type: ignore[union-attr]
            yield statement.target.id, Binding(whole, "value", statement.at)  # type: ignore[union-attr]
        elif kind is ir.For:
            for name, _ in targets_of(statement.target, ()):  # type: ignore[union-attr]
                yield name, Binding(whole, "value", statement.target.at)  # type: ignore[union-attr]
        elif kind is ir.With:
            for _, bound in statement.items:  # type: ignore[union-attr]
                if bound is not None:
                    for name, _ in targets_of(bound, ()):
                        yield name, Binding(whole, "value", bound.at)
        for expr in expressions_of(statement):
            for one in below(expr):
                if type(one) is ir.Wrapped and one.target:
                    yield one.target, Binding(whole, "value", one.at, one.value)
        for block in blocks_of(statement):
            yield from _bindings(module, block, whole)


def targets_of(target: ir.Expr, part: tuple[int, ...] | None) -> Iterator[tuple[str, tuple[int, ...] | None]]:
    """The names in a target, each with its place in what is unpacked; ``None`` behind a starred one."""
    if type(target) is ir.Name:
        yield target.id, part
    elif type(target) is ir.Starred:
        yield from targets_of(target.value, None)
    elif type(target) is ir.ListDisplay:
        starred = False
        for index, item in enumerate(target.items):
            starred = starred or type(item) is ir.Starred
            yield from targets_of(item, None if starred or part is None else (*part, index))
