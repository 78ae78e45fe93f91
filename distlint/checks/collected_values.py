"""Where the values come from that a call collects: out of the loop around it, or handed to it by functions that are called from one.

Evaluations put the call into a helper or a class of their own as often as into the loop over the batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.execution import body_of
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.project import Project
from distlint.link.walking import below, calls_in, last_name, statements
from distlint.model import python as ir

MAX_DEPTH = 3
"""Calls inside each other that are followed back."""

_JOINING = frozenset({"cat", "concat", "concatenate", "stack", "vstack", "hstack"})


class Collected(NamedTuple):
    """A loop, with the function that it stands in and what it gives in each turn; ``through`` are the functions that this goes through."""

    file: str
    function: int
    loop: ir.For
    given: ir.Expr
    through: tuple[FunctionRef, ...]


def collected(
    project: Project, file: str, function: int, at: ir.Position, given: ir.Expr, through: tuple[FunctionRef, ...] = ()
) -> Iterator[Collected]:
    """The loops that give what is ``given`` at a place of a function."""
    body = body_of(project, file, function)
    loop = loop_around(body, at)
    if loop is not None:
        yield Collected(file, function, loop, given, through)
        return
    for part in given.items if type(given) is ir.ListDisplay else (given,):
        for around, put in _put_in(body, part, at):
            yield Collected(file, function, around, put, through)
    if function < 0 or len(through) >= MAX_DEPTH:
        return
    ref = FunctionRef(file, function)
    definition = project.function(ref)
    named = {part.id for part in below(given) if type(part) is ir.Name}
    for edge in project.call_graph.callers(ref):
        if not edge.certain or edge.how != "call" or edge.target in through:
            continue
        for position, one in enumerate(definition.parameters):
            if one.name not in named:
                continue
            place = position - (1 if definition.owner >= 0 else 0) + edge.shift
            if one.kind == "var-positional":
                handed = edge.call.args[place:] if place >= 0 else ()
            else:
                found, _ = find_argument(edge.call, one.name, place)
                handed = () if found is None else (found,)
            for argument in handed:
                yield from collected(project, edge.file, edge.function, edge.call.at, argument, (*through, ref))


def loop_around(body: tuple[ir.Stmt, ...], at: ir.Position) -> ir.For | None:
    """The innermost ``for`` around a place."""
    found = None
    for statement in statements(body):
        if type(statement) is ir.For and any(ir.encloses(one.at, at) for one in statement.body):
            found = statement
    return found


def _put_in(body: tuple[ir.Stmt, ...], given: ir.Expr, at: ir.Position) -> Iterator[tuple[ir.For, ir.Expr]]:
    """The loops before a place that fill the list which is joined there (``torch.cat(found)``), with what they put in."""
    if type(given) is ir.Name:
        made = [one.value for one in statements(body) if type(one) is ir.Assign and _names(one, given.id)]
        given = made[-1] if made and made[-1] is not None else given
    if type(given) is not ir.Call or last_name(given.func) not in _JOINING or not given.args:
        return
    rows = given.args[0]
    if type(rows) is not ir.Name:
        return
    for statement in statements(body):
        if type(statement) is ir.For and statement.at < at:
            for call in calls_in(statement.body):
                func = call.func
                if type(func) is ir.Attribute and func.name == "append" and type(func.base) is ir.Name:
                    if func.base.id == rows.id and len(call.args) == 1 and loop_around(body, call.at) is statement:
                        yield statement, call.args[0]


def _names(statement: ir.Assign, name: str) -> bool:
    return any(type(target) is ir.Name and target.id == name for target in statement.targets)
