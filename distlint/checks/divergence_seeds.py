"""Random numbers over the ranks: the same where all seed alike, else each rank's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distlint.checks.divergence_frames import ground_of, ground_of_frame
from distlint.checks.divergence_state import DIFFERS, THE_SAME, UNKNOWN, Divergence
from distlint.checks.rank_seeds import told_by_rank
from distlint.link.abstract import Instance
from distlint.model import python as ir
from distlint.model.span import Span

if TYPE_CHECKING:
    from distlint.checks.divergence_trace import Ground, Tracer
    from distlint.model.framework import GeneratorSpec

MAX_SEEDS = 12

UNSEEDED = "random numbers that each rank draws for itself"
_OWN_SEED = "random numbers with a seed of each rank's own"


def drawn(tracer: Tracer, generator: GeneratorSpec, file: str, span: Span) -> Divergence:
    """What is drawn from a generator in a file."""
    key = ("drawn", generator.name, file)
    found = tracer.guarded(key, lambda: _seeded(tracer, generator, file))
    return found if not found.differs or found.places else found._replace(places=(span,))


def _seeded(tracer: Tracer, generator: GeneratorSpec, file: str) -> Divergence:
    closure = tracer.project.closure(file)
    sites = [site for site in tracer.project.calls_to(set(generator.seeds)) if site.file in closure]
    if not sites:
        # whoever imports the file may seed for it
        others = any(True for _ in tracer.project.calls_to(set(generator.seeds)))
        return UNKNOWN if others else Divergence(DIFFERS, UNSEEDED)
    if len(sites) > MAX_SEEDS:
        return UNKNOWN
    ways = []
    told = {told_by_rank(tracer.project, site) for site in sites}
    if told != {False}:
        # where some calls seed by the rank and others alike, the order of them decides
        places = tuple(ir.unpack(site.site.call.at, site.file) for site in sites)
        return Divergence(DIFFERS, _OWN_SEED, places[:1]) if told == {True} else UNKNOWN
    for site in sites:
        arguments = (*site.site.call.args, *(keyword.value for keyword in site.site.call.keywords))
        if not arguments:
            return Divergence(DIFFERS, UNSEEDED)
        ways.append(tracer.here(arguments[0], tracer.ground(site.file, site.site.function)))
    differing = next((way for way in ways if way.differs), None)
    if differing is not None:
        return Divergence(DIFFERS, _OWN_SEED, differing.places)
    return THE_SAME if all(way.is_same for way in ways) else UNKNOWN


def of_generator(tracer: Tracer, option: Instance, ground: Ground, span: Span) -> Divergence:
    """What is drawn from a generator object: as its seed is, for the calls that lead to where it is asked for."""
    found = None
    arguments = [*option.call.args, *(k.value for k in option.call.keywords if k.name == "seed")]
    if arguments and type(arguments[0]) is not ir.Starred:
        found = tracer.of(arguments[0], ground_of_frame(tracer, option.frame, ground), option.state)
    for site in tracer.project.sites("manual_seed"):
        func = site.site.call.func
        if type(func) is not ir.Attribute or not site.site.call.args or site.file != ground.file:
            continue
        known = tracer.evaluator.ask(func.base, site.file, site.site.function)
        if isinstance(known, Instance) and known.identity == option.identity:
            found = tracer.here(site.site.call.args[0], ground_of(tracer, ground, site.file, site.site.function))
    if found is None:
        return Divergence(DIFFERS, UNSEEDED, (span,))
    if found.differs:
        return Divergence(DIFFERS, _OWN_SEED, found.places)
    return found
