"""What a tensor came out of where a test goes one way, and a plain number where it goes the other.

``merging`` leaves what both ways have of ``Tensor.through``. Where a test that differs between processes chose between something that
came out of a model and a number that is the same whatever the weights are, that is remembered: a backward pass goes through the model on
some processes only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from distlint.rehearsal.values import Tensor, is_known, source_of


class SomeWays:
    """The marks of the one way, the test that chose, and which of its ways that is, among those of ``Tensor.through``."""

    __slots__ = ("group", "marks", "test", "way")

    def __init__(self, marks: tuple[Any, ...], test: Any, way: int) -> None:
        self.marks = marks
        self.test = test
        self.way = way
        self.group = None
        """Nobody meets here for certain."""


def alone(tensor: Tensor, inputs: Iterable[Any]) -> Tensor:
    """The same tensor, which is computed of these: with what nobody knows where it came from it may lead to the model in any case."""
    marks = [one for one in tensor.through if isinstance(one, SomeWays)]
    if marks:
        others = [
            one for one in inputs if not is_known(one) and not (isinstance(one, Tensor) and _is_plain(one, marks))
        ]
        if others or len(marks) < len(tensor.through):
            tensor.through = tuple(one for one in tensor.through if not isinstance(one, SomeWays))
    return tensor


def _is_plain(tensor: Tensor, marks: Sequence[SomeWays]) -> bool:
    return tensor.whole.level or any(one is mark for one in tensor.through for mark in marks)


def parted(one: Any, other: Any, found: Any, tests: Sequence[Any]) -> Any:
    """The same value, which was one of two others as the tests went, and remembers what one of these came out of."""
    if not (isinstance(found, Tensor) and isinstance(one, Tensor) and isinstance(other, Tensor)) or found.through:
        return found
    test = next((one for one in tests if source_of([one]) is not None), None)
    if test is None or one.whole.level is other.whole.level:
        return found
    marked, plain = (one, other) if other.whole.level else (other, one)
    if not plain.through and found is not marked and found is not plain:
        found.through = (SomeWays(marked.through, test, int(marked is other)),)
    return found
