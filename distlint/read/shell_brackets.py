"""Finding the end of quotes, ``${...}`` and ``$(...)`` in shell text, without understanding what is inside."""

from __future__ import annotations

import re

_STOPS = {
    ")": re.compile(r"[\\'\"`()$#\n]"),
    "}": re.compile(r"[\\'\"`}$]"),
}
_DOUBLE_STOP = re.compile(r'[\\"$`]')


def quoted_end(text: str, at: int, end: int) -> int:
    """The offset behind the quoted text that begins at ``at`` (with ``'``, ``"``, a backquote or ``$'``).

    ``end`` when it never closes.
    """
    if text[at] == "$":
        return _escaped_end(text, at + 2, end, "'")
    if text[at] == "'":
        close = text.find("'", at + 1, end)
        return close + 1 if close >= 0 else end
    if text[at] == "`":
        return _escaped_end(text, at + 1, end, "`")
    at += 1
    while (match := _DOUBLE_STOP.search(text, at, end)) is not None:
        at = match.start()
        char = text[at]
        if char == '"':
            return at + 1
        if char == "\\":
            at += 2
        elif char == "`":
            at = _escaped_end(text, at + 1, end, "`")
        else:
            at = _dollar(text, at, end)
    return end


def _escaped_end(text: str, at: int, end: int, quote: str) -> int:
    while at < end:
        if text[at] == quote:
            return at + 1
        at += 2 if text[at] == "\\" else 1
    return end


def _dollar(text: str, at: int, end: int) -> int:
    following = text[at + 1 : at + 2]
    if following == "{":
        return parameter_end(text, at + 2, end)
    if following == "(":
        return command_end(text, at + 2, end)
    return at + 1


def command_end(text: str, at: int, end: int) -> int:
    """The offset behind the parenthesis that closes the one before ``at``; ``end`` when it never closes."""
    return _bracket_end(text, at, end, ")")


def parameter_end(text: str, at: int, end: int) -> int:
    """The offset behind the brace that closes the one before ``at``; ``end`` when it never closes."""
    return _bracket_end(text, at, end, "}")


def _bracket_end(text: str, at: int, end: int, closing: str) -> int:
    """Follows nested brackets with a stack of its own: hostile text must not exhaust Python's."""
    stack = [closing]
    while (match := _STOPS[stack[-1]].search(text, at, end)) is not None:
        at = match.start()
        char = text[at]
        if char == stack[-1]:
            stack.pop()
            at += 1
            if not stack:
                return at
        elif char == "\\":
            at += 2
        elif char == '"' and stack[-1] == '"':
            at += 1
        elif char == "'" or char == "`":
            at = quoted_end(text, at, end)
        elif char == '"':
            stack.append('"')
            at += 1
        elif char == "$":
            following = text[at + 1 : at + 2]
            if following in ("(", "{"):
                stack.append(")" if following == "(" else "}")
                at += 2
            elif following == "'" and stack[-1] != '"':
                at = quoted_end(text, at, end)
            else:
                at += 1
        elif char == "(":
            stack.append(")")
            at += 1
        elif char == "#" and text[at - 1] in " \t\n;(":
            newline = text.find("\n", at, end)
            at = newline if newline >= 0 else end
        else:
            at += 1
    return end


_STOPS['"'] = re.compile(r'[\\"$`]')
