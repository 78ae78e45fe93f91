"""Exceptions that one rank alone may meet, and other ways in which a program is interrupted on one rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks.divergence_state import DIFFERS, THE_SAME, UNKNOWN, Divergence
from distlint.link.modules import FunctionRef
from distlint.link.walking import below, expressions_of, guards_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.checks.divergence_trace import Ground, Tracer

MAX_CALLS = 40

_OF_THE_PROGRAM = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "NotImplementedError", "KeyboardInterrupt"}
)
"""Exceptions that all ranks meet alike, or none."""


def of_try(tracer: Tracer, statement: ir.Try, ground: Ground) -> Divergence:
    """Whether the guarded statements may fail on some ranks only."""
    caught = [kind for kind, _, _ in statement.handlers]
    if caught and all(kind is not None and _names(kind) <= _OF_THE_PROGRAM for kind in caught):
        return THE_SAME
    key = ("try", id(statement), id(ground))
    tracer.keep((statement, ground))
    return tracer.guarded(key, lambda: _may_fail(tracer, statement, ground))


def _names(kind: ir.Expr) -> set[str]:
    items = kind.items if type(kind) is ir.ListDisplay else (kind,)
    return {item.id if type(item) is ir.Name else item.name if type(item) is ir.Attribute else "" for item in items}


def _may_fail(tracer: Tracer, statement: ir.Try, ground: Ground) -> Divergence:
    flow = tracer.project.flow(ground.file, ground.function)
    calls = 0
    for inner in statements(statement.body):
        if isinstance(inner, ir.Jump) and inner.kind == "raise":
            for guard in guards_of(statement.body, inner.at) or ():
                if guard.test is None or guard.kind == "for":
                    continue
                found = tracer.of(guard.test, ground, flow.before(guard.test.at))
                if found.differs:
                    return _failing(found, tracer, inner.at, ground)
        for expr in expressions_of(inner):
            for part in below(expr):
                if type(part) is not ir.Call or not (part.args or part.keywords):
                    continue
                calls += 1
                if calls > MAX_CALLS:
                    return UNKNOWN
                state = flow.before(part.at)
                if type(part.func) is ir.Name and part.func.id == "next":
                    found = tracer.of(part.args[0], ground, state, size=True)
                    if found.differs:
                        return found
                    continue
                for argument in (*part.args, *(keyword.value for keyword in part.keywords)):
                    found = tracer.of(argument, ground, state)
                    if found.differs:
                        return _failing(found, tracer, part.at, ground)
    return UNKNOWN


def _failing(found: Divergence, tracer: Tracer, at: ir.Position, ground: Ground) -> Divergence:
    where = ir.unpack(at, ground.file)
    return Divergence(DIFFERS, "an exception that one rank alone may meet", (where, *found.places)[:4], True)


def signal_handlers(tracer: Tracer, file: str) -> frozenset[int]:
    """The functions of a file that are called when a signal arrives."""
    found = set()
    for site in tracer.project.sites("signal"):
        if site.file != file or len(site.site.call.args) != 2:
            continue
        if tracer.project.modules.dotted(site.site.call.func, file) != "signal.signal":
            continue
        target = tracer.project.modules.resolve(site.site.call.args[1], file)
        if isinstance(target, FunctionRef) and target.file == file:
            found.add(target.index)
    return frozenset(found)
