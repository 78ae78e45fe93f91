"""Results of a module that its callers throw away: which of several does nobody use, and which layers compute nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from distlint.checks.execution import body_of
from distlint.checks.trained_calls import Called
from distlint.link.project import Project
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir


def thrown_away(project: Project, calls: Sequence[Called]) -> set[int]:
    """The places in the result of some calls that none of them uses."""
    found: set[int] | None = None
    for called in calls:
        unused = _unused(project, called)
        found = unused if found is None else found & unused
    return found or set()


def layers_of_results(forward: ir.Function, places: set[int], layers: Sequence[str]) -> Iterator[str]:
    """The layers that a forward pass uses for the results in some places and for nothing else."""
    returned = [one.value for one in statements(forward.body) if type(one) is ir.Return]
    for place in sorted(places):
        given = [
            one.items[place]
            for one in returned
            if type(one) is ir.ListDisplay and place < len(one.items) and type(one.items[place]) is not ir.Starred
        ]
        if len(given) != len(returned) or len(given) != 1:
            continue
        made = _definition(forward, given[0])
        for name in layers:
            if made is not None and 0 < _count(made, name) == _count_all(forward, name):
                yield name


def _definition(forward: ir.Function, expr: ir.Expr) -> ir.Expr | None:
    """The expression that computes a result, where that is used for nothing else."""
    if type(expr) is not ir.Name:
        return expr
    values = [
        one.value
        for one in statements(forward.body)
        if type(one) is ir.Assign and any(type(target) is ir.Name and target.id == expr.id for target in one.targets)
    ]
    mentioned = sum(_names(one, expr.id) for one in statements(forward.body))
    return values[0] if len(values) == 1 and mentioned == 2 else None


def _unused(project: Project, called: Called) -> set[int]:
    """The places in the result of a call that the function around it does not use."""
    body = body_of(project, called.frame.file, called.frame.function)
    for statement in statements(body):
        if type(statement) is ir.Assign and statement.value is called.call and len(statement.targets) == 1:
            target = statement.targets[0]
            if type(target) is not ir.ListDisplay or any(type(one) is not ir.Name for one in target.items):
                return set()
            names = [one.id for one in target.items if type(one) is ir.Name]
            return {
                index
                for index, name in enumerate(names)
                if name.startswith("_") or sum(_names(one, name) for one in statements(body)) == 1
            }
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Subscript and part.base is called.call and type(part.index) is ir.Constant:
                    if type(part.index.value) is int and part.index.value >= 0:
                        return set(range(8)) - {part.index.value}
    return set()


def _names(statement: ir.Stmt, name: str) -> int:
    return sum(
        1 for expr in expressions_of(statement) for part in below(expr) if type(part) is ir.Name and part.id == name
    )


def _count(expr: ir.Expr, layer: str) -> int:
    return sum(1 for part in below(expr) if type(part) is ir.Attribute and part.name == layer)


def _count_all(forward: ir.Function, layer: str) -> int:
    return sum(_count(expr, layer) for one in statements(forward.body) for expr in expressions_of(one))
