"""What ``${name%pattern}``, ``${name/old/new}``, ``${name:1:2}`` and ``${name^^}`` make of a known text."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate

_INTEGER = re.compile(r"[-+]?\d{1,18}")


def transformed(operator: str, whole: str, arguments: list[str]) -> str | None:
    """The text after an operator with known arguments; ``None`` where that is not followed."""
    pattern = arguments[0] if arguments else ""
    if operator in ("%", "%%", "#", "##"):
        return _trimmed(operator, whole, pattern)
    if operator in ("/", "//", "/#", "/%"):
        if not pattern or any(mark in pattern for mark in "*?[\\"):
            return None
        replacement = arguments[1] if len(arguments) > 1 else ""
        if operator == "/#":
            return replacement + whole[len(pattern) :] if whole.startswith(pattern) else whole
        if operator == "/%":
            return whole[: -len(pattern)] + replacement if whole.endswith(pattern) else whole
        return whole.replace(pattern, replacement, 1 if operator == "/" else -1)
    if operator == ":":
        numbers = [argument.strip() for argument in arguments]
        if not all(_INTEGER.fullmatch(number) for number in numbers) or not numbers:
            return None
        start = int(numbers[0])
        rest = whole[start:] if start >= 0 or -start <= len(whole) else ""
        if len(numbers) == 1:
            return rest
        size = int(numbers[1])
        return rest[:size]
    if pattern or not whole.isascii():
        return None
    changes: dict[str, Callable[[str], str]] = {
        "^^": str.upper,
        ",,": str.lower,
        "^": lambda text: text[:1].upper() + text[1:],
        ",": lambda text: text[:1].lower() + text[1:],
    }
    return changes[operator](whole) if operator in changes else None


def _trimmed(operator: str, whole: str, pattern: str) -> str | None:
    if len(whole) > 2000 or len(pattern) > 50 or pattern.count("*") > 3 or "\\" in pattern or "[" in pattern:
        return None
    matcher = re.compile(translate(pattern))
    cuts = range(len(whole) + 1)
    if operator[0] == "#":
        order = cuts if operator == "#" else reversed(cuts)
        return next((whole[at:] for at in order if matcher.match(whole[:at])), whole)
    order = reversed(cuts) if operator == "%" else cuts
    return next((whole[:at] for at in order if matcher.match(whole[at:])), whole)
