"""An attribute or method of a program's own model, asked of the wrapper that ``prepare`` put around it.

Parameters: ``prepare`` (see ``preparing``), ``modules`` and ``layers`` (what a model is), ``shared`` (attributes that the wrapper has
itself), ``library`` (for library models, by class: attributes that the wrapper lacks), ``passing`` (words in the text of a program with
which other wrappers may be in use, that hand attributes on).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.execution import body_of, handles_errors_around
from distlint.checks.preparing import Preparations, is_module, is_thrown_away, texts_of
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import ClassRef
from distlint.link.project import Project
from distlint.link.walking import Guard, below, expressions_of, guards_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

_ASKING = frozenset({"hasattr", "isinstance", "type", "getattr"})
_COUNTS = frozenset({"num_processes", "distributed_type", "use_distributed", "world_size", "get_world_size"})


@check("wrapped-attribute")
def wrapped_attribute(context: CheckContext) -> Iterator[Finding]:
    """A finding for each mention of an attribute that the model has and its wrapper has not."""
    project: Project = context.project
    found = Preparations.of_context(context)
    models = [
        (one, names)
        for one in found.handed
        if one.instance is not None
        and not is_thrown_away(project, one.found)
        and (names := names_of_model(context, one.instance)) is not None
    ]
    if not models:
        return
    wanted = frozenset[str]().union(*(names for _, names in models))
    files = frozenset[str]().union(*(family(project, one.found.file) for one, _ in models))
    if any(word in project.text_of(file) for word in context.parameters["passing"] for file in sorted(files)):
        return
    for file in sorted(files & set(project.python_files)):
        if wanted & project.module(file).attributes:
            yield from _in_file(context, found, file, wanted)


def names_of_model(context: CheckContext, model: Instance) -> frozenset[str] | None:
    """The attributes that a model has and a wrapper around it has not; ``None`` for what is no model."""
    project: Project = context.project
    name = project.evaluator(None).instance_name(model).removesuffix("()")
    if name in context.parameters["library"] and not isinstance(model.callee, ClassRef):
        return frozenset(context.parameters["library"][name])
    if not isinstance(model.callee, ClassRef):
        return None
    if not is_module(project, model, context.parameters["modules"], context.parameters["layers"]):
        return None
    names: set[str] = set()
    for one in project.modules.ancestry(model.callee):
        names.update(project.attribute_stores(one))
        names.update(f.name for f in project.module(one.file).functions if f.owner == one.index)
    for base, more in context.parameters["library"].items():
        if base in project.modules.external_bases(model.callee):
            names.update(more)
    return frozenset(one for one in names if not one.startswith("__")) - set(context.parameters["shared"])


def _in_file(context: CheckContext, found: Preparations, file: str, wanted: frozenset[str]) -> Iterator[Finding]:
    project: Project = context.project
    reported: set[tuple[int, str]] = set()
    for function in range(-1, len(project.module(file).functions)):
        body = body_of(project, file, function)
        for statement in statements(body):
            stored = _targets(statement)
            for expr in expressions_of(statement):
                for part in below(expr):
                    if type(part) is not ir.Attribute or part.name not in wanted or part in stored:
                        continue
                    if type(part.base) not in (ir.Name, ir.Attribute) or texts_of(part.base) in ("self", "cls", ""):
                        continue
                    finding = _judged(context, found, file, function, body, part)
                    if finding is not None and (function, part.name) not in reported:
                        reported.add((function, part.name))
                        yield finding


def _targets(statement: ir.Stmt) -> list[ir.Expr]:
    return list(statement.targets) if isinstance(statement, ir.Assign) else []


def _judged(
    context: CheckContext,
    found: Preparations,
    file: str,
    function: int,
    body: tuple[ir.Stmt, ...],
    part: ir.Attribute,
) -> Finding | None:
    options = options_of(found.things.evaluator.ask(part.base, file, function))
    wrappers = [one for one in options if isinstance(one, Instance) and found.is_prepared(one)]
    if not wrappers or len(wrappers) != len(options):
        return None
    handed = [found.given_for(one) for one in wrappers]
    for one in handed:
        names = names_of_model(context, one.instance) if one is not None and one.instance is not None else None
        if names is None or part.name not in names:
            return None
    if handles_errors_around(body, part.at) or any(asks_for_wrapper(guard) for guard in guards_of(body, part.at) or ()):
        return None
    first = handed[0]
    assert first is not None  # noqa: S101 - tested in the loop
    assert first.instance is not None  # noqa: S101 - the same
    return context.finding(
        f"`{texts_of(part.base)}` is the prepared model: with several processes its wrapper has no attribute `{part.name}`",
        ir.unpack(part.at, file),
        related=[
            Related(first.found.span, "this puts the model into a wrapper"),
            Related(first.instance.span(), "the model, which has the attribute, is made here"),
        ],
        symbol=part.name,
    )


def asks_for_wrapper(guard: Guard) -> bool:
    """Whether a test may ask if there is a wrapper."""
    if guard.test is None:
        return False
    for part in below(guard.test):
        if type(part) is ir.Call and type(part.func) is ir.Name and part.func.id in _ASKING:
            return True
        if type(part) is ir.Attribute and part.name in _COUNTS:
            return True
        if type(part) is ir.Name and part.id in _COUNTS:
            return True
    return False
