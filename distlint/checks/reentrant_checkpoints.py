"""Layers that are computed again in a backward pass of their own, under a wrapper that searches the graph for unused parameters.

The search takes the parameters of such layers for unused, so that they are ready twice. Parameters: ``subject`` with ``search`` (the
argument that switches the search on), ``switches`` (those that switch the recomputation on; the first that is given counts), ``options``
(those with its options), ``key`` (the option for a backward pass of their own), ``default`` (package and specifier for which that is so
without options), ``others`` (arguments by which the model is wrapped otherwise), ``launched`` (options of launchers that do so), ``files``
(the kind of subject, the setting and the values of a launcher's file that does not), ``freezing`` and ``stopping`` (what programs that
train a part of the model only use, see ``frozen_parts``). For programs that wrap models themselves: ``enabling`` (methods of models),
``wrappers`` and ``handlers`` (calls that say how to wrap) with ``asking`` and ``unless`` (their arguments that switch the search on, and
off again), ``handed`` (the argument by which the object that prepares a model gets handlers) and ``prepare``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from distlint.checks.execution import body_of
from distlint.checks.frozen_parts import Stops, trains_all
from distlint.checks.preparing import Preparations
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.arithmetic import truth
from distlint.link.project import CallSite, Project
from distlint.link.walking import asks_for_main, below, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.launch import Run
from distlint.model.span import Span
from distlint.model.subject import Setting, Subject, Versions
from distlint.model.value import Confidence

_MESSAGE = "the search for unused parameters is switched on together with reentrant checkpoints, whose parameters it takes for unused"


@check("reentrant-checkpoints")
def reentrant_checkpoints(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such pair of settings."""
    seen: set[Span] = set()
    for finding in (*_of_arguments(context), *_of_programs(context)):
        if finding.span not in seen:
            seen.add(finding.span)
            yield finding


# Arguments of a trainer ---------------------------------------------------------------------------------------------------


def _of_arguments(context: CheckContext) -> Iterator[Finding]:
    parameters = context.parameters
    for subject in context.subjects(parameters["subject"]):
        search = subject.settings.get(parameters["search"])
        switch = first_given(subject, parameters["switches"])
        if search is None or switch is None or not is_on(search) or not is_on(switch):
            continue
        options = first_given(subject, parameters["options"])
        told = _told(context, options.value.only if options is not None else None, subject.versions)
        known = options is None or (options.certain and options.value.is_known)
        if not told or not known or subject.open_blocks or wraps_otherwise(context, subject):
            continue
        run = subject.run
        whole = _trains_all(context, run.script_file if run is not None else subject.span.file, run)
        if whole is None:
            continue
        place = options if options is not None else switch
        # what no launch is known to say is what the program does when it is started as it stands
        sure = min(search.value.confidence, switch.value.confidence, whole)
        yield context.finding(
            _message(sure),
            search.key_span,
            related=[
                Related(switch.key_span, "the layers are computed again in the backward pass"),
                Related(place.key_span, "each in a backward pass of its own (reentrant)"),
            ],
            confidence=max(sure, Confidence.LIKELY),
            symbol=parameters["search"],
        )


def _message(sure: Confidence) -> str:
    return f"{_MESSAGE} (with the defaults of the options)" if sure is Confidence.POSSIBLE else _MESSAGE


def first_given(subject: Subject, names: list[str]) -> Setting | None:
    """The first of some arguments that is given and not ``None``."""
    given = (subject.settings.get(name) for name in names)
    return next((one for one in given if one is not None and not (one.value.is_known and one.value.only is None)), None)


def is_on(setting: Setting) -> bool:
    """Whether a setting is certainly true."""
    return setting.certain and setting.value.is_known and setting.value.only is True


def _told(context: CheckContext, options: Any, versions: Versions) -> bool:
    """Whether the options of the recomputation ask for backward passes of their own, or leave it at that."""
    if options is None:
        package, specifier = context.parameters["default"]
        return versions.test(package, specifier) is True
    # the function itself goes by what it always did where it is not told
    return isinstance(options, Mapping) and options.get(context.parameters["key"], True) is True


def wraps_otherwise(context: CheckContext, subject: Subject) -> bool:
    """Whether the model may be wrapped in another way, or not at all."""
    for name in context.parameters["others"]:
        setting = subject.settings.get(name)
        if setting is not None and not (setting.value.is_known and setting.value.only in (None, False, "", [])):
            return True
    run = subject.run
    if run is None:
        return False
    if run.world_size.is_known and run.world_size.only == 1:
        return True
    launch = run.launch
    if launch is None:
        return False
    if any(name in launch.options for name in context.parameters["launched"]):
        return True
    if "config" not in launch.options:
        return False
    kind, name, plain = context.parameters["files"]
    files = [one for one in context.subjects(kind) if one.run is not None and one.run.launch is launch]
    settings = [one.settings.get(name) for one in files]
    return not settings or any(one is None or one.value.only not in plain for one in settings)


def _trains_all(context: CheckContext, file: str, run: Run | None) -> Confidence | None:
    """How sure it is that a program trains the whole model with the arguments that it was given; ``None`` where it may not."""
    project: Project = context.project
    parameters = context.parameters
    names = {parameters["search"], *parameters["switches"], *parameters["options"]}
    files = [one for one in sorted(family(project, file)) if one in project.python_files]
    if any(_stores(project, one, names) for one in files):
        return None
    stops = Stops(frozenset(parameters["freezing"]), frozenset(parameters["stopping"]))
    return trains_all(project, project.evaluator(run), files, stops)


def _stores(project: Project, file: str, names: set[str]) -> bool:
    """Whether a file sets an attribute of one of some names: the arguments are others then than those that were given."""
    if not project.module(file).attributes & names:
        return False
    return any(
        type(target) is ir.Attribute and target.name in names
        for function in range(-1, len(project.module(file).functions))
        for statement in statements(body_of(project, file, function))
        if type(statement) is ir.Assign
        for target in statement.targets
    )


# Programs that wrap the model themselves ----------------------------------------------------------------------------------


def _of_programs(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    for name in context.parameters["enabling"]:
        for site in project.sites(name):
            func = site.site.call.func
            if type(func) is not ir.Attribute or not _is_reentrant(context, site):
                continue
            whole = _trains_all(context, site.file, None)
            if whole is None:
                continue
            options = options_of(project.evaluator(None).ask(func.base, site.file, site.site.function))
            only = options[0] if len(options) == 1 else None
            if not isinstance(only, Instance) or not _always(project, site):
                continue
            for at, file in (*_wrapped(context, only), *_prepared(context, only)):
                yield context.finding(
                    _message(whole),
                    ir.unpack(at, file),
                    related=[Related(site.span, "the layers are computed again, each in a backward pass of its own")],
                    symbol=name,
                )


def _is_reentrant(context: CheckContext, site: CallSite) -> bool:
    given, certain = find_argument(site.site.call, context.parameters["options"][-1], 0)
    if given is None:
        given, certain = find_argument(site.site.call, context.parameters["options"][0], 0)
    versions = context.project.environments.for_file(site.file)
    if given is None:
        return certain and _told(context, None, versions)
    value = context.project.evaluator(None).value(given, site.file, site.site.function)
    return value.is_known and _told(context, value.only, versions)


def _always(project: Project, site: CallSite) -> bool:
    """Whether no test in its function keeps a call from being made."""
    guards = guards_of(body_of(project, site.file, site.site.function), site.site.call.at)
    evaluator = project.evaluator(None)
    return guards is not None and all(
        guard.test is not None
        and (
            asks_for_main(guard.test) or truth(evaluator.ask(guard.test, site.file, site.site.function)) is guard.holds
        )
        for guard in guards
    )


def _searches(context: CheckContext, call: ir.Call, file: str, function: int) -> ir.Expr | None:
    """The argument by which a call asks for the search alone."""
    evaluator = context.project.evaluator(None)
    given, _ = find_argument(call, context.parameters["asking"], None)
    static, certain = find_argument(call, context.parameters["unless"], None)
    if given is None or static is not None or not certain:
        return None
    return given if evaluator.value(given, file, function).only is True else None


def _wrapped(context: CheckContext, model: Instance) -> Iterator[tuple[ir.Position, str]]:
    """Where a model is wrapped with the search."""
    project: Project = context.project
    for site in project.calls_to(set(context.parameters["wrappers"])):
        call, file, function = site.site.call, site.file, site.site.function
        given, _ = find_argument(call, "module", 0)
        asked = _searches(context, call, file, function)
        if given is not None and asked is not None and _is(project, given, file, function, model):
            yield asked.at, file


def _prepared(context: CheckContext, model: Instance) -> Iterator[tuple[ir.Position, str]]:
    """Where an object that a model is handed to is told to wrap it with the search."""
    found = Preparations.of_context(context)
    handed = found.handed_as(model)
    func = handed.found.site.call.func if handed is not None else None
    if handed is None or type(func) is not ir.Attribute:
        return
    for holder in found.objects(func.base, handed.found.file, handed.found.site.function):
        given, _ = find_argument(holder.call, context.parameters["handed"], None)
        for part in below(given) if given is not None else ():
            for one in options_of(found.things.evaluator.evaluate(part, holder.frame, holder.state)):
                if isinstance(one, Instance) and found.things.made_by(one) in context.parameters["handlers"]:
                    asked = _searches(context, one.call, one.frame.file, one.frame.function)
                    if asked is not None and not one.part:
                        yield asked.at, one.frame.file


def _is(project: Project, expr: ir.Expr, file: str, function: int, model: Instance) -> bool:
    options = options_of(project.evaluator(None).ask(expr, file, function))
    return len(options) == 1 and isinstance(options[0], Instance) and options[0].identity == model.identity
