"""Our ``dataclass`` behaves as the standard one, as far as it is supported."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any, ClassVar

import pytest

from distlint.model.record import dataclass as quick


def classes(decorate: Any, **options: Any) -> tuple[type, type]:
    @decorate(**options)
    class Base:
        """Doc."""

        kind: ClassVar[str] = "k"
        a: int
        b: tuple[int, ...] = ()
        c: dict[str, int] = dataclasses.field(default_factory=dict)

        @property
        def double(self) -> int:
            return self.a * 2

    @decorate(**options)
    class Derived(Base):
        d: Any = dataclasses.field(default=None, repr=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "b", (*self.b, 0))

    return Base, Derived


@quick(frozen=True, slots=True)
class Stored:
    x: int
    y: str = "y"


@pytest.mark.parametrize(
    "options", [{"frozen": True, "slots": True}, {"slots": True}, {"frozen": True}, {}, {"slots": True, "eq": False}]
)
def test_agrees_with_the_standard_decorator(options: dict[str, bool]) -> None:
    ours, theirs = classes(quick, **options), classes(dataclasses.dataclass, **options)
    for our, their in zip(ours, theirs, strict=True):
        assert [f.name for f in dataclasses.fields(our)] == [f.name for f in dataclasses.fields(their)]
        assert repr(our(1, b=(2,))) == repr(their(1, b=(2,)))
        assert (our(1) == our(1)) == (their(1) == their(1))
        assert our(1) != our(2)
        assert dataclasses.replace(our(1), a=5).a == 5
        assert our(1).c is not our(1).c
        assert our(3).double == 6
        assert our.kind == "k"
        assert (our.__hash__ is None) == (their.__hash__ is None)
        assert our.__match_args__ == their.__match_args__
        assert hasattr(our(1), "__dict__") == hasattr(their(1), "__dict__")
        for wrong in ((), (1, 2, 3, 4, 5)):
            with pytest.raises(TypeError):
                our(*wrong)


def test_a_field_that_does_not_compare_is_left_out() -> None:
    _, derived = classes(quick, frozen=True, slots=True)
    assert derived(1, d=1) == derived(1, d=2)


def test_pickles() -> None:
    assert pickle.loads(pickle.dumps(Stored(1))) == Stored(1)  # noqa: S301 - our own bytes


def test_a_field_may_be_left_out_of_the_constructor() -> None:
    @quick(slots=True)
    class Late:
        a: int
        b: list[int] = dataclasses.field(init=False, default_factory=list)
        c: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            self.c = self.a + 1

    assert (Late(1).b, Late(1).c) == ([], 2)
    with pytest.raises(TypeError):
        Late(1, [])


def test_refuses_what_it_does_not_support() -> None:
    with pytest.raises(TypeError, match="not supported"):

        @quick
        class Bad:
            a: int = dataclasses.field(kw_only=True, default=1)
