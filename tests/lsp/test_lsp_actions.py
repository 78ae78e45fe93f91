from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from distlint.lsp.actions import block_edits
from distlint.lsp.convert import Converter
from distlint.lsp.hover import hover
from distlint.lsp.positions import UTF16, Positions
from distlint.model.finding import Edit
from distlint.model.span import LineIndex, Span

LINES = st.lists(st.sampled_from(["a", "b", "", "🚀", "c\r", "\f"]), max_size=8).map("\n".join)


@given(old=LINES, new=LINES)
def test_block_edits_turn_one_text_into_the_other(old: str, new: str) -> None:
    index, text = LineIndex(old), old
    edits = block_edits("f", old, new)
    for edit in reversed(edits):
        start = index.offset(edit.span.line, edit.span.column)
        text = text[:start] + edit.text + text[index.offset(edit.span.end_line, edit.span.end_column) :]
    assert text == new


def test_block_edits_leave_equal_lines_alone() -> None:
    old = "".join(f"line {number}\n" for number in range(100))
    edits = block_edits("f", old, old.replace("line 7\n", "changed\n").replace("line 90\n", ""))
    assert edits == [Edit(Span("f", 8, 1, 9, 1), "changed\n"), Edit(Span("f", 91, 1, 92, 1), "")]


@pytest.mark.parametrize(
    ("line", "column", "shown"),
    [
        ("x = 1  # distlint: ignore[XX101] reason", 27, "XX101"),
        ("x = 1  # distlint: ignore[XX101, XX102] reason", 35, "XX102"),
        ("// distlint: ignore-file[XX102]", 26, "XX102"),
        ("x = 1  # distlint: ignore[XX101] reason", 3, None),
        ("x = 1  # distlint: ignore[XX101] XX102", 35, None),
        ("x = 1  # see XX101", 15, None),
        ("x = 1  # distlint: ignore[ZZ999] reason", 27, None),
        ("x = 1  # distlint: ignore[XX1", 27, None),
    ],
)
def test_hover_shows_the_page_of_a_code_in_a_comment(line: str, column: int, shown: str | None) -> None:
    no_analysis: Converter | None = None
    at = types.Position(0, column)
    found = hover(no_analysis, "a.py", Positions(line, UTF16), at, {"XX101": "XX101", "XX102": "XX102"}.get)
    assert (found.contents.value if found else None) == shown
