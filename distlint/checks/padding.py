"""The samples that fill up the last batches of prepared loaders: whether there may be some, and whether a program minds them.

Parameters of the rules about them: ``loaders`` and their ``signature``, ``minding`` (words by which a program leaves such samples out
itself).
"""

from __future__ import annotations

from typing import Any

from distlint.checks.divergence import DivergenceView
from distlint.checks.execution import body_of
from distlint.checks.loaders import argument_of, handed_on
from distlint.checks.preparing import Handed, Preparations
from distlint.checks.rank_values import Sized
from distlint.checks.ranks import FIRST
from distlint.checks.registry import CheckContext
from distlint.checks.spread_names import forward, mentions
from distlint.link.abstract import Instance, options_of
from distlint.link.modules import FunctionRef
from distlint.link.project import CallSite, Project
from distlint.link.walking import below, bound_names, expressions_of, last_name, statements
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.rehearsal.libraries import LOADED
from distlint.rehearsal.performance import Rehearsal

_DISTINCT = frozenset({"unique", "drop_duplicates", "unique_consecutive", "dict", "setdefault"})
"""Functions that keep one of several with the same name or number."""


def minds(context: CheckContext, body: tuple[ir.Stmt, ...], site: CallSite) -> bool:
    """Whether the function around a call, or one that calls it, leaves filled up samples out: by the words for it, or by a slice."""
    if not body:
        return True
    project, function = context.project, site.site.function
    around = [body]
    if function >= 0:
        edges = project.call_graph.callers(FunctionRef(site.file, function))
        around += [body_of(project, edge.file, edge.function) for edge in edges]
    if any(is_cut(one) for one in around) or _is_told_apart(body, site):
        return True
    first, last = ir.unpack(body[0].at, site.file).line, ir.unpack(body[-1].at, site.file).end_line
    text = "\n".join(context.project.text_of(site.file).split("\n")[first - 1 : last])
    return any(word in text for word in context.parameters["minding"])


def _is_told_apart(body: tuple[ir.Stmt, ...], site: CallSite) -> bool:
    """Whether what is collected lands at a place of its own (``all[index] = preds``), or is asked whether it came before."""
    at = site.site.call.at
    own = {
        name
        for one in statements(body)
        if type(one) is ir.Assign and ir.encloses(one.at, at)
        for target in one.targets
        for name in bound_names(target)
    }
    names = forward(body, own) if own else frozenset[str]()
    for one in statements(body) if names else ():
        targets = one.targets if type(one) is ir.Assign else ()
        if any(
            type(to) is ir.Subscript and type(to.index) is not ir.Slice and mentions(to.index, names) for to in targets
        ):
            return True
        for part in (part for expr in expressions_of(one) for part in below(expr)):
            if (
                type(part) is ir.Operation
                and part.operators[0] in ("in", "not in")
                and mentions(part.operands[0], names)
            ):
                return True
            if (
                type(part) is ir.Call
                and last_name(part.func) in _DISTINCT
                and any(mentions(given, names) for given in part.args)
            ):
                return True
    return False


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
        return not _comes_out_even(project, loader)
    return size.length % (2 * number) != 0


def batches_of(context: CheckContext, loader: Instance) -> set[int]:
    """The numbers of batches that a loader may have before it is parted; none where they are not known."""
    project: Project = context.project
    _, dropping, known = argument_of(project, loader, "drop_last", context.parameters["signature"])
    drops = [one.value.only for one in dropping if isinstance(one, Leaf)]
    if not known or len(drops) != len(dropping) or any(type(one) is not bool for one in drops):
        return set()
    view = DivergenceView.of_project(project).view(FIRST)
    data, _, _ = argument_of(project, loader, "dataset", context.parameters["signature"])
    batch, _, _ = argument_of(project, loader, "batch_size", context.parameters["signature"])
    size = view.ask(data, loader.frame.file, loader.frame.function) if data is not None else None
    number = view.ask(batch, loader.frame.file, loader.frame.function) if batch is not None else 1
    found = {(size.length, number)} if isinstance(size, Sized) else _loaded(project, loader)
    if not all(type(rows) is int and type(one) is int and one > 0 for rows, one in found):
        return set()
    return {rows // one if dropped else -(-rows // one) for rows, one in found for dropped in drops or [False]}


def _loaded(project: Project, loader: Instance) -> set[tuple[Any, Any]]:
    """How many rows a loader has in rehearsals of the program, and how many of them make a batch."""
    return {
        stage.kept[LOADED][loader.span()]
        for performance in Rehearsal.of(project).every_performance()
        for stage in performance.stages[:1]
        if loader.span() in stage.kept.get(LOADED, {})
    }


def _comes_out_even(project: Project, loader: Instance) -> bool:
    """Whether a rehearsal of the program shows how many rows a loader has, and that they are whole batches for two processes."""
    found = _loaded(project, loader)
    return bool(found) and all(
        type(rows) is int and type(batch) is int and batch > 0 and rows % (2 * batch) == 0 for rows, batch in found
    )
