"""``vars(object)`` and ``object.__dict__`` as mappings: of what a parser gives, of dataclasses, namespaces and plain objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.link.abstract import Abstract, Frame, Instance, node_of
from distlint.link.calls import given_arguments
from distlint.link.modules import ClassRef, External
from distlint.link.objects import NAMESPACES, attribute_of, fields_of
from distlint.link.walking import ALL
from distlint.model import python as ir
from distlint.model.document import Entry, Leaf, Mapping
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator
    from distlint.link.flow import Env


def attributes_of(evaluator: Evaluator, owner: ir.Expr, frame: Frame, state: Env, span: Span) -> Abstract:
    """All attributes of an object by name; something whose items can only be asked for one by one where they can't be listed."""
    names = _names(evaluator, owner, frame, state)
    if names is None:
        return attribute_of(evaluator, owner, (ALL,), frame, state, span)
    entries = []
    for name in names:
        node = node_of(attribute_of(evaluator, owner, (name,), frame, state, span), span)
        places = node.value.spans if isinstance(node, Leaf) else ()
        entries.append(Entry(name, places[0] if places else span, node))
    return Mapping(tuple(entries), span)


def _names(evaluator: Evaluator, owner: ir.Expr, frame: Frame, state: Env) -> list[str] | None:
    value = evaluator.evaluate(owner, frame, state)
    if not isinstance(value, Instance):
        return None
    names = evaluator.options.names(evaluator, value) if evaluator.options is not None else None
    if names is None and isinstance(value.callee, ClassRef) and value.part in ((), ("self",)):
        names = [field.name for field in fields_of(evaluator, value.callee)] or _set_at_first(evaluator, value.callee)
    elif names is None and isinstance(value.callee, External) and value.callee.name in NAMESPACES and not value.part:
        given = given_arguments(evaluator, value.call, value.frame, value.state)
        names = list(given.keywords) if not (given.positional or given.open_keywords or given.open_positional) else None
    if not names:
        return None
    # what the body itself adds to the object
    if type(owner) is ir.Name:
        changes = evaluator.project.flow(frame.file, frame.function).assigned.how
        own = sorted(one.partition(".")[2] for one in changes if one.startswith(f"{owner.id}."))
        if "*" in own or ALL in own:
            return None
        names = list(dict.fromkeys([*names, *own]))
    return names


def _set_at_first(evaluator: Evaluator, owner: ClassRef) -> list[str] | None:
    """The attributes of a class that its ``__init__`` sets whatever happens, where no other method sets any."""
    project = evaluator.project
    first = evaluator.modules.method(owner, "__init__")
    stores = project.attribute_stores(owner)
    if first is None or evaluator.modules.external_bases(owner) or evaluator.modules.has_unknown_base(owner):
        return None
    always = {
        target.name
        for one in project.function(first).body
        if type(one) is ir.Assign
        for target in one.targets
        if type(target) is ir.Attribute
    }
    if not stores or any(
        name not in always or any(one[0] != first for one in places) for name, places in stores.items()
    ):
        return None
    return list(stores)
