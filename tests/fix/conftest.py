"""Texts with marks: «this» is the span of the operation, and further pairs are the spans of its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from distlint.fix.planning import Refusal, build_fix
from distlint.model.finding import Edit, FixPlan, Operation, Safety
from distlint.model.span import LineIndex, Span


def unmark(text: str, file: str) -> tuple[str, list[Span]]:
    plain = re.sub("[«»]", "", text)
    index, spans, opened, at = LineIndex(plain), [], [], 0
    for character in text:
        if character == "«":
            opened.append(at)
        elif character == "»":
            spans.append(index.span(file, opened.pop(), at))
        else:
            at += 1
    return plain, spans


def edited(text: str, edits: tuple[Edit, ...]) -> str:
    index = LineIndex(text)
    for edit in reversed(edits):
        start, end = index.offset(*edit.span.start), index.offset(*edit.span.end)
        text = text[:start] + edit.text + text[end:]
    return text


@pytest.fixture
def fixed() -> Callable[..., str]:
    """``fixed(file, marked text, kind, **arguments)`` gives the text after one operation, or ``"! reason"``.

    An argument that is a number in ``SPANS`` notation, ``spans={"after": 1}``, is taken from the further marks.
    """

    def fix(file: str, marked: str, kind: str, /, *, spans: dict[str, int] | None = None, **arguments: object) -> str:
        plain, found = unmark(marked, file)
        further = {name: found[number] for name, number in (spans or {}).items()}
        operation = Operation(kind, found[0], {**arguments, **further})
        fix = build_fix(FixPlan("Mend it", Safety.SAFE, (operation,)), {file: plain}.__getitem__)
        return f"! {fix.reason}" if isinstance(fix, Refusal) else edited(plain, fix.edits)

    return fix
