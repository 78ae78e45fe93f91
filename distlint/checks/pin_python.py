"""Pinned releases that don't support the Python which the project uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.checks.registry import CheckContext, check
from distlint.knowledge.releases import requires_python
from distlint.model.finding import Finding, Related

if TYPE_CHECKING:
    from distlint.link.environments import VersionView


@check("pin-python")
def pin_python(context: CheckContext) -> Iterator[Finding]:
    """Packages of which no allowed release installs with any Python that the same environment allows.

    Their metadata decides, and their wheels where there is no source archive.
    """
    for view in context.project.environments.views():
        pythons = _pythons(view)
        place = view.span("python")
        if not pythons or place is None:
            continue
        for package in view.packages():
            span = view.span(package)
            if span is None or not view.is_pinned(package) or package == "python":
                continue
            allowed = view.allowed(package)
            pairs = ((version, python) for version in allowed for python in pythons)
            if not allowed or any(not _reason(package, version, python) for version, python in pairs):
                continue
            related = [Related(place, f"Python {' or '.join(pythons)} is asked for here")]
            yield context.finding(
                f"{package} {allowed[-1]} can't be installed with Python {pythons[0]}"
                f" ({_reason(package, allowed[-1], pythons[0])})",
                span,
                related=related,
                symbol=package,
            )


def _pythons(view: VersionView) -> tuple[str, ...]:
    """The minor versions of Python that the environment allows; ``()`` where it leaves them open."""
    from distlint.link.version_sets import PYTHONS, pythons_allowed

    pins = view.pins("python")
    if len(pins) != 1 or pins[0].dynamic or not pins[0].specifier:
        return ()
    allowed = pythons_allowed([pins[0].specifier])
    return allowed if len(allowed) < len(PYTHONS) and "==" in pins[0].specifier else ()


def _reason(package: str, version: str, python: str) -> str:
    """Why a release does not install with a Python; ``""`` if nothing speaks against it."""
    from packaging.specifiers import SpecifierSet

    from distlint.knowledge.requirements import requirements

    known = requirements(package)
    asked = requires_python(package, version) or (known.asked_python(version) if known is not None else "")
    if asked and not any(SpecifierSet(asked).contains(f"{python}.{patch}") for patch in (0, 5, 12, 99)):
        return f"it asks for Python {asked}"
    wheels = known.wheel_pythons(version) if known is not None else ()
    if known is None or not wheels or python in wheels:
        return ""
    releases = known.line.releases
    newer = releases[releases.index(version) + 1 :] if version in releases else ()
    later = next((release for release in newer if python in known.wheel_pythons(release)), "")
    if later:
        return f"the first release with a wheel for it is {later}"
    return f"its wheels are for Python {wheels[0]} to {wheels[-1]}"
