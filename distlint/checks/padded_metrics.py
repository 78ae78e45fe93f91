"""Results of an evaluation that are collected with the samples that only fill up the last batches.

A prepared loader gives all processes as many batches of one size: where the data does not come out even, samples from its start are
given again. Parameters: ``prepare`` (see ``preparing``), ``gather`` (calls that collect those too), ``loaders`` and their ``signature``,
``minding`` (words by which a program leaves such samples out itself), ``reducing`` (last names of calls whose result is no longer one
value for each sample), ``predicting`` (last names of calls that give one).
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.collected_values import Collected, collected
from distlint.checks.execution import body_of
from distlint.checks.loaders import trains
from distlint.checks.padded_sums import padded_sums
from distlint.checks.padding import is_cut, is_uneven, loader_of, minds
from distlint.checks.preparing import Preparations, texts_of
from distlint.checks.registry import CheckContext, check
from distlint.checks.sample_rows import OF_BATCH, SampleRows
from distlint.link.modules import FunctionRef
from distlint.link.project import Project
from distlint.link.walking import access_path, below, last_name, statements
from distlint.model import python as ir
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
        if not site.site.call.args or minds(context, body, site):
            continue
        for one in collected(project, site.file, site.site.function, site.site.call.at, site.site.call.args[0]):
            around = body_of(project, one.file, one.function)
            if one.loop.at in reported or trains(project, one.file, one.loop.body):
                continue
            if one.function != site.site.function and _minds_on_the_way(context, one, around):
                continue
            sample = sample_of(context, one.loop, one.given) or _output_of(context, found, one)
            if sample is None and not _minds_on_the_way(context, _with_class(one), around):
                sample = _worked_out(context, found, one)
            handed = loader_of(context, found, one.loop, one.file, one.function)
            if sample is None or handed is None:
                continue
            if handed.instance is None or not is_uneven(context, handed.instance):
                continue
            reported.add(one.loop.at)
            yield context.finding(
                f"`{site.name.rpartition('.')[2]}` also collects the samples that only fill up the last batch, so they count twice",
                site.span,
                related=[
                    Related(ir.unpack(sample.at, one.file), "one value for each sample"),
                    Related(handed.instance.span(), "the loader over the data"),
                    Related(handed.found.span, "this makes all processes get as many batches of one size"),
                ],
                symbol=site.name,
            )
            break
    yield from padded_sums(context, found, reported)


def _minds_on_the_way(context: CheckContext, one: Collected, around: tuple[ir.Stmt, ...]) -> bool:
    """Whether what is collected elsewhere is cut there: around the loop, or by an object that keeps it."""
    project: Project = context.project
    bodies = [around]
    for ref in one.through:
        owner = project.function(ref).owner
        bodies += [
            body for each in project.module(ref.file).functions if (body := each.body) and each.owner == owner >= 0
        ]
    texts = {one.file, *(ref.file for ref in one.through)}
    words = [word for word in context.parameters["minding"] if not word.startswith("[")]
    return any(map(is_cut, bodies)) or any(word in project.text_of(file) for file in texts for word in words)


def _with_class(one: Collected) -> Collected:
    """The same, also by way of the function of the loop, and so of the other methods of its class."""
    own = (FunctionRef(one.file, one.function),) if one.function >= 0 else ()
    return one._replace(through=(*one.through, *own))


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


def _output_of(context: CheckContext, found: Preparations, one: Collected) -> ir.Expr | None:
    """A part of what is collected that a prepared model gives for the samples of a batch: all but a loss or a number of the model's own."""
    targets = {part.id for part in below(one.loop.target) if type(part) is ir.Name}
    made = [
        (statement.value, [name for target in statement.targets for name in _names_of(target)])
        for statement in statements(one.loop.body)
        if type(statement) is ir.Assign and type(statement.value) is ir.Call
    ]
    for item in one.given.items if type(one.given) is ir.ListDisplay else (one.given,):
        root, path = access_path(item)
        if not root or any(type(step) is str and OF_BATCH.search(step) for step in (root, *path)):
            continue
        for call, names in made:
            if root not in names or (path and len(names) > 1) or last_name(call.func) in context.parameters["reducing"]:
                continue
            asked = {part.id for part in below(call) if type(part) is ir.Name}
            if asked & targets and any(map(found.is_prepared, found.objects(call.func, one.file, one.function))):
                return item
    return None


def _worked_out(context: CheckContext, found: Preparations, one: Collected) -> ir.Expr | None:
    """A part of what is collected that is worked out, row by row, of a batch and of what a prepared model gives for it."""
    body = tuple(one.loop.body)
    known = {part.id for part in below(one.loop.target) if type(part) is ir.Name}
    for statement in statements(body):
        for target in statement.targets if type(statement) is ir.Assign else ():
            if type(target) is ir.Name and _output_of(context, found, one._replace(given=target)) is not None:
                known.add(target.id)
    rows = SampleRows(context.project)
    for item in one.given.items if type(one.given) is ir.ListDisplay else (one.given,):
        if rows.has(item, one.file, one.function, known, body):
            return item
    return None


def _names_of(target: ir.Expr) -> list[str]:
    """The variables that a target consists of."""
    parts = target.items if type(target) is ir.ListDisplay else (target,)
    return [part.id for part in parts if type(part) is ir.Name]


def _made(loop: ir.For, name: str) -> ir.Expr | None:
    """What a loop puts into a variable, where it does so once."""
    found = [
        one.value
        for one in statements(loop.body)
        if isinstance(one, ir.Assign) and any(texts_of(target) == name for target in one.targets)
    ]
    return found[0] if len(found) == 1 else None
