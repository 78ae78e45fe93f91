"""The file ``api.zip``: its members by name, its index, its checksum. Equal content gives equal bytes."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intervals import Spans, lines, parsed

FORMAT = 1
INDEX = "index.json"
LARGEST_MEMBER = 100_000
"""A member ends before the module that would make it larger, so that a look-up inflates little and members are few."""

_TIME = (1980, 1, 1, 0, 0, 0)


def read_members(path: Path) -> dict[str, bytes]:
    """All members of a table file; ``{}`` for none. Raises ``ValueError`` if its checksum is wrong."""
    if not path.is_file():
        return {}
    with zipfile.ZipFile(path) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    index = json.loads(members[INDEX])
    if index["checksum"] != checksum(members):
        raise ValueError(f"{path.name} does not have the checksum that it names")
    return members


def checksum(members: Mapping[str, bytes]) -> str:
    """SHA-256 over names and contents of all members but the index."""
    found = hashlib.sha256()
    for name in sorted(members):
        if name != INDEX:
            found.update(f"{name}\0{len(members[name])}\0".encode())
            found.update(members[name])
    return found.hexdigest()


def write_members(path: Path, members: Mapping[str, bytes], packages: Mapping[str, Any], today: str) -> bool:
    """Writes a table file; version and date stay as they were if nothing has changed. Says whether something has."""
    old = read_members(path)
    index = json.loads(old[INDEX]) if old else {"version": "0", "packages": {}}
    found = checksum(members)
    if old and index["checksum"] == found and index["packages"] == packages:
        return False
    document = {
        "format": FORMAT,
        "version": str(int(index["version"]) + 1),
        "harvested": today,
        "checksum": found,
        "packages": packages,
    }
    text = json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as opened:
        for name, content in sorted({**members, INDEX: text.encode()}.items()):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            opened.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    return True


def members_of(package: str, rows: Mapping[str, Spans]) -> dict[str, bytes]:
    """The members that hold the rows of a package: modules in order, each member named by its first one."""
    modules: dict[str, dict[str, Spans]] = {}
    for key, spans in rows.items():
        modules.setdefault(key.partition(":")[0].removesuffix(">"), {})[key] = spans
    out: dict[str, list[bytes]] = {}
    size, name = LARGEST_MEMBER, ""
    for module in sorted(modules):
        content = "".join(f"{line}\n" for line in lines(modules[module])).encode()
        if size + len(content) > LARGEST_MEMBER:
            size, name = 0, module
        out.setdefault(name, []).append(content)
        size += len(content)
    return {f"api/{package}/{name}.jsonl": b"".join(parts) for name, parts in out.items()}


def rows_of(package: str, members: Mapping[str, bytes]) -> dict[str, Spans]:
    """The rows of a package in the members of a table file."""
    out: dict[str, Spans] = {}
    for name, content in members.items():
        if name.startswith(f"api/{package}/"):
            out.update(parsed(content.decode()))
    return out
