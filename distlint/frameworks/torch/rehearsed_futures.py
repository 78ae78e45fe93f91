"""Futures of asynchronous operations in the rehearsal of a program.

Source: torch 2.13, ``futures/__init__.py`` and ``distributed/distributed_c10d.py``: ``work.get_future()`` is done when the operation is,
and its value is a list of the tensors that this filled; ``future.then(function)`` is another one, whose value is what the function makes
of the first, and which nobody has to wait for so that the function is called.
"""

from __future__ import annotations

from typing import Any

from distlint.model import python as ir
from distlint.rehearsal.entities import Promise, Work
from distlint.rehearsal.stage import CONTINUED
from distlint.rehearsal.unknowns import UNKNOWN
from distlint.rehearsal.values import Given, Items, escape


def of_work(work: Work) -> Promise:
    """``work.get_future()``."""
    return Promise(work)


def method(player: Any, future: Promise, name: str, given: Given, call: ir.Call, scope: Any) -> Any:
    """A method of a future; one that is not known may do anything with it."""
    if name in ("wait", "value"):
        if name == "wait":
            player.stage.wait(future, ir.unpack(call.at, scope.file))
        return _value(player, future, call, scope)
    if name in ("then", "add_done_callback"):
        future.event.seen[CONTINUED] = True
        return (
            Promise(future.begun, given.get("callback", 0)) if name == "then" and future.function is None else UNKNOWN
        )
    if name != "done":
        escape(future)
    return UNKNOWN


def _value(player: Any, future: Promise, call: ir.Call, scope: Any) -> Any:
    if future.function is None:
        return Items(list(future.tensors))
    return player.apply(future.function, Given([Promise(future.begun)], {}), call, scope)
