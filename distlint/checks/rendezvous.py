"""Jobs on several nodes that name no place to meet."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.checks.registry import CheckContext, check
from distlint.model.finding import Finding
from distlint.model.launch import Launch


@check("rendezvous")
def rendezvous(context: CheckContext) -> Iterator[Finding]:
    """A finding for every launch on more than one node that neither an option nor a variable gives an address."""
    for launch in context.project.launches:
        if launch.launcher in context.parameters["launchers"] and _is_lost(context, launch):
            nodes = launch.options.get("nodes")
            yield context.finding(
                f"{launch.nodes.only} nodes, but no address to meet at",
                nodes.span if nodes is not None else launch.span,
                confidence=launch.nodes.confidence,
                symbol=launch.script_file,
            )


def _is_lost(context: CheckContext, launch: Launch) -> bool:
    nodes = launch.nodes.only
    if not isinstance(nodes, int) or nodes < 2 or launch.open_options:
        return False
    by_option = any(dest in launch.options for dest in context.parameters["addresses"])
    return not by_option and not any(name in launch.environment for name in context.parameters["variables"])
