"""What a program puts where: several devices for one process, tensors on the CPU in groups of devices, copies that nobody keeps.

The rule's ``fault`` parameter says which: ``many`` (a wrapper is given more than one device), ``off-device`` (a collective of a group
that works on devices only gets a tensor that was made on the CPU), ``dropped`` (a tensor's copy on another device is thrown away),
``unsynchronised`` (a wrapper that spreads a model over the devices of one process in a program of several).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from distlint.checks.cpu_tensors import made_on_cpu
from distlint.checks.execution import body_of
from distlint.checks.loaders import handed_on, loader_classes, loaders_in
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.callers import Caller
from distlint.link.followed import followed
from distlint.link.project import CallSite, Project
from distlint.link.walking import asks_for_main, below, guards_of, statements
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.finding import Finding, Related

_MOVING = ("to", "cuda")
"""Names of calls that put something on a device."""
_NAMED = re.compile(r"[\"']cuda\b")
"""A text that names a device."""


@check("device-uses")
def device_uses(context: CheckContext) -> Iterator[Finding]:
    """Findings of the kind that the rule asks for."""
    yield from _FAULTS[context.parameters["fault"]](context)


# Several devices for one process --------------------------------------------------------------------------------------


def _many(context: CheckContext) -> Iterator[Finding]:
    """``wrappers`` maps calls to the argument that names devices: (name, position)."""
    project: Project = context.project
    wrappers = context.parameters["wrappers"]
    for site in project.calls_to(set(wrappers)):
        name, position = wrappers[site.name]
        given, _ = find_argument(site.site.call, name, position)
        if given is None:
            continue
        state = project.flow(site.file, site.site.function).before(site.site.call.at)
        listed = followed(given, state)
        text = _several(context, listed, site)
        if text:
            related = [Related(ir.unpack(listed.at, site.file), "the list is made here")] if listed is not given else []
            yield context.finding(
                f"`{name}` names {text}, and a process has one", ir.unpack(given.at, site.file), related=related
            )


def _several(context: CheckContext, listed: ir.Expr, site: CallSite) -> str:
    """Words for the devices of a list where these are certainly more than one (on a node that has several)."""
    if type(listed) is ir.ListDisplay and len(listed.items) > 1:
        plain = not any(type(item) is ir.Starred for item in listed.items)
        return f"{len(listed.items)} devices" if plain else ""
    counted: ir.Expr | None = None
    if type(listed) is ir.Call and type(listed.func) is ir.Name:
        if listed.func.id in ("list", "tuple") and len(listed.args) == 1:
            return _several(context, listed.args[0], site)
        if listed.func.id == "range" and len(listed.args) == 1:
            counted = listed.args[0]
    elif type(listed) is ir.Comprehension and len(listed.generators) == 1 and not listed.generators[0][2]:
        return _several(context, listed.generators[0][1], site)
    if counted is None:
        return ""
    project: Project = context.project
    if type(counted) is ir.Name:
        counted = followed(counted, project.flow(site.file, site.site.function).before(counted.at))
    if type(counted) is ir.Constant:
        return f"{counted.value} devices" if type(counted.value) is int and counted.value > 1 else ""
    is_count = (
        type(counted) is ir.Call and project.modules.dotted(counted.func, site.file) in context.parameters["counts"]
    )
    return "all devices of the node" if is_count and not _hides_devices(context, site.file) else ""


def _hides_devices(context: CheckContext, file: str) -> bool:
    """Whether the program or one of its launches says which devices a process sees."""
    project: Project = context.project
    names = set(context.parameters["variables"])
    launches = [run.launch for run in project.runs_reaching(file) if run.launch is not None]
    if any(name in launch.environment for launch in launches for name in names):
        return True
    return any(name in project.text_of(one) for one in family(project, file) for name in names)


# Tensors on the CPU in groups of devices ------------------------------------------------------------------------------


def _off_device(context: CheckContext) -> Iterator[Finding]:
    """``collectives`` maps functions to the argument that is a tensor; ``groups`` are the functions that join the group."""
    project: Project = context.project
    parameters = context.parameters
    joins = list(project.calls_to(set(parameters["groups"])))
    if not joins:
        return
    for site in project.calls_to(set(parameters["collectives"])):
        name, position = parameters["collectives"][site.name]
        given, _ = find_argument(site.site.call, name, position)
        group = {word.name for word in site.site.call.keywords} & {"group", "process_group", None}
        if given is None or group:
            continue
        made = made_on_cpu(context, given, site)
        if made is None or asks_for_devices(project, site) or any(asks_for_devices(project, one) for one in made.calls):
            continue
        joined = [one for one in joins if one.file in family(project, site.file)]
        backend = only_for_devices(context, joined)
        if backend and not _has_default_device(context, site.file):
            yield context.finding(
                f"a tensor on the CPU is given to `{site.name.rpartition('.')[2]}` in a group of the backend `{backend}`",
                ir.unpack(given.at, site.file),
                related=[
                    Related(ir.unpack(made.expr.at, made.file), "it is made here, on the CPU"),
                    *(
                        Related(ir.unpack(one.site.call.at, one.file), "this way it comes there")
                        for one in made.calls[:1]
                    ),
                    Related(joined[0].span, "the group works on tensors of devices only"),
                ],
            )


def asks_for_devices(project: Project, site: CallSite | Caller) -> bool:
    """Whether a test on the way to a call is about devices or the backend."""
    guards = guards_of(body_of(project, site.file, site.site.function), site.site.call.at) or ()
    parts = [part for guard in guards if guard.test is not None for part in below(guard.test)]
    return any(word in _ends(part).lower() for part in parts for word in ("cuda", "cpu", "gpu", "device", "backend"))


def only_for_devices(context: CheckContext, joins: list[CallSite]) -> str:
    """The backend that these calls may choose and that takes no tensors of the CPU; an empty text where one of them has none.

    Of several calls in one function a test chooses one.
    """
    project: Project = context.project
    found: dict[tuple[str, int], str] = {}
    for site in joins:
        given, certain = find_argument(site.site.call, "backend", 0)
        if given is None or not certain:
            return ""
        value = project.evaluator(None).value(given, site.file, site.site.function)
        options = value.options if not value.is_absent else ()
        if len(options) > 1 and not uses_devices(project, site.file):
            return ""
        plain = all(isinstance(one, str) for one in options)
        chosen = next((one for one in options if _refuses_cpu(context, one)), "") if plain else ""
        key = (site.file, site.site.function)
        found[key] = chosen or found.get(key, "")
    backends = set(found.values())
    if len(joins) > len(found) and not uses_devices(project, joins[0].file):
        return ""
    return backends.pop() if len(backends) == 1 else ""


def uses_devices(project: Project, file: str) -> bool:
    """Whether a program moves anything to a device, or names one: whoever only lets the backend depend on one may never use it."""
    files = family(project, file)
    moves = any(site.file in files for name in _MOVING for site in project.sites(name))
    return moves or any(_NAMED.search(project.text_of(one)) is not None for one in files)


def _refuses_cpu(context: CheckContext, backend: str) -> bool:
    kinds = [part.partition(":")[0] for part in backend.split(",")] if ":" in backend else []
    return backend in context.parameters["backends"] or (bool(kinds) and "cpu" not in kinds)


def _has_default_device(context: CheckContext, file: str) -> bool:
    project: Project = context.project
    files = family(project, file)
    setters = context.parameters["defaults"]
    if any(site.file in files for site in project.calls_to(set(setters))):
        return True
    return any(
        type(statement) is ir.With
        and any(
            type(item) is ir.Name or (type(item) is ir.Call and _ends(item.func) == "device")
            for item, _ in statement.items
        )
        for one in sorted(files)
        if one in project.facts
        for function in range(-1, len(project.module(one).functions))
        for statement in statements(body_of(project, one, function))
    )


def _ends(func: ir.Expr) -> str:
    return func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""


# Copies that nobody keeps ---------------------------------------------------------------------------------------------


def _dropped(context: CheckContext) -> Iterator[Finding]:
    """``methods`` give a copy and leave the tensor as it is; ``makers`` make tensors, and so do the items of ``loaders``."""
    project: Project = context.project
    methods = context.parameters["methods"]
    for file in project.python_files:
        module = project.module(file)
        sites = [site for name in methods for site in module.calls.get(name, ())]
        for function in sorted({site.function for site in sites}):
            for statement in statements(body_of(project, file, function)):
                if type(statement) is not ir.Evaluate or type(statement.value) is not ir.Call:
                    continue
                call = statement.value
                if type(call.func) is not ir.Attribute or call.func.name not in methods or _goes_to_cpu(call):
                    continue
                source = _tensor(context, call.func.base, file, function)
                if source is not None:
                    yield context.finding(
                        f"what `.{call.func.name}()` gives is thrown away, and the tensor stays where and what it was",
                        ir.unpack(call.at, file),
                        related=[Related(ir.unpack(source, file), "the tensor comes from here")],
                    )


def _goes_to_cpu(call: ir.Call) -> bool:
    """Whether a call only asks for the CPU, where the tensor may be already."""
    return len(call.args) == 1 and type(call.args[0]) is ir.Constant and call.args[0].value == "cpu"


def _tensor(context: CheckContext, base: ir.Expr, file: str, function: int) -> ir.Position | None:
    """Where the tensor comes from that an expression certainly is."""
    if type(base) is not ir.Name:
        return None
    project: Project = context.project
    options = options_of(project.evaluator(None).ask(base, file, function))
    makers = context.parameters["makers"]
    made = [one for one in options if isinstance(one, Instance) and not one.part]
    if made and len(made) == len(options):
        names = {project.evaluator(None).instance_name(one).removesuffix("()") for one in made}
        return made[0].call.at if names <= set(makers) and made[0].frame.file == file else None
    if not all(isinstance(one, Leaf | Instance) for one in options):
        return None
    return _item_of_loader(context, base, file, function)


def _item_of_loader(context: CheckContext, base: ir.Name, file: str, function: int) -> ir.Position | None:
    """The loop over a loader in which a variable is one of several parts of a batch, and nothing else up to a place."""
    project: Project = context.project
    names = loader_classes(project, context.parameters["loaders"])
    found: ir.For | None = None
    for statement in statements(body_of(project, file, function)):
        if type(statement) is ir.For and ir.encloses(statement.at, base.at) and _is_part(statement, base.id):
            found = statement
    if found is None:
        return None
    for statement in statements(found.body):
        targets = statement.targets if type(statement) is ir.Assign else ()
        if any(type(part) is ir.Name and part.id == base.id for target in targets for part in below(target)):
            return None
    loaders = loaders_in(project, found.iterable, file, function, names)
    parts = [part for part in handed_on(found.iterable) if type(part) is not ir.Call]
    collated = any(word.name in ("collate_fn", None) for loader in loaders for word in loader.call.keywords)
    return found.at if loaders and len(parts) <= 1 and not collated else None


def _is_part(loop: ir.For, name: str) -> bool:
    """Whether a loop's target takes batches apart, and a variable is one of the parts."""
    target = loop.target
    counted = type(loop.iterable) is ir.Call and _ends(loop.iterable.func) == "enumerate"
    if counted:
        if type(target) is not ir.ListDisplay or len(target.items) != 2:
            return False
        target = target.items[1]
    return type(target) is ir.ListDisplay and any(type(item) is ir.Name and item.id == name for item in target.items)


# Copies of a model that nothing keeps equal ---------------------------------------------------------------------------


def _unsynchronised(context: CheckContext) -> Iterator[Finding]:
    """``wrappers`` spread a model over the devices of one process; ``synchronisers`` are names of what would keep copies equal."""
    project: Project = context.project
    parameters = context.parameters
    joins = list(project.calls_to(set(parameters["groups"])))
    for site in project.calls_to(set(parameters["wrappers"])) if joins else ():
        files = family(project, site.file)
        joined = [one for one in joins if one.file in files]
        if not joined or not _is_plain(project, site, parameters["counts"]):
            continue
        if not any(_is_plain(project, one, ()) for one in joined):
            continue
        modules = [project.module(one) for one in files if one in project.facts]
        words = set(parameters["synchronisers"])
        if not any("backward" in module.calls for module in modules):
            continue
        if any(words & {*module.calls, *module.attributes} for module in modules):
            continue
        if any({item.name, item.module.split(".")[0]} & words for module in modules for item in module.imports):
            continue
        yield context.finding(
            "each process trains its own copy of the model: this wrapper averages nothing over the processes",
            site.span,
            related=[Related(joined[0].span, "the processes of the job meet here")],
        )


def _is_plain(project: Project, site: CallSite, counts: object) -> bool:
    """Whether nothing chooses between a call and something else, but a count of devices."""
    guards = guards_of(body_of(project, site.file, site.site.function), site.site.call.at)
    for guard in guards or ():
        if guard.test is None or not guard.holds:
            return False
        if asks_for_main(guard.test):
            continue
        calls = [part for part in below(guard.test) if type(part) is ir.Call]
        names = {project.modules.dotted(call.func, site.file) for call in calls}
        if not isinstance(counts, list) or not calls or not names <= set(counts):
            return False
    return guards is not None


_FAULTS: dict[str, Callable[[CheckContext], Iterator[Finding]]] = {
    "many": _many,
    "off-device": _off_device,
    "dropped": _dropped,
    "unsynchronised": _unsynchronised,
}
