"""Checkpoints whose tensors every rank loads onto the device that they were saved from.

Parameters: ``loaders`` read what ``savers`` wrote (``alone``: on one process, whoever calls them), ``target`` is the argument that says
where tensors go; ``groups`` start a job (by name, the argument for the backend: without it one is chosen that fits the devices), for
``backends`` that are for devices; ``makers`` are objects that give each process a device of its own, unless an argument ``cpu`` keeps
them from that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.device_uses import uses_devices
from distlint.checks.execution import body_of
from distlint.checks.programs import family
from distlint.checks.rank_objects import SETTINGS
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import Region, mentions, regions
from distlint.link.arguments import find_argument
from distlint.link.handed import handed
from distlint.link.modules import FunctionRef
from distlint.link.walking import below, bound_names, calls_in, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.callers import Caller
    from distlint.link.project import CallSite, Project

MAX_HANDED = 3
MAX_CALLERS = 8
_STATES = frozenset({"state_dict", "named_parameters", "parameters"})
"""Methods that give tensors of a module, as they are."""
_COPIED = frozenset({"cpu", "to", "numpy", "item"})
_TAKING = frozenset({"load_state_dict", "copy_"})
"""Methods by which tensors take the numbers of others, wherever these are."""
_FOREIGN = re.compile(r"pre_?train|teacher|backbone", re.IGNORECASE)
"""What settings are called that hold the path of weights which the program did not write."""
_RANKS = ("rank", "is_main", "master", "main_process", "is_global_zero", "is_world_process_zero")


@check("checkpoint-devices")
def checkpoint_devices(context: CheckContext) -> Iterator[Finding]:
    """A finding for each call that loads such a checkpoint."""
    project: Project = context.project
    parameters = context.parameters
    starts = [*project.calls_to(set(parameters["groups"])), *project.calls_to(set(parameters["makers"]))]
    savers = list(project.calls_to(set(parameters["savers"]))) if starts else []
    for site in project.calls_to(set(parameters["loaders"])) if savers else ():
        given, certain = find_argument(site.site.call, *parameters["target"])
        if given is not None or not certain:
            continue
        files = family(project, site.file)
        started = next((one for one in starts if one.file in files and _has_devices(context, one)), None)
        if started is None:
            continue
        kept = _kept_attributes(project, site)
        if kept is None:
            continue
        saved = next((one for one in savers if one.file in files and _goes_together(project, one, site, kept)), None)
        if saved is None or not (saved.name in parameters["alone"] or _is_saved_by_one(project, saved)):
            continue
        if _asks(project, site.file, site.site.function, site.site.call.at, (*_RANKS, "cuda", "cpu", "gpu", "device")):
            continue
        yield context.finding(
            "every rank loads the checkpoint onto the device that it was saved from",
            site.span,
            related=[
                Related(saved.span, "tensors are saved here together with their device"),
                Related(started.span, "each rank of the job has a device of its own"),
            ],
        )


def _has_devices(context: CheckContext, start: CallSite) -> bool:
    """Whether the processes that are started have devices, each its own."""
    project: Project = context.project
    if start.name in context.parameters["makers"]:
        cpu, certain = find_argument(start.site.call, "cpu", None)
        return certain and (cpu is None or (type(cpu) is not ir.Constant and "cuda" in _words(cpu)))
    given, certain = find_argument(start.site.call, context.parameters["groups"][start.name], 0)
    if given is None:
        return certain and uses_devices(project, start.file)
    value = project.evaluator(None).value(given, start.file, start.site.function)
    if len(value.options) > 1 and not uses_devices(project, start.file):
        return False
    return any(one in context.parameters["backends"] for one in value.options)


# What is loaded -------------------------------------------------------------------------------------------------------


def _goes_together(project: Project, saved: CallSite, loaded: CallSite, kept: set[str]) -> bool:
    """Whether a call saves tensors that another one loads for use: both in one file, or under a path that has a name in common.

    ``kept`` are the attributes that keep what is loaded, if tensors do not take it over.
    """
    if kept and not any(mentions(one, kept) for one in saved.site.call.args[:1]):
        return False
    if not _saves_tensors(project, saved):
        return False
    written, read = _path_words(project, saved, 1), _path_words(project, loaded, 0)
    if any(not _SUFFIX.fullmatch(word) for word in written & read):
        return True
    told = any("." in word for word in written) and any("." in word for word in read)
    return saved.file == loaded.file and not told and not any(_FOREIGN.search(word) for word in read)


def _kept_attributes(project: Project, site: CallSite) -> set[str] | None:
    """The attributes that keep what a call gives; none where tensors take its numbers over, ``None`` where it is not used so."""
    kept: set[str] = set()
    for region in _regions_of(project, site):
        body = region.body(project)
        for call in calls_in(body):
            func = call.func
            if type(func) is not ir.Attribute or func.name not in _TAKING or _holds_numbers(func.base):
                continue
            if any(mentions(one, region.names) or ir.encloses(one.at, site.site.call.at) for one in call.args):
                return set()
        kept.update(_attributes_of(body, region, site))
    return kept or None


def _regions_of(project: Project, site: CallSite | Caller, depth: int = 0) -> Iterator[Region]:
    """The names that come from what a call gives, in its function and in those that get it returned."""
    function = site.site.function
    body = body_of(project, site.file, function)
    bound = {
        name
        for statement in statements(body)
        if type(statement) is ir.Assign and statement.value is not None
        if ir.encloses(statement.value.at, site.site.call.at)
        for target in statement.targets
        for name in bound_names(target)
    }
    yield from regions(project, site.file, function, bound)
    returned = [one.value for one in statements(body) if type(one) is ir.Return and one.value is not None]
    if function < 0 or depth > MAX_HANDED or not any(ir.encloses(one.at, site.site.call.at) for one in returned):
        return
    for caller in project.callers(FunctionRef(site.file, function))[:MAX_CALLERS]:
        yield from _regions_of(project, caller, depth + 1)


def _attributes_of(body: tuple[ir.Stmt, ...], region: Region, site: CallSite) -> Iterator[str]:
    """The attributes of an object into which a function puts what was loaded, as it is."""
    for statement in statements(body):
        if type(statement) is not ir.Assign or statement.value is None:
            continue
        value = statement.value
        if not mentions(value, region.names) and not ir.encloses(value.at, site.site.call.at):
            continue
        if any(type(part) is ir.Call and _last(part.func) in _COPIED for part in below(value)):
            continue
        for target in statement.targets:
            if type(target) is ir.Attribute and type(target.base) is ir.Name and not _holds_numbers(target):
                yield f"{target.base.id}.{target.name}"


def _holds_numbers(receiver: ir.Expr) -> bool:
    """Whether an object has plain numbers for a state, going by its name: schedulers, scalers, samplers."""
    return re.search(r"sched|scaler|sampler|loader|rng|(^|_)lr", _last(receiver), re.IGNORECASE) is not None


# What is saved --------------------------------------------------------------------------------------------------------


def _saves_tensors(project: Project, site: CallSite) -> bool:
    """Whether a call saves states of objects, or parameters of models, as they are, and not copies on the CPU."""
    names = set(_called_for(project, site.file, site.site.function, site.site.call.args[:1], 0))
    return bool(names & _STATES) and not names & {"cpu", "to"}


def _called_for(project: Project, file: str, function: int, given: tuple[ir.Expr, ...], depth: int) -> Iterator[str]:
    """The methods that are called for some values: where these are written, put into variables, and handed to the function."""
    parts = [part for one in given for part in below(one)]
    parts += [inner for part in parts if type(part) is ir.Lambda for inner in below(part.body)]
    methods = [part.func for part in parts if type(part) is ir.Call and type(part.func) is ir.Attribute]
    yield from (method.name for method in methods)
    yield from _called_in_functions(project, file, parts)
    # whose state it is does not matter
    owners = {id(part) for method in methods if method.name in _STATES for part in below(method.base)}
    names = {part.id for part in parts if type(part) is ir.Name and id(part) not in owners}
    own = {
        part.name
        for part in parts
        if type(part) is ir.Attribute
        and type(part.base) is ir.Name
        and part.base.id == "self"
        and id(part) not in owners
    }
    if depth > MAX_HANDED or not names | own:
        return
    for statement in statements(body_of(project, file, function)):
        if type(statement) is ir.Assign and statement.value is not None:
            if any(
                type(part) is ir.Name and part.id in names - {"self"}
                for one in statement.targets
                for part in below(one)
            ):
                yield from _called_for(project, file, function, (statement.value,), depth + 1)
    if function < 0:
        return
    yield from _called_for_attributes(project, file, function, own, depth)
    definition = project.module(file).functions[function]
    for place, parameter in enumerate(definition.parameters):
        for caller, one, _ in (
            handed(project, FunctionRef(file, function), place, MAX_CALLERS) if parameter.name in names else ()
        ):
            values: tuple[ir.Expr, ...] = (one,) if one is not None else ()
            if parameter.kind == "var-keyword":
                values = tuple(word.value for word in caller.site.call.keywords)
            if values:
                yield from _called_for(project, caller.file, caller.site.function, values, depth + 1)


def _called_for_attributes(project: Project, file: str, function: int, own: set[str], depth: int) -> Iterator[str]:
    """The methods that are called for what methods of a class put into some attributes of ``self``."""
    functions = project.module(file).functions
    owner = functions[function].owner
    if owner < 0 or not own:
        return
    for index, method in enumerate(functions):
        if method.owner != owner:
            continue
        for statement in statements(method.body):
            if type(statement) is ir.Assign and statement.value is not None:
                targets = {one.name for one in statement.targets if type(one) is ir.Attribute}
                if targets & own:
                    yield from _called_for(project, file, index, (statement.value,), depth + 1)


def _called_in_functions(project: Project, file: str, parts: list[ir.Expr]) -> Iterator[str]:
    """The methods that functions of the project call that are called with the values, or handed on beside them."""
    for part in parts:
        target = project.modules.resolve(part, file) if type(part) is ir.Name or type(part) is ir.Attribute else None
        if isinstance(target, FunctionRef):
            calls = calls_in(project.function(target).body)
            yield from (call.func.name for call in calls if type(call.func) is ir.Attribute)


def _path_words(project: Project, site: CallSite, place: int) -> set[str]:
    """Names and texts of files and settings in the path that a call is given, also where it is handed to the function."""
    found: set[str] = set()
    given = [(one, site.file, site.site.function) for one in site.site.call.args[place : place + 1]]
    for expr, file, function in given:
        words = _words(expr) - SETTINGS - _of_libraries(project, expr, file)
        found |= words
        if len(given) > MAX_CALLERS:
            continue
        for statement in statements(body_of(project, file, function)):
            if type(statement) is ir.Assign and statement.value is not None:
                if words & {name for target in statement.targets for name in bound_names(target)}:
                    given.append((statement.value, file, function))
        if function < 0:
            continue
        for at, parameter in enumerate(project.module(file).functions[function].parameters):
            if parameter.name in words:
                callers = handed(project, FunctionRef(file, function), at, MAX_CALLERS)
                given += [(one, by.file, by.site.function) for by, one, _ in callers if one is not None]
    return found - _EVERYWHERE


_EVERYWHERE = frozenset({"os", "path", "join", "self", "str", "Path", "pathlib", "format", "/", ""})
"""Words that paths to different files have in common."""
_SUFFIX = re.compile(r"\W*(\.\w+)?")
"""What stands behind the name of a file."""


def _of_libraries(project: Project, expr: ir.Expr, file: str) -> set[str]:
    """The words in an expression that name a library's modules and functions, which tell nothing of a file."""
    named = [part for part in below(expr) if isinstance(part, ir.Name | ir.Attribute)]
    return {word for part in named if project.modules.dotted(part, file) for word in _words(part)}


def _words(expr: ir.Expr) -> set[str]:
    found: set[str] = set()
    for part in below(expr):
        if type(part) is ir.Name:
            found.add(part.id)
        elif type(part) is ir.Attribute:
            found.add(part.name)
        elif type(part) is ir.Constant and isinstance(part.value, str):
            found.add(part.value.strip("/"))
    return found


# Who comes there ------------------------------------------------------------------------------------------------------


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


def _last(func: ir.Expr) -> str:
    return func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
