"""Samplers of a program that take a rank and a number of processes: whether they are left at those of a program of one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks.derivations import RANK_WORDS, Derivation, Part, derivation
from distlint.checks.execution import body_of
from distlint.checks.preparing import texts_of
from distlint.link.abstract import Instance
from distlint.link.modules import ClassRef
from distlint.link.stores import stored_into
from distlint.link.walking import below, statements
from distlint.model import python as ir
from distlint.model.document import Leaf

if TYPE_CHECKING:
    from distlint.link.project import Project

_OF_ONE = (0, 1)
"""The rank and the number of processes of a program of one process."""


def is_of_one_process(project: Project, made: Instance) -> bool:
    """Whether an object of a class of the project knows ranks only by parameters that are left at, or given, those of one process."""
    if not isinstance(made.callee, ClassRef) or made.part:
        return False
    found = derivation(project, made.call, made.frame.file, made.frame.function)
    given = _given(project, made, made.callee)
    return bool(given) and found.whole and _only_names(project, found, made.callee, given)


def _given(project: Project, made: Instance, owner: ClassRef) -> frozenset[str]:
    """The parameters with names of ranks that have a fixed number of one process."""
    start = project.modules.method(owner, "__init__")
    if start is None:
        return frozenset()
    evaluator = project.evaluator(None)
    named = set()
    for position, one in enumerate(project.function(start).parameters[1:]):
        if not RANK_WORDS.search(one.name):
            continue
        value = evaluator.argument(made.call, one.name, position, made.frame, made.state)
        if value is None:
            number = one.default.value if type(one.default) is ir.Constant else None
        else:
            number = value.value.only if isinstance(value, Leaf) and value.value.is_known else None
        if type(number) is int and number in _OF_ONE:
            named.add(one.name)
    return frozenset(named)


def _only_names(project: Project, found: Derivation, owner: ClassRef, given: frozenset[str]) -> bool:
    """Whether all names of ranks in what an object is made from are those parameters, and what they are put into."""
    return all(
        _is_given(project, part, owner, given)
        for part in found.parts
        if any(RANK_WORDS.search(name) for name in Derivation((part,), whole=True).names())
    )


def _is_given(project: Project, part: Part, owner: ClassRef, given: frozenset[str]) -> bool:
    expr, module = part.expr, project.module(part.file)
    function = module.functions[part.function] if part.function >= 0 else None
    if function is None or ClassRef(part.file, function.owner) not in project.modules.ancestry(owner):
        return False
    if type(expr) is ir.Attribute:
        if not function.parameters or texts_of(expr.base) != function.parameters[0].name:
            return False
        stores = project.attribute_stores(owner).get(expr.name, ())
        return (
            bool(stores)
            and not any(project.outside_stores(expr.name))
            and all(
                value is not None and _is_fixed(project, value, project.function(where), given)
                for where, value, _ in stores
            )
        )
    if type(expr) is not ir.Name:
        return False
    if any(one.name == expr.id for one in function.parameters):
        return function.name == "__init__" and expr.id in given
    # what a variable of a method holds is among what the object is made from, too
    stored = (target for one in statements(body_of(project, part.file, part.function)) for target in stored_into(one))
    return any(type(target) is ir.Name and target.id == expr.id for target in stored)


def _is_fixed(project: Project, value: ir.Expr, function: ir.Function, given: frozenset[str]) -> bool:
    """Whether what is stored is a number, or worked out from such parameters of the initialiser."""
    if type(value) is ir.Constant:
        return True
    return function.name == "__init__" and all(
        type(one) is not ir.Name or one.id in given or not RANK_WORDS.search(one.id) for one in below(value)
    )
