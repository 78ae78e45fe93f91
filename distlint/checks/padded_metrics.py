"""Results of an evaluation that are collected with the samples that only fill up the last batches.

A prepared loader gives all processes as many batches of one size: where the data does not come out even, samples from its start are
given again. Parameters: ``prepare`` (see ``preparing``), ``gather`` (calls that collect those too), ``loaders`` and their ``signature``,
``minding`` (words by which a program leaves such samples out itself), ``reducing`` (last names of calls whose result is no longer one
value for each sample), ``predicting`` (last names of calls that give one).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.divergence import DivergenceView
from distlint.checks.execution import body_of
from distlint.checks.loaders import argument_of, handed_on, trains
from distlint.checks.preparing import Handed, Preparations, last_name, texts_of
from distlint.checks.rank_values import Sized
from distlint.checks.ranks import FIRST
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import access_path, below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.finding import Finding, Related


@check("padded-metrics")
def padded_metrics(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such call in a loop over a prepared loader."""
    project: Project = context.project
    found = Preparations.of_context(context)
    if not found.sites:
        return
    reported = set()
    for site in project.calls_to(set(context.parameters["gather"])):
        body = body_of(project, site.file, site.site.function)
        loop = _loop_around(body, site.site.call.at)
        if (
            loop is None
            or not site.site.call.args
            or trains(project, site.file, loop.body)
            or _minds(context, body, site)
        ):
            continue
        sample = sample_of(context, loop, site.site.call.args[0])
        handed = loader_of(context, found, loop, site.file, site.site.function)
        if sample is None or handed is None or loop.at in reported:
            continue
        if handed.instance is None or not is_uneven(context, handed.instance):
            continue
        reported.add(loop.at)
        yield context.finding(
            f"`{site.name.rpartition('.')[2]}` also collects the samples that only fill up the last batch, so they count twice",
            site.span,
            related=[
                Related(ir.unpack(sample.at, site.file), "one value for each sample"),
                Related(handed.instance.span(), "the loader over the data"),
                Related(handed.found.span, "this makes all processes get as many batches of one size"),
            ],
            symbol=site.name,
        )


def _loop_around(body: tuple[ir.Stmt, ...], at: ir.Position) -> ir.For | None:
    """The innermost ``for`` around a place."""
    found = None
    for statement in statements(body):
        if type(statement) is ir.For and any(ir.encloses(one.at, at) for one in statement.body):
            found = statement
    return found


def _minds(context: CheckContext, body: tuple[ir.Stmt, ...], site: CallSite) -> bool:
    """Whether the function around a call, or one that calls it, leaves filled up samples out: by the words for it, or by a slice."""
    if not body:
        return True
    project, function = context.project, site.site.function
    around = [body]
    if function >= 0:
        edges = project.call_graph.callers(FunctionRef(site.file, function))
        around += [body_of(project, edge.file, edge.function) for edge in edges]
    if any(is_cut(one) for one in around):
        return True
    first, last = ir.unpack(body[0].at, site.file).line, ir.unpack(body[-1].at, site.file).end_line
    text = "\n".join(context.project.text_of(site.file).split("\n")[first - 1 : last])
    return any(word in text for word in context.parameters["minding"])


def is_cut(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether the first items of something are taken (``preds[: len(dataset)]``)."""
    parts = (part for one in statements(body) for expr in expressions_of(one) for part in below(expr))
    return any(
        type(part) is ir.Subscript
        and type(part.index) is ir.Slice
        and part.index.upper is not None
        and _is_open(part.index.lower)
        for part in parts
    )


def _is_open(lower: ir.Expr | None) -> bool:
    return lower is None or (type(lower) is ir.Constant and lower.value in (None, 0))


def loader_of(context: CheckContext, found: Preparations, loop: ir.For, file: str, function: int) -> Handed | None:
    """What was handed over for the loader that a loop goes through, where it is one of the library's."""
    evaluator = found.things.evaluator
    names = {f"{name}()" for name in context.parameters["loaders"]}
    for part in handed_on(loop.iterable):
        options = options_of(evaluator.ask(part, file, function))
        handed = [
            found.given_for(one) if isinstance(one, Instance) and found.is_prepared(one) else None for one in options
        ]
        only = handed[0] if len(handed) == 1 else None
        if only is not None and only.instance is not None and evaluator.instance_name(only.instance) in names:
            return only
    return None


def sample_of(context: CheckContext, loop: ir.For, given: ir.Expr) -> ir.Expr | None:
    """A part of what is collected that has one value for each sample of a batch."""
    targets = {part.id for part in below(loop.target) if type(part) is ir.Name}
    items = (
        given.items if type(given) is ir.ListDisplay else given.values if type(given) is ir.DictDisplay else (given,)
    )
    for item in items:
        if any(
            type(part) is ir.Call and last_name(part.func) in context.parameters["reducing"] for part in below(item)
        ):
            continue
        if access_path(item)[0] in targets:
            return item
        name = texts_of(item)
        made = _made(loop, name) if name else item
        if made is None:
            continue
        calls = {last_name(part.func) for part in below(made) if type(part) is ir.Call}
        if calls & set(context.parameters["predicting"]) and not calls & set(context.parameters["reducing"]):
            return item
        if name and access_path(made)[0] in targets:
            return item
    return None


def _made(loop: ir.For, name: str) -> ir.Expr | None:
    """What a loop puts into a variable, where it does so once."""
    found = [
        one.value
        for one in statements(loop.body)
        if isinstance(one, ir.Assign) and any(texts_of(target) == name for target in one.targets)
    ]
    return found[0] if len(found) == 1 else None


def is_uneven(context: CheckContext, loader: Instance) -> bool:
    """Whether the data may not come out even for two processes: it is not known that it does."""
    project: Project = context.project
    signature = context.parameters["signature"]
    _, dropping, known = argument_of(project, loader, "drop_last", signature)
    if not known or any(not (isinstance(one, Leaf) and one.value.only is False) for one in dropping):
        return False
    view = DivergenceView.of_project(project).view(FIRST)
    data, _, _ = argument_of(project, loader, "dataset", signature)
    batch, _, _ = argument_of(project, loader, "batch_size", signature)
    if data is None:
        return False
    size = view.ask(data, loader.frame.file, loader.frame.function)
    number = view.ask(batch, loader.frame.file, loader.frame.function) if batch is not None else 1
    if not isinstance(size, Sized) or type(number) is not int or number < 1:
        return True
    return size.length % (2 * number) != 0
