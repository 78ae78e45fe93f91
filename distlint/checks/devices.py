"""Processes that do not each get a device of their own.

The rule's ``fault`` parameter says which: ``global-rank`` (a device index that is the rank in the whole job),
``physical-id`` (an index out of the list of visible devices, which are numbered anew), ``none-chosen`` (device tensors
without any choice), ``too-many`` (more processes on a node than devices).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from distlint.checks.devices_by_rank import global_rank, indexes
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.project import CallSite, Project
from distlint.link.walking import below
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.finding import Finding, Related
from distlint.model.launch import Launch
from distlint.model.span import Span
from distlint.model.value import Confidence, Value


@check("devices")
def devices(context: CheckContext) -> Iterator[Finding]:
    """Findings of the kind that the rule asks for."""
    yield from _FAULTS[context.parameters["fault"]](context)


def _physical_id(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    for site, index in indexes(context):
        source = _from_visible_list(context, index, site)
        if source is not None:
            yield context.finding(
                "the device index is taken from the list of visible devices, which are numbered from 0 in this process",
                ir.unpack(index.at, site.file),
                related=[Related(ir.unpack(source.at, site.file), "the list is read here")],
                symbol=project.module(site.file).functions[site.site.function].name if site.site.function >= 0 else "",
            )


def _from_visible_list(context: CheckContext, index: ir.Expr, site: CallSite) -> ir.Expr | None:
    """The read of the variable behind ``int(os.environ[NAME].split(",")[i])``, through local variables."""
    project: Project = context.project
    state = project.flow(site.file, site.site.function).before(site.site.call.at)
    index = followed(index, state)
    if type(index) is ir.Call and type(index.func) is ir.Name and index.func.id == "int" and len(index.args) == 1:
        index = followed(index.args[0], state)
    if type(index) is not ir.Subscript or type(index.index) is ir.Slice:
        return None
    parts = followed(index.base, state)
    if type(parts) is not ir.Call or type(parts.func) is not ir.Attribute or parts.func.name != "split":
        return None
    source = followed(parts.func.base, state)
    names = context.parameters["variables"]
    if any(type(part) is ir.Constant and part.value in names for part in below(source)) and any(
        project.modules.dotted(part, site.file) in ("os.environ", "os.environ.get", "os.getenv")
        for part in below(source)
    ):
        return source
    return None


def _none_chosen(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    parameters = context.parameters
    for init in project.calls_to(set(parameters["groups"])):
        backend, _ = find_argument(init.site.call, "backend", 0)
        if backend is None or not _uses_devices(project.evaluator(None).value(backend, init.file, init.site.function)):
            continue
        files = _files_around(context, init)
        if any(_may_choose(context, file) for file in files) or chosen_by_launch(context, init.file):
            continue
        placed = next((span for file in files if (span := _placed_on_first(context, file)) is not None), None)
        if placed is not None:
            yield context.finding(
                "every rank puts its tensors on device 0: no device is chosen for a rank anywhere",
                placed,
                related=[Related(init.span, "the process group needs a device for each rank")],
            )


def _uses_devices(backend: Value) -> bool:
    """Whether a backend that is one of a few known ones may be that of devices."""
    return bool(backend.options) and "nccl" in backend.options and all(isinstance(one, str) for one in backend.options)


def _placed_on_first(context: CheckContext, file: str) -> Span | None:
    """The first call in a file that puts something on the current or the first device."""
    module = context.project.module(file)
    found = []
    for name in ("cuda", "to", "device", "set_device"):
        for site in module.calls.get(name, ()):
            given = _devices_given(site.call)
            if (given or name == "cuda") and all(is_first(context, one, file, site.function) for one in given):
                found.append(site.call)
    first = min(found, key=lambda call: call.at, default=None)
    return ir.unpack(first.at, file) if first is not None else None


def _devices_given(call: ir.Call) -> list[ir.Expr]:
    return [*call.args, *(word.value for word in call.keywords if word.name in ("device", "index", None))]


def is_first(context: CheckContext, expr: ir.Expr, file: str, function: int) -> bool:
    """Whether a device is certainly the current or the first one (a test may choose the CPU instead)."""
    if type(expr) is ir.Constant:
        return expr.value == 0 or expr.value in context.parameters["first"]
    if type(expr) is ir.Conditional:
        sides = (expr.body, expr.orelse)
        on_cpu = [type(side) is ir.Constant and side.value == "cpu" for side in sides]
        return not all(on_cpu) and all(
            cpu or is_first(context, side, file, function) for side, cpu in zip(sides, on_cpu, strict=True)
        )
    project: Project = context.project
    if type(expr) is ir.Call:
        is_device = project.modules.dotted(expr.func, file) in context.parameters["devices"]
        given = _devices_given(expr)
        return is_device and bool(given) and all(is_first(context, one, file, function) for one in given)
    if type(expr) is ir.Name or type(expr) is ir.Attribute:
        options = options_of(project.evaluator(None).ask(expr, file, function))
        some = [option for option in options if not _is_processor(context, option)]
        return bool(some) and all(_is_first_object(context, option) for option in some)
    return False


def _is_processor(context: CheckContext, option: object) -> bool:
    """Whether an object is the device of the processor itself."""
    if not isinstance(option, Instance) or option.part:
        return False
    given = _devices_given(option.call)
    is_device = context.project.modules.dotted(option.call.func, option.frame.file) in context.parameters["devices"]
    return is_device and len(given) == 1 and type(given[0]) is ir.Constant and given[0].value == "cpu"


def _is_first_object(context: CheckContext, option: object) -> bool:
    if isinstance(option, Instance):
        return not option.part and is_first(context, option.call, option.frame.file, option.frame.function)
    if not isinstance(option, Leaf) or not option.value.options:
        return False
    # a device by name is the same for all processes that a launcher starts; a number may be what the launcher tells each
    named = all(type(value) is str for value in option.value.options)
    if option.value.confidence is Confidence.POSSIBLE and not named:
        return False
    values = set(option.value.options)
    return bool(values - {"cpu"}) and all(value in {*context.parameters["first"], 0, "cpu"} for value in values)


def _files_around(context: CheckContext, init: CallSite) -> list[str]:
    """The files of the runs around a call: its own first, then those that it is read with."""
    project: Project = context.project
    scripts = {run.script_file for run in project.runs if init.file in project.closure(run.script_file)}
    files = project.closure(init.file).union(*(project.closure(script) for script in scripts))
    known = [file for file in sorted(files) if file in project.facts and project.facts[file].module is not None]
    return sorted(known, key=lambda file: file != init.file)


def _may_choose(context: CheckContext, file: str) -> bool:
    """Whether a file chooses a device in some way, or leaves that to a framework."""
    parameters, module = context.parameters, context.project.module(file)
    if any(item.module.split(".")[0] in parameters["frameworks"] for item in module.imports):
        return True
    if any(name in context.project.text_of(file) for name in parameters["variables"]):
        return True
    own = context.project.function_names
    if any(name in module.calls and name not in own for name in parameters["choosers"]):
        return True
    if module.attributes & set(parameters["attributes"]):
        return True
    return any(
        not is_first(context, argument, file, site.function) and not _is_kind(context, argument, file)
        for name in ("cuda", "to", "device", "set_device")
        for site in module.calls.get(name, ())
        for argument in _devices_given(site.call)
    )


def _is_kind(context: CheckContext, argument: ir.Expr, file: str) -> bool:
    """Whether an argument is the CPU, a type or a switch rather than a device."""
    if type(argument) is ir.Constant:
        return argument.value == "cpu" or isinstance(argument.value, bool)
    project: Project = context.project
    return project.modules.dotted(argument, file).startswith("torch.")


def chosen_by_launch(context: CheckContext, file: str) -> bool:
    """Whether a launch gives each process a device of its own, or starts one process only."""
    names = context.parameters["variables"]
    runs = context.project.runs_reaching(file)
    if runs and all(run.world_size.only == 1 and run.launch.launcher != "python" for run in runs):
        return True
    return any(run.launch.outer is not None or any(name in run.launch.environment for name in names) for run in runs)


def _too_many(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    for launch in project.launches:
        if launch.launcher not in context.parameters["launchers"] or launch.open_options:
            continue
        processes, (available, name) = launch.processes_per_node, _available(context, launch)
        if (
            not isinstance(processes.only, int)
            or not isinstance(available.only, int)
            or available.only >= processes.only
        ):
            continue
        if not _needs_devices(context, launch):
            continue
        place = next((option.span for dest, option in launch.options.items() if "process" in dest), launch.span)
        yield context.finding(
            f"{processes.only} processes on a node, but "
            + (f"`{name}` leaves {available.only} devices" if name else f"it has {available.only} devices"),
            place,
            related=[Related(span, f"{available.only} devices") for span in available.spans[:1]],
            confidence=min(processes.confidence, available.confidence),
            symbol=launch.script_file,
        )


def _available(context: CheckContext, launch: Launch) -> tuple[Value, str]:
    from distlint.model.value import absent, known

    for dest in context.parameters.get("options", ()):
        given = launch.options.get(dest)
        if given is not None:
            return given.value.map(_count), given.flag
    ignoring = launch.launcher in context.parameters.get("ignoring-variables", ())
    for name in () if ignoring else context.parameters["variables"]:
        value = launch.environment.get(name)
        if value is not None and not value.is_absent:
            return value.map(_count), name
    for name in context.parameters["counts"]:
        value = launch.environment.get(name)
        if value is not None and not value.is_absent:
            return value.map(int), ""
    each_node = context.project.gpus_per_node
    return (known(each_node) if each_node is not None else absent()), ""


def _count(text: object) -> int:
    names = [name for name in str(text).split(",") if name.strip()]
    if not names or not all(name.strip().isdecimal() for name in names):
        raise ValueError("not a list of numbers")
    return len(names)


def _needs_devices(context: CheckContext, launch: Launch) -> bool:
    """Whether the script gives each process a device: it sets one by its local rank, or joins a group of devices."""
    project: Project = context.project
    if not launch.script_file or launch.script_file not in project.facts:
        return False
    closure = project.closure(launch.script_file)
    return any(site.file in closure for site in project.calls_to(set(context.parameters["needs"])))


_FAULTS: dict[str, Callable[[CheckContext], Iterator[Finding]]] = {
    "global-rank": global_rank,
    "physical-id": _physical_id,
    "none-chosen": _none_chosen,
    "too-many": _too_many,
}
