"""Samplers of a library: whether they know nothing of ranks, and whether they deal out all of the data or draw some of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from distlint.checks.derivations import RANK_WORDS, Derivation, derivation
from distlint.checks.loaders import argument_of, is_none
from distlint.checks.rank_seeds import told_by_rank
from distlint.link.abstract import Instance
from distlint.link.arguments import find_argument
from distlint.link.modules import External
from distlint.model import python as ir
from distlint.model.document import Leaf

if TYPE_CHECKING:
    from distlint.link.project import Project

SHARDS = re.compile(r"shards?|sharded|sharding", re.IGNORECASE)
"""What streams are read from: whoever gives each rank others names the rank as well."""
WORKERS = re.compile(r"worker_info|split_by_workers?", re.IGNORECASE)
"""What tells apart the workers of one loader."""
_GENERATING = frozenset({"torch", "numpy", "random"})
"""Libraries with random numbers of their own; what others have seeds all of them."""


def is_of_no_rank(project: Project, sampler: Instance, drawing: dict[str, dict[str, Any]]) -> bool:
    """Whether what a library's sampler is given has nothing to do with the rank.

    How many items it draws says nothing of which: ``drawing`` are the samplers that draw, by their names, each with its positional
    ``signature``, the arguments that make it draw (``by``; without any it always does) and those that say how many (``counts``).
    """
    known = _of(sampler, drawing)
    counts, signature = known.get("counts", ()), known.get("signature", ())
    for place, given in enumerate(sampler.call.args):
        if type(given) is ir.Starred:
            return False
        if place < len(signature) and signature[place] in counts:
            continue
        if not _is_common(project, given, sampler):
            return False
    return all(
        word.name is not None and (word.name in counts or _is_common(project, word.value, sampler))
        for word in sampler.call.keywords
    )


def _is_common(project: Project, given: ir.Expr, sampler: Instance) -> bool:
    found = derivation(project, given, sampler.frame.file, sampler.frame.function)
    return found.whole and not found.mentions_rank()


def draws(project: Project, sampler: Instance, drawing: dict[str, dict[str, Any]]) -> bool:
    """Whether a library's sampler may draw some of the items, maybe some twice, instead of giving each of them once."""
    known = _of(sampler, drawing)
    if not known:
        return False
    if not known.get("by"):
        return True
    for name in known["by"]:
        _, options, certain = argument_of(project, sampler, name, known["signature"])
        if not certain or not all(is_none(one) or _is_false(one) for one in options):
            return True
        given, _ = find_argument(sampler.call, name, known["signature"].index(name))
        if given is not None and not options:
            return True
    return False


def draws_own(
    project: Project,
    sampler: Instance,
    drawing: dict[str, dict[str, Any]],
    files: Collection[str],
    seeds: Collection[str],
) -> bool:
    """Whether a library's sampler may draw other items on each rank: random numbers are the same only where all seed alike."""
    if not draws(project, sampler, drawing):
        return False
    position = _of(sampler, drawing)["signature"].index("generator")
    own = find_argument(sampler.call, "generator", position)[0]
    return not is_seeded_alike(project, files, seeds, "" if own is not None else "torch")


def _of(sampler: Instance, drawing: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return drawing.get(sampler.callee.name, {}) if isinstance(sampler.callee, External) else {}


def _is_false(value: object) -> bool:
    return isinstance(value, Leaf) and value.value.is_known and value.value.only is False


def names_rank(names: Iterator[str]) -> bool:
    """Whether one of the names a number is made from may be another one on each rank: a shard, or a worker of a loader, is not."""
    return any(RANK_WORDS.search(WORKERS.sub("", SHARDS.sub("", name))) for name in names)


def is_seeded_alike(project: Project, files: Collection[str], seeds: Collection[str], library: str = "") -> bool:
    """Whether random numbers (of a library) are seeded in the files of a program, and never by the rank."""

    def tells_rank(given: ir.Expr, file: str, function: int) -> bool:
        made: Derivation = derivation(project, given, file, function, by_field=True)
        return names_rank(made.names())

    seeded = False
    for site in project.calls_to(set(seeds)):
        if site.file in files and site.site.call.args:
            told = told_by_rank(project, site) is not False
            if told or tells_rank(site.site.call.args[0], site.file, site.site.function):
                return False
            root = site.name.partition(".")[0]
            seeded = seeded or not library or root == library or root not in _GENERATING
    for site in project.sites("manual_seed"):
        if site.file in files and site.site.call.args:
            if tells_rank(site.site.call.args[0], site.file, site.site.function):
                return False
            seeded = seeded or not library
    return seeded
