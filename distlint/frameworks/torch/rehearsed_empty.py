"""Buffers whose memory nobody filled, in the rehearsal of a program.

Source: torch 2.13, ``nn/modules/module.py``: ``to_empty`` gives parameters and buffers new memory without copying what was there, and
buffers registered with ``persistent=False`` are in no state that could be loaded into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distlint.link.modules import FunctionRef
from distlint.link.walking import expressions_below, statements
from distlint.model import python as ir
from distlint.model.span import Span
from distlint.rehearsal.notes import LEFT_EMPTY
from distlint.rehearsal.stage import Event, Fault
from distlint.rehearsal.values import Given, Items, Made, Tensor, Thing

_UNSAVED = "buffers that no state holds"
_EMPTY = "buffers that nobody filled"
_DEEP = 6
_MOST = 500
_FILLING = frozenset({"apply", "_apply", "buffers", "named_buffers"})
"""Methods of modules through which a program may come to each buffer."""


def registered(player: Any, module: Thing, given: Given, span: Span) -> None:
    """``register_buffer``."""
    name = given.get("name", 0)
    if isinstance(name, str) and given.get("persistent", 2, True) is False and not given.open:
        player.stage.kept.setdefault(_UNSAVED, {}).setdefault(id(module), (module, {}))[1][name] = span


def asked(player: Any, name: str) -> None:
    """A method of a module is called by which all its buffers may be filled."""
    if name in _FILLING:
        player.stage.kept.pop(_EMPTY, None)


def emptied(player: Any, module: Any, call: ir.Call, scope: Any) -> None:
    """``to_empty``."""
    stage = player.stage
    unsaved = stage.kept.get(_UNSAVED, {})
    if stage.unsure or not unsaved:
        return
    empty = stage.kept.setdefault(_EMPTY, {})
    event = Event("to_empty", call, scope.file, scope.function, {})
    event.chain = stage.chain
    for thing in things_in(module):
        for name, span in unsaved.get(id(thing), (None, {}))[1].items():
            value = thing.attributes.get(name)
            if isinstance(value, Tensor) and len(empty) < _MOST:
                empty[id(thing), name] = (thing, value, span, event, stage.strangers)


def filled(player: Any, value: Any) -> None:
    """A tensor is changed where it lies."""
    empty = player.stage.kept.get(_EMPTY)
    if empty and isinstance(value, Tensor):
        for key in [key for key, (_, tensor, *_) in empty.items() if tensor.whole is value.whole]:
            del empty[key]


def called(player: Any, thing: Thing, method: Any) -> None:
    """An object of the project is called: its own method reads the buffers that it names."""
    stage = player.stage
    empty = stage.kept.get(_EMPTY)
    if not empty or stage.unsure or not isinstance(getattr(method, "ref", None), FunctionRef):
        return
    for (owner, name), (_, tensor, span, event, strangers) in list(empty.items()):
        if owner != id(thing):
            continue
        untouched = thing.attributes.get(name) is tensor and stage.strangers == strangers
        if untouched and only_reads(stage.project, thing, method.ref, name):
            stage.faults.append(Fault(LEFT_EMPTY, event.span, event, {"name": name, "registered": span}))
        del empty[owner, name]


def things_in(value: Any, depth: int = _DEEP) -> Iterator[Thing]:
    """The objects of the project in a model, itself among them."""
    if depth <= 0:
        return
    inner: Any = ()
    if isinstance(value, Thing):
        yield value
        inner = value.attributes.values()
    elif isinstance(value, Items):
        inner = value.items or ()
    elif isinstance(value, Made):
        inner = (*(getattr(value, "children", None) or ()), getattr(value, "inner", None))
    for one in list(inner)[:_MOST]:
        yield from things_in(one, depth - 1)


def only_reads(project: Any, thing: Thing, method: FunctionRef, name: str) -> bool:
    """Whether a method reads an attribute of its object, and neither it nor a method that it names may set that."""
    forward = project.function(method)
    read, named = False, set()
    for expr in expressions_below(forward.body):
        if type(expr) is ir.Attribute and type(expr.base) is ir.Name and expr.base.id == "self":
            read = read or expr.name == name
            named.add(expr.name)
    others = [
        project.function(FunctionRef(thing.cls.file, index))
        for one, index in project.modules.own_methods(thing.cls).items()
        if one in named
    ]
    return read and not any(_may_set(one, name) for one in (forward, *others))


def _may_set(definition: Any, name: str) -> bool:
    for statement in statements(definition.body):
        targets: tuple[ir.Expr, ...] = ()
        if type(statement) is ir.Assign:
            targets = statement.targets
        elif type(statement) is ir.AugAssign:
            targets = (statement.target,)
        if any(type(one) is ir.Attribute and one.name == name for one in targets):
            return True
    return any(_sets(expr, name) for expr in expressions_below(definition.body))


def _sets(expr: ir.Expr, name: str) -> bool:
    """Whether an expression names an attribute as a text, by which it may be set or registered, or changes it where it lies."""
    if type(expr) is ir.Constant:
        return bool(expr.value == name)
    func = expr.func if type(expr) is ir.Call else None
    changes = type(func) is ir.Attribute and func.name.endswith("_")
    base = func.base if changes and type(func) is ir.Attribute else None
    return type(base) is ir.Attribute and base.name == name
