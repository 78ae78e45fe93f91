"""Calls that collect a tensor of every process, with something that is no tensor, or with one number expected of the result.

Parameters: ``fault``: ``plain`` (a Python number is handed over) or ``scalar`` (the result is read as one number); ``calls`` (with
``plain``: by name, the parameter that takes the tensor); ``scalars`` (functions and methods that give Python numbers).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.execution import body_of, handles_errors_around
from distlint.checks.preparing import texts_of
from distlint.checks.protocol_things import Things
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Frame
from distlint.link.arguments import find_argument
from distlint.link.flow import Env
from distlint.link.project import CallSite, Project
from distlint.link.walking import Guard, below, calls_in, guards_of, last_name, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

MAX_DEPTH = 5


@check("gathered-values")
def gathered_values(context: CheckContext) -> Iterator[Finding]:
    """Findings of the kind that the rule asks for."""
    project: Project = context.project
    calls = context.parameters["calls"]
    things = Things(project, (), (), ())
    for found in project.calls_to(set(calls)):
        body = body_of(project, found.file, found.site.function)
        if handles_errors_around(body, found.site.call.at):
            continue
        if context.parameters["fault"] == "plain":
            given, _ = find_argument(found.site.call, calls[found.name], 0)
            if given is not None and _is_plain(context, things, found, given):
                yield _plain(context, found, given)
        else:
            yield from _scalars(context, project, found, body)


def _plain(context: CheckContext, found: CallSite, given: ir.Expr) -> Finding:
    text = texts_of(given)
    what = f"`{text}` is a Python number, and" if text else "a Python number is handed over, and"
    return context.finding(
        f"{what} `{found.name.rpartition('.')[2]}` takes tensors only",
        found.span,
        related=[Related(ir.unpack(given.at, found.file), "no tensor")],
        symbol=found.name,
    )


def _is_plain(context: CheckContext, things: Things, found: CallSite, given: ir.Expr) -> bool:
    frame = things.evaluator.frame(found.file, found.site.function)
    return _plainly(context, things, given, frame, things.evaluator.state(frame, given.at), 0, set())


def _plainly(
    context: CheckContext, things: Things, expr: ir.Expr, frame: Frame, state: Env, depth: int, seen: set[int]
) -> bool:
    """Whether an expression is certainly a number, text, or truth value of Python, or a list or dictionary of such."""
    if depth > MAX_DEPTH:
        return False

    def inner(part: ir.Expr) -> bool:
        return _plainly(context, things, part, frame, state, depth + 1, seen)

    if type(expr) is ir.Constant:
        return isinstance(expr.value, int | float | str)
    if type(expr) is ir.Call:
        if type(expr.func) is ir.Name:
            return expr.func.id in ("float", "int", "len", "str", "bool")
        dotted = things.evaluator.modules.dotted(expr.func, frame.file)
        if dotted:
            return dotted in context.parameters["scalars"]
        return type(expr.func) is ir.Attribute and expr.func.name == "item"
    if type(expr) is ir.Operation:
        return expr.operators[0] in ("+", "-", "*", "/", "//", "%") and all(inner(part) for part in expr.operands)
    if type(expr) is ir.ListDisplay:
        return bool(expr.items) and all(inner(part) for part in expr.items)
    if type(expr) is ir.DictDisplay:
        return bool(expr.values) and all(inner(part) for part in expr.values)
    if type(expr) is ir.Name:
        definitions = list(things.definitions(expr.id, frame, state))
        fresh = [one for one in definitions if id(one[0]) not in seen]
        seen.update(id(one[0]) for one in fresh)
        if not definitions or any(inside is not frame for _, _, inside in definitions):
            return False
        return all(_plainly(context, things, part, frame, at, depth + 1, seen) for part, at, _ in fresh)
    return False


def _scalars(context: CheckContext, project: Project, found: CallSite, body: tuple[ir.Stmt, ...]) -> Iterator[Finding]:
    """Where the result of the call is read as one number, at once or through a variable that holds nothing else."""
    at = found.site.call.at
    name = next(
        (
            one.targets[0].id
            for one in statements(body)
            if type(one) is ir.Assign and one.value is not None and one.value.at == at
            if len(one.targets) == 1 and isinstance(one.targets[0], ir.Name)
        ),
        "",
    )
    things = Things(project, (), (), ())
    frame = things.evaluator.frame(found.file, found.site.function)
    tests = [one.test for one in statements(body) if type(one) is ir.If or type(one) is ir.While]
    for call in (*calls_in(body), *tests):
        read = _read_as_number(call)
        if read is None or any(_counts(guard) for guard in guards_of(body, call.at) or ()):
            continue
        is_result = read.at == at
        if not is_result and name and type(read) is ir.Name and read.id == name:
            state = things.evaluator.state(frame, read.at)
            is_result = [part.at for part, _, _ in things.definitions(name, frame, state)] == [at]
        if is_result:
            yield context.finding(
                f"`{found.name.rpartition('.')[2]}` gives the values of all processes, and this wants a single number",
                ir.unpack(call.at, found.file),
                related=[Related(found.span, "one value of each process is collected here")],
                symbol=found.name,
            )


def _read_as_number(call: ir.Expr) -> ir.Expr | None:
    """What is read as one number: ``x`` of ``x.item()``, of ``float(x)`` and of a test ``x > 1``."""
    if type(call) is ir.Operation and call.operators[0] in ("<", ">", "<=", ">=", "==", "!="):
        return next((one for one in call.operands if type(one) is not ir.Constant), None)
    if type(call) is not ir.Call:
        return None
    if type(call.func) is ir.Attribute and call.func.name == "item" and not call.args:
        return call.func.base
    if type(call.func) is ir.Name and call.func.id in ("float", "int", "bool") and len(call.args) == 1:
        return call.args[0]
    return None


def _counts(guard: Guard) -> bool:
    """Whether a test may ask for the number of processes."""
    return guard.test is not None and any(
        last_name(part) in ("num_processes", "world_size", "use_distributed", "numel", "dim", "ndim")
        for part in below(guard.test)
    )
