"""A training loop is told on some processes only what all have to do: a callback sets a flag of it under a test of the process.

A test in the callback shows it by itself; what other objects have kept of a process's own data shows where the program is rehearsed.

Parameters: ``bases`` (library classes of callbacks), ``flags`` (attributes that the loop reads), ``ranks`` (attributes that differ from
process to process), ``collecting`` (last names of calls behind which a value is the same everywhere).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.divergence import DIFFERS, DivergenceView
from distlint.checks.execution import body_of
from distlint.checks.registry import CheckContext, check
from distlint.checks.rehearsed import rehearsed
from distlint.link.modules import ClassRef
from distlint.link.project import Project
from distlint.link.walking import Guard, below, calls_in, guards_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("flags-of-loop")
def flags_of_loop(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such assignment."""
    known = set()
    for finding in _tested(context):
        known.add((finding.span.file, finding.span.line))
        yield finding
    for finding in rehearsed(context):
        if (finding.span.file, finding.span.line) not in known:
            yield finding


def _tested(context: CheckContext) -> Iterator[Finding]:
    """Those of which a test in the same function tells."""
    project: Project = context.project
    bases = frozenset(context.parameters["bases"])
    flags = frozenset(context.parameters["flags"])
    for file in project.python_files:
        module = project.module(file)
        if not flags & module.attributes:
            continue
        for index, function in enumerate(module.functions):
            if function.owner < 0 or not bases & project.modules.external_bases(ClassRef(file, function.owner)):
                continue
            for statement in statements(function.body):
                if type(statement) is not ir.Assign:
                    continue
                for target in statement.targets:
                    if type(target) is ir.Attribute and target.name in flags:
                        guards = list(guards_of(function.body, target.at) or ())
                        if statement.value is not None and type(statement.value) is not ir.Constant:
                            guards.append(Guard(statement.value, True, "if", statement.at))
                        for guard in guards:
                            if _set_otherwise(function.body, target, guard):
                                continue
                            why = _why(context, guard, file, index)
                            if why:
                                yield _finding(context, file, target, guard, why)
                                break


def _why(context: CheckContext, guard: Guard, file: str, function: int) -> str:
    """Why a test differs between processes; empty where it is not known to."""
    if guard.test is None or guard.kind == "for":
        return ""
    found = DivergenceView.of_project(context.project).of(guard.test, file, function)
    if found.is_same:
        return ""
    body = body_of(context.project, file, function)
    parts = list(_with_variables(body, guard.test))
    collecting = [one for one in calls_in(body) if last_name(one.func) in context.parameters["collecting"]]
    if any(one in parts or _fills(one, parts) for one in collecting):
        return ""
    for part in parts:
        if type(part) is ir.Attribute and part.name in context.parameters["ranks"]:
            return f"`{last_name(part)}` is true on one process only" if part.name.startswith("is_") else "the rank"
    return found.why if found.state == DIFFERS else ""


def _set_otherwise(body: tuple[ir.Stmt, ...], target: ir.Attribute, guard: Guard) -> bool:
    """Whether the flag is set as well where a test goes the other way."""
    for statement in statements(body):
        if type(statement) is ir.If and guard.test is not None and statement.test.at == guard.test.at:
            other = statement.orelse if guard.holds else statement.body
            return any(
                type(place) is ir.Attribute and place.name == target.name
                for one in statements(other)
                if type(one) is ir.Assign
                for place in one.targets
            )
    return False


def _fills(call: ir.Call, parts: list[ir.Expr]) -> bool:
    """Whether a call is given a variable of some expressions, which it may leave the same everywhere."""
    names = {part.id for part in parts if type(part) is ir.Name}
    given = (part for argument in call.args for part in below(argument))
    return any(type(part) is ir.Name and part.id in names for part in given)


def _with_variables(body: tuple[ir.Stmt, ...], test: ir.Expr) -> Iterator[ir.Expr]:
    """All expressions of a test, and of what was put into its variables."""
    waiting, seen = [test], set[str]()
    for expr in waiting:
        for part in below(expr):
            yield part
            if type(part) is ir.Name and part.id not in seen:
                seen.add(part.id)
                for one in statements(body):
                    if isinstance(one, ir.Assign) and one.value is not None:
                        if any(type(target) is ir.Name and target.id == part.id for target in one.targets):
                            waiting.append(one.value)


def _finding(context: CheckContext, file: str, target: ir.Attribute, guard: Guard, why: str) -> Finding:
    assert guard.test is not None  # noqa: S101 - tested by the caller
    return context.finding(
        f"`{target.name}` is set on some processes only: they leave the common way, and the others wait for them",
        ir.unpack(target.at, file),
        related=[Related(ir.unpack(guard.test.at, file), f"differs between the processes: {why}")],
        symbol=target.name,
    )
