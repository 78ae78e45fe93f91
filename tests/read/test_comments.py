"""The ``distlint:`` comments: where they are seen in each format, what they say and which lines they cover."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.model.facts import Suppression
from distlint.model.source import SourceKind
from distlint.model.span import LineIndex
from distlint.read.comments import read_suppressions


def read(text: str, kind: SourceKind) -> tuple[Suppression, ...]:
    return read_suppressions("file", text, kind)


def covers(text: str, kind: SourceKind) -> dict[str, tuple[int, int]]:
    """The lines covered, by code."""
    return {code: comment.covers for comment in read(text, kind) for code in comment.codes}


def test_codes_reason_and_place() -> None:
    text = "import x\nx.run()  # distlint: ignore[DS101, MG] the launcher sets it\n"
    (comment,) = read(text, SourceKind.PYTHON)
    assert (comment.form, comment.codes, comment.reason) == ("ignore", ("DS101", "MG"), "the launcher sets it")
    assert LineIndex(text).slice(comment.span) == "# distlint: ignore[DS101, MG] the launcher sets it"
    assert comment.codes_span is not None
    assert LineIndex(text).slice(comment.codes_span) == "DS101, MG"
    assert (comment.alone, comment.margin) == (False, 2)


def test_another_comment_in_front_is_left_alone() -> None:
    text = "x()  # noqa: E501  # distlint: ignore[A1] why\n"
    (comment,) = read(text, SourceKind.PYTHON)
    assert LineIndex(text).slice(comment.span) == "# distlint: ignore[A1] why"


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("ignore", "names no codes"),
        ("ignore[]", "names no codes"),
        ("ignore[ , ]", "names no codes"),
        ("ignore[A1", "closing bracket"),
        ("ignore[A1, B 2]", "`B 2` is no code"),
        ("ignore[A1,]", "is no code"),
        ("off", "`off` is none of"),
        ("", "says nothing"),
        ("[A1]", "says nothing"),
        ("disable", "names no codes"),
    ],
)
def test_malformed(written: str, problem: str) -> None:
    (comment,) = read(f"# distlint: {written}\n", SourceKind.PYTHON)
    assert problem in comment.problem


@pytest.mark.parametrize(
    "text",
    [
        "# write distlint: ignore[A1] to silence it\n",
        's = "# distlint: ignore[A1]"\n',
        's = """\n# distlint: ignore[A1]\n"""\n',
        "distlint: int = 1\n",
    ],
)
def test_mentions_are_no_comments(text: str) -> None:
    assert read(text, SourceKind.PYTHON) == ()


PYTHON = """\
# distlint: ignore[ABOVE]
@decorated(
    1)
def f(a,
      b):  # distlint: ignore[BEHIND]
    call(
        # distlint: ignore[ITEM]
        first={1: 2,
               3: 4},
        last=1,
    )  # distlint: ignore[CALL]
    # distlint: ignore[FIRST]

    # distlint: ignore[SECOND]
    x = 1; y = 2
# distlint: ignore[NOTHING]
"""


def test_python() -> None:
    assert covers(PYTHON, SourceKind.PYTHON) == {
        "ABOVE": (2, 5),
        "BEHIND": (2, 5),
        "ITEM": (8, 9),
        "CALL": (6, 11),
        "FIRST": (15, 15),
        "SECOND": (15, 15),
        "NOTHING": (16, 16),
    }


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_do_not_matter(newline: str) -> None:
    assert covers(PYTHON.replace("\n", newline), SourceKind.PYTHON) == covers(PYTHON, SourceKind.PYTHON)


def test_python_that_does_not_parse() -> None:
    assert covers("def f(:\n  x(  # distlint: ignore[A1]\n", SourceKind.PYTHON) == {"A1": (2, 2)}


def test_shell() -> None:
    text = """\
# distlint: ignore[ABOVE]
deepspeed --a \\
  --b 'text
# distlint: ignore[QUOTED]
' \\
  train.py
cat > x.json <<EOF
# distlint: ignore[HERE]
EOF
torchrun \\
  train.py # distlint: ignore[LAST]
echo ${#a} $# a#b # distlint: ignore[END]
# distlint: ignore[WRITTEN]
cat > y.json <<-'END'
{}
\tEND
# distlint: ignore[PIPE]
torchrun x.py |
  tee log
"""
    assert covers(text, SourceKind.SHELL) == {
        "ABOVE": (2, 6),
        "LAST": (10, 11),
        "END": (12, 12),
        "WRITTEN": (14, 16),
        "PIPE": (18, 19),
    }


def test_json_with_comments() -> None:
    text = """\
{
  // distlint: ignore[ABOVE]
  "a": {
    "b": "# distlint: ignore[TEXT]", # distlint: ignore[LINE]
  },
  c: bare # distlint: ignore[BARE]
  d: 3 # distlint: ignore[NUMBER]
  e: true, // distlint: ignore[TRUE]
  /* distlint: ignore[BLOCK] why */
  "f": [1,
        2],
  "url": "http://distlint:8080"
}
"""
    assert covers(text, SourceKind.JSON) == {
        "ABOVE": (3, 5),
        "LINE": (4, 4),
        "NUMBER": (7, 7),
        "TRUE": (8, 8),
        "BLOCK": (10, 11),
    }
    assert [c.reason for c in read(text, SourceKind.JSON) if c.codes == ("BLOCK",)] == ["why"]


def test_yaml() -> None:
    text = """\
# distlint: ignore[ABOVE]
a:
  b: don't # distlint: ignore[LINE]
  c: "text # distlint: ignore[TEXT]"
  # distlint: ignore[LIST]
  d:
  - 1
  - 2
  e: x# distlint: ignore[GLUED]
f: 1
"""
    assert covers(text, SourceKind.YAML) == {"ABOVE": (2, 9), "LINE": (3, 3), "LIST": (6, 8)}


def test_toml() -> None:
    text = '''\
# distlint: ignore[TABLE]
[a]
b = "# distlint: ignore[TEXT]" # distlint: ignore[LINE]
c = """
# distlint: ignore[LONG]
"""
# distlint: ignore[ARRAY]
d = [
  1,
]
[b]
'''
    assert covers(text, SourceKind.TOML) == {"TABLE": (2, 10), "LINE": (3, 3), "ARRAY": (8, 10)}


@pytest.mark.parametrize("kind", [SourceKind.REQUIREMENTS, SourceKind.DOCKERFILE, SourceKind.MAKEFILE])
def test_continued_lines(kind: SourceKind) -> None:
    text = "# distlint: ignore[ABOVE]\nfirst \\\n  second\nthird # distlint: ignore[LINE]\n"
    assert covers(text, kind) == {"ABOVE": (2, 3), "LINE": (4, 4)}


def test_lock_files_have_no_comments() -> None:
    assert read("# distlint: ignore[A1]\n", SourceKind.LOCK) == ()


def test_whole_files_and_ranges() -> None:
    text = "# distlint: ignore-file[A1] generated\nx = 1\n# distlint: disable[B1]\ny = 1\n# distlint: enable[B1]\n"
    forms = [(comment.form, comment.covers) for comment in read(text, SourceKind.PYTHON)]
    assert forms == [("ignore-file", (1, 6)), ("disable", (3, 3)), ("enable", (5, 5))]


PIECES = st.lists(
    st.sampled_from(
        [
            "# distlint: ignore[A1]",
            "distlint:",
            "#",
            "//",
            "'",
            '"',
            '"""',
            "\\",
            "\n",
            "\r",
            "[",
            "]",
            "{",
            "}",
            ":",
            " ",
            "<<EOF",
            "x",
            "\f",
            "é",
        ]
    ),
    max_size=30,
)


@settings(max_examples=150, deadline=None)
@given(PIECES, st.sampled_from(list(SourceKind)))
def test_any_text_gives_comments_inside_it(pieces: list[str], kind: SourceKind) -> None:
    text = "".join(pieces)
    index = LineIndex(text)
    for comment in read(text, kind):
        assert "distlint:" in index.slice(comment.span)
        assert 1 <= comment.covers[0] <= comment.covers[1] <= index.line_count


@pytest.mark.parametrize(
    "kind", [SourceKind.PYTHON, SourceKind.JSON, SourceKind.YAML, SourceKind.TOML, SourceKind.SHELL]
)
@pytest.mark.parametrize("piece", ['"\\"', "#", "'", "[", "a:", "# distlint: ignore[A1]\n", "<<A\n", "\\\n"])
def test_hostile_texts_end(piece: str, kind: SourceKind) -> None:
    read("distlint:" + piece * 20_000, kind)
