"""Copies between devices and the CPU: checkpoints that land on one device, copies read before they are done, pinned tensors.

The rule's ``fault`` parameter says which: ``onto-one`` (a checkpoint is loaded without saying where its tensors go), ``read-early`` (a
copy to the CPU that does not wait is read at once), ``pinned`` (tensors of a device are to be put into page-locked memory).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from distlint.checks.device_uses import uses_devices
from distlint.checks.execution import body_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, blocks_of, calls_in, expressions_of, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

MAX_HANDED = 3
MAX_CALLERS = 8
_STATE = "state_dict"
_RANKS = ("rank", "is_main", "master", "main_process")


@check("device-copies")
def device_copies(context: CheckContext) -> Iterator[Finding]:
    """Findings of the kind that the rule asks for."""
    yield from _FAULTS[context.parameters["fault"]](context)


# Checkpoints ----------------------------------------------------------------------------------------------------------


def _onto_one(context: CheckContext) -> Iterator[Finding]:
    """``loaders`` read what ``savers`` wrote; ``target`` is the argument that says where it goes."""
    project: Project = context.project
    parameters = context.parameters
    joins = list(project.calls_to(set(parameters["groups"])))
    savers = list(project.calls_to(set(parameters["savers"]))) if joins else []
    for site in project.calls_to(set(parameters["loaders"])) if savers else ():
        given, certain = find_argument(site.site.call, *parameters["target"])
        if given is not None or not certain or not _goes_into_states(project, site):
            continue
        files = family(project, site.file)
        joined = next((one for one in joins if one.file in files and _is_for_devices(context, one)), None)
        saved = next((one for one in savers if one.file == site.file and _saves_states(project, one)), None)
        if joined is None or saved is None or not _is_saved_by_one(project, saved):
            continue
        if _asks(project, site.file, site.site.function, site.site.call.at, (*_RANKS, "cuda", "cpu", "gpu", "device")):
            continue
        yield context.finding(
            "every rank loads the checkpoint onto the device that it was saved from",
            site.span,
            related=[
                Related(saved.span, "tensors are saved here together with their device"),
                Related(joined.span, "each rank of this group has a device of its own"),
            ],
        )


def _goes_into_states(project: Project, site: CallSite) -> bool:
    """Whether what a call gives is loaded into an object in the same function."""
    body = body_of(project, site.file, site.site.function)
    names: set[str] = set()
    for statement in statements(body):
        if type(statement) is ir.Assign and statement.value is not None and statement.value.at == site.site.call.at:
            names |= {target.id for target in statement.targets if type(target) is ir.Name}
    for call in calls_in(body):
        if (
            type(call.func) is ir.Attribute
            and call.func.name == "load_state_dict"
            and not _holds_numbers(call.func.base)
        ):
            for argument in call.args:
                for part in below(argument):
                    if part.at == site.site.call.at or (type(part) is ir.Name and part.id in names):
                        return True
    return False


def _holds_numbers(receiver: ir.Expr) -> bool:
    """Whether an object has plain numbers for a state, going by its name: schedulers, scalers, samplers."""
    return re.search(r"sched|scaler|sampler|loader|rng|(^|_)lr", _last(receiver), re.IGNORECASE) is not None


def _is_for_devices(context: CheckContext, site: CallSite) -> bool:
    given, _ = find_argument(site.site.call, "backend", 0)
    if given is None:
        return False
    value = context.project.evaluator(None).value(given, site.file, site.site.function)
    if len(value.options) > 1 and not uses_devices(context.project, site.file):
        return False
    return any(one in context.parameters["backends"] for one in value.options)


def _saves_states(project: Project, site: CallSite) -> bool:
    """Whether a call saves states of objects as they are, and not copies on the CPU."""
    names = set(_called_for(project, site.file, site.site.function, site.site.call.args[:1], 0))
    return _STATE in names and not names & {"cpu", "to"}


def _called_for(project: Project, file: str, function: int, given: tuple[ir.Expr, ...], depth: int) -> Iterator[str]:
    """The methods that are called for some values: where these are written, put into variables, and handed to the function."""
    parts = [part for one in given for part in below(one)]
    parts += [inner for part in parts if type(part) is ir.Lambda for inner in below(part.body)]
    methods = [part.func for part in parts if type(part) is ir.Call and type(part.func) is ir.Attribute]
    yield from (method.name for method in methods)
    yield from _called_in_functions(project, file, parts)
    # whose state it is does not matter
    owners = {id(part) for method in methods if method.name == _STATE for part in below(method.base)}
    names = {part.id for part in parts if type(part) is ir.Name and id(part) not in owners}
    if depth > MAX_HANDED or not names:
        return
    for statement in statements(body_of(project, file, function)):
        if type(statement) is ir.Assign and statement.value is not None:
            if any(type(part) is ir.Name and part.id in names for one in statement.targets for part in below(one)):
                yield from _called_for(project, file, function, (statement.value,), depth + 1)
    if function < 0:
        return
    definition = project.module(file).functions[function]
    for place, parameter in enumerate(definition.parameters):
        if parameter.name not in names:
            continue
        for caller in project.callers(FunctionRef(file, function))[:MAX_CALLERS]:
            shifted = place - (1 if definition.owner >= 0 else 0) + caller.shift
            handed, _ = find_argument(caller.site.call, parameter.name, shifted)
            if handed is not None:
                yield from _called_for(project, caller.file, caller.site.function, (handed,), depth + 1)


def _called_in_functions(project: Project, file: str, parts: list[ir.Expr]) -> Iterator[str]:
    """The methods that functions of the project call that are called with the values, or handed on beside them."""
    for part in parts:
        target = project.modules.resolve(part, file) if type(part) is ir.Name or type(part) is ir.Attribute else None
        if isinstance(target, FunctionRef):
            calls = calls_in(project.function(target).body)
            yield from (call.func.name for call in calls if type(call.func) is ir.Attribute)


def _is_saved_by_one(project: Project, site: CallSite) -> bool:
    """Whether one rank writes what all will read; each rank's own file holds tensors of its own device."""
    if _asks(project, site.file, site.site.function, site.site.call.at, _RANKS):
        return True
    if site.site.function < 0:
        return False
    callers = project.callers(FunctionRef(site.file, site.site.function))
    return any(_asks(project, one.file, one.site.function, one.site.call.at, _RANKS) for one in callers)


def _asks(project: Project, file: str, function: int, at: ir.Position, about: tuple[str, ...]) -> bool:
    """Whether tests on the way to a place have names with some words."""
    guards = guards_of(body_of(project, file, function), at) or ()
    words = [_last(part) for guard in guards if guard.test is not None for part in below(guard.test)]
    return any(word in name.lower() for name in words for word in about)


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
    "onto-one": _onto_one,
    "read-early": _read_early,
    "pinned": _pinned,
}
