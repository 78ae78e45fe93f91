"""Makes ``distlint/knowledge/deepspeed_config.json`` from the sources of released DeepSpeed packages.

Usage: ``python tools/harvest_deepspeed.py --date 2026-01-31 deepspeed-0.14.5.tar.gz deepspeed-0.19.8.tar.gz …``

Every argument is a source distribution, or the folder that one was unpacked to. Nothing in them is run: the table
says what the code asks a configuration for (see ``package_reader``), release by release. ``EXTRA`` holds what reading
cannot see.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from package_reader import Asked, Reader, open_package
from package_source import Block, Code, Package, Values, consts

OUTPUT = Path(__file__).parent.parent / "distlint" / "knowledge" / "deepspeed_config.json"

EXTRA: dict[str, dict[str, Any]] = {
    # engine._configure_basic_optimizer hands the mapping on as keyword arguments of the optimizer's class
    "optimizer.params": {"open": True},
    # engine._scheduler_from_config does the same for the scheduler's class
    "scheduler.params": {"open": True},
}

KEPT = ("choices", "ge", "gt", "le", "lt", "nullable", "required", "computed", "open", "strict", "refused", "alias_of")


def main() -> int:
    """Reads the releases that are named on the command line and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("releases", nargs="+", type=Path)
    parser.add_argument("--date", required=True, help="the day of harvesting, which the table records")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    tables = {}
    with tempfile.TemporaryDirectory() as scratch:
        for source in arguments.releases:
            folder = _unpacked(source, Path(scratch))
            tables[_version(folder)] = read_release(folder)
    table = combined(tables, arguments.date)
    text = json.dumps(table, separators=(",", ":"), sort_keys=True, allow_nan=False)
    arguments.output.write_text(_lines(text), encoding="utf-8")
    print(f"{len(table['keys'])} keys of {len(tables)} releases, {len(text)} bytes")
    return 0


def _unpacked(source: Path, scratch: Path) -> Path:
    if source.is_dir():
        return source
    with tarfile.open(source) as archive:
        archive.extractall(scratch, filter="data")
    return scratch / source.name.removesuffix(".tar.gz")


def _version(folder: Path) -> str:
    found = re.search(r"^Version: (\S+)$", (folder / "PKG-INFO").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{folder}: no version in PKG-INFO")
    return found.group(1)


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def read_release(folder: Path) -> dict[str, dict[str, Any]]:
    """Dotted path → what one release says of the key."""
    package = open_package(folder)
    whole = Reader(package)
    whole.call(_one(package, "deepspeed.runtime.config", "DeepSpeedConfig"), [(Block(""),)], {})
    shallow = Reader(package, limit=1)
    shallow.call(_one(package, "deepspeed", "initialize"), [], {"config": (Block(""),)})
    asked = {**shallow.keys, **whole.keys}
    for path, facts in EXTRA.items():
        if path in asked:
            asked[path].facts.update(facts)
    blocks = {path.rpartition(".")[0] for path in asked}
    table = {path: _entry(path, key, path in blocks) for path, key in asked.items()}
    for entry in table.values():
        if target := table.get(entry.get("replaced_by", "")):
            entry["replaced_by"] = target.get("alias_of", entry["replaced_by"])
    return table


def _one(package: Package, module: str, name: str) -> Code:
    found = package.module(module)
    values: Values = found.lookup(name) if found is not None else ()
    if len(values) != 1 or not isinstance(values[0], Code):
        raise SystemExit(f"{package.root}: {module}.{name} is not where it was")
    return values[0]


def _entry(path: str, asked: Asked, is_block: bool) -> dict[str, Any]:
    facts = asked.facts
    entry = {name: facts[name] for name in KEPT if facts.get(name) is not None and facts[name] is not False}
    defaults = [value for value in consts(asked.defaults) if not (is_block and isinstance(value, dict))]
    entry["type"] = "block" if is_block else facts.get("type", _type(defaults))
    if facts.get("field"):
        entry["typed"] = True
    if facts.get("deprecated"):
        entry["deprecated"] = True
        if target := facts["replaced_by"]:
            entry["replaced_by"] = f"{path.rpartition('.')[0]}.{target}".lstrip(".")
        if facts.get("becomes"):
            entry["becomes"] = facts["becomes"]
    if is_block:
        entry.pop("computed", None)
    elif len(defaults) == 1 and _is_json(defaults[0]):
        entry["default"] = defaults[0]
        entry.pop("computed", None)
    elif defaults or (facts.get("field") and not facts.get("required")):
        entry["computed"] = True
    if entry["type"] == "dict":
        entry["open"] = True
    return entry


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, list, dict))


def _type(defaults: list[Any]) -> str:
    names = {type(value).__name__ for value in defaults if value is not None}
    return names.pop() if len(names) == 1 else "any"


def combined(tables: dict[str, dict[str, dict[str, Any]]], date: str) -> dict[str, Any]:
    """All releases in one table: per key its spans ``[first release, end or null, entry]``, by index."""
    releases = sorted(tables, key=_order)
    numbers: dict[str, int] = {}
    keys: dict[str, list[list[int | None]]] = {}
    for path in sorted({path for table in tables.values() for path in table}):
        spans: list[list[int | None]] = []
        for index, release in enumerate(releases):
            entry = tables[release].get(path)
            if entry is None:
                continue
            number = numbers.setdefault(json.dumps(entry, sort_keys=True), len(numbers))
            if spans and spans[-1][1] == index and spans[-1][2] == number:
                spans[-1][1] = index + 1
            else:
                spans.append([index, index + 1, number])
        for span in spans:
            span[1] = None if span[1] == len(releases) else span[1]
        keys[path] = spans
    entries = [json.loads(entry) for entry in numbers]
    return {"package": "deepspeed", "harvested": date, "releases": releases, "entries": entries, "keys": keys}


def _lines(text: str) -> str:
    """One line per top-level part, so that a change of the table can be reviewed."""
    return re.sub(r'(?<=[\]}"]),(?="(?:harvested|keys|package|releases)":)', ",\n", text) + "\n"


if __name__ == "__main__":
    sys.exit(main())
