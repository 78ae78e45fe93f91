"""The JSON reader against ``json`` and ``hjson``, on broken texts, and on templates."""

from __future__ import annotations

import json
from typing import Any

import hjson
import pytest
from config_trees import HOLE, keys, nodes, only, plain, same, slice_of
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.model.document import Leaf, Mapping, Sequence, lookup
from distlint.model.span import Span
from distlint.read.config import MAX_NODES, has_hole
from distlint.read.json import read_json

SAMPLE = (
    '{\n  "train_batch_size": 32,\r\n\t"zero": {"stage": 3, "é😀": [1, 2.5e3, -0.0, true, null]},\n'
    '  "x": "a\\"\\u00e9b"\n}\n'
)

strings = st.text(max_size=8).filter(lambda text: not has_hole(text))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | strings
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4), max_leaves=15
)


def read(text: str) -> Any:
    return plain(only(read_json(text, "ds.json")))


def messages(text: str) -> list[str]:
    return [error.message for error in read_json(text, "ds.json").errors]


@settings(max_examples=150, deadline=None)
@given(values, st.sampled_from([None, 0, 2, "\t"]), st.booleans(), st.booleans())
def test_strict_json_has_the_values_of_the_loader_and_every_span_reads_back(
    value: Any, indent: Any, escaped: bool, crlf: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=escaped)
    text = text.replace("\n", "\r\n") if crlf else text
    reading = read_json(text, "ds.json")
    root = only(reading)
    assert reading.loaders[:2] == ("json", "jsonc")
    assert not reading.errors
    assert same(plain(root), json.loads(text))
    for node in nodes(root):
        assert same(plain(node), json.loads(slice_of(text, node.span)))
    for key, span in keys(root):
        assert json.loads(slice_of(text, span)) == key


PIECES = [
    *'{}[],:"\n\n ',
    *("{", "}", "[", "]", ":", ",", "\n", "\r\n", "\t", " "),
    *(
        '"a"',
        '"b": ',
        "'c'",
        "'''d\n e'''",
        "a",
        "b:",
        "key: ",
        "# c\n",
        "// c\n",
        "/* c */",
        "/*",
        "1",
        "-2.50",
        "1e5",
        "1e400",
    ),
    *(
        "010",
        "true",
        "false",
        "null",
        "True",
        "NaN",
        "-Infinity",
        "x y",
        "\\",
        '"\\u0041"',
        '"\\x"',
        "\u00a0",
        "٣",
        "''",
        "é😀",
        "-",
        ".",
    ),
    *('"\\ud83d\\ude00"', "'\\''", '"\t"', "1.0", "-0.0", "\x0b", "true,", "1 ,"),
]


def strictly(text: str) -> tuple[bool, Any]:
    try:
        return True, json.loads(text)
    except ValueError:
        return False, None


def loosely(text: str) -> tuple[bool, Any]:
    try:
        return True, hjson.loads(text)
    except (ValueError, IndexError, OverflowError):
        return False, None


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.sampled_from(["{}", "[]", "  "]))
def test_any_text_is_taken_and_refused_as_by_the_loaders(inner: str, brackets: str) -> None:
    text = brackets[0] + inner + brackets[1]
    reading = read_json(text, "ds.json")
    strict, strict_value = strictly(text)
    loose, loose_value = loosely(text)
    assert ("json" in reading.loaders) == strict
    assert ("hjson" in reading.loaders) == loose
    if strict:
        assert same(read(text), strict_value)
    elif loose and not reading.template:
        assert same(read(text), loose_value)
    elif not loose and not reading.loaders and not reading.template:
        assert reading.errors
    refusing = {refusal.loader for refusal in reading.refusals}
    assert refusing == {"json", "jsonc", "hjson"} - set(reading.loaders)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: foo\nb: 1e5 # five\nc: [x\n y,\n 3]", {"a": "foo", "b": 100000, "c": ["x", "y,", 3]}),
        ("{'a': 010\nb: True,\n c: NaN\n}", {"a": "010", "b": "True,", "c": "NaN"}),
        ("{\n  a:\n    '''\n    one\n     two\n    '''\n}", {"a": "one\n two"}),
        ('{"a": 1, // one\n /* two */ "b": [1,], }', {"a": 1, "b": [1]}),
        ('{"a": {} "b": "x" c: 3}', {"a": {}, "b": "x", "c": 3}),
        ("", {}),
        ("# nothing\n", {}),
    ],
)
def test_hjson_has_the_values_of_hjson(text: str, expected: Any) -> None:
    reading = read_json(text, "ds.json")
    assert same(read(text), expected)
    assert same(read(text), hjson.loads(text))
    assert "hjson" in reading.loaders
    assert "json" not in reading.loaders
    assert not reading.errors


def test_spans_of_hjson_values_cover_just_the_value() -> None:
    text = "{\n  lr:  fast enough  \n  # c\n  n: 5 # five\n}"
    found = [slice_of(text, node.span) for node in nodes(only(read_json(text, "f"))) if isinstance(node, Leaf)]
    assert found == ["fast enough", "5"]


def test_a_comment_and_a_trailing_comma_are_places_where_strict_json_refuses() -> None:
    reading = read_json('{\n  "a": 1, // one\n}', "ds.json")
    assert reading.loaders == ("jsonc", "hjson")
    (refusal,) = reading.refusals
    assert (refusal.loader, refusal.span, refusal.message) == ("json", Span("ds.json", 2, 11, 2, 11), "a comment")


def test_nan_is_a_number_to_json_alone() -> None:
    reading = read_json('{"a": NaN, "b": -Infinity}', "ds.json")
    assert reading.loaders == ("json",)
    assert read('{"b": -Infinity}') == {"b": float("-inf")}


def test_duplicate_keys_stay_and_the_last_wins() -> None:
    root = only(read_json('{"a": 1, "a": 2}', "ds.json"))
    assert isinstance(root, Mapping)
    assert [entry.key for entry in root.entries] == ["a", "a"]
    assert lookup(root, ("a",)).only == 2


@pytest.mark.parametrize(
    ("text", "expected", "message", "place"),
    [
        ('{"a": 1, "b": True, "c": 3}', {"a": 1, "b": HOLE, "c": 3}, "`True` is not a value", (1, 15)),
        ('{"a": "x\n "b": 2}', {"a": HOLE, "b": 2}, "the string is never closed", (1, 7)),
        ('{"a" 1, "b": 2}', {"a": 1, "b": 2}, "expected `:` after the key", (1, 6)),
        ('{"a" = 1}', {"a": 1}, "expected `:` after the key, found `=`", (1, 6)),
        ('{"a": , "b": 2}', {"a": HOLE, "b": 2}, "expected a value", (1, 7)),
        ('{"a": 1,, "b": 2}', {"a": 1, "b": 2}, "expected a key", (1, 9)),
        ('{"a": [1, 2, "b": 2}', {"a": [1, 2, "b", HOLE, 2]}, "expected a value, found `:`", (1, 17)),
        ('{"a": {"b": 1]}', {"a": {"b": 1}}, "expected `}`, found `]`", (1, 14)),
        (
            '{"a": "b\tc", "d": 1}',
            {"a": HOLE, "d": 1},
            "the string holds a control character or an unknown escape",
            (1, 7),
        ),
        ('{"a": 1} {"b": 2}', {"a": 1}, "text after the end of the document", (1, 10)),
        ('{"a": {"b": 1', {"a": {"b": 1}}, "`{` is never closed", (1, 7)),
        ('{"a": 1 /* x', {"a": 1}, "the comment is never closed", (1, 9)),
        ('{"a": 1 "b": {"c": 2}', {"a": 1, "b": {"c": 2}}, "`{` is never closed", (1, 1)),
    ],
)
def test_broken_texts_are_read_on(text: str, expected: Any, message: str, place: tuple[int, int]) -> None:
    reading = read_json(text, "ds.json")
    assert read(text) == expected
    assert (reading.errors[0].message, reading.errors[0].span.start) == (message, place)
    assert not reading.loaders


def test_containers_that_break_off_may_hold_more() -> None:
    root = only(read_json('{"a": {"b": 1}, "c": [1, ', "ds.json"))
    assert lookup(root, ("d",)).is_unknown
    assert lookup(root, ("a", "x")).is_absent
    assert lookup(root, ("a", "b")).only == 1


def test_every_beginning_of_a_text_is_read_and_what_it_says_is_true() -> None:
    whole = json.loads(SAMPLE)
    for end in range(len(SAMPLE)):
        root = only(read_json(SAMPLE[:end], "ds.json"))
        if isinstance(root, Mapping) and (size := lookup(root, ("train_batch_size",))).is_known:
            assert str(whole["train_batch_size"]).startswith(str(size.only))
    assert same(read(SAMPLE), whole)


@pytest.mark.parametrize(
    "text",
    ["[" * 10_000, '{"a":' * 10_000, "{a:" * 10_000, "[" * 10_000 + "]" * 10_000, "a:{" * 10_000],
)
def test_deep_nesting_is_an_error(text: str) -> None:
    assert "nested too deeply" in messages(text)


@pytest.mark.parametrize(
    ("text", "expected", "message", "place"),
    [
        ("a: 1\nb: {\n  c: [2\n", {"a": 1, "b": {"c": [2]}}, "`[` is never closed", (3, 6)),
        ("a: 1\nb: 2\n}\nc: 3", {"a": 1, "b": 2, "c": 3}, "expected end of the text, found `}`", (3, 1)),
        ("a: 1\nb c: [\n", {"a": 1, "b": HOLE, "c": []}, "expected `:` and a value after the key", (2, 1)),
    ],
)
def test_broken_hjson_is_read_on(text: str, expected: Any, message: str, place: tuple[int, int]) -> None:
    reading = read_json(text, "ds.json")
    assert same(plain(only(reading)), expected)
    assert (reading.errors[0].message, reading.errors[0].span.start) == (message, place)


@pytest.mark.parametrize(
    "piece", ["[{", "a:[", "{{", '"', ":", ",", "]", "'''", "/*", "{%", "\\", "${", "a b\n", '"\\', "x,", "<", "(", "'"]
)
def test_garbage_is_given_up_soon(piece: str) -> None:
    reading = read_json("{" + piece * 100_000, "ds.json")
    assert len(reading.errors) <= 20


def test_what_is_too_large_is_cut_and_open() -> None:
    root = only(read_json("[" + "1," * MAX_NODES + "1]", "ds.json"))
    assert isinstance(root, Sequence)
    assert len(root.items) == MAX_NODES
    assert root.open


@pytest.mark.parametrize(
    "value",
    [
        "ZERO_STAGE",
        "CL_1st_MIN",
        "{{ stage }}",
        "${stage}",
        "$STAGE",
        "<% stage %>",
        "<stage>",
        "$(nproc)",
        "__STAGE__",
        "{{ a }}e9",
    ],
)
def test_placeholders_are_unknown_values_and_no_error(value: str) -> None:
    text = f'{{"zero": {{"stage": {value}, "b": 1}}, "c": [{value}, 2]}}'
    reading = read_json(text, "ds.json")
    assert read(text) == {"zero": {"stage": HOLE, "b": 1}, "c": [HOLE, 2]}
    assert not reading.errors
    assert reading.template
    root = only(reading)
    stage = lookup(root, ("zero", "stage"))
    assert (stage.reason, slice_of(text, stage.spans[0])) == ("template hole", value)
    assert lookup(root, ("zero", "other")).is_absent


@pytest.mark.parametrize("value", ["${X}", "a/$NAME/b", "{{ x }}", "<% x %>", "$(x)", "{% if x %}1{% endif %}"])
def test_strings_with_placeholders_are_unknown_but_strict_json(value: str) -> None:
    reading = read_json(json.dumps({"a": value, "b": 1}), "ds.json")
    assert plain(only(reading)) == {"a": HOLE, "b": 1}
    assert "json" in reading.loaders
    assert not reading.template


@pytest.mark.parametrize("value", ["a $ b", "100$", "{x}", "a < b", "{ {x} }", "TRUE_STORY", "50%"])
def test_strings_without_placeholders_are_known(value: str) -> None:
    assert read(json.dumps({"$schema": "x", "a": value})) == {"$schema": "x", "a": value}
    assert lookup(only(read_json(json.dumps({"$schema": "x", "a": value}), "f")), ("b",)).is_absent


def test_quoted_words_among_bare_placeholders_are_placeholders_too() -> None:
    assert read('{"a": CL_MIN, "type": "CL_1st_TYPE", "name": "AdamW", "dtype": "FP16"}') == {
        "a": HOLE,
        "type": HOLE,
        "name": "AdamW",
        "dtype": "FP16",
    }


def test_a_block_where_keys_stand_may_write_any_key() -> None:
    reading = read_json('{"a": 1, {{ more }}\n "b": {"c": 2}}', "ds.json")
    root = only(reading)
    assert plain(root) == {"a": 1, "b": {"c": 2}}
    assert lookup(root, ("x",)).is_unknown
    assert lookup(root, ("b", "x")).is_absent
    assert not reading.errors


def test_a_key_that_is_filled_in_may_be_any_key() -> None:
    root = only(read_json('{"${KEY}": 1, "b": 2}', "ds.json"))
    assert lookup(root, ("x",)).is_unknown
    assert lookup(root, ("b",)).only == 2


def test_what_a_statement_guards_is_not_certain() -> None:
    text = '{\n  {% if offload %}\n  "offload": true,\n  {% endif %}\n  "stage": 3\n}'
    reading = read_json(text, "ds.json")
    root = only(reading)
    assert lookup(root, ("offload",)).is_unknown
    assert lookup(root, ("stage",)).only == 3
    assert lookup(root, ("other",)).is_unknown
    assert not reading.errors
    assert not reading.loaders


def test_an_embedded_text_has_the_places_of_its_file() -> None:
    (document,) = read_json('{\n "a": 1}\n', "run.sh", line_offset=6, carrier="here-document").documents
    assert (document.carrier, document.span) == ("here-document", Span("run.sh", 7, 1, 9, 1))
    assert lookup(document.root, ("a",)).spans == (Span("run.sh", 8, 7, 8, 8),)
    assert read_json('\n{"a" 1}', "run.sh", line_offset=6).errors[0].span == Span("run.sh", 8, 6, 8, 6)
