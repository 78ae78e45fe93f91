"""Samplers and datasets of the project's own that shuffle by an epoch which they are told, in the rehearsal of a program.

They follow the convention of ``torch.utils.data.distributed.DistributedSampler``: a method ``set_epoch`` keeps the epoch in an
attribute, and what they draw is seeded with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from distlint.frameworks.torch import rehearsed_epochs as epochs
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import below, calls_in, statements
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.epochs import SAMPLERS, Shuffled
from distlint.rehearsal.values import Thing, signature

_OWN = "orders of the project's own"
_CLASSES = "how classes are told an epoch"
_SETTER = "set_epoch"
_SEEDING = frozenset({"manual_seed", "manual_seed_all", "seed", "default_rng", "Random", "RandomState"})


class _Told(NamedTuple):
    """The method that tells objects of a class their epoch, and the attribute that keeps it."""

    setter: FunctionRef
    attribute: str


def begun(player: Any, thing: Any, span: Span, what: str) -> None:
    """A pass begins over what a sampler or dataset (``what``) gives; nothing for one that is not told epochs."""
    stage = player.stage
    if not isinstance(thing, Thing) or thing.born is None:
        return
    classes = stage.kept.setdefault(_CLASSES, {})
    if thing.cls not in classes:
        classes[thing.cls] = _told(stage.project, thing.cls)
    told = classes[thing.cls]
    if told is None or told.attribute not in thing.attributes or not _always_shuffles(thing):
        return
    own = stage.kept.setdefault(_OWN, {})
    if id(thing) not in own:
        order = Shuffled(thing.born)
        order.what = what
        own[id(thing)] = (order, thing)
        stage.kept.setdefault(SAMPLERS, []).append(order)
    order, _ = own[id(thing)]
    order.changed = order.changed or told.setter in stage.visited
    sign = signature(thing.attributes[told.attribute])
    epochs.drawn(stage, order, ("epoch", sign) if sign is not None else ("not known", len(order.rounds)), span)


def _always_shuffles(thing: Thing) -> bool:
    """Whether no attribute tells an object that it does not shuffle, for all that is known."""
    return all(value is True for name, value in thing.attributes.items() if "shuffle" in name)


def _told(project: Any, cls: ClassRef) -> _Told | None:
    """How objects of a class are told an epoch by which they seed what they draw; ``None`` where they are not, or set it themselves."""
    methods = project.modules.own_methods(cls)
    if _SETTER not in methods or "__iter__" not in methods:
        return None
    setter = FunctionRef(cls.file, methods[_SETTER])
    definition = project.function(setter)
    given = {one.name for one in definition.parameters[1:]}
    kept = [
        name
        for name, value in _set_by(definition)
        if any(type(part) is ir.Name and part.id in given for part in below(value))
    ]
    if len(kept) != 1:
        return None
    others = [project.function(FunctionRef(cls.file, at)) for name, at in methods.items() if name != _SETTER]
    if any(name == kept[0] for one in others if one.name != "__init__" for name, _ in _set_by(one)):
        return None
    seeds = any(
        _last(call.func) in _SEEDING and any(_reads(one, kept[0]) for one in _given(call))
        for one in others
        for call in calls_in(one.body)
    )
    return _Told(setter, kept[0]) if seeds else None


def _set_by(definition: Any) -> list[tuple[str, ir.Expr]]:
    """The attributes of its object that a method sets, with what it sets them to."""
    found = []
    for statement in statements(definition.body):
        if type(statement) is ir.Assign:
            targets, value = statement.targets, statement.value
        elif type(statement) is ir.AugAssign:
            targets, value = (statement.target,), statement.value
        else:
            continue
        for target in targets:
            if value is not None and type(target) is ir.Attribute and _is_self(target.base):
                found.append((target.name, value))
    return found


def _given(call: ir.Call) -> list[ir.Expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _reads(expr: ir.Expr, attribute: str) -> bool:
    """Whether an expression reads an attribute of the object."""
    return any(type(part) is ir.Attribute and part.name == attribute and _is_self(part.base) for part in below(expr))


def _is_self(expr: ir.Expr) -> bool:
    return type(expr) is ir.Name and expr.id == "self"


def _last(expr: ir.Expr) -> str:
    return expr.id if type(expr) is ir.Name else expr.name if type(expr) is ir.Attribute else ""
