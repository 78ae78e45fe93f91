"""Bodies of loops that can be walked once for each round."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from distlint.link.walking import statements
from distlint.model import python as ir

MAX_STATEMENTS = 12
"""Statements of such a body, inner ones included: loops that fill settings are short, those that train are not."""

MAX_WALKED = 40
"""The same when what stands behind a ``continue`` is moved into the branches that come there."""


def body_of_rounds(loop: ir.For) -> tuple[ir.Stmt, ...] | None:
    """The body of a loop without its ``continue``; ``None`` if it is long.

    The loop is one that no ``break`` leaves; who comes behind one with a ``return`` has not met it.
    """
    if len(list(islice(statements(loop.body), MAX_STATEMENTS + 1))) > MAX_STATEMENTS:
        return None
    body = _without_continue(loop.body)
    if body is None or sum(1 for _ in statements(body)) > MAX_WALKED:
        return None
    return body


def _without_continue(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...] | None:
    """The same steps with what stands behind an ``if`` that goes on with the next round moved into its branches."""
    for index, statement in enumerate(body):
        if not _goes_on(statement):
            continue
        if isinstance(statement, ir.Jump):
            return body[:index]
        if not isinstance(statement, ir.If):
            return None
        rest = body[index + 1 :]
        taken, other = _without_continue((*statement.body, *rest)), _without_continue((*statement.orelse, *rest))
        if taken is None or other is None:
            return None
        return (*body[:index], replace(statement, body=taken, orelse=other))
    return body


def _goes_on(statement: ir.Stmt) -> bool:
    """Whether a statement holds a ``continue`` of the loop that it stands in."""
    if isinstance(statement, ir.Jump):
        return statement.kind == "continue"
    if isinstance(statement, ir.For | ir.While):
        return False
    return any(isinstance(inner, ir.Jump) and inner.kind == "continue" for inner in statements((statement,)))
