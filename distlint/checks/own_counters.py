"""Counters of a program that run on from one pass over the data to the next, and tests of what is left when they are divided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.loaders import MAX_CALLERS, lexical_loop, loops_around
from distlint.checks.preparing import texts_of
from distlint.checks.programs import family
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import guards_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.call_levels import Asked
    from distlint.link.project import Project


class Remainder(NamedTuple):
    """``counter % number`` of a test that is true once in ``number`` times."""

    counter: ir.Expr
    number: ir.Expr


def remainder_of(asked: Asked) -> Remainder | None:
    """What a test divides, if it asks for a remainder: ``i % n == 0``, ``not i % n``, ``(i + 1) % n == 0``."""
    test, holds = asked.expr, asked.holds
    if type(test) is not ir.Operation:
        return None
    if test.operators in (("==",), ("!=",)):
        wanted = test.operators == ("==",)
        left, right = test.operands
        parts = [one for one in (left, right) if type(one) is ir.Operation and one.operators == ("%",)]
        others = [one for one in (left, right) if one not in parts]
        plain = len(parts) == 1 and type(others[0]) in (ir.Constant, ir.Operation)
        divided = parts[0] if plain and wanted is holds else None
    else:
        divided = test if test.operators == ("%",) and not holds else None
    if divided is None or len(divided.operands) != 2:
        return None
    counter = divided.operands[0]
    if type(counter) is ir.Operation and counter.operators == ("+",) and len(counter.operands) == 2:
        plain_parts = [one for one in counter.operands if type(one) is not ir.Constant]
        counter = plain_parts[0] if len(plain_parts) == 1 else counter
    return Remainder(counter, divided.operands[1])


def runs_on(project: Project, counter: ir.Expr, file: str, function: int, loop: ir.For, looped: int) -> bool:
    """Whether a counter certainly goes up by one in each turn of a loop over the data, and is never put back between two such loops.

    ``file`` and ``function`` are where it is tested, ``looped`` is the function of that file that the loop stands in.
    """
    name = texts_of(counter)
    if not name or len(name.split(".")) > 2:
        return False
    outer = _outer(project, file, looped, loop)
    if outer is None:
        return False
    if type(counter) is ir.Name:
        return function == looped and _is_counted_name(project, name, file, function, loop, outer)
    return (
        function == looped
        and _is_own(project, counter, file, function)
        and _is_counted_name(project, name, file, function, loop, outer)
    ) or _is_counted_attribute(project, counter, file, function, loop)


def _is_own(project: Project, counter: ir.Expr, file: str, function: int) -> bool:
    """Whether nothing but one function stores into attributes of this name."""
    if type(counter) is not ir.Attribute:
        return False
    if any(
        project.stores_attribute(other, counter.name)
        for other in family(project, file) - {file}
        if other in project.facts
    ):
        return False
    return not any(
        type(target) is ir.Attribute and target.name == counter.name
        for index in range(-1, len(project.module(file).functions))
        if index != function
        for statement in statements(body_of(project, file, index))
        for target in _targets(statement)
    )


def _outer(project: Project, file: str, function: int, loop: ir.For) -> tuple[str, int, ir.Position] | None:
    """The loop around a loop over the data, in its function or in the one that calls that."""
    around = list(loops_around(project, file, function, loop.at))
    if len({(one.file, one.loop.at) for one in around}) != 1 or isinstance(around[0].loop, ir.Comprehension):
        return None
    return around[0].file, around[0].function, around[0].loop.at


def _is_counted_name(
    project: Project, name: str, file: str, function: int, loop: ir.For, outer: tuple[str, int, ir.Position]
) -> bool:
    """Whether a variable is such a counter: of its function, of the file, or handed in and given back."""
    body = body_of(project, file, function)
    if not _goes_up(body, name, loop):
        return False
    other = [one for one in _stores(body, name) if type(one) is ir.Assign]
    if outer[:2] == (file, function):
        return bool(other) and not any(ir.encloses(outer[2], one.at) for one in other)
    if other:
        return False
    if any(type(one) is ir.Jump and one.kind == "global" and _mentions(one.values, name) for one in statements(body)):
        writers = [index for index in range(len(project.module(file).functions)) if index != function]
        return not any(_stores(body_of(project, file, index), name) for index in writers)
    return _is_handed_back(project, name, file, function, outer)


def _is_handed_back(project: Project, name: str, file: str, function: int, outer: tuple[str, int, ir.Position]) -> bool:
    """Whether a parameter is given back by its function, and its only caller keeps it from turn to turn."""
    ref = FunctionRef(file, function)
    definition = project.function(ref)
    callers = project.callers(ref)[:MAX_CALLERS]
    if name not in [one.name for one in definition.parameters] or len(callers) != 1:
        return False
    given = [one.value for one in statements(definition.body) if type(one) is ir.Return]
    if not given or not all(one is not None and _holds(one, name) for one in given):
        return False
    caller = callers[0]
    inside = body_of(project, caller.file, caller.site.function)
    handed = {
        one.id
        for one in (*caller.site.call.args, *(k.value for k in caller.site.call.keywords))
        if type(one) is ir.Name
    }
    kept = [
        target
        for one in statements(inside)
        if type(one) is ir.Assign and one.value is not None and one.value.at == caller.site.call.at
        for target in one.targets
    ]
    for own in sorted(handed):
        stores = [
            one
            for one in _stores(inside, own)
            if not (type(one) is ir.Assign and one.value is not None and one.value.at == caller.site.call.at)
        ]
        if any(_holds(one, own) for one in kept) and not any(ir.encloses(outer[2], one.at) for one in stores):
            return True
    return False


def _is_counted_attribute(project: Project, counter: ir.Expr, file: str, function: int, loop: ir.For) -> bool:
    """Whether an attribute of the object is such a counter: set when the object is made, and counted in one place."""
    if type(counter) is not ir.Attribute or function < 0:
        return False
    definition = project.module(file).functions[function]
    if definition.owner < 0 or texts_of(counter.base) != definition.parameters[0].name:
        return False
    owner = ClassRef(file, definition.owner)
    ups = 0
    for index, one in enumerate(project.module(file).functions):
        if one.owner != owner.index or not one.parameters:
            continue
        name = f"{one.parameters[0].name}.{counter.name}"
        for statement in _stores(one.body, name):
            if type(statement) is ir.AugAssign:
                inside = _is_one(statement) and not guards_of(
                    loop.body if ir.encloses(loop.at, statement.at) else one.body, statement.at
                )
                ups += 1
                if not inside or (index != function and lexical_loop(one.body, statement.at) is not None):
                    return False
            elif one.name != "__init__":
                return False
    return ups == 1 and not project.outside_stores(counter.name)


def _goes_up(body: tuple[ir.Stmt, ...], name: str, loop: ir.For) -> bool:
    """Whether a variable goes up by one, once and in every turn of a loop."""
    ups = [one for one in _stores(body, name) if type(one) is not ir.Assign]
    if len(ups) != 1 or type(ups[0]) is not ir.AugAssign or not _is_one(ups[0]):
        return False
    at = ups[0].at
    inner = lexical_loop(body, at)
    return inner is loop and guards_of(loop.body, at) == []


def _is_one(statement: ir.AugAssign) -> bool:
    return statement.operator == "+" and type(statement.value) is ir.Constant and statement.value.value == 1


def _stores(body: tuple[ir.Stmt, ...], name: str) -> list[ir.Stmt]:
    """The statements that give a variable or an attribute a value; a loop that binds it is one as well."""
    return [one for one in statements(body) for target in _targets(one) if _holds(target, name)]


def _targets(statement: ir.Stmt) -> Iterator[ir.Expr]:
    if type(statement) is ir.Assign:
        yield from statement.targets if statement.value is not None else ()
    elif type(statement) in (ir.AugAssign, ir.For):
        yield statement.target  # type: ignore[union-attr]


def _holds(expr: ir.Expr, name: str) -> bool:
    """Whether an expression is a name, or a row of several in which it stands."""
    return texts_of(expr) == name or (type(expr) is ir.ListDisplay and any(_holds(one, name) for one in expr.items))


def _mentions(values: tuple[ir.Expr, ...], name: str) -> bool:
    return any(type(one) is ir.Name and one.id == name for one in values)
