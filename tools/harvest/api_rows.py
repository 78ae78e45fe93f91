"""The rows of a package over its releases: those in the table are kept, the others are read."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing import get_context

from intervals import Spans, as_json, gathered, joined, moved_to, told
from kinds import Task
from linking import Linker
from moves import moves_of, without_moves
from packages import METADATA_ONLY, Package, package_named
from packaging.version import Version
from reading import FileFacts
from report import as_text, changes
from sources import LocalRelease, SourceFile, files_of, read_all, releases_in
from table import members_of, rows_of

_work: list[tuple[Package, list[list[SourceFile]], dict[str, FileFacts]]] = []
"""What the workers share with the process that forks them, while they work."""


def make(task: Task) -> dict[str, bytes]:
    """The members of the kind ``api``; the index is told of the releases that they speak of."""
    made = {name: content for name, content in task.members.items() if name.startswith("api/")}
    for name in task.wanted:
        if name in METADATA_ONLY:
            continue
        package, available = package_named(name), releases_in(task.folder, name)
        entry = {} if task.from_scratch else task.index.get(name, {})
        known = list(entry.get("releases", ()))
        yanked = {*entry.get("yanked", ()), *(one.version for one in available if one.yanked)}
        fresh = {one.version for one in available} - set(known)
        if not fresh and not known:
            continue
        old = told(without_moves(rows_of(name, made))) if known else {}
        rows, versions = extended(package, old, known, available, task.workers)
        rows = {key: spans for key, spans in rows.items() if package.tells(key)}
        rows.update(moves_of(rows, len(versions)))
        made = {member: content for member, content in made.items() if not member.startswith(f"api/{name}/")}
        made.update(members_of(name, rows))
        task.index[name] = {
            "releases": versions,
            "yanked": [one for one in versions if one in yanked],
            "tops": list(package.tops),
            "names": sum(":" in key and not key.endswith((">", ":*")) for key in rows),
        }
        for position, version in enumerate(versions):
            if known and version in fresh and position:
                task.note(as_text(name, version, changes(rows, position)))
    return made


def extended(
    package: Package,
    old: Mapping[str, Spans],
    known: Sequence[str],
    available: Sequence[LocalRelease],
    workers: int,
) -> tuple[dict[str, Spans], list[str]]:
    """The rows of the known releases and of the available ones, and the list of all these releases, oldest first."""
    fresh = [one for one in available if one.version not in set(known)]
    versions = sorted({*known, *(one.version for one in fresh)}, key=Version)
    rows = moved_to(old, known, versions)
    if fresh:
        at = {version: position for position, version in enumerate(versions)}
        read = _read(package, fresh, workers)
        rows = joined(rows, *(_placed(part, [at[one.version] for one in fresh]) for part in read))
    return gathered(rows), versions


def _placed(rows: Mapping[str, Spans], position: Sequence[int]) -> dict[str, Spans]:
    """Rows over the fresh releases, renumbered for the list of all."""
    names = [str(one) for one in range(len(position))]
    target = [""] * (max(position) + 1)
    for name, at in zip(names, position, strict=True):
        target[at] = name
    padded = [name or f"-{at}" for at, name in enumerate(target)]
    return moved_to(rows, names, padded)


def _read(package: Package, releases: Sequence[LocalRelease], workers: int) -> list[dict[str, Spans]]:
    start = time.monotonic()
    files = [files_of(package, release) for release in releases]
    facts = read_all([one for part in files for one in part], workers)
    middle = time.monotonic()
    _work.append((package, files, facts))
    size = max(1, min(12, -(-len(releases) // max(workers, 1))))
    chunks = [range(at, min(at + size, len(releases))) for at in range(0, len(releases), size)]
    if workers > 1 and len(chunks) > 1:
        with get_context("fork").Pool(workers) as pool:
            out = pool.map(_linked, chunks, chunksize=1)
    else:
        out = [_linked(chunk) for chunk in chunks]
    _work.clear()
    print(
        f"{package.name}: {len(releases)} releases, {len(facts)} different files read in {middle - start:.0f} s, "
        f"linked in {time.monotonic() - middle:.0f} s",
        file=sys.stderr,
    )
    return out


def _linked(chunk: range) -> dict[str, Spans]:
    package, files, facts = _work[-1]
    out: dict[str, Spans] = {}
    for position in chunk:
        for key, value in Linker(package, files[position], facts).rows().items():
            text = as_json(value)
            spans = out.setdefault(key, [])
            if spans and spans[-1][1] == position - 1 and spans[-1][2] == text:
                spans[-1] = (spans[-1][0], position, text)
            else:
                spans.append((position, position, text))
    return out
