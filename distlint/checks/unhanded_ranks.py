"""Parameters for the rank that nobody hands anything: an object that could deal out its data by them goes through all of it.

A name of the rank says nothing where all that it ever stands for are the constants that parameters have by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import RANK_WORDS
from distlint.checks.execution import body_of
from distlint.checks.partial_samplers import SHARDS, WORKERS
from distlint.checks.told_streams import is_told
from distlint.link.arguments import find_argument
from distlint.link.handed import handed
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.derivations import Derivation, Part
    from distlint.link.abstract import Instance
    from distlint.link.project import Project

_MAX_DEPTH = 6
_MAX_CALLERS = 8
_OF_WORKERS = frozenset({"id", "num_workers"})
"""Attributes of what tells a worker of a loader which one it is."""
_KEEPING = frozenset({"max", "min", "int"})
"""Functions that make of numbers a number which knows no more than they do."""


def never_handed(project: Project, expr: ir.Expr, loader: Instance, made: Derivation) -> bool:
    """Whether a loader's stream could be told the rank, but is left with what it takes for it by default."""
    if find_argument(loader.call, "worker_init_fn", None)[0] is not None:
        return False
    found = are_never_handed(project, made.parts, lambda name: RANK_WORDS.search(WORKERS.sub("", SHARDS.sub("", name))))
    return found and not is_told(project, expr, loader.frame.file, loader.frame.function)


def are_never_handed(project: Project, parts: Iterable[Part], is_of_rank: Callable[[str], object]) -> bool:
    """Whether all that is named after the rank in what something is made from certainly stands for the same constants on all ranks.

    They are defaults of parameters in whose place no call gives anything else; a text that names the rank may be a key of settings.
    """
    for part in parts:
        expr = part.expr
        if type(expr) is ir.Constant and type(expr.value) is str and is_of_rank(expr.value):
            return False
        word = expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""
        if word and is_of_rank(word) and not _is_constant(project, expr, part.file, part.function, 0):
            return False
    return True


def _is_constant(project: Project, expr: ir.Expr, file: str, function: int, depth: int) -> bool:
    if depth > _MAX_DEPTH:
        return False
    if type(expr) is ir.Constant:
        return type(expr.value) is int or expr.value is None
    if type(expr) is ir.Name:
        return _is_constant_name(project, expr.id, file, function, depth)
    if type(expr) is ir.Attribute:
        return _is_constant_attribute(project, expr, file, function, depth)
    if type(expr) is ir.Operation:
        given: tuple[ir.Expr, ...] = expr.operands
    elif type(expr) is ir.Call and type(expr.func) is ir.Name and expr.func.id in _KEEPING and not expr.keywords:
        given = expr.args
    else:
        return False
    return all(_is_constant(project, one, file, function, depth + 1) for one in given)


def _is_constant_name(project: Project, name: str, file: str, function: int, depth: int) -> bool:
    """A parameter that is given constants only, or a variable of a function that is made of such things."""
    if function < 0:
        return False
    definition = project.module(file).functions[function]
    values = list(_put(body_of(project, file, function), name))
    if not all(one is not None and _is_constant(project, one, file, function, depth + 1) for one in values):
        return False
    position = next((at for at, one in enumerate(definition.parameters) if one.name == name), None)
    if position is None:
        return bool(values)
    return _is_constant_parameter(project, FunctionRef(file, function), position, depth)


def _is_constant_parameter(project: Project, ref: FunctionRef, position: int, depth: int) -> bool:
    definition = project.function(ref)
    parameter = definition.parameters[position]
    default = parameter.default
    calls = project.callers(ref)
    known = {(one.file, one.site.call.at) for one in calls}
    if not calls or len(calls) > _MAX_CALLERS:
        return False
    if any((one.file, one.call.at) not in known for one in project.call_graph.callers(ref)):
        return False
    for caller, given, certain in handed(project, ref, position, _MAX_CALLERS):
        if given is None:
            if not certain or type(default) is not ir.Constant:
                return False
        elif not _is_constant(project, given, caller.file, caller.site.function, depth + 1):
            return False
    return default is None or type(default) is ir.Constant


def _is_constant_attribute(project: Project, read: ir.Attribute, file: str, function: int, depth: int) -> bool:
    """An attribute that a method's own object keeps, and that nobody else sets; or the number of a worker of a loader."""
    if type(read.base) is not ir.Name or function < 0:
        return False
    owner = project.module(file).functions[function].owner
    if read.base.id != "self" or owner < 0:
        return read.name in _OF_WORKERS
    if project.outside_stores(read.name):
        return False
    stores = project.attribute_stores(ClassRef(file, owner)).get(read.name, ())
    return bool(stores) and all(
        value is not None
        and not part
        and where.index >= 0
        and _is_constant(project, value, where.file, where.index, depth + 1)
        for where, value, part in stores
    )


def _put(body: tuple[ir.Stmt, ...], name: str) -> Iterator[ir.Expr | None]:
    """What a variable is given in a body; ``None`` where that is no plain assignment."""
    for statement in statements(body):
        if type(statement) is ir.Assign:
            for target in statement.targets:
                if type(target) is ir.Name and target.id == name:
                    yield statement.value
                elif type(target) is ir.ListDisplay:
                    yield from _put_apart(target, statement.value, name)
        elif type(statement) is ir.AugAssign and type(statement.target) is ir.Name and statement.target.id == name:
            yield statement.value
        elif type(statement) is ir.For and any(_is_name(one, name) for one in (statement.target,)):
            yield None


def _put_apart(target: ir.ListDisplay, value: ir.Expr | None, name: str) -> Iterator[ir.Expr | None]:
    """What a variable is given where several are at once."""
    for place, one in enumerate(target.items):
        if _is_name(one, name):
            options = [value] if type(value) is not ir.Conditional else [value.body, value.orelse]
            for option in options:
                same = type(option) is ir.ListDisplay and len(option.items) == len(target.items)
                yield option.items[place] if same else None  # type: ignore[union-attr]


def _is_name(expr: ir.Expr, name: str) -> bool:
    return type(expr) is ir.Name and expr.id == name
