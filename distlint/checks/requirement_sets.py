"""Requirements that no installer can satisfy together, by what the releases themselves declare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from distlint.checks.registry import CheckContext, check
from distlint.model.finding import Finding, FixPlan, Operation, Related, Severity
from distlint.model.value import Confidence

if TYPE_CHECKING:
    from distlint.link.installations import Asked, Installation
    from distlint.link.release_picks import Wish
    from distlint.link.set_conflicts import Conflict, Repair

_MAX_CONFLICTS = 3


@check("requirement-sets")
def requirement_sets(context: CheckContext) -> Iterator[Finding]:
    """Installations whose requirements contradict each other.

    ``kind`` says which of them: ``pins`` that contradict each other by themselves, ``releases`` that ask for what is not
    allowed, or releases that no ``python`` has together. ``builds`` are beginnings of names of packages that wheels from
    another index require in other releases.
    """
    from distlint.link.installations import installations

    wanted, builds = context.parameters["kind"], tuple(context.parameters.get("builds", ()))
    seen: set[tuple[object, ...]] = set()
    for installation in installations(context.project):
        asked = [
            one
            for one in installation.asked
            if not (installation.other_builds and one.wish.package.startswith(builds or ("\0",)))
        ]
        for conflict, kind in _conflicts(asked, installation):
            core = tuple(asked[at] for at in conflict.core)
            key = tuple(sorted(one.pin.span for one in core))
            if kind == wanted and key not in seen:
                seen.add(key)
                yield _finding(context, installation, core, conflict, kind)


def _conflicts(asked: Sequence[Asked], installation: Installation) -> Iterator[tuple[Conflict, str]]:
    """The conflicts of an installation, with their kind: when one is mended, others may be left."""
    wishes = [one.wish for one in asked]
    changed: set[int] = set()
    for _ in range(_MAX_CONFLICTS):
        conflict = _judged(tuple(wishes), installation.pythons, installation.free)
        if conflict is None or changed.intersection(conflict.core):
            return  # what follows from a change is not what the project says
        kind = _kind(tuple(wishes[at] for at in conflict.core), conflict, installation)
        if not kind:
            return
        yield conflict, kind
        at = conflict.repairs[0].position if conflict.repairs else conflict.core[0]
        mended = conflict.repairs[0].specifier if conflict.repairs else ""
        wishes[at] = wishes[at]._replace(specifier=mended)
        changed.add(at)


@lru_cache(maxsize=512)
def _judged(wishes: tuple[Wish, ...], pythons: tuple[str, ...], free: frozenset[str]) -> Conflict | None:
    from distlint.link.set_conflicts import Judge

    return Judge(wishes, pythons, free).conflict()


def _kind(core: tuple[Wish, ...], conflict: Conflict, installation: Installation) -> str:
    """What kind of conflict it is; ``""`` for one package alone that the Python does not have: that is told elsewhere."""
    from distlint.knowledge.requirements import PYTHONS

    if len({wish.package for wish in core}) == 1 and len(core) > 1:
        return "pins"
    anywhere = _judged(core, PYTHONS, installation.free) is None
    if len(core) == 1:
        return "python" if anywhere and conflict.pythons else ""
    return "python" if anywhere or not conflict.pythons else "releases"


def _finding(
    context: CheckContext,
    installation: Installation,
    core: Sequence[Asked],
    conflict: Conflict,
    kind: str,
) -> Finding:
    written = {one.pin: f"`{one.wish.package}{one.pin.specifier or one.wish.specifier}`" for one in core}
    names = _listed(list(dict.fromkeys(written.values())))
    repair = conflict.repairs[0] if conflict.repairs else None
    place = next(
        (one for at, one in zip(conflict.core, core, strict=True) if repair and at == repair.position), core[0]
    )
    if kind == "pins":
        message = f"{names} contradict each other: no {core[0].wish.package} satisfies both"
    elif kind == "python":
        message = _about_python(names, core, conflict, installation)
    else:
        facts = "; ".join(conflict.facts) or "no releases of them do by what they declare"
        message = f"{names} don't fit together: {facts}"
    related = [Related(one.pin.span, f"{written[one.pin]} is required here") for one in core if one is not place]
    return context.finding(
        message + _what_fits(conflict.repairs, core, conflict.core, kind),
        place.pin.span,
        related=related,
        confidence=Confidence.LIKELY if installation.by_conda else Confidence.CERTAIN,
        severity=Severity.WARNING if installation.by_conda else None,
        plan=_plan(context, place, repair),
        symbol=" ".join(dict.fromkeys(one.wish.package for one in core)),
    )


def _listed(texts: Sequence[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else texts[0]


def _what_fits(repairs: Sequence[Repair], core: Sequence[Asked], positions: Sequence[int], kind: str) -> str:
    """The changes that make the set consistent, each of one requirement."""
    if kind == "pins" or not repairs:
        return ""
    wish = {at: one.wish for at, one in zip(positions, core, strict=True)}
    texts = [f"`{wish[repair.position].package}{repair.specifier}`" for repair in repairs[:2]]
    return f"; {' or '.join(texts)} would fit"


def _about_python(names: str, core: Sequence[Asked], conflict: Conflict, installation: Installation) -> str:
    from distlint.knowledge.requirements import PYTHONS, requirements

    told = []
    for one in core:
        known = requirements(one.wish.package)
        admitted = known.line.admitted(one.wish.specifier) if known is not None else None
        if known is None or not admitted:
            continue
        minors = [python for at, python in enumerate(PYTHONS) if known.installable(1 << at) & admitted]
        if minors and len(minors) < len(PYTHONS):
            told.append(f"{one.wish.package} {known.line.newest(admitted)} with Python {_range(minors)}")
    facts = "; ".join(conflict.facts)
    if len(conflict.pythons) == 0 and told:
        return f"no Python has releases for {names}: {' and '.join(told)}"
    asked = _range(list(installation.pythons))
    reasons = "; ".join(filter(None, (facts, " and ".join(told))))
    return f"{names} can't be installed with Python {asked}" + (f": {reasons}" if reasons else "")


def _range(minors: Sequence[str]) -> str:
    from distlint.knowledge.requirements import PYTHONS

    if minors[-1] == PYTHONS[-1]:
        return f"{minors[0]} or newer"
    return minors[0] if len(minors) == 1 else f"{minors[0]} to {minors[-1]}"


def _plan(context: CheckContext, place: Asked, repair: Repair | None) -> FixPlan | None:
    if repair is None or place.pin.url or "+" in place.pin.specifier or not repair.specifier:
        return None
    operation = Operation("set-specifier", place.pin.span, {"specifier": repair.specifier})
    return context.plan(operation, title=f"require `{place.wish.package}{repair.specifier}`")
