"""Gradients are read from the parameters of an engine that keeps them elsewhere.

Parameters: ``engine`` (what makes it, as ``pkg.function()[0]``), ``given-as`` (the argument through which it takes the model over,
with its position), ``subject`` and ``when`` (the configurations with which it keeps them elsewhere), ``readers`` (library functions that
get at them), ``mode-words`` (parts of names: a test that holds one may ask for the configuration), ``message``.
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.engines import configurations, handed_over, tests_name
from distlint.checks.execution import body_of
from distlint.checks.registry import CheckContext, check
from distlint.judge.conditions import compile_condition
from distlint.judge.view import View
from distlint.judge.wording import compile_template
from distlint.link.abstract import Instance, options_of
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

_ITERATORS = ("parameters", "named_parameters")


@check("gradients-read")
def gradients_read(context: CheckContext) -> Iterator[Finding]:
    """A finding for each loop over the parameters that reads ``parameter.grad``."""
    project: Project = context.project
    engine = context.parameters["engine"]
    condition = compile_condition(context.parameters["when"])
    message = compile_template(context.parameters["message"])
    readers = set(context.parameters["readers"])
    for found, made, read in _iterations(context, engine):
        if tests_name(project, found, context.parameters.get("mode-words", ())):
            continue
        if any(call.file == found.file for call in project.calls_to(readers)):
            continue
        subjects = configurations(context, made)
        verdicts = [condition.judge(one) for one in subjects]
        if not verdicts or not all(verdict.holds for verdict in verdicts):
            continue
        places = [Related(used.key_span, f"`{used.path}` is set here") for used in verdicts[0].used if used.key_span]
        yield context.finding(
            message.render(View.of(subjects[0])),
            ir.unpack(read.at, found.file),
            related=[Related(made.span(), "the engine is made here"), *places],
            confidence=verdicts[0].confidence,
            runs=(subjects[0].label,) if subjects[0].run is not None else (),
        )


def _iterations(context: CheckContext, engine: str) -> Iterator[tuple[CallSite, Instance, ir.Attribute]]:
    """The calls that give an engine's parameters, with what the engine was made by, and where a gradient of them is read."""
    project: Project = context.project
    evaluator = project.evaluator(None)
    for last in _ITERATORS:
        for found in project.sites(last):
            func = found.site.call.func
            read = _read(project, found) if type(func) is ir.Attribute else None
            if type(func) is not ir.Attribute or read is None:
                continue
            options = options_of(evaluator.ask(func.base, found.file, found.site.function))
            only = options[0] if len(options) == 1 else None
            if isinstance(only, Instance):
                name = project.modules.canonical(evaluator.instance_name(only))
                if name in (engine, f"{engine}.module"):
                    yield found, only, read
    argument, position = context.parameters["given-as"]
    for made, found in handed_over(project, {f"{engine}.{last}" for last in _ITERATORS}, argument, position):
        read = _read(project, found)
        if read is not None:
            yield found, made, read


def _read(project: Project, found: CallSite) -> ir.Attribute | None:
    """The first ``p.grad`` in the loop, or the comprehension, that goes over a call's result; what it is set to does not count."""
    for statement in statements(body_of(project, found.file, found.site.function)):
        if isinstance(statement, ir.For) and any(part is found.site.call for part in below(statement.iterable)):
            names = {part.id for part in below(statement.target) if isinstance(part, ir.Name)}
            return next((read for inner in statements(statement.body) for read in _reads(inner, names)), None)
        for expr in expressions_of(statement):
            for part in below(expr):
                if isinstance(part, ir.Comprehension):
                    for target, iterable, _ in part.generators:
                        if any(one is found.site.call for one in below(iterable)):
                            names = {one.id for one in below(target) if isinstance(one, ir.Name)}
                            return next(_grads(part.element, names), None)
    return None


def _reads(statement: ir.Stmt, names: set[str]) -> Iterator[ir.Attribute]:
    targets = statement.targets if isinstance(statement, ir.Assign) else ()
    for expr in expressions_of(statement):
        if not any(expr is target for target in targets):
            yield from _grads(expr, names)


def _grads(expr: ir.Expr, names: set[str]) -> Iterator[ir.Attribute]:
    for part in below(expr):
        if isinstance(part, ir.Attribute) and part.name == "grad":
            if isinstance(part.base, ir.Name) and part.base.id in names:
                yield part
