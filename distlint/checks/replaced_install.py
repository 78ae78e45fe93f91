"""Releases that one install command pins and a later one replaces."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.registry import CheckContext, check
from distlint.model.finding import Finding, Related


@check("replaced-install")
def replaced_install(context: CheckContext) -> Iterator[Finding]:
    """Commands that run one after the other, of which a later one brings another release of what an earlier one pins."""
    from distlint.link.replaced_installs import replaced_installs

    for one in replaced_installs(context.project):
        kept, later = f"{one.pin.name}{one.pin.specifier}", one.later.name
        fits = f"; {later} {one.kept_by} leaves it as it is" if one.kept_by else ""
        yield context.finding(
            f"`{later}{one.later.specifier}` replaces `{kept}`, which line {one.pin.span.line} installs:"
            f" {later} {one.release} asks for `{one.pin.name}{one.asked}`{fits}",
            one.later.span,
            related=[Related(one.pin.span, f"`{kept}` is installed here")],
            symbol=f"{one.pin.name} {later}",
        )
