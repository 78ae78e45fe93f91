"""Which failures a ``try``, or a ``with``, around a place catches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from distlint.link.modules import ClassRef, GlobalRef
from distlint.link.version_bindings import bindings_of
from distlint.link.version_paths import last_name, leaves
from distlint.link.walking import blocks_of
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.project import Project

CATCH_ALL = frozenset({"Exception", "BaseException"})

_SUPPRESSING = frozenset({"suppress", "raises", "assertRaises", "assertRaisesRegex"})
_MAX_NAMES = 20


def is_caught(project: Project, file: str, body: Sequence[ir.Stmt], at: ir.Position, errors: frozenset[str]) -> bool:
    """Whether a failure at a place of a body, which shows as one of ``errors``, is caught and the program goes on."""
    return any(_catches(project, file, statement, block, errors) for statement, block in around(body, at))


def _catches(project: Project, file: str, statement: ir.Stmt, block: Sequence[ir.Stmt], errors: frozenset[str]) -> bool:
    if type(statement) is ir.Try and block is statement.body:
        for kind, _, handler in statement.handlers:
            if handles(exceptions_of(project, kind, file), errors):
                return not leaves(handler)
        return bool(statement.final) and any(type(one) is ir.Return for one in statement.final)
    if type(statement) is ir.With:
        return any(_suppresses(project, file, context, errors) for context, _ in statement.items)
    return False


def _suppresses(project: Project, file: str, context: ir.Expr, errors: frozenset[str]) -> bool:
    if type(context) is not ir.Call or last_name(context) not in _SUPPRESSING:
        return False
    return any(handles(exceptions_of(project, one, file), errors) for one in context.args)


def around(body: Sequence[ir.Stmt], at: ir.Position) -> Iterator[tuple[ir.Stmt, Sequence[ir.Stmt]]]:
    """The compound statements of a body around a place, outer ones first, each with the block that it is in."""
    while True:
        statement = next((one for one in body if ir.encloses(one.at, at)), None)
        if statement is None:
            return
        block = next((block for block in blocks_of(statement) if any(ir.encloses(one.at, at) for one in block)), None)
        if block is None:
            return
        yield statement, block
        body = block


def exceptions_of(project: Project, caught: ir.Expr | None, file: str) -> frozenset[str] | None:
    """The names of the exceptions that a handler catches; ``None`` if they can't be told, or if it is for all."""
    if caught is None:
        return None
    found: set[str] = set()
    stack = [(caught, file)]
    while stack:
        expr, place = stack.pop()
        if len(found) > _MAX_NAMES:
            return None
        if type(expr) is ir.ListDisplay:
            stack.extend((item, place) for item in expr.items)
            continue
        if type(expr) is ir.Starred:
            stack.append((expr.value, place))
            continue
        if type(expr) is ir.Operation and set(expr.operators) == {"+"}:
            stack.extend((item, place) for item in expr.operands)
            continue
        target = project.modules.resolve(expr, place)
        if isinstance(target, ClassRef):
            found.add(f".{last_name(expr)}")  # a class of the project is none of Python's own
            continue
        if isinstance(target, GlobalRef):
            known = bindings_of(project, target.file, -1).get(target.name, ())
            values = [one.expr for one in known if one.expr is not None and not one.part]
            if not values or len(values) != len(known) or place == "":
                return None
            # A variable for exceptions may name another, but not without end.
            stack.extend((value, target.file if type(value) is ir.ListDisplay else "") for value in values)
            continue
        name = last_name(expr)
        if type(expr) not in (ir.Name, ir.Attribute) or not name.endswith(_EXCEPTION_ENDS):
            return None
        found.add(name)
    return frozenset(found)


_EXCEPTION_ENDS = ("Error", "Exception", "Warning", "Interrupt", "Exit", "Iteration", "Timeout", "Empty", "Full")


def handles(caught: frozenset[str] | None, errors: frozenset[str]) -> bool:
    """Whether a handler for these exceptions takes a failure that shows as one of ``errors``."""
    if caught is None:
        return True
    if caught & CATCH_ALL or caught & errors:
        return True
    # An exception of a library may derive from the one that is raised, as far as its name tells.
    return any(
        name not in _BUILT_IN
        and not name.startswith(".")
        and ("Import" in name or ("NotFound" in name and "Module" in name))
        for name in caught
    )


_BUILT_IN = frozenset({"ImportError", "ModuleNotFoundError"})
