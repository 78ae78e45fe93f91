"""The kinds of members of the table file, each made by a module of its own; making one kind keeps the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass
class Task:
    """What a maker works on.

    ``members`` are those of the table file as it is, with what the makers before made; ``index`` is its mapping of packages, which
    only the maker of ``api`` changes. ``wanted`` are the packages to look at. ``folder`` has the releases that were fetched.
    ``note`` takes lines for the report of changes.
    """

    members: Mapping[str, bytes]
    index: dict[str, Any]
    wanted: tuple[str, ...]
    folder: Path
    from_scratch: bool
    workers: int
    note: Callable[[str], None]
    listed: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    """All releases that the index has of a package, each with whether it was withdrawn; none where nobody asked it."""


Maker = Callable[[Task], dict[str, bytes]]
"""Gives all members whose names begin with the kind's folder, also those of packages that were not looked at."""

KINDS: dict[str, str] = {"api": "api_rows", "requires": "requirements_rows"}
"""Kinds in the order in which they are made (each may use the ones before), to modules with a function ``make``."""


def make(kind: str, task: Task) -> dict[str, bytes]:
    """All members of the table file after one kind was made again."""
    maker: Maker = import_module(KINDS[kind]).make
    made = maker(task)
    folder = f"{kind}/"
    stray = [name for name in made if not name.startswith(folder)]
    if stray:
        raise ValueError(f"{kind} made {stray[0]}, which is not in its folder")
    return {**{name: content for name, content in task.members.items() if not name.startswith(folder)}, **made}
