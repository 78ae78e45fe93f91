"""The result of reading a file of pins, and the collector with which the readers make it."""

from __future__ import annotations

from dataclasses import field

from distlint.model.facts import ReadError
from distlint.model.pin import Include, Pin
from distlint.model.record import dataclass
from distlint.model.span import Span
from distlint.read.pins.requirement import Requirement, RequirementError, parse_requirement


@dataclass(frozen=True, slots=True)
class PinReading:
    """What one file says about versions, the other files that it names, and what could not be read."""

    pins: tuple[Pin, ...] = ()
    includes: tuple[Include, ...] = ()
    errors: tuple[ReadError, ...] = ()


def environment_name(file: str, group: str = "") -> str:
    """The key of an environment: the file's folder (``""`` for the root), and ``#group`` where there is one."""
    folder = file.rpartition("/")[0]
    return f"{folder}#{group}" if group else folder


@dataclass(slots=True)
class Collector:
    """Gathers the pins of one file; ``origin`` as in ``Pin``."""

    file: str
    origin: str
    pins: list[Pin] = field(default_factory=list)
    includes: list[Include] = field(default_factory=list)
    errors: list[ReadError] = field(default_factory=list)

    def add(self, text: str, span: Span, group: str = "", *, optional: bool = False, origin: str = "") -> None:
        """Adds a requirement as PEP 508 or pip spell it; an error is recorded, not raised."""
        try:
            requirement = parse_requirement(text)
        except RequirementError as error:
            self.error(span, str(error))
            return
        self.add_parsed(requirement, span, group, optional=optional, origin=origin)

    def add_parsed(
        self, requirement: Requirement, span: Span, group: str = "", *, optional: bool = False, origin: str = ""
    ) -> None:
        """Adds a requirement that is already taken apart; one without a name (a local path) tells no version."""
        if requirement.name:
            self.pins.append(
                Pin(
                    name=requirement.name,
                    specifier=requirement.specifier,
                    span=span,
                    origin=origin or self.origin,
                    environment=environment_name(self.file, group),
                    marker=requirement.marker,
                    extras=requirement.extras,
                    url=requirement.url,
                    optional=optional,
                    dynamic=requirement.dynamic,
                )
            )

    def error(self, span: Span, message: str) -> None:
        """Records something that could not be read."""
        self.errors.append(ReadError(span, message))

    def include(self, path: str, span: Span, *, constraint: bool = False) -> None:
        """Records another file by the path as written; addresses outside the project are left out."""
        if path and "://" not in path:
            self.includes.append(Include(path, span, constraint))

    def reading(self) -> PinReading:
        """What was gathered."""
        return PinReading(tuple(self.pins), tuple(self.includes), tuple(self.errors))
