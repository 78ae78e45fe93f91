"""Where a comment that silences a finding can stand."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.discover.classify import kind_by_content, kind_by_name
from distlint.fix.validation import broken_by
from distlint.model.finding import Edit, Finding
from distlint.model.source import SourceKind
from distlint.model.span import LineIndex, Span
from distlint.read.comments import read_suppressions

REASON = "<why>"
"""Stands where the user is to write the reason."""

MAX_LINES_UP = 40
"""How far above a finding the first line of its statement or command is looked for."""


def silencing_comment(finding: Finding, text: str) -> Edit | None:
    """The edit that silences a finding in its file: a comment behind the line, else on a line of its own above.

    Whether a place will do is asked of the reader: the comment must count, cover the finding, and leave the file as
    readable as it was. ``None`` where no place will, as in strict JSON.
    """
    file = finding.span.file
    kind = kind_by_name(file) or kind_by_content(text[:1024].encode("utf-8", "replace"))
    if kind is None:
        return None
    index = LineIndex(text)
    sign = "//" if kind is SourceKind.JSON else "#"
    comment = f"{sign} distlint: ignore[{finding.code}] {REASON}"
    before = len(read_suppressions(file, text, kind))
    for edit, shift in _places(finding.span, index, comment):
        after = _applied(index, edit)
        found = read_suppressions(file, after, kind)
        first, last = finding.span.line + shift, finding.span.end_line + shift
        counts = len(found) == before + 1 and any(
            item.codes == (finding.code,) and not item.problem and item.covers[0] <= last and first <= item.covers[1]
            for item in found
            if item.span.line == edit.span.line
        )
        if counts and not broken_by(file, text, after):
            return edit
    return None


def _places(span: Span, index: LineIndex, comment: str) -> Iterator[tuple[Edit, int]]:
    """Edits that may do, the best first, with the number of lines that each moves the finding down.

    A comment next to a backslash at the end of a line would cut the command in two.
    """
    end = len(index.line_text(span.line)) + 1
    if not _continued(index, span.line):
        yield Edit(Span(span.file, span.line, end, span.line, end), f"  {comment}"), 0
    newline = "\r\n" if "\r\n" in index.text else "\n"
    for line in range(span.line, max(0, span.line - MAX_LINES_UP), -1):
        if _continued(index, line - 1):
            continue
        content = index.line_text(line)
        indent = content[: len(content) - len(content.lstrip(" \t"))]
        yield Edit(Span(span.file, line, 1, line, 1), f"{indent}{comment}{newline}"), 1


def _continued(index: LineIndex, line: int) -> bool:
    return index.line_text(line).endswith("\\")


def _applied(index: LineIndex, edit: Edit) -> str:
    offset = index.offset(edit.span.line, edit.span.column)
    return index.text[:offset] + edit.text + index.text[offset:]
