"""Writes ``distlint/knowledge/releases.json``: which releases each package has, and for which Python.

The lists come from the package index that pip is configured for (its simple API as HTML, which every index serves).
Pre-releases are left out and yanked releases are listed apart: an installer picks neither unasked.

Run it with an interpreter that has pip and packaging: ``python tools/harvest_releases.py [--check] [PACKAGE ...]``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pip
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from pip._internal.configuration import Configuration
from pip._internal.models.index import PyPI
from pip._internal.network.session import PipSession

TARGET = Path(__file__).resolve().parent.parent / "distlint" / "knowledge" / "releases.json"
ACCEPT = "application/vnd.pypi.simple.v1+html, text/html;q=0.5"
FORMAT = 1

PACKAGES = (
    "accelerate",
    "bitsandbytes",
    "colossalai",
    "datasets",
    "deepspeed",
    "diffusers",
    "flash-attn",
    "huggingface-hub",
    "lightning",
    "megatron-core",
    "numpy",
    "optimum",
    "peft",
    "pydantic",
    "pytorch-lightning",
    "ray",
    "safetensors",
    "sentence-transformers",
    "tokenizers",
    "torch",
    "torchaudio",
    "torchvision",
    "transformer-engine",
    "transformers",
    "triton",
    "trl",
    "vllm",
    "xformers",
)
"""NVIDIA's ``apex`` is missing on purpose: the index has an unrelated project of that name."""


def main() -> int:
    """Harvests all packages, or those named, and writes or compares the file."""
    parser = argparse.ArgumentParser(description="Harvest release lists from the configured package index.")
    parser.add_argument("packages", nargs="*", default=PACKAGES, help="only these (the others keep their lists)")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the lists have changed")
    options = parser.parse_args()
    old = json.loads(TARGET.read_text(encoding="utf-8"))["packages"] if TARGET.exists() else {}
    session, index = PipSession(retries=3), _index_url()
    harvested = {package: _harvest(session, index, package) for package in options.packages}
    packages = dict(sorted({**old, **harvested}.items()))
    if options.check:
        changed = sorted(name for name in packages if packages[name] != old.get(name))
        print("\n".join(changed) if changed else "up to date")
        return 1 if changed else 0
    TARGET.write_text(_render(packages), encoding="utf-8", newline="\n")
    print(f"{TARGET.name}: {len(packages)} packages, {sum(len(p['releases']) for p in packages.values())} releases")
    return 0


def _index_url() -> str:
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


class _Links(HTMLParser):
    """Collects the files of an index page: (file name, Requires-Python, yanked)."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[tuple[str, str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes one link."""
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            filename = unquote(urlsplit(given["href"] or "").path).rsplit("/", 1)[-1]
            self.files.append((filename, given.get("data-requires-python") or "", "data-yanked" in given))


def _harvest(session: PipSession, index: str, package: str) -> dict[str, Any]:
    response = session.get(f"{index}/{package}/", headers={"Accept": ACCEPT})
    response.raise_for_status()
    links = _Links()
    links.feed(response.text)
    requires: dict[Version, str] = {}
    yanked: dict[Version, bool] = {}
    for filename, requires_python, file_yanked in links.files:
        version = _version(filename)
        if version is None or version.is_prerelease or version.local:
            continue
        requires[version] = requires_python or requires.get(version, "")
        yanked[version] = file_yanked and yanked.get(version, True)
    return {
        "releases": [[str(v), requires[v]] for v in sorted(requires) if not yanked[v]],
        "yanked": [str(v) for v in sorted(requires) if yanked[v]],
    }


def _version(filename: str) -> Version | None:
    """The version that a wheel or source archive has by its name; ``None`` for eggs, installers and broken names."""
    try:
        if filename.endswith(".whl"):
            return parse_wheel_filename(filename)[1]
        return parse_sdist_filename(filename)[1]
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None


def _render(packages: dict[str, Any]) -> str:
    """JSON with one release per line, so that a new release is one line in a diff."""
    lines = [
        "{",
        f'"format": {FORMAT},',
        f'"harvested": "{dt.datetime.now(dt.timezone.utc).date()}",',
        f'"tool": "pip {pip.__version__}",',
        '"columns": ["version", "requires-python"],',
        '"packages": {',
    ]
    for position, (name, entry) in enumerate(packages.items()):
        rows = ",\n".join(f"  {json.dumps(row)}" for row in entry["releases"])
        comma = "," if position + 1 < len(packages) else ""
        lines.append(f'"{name}": {{"yanked": {json.dumps(entry["yanked"])}, "releases": [\n{rows}]}}{comma}')
    return "\n".join([*lines, "}}", ""])


if __name__ == "__main__":
    sys.exit(main())
