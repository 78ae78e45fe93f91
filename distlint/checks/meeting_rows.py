"""Rows that each process has worked out of its share of a data set, put beside the rows of the whole one in another order."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.meetings import Suspicion
from distlint.model.finding import Related
from distlint.rehearsal.performance import Performance
from distlint.rehearsal.row_orders import IN_TURN, MISPAIRED, Mispaired


def rows_out_of_order(performance: Performance) -> Iterator[Suspicion]:
    """What the ranks have brought together stands in another order than the data set that it is compared with, or written beside."""
    seen = set()
    for stage in performance.stages:
        for found in stage.kept.get(MISPAIRED, {}).values():
            place = found.share.joined or found.share.gathered or found.span
            if place not in seen:
                seen.add(place)
                yield Suspicion(place, _message(found), _related(found))


def _message(found: Mispaired) -> str:
    if found.share.how == IN_TURN or found.share.dealt.shuffled:
        return "the sampler draws the rows in a random order, and they are paired with the data set in its own order"
    return "the ranks' rows are joined rank by rank, but the sampler deals rows out in turn: they are paired with others of the data set"


def _related(found: Mispaired) -> tuple[Related, ...]:
    share = found.share
    related = [Related(found.span, "here they stand beside rows in the order of the data set")]
    related.append(Related(share.dealt.sampler, "this sampler deals out the rows"))
    if share.gathered is not None and share.gathered != share.joined:
        related.append(Related(share.gathered, "the rows of all ranks are gathered here"))
    place = share.joined or share.gathered or found.span
    return tuple(one for one in related if one.span != place)
