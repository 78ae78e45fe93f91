"""Results that are collected behind the loop of an evaluation, by a call that knows what to leave out only while the loop runs.

A prepared loader gives all processes as many batches of one size, and is asked how many of the last ones only fill up while it is gone
through. Parameters: those of ``padded-metrics`` (``prepare``, ``loaders``, ``signature``, ``reducing``, ``predicting``), ``collect`` (the
calls), ``joining`` (last names of functions that make one row of results of several) and ``minding`` (words by which a program leaves
such samples out itself).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from distlint.checks.execution import body_of
from distlint.checks.loaders import trains
from distlint.checks.padded_metrics import sample_of
from distlint.checks.padding import is_cut, is_uneven, loader_of
from distlint.checks.preparing import Preparations, texts_of
from distlint.checks.registry import CheckContext, check
from distlint.link.arguments import find_argument
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import access_path, below, last_name, names_below, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related

_DEPTH = 5
_MAX_CALLERS = 4
_GROWING = ("append", "extend")


class Filled(NamedTuple):
    """A list that a loop fills: the loop, where it stands, and what it puts in."""

    file: str
    function: int
    loop: ir.For
    element: ir.Expr


class _Place(NamedTuple):
    """An expression that is evaluated at a place of a function: ``at`` is that of the call for which it is.

    ``joined`` says that rows of results are made one there, so that what goes into it has a value for each sample.
    """

    expr: ir.Expr
    file: str
    function: int
    at: ir.Position
    joined: bool


@check("metrics-behind-loop")
def metrics_behind_loop(context: CheckContext) -> Iterator[Finding]:
    """A finding for each such call, of which one value for each sample is handed over that a loop over a prepared loader has kept."""
    project: Project = context.project
    found = Preparations.of_context(context)
    if not found.sites or _minds(context, found):
        return
    for site in project.calls_to(set(context.parameters["collect"])):
        call = site.site.call
        given, _ = find_argument(call, "input_data", 0)
        if given is None or _is_cut_around(context, site):
            continue
        for one in _filled(context, _Place(given, site.file, site.site.function, call.at, joined=False), 0):
            if trains(project, one.file, one.loop.body) or _leaves(one.loop):
                continue
            handed = loader_of(context, found, one.loop, one.file, one.function)
            if handed is None or handed.instance is None or not is_uneven(context, handed.instance):
                continue
            yield context.finding(
                f"`{last_name(call.func)}` is called behind the loop, where it no longer leaves out what only fills up the last batch",
                site.span,
                related=[
                    Related(ir.unpack(one.element.at, one.file), "one value for each sample is kept here"),
                    Related(ir.unpack(one.loop.iterable.at, one.file), "the loader is gone through here"),
                    Related(handed.instance.span(), "the loader over the data"),
                    Related(handed.found.span, "this makes all processes get as many batches of one size"),
                ],
                symbol=site.name,
            )
            break


def _minds(context: CheckContext, found: Preparations) -> bool:
    """Whether a program says something of samples that fill up, wherever it prepares or collects."""
    project: Project = context.project
    files = {site.file for site in (*found.sites, *project.calls_to(set(context.parameters["collect"])))}
    return any(word in project.text_of(file) for file in files for word in context.parameters["minding"])


def _is_cut_around(context: CheckContext, site: CallSite) -> bool:
    """Whether the function around a call, or one that calls it, takes the first items of something."""
    project: Project = context.project
    around = [body_of(project, site.file, site.site.function)]
    if site.site.function >= 0:
        edges = project.call_graph.callers(FunctionRef(site.file, site.site.function))
        around += [body_of(project, edge.file, edge.function) for edge in edges]
    return any(is_cut(body) for body in around)


def _leaves(loop: ir.For) -> bool:
    """Whether a loop may be left before its end: the loader is still the one that is asked then."""
    return any(type(one) is ir.Jump and one.kind == "break" for one in statements(loop.body))


def _filled(context: CheckContext, place: _Place, depth: int) -> Iterator[Filled]:
    """The loops that have filled what an expression is made of, and are over where it is evaluated."""
    if depth > _DEPTH:
        return
    for name, joined in _names(context, place.expr, joined=place.joined):
        yield from _filled_name(context, name, place._replace(joined=joined), depth)


def _names(context: CheckContext, expr: ir.Expr, *, joined: bool) -> Iterator[tuple[str, bool]]:
    """The variables in an expression that are not made figures of, and whether rows in them are made one."""
    if type(expr) is ir.Call and last_name(expr.func) in context.parameters["reducing"]:
        return
    name = texts_of(expr)
    if name:
        yield name, joined
    elif type(expr) is ir.Call:
        inside = joined or last_name(expr.func) in context.parameters["joining"]
        for part in (*expr.args, *(word.value for word in expr.keywords)):
            yield from _names(context, part, joined=inside)
        if type(expr.func) is ir.Attribute:
            yield from _names(context, expr.func.base, joined=joined)
    elif type(expr) is ir.ListDisplay:
        for part in expr.items:
            yield from _names(context, part, joined=joined)
    elif type(expr) is ir.DictDisplay:
        for part in expr.values:
            yield from _names(context, part, joined=joined)
    elif type(expr) is ir.Subscript:
        yield from _names(context, expr.base, joined=joined)


def _filled_name(context: CheckContext, name: str, place: _Place, depth: int) -> Iterator[Filled]:
    project: Project = context.project
    body = body_of(project, place.file, place.function)
    known = False
    for statement in statements(body):
        if type(statement) is ir.For and not ir.encloses(statement.at, place.at):
            for inner in statement.body:
                for element, joined in _put(context, name, inner):
                    known = True
                    is_row = joined or place.joined
                    if is_row and statement.at < place.at and _is_kept(context, statement, element):
                        yield Filled(place.file, place.function, statement, element)
        elif type(statement) is ir.Assign and statement.value is not None and statement.at < place.at:
            if any(name in _bound(target) for target in statement.targets):
                known = True
                yield from _made(context, name, statement, place, depth)
    if not known and place.function >= 0:
        yield from _given(context, name, place, depth)


def _made(context: CheckContext, name: str, statement: ir.Assign, place: _Place, depth: int) -> Iterator[Filled]:
    """What a variable was set to: made of other lists, or given back by a function of the project."""
    value = statement.value
    project: Project = context.project
    target = project.modules.resolve(value.func, place.file) if type(value) is ir.Call else None
    if type(value) is ir.Call and isinstance(target, FunctionRef):
        for one in statements(project.function(target).body):
            if type(one) is ir.Return and one.value is not None:
                given = _part_of(statement.targets[0], name, one.value)
                where = _Place(given, target.file, target.index, one.at, place.joined)
                yield from _filled(context, where, depth + 1)
    elif value is not None:
        yield from _filled(context, place._replace(expr=value), depth + 1)


def _part_of(target: ir.Expr, name: str, value: ir.Expr) -> ir.Expr:
    """What of a result a variable gets: its part where both are written out."""
    if type(target) is ir.ListDisplay and type(value) is ir.ListDisplay and len(target.items) == len(value.items):
        return next((part for one, part in zip(target.items, value.items, strict=True) if texts_of(one) == name), value)
    return value


def _given(context: CheckContext, name: str, place: _Place, depth: int) -> Iterator[Filled]:
    """What the callers of a function give for a parameter."""
    project: Project = context.project
    definition = project.module(place.file).functions[place.function]
    position = next((at for at, one in enumerate(definition.parameters) if one.name == name), None)
    callers = project.callers(FunctionRef(place.file, place.function))
    if position is None or len(callers) > _MAX_CALLERS:
        return
    shift = 1 if definition.owner >= 0 else 0
    for caller in callers:
        given, _ = find_argument(caller.site.call, name, position - shift + caller.shift)
        if given is not None:
            where = _Place(given, caller.file, caller.site.function, caller.site.call.at, place.joined)
            yield from _filled(context, where, depth + 1)


def _bound(target: ir.Expr) -> set[str]:
    return {texts_of(one) for one in target.items} if type(target) is ir.ListDisplay else {texts_of(target)}


def _put(context: CheckContext, name: str, statement: ir.Stmt) -> Iterator[tuple[ir.Expr, bool]]:
    """What a statement, or one in it, adds to a list or a row of results, and whether as many items as there are in it."""
    for one in statements((statement,)):
        if type(one) is ir.Evaluate and type(one.value) is ir.Call:
            call = one.value
            grows = type(call.func) is ir.Attribute and call.func.name in _GROWING
            if grows and call.args and _root(call.func) == name:
                yield call.args[0], call.func.name == "extend"  # type: ignore[union-attr]
        elif type(one) is ir.AugAssign and one.operator == "+" and texts_of(one.target) == name:
            if type(one.value) is ir.ListDisplay or type(one.value) is ir.Call:
                yield one.value, type(one.value) is ir.Call
        elif type(one) is ir.Assign and one.value is not None and any(texts_of(to) == name for to in one.targets):
            for value in (one.value.body, one.value.orelse) if type(one.value) is ir.Conditional else (one.value,):
                if type(value) is not ir.Call or last_name(value.func) not in context.parameters["joining"]:
                    continue
                for given in value.args[:1]:
                    items = given.items if type(given) is ir.ListDisplay else ()
                    yield from ((item, True) for item in items if texts_of(item) != name)


def _root(func: ir.Expr) -> str:
    """``outs`` of ``outs.append`` and of ``outs["preds"].append``."""
    base = func.base if type(func) is ir.Attribute else func
    while type(base) is ir.Subscript:
        base = base.base
    return texts_of(base)


def _is_kept(context: CheckContext, loop: ir.For, element: ir.Expr) -> bool:
    """Whether one value for each sample of a batch is put into a list."""
    if sample_of(context, loop, element) is not None:
        return True
    made, seen = element, 0
    while seen < _DEPTH:
        seen += 1
        calls = {last_name(part.func) for part in below(made) if type(part) is ir.Call}
        if calls & set(context.parameters["reducing"]):
            return False
        name = access_path(list(_peeled(made))[-1])[0]
        if "loss" in "".join(names_below(made)).lower():
            return False
        targets = {part.id for part in below(loop.target) if type(part) is ir.Name}
        called = next((part for part in _peeled(made) if type(part) is ir.Call and _is_fed(part, targets)), None)
        if called is not None:
            return True
        stores = [
            one.value
            for one in statements(loop.body)
            if type(one) is ir.Assign and one.value is not None and any(name in _bound(to) for to in one.targets)
        ]
        if not name or len(stores) != 1:
            return False
        made = stores[0]
    return False


def _peeled(expr: ir.Expr) -> Iterator[ir.Expr]:
    """An expression, and what it takes a part of or calls a method of."""
    while True:
        yield expr
        if type(expr) is ir.Attribute or type(expr) is ir.Subscript:
            expr = expr.base
        elif type(expr) is ir.Call and type(expr.func) is ir.Attribute:
            expr = expr.func.base
        else:
            return


def _is_fed(call: ir.Call, targets: set[str]) -> bool:
    """Whether a call gets what a loop gives: a model that is called with a batch."""
    given = (*call.args, *(word.value for word in call.keywords))
    return any(access_path(one.value if type(one) is ir.Starred else one)[0] in targets for one in given)
