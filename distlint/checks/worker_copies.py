"""Streams of which every worker of a loader makes a copy, and goes through all of it.

Parameters: ``streams`` (base classes of datasets that are gone through without indices), ``loaders`` with their positional
``signature``, ``workers`` and ``setup`` (the arguments that say how many workers there are, and what each does first),
``seeds`` (calls that seed a generator), ``handled`` (a pattern of names that have to do with workers, or with sources
that part themselves between them).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.derivations import Derivation, derivation
from distlint.checks.loaders import argument_of, is_none, made_at
from distlint.checks.registry import CheckContext, check
from distlint.link.abstract import Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, FunctionRef
from distlint.link.walking import last_name
from distlint.model import python as ir
from distlint.model.document import Leaf
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


@check("worker-copies")
def worker_copies(context: CheckContext) -> Iterator[Finding]:
    """A finding for each loader with several workers whose stream knows nothing of them."""
    project: Project = context.project
    if not any(project.mentions(name.rpartition(".")[2]) for name in context.parameters["streams"]):
        return
    for site in project.calls_to(set(context.parameters["loaders"])):
        loader = made_at(project, site)
        count = _workers(context, loader)
        stream = _stream(context, loader) if count > 1 else None
        if stream is None or _is_set_up(context, site, loader):
            continue
        own = _iterator(project, stream)
        related = [Related(own, "this runs in each of them, and gives all items")] if own is not None else []
        yield context.finding(
            f"each of the {count} workers of this loader goes through the whole stream, so every sample comes {count} times",
            loader.span(),
            related=related,
        )


def _workers(context: CheckContext, loader: Instance) -> int:
    """How many workers a loader certainly has at the least; 0 where that is not known."""
    _, options, known = argument_of(
        context.project, loader, context.parameters["workers"], context.parameters["signature"]
    )
    counts = [one.value.only if isinstance(one, Leaf) and one.value.is_known else None for one in options]
    numbers = [one for one in counts if isinstance(one, int)]
    return min(numbers) if known and numbers and len(numbers) == len(options) else 0


def _is_set_up(context: CheckContext, site: CallSite, loader: Instance) -> bool:
    """Whether something may tell each worker its part."""
    given, certain = find_argument(site.site.call, context.parameters["setup"], None)
    if given is not None:
        options = options_of(context.project.evaluator(None).evaluate(given, loader.frame, loader.state))
        return not all(is_none(one) for one in options)
    return not certain


def _stream(context: CheckContext, loader: Instance) -> ClassRef | None:
    """The class of the stream that a loader certainly gets, where nothing in it has to do with workers."""
    project: Project = context.project
    expr, options, _ = argument_of(project, loader, "dataset", context.parameters["signature"])
    if expr is None or len(options) != 1:
        return None
    made = options[0]
    if not isinstance(made, Instance) or made.part or not isinstance(made.callee, ClassRef):
        return None
    modules = project.modules
    bases = set(modules.external_bases(made.callee))
    if (
        not bases
        or not bases <= {*context.parameters["streams"], "object", "abc.ABC"}
        or modules.has_unknown_base(made.callee)
    ):
        return None
    parts = derivation(project, expr, loader.frame.file, loader.frame.function)
    return None if _knows_workers(context, parts) else made.callee


def _knows_workers(context: CheckContext, made: Derivation) -> bool:
    """Whether a stream may part itself between workers, or gives each of them something else."""
    words = re.compile(context.parameters["handled"], re.IGNORECASE)
    if not made.whole or any(words.search(name) for name in made.names()):
        return True
    # a generator with a seed draws the same numbers in each of them
    return made.is_random() and not any(_is_seeded(context, part.expr) for part in made.parts)


def _is_seeded(context: CheckContext, expr: ir.Expr) -> bool:
    """Whether random numbers are drawn after a seed of the stream's own."""
    return type(expr) is ir.Call and last_name(expr.func) in context.parameters["seeds"] and bool(expr.args)


def _iterator(project: Project, stream: ClassRef) -> Span | None:
    """Where the method that gives the items is defined."""
    method = project.modules.method(stream, "__iter__")
    return ir.unpack(project.function(method).name_at, method.file) if isinstance(method, FunctionRef) else None
