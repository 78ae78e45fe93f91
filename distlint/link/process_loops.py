"""Processes that a program starts one by one in a loop: how many, and whether they make up a job."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from distlint.link.modules import FunctionRef
from distlint.link.starters import started_call
from distlint.link.walking import below, guards_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project

_MAX_HOPS = 3


def loop_count(project: Project, found: CallSite) -> ir.Expr | None:
    """``N`` of the only loop over ``range(N)`` around a call; ``None`` where there is no such loop."""
    module = project.module(found.file)
    index = found.site.function
    body = module.body if index < 0 else module.functions[index].body
    guards = guards_of(body, found.site.call.at) or []
    loops = [guard.test for guard in guards if guard.kind in ("for", "while")]
    statement = next((one for one in _values(body) if any(_is(part, found.site.call) for part in below(one))), None)
    loops += [
        iterable
        for part in (below(statement) if statement is not None else ())
        if type(part) is ir.Comprehension and any(_is(inner, found.site.call) for inner in below(part.element))
        for _, iterable, _ in part.generators
    ]
    # A comprehension may be among the guards as well as found by itself.
    distinct = {id(loop): loop for loop in loops}
    loop = next(iter(distinct.values())) if len(distinct) == 1 else None
    if type(loop) is ir.Call and type(loop.func) is ir.Name and loop.func.id == "range" and len(loop.args) == 1:
        return loop.args[0]
    return None


def joins_job(project: Project, found: CallSite, joining: Collection[str]) -> bool:
    """Whether the function that a call starts in another process comes to one of some library functions."""
    started = started_call(found.site.call, "Process")
    target = project.modules.resolve(started.func, found.file) if started is not None else None
    if not isinstance(target, FunctionRef):
        return False
    reached = {FunctionRef(site.file, site.site.function) for site in project.calls_to(set(joining))}
    for _ in range(_MAX_HOPS):
        if target in reached:
            return True
        reached |= {
            FunctionRef(caller.file, caller.site.function)
            for one in reached
            if one.index >= 0
            for caller in project.callers(one)
            if caller.shift == 0
        }
    return target in reached


def _values(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Expr]:
    """The expressions that the statements of a body assign, return, or evaluate alone."""
    for statement in statements(body):
        if isinstance(statement, ir.Assign | ir.Evaluate | ir.Return) and statement.value is not None:
            yield statement.value


def _is(part: ir.Expr, call: ir.Call) -> bool:
    return type(part) is ir.Call and part.at == call.at
