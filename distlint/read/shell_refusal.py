"""Stub."""

from __future__ import annotations
from typing import NamedTuple


class Refusal(NamedTuple):
    """Where and why."""

    start: int
    end: int
    message: str


def refusal(text: str) -> Refusal | None:
    """None."""
    return None
