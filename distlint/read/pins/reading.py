"""The result of reading a file of pins, and the collector with which the readers make it."""

from __future__ import annotations

import re
from dataclasses import field, replace

from distlint.knowledge.distributions import (
    CUDA,
    TOOLKIT,
    cuda_of_build,
    cuda_of_runtime,
    cuda_specifier,
    image_packages,
    image_toolkit,
    is_built_for_cuda,
)
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
    elsewhere: bool = False
    """Whether it names a place for packages other than the public index."""

    def in_sequence(self, prefix: str) -> PinReading:
        """The same with a prefix to the sequences of the pins; with ``""`` their sequence is not known."""
        if not any(pin.sequence for pin in self.pins):
            return self
        return replace(
            self,
            pins=tuple(replace(pin, sequence=pin.sequence and prefix and prefix + pin.sequence) for pin in self.pins),
        )


INDEX_VARIABLES = frozenset(
    {
        "PIP_INDEX_URL",
        "PIP_EXTRA_INDEX_URL",
        "PIP_FIND_LINKS",
        "UV_INDEX",
        "UV_INDEX_URL",
        "UV_DEFAULT_INDEX",
        "UV_EXTRA_INDEX_URL",
        "UV_FIND_LINKS",
        "UV_TORCH_BACKEND",
    }
)
"""Variables of the environment from which installers take where wheels come from."""


_OFFICIAL = re.compile(
    r"https?://(?:pypi\.(?:python\.)?org|pypi\.tuna\.tsinghua\.edu\.cn|pypi\.doubani?o?\.com|repo\.huaweicloud\.com"
    r"|(?:pypi\.)?mirrors?\.[\w.-]+)/(?:[\w-]+/){0,3}simple/?"
    r"|https?://download\.pytorch\.org/whl(?!.*(?:lts|nightly|test))\S*"
    r"|auto|cpu|cu\d+|rocm[\d.]+|xpu"
)
"""The public index, its mirrors, that of PyTorch (whose releases have the same numbers), and names of its parts."""


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
    elsewhere: bool = False
    """Whether packages may come from another place than the public index."""

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
        if not requirement.name:
            return
        pin = Pin(
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
        self.pins.append(pin)
        if "cu" in pin.url or "+cu" in pin.specifier:
            self._add_build(pin)
        elif pin.name.startswith("nvidia-cuda") and pin.specifier.startswith("==") and cuda_of_runtime(pin.name):
            self.pins.append(replace(pin, name=CUDA, specifier=cuda_specifier(pin.specifier[2:]), extras=()))

    def _add_build(self, pin: Pin) -> None:
        """The CUDA that a wheel was built for is a pin too: ``torch==2.1.0+cu121`` and the address of such a wheel."""
        from urllib.parse import unquote

        text = unquote(pin.url) if pin.url else pin.specifier
        version = cuda_of_build(text.rpartition("+")[2].partition("-")[0]) if is_built_for_cuda(pin.name) else ""
        if version:
            self.pins.append(replace(pin, name=CUDA, specifier=cuda_specifier(version), extras=(), url=""))

    def add_index(self, address: str, span: Span, group: str = "", *, optional: bool = False) -> None:
        """Adds the CUDA of the wheels that an index holds, where its address tells (``…/whl/cu121``)."""
        self.elsewhere = self.elsewhere or not _OFFICIAL.fullmatch(address.strip("\"' "))
        version = cuda_of_build(address) if "cu" in address else ""
        if version:
            self.add_parsed(Requirement(CUDA, cuda_specifier(version)), span, group, optional=optional)

    def add_image(self, image: str, span: Span, group: str) -> bool:
        """Adds what a container image brings; whether its name tells anything."""
        found = image_packages(image)
        for package, specifier in found:
            self.add_parsed(Requirement(package, specifier), span, group)
            if package == CUDA and image_toolkit(image):
                self.add_parsed(Requirement(TOOLKIT, specifier), span, group)
        return bool(found)

    def error(self, span: Span, message: str) -> None:
        """Records something that could not be read."""
        self.errors.append(ReadError(span, message))

    def include(self, path: str, span: Span, group: str = "", *, constraint: bool = False) -> None:
        """Records another file by the path as written; addresses outside the project are left out."""
        path = path.removeprefix("file:") if not path.startswith("file://") else path
        if path and "://" not in path:
            self.includes.append(Include(path, span, constraint, environment_name(self.file, group)))

    def take(self, reading: PinReading) -> None:
        """Adds what was read elsewhere."""
        self.pins += reading.pins
        self.includes += reading.includes
        self.errors += reading.errors
        if reading.elsewhere and all(pin.name == CUDA for pin in reading.pins):
            self.elsewhere = True  # a setting that holds for the commands to come

    def reading(self) -> PinReading:
        """What was gathered."""
        pins, includes = self.pins, self.includes
        if self.elsewhere:
            pins = [replace(pin, elsewhere=True) for pin in pins]
            includes = [replace(include, elsewhere=True) for include in includes]
        return PinReading(tuple(pins), tuple(includes), tuple(self.errors), self.elsewhere)
