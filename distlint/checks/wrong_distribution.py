"""Requirements that name another project than the one that is meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from distlint.checks.registry import CheckContext, check
from distlint.model.finding import Finding

_COMMANDS = ("dockerfile", "shell")
_FILES = ("requirements", "pyproject", "setup", "pipfile", "lock", "script")


@check("wrong-distribution")
def wrong_distribution(context: CheckContext) -> Iterator[Finding]:
    """Requirements by names that the package index gives to other projects; ``packages`` says to which."""
    packages: Mapping[str, str] = context.parameters["packages"]
    for path in sorted(context.project.facts):
        for pin in context.project.facts[path].pins:
            if pin.name in packages and not pin.url and pin.origin in (*_FILES, *_COMMANDS) and not pin.dynamic:
                message = f"`{pin.name}` on the package index is {packages[pin.name]}"
                yield context.finding(message, pin.span, symbol=pin.name)
