"""The package index that pip is configured for: which files each release of a package has."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from pip._internal.configuration import Configuration
from pip._internal.models.index import PyPI
from pip._internal.network.session import PipSession

ACCEPT = "application/vnd.pypi.simple.v1+html, text/html;q=0.5"


@dataclass(frozen=True)
class ReleaseFile:
    """One file of a release: its name, address, digest, the Python it asks for, and whether it was withdrawn."""

    name: str
    url: str
    digest: str
    requires_python: str
    yanked: bool
    uploaded: str

    @property
    def is_wheel(self) -> bool:
        """Whether it is a wheel rather than a source archive."""
        return self.name.endswith(".whl")


@dataclass
class Release:
    """The files of one release."""

    version: Version
    files: list[ReleaseFile] = field(default_factory=list)

    @property
    def yanked(self) -> bool:
        """Whether all files were withdrawn: installers take such a release only where it is asked for exactly."""
        return all(file.yanked for file in self.files)

    @property
    def requires_python(self) -> str:
        """The Python versions that the release asks for; ``""`` where it says nothing."""
        return next((file.requires_python for file in reversed(self.files) if file.requires_python), "")


def index_url() -> str:
    """The index that pip would use."""
    configuration = Configuration(isolated=False)
    configuration.load()
    settings = dict(configuration.items())
    for key in (":env:.index-url", "install.index-url", "global.index-url"):
        for name, value in settings.items():
            found = value.get(key) if isinstance(value, dict) else value if name == key else None
            if found:
                return str(found).rstrip("/")
    return PyPI.simple_url.rstrip("/")


def releases_of(session: PipSession, package: str) -> list[Release]:
    """The final releases of a package (no pre-releases), oldest first. Raises for a package that the index lacks."""
    page = f"{index_url()}/{package}/"
    response = session.get(page, headers={"Accept": ACCEPT})
    response.raise_for_status()
    links = _Links(page)
    links.feed(response.text)
    found: dict[Version, Release] = {}
    for file in links.files:
        version = _version(file.name)
        if version is not None and not version.is_prerelease and not version.local:
            found.setdefault(version, Release(version)).files.append(file)
    return [found[version] for version in sorted(found)]


class _Links(HTMLParser):
    """Collects the files of an index page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._page = page
        self.files: list[ReleaseFile] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes one link."""
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            url, digest = urldefrag(urljoin(self._page, given["href"] or ""))
            self.files.append(
                ReleaseFile(
                    unquote(urlsplit(url).path).rsplit("/", 1)[-1],
                    url,
                    digest.removeprefix("sha256="),
                    given.get("data-requires-python") or "",
                    "data-yanked" in given,
                    given.get("data-upload-time") or "",
                )
            )


def _version(filename: str) -> Version | None:
    """The version that a wheel or source archive has by its name; ``None`` for eggs, installers and broken names."""
    try:
        if filename.endswith(".whl"):
            return parse_wheel_filename(filename)[1]
        return parse_sdist_filename(filename)[1]
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
