"""Requirements that no release satisfies, and releases that were withdrawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.registry import CheckContext, check
from distlint.model.finding import Finding, FixPlan, Operation, Severity

if TYPE_CHECKING:
    from distlint.knowledge.requirements import Requirements
    from distlint.link.installations import Sought


@check("pin-existence")
def pin_existence(context: CheckContext) -> Iterator[Finding]:
    """Requirements from the public index that no release satisfies, and those that name a withdrawn release.

    ``outside`` are releases by package that some places have, but not the public index.
    """
    from distlint.link.installations import sought

    outside = context.parameters.get("outside", {})
    wanted = list(sought(context.project))
    written = Counter(one.pin.span for one in wanted)
    for one in wanted:
        if one.pin.specifier and any(version in one.pin.specifier for version in outside.get(one.pin.name, ())):
            continue
        finding = _judged(context, one, alone=written[one.pin.span] == 1)
        if finding is not None:
            yield finding


def _judged(context: CheckContext, one: Sought, *, alone: bool) -> Finding | None:
    from distlint.knowledge.requirements import requirements
    from distlint.link.installations import release_specifier

    specifier = release_specifier(one.pin)
    if "===" in specifier:
        return None  # this compares texts, and other places may spell a version so
    known = requirements(one.pin.name) if specifier else None
    admitted = known.line.admitted(specifier) if known is not None else None
    if known is None or admitted is None:
        return None
    text = f"`{one.pin.name}{one.pin.specifier}`"
    if not admitted:
        return _missing(context, one, known, specifier, text, alone=alone)
    if admitted & ~known.yanked or not _names_release(specifier) or "+" in one.pin.specifier:
        return None  # what the public index withdrew, an index of builds may still have
    release = known.line.newest(admitted)
    near = _near(known, release)
    instead = f"; {near[0]} took its place" if near and _follows(known, near[0], release) else ""
    return context.finding(
        f"{text}: {one.pin.name} {release} was withdrawn by its authors{instead}",
        one.pin.span,
        severity=Severity.NOTE,
        plan=_plan(context, one, f"=={near[0]}" if near else "", alone=alone),
        symbol=one.pin.name,
        help="installers take it only because it is named exactly, and warn",
    )


def _missing(
    context: CheckContext, one: Sought, known: Requirements, specifier: str, text: str, *, alone: bool
) -> Finding | None:
    from distlint.knowledge.release_order import clauses, order_of
    from distlint.link.release_picks import contradicts

    bounds = [version.removesuffix(".*") for _, version in clauses(specifier) or ()]
    orders = [order_of(version) for version in bounds]
    releases = known.line.releases
    first, last = order_of(releases[0]), order_of(releases[-1])
    if first is None or last is None or not orders:
        return None
    # What is no plain version, lies outside of what is known, or was published again may exist in another place.
    if any(order is None or order[1] >= 0 or not first <= order <= last for order in orders):
        return None
    if contradicts([specifier]):
        message, near, wanted = f"{text}: no version at all satisfies this", [], ""
    else:
        near = _near(known, bounds[0]) if len(bounds) == 1 else _around(known, bounds)
        told = " and ".join(sorted(near, key=releases.index))
        message = f"{text}: {one.pin.name} has no such release; the nearest {'is' if len(near) == 1 else 'are'} {told}"
        wanted = f"=={near[0]}" if len(bounds) == 1 else ""
    return context.finding(
        message,
        one.pin.span,
        severity=Severity.WARNING if one.limits_only else None,
        plan=_plan(context, one, wanted, alone=alone),
        symbol=one.pin.name,
    )


def _near(known: Requirements, version: str) -> list[str]:
    """The releases around a version that are not withdrawn: those of its own series, the one to take first."""
    from distlint.knowledge.release_order import order_of

    here = order_of(version)
    usable = [text for at, text in enumerate(known.line.releases) if not known.yanked >> at & 1]
    if here is None:
        return []
    below = [text for text in usable if (order_of(text) or here) < here][-1:]
    above = [text for text in usable if (order_of(text) or here) > here][:1]
    series = version.split(".")[:2]
    same = [text for text in (*below, *above) if text.split(".")[:2] == series]
    if known.line.admitted(f"=={version}"):
        return [*above, *below]  # what was withdrawn was mended by the next
    return [*same, *(text for text in (*below, *above) if text not in same)]


def _around(known: Requirements, bounds: list[str]) -> list[str]:
    """The releases at the ends of a range, or around it, that are not withdrawn."""
    from distlint.knowledge.release_order import order_of

    orders = [order for bound in bounds if (order := order_of(bound)) is not None]
    usable = [text for at, text in enumerate(known.line.releases) if not known.yanked >> at & 1]
    below = [text for text in usable if (order_of(text) or orders[0]) <= min(orders)][-1:]
    above = [text for text in usable if (order_of(text) or orders[0]) >= max(orders)][:1]
    return list(dict.fromkeys([*below, *above]))


def _follows(known: Requirements, later: str, earlier: str) -> bool:
    return known.line.releases.index(later) == known.line.releases.index(earlier) + 1


def _names_release(specifier: str) -> bool:
    from distlint.knowledge.release_order import names_one_version

    return names_one_version(specifier)


def _plan(context: CheckContext, one: Sought, specifier: str, *, alone: bool) -> FixPlan | None:
    if not specifier or not alone or "+" in one.pin.specifier:
        return None
    operation = Operation("set-specifier", one.pin.span, {"specifier": specifier})
    return context.plan(operation, title=f"require `{one.pin.name}{specifier}`")
