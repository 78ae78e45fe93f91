"""Values and templates in messages: ``{path}`` and ``{expression}`` become what the user would write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from distlint.judge.conditions import Condition, ConditionError, compile_condition
from distlint.judge.view import View
from distlint.model.record import dataclass
from distlint.model.subject import Subject
from distlint.model.value import State, Value

MAX_SHOWN = 80
"""Longer values are cut in messages."""
MAX_PRECISE = 10**30


def show(value: Value, *, plain: bool = False) -> str:
    """A value as the user would write it: ``true``, ``"cpu"``, ``2 or 3``; ``?`` where it is not known.

    ``plain`` leaves the quotes of strings away.
    """
    if value.state is State.AUTO:
        return "auto" if plain else '"auto"'
    if value.is_absent:
        return "not set"
    if value.is_unknown:
        return "?"
    return " or ".join(_shown(option, plain) for option in value.options)


def _shown(option: Any, plain: bool) -> str:
    if isinstance(option, int) and not isinstance(option, bool) and abs(option) >= MAX_PRECISE:
        return "a huge number"
    try:
        text = json.dumps(option, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "?"
    if plain and isinstance(option, str):
        text = text[1:-1]
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


@dataclass(frozen=True, slots=True)
class Template:
    """A text with places for values: literal texts, and (expression, plain) pairs."""

    parts: tuple[str | tuple[Condition, bool], ...]

    @property
    def expressions(self) -> tuple[Condition, ...]:
        """The expressions in it, whose names have to be checked like those of a condition."""
        return tuple(part[0] for part in self.parts if not isinstance(part, str))

    def render(self, subject: Subject | View, versions: Mapping[str, str] | None = None) -> str:
        """The text with the values of a subject."""
        view = View.of(subject)
        return "".join(
            part if isinstance(part, str) else show(part[0].compute(view, versions), plain=part[1])
            for part in self.parts
        )


@lru_cache(maxsize=4096)
def compile_template(text: str) -> Template:
    """Compiles a message: ``{expression}``, ``{expression:plain}``, and ``{{`` and ``}}`` for braces.

    Raises ``ConditionError`` for a brace without its partner or an expression that is none.
    """
    parts: list[str | tuple[Condition, bool]] = []
    literal: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char in "{}" and text[at : at + 2] == char * 2:
            literal.append(char)
            at += 2
        elif char == "{":
            end = text.find("}", at)
            if end < 0:
                raise ConditionError(f"`{{` without `}}` in `{text}`", text.count("\n", 0, at))
            if literal:
                parts.append("".join(literal))
                literal.clear()
            parts.append(_expression(text[at + 1 : end], text.count("\n", 0, at)))
            at = end + 1
        elif char == "}":
            raise ConditionError(f"`}}` without `{{` in `{text}`", text.count("\n", 0, at))
        else:
            literal.append(char)
            at += 1
    if literal:
        parts.append("".join(literal))
    return Template(tuple(parts))


def _expression(text: str, line: int) -> tuple[Condition, bool]:
    inner = text.removesuffix(":plain")
    try:
        return compile_condition(inner.strip()), inner != text
    except ConditionError as error:
        raise ConditionError(f"in `{{{text}}}`: {error}", line + error.line) from None
