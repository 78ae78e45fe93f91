"""Classes of a project that are dictionaries: ``class Settings(dict)`` whose items are attributes as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import below, expressions_of
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator

_OF_ATTRIBUTES = frozenset({"__getattr__", "__setattr__", "__delattr__", "__repr__", "__str__"})
"""Methods that such a class may have and be no more than what it was made from."""


def is_dictionary(evaluator: Evaluator, owner: ClassRef) -> bool:
    """Whether an object of a class is the dictionary that it was made from, its items perhaps attributes too.

    An ``__init__`` may hand on what it gets, and make the object its own ``__dict__``.
    """
    definition = evaluator.project.class_(owner)
    if len(definition.bases) != 1 or type(definition.bases[0]) is not ir.Name or definition.bases[0].id != "dict":
        return False
    for name, index in evaluator.modules.own_methods(owner).items():
        function = evaluator.project.function(FunctionRef(owner.file, index))
        made_for_class = any(
            type(one) is ir.Name and one.id in ("classmethod", "staticmethod") for one in function.decorators
        )
        if name == "__init__" and not all(_hands_on(one, function) for one in function.body):
            return False
        if name not in _OF_ATTRIBUTES and name != "__init__" and not made_for_class:
            return False
    return True


def _hands_on(statement: ir.Stmt, function: ir.Function) -> bool:
    """``super().__init__(*args, **kwargs)`` or ``self.__dict__ = self``."""
    own = function.parameters[0].name if function.parameters else ""
    if type(statement) is ir.Assign and len(statement.targets) == 1 and type(statement.targets[0]) is ir.Attribute:
        return (
            statement.targets[0].name == "__dict__" and type(statement.value) is ir.Name and statement.value.id == own
        )
    called = next(iter(expressions_of(statement)), None) if type(statement) is ir.Evaluate else None
    if type(called) is ir.Constant:
        return True
    if type(called) is not ir.Call or type(called.func) is not ir.Attribute or called.func.name != "__init__":
        return False
    given = {
        part.id
        for one in (*called.args, *(word.value for word in called.keywords))
        for part in below(one)
        if type(part) is ir.Name
    }
    starred = {one.name for one in function.parameters[1:] if one.kind.startswith("var-")}
    return len(function.parameters) == 1 + len(starred) and given == starred
