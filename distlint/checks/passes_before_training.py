"""A pass without gradients through a model that first has to be trained for a step.

Parameters: ``model`` (what it is, as ``pkg.Class().method()[0]``), ``trains`` (the method whose first call ends that), ``subject`` (the
calls that make it), ``when`` (the condition over them for it to matter).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.call_levels import Levels, Way
from distlint.checks.loaders import GRADIENTS_OFF, is_no_grad
from distlint.checks.registry import CheckContext, check
from distlint.frameworks.reaching import comes_to, open_tests
from distlint.judge.conditions import compile_condition
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import bodies_of, calls_in, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.launch import Run
from distlint.model.span import Span

MAX_DEPTH = 2
"""Functions that are called without gradients, one by the other, in which passes are looked for."""


@check("passes-before-training")
def passes_before_training(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such pass that a run certainly makes before it trains."""
    project: Project = context.project
    condition = compile_condition(context.parameters["when"])
    for subject in context.subjects(context.parameters["subject"]):
        made, run = subject.extra.get("made-by"), subject.run
        if not isinstance(made, Span) or run is None or not condition.judge(subject).holds:
            continue
        for found in _passes(project, run, context.parameters["model"], made):
            if _comes_first(project, run, found, context.parameters["trains"]):
                related = [Related(made, "made here")]
                yield context.finding(
                    "this pass comes before the first training step, and has no gradients", found.span, related=related
                )


def _passes(project: Project, run: Run, model: str, made: Span) -> Iterator[CallSite]:
    """The calls of the model in places where no gradients are kept."""
    evaluator = project.evaluator(run)
    seen: set[tuple[str, ir.Position]] = set()
    for file in sorted(project.closure(run.script_file)):
        for function, call in _without_gradients(project, file):
            if type(call.func) not in (ir.Name, ir.Attribute) or (file, call.at) in seen:
                continue
            for option in options_of(evaluator.ask(call.func, file, function)):
                if isinstance(option, Instance) and evaluator.instance_name(option) == model and option.span() == made:
                    seen.add((file, call.at))
                    yield CallSite(file, ir.Site(call, function))
                    break


def _without_gradients(project: Project, file: str) -> Iterator[tuple[int, ir.Call]]:
    """The calls of a file that stand under ``no_grad``, with their functions, and those of functions that are called there."""
    module = project.module(file)
    if not GRADIENTS_OFF & module.calls.keys() and not GRADIENTS_OFF & module.attributes:
        return
    entered: set[int] = set()
    waiting: list[tuple[int, tuple[ir.Stmt, ...], int]] = []
    for index, function in enumerate(module.functions):
        if any(is_no_grad(one) for one in function.decorators):
            waiting.append((index, function.body, 0))
    for index, body in bodies_of(module):
        for one in statements(body):
            if type(one) is ir.With and any(is_no_grad(entry) for entry, _ in one.items):
                waiting.append((index, one.body, 0))
    while waiting:
        index, body, depth = waiting.pop()
        for call in calls_in(body):
            yield index, call
            target = project.modules.resolve(call.func, file)
            if isinstance(target, FunctionRef) and target.file == file and depth < MAX_DEPTH:
                if target.index not in entered:
                    entered.add(target.index)
                    waiting.append((target.index, module.functions[target.index].body, depth + 1))


def _comes_first(project: Project, run: Run, found: CallSite, trains: str) -> bool:
    """Whether a pass is made whatever happens, and on some way to it before all that trains."""
    if not comes_to(project, found, run) or any(True for _ in open_tests(project, found, run)):
        return False
    levels = Levels.of_project(project)
    trained = [one for one in project.calls_to({trains}) if comes_to(project, one, run)]
    return any(all(_is_before(levels, way, one) for one in trained) for way in levels.ways(found))


def _is_before(levels: Levels, way: Way, other: CallSite) -> bool:
    """Whether the first pass on a way comes before a call: in the nearest function that leads to both, its place is the earlier one."""
    beside = list(levels.beside(way, other))
    return bool(beside) and all(way[own].at >> 44 < ways[number].at >> 44 for own, ways, number in beside)
