"""Devices that a program certainly uses although it falls back to the CPU where there is none.

Parameters: ``groups`` (calls that start the process group), ``needing`` (a backend that needs devices), ``asks`` (calls that tell
whether there are devices), ``choosing`` (functions that choose or ask for a device, by dotted name), ``moving`` (methods that
move an object to a device), ``places`` (arguments that say where something goes, by name), ``prefix`` (how devices are
called), ``told`` (names that have to do with devices: what is chosen by them knows of the fallback).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from distlint.checks.derivations import derivation
from distlint.checks.device_fallback import fallback_of, only_value, refuses, words_of
from distlint.checks.execution import body_of, handles_errors_around
from distlint.checks.programs import family
from distlint.checks.rank_ways import Test, ways_to
from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite
from distlint.link.walking import asks_for_main
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.project import Project

MAX_FILES = 16
"""Files of a program that is looked at: in a large one the fallback may belong to other uses of it."""

_MODE = re.compile(
    r"cuda|gpu|device|accelerator|gloo|distrib|world|nprocs|ddp|multi|parallel|launch|initialized|amp|fp16|bf16|half|precision|compile|nccl|backend|fused|platform",
    re.IGNORECASE,
)
"""Words of tests about devices, or behind which a program may know that there are devices, or where it runs with one process as well."""


@check("device-needs")
def device_needs(context: CheckContext) -> Iterator[Finding]:
    """A finding for each call that needs a device and is made wherever the program runs."""
    project: Project = context.project
    fallbacks: dict[frozenset[str], Related | None] = {}
    joins = list(project.calls_to(set(context.parameters["groups"])))
    if not joins or not any(True for _ in project.calls_to(set(context.parameters["asks"]))):
        return
    programs = _small_programs(project, {join.file for join in joins})
    seen: set[tuple[str, int]] = set()
    for site, words, named in (*_of_groups(context, joins, programs), *_of_devices(context, programs)):
        files = programs[site.file]
        if files not in fallbacks:
            fallbacks[files] = None if refuses(project, sorted(files)) else fallback_of(context, sorted(files))
        fallback = fallbacks[files]
        key = (site.file, site.site.call.at)
        if fallback is None or key in seen or not _is_reached(project, site):
            continue
        seen.add(key)
        yield context.finding(
            f"{words}, and the program falls back to the CPU where there is none", site.span, related=[*named, fallback]
        )


def _small_programs(project: Project, joining: Collection[str]) -> dict[str, frozenset[str]]:
    """By their files the programs that are looked at: not too large, with a call that starts a process group."""
    found: dict[str, frozenset[str]] = {}
    for file in project.python_files:
        read = (one for one in family(project, file) if one in project.facts and project.module(one))
        files = frozenset(islice(read, MAX_FILES + 1))
        if len(files) <= MAX_FILES and not files.isdisjoint(joining):
            found[file] = files
    return found


def _of_groups(
    context: CheckContext, joins: list[CallSite], programs: Collection[str]
) -> Iterator[tuple[CallSite, str, list[Related]]]:
    """The calls that start a process group for devices, whatever devices there are."""
    project: Project = context.project
    needing = context.parameters["needing"]
    told = re.compile("|".join(context.parameters["told"]), re.IGNORECASE)
    for site in joins:
        given, _ = find_argument(site.site.call, "backend", 0)
        if given is None or site.file not in programs:
            continue
        value = project.evaluator(None).value(given, site.file, site.site.function)
        made = derivation(project, given, site.file, site.site.function)
        constants = {one.expr.value for one in made.parts if type(one.expr) is ir.Constant}
        if not (value.is_known and value.only == needing) and needing not in constants:
            continue
        if made.whole and not any(told.search(name) for name in made.names()):
            names = [one for one in made.parts if type(one.expr) is ir.Constant and one.expr.value == needing]
            spans = {ir.unpack(one.expr.at, one.file) for one in names} - {ir.unpack(given.at, site.file)}
            named = [
                Related(span, "the backend is named here, whatever devices there are") for span in sorted(spans)[:2]
            ]
            yield site, f"the backend is `{needing}`, which needs devices", named


def _of_devices(context: CheckContext, programs: Collection[str]) -> Iterator[tuple[CallSite, str, list[Related]]]:
    """The calls that choose a device, or put something on one."""
    project: Project = context.project
    for site in project.calls_to(set(context.parameters["choosing"])):
        if site.file not in programs:
            continue
        yield site, f"`{site.name.rpartition('.')[2]}` needs a device", []
    for name, needs_arguments in context.parameters["moving"].items():
        for site in project.sites(name):
            func = site.site.call.func
            if site.file not in programs or type(func) is not ir.Attribute or project.modules.dotted(func, site.file):
                continue
            if not needs_arguments or _names_device(context, _first(site.site.call), site):
                yield site, "this is put on a device", []
    for name in context.parameters["places"]:
        for site in _calls_with(project, name, programs):
            given, _ = find_argument(site.site.call, name, None)
            if given is not None and _names_device(context, given, site):
                yield site, f"`{name}` names a device", []


def _first(call: ir.Call) -> ir.Expr | None:
    return call.args[0] if call.args else next((one.value for one in call.keywords if one.name == "device"), None)


def _calls_with(project: Project, name: str, files: Collection[str]) -> Iterator[CallSite]:
    """The calls in some files that are given an argument by this name."""
    for file in project.python_files:
        if (
            file not in files
            or file not in project.facts
            or project.facts[file].module is None
            or name not in project.text_of(file)
        ):
            continue
        for sites in project.module(file).calls.values():
            for site in sites:
                if any(word.name == name for word in site.call.keywords):
                    yield CallSite(file, site)


def _names_device(context: CheckContext, given: ir.Expr | None, site: CallSite) -> bool:
    """Whether an expression certainly is the name of a device that is not the CPU."""
    if given is None:
        return False
    expr = only_value(body_of(context.project, site.file, site.site.function), given)
    if type(expr) is ir.Call and context.project.modules.dotted(expr.func, site.file) in context.parameters["makers"]:
        expr = expr.args[0] if expr.args else expr
    if type(expr) is ir.Formatted and expr.parts:
        expr = expr.parts[0]
    if type(expr) is ir.DictDisplay:
        # a map of places: what was on the CPU goes to a device too
        return any(
            type(key) is ir.Constant and key.value == "cpu" and _names_device(context, value, site)
            for key, value in zip(expr.keys, expr.values, strict=True)
        )
    prefix = context.parameters["prefix"]
    if type(expr) is ir.Constant:
        return type(expr.value) is str and expr.value.startswith(prefix)
    value = context.project.evaluator(None).value(expr, site.file, site.site.function)
    return value.is_known and isinstance(value.only, str) and value.only.startswith(prefix)


def _is_reached(project: Project, site: CallSite) -> bool:
    """Whether every process comes to a call, whatever devices there are."""
    if handles_errors_around(body_of(project, site.file, site.site.function), site.site.call.at):
        return False
    ways = list(ways_to(project, site.file, site.site.function, site.site.call.at))
    return bool(ways) and any(all(_passes(project, test) for test in way.tests) for way in ways)


def _passes(project: Project, test: Test) -> bool:
    """Whether a test asks neither for devices nor for a mode in which they may be there for certain."""
    expr = test.guard.test
    if expr is None:
        return False
    if asks_for_main(expr):
        return True
    words = [*words_of(expr)]
    if type(expr) is ir.Name or type(expr) is ir.Attribute:
        # a flag: what it is set to
        words += derivation(project, expr, test.file, test.function).names()
    return not any(_MODE.search(word) for word in words)
