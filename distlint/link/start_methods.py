"""Whether processes that a program starts run its modules anew, or go on with what the one that starts them has in memory.

Sources: CPython, ``multiprocessing/spawn.py``, ``prepare`` (a process that begins afresh runs the main module under another name, so
without its main block) and ``multiprocessing/context.py`` (``fork`` is what Linux does by default); torch 2.13,
``multiprocessing/spawn.py`` (``spawn`` and ``start_processes`` begin afresh unless told otherwise); accelerate 1.15,
``launchers.py`` (its launchers fork).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.link.arguments import find_argument
from distlint.link.walking import calls_in
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

_FRESH = frozenset({"spawn", "forkserver"})
_CHOOSING = frozenset({"set_start_method", "get_context"})
_BEGINNING = frozenset({"spawn", "start_processes"})
"""Last names of calls whose processes begin afresh where nothing else is said."""


def begins_afresh(project: Project, file: str, call: ir.Call) -> bool:
    """Whether the processes that a call starts run their modules anew, or may do so."""
    name = _last(call)
    if name in _BEGINNING:
        method, certain = find_argument(call, "start_method", 5)
        return not certain or _is_fresh(method, otherwise=True)
    if name != "Process":
        return False
    chosen = [one for one in _calls(project, file) if _last(one) in _CHOOSING]
    return any(_is_fresh(find_argument(one, "method", 0)[0], otherwise=False) for one in chosen)


def _calls(project: Project, file: str) -> Iterator[ir.Call]:
    for one in sorted(project.closure(file)):
        module = project.module(one)
        for body in (module.body, *(function.body for function in module.functions)):
            yield from calls_in(body)


def _is_fresh(method: ir.Expr | None, *, otherwise: bool) -> bool:
    if method is None:
        return otherwise
    return type(method) is not ir.Constant or method.value in _FRESH


def _last(call: ir.Call) -> str:
    func = call.func
    return func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
