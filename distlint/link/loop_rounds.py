"""The rounds in which a loop over things that are known comes to a place, with the loop's variables in each.

So that ``for name in ("tp", "pp"): parser.add_argument(f"--{name}")`` declares two options.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.link.abstract import Frame, lifted
from distlint.link.comprehensions import MAX_ROUNDS, NotFollowedError, assign
from distlint.link.items import elements
from distlint.link.walking import guards_of, statements
from distlint.model import python as ir

if TYPE_CHECKING:
    from distlint.link.evaluate import Evaluator


def rounds_at(evaluator: Evaluator, at: ir.Position, frame: Frame) -> list[Frame]:
    """A frame for each round of the loops around a place in which it is reached, the given one where they are not known.

    Tests on the way count where they are decided for a round.
    """
    body = evaluator.project.body(frame.file, frame.function)
    frames = [frame]
    for guard in guards_of(body, at) or ():
        if guard.kind == "for":
            loop = next(one for one in statements(body) if one.at == guard.at)
            assert isinstance(loop, ir.For)  # noqa: S101 - the guard says so
            turns = [_turns(evaluator, loop, one) for one in frames]
            if any(one is None for one in turns) or sum(len(one or ()) for one in turns) > MAX_ROUNDS:
                return [frame]
            frames = [one for several in turns for one in several or ()]
        elif guard.test is not None and guard.kind in ("if", "exit") and frames != [frame]:
            frames = list(_passing(evaluator, guard.test, frames, holds=guard.holds))
    return frames


def _turns(evaluator: Evaluator, loop: ir.For, frame: Frame) -> list[Frame] | None:
    """The frames of the turns of one loop; ``None`` where its items are not known."""
    items = elements(evaluator.ask_in(loop.iterable, frame))
    if items is None:
        return None
    found = []
    for item in items:
        local = dict(frame.local)
        try:
            assign(evaluator, loop.target, lifted(item), local, ir.unpack(loop.iterable.at, frame.file))
        except NotFollowedError:
            return None
        inner = replace(frame, local=local)
        evaluator.keep(inner)
        found.append(inner)
    return found


def _passing(evaluator: Evaluator, test: ir.Expr, frames: list[Frame], *, holds: bool) -> Iterator[Frame]:
    """The rounds that a test may let through."""
    for frame in frames:
        decided = evaluator.truth(test, frame, evaluator.state(frame, test.at))
        if decided is None or decided is holds:
            yield frame
