"""How a rehearsed program starts its processes itself: the one whose turn it is is followed.

What the first process has worked out by then, and hands on, is the same for all of them. The variables of modules are so too for
processes that are forks of it; those that begin afresh have worked them out again (``link.start_methods``).
"""

from __future__ import annotations

from copy import copy
from typing import Any

from distlint.link.modules import ClassRef
from distlint.link.start_methods import begins_afresh
from distlint.model import python as ir
from distlint.rehearsal.entities import FunctionValue, MethodOf, Partial
from distlint.rehearsal.stage import Left
from distlint.rehearsal.unknowns import UNKNOWN, Opaque
from distlint.rehearsal.values import Given, Items, Made, Table, Tensor, Thing

_MOST_FILES = 40
_DEEP = 4
"""Values inside each other that are looked at."""


def spawned(player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
    """``torch.multiprocessing.spawn``: this process is one of those that it starts. Raises ``Left`` behind it."""
    stage = player.stage
    count = given.get("nprocs", 2, 1)
    items = player.items_of(given.get("args", 1, ()))
    if isinstance(count, int) and count != stage.world:
        stage.declared = count
    if not isinstance(count, int) or stage.rank < count:
        _inherit(player, call, scope)
        player.apply(
            _handed(given.get("fn", 0, UNKNOWN)),
            Given([stage.rank, *map(_handed, items or ())], {}, is_open=items is None),
            call,
            scope,
        )
    raise Left("exit")


def process_made(player: Any, given: Given, call: ir.Call, scope: Any) -> Any:
    """``multiprocessing.Process``: the one whose turn it is is followed. Raises ``Left`` behind it."""
    stage = player.stage
    stage.started += 1
    items = player.items_of(given.get("args", 3, ()))
    if stage.started - 1 == stage.rank and items is not None:
        _inherit(player, call, scope)
        target = _handed(given.get("target", 1, UNKNOWN))
        player.apply(target, Given([_handed(item) for item in items], {}), call, scope)
        raise Left("exit")
    return UNKNOWN


def _inherit(player: Any, call: ir.Call, scope: Any) -> None:
    """A process begins with the environment of the one that starts it, and with its variables where it is a fork of that."""
    stage = player.stage
    tables = [stage.environment]
    if not begins_afresh(stage.project, scope.file, call):
        _run_all(player)
        tables += [one.variables for one in (*stage.modules.values(), *stage.classes.values())]
    for table in tables:
        table.update({name: _handed(value) for name, value in table.items()})


def _run_all(player: Any) -> None:
    """Modules and bodies of classes are followed when somebody asks; a program has run them all by then."""
    project = player.stage.project
    for file in sorted(project.closure(player.stage.entry))[:_MOST_FILES]:
        player.module_scope(file)
        for index, one in enumerate(project.module(file).classes):
            if one.parent < 0:
                player.class_scope(ClassRef(file, index))


def _handed(value: Any, depth: int = 0) -> Any:
    """A value in processes that are started: what one process worked out is the same for all of them."""
    if isinstance(value, Opaque) and value.source is not None:
        return Opaque(("handed on", value.source))
    if isinstance(value, Tensor) and value.source is not None:
        return Tensor(value.shape, value.dtype, value.at, ("handed on", value.source))
    if isinstance(value, Made) and value.source is not None:
        value = copy(value)
        value.sign, value.source = ("handed on", value.source), None
    if depth >= _DEEP:
        return value
    if type(value) is tuple:
        return tuple(_handed(one, depth + 1) for one in value)
    if isinstance(value, Items) and value.items is not None:
        value.items[:] = [_handed(one, depth + 1) for one in value.items]
    elif isinstance(value, Table):
        value.items.update({key: _handed(one, depth + 1) for key, one in value.items.items()})
    elif isinstance(value, Thing):
        value.attributes.update({name: _handed(one, depth + 1) for name, one in value.attributes.items()})
    elif isinstance(value, Made):
        value.stored.update({name: _handed(one, depth + 1) for name, one in value.stored.items()})
    elif isinstance(value, FunctionValue | MethodOf) and value.receiver is not None:
        return value._replace(receiver=_handed(value.receiver, depth + 1))
    elif isinstance(value, Partial):
        given = value.given
        keywords = {name: _handed(one, depth + 1) for name, one in given.keywords.items()}
        positional = [_handed(one, depth + 1) for one in given.positional]
        return Partial(value.callee, Given(positional, keywords, is_open=given.open))
    return value
