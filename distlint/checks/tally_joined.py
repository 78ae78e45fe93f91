"""What a loop collects that was brought together over the ranks before: that is no figure of one rank's part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.spread_names import JOINING, Region, called_name, calls_of, comes_to_joining, forward, mentions
from distlint.link.walking import access_path, below, bound_names, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.loaders import Pass
    from distlint.link.project import Project


def own_names(project: Project, place: Pass, names: frozenset[str]) -> frozenset[str]:
    """Those of the names that a loop adds to into which nothing goes that was brought together in the loop."""
    region = Region(place.file, place.function, frozenset())
    joining = [call for call in calls_of(place.body) if _joins(project, call, region)]
    if not joining:
        return names
    by_hand = {
        one.value.at for one in statements(place.body) if type(one) is ir.Evaluate and type(one.value) is ir.Call
    }
    # a function of the project whose result is used leaves what it gets as it is
    changing = [call for call in joining if call.at in by_hand or called_name(call) not in project.function_names]
    together = {part.id for call in changing for one in call.args for part in below(one) if type(part) is ir.Name}
    for statement in statements(place.body):
        if type(statement) is ir.Assign and statement.value is not None and _holds(statement.value, joining):
            together.update(name for target in statement.targets for name in bound_names(target))
    # what has once been added up is another matter
    every = forward(place.body, together - names) - names
    return frozenset(
        name
        for name in names
        if not any(
            mentions(value, every) or _holds(value, joining)
            for changed, value in _additions(place.body)
            if changed == name
        )
    )


def _joins(project: Project, call: ir.Call, region: Region) -> bool:
    name = called_name(call)
    return bool(JOINING.search(name)) or (name in project.function_names and comes_to_joining(project, call, region))


def _holds(expr: ir.Expr, calls: list[ir.Call]) -> bool:
    """Whether some call stands in an expression."""
    return any(ir.encloses(expr.at, call.at) for call in calls)


def _additions(body: tuple[ir.Stmt, ...]) -> Iterator[tuple[str, ir.Expr]]:
    """What is added to which names: by an operator, or by a method of them (``append``, a meter's ``update``)."""
    for statement in statements(body):
        if type(statement) is ir.AugAssign:
            for name in bound_names(statement.target):
                yield name, statement.value
        elif type(statement) is ir.Assign and statement.value is not None:
            for target in statement.targets:
                for name in bound_names(target):
                    yield name, statement.value
        elif type(statement) is ir.Evaluate and type(statement.value) is ir.Call:
            call = statement.value
            root, steps = access_path(call.func)
            owner = root + steps[0] if root in ("self", "cls") and steps and isinstance(steps[0], str) else root
            for value in (*call.args, *(keyword.value for keyword in call.keywords)):
                yield owner, value
