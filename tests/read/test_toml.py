"""The TOML reader against ``tomli``, on broken texts, and on templates."""

from __future__ import annotations

from typing import Any

import pytest
import tomli
from config_trees import HOLE, keys, nodes, only, plain, same, slice_of
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.model.document import Leaf, Mapping, Sequence, find, lookup
from distlint.model.span import Span
from distlint.read.config import MAX_NODES, has_hole
from distlint.read.toml import read_toml

SAMPLE = """\
title = "x" # c
[tool.distlint]\r
select = ["DS", 'MG', # all
  {code = "é😀", on = true}, ]
"a.b".c = 1979-05-27 07:32:00
[[jobs]]
name = \"\"\"
  one \\
  "two\"\"\"\"
[[jobs]]
[jobs.env]
'X Y' = +1_000.5e-3
"""

KEYS = st.sampled_from(["a", "b", "c-d", '"e f"', "'g'", '"\\u00e9\\""', '""', "1"])
PATHS = st.lists(KEYS, min_size=1, max_size=3).map(" . ".join)
ATOMS = st.sampled_from(
    [
        *(
            "1",
            "-0x1F",
            "1_0.5e3",
            "inf",
            "nan",
            "true",
            '"x"',
            '"\\"é😀"',
            "'\\'",
            '"""a\n"b""c\\\n  d"""',
            "'''\n'x''''",
        ),
        *("2024-01-02", "2024-01-02 03:04:05.5Z", "2024-01-02T03:04:05+01:00", "07:32:00"),
        *('""', "''", '"""x"""""', '"#"', "'=]'"),
    ]
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[ " + ", # c\n".join(items) + "\n]")
        | st.lists(st.tuples(PATHS, inner), max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key} = {value}" for key, value in pairs) + "}"
        )
    ),
    max_leaves=5,
)
LINES = (
    st.tuples(PATHS, VALUES).map(lambda pair: f"{pair[0]} = {pair[1]} # c")
    | PATHS.map("[{}]".format)
    | PATHS.map("[[ {} ]]".format)
    | st.sampled_from(["", "# c", "\t", "a = ", "b", "]", '"""'])
)


def accepted(text: str) -> tuple[bool, Any]:
    try:
        return True, tomli.loads(text)
    except ValueError:
        return False, None


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES, max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_values_are_those_of_tomli_and_every_span_reads_back(lines: list[str], end: str) -> None:
    text = "\n".join(lines).replace("\n", end)
    taken, expected = accepted(text)
    reading = read_toml(text, "p.toml")
    assert (reading.loaders == ("toml",)) == taken == (not reading.errors)
    root = only(reading)
    if taken:
        assert same(plain(root), expected)
    for node in nodes(root):
        if isinstance(node, Leaf):
            assert same(node.value.only, tomli.loads("v = " + slice_of(text, node.span))["v"])
        elif isinstance(node, Sequence) and not slice_of(text, node.span).startswith("[["):
            assert same(plain(node), tomli.loads("v = " + slice_of(text, node.span))["v"])
    for key, span in keys(root):
        assert list(tomli.loads(slice_of(text, span) + " = 1")) == [key]


def test_every_carrier_of_keys_has_its_places() -> None:
    root = only(read_toml(SAMPLE, "p.toml"))
    assert same(plain(root), tomli.loads(SAMPLE))
    assert isinstance(root, Mapping)
    assert [slice_of(SAMPLE, span) for _, span in keys(root)] == [
        *("title", "tool", "jobs", "distlint", "select", '"a.b"', "code", "on", "c", "name", "env", "'X Y'")
    ]
    value = lookup(root, ("tool", "distlint", "a.b", "c"))
    assert slice_of(SAMPLE, value.spans[0]) == "1979-05-27 07:32:00"


@pytest.mark.parametrize(
    ("text", "expected", "place", "message"),
    [
        ("a = 1\nb = \nc = 2\n", {"a": 1}, (2, 5), "invalid value"),
        ("a = 1\n[b]\nc = 1\nc = 2\n", {"a": 1, "b": {"c": 1}}, (4, 6), "cannot overwrite a value"),
        ("a = 1\r\nb = x\r\n", {"a": 1}, (2, 5), "invalid value"),
        ('a = 1\nb = """x\n', {"a": 1}, (3, 1), "unterminated string"),
        ("a = 1\nb = [1,\n", {"a": 1}, (3, 1), "invalid value"),
        ("a = 1 b = 2\n", {}, (1, 7), "expected newline or end of document after a statement"),
        ("é😀", {}, (1, 1), "invalid statement"),
    ],
)
def test_broken_texts_keep_what_stands_before_the_error(
    text: str, expected: Any, place: tuple[int, int], message: str
) -> None:
    reading = read_toml(text, "p.toml")
    (error,) = reading.errors
    assert (plain(only(reading)), error.span.start, error.message) == (expected, place, message)
    assert lookup(only(reading), ("z",)).is_unknown
    assert reading.refusals[0].span.start == place


def test_every_beginning_of_a_text_is_read() -> None:
    whole = tomli.loads(SAMPLE)
    for end in range(len(SAMPLE)):
        root = only(read_toml(SAMPLE[:end], "p.toml"))
        assert isinstance(root, Mapping)
        if lookup(root, ("title",)).is_known:
            assert lookup(root, ("title",)).only == whole["title"]


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 10_000, "a = " + "{a = " * 10_000, "a" + ".a" * 10_000 + " = 1", "[a" + ".a" * 10_000 + "]"]
)
def test_deep_nesting_is_an_error(text: str) -> None:
    reading = read_toml("x = 1\n" + text, "p.toml")
    assert [error.message for error in reading.errors] == ["nested too deeply"]
    assert plain(only(reading)) == {"x": 1}


def test_what_is_too_large_is_cut_and_open() -> None:
    sequence = find(only(read_toml("a = [" + "1," * (MAX_NODES + 9) + "]", "p.toml")), ("a",))[0]
    assert sequence is not None
    assert isinstance(sequence.node, Sequence)
    assert len(sequence.node.items) < MAX_NODES + 1
    assert sequence.node.open


def test_placeholders_are_unknown_values() -> None:
    text = 'a = "${X}"\nb = {{ y }}\nc = ["{{ z }}", 1]\n{{ key }} = 2\nd = 3\n'
    reading = read_toml(text, "p.toml")
    root = only(reading)
    assert plain(root) == {"a": HOLE, "b": HOLE, "c": [HOLE, 1], "{{ key }}": 2, "d": 3}
    assert lookup(root, ("z",)).is_unknown
    assert not reading.errors
    assert not reading.loaders
    assert reading.template


def test_what_a_statement_guards_is_not_certain() -> None:
    root = only(read_toml("{% if x %}\na = 1\n{% endif %}\nb = 2\n", "p.toml"))
    assert lookup(root, ("a",)).is_unknown
    assert lookup(root, ("b",)).only == 2
    assert lookup(root, ("z",)).is_unknown


def test_strings_with_placeholders_are_toml() -> None:
    reading = read_toml('a = "${X}"\nb = "$ 5"\n', "p.toml")
    assert plain(only(reading)) == {"a": HOLE, "b": "$ 5"}
    assert reading.loaders == ("toml",)
    assert not has_hole("$ 5")


def test_an_embedded_text_has_the_places_of_its_file() -> None:
    (document,) = read_toml("[a]\nb = 1\n", "run.sh", line_offset=6, carrier="here-document").documents
    assert (document.carrier, document.format, document.span) == ("here-document", "toml", Span("run.sh", 7, 1, 9, 1))
    assert lookup(document.root, ("a", "b")).spans == (Span("run.sh", 8, 5, 8, 6),)
