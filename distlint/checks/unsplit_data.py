"""Training with several processes in which each goes through all of the data.

Parameters: ``wrappers`` (calls that make a model train together on all ranks), ``summing`` (functions that add gradients up over
the ranks), ``streams`` (base classes of datasets that need no sampler), ``workers`` (names of calls
that ask for the worker of a loader), ``loaders`` with their positional
``signature``, ``samplers`` (that part the data), ``plain-samplers`` (prefix of those that do not), ``datasets``
(prefixes of the names of library datasets that do not part themselves), ``seeds`` (calls that seed random numbers),
``other-parallelism`` (and what else ``whole_meshes`` takes), ``spreading`` (calls that hand
each rank its part), ``draws`` and ``generators`` (names of calls that draw the rows of a batch, and that seed a generator for it),
``drawing`` (samplers of the library that draw, see ``partial_samplers``),
``message`` and ``wrapped`` (other words for the message, and for the place of the wrapper), ``stream-help`` (the help where the
dataset is a stream).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.alike_losses import simulated
from distlint.checks.derivations import RANK_WORDS, Derivation, derivation, derivation_of_body, derivation_without_rank
from distlint.checks.drawn_alike import drawn_batches
from distlint.checks.gradient_models import models_of
from distlint.checks.loaders import (
    Pass,
    argument_of,
    is_list,
    is_none,
    loader_classes,
    loaders_in,
    loops,
    made_at,
    trains,
)
from distlint.checks.partial_samplers import SHARDS, WORKERS, draws, draws_own, is_of_no_rank, is_seeded_alike
from distlint.checks.preparing import is_thrown_away
from distlint.checks.programs import family
from distlint.checks.registry import CheckContext, check
from distlint.checks.spread_names import called_name
from distlint.checks.taken_items import is_trained_on, loaders_behind, takers
from distlint.checks.told_streams import is_told
from distlint.checks.unhanded_ranks import never_handed
from distlint.checks.whole_meshes import shares_on_purpose
from distlint.link.abstract import Abstract, Instance, options_of
from distlint.link.arguments import find_argument
from distlint.link.modules import ClassRef, External, FunctionRef
from distlint.link.walking import below, expressions_of, statements
from distlint.model import python as ir
from distlint.model.finding import Finding, Related
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.link.project import CallSite, Project


@check("unsplit-data")
def unsplit_data(context: CheckContext) -> Iterator[Finding]:
    """A finding for each loader that hands every rank the whole of the data in a training loop."""
    project: Project = context.project
    wraps = list(project.calls_to(set(context.parameters["wrappers"])))
    makers = {(one.file, one.site.call.at) for one in wraps}
    sums = [one for one in project.calls_to(set(context.parameters.get("summing", ()))) if models_of(project, one)]
    wraps += sums
    if not wraps:
        return
    names = loader_classes(project, context.parameters["loaders"])
    files = frozenset().union(*(family(project, one.file) for one in wraps))
    reported: set[tuple[str, int]] = set()
    for place, loaders in _passes(project, files, names):
        if not loaders or _parts_batches(context, place):
            continue
        wrap = next((one for one in wraps if one.file in family(project, place.file)), None)
        if wrap is None or shares_on_purpose(context, place.file):
            continue
        new = [one for one in loaders if (one.frame.file, one.call.at) not in reported]
        whole = [one for one in new if is_whole(context, one) and not _is_handed_in_vain(context, one, wraps)]
        # what the loss is made from takes long to follow, so that it is asked last
        if not whole or (not sums and _trains_alone(context, place, makers)):
            continue
        for loader in whole:
            if (loader.frame.file, loader.call.at) not in reported:
                reported.add((loader.frame.file, loader.call.at))
                yield _finding(context, loader, place, wrap)
    yield from _drawn_by_hand(context, files, wraps)


def _passes(project: Project, files: frozenset[str], names: frozenset[str]) -> Iterator[tuple[Pass, list[Instance]]]:
    """The loops that train, each with the loaders that it takes its batches from."""
    for place in loops(project, files):
        # following what each loop goes over takes long, and few of them train
        if trains(project, place.file, place.body):
            found = loaders_in(project, place.iterable, place.file, place.function, names)
            yield place, found or loaders_behind(project, place.iterable, place.file, place.function, names)
    for taken in takers(project, files):
        found = loaders_behind(project, taken.iterator, taken.file, taken.function, names)
        if found and is_trained_on(project, taken):
            yield taken.place, found


def _trains_alone(context: CheckContext, place: Pass, makers: set[tuple[str, ir.Position]]) -> bool:
    """Whether the loop trains a model that nothing makes train together, as one that some process fits for all of them."""
    found = False
    for part in (part for one in statements(place.body) for expr in expressions_of(one) for part in below(expr)):
        if type(part) is not ir.Call or called_name(part) != "backward" or type(part.func) is not ir.Attribute:
            continue
        if part.args:
            return False
        made = derivation(context.project, part.func.base, place.file, place.function)
        if not made.whole or any((one.file, one.expr.at) in makers for one in made.parts):
            return False
        found = True
    return found


def _drawn_by_hand(context: CheckContext, files: frozenset[str], wraps: list[CallSite]) -> Iterator[Finding]:
    """A finding for each draw of a batch that gives every rank the same rows."""
    if "draws" not in context.parameters:
        return
    seen: set[Span] = set()
    samplers = {one.file for one in context.project.calls_to(set(context.parameters["samplers"]))}
    for file in sorted(files):
        known = len(seen)
        wrap = next((one for one in wraps if one.file in family(context.project, file)), None)
        if not samplers.isdisjoint(family(context.project, file)):
            continue  # what is drawn is the data itself, as a rule, which a sampler parts
        if wrap is None or shares_on_purpose(context, file):
            continue
        for draw, library, forward in drawn_batches(context, file):
            span = ir.unpack(draw.expr.at, draw.file)
            if span in seen or (library and not _is_seeded_alike(context, file, library)):
                continue
            seen.add(span)
            yield context.finding(
                "the random numbers are seeded alike and nothing here has to do with the rank, so every rank draws the same batches",
                span,
                related=[
                    Related(ir.unpack(forward.expr.at, forward.file), "each rank trains on them here"),
                    Related(wrap.span, "the gradients of the ranks are averaged by this"),
                ],
            )
        if known == len(seen):
            yield from simulated(context, file, wrap)


def _finding(context: CheckContext, loader: Instance, place: Pass, wrap: CallSite) -> Finding:
    drawn = _is_drawn(context, loader)
    here = "each rank trains on the same samples here" if drawn else "each rank goes through all of it here"
    related = [
        Related(ir.unpack(place.iterable.at, place.file), here),
        Related(wrap.span, context.parameters.get("wrapped", "the gradients of the ranks are averaged by this")),
    ]
    related += _streams(context, loader)
    unused = next(iter(_samplers_beside(context, loader)), None)
    if unused is not None:
        related.append(Related(unused.span, "this sampler would part the data, but the loader is not given it"))
        message = "the loader is not given the distributed sampler, so each rank goes through all of the data"
    elif drawn:
        message = "the sampler of this loader draws by random numbers that all ranks seed alike, so every rank draws the same samples"
    else:
        message = context.parameters.get(
            "message",
            "no sampler parts the data of this loader between the ranks, so every rank goes through all of it",
        )
    helping = context.parameters.get("stream-help") if _is_of_stream(context, loader) else None
    return context.finding(message, loader.span(), related=related, help=helping)


def _is_of_stream(context: CheckContext, loader: Instance) -> bool:
    _, options, _ = argument_of(context.project, loader, "dataset", context.parameters["signature"])
    return is_stream(context, options)


def _is_drawn(context: CheckContext, loader: Instance) -> bool:
    """Whether a loader's sampler, one of the library, draws some of the samples."""
    project: Project = context.project
    _, options, _ = argument_of(project, loader, "sampler", context.parameters["signature"])
    return any(
        isinstance(one, Instance) and draws(project, one, context.parameters.get("drawing", {})) for one in options
    )


def _streams(context: CheckContext, loader: Instance) -> Iterator[Related]:
    """Where the streams of the project that a loader is given are gone through, and parted between the workers of the loader."""
    project: Project = context.project
    _, options, _ = argument_of(project, loader, "dataset", context.parameters["signature"])
    if not is_stream(context, options):
        return
    for one in options:
        method = (
            project.modules.method(one.callee, "__iter__")
            if isinstance(one, Instance) and isinstance(one.callee, ClassRef)
            else None
        )
        if method is not None:
            body = project.function(method).body
            first = next((part for part in statements(body) if type(part) is ir.For), body[0] if body else None)
            if first is not None:
                at = first.iterable.at if type(first) is ir.For else first.at
                yield Related(
                    ir.unpack(at, method.file), "the stream is gone through here, and nothing in it depends on the rank"
                )
            yield from _worker_parts(context, method)


def _worker_parts(context: CheckContext, method: FunctionRef) -> Iterator[Related]:
    """Where a stream asks which worker of a loader it is in."""
    for part in derivation_of_body(context.project, method).parts:
        if type(part.expr) is ir.Call and called_name(part.expr) in context.parameters.get("workers", ()):
            says = "this tells apart the workers of one loader, not the ranks"
            yield Related(ir.unpack(part.expr.at, part.file), says)
            return


def _is_handed_in_vain(context: CheckContext, loader: Instance, wraps: list[CallSite]) -> bool:
    """Whether a loader is handed to one of the calls whose result nobody takes: that is a fault of its own."""
    project: Project = context.project
    evaluator = project.evaluator(None)
    for one in wraps:
        if is_thrown_away(project, one):
            for given in one.site.call.args:
                for option in options_of(evaluator.ask(given, one.file, one.site.function)):
                    if isinstance(option, Instance) and option.identity == loader.identity:
                        return True
    return False


def _samplers_beside(context: CheckContext, loader: Instance) -> Iterator[CallSite]:
    project: Project = context.project
    for site in project.calls_to(set(context.parameters["samplers"])):
        if (site.file, site.site.function) == (loader.frame.file, loader.frame.function):
            if not _is_given(context, site):
                yield site


def _is_given(context: CheckContext, sampler: CallSite) -> bool:
    """Whether some loader of the project draws from a sampler."""
    project: Project = context.project
    for found in project.calls_to(set(context.parameters["loaders"])):
        loader = made_at(project, found)
        for name in ("sampler", "batch_sampler"):
            _, options, _ = argument_of(project, loader, name, context.parameters["signature"])
            for one in (*options, *(inner for option in options for inner in _drawn_from(context, option))):
                if isinstance(one, Instance) and one.call.at == sampler.site.call.at and one.frame.file == sampler.file:
                    return True
    return False


def _drawn_from(context: CheckContext, value: object) -> tuple[object, ...]:
    """The samplers that a batch sampler of the library makes its batches of; ``None`` for one that is not known."""
    if not isinstance(value, Instance) or not isinstance(value.callee, External):
        return ()
    if value.callee.name not in context.parameters.get("batchers", ()):
        return ()
    _, options, known = argument_of(context.project, value, "sampler", ("sampler", "batch_size", "drop_last"))
    return options if known and options else (None,)


def is_whole(context: CheckContext, loader: Instance) -> bool:
    """Whether a loader certainly hands out all of a dataset that does not depend on the rank."""
    project: Project = context.project
    signature = context.parameters["signature"]
    if not isinstance(loader.callee, External):
        return False
    for name in ("sampler", "batch_sampler"):
        _, options, known = argument_of(project, loader, name, signature)
        if not known or not all(is_none(one) or _is_plain(context, one) for one in options):
            return False
    expr, options, _ = argument_of(project, loader, "dataset", signature)
    if expr is None or not options:
        return False
    if not all(_is_dataset(context, one) for one in options) and not is_list(project, expr, loader.frame, loader.state):
        return False
    if _is_parted_by_workers(project, loader):
        return False
    made = derivation(project, expr, loader.frame.file, loader.frame.function, by_field=True)
    names = made.names() if not is_stream(context, options) else _names_of_stream(made, loader)
    if not made.whole or (
        any(RANK_WORDS.search(name) for name in names)
        and not _never_asks(context, expr, options, loader)
        and not (is_stream(context, options) and never_handed(project, expr, loader, made))
    ):
        return False
    return not made.is_random(context.parameters.get("generators", ())) or _is_seeded_alike(context, loader.frame.file)


def _is_parted_by_workers(project: Project, loader: Instance) -> bool:
    """Whether what each worker of a loader starts with has to do with the rank: it may change the worker's copy of the dataset."""
    start, _ = find_argument(loader.call, "worker_init_fn", None)
    if start is None:
        return False
    made = derivation(project, start, loader.frame.file, loader.frame.function)
    for target in (project.modules.resolve(one.expr, one.file) for one in made.parts if type(one.expr) is ir.Name):
        if isinstance(target, FunctionRef):
            body = derivation_of_body(project, target)
            names = set(body.names())
            if "dataset" in names and any(RANK_WORDS.search(WORKERS.sub("", name)) for name in names):
                return True
    return False


def is_stream(context: CheckContext, options: tuple[Abstract, ...]) -> bool:
    """Whether a dataset is certainly one of those that are gone through without a sampler."""
    return all(
        isinstance(one, Instance)
        and isinstance(one.callee, ClassRef)
        and bool(set(context.project.modules.external_bases(one.callee)) & set(context.parameters.get("streams", ())))
        for one in options
    )


def _never_asks(context: CheckContext, expr: ir.Expr, options: tuple[Abstract, ...], loader: Instance) -> bool:
    """Whether streams are told the rank, but nothing that goes through them asks for what they were told."""
    project: Project = context.project
    if not is_stream(context, options) or is_told(project, expr, loader.frame.file, loader.frame.function):
        return False
    for one in options:
        if not isinstance(one, Instance) or not isinstance(one.callee, ClassRef):
            return False
        method = project.modules.method(one.callee, "__iter__")
        made_of = derivation_of_body(project, method, one.callee) if method is not None else None
        if (
            made_of is None
            or not made_of.whole
            or any(RANK_WORDS.search(name) for name in _names_of_stream(made_of, loader))
        ):
            return False
    return True


def _names_of_stream(made: Derivation, loader: Instance) -> Iterator[str]:
    """The names that a stream is made from, without those of its shards and of the workers of its loader, which know nothing of ranks."""
    tells_workers = find_argument(loader.call, "worker_init_fn", None)[0] is not None
    for name in made.names():
        word = SHARDS.sub("", name)
        yield word if tells_workers else WORKERS.sub("", word)


def _is_plain(context: CheckContext, value: object) -> bool:
    """Whether a sampler is one of the library's own, or the project's, that know nothing of ranks."""
    if not isinstance(value, Instance):
        return False
    if isinstance(value.callee, ClassRef):
        bases = context.project.modules.external_bases(value.callee)
        apart = context.parameters["samplers"]
        if not bases or any(not one.startswith(context.parameters["plain-samplers"]) or one in apart for one in bases):
            return False
        made = derivation_without_rank(context.project, value, apart)
        # whoever draws at random without a common seed draws something else on each rank
        return made is not None and (not made.is_random() or _is_seeded_alike(context, value.frame.file))
    if not isinstance(value.callee, External):
        return False
    name = value.callee.name
    if not name.startswith(context.parameters["plain-samplers"]) or name in context.parameters["samplers"]:
        return False
    drawing, files = context.parameters.get("drawing", {}), family(context.project, value.frame.file)
    if not is_of_no_rank(context.project, value, drawing):
        return False
    if draws_own(context.project, value, drawing, files, context.parameters["seeds"]):
        return False
    return all(_is_plain(context, one) for one in _drawn_from(context, value))


def _is_dataset(context: CheckContext, value: object) -> bool:
    if not isinstance(value, Instance):
        return False
    if isinstance(value.callee, ClassRef):
        bases = context.project.modules.external_bases(value.callee)
        return all(base.startswith(tuple(context.parameters["datasets"])) for base in bases)
    return isinstance(value.callee, External) and value.callee.name.startswith(tuple(context.parameters["datasets"]))


def _is_seeded_alike(context: CheckContext, file: str, library: str = "") -> bool:
    """Whether random numbers (of a library) are seeded in the program, and never by the rank."""
    return is_seeded_alike(context.project, family(context.project, file), context.parameters["seeds"], library)


def _parts_batches(context: CheckContext, place: Pass) -> bool:
    """Whether a loop takes each rank's part of a batch, or of the batches, itself."""
    for statement in statements(place.body):
        for expr in expressions_of(statement):
            for part in below(expr):
                if type(part) is ir.Call:
                    func = part.func
                    name = func.name if type(func) is ir.Attribute else func.id if type(func) is ir.Name else ""
                    if name in context.parameters["spreading"]:
                        return True
                if type(part) is ir.Subscript and _names_rank(part.index):
                    return True
                if type(part) is ir.Operation and "%" in part.operators and _names_rank(part):
                    return True
    return _names_rank(place.iterable)


def _names_rank(expr: ir.Expr) -> bool:
    for part in below(expr):
        word = part.id if type(part) is ir.Name else part.name if type(part) is ir.Attribute else ""
        if word and RANK_WORDS.search(word):
            return True
    return False
