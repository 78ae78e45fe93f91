"""An optimizer that has all parameters of a model in one group, where the framework wants some of them apart.

Parameters: ``layers`` (library classes whose parameters have to stand apart), ``splitters`` (library functions that part them),
``maker`` (the call that takes the optimizer, as ``optimizer`` at ``position``), ``subject`` and ``when`` (the configurations with
which it matters), ``message``.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.registry import CheckContext, check
from distlint.judge.conditions import compile_condition
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.project import CallSite, Project
from distlint.model import python as ir
from distlint.model.finding import Finding, Related


@check("unsplit-parameters")
def unsplit_parameters(context: CheckContext) -> Iterator[Finding]:
    """A finding for each optimizer that is made with ``model.parameters()`` as it is, in a program with such layers."""
    project: Project = context.project
    layers = list(project.calls_to(set(context.parameters["layers"])))
    if not layers:
        return
    parted = {found.file for found in project.calls_to(set(context.parameters["splitters"]))}
    condition = compile_condition(context.parameters["when"])
    for found in project.calls_to({context.parameters["maker"]}):
        subjects = [one for one in context.subjects(context.parameters["subject"]) if _is_of(one.extra, found)]
        verdicts = [condition.judge(one) for one in subjects]
        if not verdicts or not all(verdict.holds for verdict in verdicts):
            continue
        closure = project.closure(found.file)
        scripts = [project.closure(run.script_file) for run in project.runs_reaching(found.file)]
        files = closure.union(*scripts)
        layer = next((one for one in layers if one.file in closure), None)
        optimizer = _optimizer(context, found)
        if layer is None or parted & files or optimizer is None or not _is_whole(optimizer):
            continue
        places = [Related(used.key_span, f"`{used.path}` is set here") for used in verdicts[0].used if used.key_span]
        yield context.finding(
            context.parameters["message"],
            optimizer.span(),
            related=[Related(layer.span, "such a layer is made here"), *places],
            confidence=min(verdict.confidence for verdict in verdicts),
        )


def _is_of(extra: object, found: CallSite) -> bool:
    return isinstance(extra, dict) and extra.get("made-by") == found.span


def _optimizer(context: CheckContext, found: CallSite) -> Instance | None:
    """The one object that is handed over as the optimizer."""
    given, _ = find_argument(found.site.call, "optimizer", context.parameters["position"])
    if given is None:
        return None
    options = options_of(context.project.evaluator(None).ask(given, found.file, found.site.function))
    return options[0] if len(options) == 1 and isinstance(options[0], Instance) else None


def _is_whole(optimizer: Instance) -> bool:
    """Whether an optimizer is made with ``model.parameters()`` in its call."""
    given, _ = find_argument(optimizer.call, "params", 0)
    return (
        type(given) is ir.Call
        and type(given.func) is ir.Attribute
        and given.func.name == "parameters"
        and optimizer.part == ()
    )
