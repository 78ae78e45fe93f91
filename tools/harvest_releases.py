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
from pathlib import Path
from typing import Any

import pip
from pip._internal.network.session import PipSession

sys.path.insert(0, str(Path(__file__).parent / "harvest"))

from index import releases_of

TARGET = Path(__file__).resolve().parent.parent / "distlint" / "knowledge" / "releases.json"
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
    session = PipSession(retries=3)
    harvested = {package: _harvest(session, package) for package in options.packages}
    packages = dict(sorted({**old, **harvested}.items()))
    if options.check:
        changed = sorted(name for name in packages if packages[name] != old.get(name))
        print("\n".join(changed) if changed else "up to date")
        return 1 if changed else 0
    TARGET.write_text(_render(packages), encoding="utf-8", newline="\n")
    print(f"{TARGET.name}: {len(packages)} packages, {sum(len(p['releases']) for p in packages.values())} releases")
    return 0


def _harvest(session: PipSession, package: str) -> dict[str, Any]:
    found = releases_of(session, package)
    return {
        "releases": [[str(one.version), one.requires_python] for one in found if not one.yanked],
        "yanked": [str(one.version) for one in found if one.yanked],
    }


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
