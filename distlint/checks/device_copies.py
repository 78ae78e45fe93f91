"""Copies between devices and the CPU: copies read before they are done, pinned tensors.

The rule's ``fault`` parameter says which: ``read-early`` (a copy to the CPU that does not wait is read at once), ``pinned`` (tensors of a
device are to be put into page-locked memory).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from distlint.checks.execution import body_of
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.project import Project
from distlint.link.walking import below, blocks_of, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("device-copies")
def device_copies(context: CheckContext) -> Iterator[Finding]:
    """Findings of the kind that the rule asks for."""
    yield from _FAULTS[context.parameters["fault"]](context)


# Copies that are read too early ---------------------------------------------------------------------------------------


def _read_early(context: CheckContext) -> Iterator[Finding]:
    """``readers`` are methods and functions that need the numbers; ``waits`` the last names of what waits for a copy."""
    project: Project = context.project
    for site in project.sites("to"):
        call = site.site.call
        if not _is_hurried(call):
            continue
        for block in _blocks(body_of(project, site.file, site.site.function)):
            for index, statement in enumerate(block):
                if type(statement) is not ir.Assign or statement.value is None or statement.value.at != call.at:
                    continue
                name = statement.targets[0].id if type(statement.targets[0]) is ir.Name else ""
                read = _first_read(context, name, block[index + 1 :]) if name else None
                if read is not None:
                    yield context.finding(
                        "a copy from a device to the CPU is read while it may still be under way",
                        ir.unpack(read, site.file),
                        related=[Related(site.span, "the copy starts here, and `non_blocking` does not wait for it")],
                    )


def _is_hurried(call: ir.Call) -> bool:
    words = {word.name: word.value for word in call.keywords}
    hurried = words.get("non_blocking")
    target = call.args[0] if call.args else words.get("device")
    if type(hurried) is not ir.Constant or hurried.value is not True:
        return False
    if type(target) is ir.Call and len(target.args) == 1:
        target = target.args[0]
    return type(target) is ir.Constant and target.value == "cpu"


def _blocks(body: tuple[ir.Stmt, ...]) -> Iterator[tuple[ir.Stmt, ...]]:
    yield body
    for statement in statements(body):
        yield from blocks_of(statement)


def _first_read(context: CheckContext, name: str, block: tuple[ir.Stmt, ...]) -> ir.Position | None:
    """Where the first statements that mention a variable read its numbers, with nothing between that waits."""
    parameters = context.parameters
    for statement in block:
        parts = [part for expr in expressions_of(statement) for part in below(expr)]
        if any(type(part) is ir.Call and _last(part.func) in parameters["waits"] for part in parts):
            return None
        if list(blocks_of(statement)):
            return None
        mentioned = any(type(part) is ir.Name and part.id == name for part in parts)
        if not mentioned and any(type(part) is ir.Call and _last(part.func) in parameters["readers"] for part in parts):
            return None  # reading another tensor waits for everything that was queued before
        for part in parts:
            if type(part) is not ir.Call:
                continue
            func = part.func
            if type(func) is ir.Attribute and func.name in parameters["readers"]:
                if any(type(inner) is ir.Name and inner.id == name for inner in below(func.base)):
                    return part.at
            elif type(func) is ir.Name and func.id in parameters["functions"]:
                if any(type(argument) is ir.Name and argument.id == name for argument in part.args):
                    return part.at
        if mentioned:
            return None
    return None


def _last(func: ir.Expr) -> str:
    return func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""


# Page-locked memory ---------------------------------------------------------------------------------------------------


def _pinned(context: CheckContext) -> Iterator[Finding]:
    """``loaders`` that pin what ``datasets`` hold."""
    project: Project = context.project
    evaluator = project.evaluator(None)
    for site in project.calls_to(set(context.parameters["loaders"])):
        pinned, _ = find_argument(site.site.call, "pin_memory", None)
        data, _ = find_argument(site.site.call, "dataset", 0)
        if type(pinned) is not ir.Constant or pinned.value is not True or data is None:
            continue
        options = options_of(evaluator.ask(data, site.file, site.site.function))
        only = options[0] if len(options) == 1 else None
        if not isinstance(only, Instance) or only.part:
            continue
        if evaluator.instance_name(only).removesuffix("()") not in context.parameters["datasets"]:
            continue
        for argument in only.call.args:
            state = project.flow(only.frame.file, only.frame.function).before(only.call.at)
            placed = followed(argument, state)
            if _is_on_device(placed):
                yield context.finding(
                    "the loader is to pin tensors that are on a device",
                    ir.unpack(pinned.at, site.file),
                    related=[Related(ir.unpack(placed.at, only.frame.file), "they are put on the device here")],
                )
                break


def _is_on_device(expr: ir.Expr) -> bool:
    if type(expr) is not ir.Call:
        return False
    given = [*expr.args[:1], *(word.value for word in expr.keywords if word.name == "device")]
    named = any(type(part) is ir.Constant and str(part.value).startswith("cuda") for part in given)
    is_method = type(expr.func) is ir.Attribute and expr.func.name in ("to", "cuda")
    return (is_method and (named or (not given and _last(expr.func) == "cuda"))) or (
        any(word.name == "device" for word in expr.keywords) and named
    )


_FAULTS: dict[str, Callable[[CheckContext], Iterator[Finding]]] = {
    "read-early": _read_early,
    "pinned": _pinned,
}
