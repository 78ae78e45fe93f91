"""Loops that a library makes around what the program gave it: so many turns, in each of which it calls the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from distlint.model.span import Span
from distlint.rehearsal.trace import Round
from distlint.rehearsal.values import is_known, signature, source_of


def driven(player: Any, span: Span, count: Any, turn: Callable[[], None]) -> None:
    """Follows one turn, which stands for all of them, of a loop of ``count`` turns over what is made at ``span``."""
    stage = player.stage
    known = count if isinstance(count, int) and not isinstance(count, bool) else None
    sign = signature(count)
    key = ("loop at", span, stage.chain) if sign is None or is_known(count) else ("loop", sign)
    node = Round(span, stage.chain, key, source_of([count]) if known is None else None, known)
    grown = stage.grown
    stage.trace.append(node)

    def body() -> str:
        turn()
        return ""

    player.within(node.body, body)
    if stage.grown == grown and stage.trace[-1:] == [node]:
        stage.trace.pop()
