from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from distlint.lsp.buffers import Buffers
from distlint.lsp.positions import UTF8, UTF16, UTF32, Positions
from distlint.model.span import Span

TEXTS = st.text(st.sampled_from("ab \t\n\r\f\u2028é\u0301𝛼👩\u200d"), max_size=30)


@pytest.mark.parametrize(
    ("encoding", "start", "end"),
    [(UTF8, 7, 8), (UTF16, 4, 5), (UTF32, 3, 4)],
)
def test_columns_count_units_of_the_encoding(encoding: str, start: int, end: int) -> None:
    place = Positions("x\n🚀é=y\n", encoding).range(Span("f", 2, 4, 2, 5))
    assert (place.start.line, place.start.character) == (1, start)
    assert (place.end.line, place.end.character) == (1, end)


@pytest.mark.parametrize("encoding", [UTF8, UTF16, UTF32])
@given(text=TEXTS)
def test_every_place_survives_the_way_there_and_back(encoding: str, text: str) -> None:
    positions = Positions(text, encoding)
    for offset, char in enumerate(text):
        if char not in "\r\n":
            line, column = positions.place(types.Position(0, 0)) if offset == 0 else _place(text, offset)
            there = positions.position(line, column)
            assert positions.place(there) == (line, column)
            assert positions.offset(there) == offset


def _place(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    if text[offset - 1 : offset + 1] == "\r\n":
        raise AssertionError("not a place")
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


@pytest.mark.parametrize(
    ("position", "place"),
    [
        (types.Position(0, 1), (1, 1)),
        (types.Position(0, 99), (1, 3)),
        (types.Position(1, 0), (2, 1)),
        (types.Position(99, 5), (2, 3)),
    ],
)
def test_positions_outside_or_inside_a_character_are_clamped(position: types.Position, place: tuple[int, int]) -> None:
    assert Positions("🚀a\r\nbc", UTF16).place(position) == place


@pytest.mark.parametrize("separator", ["\f", "\u2028", "\x0b", "\x85"])
def test_a_change_below_an_odd_separator_lands_in_its_line(separator: str) -> None:
    buffers = Buffers()
    buffers.open(types.TextDocumentItem("file:///p/a.py", "python", 1, f"a{separator}b\nc\n"))
    place = types.Range(types.Position(1, 0), types.Position(1, 1))
    changes = [types.TextDocumentContentChangePartial(range=place, text="new")]
    identifier = types.VersionedTextDocumentIdentifier(2, "file:///p/a.py")
    changed = buffers.change(identifier, changes, UTF16)
    assert changed is not None
    assert (changed.text, changed.version) == (f"a{separator}b\nnew\n", 2)


@pytest.mark.parametrize("encoding", [UTF8, UTF16, UTF32])
@given(text=TEXTS, edits=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), TEXTS), max_size=4))
def test_incremental_changes_give_the_text_that_the_editor_has(
    encoding: str, text: str, edits: list[tuple[int, int, str]]
) -> None:
    buffers = Buffers()
    buffers.open(types.TextDocumentItem("file:///p/a.py", "python", 1, text))
    for version, (one, other, new) in enumerate(edits, 2):
        positions = Positions(text, encoding)
        start, end = sorted((_whole(text, one), _whole(text, other)))
        place = types.Range(*(positions.position(*_place(text, at) if at else (1, 1)) for at in (start, end)))
        text = text[:start] + new + text[end:]
        identifier = types.VersionedTextDocumentIdentifier(version, "file:///p/a.py")
        buffers.change(identifier, [types.TextDocumentContentChangePartial(range=place, text=new)], encoding)
    buffer = buffers.get("file:///p/a.py")
    assert buffer is not None
    assert buffer.text == text


def _whole(text: str, offset: int) -> int:
    """An offset of the text that is not between the halves of a line end, where no editor has a position."""
    offset = min(offset, len(text))
    return offset - 1 if text[max(offset - 1, 0) : offset + 1] == "\r\n" else offset


def test_texts_that_are_no_files_are_not_kept() -> None:
    buffers = Buffers()
    assert buffers.open(types.TextDocumentItem("untitled:Untitled-1", "python", 1, "x")) is None
    assert list(buffers) == []
    assert buffers.change(types.VersionedTextDocumentIdentifier(2, "untitled:Untitled-1"), [], UTF16) is None
