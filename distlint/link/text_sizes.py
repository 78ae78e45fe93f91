"""Texts that a short expression makes very long, by a width or a precision: they are never worked out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

MAX_TEXT = 2_000
"""Characters of a text that is worked out."""

_WIDE = re.compile(r"\d{4}")
"""A number of four digits, which may be a width."""
_GIVEN = re.compile(r"\*|\{[^}]*\{")
"""A width that is one of the values: ``%*d``, ``{:{}}``."""


def may_be_long(form: str | bytes, values: Iterable[Any] = ()) -> bool:
    """Whether a form (``"%5d"``, ``"{:>5}"``, ``">5"``) may make a long text of plain values: by a width in it, or by one among them."""
    text = form.decode("latin-1") if isinstance(form, bytes) else form
    if len(text) > MAX_TEXT or _WIDE.search(text):
        return True
    return _GIVEN.search(text) is not None and any(map(_is_wide, values))


def _is_wide(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_wide, value))
    return (isinstance(value, int) and abs(value) >= 1_000) or (
        isinstance(value, str) and _WIDE.search(value) is not None
    )


def formatted(value: Any, form: str | None) -> str:
    """The text of a plain value in an f-string by its conversion and form (``"!r:>5"``), as ``ir.Formatted.forms`` has them.

    Raises ``ValueError``, ``TypeError`` or ``OverflowError`` where the program would, and ``ValueError`` where the form is not known or may
    make a long text.
    """
    if form is None or may_be_long(form):
        raise ValueError("a form that is not known")
    conversion, _, asked = form.partition(":")
    return format(_CONVERSIONS[conversion](value), asked)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"": lambda value: value, "!s": str, "!r": repr, "!a": ascii}

__all__ = ["MAX_TEXT", "formatted", "may_be_long"]
