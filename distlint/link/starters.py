"""Calls that start a function in another process or thread, with its arguments given as data."""

from __future__ import annotations

from typing import TypeGuard

from distlint.model import python as ir

STARTERS = {
    "Process": 0,
    "Thread": 0,
    "spawn": -1,
    "start_processes": -1,
    "notebook_launcher": 0,
    "debug_launcher": 0,
}
"""Last name of the starting call, and what is added to a parameter's position: ``spawn`` gives the process its
index first."""

IN_PROCESSES = frozenset(STARTERS) - {"Thread"}
"""Those that start a process; a thread is one of the process that starts it."""


def started_call(call: ir.Call, name: str) -> ir.Call | None:
    """The call that ``Process(target=f, args=(a,), kwargs={...})`` or ``spawn(f, args=(a,))`` leads to.

    ``None`` if no function is named.
    """
    given = {keyword.name: keyword.value for keyword in call.keywords}
    first = call.args[0] if call.args else None
    if name in ("Process", "Thread"):
        target = given.get("target") or (call.args[1] if len(call.args) > 1 else None)
        arguments = given.get("args")
    else:
        target = given.get("fn") or given.get("function") or first
        arguments = given.get("args") or (call.args[1] if len(call.args) > 1 else None)
    if target is None or isinstance(target, ir.Starred):
        return None
    words = _spread_names(given.get("kwargs"))
    if _is_partial(target):
        if target.args[1:] and STARTERS.get(name):
            return None  # the index comes between what it gives and what the starter gives
        return ir.Call(target.args[0], (*target.args[1:], *_spread(arguments)), (*target.keywords, *words), call.at)
    return ir.Call(target, _spread(arguments), words, call.at)


def _is_partial(target: ir.Expr) -> TypeGuard[ir.Call]:
    """Whether what is started is ``partial(function, ...)``."""
    if type(target) is not ir.Call or not target.args:
        return False
    func = target.func
    last = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
    return last == "partial" and not isinstance(target.args[0], ir.Starred)


def _spread(arguments: ir.Expr | None) -> tuple[ir.Expr, ...]:
    if arguments is None:
        return ()
    return arguments.items if type(arguments) is ir.ListDisplay else (ir.Starred(arguments, arguments.at),)


def _spread_names(named: ir.Expr | None) -> tuple[ir.Keyword, ...]:
    if named is None:
        return ()
    if type(named) is ir.DictDisplay and all(type(key) is ir.Constant for key in named.keys):
        pairs = zip(named.keys, named.values, strict=True)
        return tuple(ir.Keyword(str(key.value), value, value.at) for key, value in pairs if type(key) is ir.Constant)
    return (ir.Keyword(None, named, named.at),)
