"""What a dotted name leads to on its way through a release."""

from __future__ import annotations

from typing import Any

from distlint.model.record import dataclass


@dataclass(frozen=True, eq=False)
class Node:
    """``kind`` is ``module``, ``class``, ``plain`` (function, variable, …), ``alternatives``, ``foreign`` or ``opaque``.

    ``key`` is that of its row, and ``value`` what the row says; an opaque node is bound to something that the table doesn't know.
    """

    kind: str
    key: str
    value: dict[str, Any]
    alternatives: tuple[Node, ...] = ()


UNKNOWN = Node("unknown", "", {})
"""Nothing is known about that name."""

ABSENT = Node("absent", "", {})
"""The release has no such name, while others have it."""

UNSEEN = Node("unseen", "", {})
"""The release has no such name, and no other one has it under that canonical path; under another one it may."""

OPAQUE = Node("opaque", "", {})
"""Bound, nobody knows to what."""
