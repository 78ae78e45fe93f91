"""Makes ``distlint/knowledge/launcher_options.json.gz``: which options the launchers of each release take.

Usage: ``python tools/harvest/launcher_options.py --folder CACHE`` (the folders that ``fetching`` fills). Nothing is run:
``add_argument`` calls and click's ``option`` decorators stand in one or two files, with their flags spelled out.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from release_spans import combined  # noqa: E402

OUTPUT = ROOT / "distlint" / "knowledge" / "launcher_options.json.gz"
RECORD = "release.json"


@dataclass(frozen=True)
class Program:
    """A launcher: its package, the files with its options, and the functions there that declare them (all without).

    ``parents`` are functions of other files whose options it takes too. ``doubling`` is the file whose being there says
    that each option also has a spelling with dashes. ``entry`` is the console script that the wheel must have.
    """

    package: str
    files: tuple[str, ...]
    parents: tuple[str, ...] = ()
    doubling: tuple[str, str] = ("", "")
    entry: str = ""


PROGRAMS = {
    "torchrun": Program("torch", ("torch/distributed/run.py",), entry="torchrun"),
    "torch.distributed.run": Program("torch", ("torch/distributed/run.py",)),
    "torch.distributed.launch": Program("torch", ("torch/distributed/launch.py",), ("torch/distributed/run.py",)),
    "accelerate": Program(
        "accelerate",
        ("accelerate/commands/launch.py",),
        doubling=("accelerate/commands/utils.py", "CustomArgumentParser"),
    ),
    "deepspeed": Program("deepspeed", ("deepspeed/launcher/runner.py",)),
    "colossalai": Program("colossalai", ("colossalai/cli/launcher/__init__.py",)),
}
"""Launchers by the name that distlint has for them; ``torch.distributed.run`` is ``torchrun`` started as a module."""

Options = dict[str, dict[str, Any]]


def main() -> int:
    """Reads all releases in a folder and writes the table."""
    parser = argparse.ArgumentParser(description="Harvest the options of launchers from unpacked releases.")
    parser.add_argument("--folder", type=Path, required=True, help="where fetching put the releases")
    options = parser.parse_args()
    sections: list[dict[str, Any]] = []
    for name, program in PROGRAMS.items():
        folders = sorted(_folders(options.folder, program.package))
        tables = [read_options(program, folder) for _, folder in folders]
        labels = [(f"{program.package} {version}", str(version)) for version, _ in folders]
        sections.append({"program": name, "package": program.package, **combined(tables, labels)})
        print(f"{name}: {len(folders)} releases, {len(sections[-1]['names'])} options")
    index = {section["program"]: position for position, section in enumerate(sections, 1)}
    lines = [json.dumps(part, separators=(",", ":"), sort_keys=True) for part in ({"programs": index}, *sections)]
    OUTPUT.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), 9, mtime=0))
    return 0


def _folders(folder: Path, package: str) -> Iterator[tuple[Version, Path]]:
    for record in folder.glob(f"{package}-*/{RECORD}"):
        known = json.loads(record.read_text(encoding="utf-8"))
        if known["package"] == package and not known["yanked"]:
            yield Version(known["version"]), record.parent


def read_options(program: Program, folder: Path) -> Options:
    """The options of one release, each with an empty entry; the name ``""`` stands for the program itself."""
    if program.entry and not _has_entry(folder, program.entry):
        return {}
    found: Options = {}
    for name in (*program.files, *program.parents):
        path = folder / name
        if path.is_file():
            found.update(_declared(ast.parse(path.read_text(encoding="utf-8"))))
        elif name in program.files:
            return {}
    path, word = program.doubling
    if path and (folder / path).is_file() and word in (folder / path).read_text(encoding="utf-8"):
        found.update({flag.replace("_", "-"): entry for flag, entry in list(found.items())})
    return {"": {}, **found}


def _has_entry(folder: Path, entry: str) -> bool:
    files = folder.glob("*.dist-info/entry_points.txt")
    return any(line.partition("=")[0].strip() == entry for file in files for line in file.read_text().splitlines())


def _declared(tree: ast.Module) -> Options:
    found: Options = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("add_argument", "option"):
                flags = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
                found.update({flag: {} for flag in flags if flag.startswith("-")})
    return found


if __name__ == "__main__":
    sys.exit(main())
