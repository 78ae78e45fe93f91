"""What functions and methods pass on of what they are given: on which device it is put, and where it is held, changes no value."""

from __future__ import annotations

from typing import Any

from distlint.rehearsal.values import Given

HOLDING = frozenset({"get", "pop", "setdefault", "append", "add", "insert", "remove", "discard", "put"})
"""Methods of containers and queues that leave what they are given as it is."""
PLACES = frozenset({"device", "map_location"})
"""Arguments that say on which device something is put."""
LOADING = frozenset({"load", "load_file"})
"""Functions that read a file onto a device, which is their second argument."""
MOVING = frozenset({"to", "cuda", "cpu", "pin_memory"})
"""Methods that put what they give on a device, and change nothing else."""


def read_by(name: str, given: Given) -> list[Any]:
    """What tells what a function that reads gives."""
    positional = given.positional[:1] if name.rpartition(".")[2] in LOADING else given.positional
    return [*positional, *(value for word, value in given.keywords.items() if word not in PLACES)]
