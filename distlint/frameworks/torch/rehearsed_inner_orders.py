"""Samplers behind a sampler of the project's own, which goes through them in each of its passes, in the rehearsal of a program.

What such an object does with the indices need not be followed to know that each pass over it begins one over the sampler inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import below, expressions_below, expressions_of, statements
from distlint.model import python as ir
from distlint.rehearsal.values import Thing

_CLASSES = "which of their attributes classes go through in each pass"
_ASKED = frozenset({"iter", "enumerate", "list", "tuple", "sorted", "reversed"})
"""Calls that go through what they are given."""
_UNCERTAIN = re.compile(
    r"set_epoch|^epoch$|rand|shuffle|perm|choice|seed|generator|rng|__dict__|setattr", re.IGNORECASE
)
"""Names in a class that may tell the inner sampler its epoch, or change the order by itself."""


def behind(player: Any, thing: Any) -> list[Any]:
    """What an object of the project certainly goes through, from its start, whenever it is gone through itself."""
    if not isinstance(thing, Thing):
        return []
    known = player.stage.kept.setdefault(_CLASSES, {})
    if thing.cls not in known:
        known[thing.cls] = _gone_through(player.stage.project, thing.cls)
    return [thing.attributes[name] for name in known[thing.cls] if name in thing.attributes]


def _gone_through(project: Any, cls: ClassRef) -> tuple[str, ...]:
    """The attributes that ``__iter__`` goes through under no test, and hands to nobody; none where the class may change orders itself."""
    method = project.modules.method(cls, "__iter__")
    if method is None or any(_UNCERTAIN.search(word) for word in _words(project, cls)):
        return ()
    definition = project.function(method)
    found: dict[str, None] = {}
    taken: set[int] = set()
    for statement in statements(definition.body):
        direct = any(one is statement for one in definition.body)
        for part in _iterated(statement):
            taken.add(id(part))
            if direct:
                found[part.name] = None
        for expr in expressions_of(statement):
            taken |= {id(one) for part in below(expr) if type(part) is ir.Call for one in _measured(part)}
    others = {
        part.name for part in expressions_below(definition.body) if type(part) is ir.Attribute and id(part) not in taken
    }
    return tuple(name for name in found if name not in others)


def _words(project: Any, cls: ClassRef) -> Iterator[str]:
    """The names that a class uses, but for what it does when it is told an epoch itself, and when it is made."""
    for one in project.modules.ancestry(cls):
        for name, index in project.modules.own_methods(one).items():
            if name not in ("set_epoch", "__init__"):
                for part in expressions_below(project.function(FunctionRef(one.file, index)).body):
                    yield part.name if type(part) is ir.Attribute else part.id if type(part) is ir.Name else ""


def _iterated(statement: ir.Stmt) -> Iterator[ir.Attribute]:
    """The attributes of its object that a statement goes through."""
    given = [statement.iterable] if type(statement) is ir.For else []
    for expr in expressions_of(statement):
        for part in below(expr):
            if type(part) is ir.Comprehension and part.generators:
                given.append(part.generators[0][1])
            elif type(part) is ir.Wrapped and part.kind == "yield from" and part.value is not None:
                given.append(part.value)
            elif type(part) is ir.Call and type(part.func) is ir.Name and part.func.id in _ASKED:
                given += part.args[:1]
    for one in given:
        if type(one) is ir.Attribute and type(one.base) is ir.Name and one.base.id == "self":
            yield one


def _measured(call: ir.Call) -> Iterator[ir.Expr]:
    """What a call only asks for its length."""
    if type(call.func) is ir.Name and call.func.id == "len":
        yield from call.args
