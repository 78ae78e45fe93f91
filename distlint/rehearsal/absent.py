"""Values that some processes of a rehearsal have and others have not: ``None`` there, or a name without a value.

A process that is followed cannot know what the others have at the same place. Where one of them uses ``None``, or a name
without a value, that is noted; if not all of them do, they are followed once more, and then those that have a value are noted.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from distlint.model import python as ir
from distlint.rehearsal.entities import Library
from distlint.rehearsal.stage import Event, Fault, Scope, Stage
from distlint.rehearsal.trace import TOLD, End
from distlint.rehearsal.unknowns import Opaque, Perhaps

if TYPE_CHECKING:
    from distlint.rehearsal.values import Given

UNSET = Opaque()
"""What a name of a module, or an attribute, holds that nothing has given a value so far."""

KIND = "absent"
_UNSET, _NONE = "has no value", "is `None`"
_CATCHING = frozenset(
    {"", "Exception", "BaseException", "AttributeError", "TypeError", "NameError", "UnboundLocalError"}
)
_HANDLED = "a missing value is handled"
_ITERATING = frozenset(
    {"len", "sum", "max", "min", "list", "tuple", "sorted", "set", "enumerate", "iter", "next", "zip"}
)
_KNOWN = frozenset(dir(builtins))


def without_value(stage: Stage, value: Any, expr: ir.Expr, scope: Scope) -> Any:
    """Looks at what a name, or an attribute, was found to hold."""
    if value is UNSET or (type(value) is Library and _is_no_builtin(value.name, expr)):
        _lacks(stage, expr, scope, _UNSET)
    elif stage.shared.wanted:
        _has(stage, expr, scope, _UNSET)
    return value


def _is_no_builtin(name: str, expr: ir.Expr) -> bool:
    return type(expr) is ir.Name and name == f"builtins.{expr.id}" and expr.id not in _KNOWN and expr.id[:2] != "__"


def used(stage: Stage, value: Any, expr: ir.Expr, scope: Scope) -> None:
    """A value is used in a way that ``None`` can't be."""
    if value is None:
        _lacks(stage, expr, scope, _NONE)
    elif stage.shared.wanted and not isinstance(value, Perhaps):
        _has(stage, expr, scope, _NONE)


def used_by(stage: Stage, name: str, given: Given, call: ir.Call, scope: Scope) -> None:
    """A builtin function is called, which may go through what it is given."""
    if name in _ITERATING and call.args and given.positional and type(call.args[0]) is not ir.Starred:
        used(stage, given.positional[0], call.args[0], scope)


def _lacks(stage: Stage, expr: ir.Expr, scope: Scope, how: str) -> None:
    text = _text(expr)
    if stage.unsure and how == _NONE and not stage.quiet:
        # the process would end here with an exception: it may be that it never goes this way
        stage.trace.append(End(TOLD))
    if stage.unsure or stage.alone or not text or _HANDLED in stage.kept:
        return
    if any(names & _CATCHING for names in stage.attempts):
        stage.kept[_HANDLED] = True  # what is without a value behind the handler is not followed
        return
    place = (scope.file, expr.at, stage.chain, how)
    stage.shared.absent.setdefault(place, set()).add(stage.rank)
    if place in stage.shared.wanted:
        call = ir.Call(expr, (), (), expr.at)
        event = Event(text, call, scope.file, scope.function, {})
        event.chain = stage.chain
        stage.faults.append(Fault(KIND, event.span, event, {"place": place, "how": how}))


def _has(stage: Stage, expr: ir.Expr, scope: Scope, how: str) -> None:
    place = (scope.file, expr.at, stage.chain, how)
    if place in stage.shared.wanted:
        stage.shared.present.add(place)


def _text(expr: ir.Expr) -> str:
    """How something is called, where it has a name."""
    if type(expr) is ir.Name:
        return expr.id
    if type(expr) is ir.Attribute:
        base = _text(expr.base)
        return f"{base}.{expr.name}" if base else ""
    return ""
