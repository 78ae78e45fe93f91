"""What a tensor came out of where a test goes one way, and a plain number where it goes the other.

``merging`` leaves what both ways have of ``Tensor.through``. Where a test that differs between processes chose between something that
came out of a model and a number that is the same whatever the weights are, that is remembered: a backward pass goes through the model on
some processes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distlint.rehearsal.values import Tensor, source_of


class SomeWays:
    """The marks of the one way, and the test that chose, among those of ``Tensor.through``."""

    __slots__ = ("group", "marks", "test")

    def __init__(self, marks: tuple[Any, ...], test: Any) -> None:
        self.marks = marks
        self.test = test
        self.group = None
        """Nobody meets here for certain."""


def parted(one: Any, other: Any, found: Any, tests: Sequence[Any]) -> Any:
    """The same value, which was one of two others as the tests went, and remembers what one of these came out of."""
    if not (isinstance(found, Tensor) and isinstance(one, Tensor) and isinstance(other, Tensor)) or found.through:
        return found
    marked, plain = (one, other) if one.through else (other, one)
    test = next((one for one in tests if source_of([one]) is not None), None)
    if marked.through and not plain.through and plain.whole.level and test is not None and found is not plain:
        found.through = (SomeWays(marked.through, test),)
    return found
