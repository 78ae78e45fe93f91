"""Hover texts: the page of a rule, on its diagnostics and where a ``distlint:`` comment names it."""

from __future__ import annotations

import re
from collections.abc import Callable

from lsprotocol import types

from distlint.lsp.convert import Converter
from distlint.lsp.positions import Positions
from distlint.model.span import Span

Page = Callable[[str], str | None]
"""The page of a rule by its code or name, in Markdown; ``None`` for a word that no rule has."""

_COMMENT = re.compile(r"(?:#|//)\s*distlint:\s*[a-z-]+\[([^\]\n]*)\]")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


def hover(
    converter: Converter | None, file: str, text: Positions, at: types.Position, page: Page
) -> types.Hover | None:
    """The hover at a place of an open buffer; ``converter`` is that of an analysis of this very text, if any."""
    line, column = text.place(at)
    named = _word_in_comment(text.line_text(line), column)
    if named is not None:
        code, start, end = named
        return _hover([code], text.range(Span(file, line, start, line, end)), page)
    if converter is None:
        return None
    here = [finding for _, finding in converter.findings(file) if _covers(finding.span, line, column)]
    if not here:
        return None
    return _hover(sorted({finding.code for finding in here}), text.range(here[0].span), page)


def _hover(codes: list[str], where: types.Range, page: Page) -> types.Hover | None:
    pages = [found for code in codes if (found := page(code)) is not None]
    if not pages:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(pages)), where)


def _word_in_comment(line: str, column: int) -> tuple[str, int, int] | None:
    """The code or name under a column of a line, with the columns where it starts and ends."""
    for comment in _COMMENT.finditer(line):
        for code in _WORD.finditer(comment.group(1)):
            start = comment.start(1) + code.start() + 1
            end = comment.start(1) + code.end() + 1
            if start <= column <= end:
                return code.group(), start, end
    return None


def _covers(span: Span, line: int, column: int) -> bool:
    return span.start <= (line, column) <= span.end
