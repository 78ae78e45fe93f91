"""Loaders of a library's trainer that is told to leave the samplers alone: whether the program parts their data itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distlint.checks.derivations import derivation, derivation_without_rank
from distlint.checks.execution import body_of
from distlint.checks.loaders import argument_of, is_none, made_at
from distlint.checks.partial_samplers import draws_own, is_of_no_rank
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext
from distlint.checks.sampler_ranks import is_of_one_process
from distlint.link.abstract import Instance
from distlint.link.modules import ClassRef, External
from distlint.link.project import CallSite, Project
from distlint.link.walking import last_name, statements
from distlint.model import python as ir

_EVALUATING = re.compile(r"(?:^|_)(?:eval|valid|val|test|dev|infer|predict)", re.IGNORECASE)


def unparted(context: CheckContext, files: list[str]) -> Iterator[CallSite]:
    """The loaders of some files that train on data that nothing parts; none where one may be parted."""
    project: Project = context.project
    found = []
    for site in project.calls_to(set(context.parameters["loaders"])):
        if site.file not in files or evaluates(project, site):
            continue
        if _may_be_parted(context, site):
            return
        found.append(site)
    yield from found


def evaluates(project: Project, site: CallSite) -> bool:
    """Whether a loader is, by its names, one to evaluate with."""
    function = project.module(site.file).functions[site.site.function] if site.site.function >= 0 else None
    if function is not None and _EVALUATING.search(function.name) and "train" not in function.name:
        return True
    for statement in statements(body_of(project, site.file, site.site.function)):
        if type(statement) is ir.Assign and statement.value is not None and statement.value.at == site.site.call.at:
            return any(_EVALUATING.search(last_name(target)) for target in statement.targets)
    return False


def _may_be_parted(context: CheckContext, site: CallSite) -> bool:
    project: Project = context.project
    parameters = context.parameters
    call = site.site.call
    if any(type(one) is ir.Starred for one in call.args) or any(word.name is None for word in call.keywords):
        return True
    loader = made_at(project, site)
    for name in ("sampler", "batch_sampler"):
        _, options, known = argument_of(project, loader, name, parameters["signature"])
        if not known or not all(is_none(one) or _is_plain(context, one) for one in options):
            return True
    expr, options, _ = argument_of(project, loader, "dataset", parameters["signature"])
    if expr is None or derivation(project, expr, site.file, site.site.function).mentions_rank():
        return True
    streams = set(parameters["streams"])
    return any(
        isinstance(one, Instance)
        and isinstance(one.callee, ClassRef)
        and bool(set(project.modules.external_bases(one.callee)) & streams)
        for one in options
    )


def _is_plain(context: CheckContext, value: object) -> bool:
    """Whether a sampler is one that knows nothing of ranks."""
    if not isinstance(value, Instance):
        return False
    plain = context.parameters["samplers"]
    if isinstance(value.callee, ClassRef):
        bases = context.project.modules.external_bases(value.callee)
        fits = bool(bases) and set(bases) <= {*plain, *context.parameters["sampler-bases"]}
        return fits and (
            derivation_without_rank(context.project, value) is not None or is_of_one_process(context.project, value)
        )
    if not isinstance(value.callee, External) or value.callee.name not in plain:
        return False
    drawing, files = context.parameters["drawing"], family(context.project, value.frame.file)
    return is_of_no_rank(context.project, value, drawing) and not draws_own(
        context.project, value, drawing, files, context.parameters["seeds"]
    )
