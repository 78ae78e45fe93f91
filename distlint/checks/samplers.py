"""Data loaders and their samplers: two ways of shuffling at once, and a shuffle that is the same in every epoch.

The rule's ``fault`` parameter says which: ``shuffle`` or ``epoch``. ``loaders`` and ``samplers`` are the classes;
``signature`` holds the positional parameters of a loader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from distlint.checks.execution import body_of
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Abstract, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, blocks_of, statements
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.finding import Finding, Operation, Related

_PASSING = frozenset({"enumerate", "tqdm", "iter", "zip", "cycle", "trange", "track"})
"""Calls that hand on the items of what they are given."""


@check("samplers")
def samplers(context: CheckContext) -> Iterator[Finding]:
    """Findings of the kind that the rule asks for."""
    yield from _FAULTS[context.parameters["fault"]](context)


def _shuffled_twice(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    signature = list(context.parameters["signature"])
    evaluator = project.evaluator(None)
    for found in project.calls_to(set(context.parameters["loaders"])):
        call, function = found.site.call, found.site.function
        shuffle, _ = find_argument(call, "shuffle", signature.index("shuffle"))
        sampler, _ = find_argument(call, "sampler", signature.index("sampler"))
        if shuffle is None or sampler is None:
            continue
        if evaluator.value(shuffle, found.file, function).only is not True:
            continue
        options = options_of(evaluator.ask(sampler, found.file, function))
        objects = [option for option in options if isinstance(option, Instance)]
        if not objects:
            continue
        always = len(objects) == len(options)
        when = "" if always else " where there is one"
        text = f"{sampler.id} is None" if type(sampler) is ir.Name else "False"
        yield context.finding(
            f"`shuffle=True` is given together with a sampler{when}",
            ir.unpack(shuffle.at, found.file),
            related=[Related(one.span(), "the sampler is made here") for one in objects],
            plan=context.plan(
                Operation(
                    "set-argument",
                    found.span,
                    {"name": "shuffle", "text": "False" if always else text, "position": signature.index("shuffle")},
                )
            ),
        )


def _same_epoch(context: CheckContext) -> Iterator[Finding]:
    project: Project = context.project
    if project.sites("set_epoch"):
        return
    made = {
        (site.file, site.site.call.at): site
        for site in project.calls_to(set(context.parameters["samplers"]))
        if _shuffles(project, site)
    }
    reported: set[tuple[str, int]] = set()
    for file, function, loop, statement in _inner_loops(project) if made else ():
        for loader in _loaders(context, file, function, statement.iterable):
            sampler = _sampler_of(context, loader)
            key = (sampler.frame.file, sampler.call.at) if sampler is not None else ("", 0)
            if key in made and key not in reported:
                reported.add(key)
                yield context.finding(
                    "the sampler's `set_epoch` is never called, so every epoch has the same order",
                    made[key].span,
                    related=[
                        Related(ir.unpack(_head(statement), file), "the loader is gone through again and again here"),
                        Related(ir.unpack(_head(loop), file), "epochs are counted here"),
                    ],
                )


def _head(statement: ir.For | ir.While) -> ir.Position:
    return statement.iterable.at if type(statement) is ir.For else statement.test.at  # type: ignore[union-attr]


def _shuffles(project: Project, site: CallSite) -> bool:
    given, certain = find_argument(site.site.call, "shuffle", 3)
    if given is None:
        return certain
    return project.evaluator(None).value(given, site.file, site.site.function).only is True


def _inner_loops(project: Project) -> Iterator[tuple[str, int, ir.For | ir.While, ir.For]]:
    """Each ``for`` that is gone through more than once: inside another loop, or in a function that is called in one."""
    for file in project.python_files:
        module = project.module(file)
        for function in range(-1, len(module.functions)):
            body = body_of(project, file, function)
            outer = _calling_loop(project, file, function)
            for statement in statements(body):
                if type(statement) is ir.For:
                    around = _loop_around(body, statement.at) or outer
                    if around is not None:
                        yield file, function, around, statement


def _loop_around(body: tuple[ir.Stmt, ...], at: ir.Position) -> ir.For | ir.While | None:
    """The innermost loop around a place of a body."""
    found: ir.For | ir.While | None = None
    while True:
        holder = next((one for one in body if one.at != at and ir.encloses(one.at, at)), None)
        if holder is None:
            return found
        if type(holder) is ir.For or type(holder) is ir.While:
            found = holder
        body = next((b for b in blocks_of(holder) if any(one.at == at or ir.encloses(one.at, at) for one in b)), ())


def _calling_loop(project: Project, file: str, function: int) -> ir.For | ir.While | None:
    """The loop, in the same file, in which a function is called by its only caller."""
    if function < 0 or not project.module(file).functions[function].body:
        return None
    if not any(type(one) is ir.For for one in statements(body_of(project, file, function))):
        return None
    callers = project.callers(FunctionRef(file, function))
    if len(callers) != 1 or callers[0].file != file:
        return None
    return _loop_around(body_of(project, file, callers[0].site.function), callers[0].site.call.at)


def _loaders(context: CheckContext, file: str, function: int, iterable: ir.Expr) -> Iterator[Instance]:
    """The data loaders that a loop goes through."""
    project: Project = context.project
    evaluator = project.evaluator(None)
    names = {f"{name}()" for name in context.parameters["loaders"]}
    for part in _handed_on(iterable):
        found: Abstract = evaluator.ask(part, file, function)
        for option in options_of(found):
            if isinstance(option, Instance) and evaluator.instance_name(option) in names:
                yield option


def _handed_on(expr: ir.Expr) -> Iterator[ir.Expr]:
    if type(expr) is ir.Call:
        name = expr.func.name if type(expr.func) is ir.Attribute else expr.func.id if type(expr.func) is ir.Name else ""
        if name in _PASSING:
            for argument in expr.args:
                yield from _handed_on(argument)
            return
    if not any(type(part) is ir.Constant for part in below(expr)):
        yield expr


def _sampler_of(context: CheckContext, loader: Instance) -> Instance | None:
    project: Project = context.project
    given, _ = find_argument(loader.call, "sampler", list(context.parameters["signature"]).index("sampler"))
    if given is None:
        return None
    options = options_of(project.evaluator(None).ask(given, loader.frame.file, loader.frame.function))
    rest = [one for one in options if not isinstance(one, Instance)]
    objects = [one for one in options if isinstance(one, Instance)]
    harmless = all(isinstance(one, Leaf) and one.value.is_known and one.value.only is None for one in rest)
    return objects[0] if len(objects) == 1 and harmless else None


_FAULTS: dict[str, Callable[[CheckContext], Iterator[Finding]]] = {"shuffle": _shuffled_twice, "epoch": _same_epoch}
