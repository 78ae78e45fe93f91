"""Places of strings inside their quotes."""

from __future__ import annotations

from distlint.model.document import Leaf
from distlint.model.span import LineIndex, Span

_QUOTES = ('"""', "'''", '"', "'")


def inner_span(leaf: Leaf, index: LineIndex) -> Span:
    """The span of a string's text without its quotes; the whole leaf where the text has escapes."""
    text, value = index.slice(leaf.span), leaf.value.only
    for quote in _QUOTES:
        if text == f"{quote}{value}{quote}":
            start = index.offset(leaf.span.line, leaf.span.column) + len(quote)
            return index.span(leaf.span.file, start, start + len(text) - 2 * len(quote))
    return leaf.span
