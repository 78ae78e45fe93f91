"""Collectives that work on the current device of a process, in programs that give each process a device of its own and never set it.

What is pickled is put on the device of the group's backend, without a number: on the current one, which is the first one for every
process until somebody sets another. Tensors that are put elsewhere by number change nothing of that.

Parameters: ``groups`` (calls that start the process group) and ``backends`` (those that work on devices only), as in ``device-uses``;
``calls`` (the collectives, with the arguments, by name and position, that say otherwise where they do it), ``bound`` (the argument of
``groups`` that ties the process to a device), ``setting`` (names of calls that set the current device, or may), ``contexts`` (functions
that do so for a while), ``variables`` (of the environment: which devices a process sees), ``plain`` (packages that leave the current
device alone), ``kind`` (how devices are called).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from distlint.checks.device_fallback import words_of
from distlint.checks.device_uses import asks_for_devices, only_for_devices
from distlint.checks.devices import chosen_by_launch
from distlint.checks.devices_by_rank import WRITTEN_STEPS, index_in_text, on_device
from distlint.checks.programs import family
from distlint.checks.rank_ways import ways_to
from distlint.checks.ranks import Process, RankView
from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.followed import followed
from distlint.link.project import CallSite, Project
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

SECOND = Process(1, 1, 8)
"""The second process of a node with several devices."""
MAX_SHOWN = 3
"""Further collectives of a program that a finding shows."""
_OTHER_BACKEND = re.compile(r"cpu|gloo|nccl|backend", re.IGNORECASE)
"""Words of tests behind which a program may go where its group has no devices."""


@check("current-device")
def current_device(context: CheckContext) -> Iterator[Finding]:
    """A finding for each program, at the first of its collectives that meets the others on one device."""
    project: Project = context.project
    joins = list(project.calls_to(set(context.parameters["groups"])))
    seen: set[str] = set()
    for join in joins:
        files = family(project, join.file)
        if join.file in seen or not _is_for_devices(context, [one for one in joins if one.file in files]):
            continue
        seen |= files
        sites = [site for site in _meeting(context) if site.file in files]
        if not sites or chosen_by_launch(context, join.file) or _has_one_each(project, join.file):
            continue
        if any(_may_set(context, file) for file in sorted(files)):
            continue
        own = _own_device(context, sorted(files))
        if own is None:
            continue
        name = sites[0].name.rpartition(".")[2]
        yield context.finding(
            f"`{name}` works on the current device, which is the first one on every rank: "
            "each rank has a device of its own here, but none sets it",
            sites[0].span,
            related=[
                Related(own, "this is a device of the rank's own, by its number"),
                Related(join.span, "the group works on devices, and each rank has to come with another one"),
                *(Related(one.span, "this works on the current device too") for one in sites[1 : 1 + MAX_SHOWN]),
            ],
            symbol=name,
        )


def _is_for_devices(context: CheckContext, joins: list[CallSite]) -> bool:
    """Whether a program's group is one of devices where it has such, and no process is bound to one of them."""
    for join in joins:
        given, certain = find_argument(join.site.call, context.parameters["bound"], None)
        if given is not None or not certain:
            return False
    return bool(only_for_devices(context, joins))


def _meeting(context: CheckContext) -> list[CallSite]:
    """The collectives of the project that use the current device of the group of all, in the order of the text."""
    project: Project = context.project
    calls = context.parameters["calls"]
    found = [site for site in project.calls_to(set(calls)) if _is_plain(context, site) and _is_reached(project, site)]
    return sorted(found, key=lambda site: (site.file, site.site.call.at))


def _is_plain(context: CheckContext, site: CallSite) -> bool:
    """Whether a call names no group and no device."""
    for name, position in context.parameters["calls"][site.name].items():
        given, certain = find_argument(site.site.call, name, None if position < 0 else position)
        if given is None and not certain:
            return False
        if given is not None and not (type(given) is ir.Constant and given.value is None):
            value = context.project.evaluator(None).value(given, site.file, site.site.function)
            if not value.is_known or value.only is not None:
                return False
    return True


def _is_reached(project: Project, site: CallSite) -> bool:
    """Whether a program comes to a call, whatever its group's backend is."""
    if asks_for_devices(project, site):
        return False
    for way in ways_to(project, site.file, site.site.function, site.site.call.at):
        tests = [test.guard.test for test in way.tests if test.guard.test is not None]
        if not any(_OTHER_BACKEND.search(word) for test in tests for word in words_of(test)):
            return True
    return False


def _may_set(context: CheckContext, file: str) -> bool:
    """Whether a file sets the current device, asks which backend there is, or leaves anything to a package that may do so."""
    project: Project = context.project
    parameters, module = context.parameters, project.module(file)
    names = set(parameters["setting"])
    if names & {*module.calls, *module.attributes, *(item.name for item in module.imports)}:
        return True
    quoted = [mark + name + mark for name in names for mark in "\"'"]
    if any(word in project.text_of(file) for word in (*parameters["variables"], *quoted)):
        return True
    if any(site.file == file for site in project.calls_to(set(parameters["contexts"]))):
        return True
    return any(not _is_known(context, item, file) for item in module.imports)


def _is_known(context: CheckContext, item: ir.Import, file: str) -> bool:
    """Whether what an import brings is the project's own, Python's, or of a package that leaves the current device alone."""
    top = item.module.partition(".")[0]
    if not item.level and (top in sys.stdlib_module_names or top in context.parameters["plain"]):
        return True
    modules = context.project.modules
    whole = f"{item.module}.{item.name}".strip(".")
    return any(modules.find(name, file, item.level) is not None for name in (whole, item.module) if name or item.level)


def _has_one_each(project: Project, file: str) -> bool:
    """Whether a launch of a program starts one process on each node."""
    launches = [run.launch for run in project.runs_reaching(file) if run.launch is not None]
    return any(launch.processes_per_node.only == 1 and launch.nodes.only != 1 for launch in launches)


def _own_device(context: CheckContext, files: list[str]) -> Span | None:
    """Where a program chooses a device for something that is the second one of a node on its second process."""
    project: Project = context.project
    view = RankView(project, SECOND, steps=WRITTEN_STEPS)
    kind = context.parameters["kind"]
    for file in files:
        for name, sites in project.module(file).calls.items():
            for site in sites:
                for given in _devices_given(name, site.call):
                    told = followed(given, project.flow(file, site.function).before(site.call.at))
                    index = index_in_text(on_device(told))
                    found = view.ask(given if index is None else index, file, site.function)
                    own = f"{kind}:{SECOND.local_rank}" if index is None else str(SECOND.local_rank)
                    if (type(found) is int and found == SECOND.local_rank) or found == own:
                        return ir.unpack(site.call.at, file)
    return None


def _devices_given(name: str, call: ir.Call) -> Iterator[ir.Expr]:
    """What a call is given as a device or its number."""
    given: list[ir.Expr] = list(call.args[:2] if name == "device" else call.args[:1] if name in ("to", "cuda") else ())
    for word in call.keywords:
        if word.name in ("device", "device_ids", "output_device") or (name == "device" and word.name == "index"):
            given.append(word.value)
    for one in map(on_device, given):
        item = one.items[0] if type(one) is ir.ListDisplay and len(one.items) == 1 else one
        if type(item) is not ir.Constant:
            yield item
