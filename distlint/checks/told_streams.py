"""Whether a stream of data may be told the rank by the program, in another way than by what it is made with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import RANK_WORDS, derivation
from distlint.checks.execution import body_of
from distlint.checks.programs import family
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import access_path, below, expressions_of, last_name, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_DEPTH = 4
MAX_CALLERS = 6


def is_told(project: Project, expr: ir.Expr, file: str, function: int, depth: int = 0) -> bool:
    """Whether what an expression of a function (-1: the module) gives may be told the rank after it was made.

    Told is what stands beside a name of the rank, what an attribute is set to that is made from it, and what goes where that may be done.
    """
    if depth > MAX_DEPTH:
        return True
    if type(expr) is ir.Call:
        return _made_in_call(project, expr, file, function, depth) or _anywhere(project, "dataset", file)
    if type(expr) is ir.Attribute:
        stores = _stores(project, expr, file, function)
        return (
            not stores
            or _anywhere(project, expr.name, file)
            or any(
                value is None or is_told(project, value, where.file, where.index, depth + 1) for where, value in stores
            )
        )
    if type(expr) is not ir.Name:
        return True
    if _told_in(project, expr.id, file, function, depth):
        return True
    values = list(_values(body_of(project, file, function), expr.id))
    if values:
        return any(value is None or is_told(project, value, file, function, depth + 1) for value in values)
    if function < 0:
        return True
    definition = project.module(file).functions[function]
    for position, parameter in enumerate(definition.parameters):
        if parameter.name == expr.id:
            return _given_told(project, FunctionRef(file, function), position, depth)
    return is_told(project, expr, file, definition.parent, depth + 1)


def _made_in_call(project: Project, call: ir.Call, file: str, function: int, depth: int) -> bool:
    """Whether the function that makes an object may tell it; what a class does with its own is another question."""
    if isinstance(project.modules.resolve(call.func, file), ClassRef):
        return False
    edges = project.call_graph.targets(file, function, call)
    if not edges:
        return True
    for edge in edges:
        returned = [one.value for one, _ in project.flow(edge.target.file, edge.target.index).returns]
        if not returned or any(
            one is None or is_told(project, one, edge.target.file, edge.target.index, depth + 1) for one in returned
        ):
            return True
    return False


def _given_told(project: Project, ref: FunctionRef, position: int, depth: int) -> bool:
    """Whether a function is given what may be told."""
    definition = project.function(ref)
    shift = 1 if definition.owner >= 0 else 0
    callers = project.callers(ref)
    if not callers or len(callers) > MAX_CALLERS:
        return True
    for caller in callers:
        name = definition.parameters[position].name
        given, _ = find_argument(caller.site.call, name, position - shift + caller.shift)
        if given is None or is_told(project, given, caller.file, caller.site.function, depth + 1):
            return True
    return False


def _told_in(project: Project, name: str, file: str, function: int, depth: int) -> bool:
    """Whether a function may tell what a variable of it stands for."""
    for statement in statements(body_of(project, file, function)):
        if not _names(statement, name):
            continue
        if not _makes(statement, name) and _stands_by_rank(statement):
            return True
        if type(statement) is ir.Assign and statement.value is not None:
            inner = any(type(one) is not ir.Name and access_path(one)[0] == name for one in statement.targets)
            if inner and derivation(project, statement.value, file, function).mentions_rank():
                return True
        for call in (part for one in expressions_of(statement) for part in below(one) if type(part) is ir.Call):
            if _told_by_call(project, call, name, file, function, depth):
                return True
    return False


def _told_by_call(project: Project, call: ir.Call, name: str, file: str, function: int, depth: int) -> bool:
    """Whether a function of the project that is handed a variable may tell it."""
    given = [
        *(one for one in call.args if type(one) is ir.Name and one.id == name),
        *(one for one in call.keywords if type(one.value) is ir.Name and one.value.id == name),
    ]
    if not given:
        return False
    edges = project.call_graph.targets(file, function, call)
    if not edges:
        return not _is_of_library(project, call, file)
    for edge in edges:
        definition = project.function(edge.target)
        for position, parameter in enumerate(definition.parameters):
            place = position - edge.shift if edge.shift else position
            found, _ = find_argument(call, parameter.name, place if place >= 0 else None)
            if type(found) is ir.Name and found.id == name:
                inner = depth >= MAX_DEPTH or _told_in(
                    project, parameter.name, edge.target.file, edge.target.index, depth + 1
                )
                if inner:
                    return True
    return False


def _is_of_library(project: Project, call: ir.Call, file: str) -> bool:
    """Whether a call certainly is one of a library, or built in."""
    if project.modules.dotted(call.func, file):
        return True
    return type(call.func) is ir.Name and project.modules.lookup(call.func.id, file) is None


def _anywhere(project: Project, name: str, file: str) -> bool:
    """Whether something of that name stands beside the rank anywhere in a program, or is handed to a function."""
    for one in family(project, file):
        for index in range(-1, len(project.module(one).functions)):
            for statement in statements(body_of(project, one, index)):
                if _makes(statement, name):
                    continue
                if _names(statement, name) and _stands_by_rank(statement):
                    return True
                for call in (part for expr in expressions_of(statement) for part in below(expr)):
                    if type(call) is ir.Call and any(last_name(given) == name for given in call.args):
                        if not _is_of_library(project, call, one):
                            return True
    return False


def _stores(project: Project, expr: ir.Attribute, file: str, function: int) -> list[tuple[FunctionRef, ir.Expr | None]]:
    """What an attribute of a method's own object is set to."""
    owner = project.module(file).functions[function].owner if function >= 0 else -1
    if owner < 0 or type(expr.base) is not ir.Name or expr.base.id != "self":
        return []
    found = project.attribute_stores(ClassRef(file, owner)).get(expr.name, ())
    return [(where, None if part else value) for where, value, part in found]


def _values(body: tuple[ir.Stmt, ...], name: str) -> Iterator[ir.Expr | None]:
    """What a variable is given in a body; ``None`` where that is a part of something, or an item."""
    for statement in statements(body):
        if type(statement) is ir.Assign:
            for target in statement.targets:
                if type(target) is ir.Name and target.id == name:
                    yield statement.value
                elif type(target) is ir.ListDisplay and any(last_name(one) == name for one in target.items):
                    yield None
        elif type(statement) is ir.For and any(last_name(one) == name for one in below(statement.target)):
            yield None


def _makes(statement: ir.Stmt, name: str) -> bool:
    return type(statement) is ir.Assign and any(last_name(one) == name for one in statement.targets)


def _names(statement: ir.Stmt, name: str) -> bool:
    return any(last_name(part) == name for one in expressions_of(statement) for part in below(one))


def _stands_by_rank(statement: ir.Stmt) -> bool:
    words = (last_name(part) for one in expressions_of(statement) for part in below(one))
    return any(RANK_WORDS.search(word) for word in words if word)
