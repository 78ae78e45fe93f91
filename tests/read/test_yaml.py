"""The YAML reader against ``yaml.safe_load``, on broken texts, hostile texts, and templates."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from config_trees import HOLE, keys, nodes, only, plain, same, slice_of
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.model.document import Leaf, Mapping, Sequence, find, lookup
from distlint.model.span import Span
from distlint.read.config import MAX_NODES, has_hole, is_open_key
from distlint.read.yaml import read_yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

SAMPLE = """\
# neox style
{"pipe": 1, "zero": {"stage": 1,},}
---
defaults: &defaults
  lr: 1e-5
  "gpus é😀": [8, 'x', "y\\n"]
job:
  <<: *defaults
  script: |
    echo 1
  on: yes
"""

strings = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Cn"]), max_size=8).filter(
    lambda text: not has_hole(text) and not is_open_key(text) and not (text.startswith("<<") and text.endswith(">>"))
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | strings | st.dates()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4), max_leaves=15
)


def read(text: str) -> list[Any]:
    return [plain(document.root) for document in read_yaml(text, "c.yaml").documents]


def accepted(text: str, loader: Any) -> tuple[bool, list[Any]]:
    """Whether a loader takes the text, and what it gives; the one in C is more lenient about tabs."""
    try:
        return True, list(yaml.load_all(text, loader))
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return False, []


@settings(max_examples=150, deadline=None)
@given(values, st.sampled_from([None, True, False]), st.booleans(), st.booleans())
def test_values_are_those_of_safe_load_and_every_scalar_reads_back(
    value: Any, flow: bool | None, unicode: bool, crlf: bool
) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=unicode, sort_keys=False)
    text = text.replace("\n", "\r\n") if crlf else text
    reading = read_yaml(text, "c.yaml")
    assert reading.loaders == ("yaml",)
    root = only(reading)
    assert same(plain(root), yaml.safe_load(text))
    for node in nodes(root):
        if isinstance(node, Leaf):
            assert same(plain(node), yaml.safe_load(slice_of(text, node.span) or "null"))
    for key, span in keys(root):
        assert yaml.safe_load(slice_of(text, span).removeprefix("? ")) == key


PIECES = [
    *(
        "a",
        "b: ",
        "- ",
        "? ",
        ": ",
        "\n",
        "\n",
        "\n  ",
        "\n    ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "# c",
        "'x'",
        '"y"',
        "|\n  z\n",
        ">-\n",
    ),
    *(
        "&a ",
        "*a",
        "<<: ",
        "<<: *a",
        "1",
        "1e-5",
        "1.5",
        "on",
        "~",
        "017",
        "0x1F",
        "1:30",
        "2024-01-02",
        "2024-13-45",
        ".inf",
        "=",
    ),
    *(
        "---\n",
        "...\n",
        "!!str ",
        "!!int ",
        "!Foo ",
        "\t",
        "é😀",
        "%",
        "@",
        "!!set ",
        "x: ",
        "*b",
        "&b ",
        "0o7",
        "1_000",
        "\u2028",
        "!",
    ),
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_any_text_is_taken_and_refused_as_by_safe_load(text: str) -> None:
    reading = read_yaml(text, "c.yaml")
    taken, _ = accepted(text, LOADER)
    assert (reading.loaders == ("yaml",)) == taken
    strictly_taken, expected = accepted(text, yaml.SafeLoader)
    if taken and strictly_taken:
        assert len(reading.documents) == len(expected)
        assert all(
            same_or_open(document.root, value) for document, value in zip(reading.documents, expected, strict=True)
        )
    assert bool(reading.refusals) != taken


def same_or_open(root: Any, value: Any) -> bool:
    """A tree with anything unknown in it is only asked not to claim another shape."""
    inner = list(nodes(root))
    if any((isinstance(node, Leaf) and not node.value.is_known) or getattr(node, "open", False) for node in inner):
        return True
    return same(plain(root), value) or (isinstance(value, dict) and plain(root) == value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lr: 1e-5", "1e-5"),
        ("lr: 1.0e-5", 1e-5),
        ("lr: on", True),
        ("lr: 017", 15),
        ("lr: 1:30", 90),
        ("lr: 1_000", 1000),
        ("lr:", None),
        ("lr: 'on'", "on"),
        ("lr: !!float 1", 1.0),
        ("lr: |\n  a\n  b\n", "a\nb\n"),
        ("{lr: 5, # five\n}", 5),
    ],
)
def test_yaml_1_1_types(text: str, expected: Any) -> None:
    assert same(read(text), [{"lr": expected}])
    assert yaml.safe_load(text)["lr"] == expected


def test_several_documents_with_anchors_and_merges() -> None:
    reading = read_yaml(SAMPLE, "c.yaml")
    assert [document.index for document in reading.documents] == [0, 1]
    assert read(SAMPLE) == list(yaml.safe_load_all(SAMPLE))
    job = reading.documents[1].root
    lr = lookup(job, ("job", "lr"))
    assert (lr.only, slice_of(SAMPLE, lr.spans[0])) == ("1e-5", "1e-5")


def test_own_keys_win_over_merged_ones_and_the_first_merged_mapping_over_later_ones() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {z: 3, <<: [*a, *b]}\n"
    root = only(read_yaml(text, "c.yaml"))
    expected = yaml.safe_load(text)["c"]
    assert {key: lookup(root, ("c", key)).only for key in expected} == expected == {"x": 1, "y": 1, "z": 3}


def test_an_alias_stands_where_it_is_written_and_rests_on_its_anchor() -> None:
    text = "a: &x 8\nb: *x\n"
    value = lookup(only(read_yaml(text, "c.yaml")), ("b",))
    assert value.only == 8
    assert [slice_of(text, span) for span in value.spans] == ["*x", "&x 8"]


def test_block_containers_end_with_their_last_value() -> None:
    text = "a:\n  b: 1\n  c: |\n    x\n\n\nd: [1]\n"
    root = only(read_yaml(text, "c.yaml"))
    assert isinstance(root, Mapping)
    found = [slice_of(text, entry.node.span) for entry in root.entries]
    assert found == ["b: 1\n  c: |\n    x", "[1]"]


@pytest.mark.parametrize(
    ("text", "expected", "place"),
    [
        ("a: 1\nb: 2\n c: 3\nd: 4\n", [{"a": 1, "b": HOLE}], (3, 3)),
        ("a: 1\n---\nb: [1, 2\n---\nc: 1\n", [{"a": 1}, {"b": [1, HOLE]}], (4, 1)),
        ("a: 1\n\tb: 2\n", [{"a": HOLE}], (2, 1)),
        ("a: {b: 1, c: 2\n", [{"a": {"b": 1, "c": HOLE}}], (2, 1)),
        ("a: 1\nb: *c\n", [{"a": 1, "b": HOLE}], (2, 4)),
        ("a: 1\n? [b]\n: 2\n", [{"a": 1}], (2, 3)),
        ("a: 1\nb: !!int x\n", [{"a": 1, "b": HOLE}], (2, 4)),
        ("a: 1\nb: 2024-13-45\n", [{"a": 1, "b": HOLE}], (2, 4)),
        ("é😀: 1\nb: \x01\n", [{"é😀": 1}], (2, 4)),
    ],
)
def test_broken_texts_keep_what_stands_before_the_error(text: str, expected: list[Any], place: tuple[int, int]) -> None:
    reading = read_yaml(text, "c.yaml")
    found = read(text)
    assert found == expected or found == []
    assert reading.errors[0].span.start == place
    assert not reading.loaders


def test_a_document_that_breaks_off_may_hold_more() -> None:
    root = only(read_yaml("a: 1\nb: [1\n", "c.yaml"))
    assert lookup(root, ("a",)).only == 1
    assert lookup(root, ("z",)).is_unknown


def test_every_beginning_of_a_text_is_read() -> None:
    for end in range(len(SAMPLE)):
        text = SAMPLE[:end]
        taken, expected = accepted(text, LOADER)
        assert bool(read_yaml(text, "c.yaml").loaders) == taken
        if taken:
            assert read(text) == expected


@pytest.mark.parametrize("text", ["[" * 10_000, "{a: " * 10_000, "- " * 10_000])
def test_deep_nesting_is_an_error(text: str) -> None:
    assert [error.message for error in read_yaml(text, "c.yaml").errors] == ["nested too deeply"]


@pytest.mark.parametrize("text", ["? " * 10_000, "[{" * 5_000, "? [" * 5_000, "{? " * 5_000, "- ? " * 5_000])
def test_deep_keys_end_the_reading(text: str) -> None:
    assert len(read_yaml(text, "c.yaml").errors) == 1


def test_aliases_of_aliases_stay_small() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    reading = read_yaml("\n".join(lines), "c.yaml")
    assert sum(1 for _ in nodes(only(reading))) <= MAX_NODES * 2
    assert lookup(only(reading), ("a1",)).is_known
    assert lookup(only(reading), ("a11",)).is_unknown


def test_a_chain_of_aliases_stays_shallow() -> None:
    lines = ["- &a0 []"] + [f"- &a{n} [*a{n - 1}]" for n in range(1, 400)]
    assert all(height(item) <= 200 for item in only(read_yaml("\n".join(lines), "c.yaml")).items)  # type: ignore[union-attr]


def height(node: Any) -> int:
    return 1 + max(map(height, node.items), default=0) if isinstance(node, Sequence) else 0


@pytest.mark.parametrize("text", ["a: &a [*a]", "&a {b: *a}", "a: &a {<<: *a}", "- &a {x: &b [*a, *b]}"])
def test_an_anchor_that_refers_to_itself_is_unknown(text: str) -> None:
    inner = list(nodes(only(read_yaml(text, "c.yaml"))))
    assert any((isinstance(node, Leaf) and node.value.is_unknown) or getattr(node, "open", False) for node in inner)


def test_what_is_too_large_is_cut_and_open() -> None:
    root = only(read_yaml("[" + "1," * (MAX_NODES + 9) + "]", "c.yaml"))
    assert isinstance(root, Sequence)
    assert len(root.items) == MAX_NODES
    assert root.open


def test_a_number_that_takes_long_to_compute_is_not_computed() -> None:
    assert read("a: " + "1:" * 2_000 + "1") == [{"a": HOLE}]


def test_tags_of_applications_are_unknown_but_no_error() -> None:
    reading = read_yaml("a: !Ref {x: 1}\nb: !env HOME\nc: !!python/tuple [1]\nd: 2\n", "c.yaml")
    assert plain(only(reading)) == {"a": HOLE, "b": HOLE, "c": HOLE, "d": 2}
    assert not reading.errors
    assert not reading.loaders
    assert reading.refusals[0].span.start == (1, 4)


@pytest.mark.parametrize(
    "value", ["{{ x }}", "${x}", "${{ x }}", "a-{{ x }}-b", "<<x>>", "$X/data", "'{{ x }}'", "{{ x['y'] | int }}"]
)
def test_placeholders_are_unknown_values_and_no_error(value: str) -> None:
    text = f"a: {value}\nb:\n  - {value}\n  - 2\nc: 3\n"
    reading = read_yaml(text, "c.yaml")
    root = only(reading)
    assert plain(root) == {"a": HOLE, "b": [HOLE, 2], "c": 3}
    assert not reading.errors
    found = lookup(root, ("a",))
    assert (found.reason, slice_of(text, found.spans[0])) == ("template hole", value)
    assert lookup(root, ("z",)).is_absent


def test_placeholders_in_flow_mappings() -> None:
    reading = read_yaml('{"a": ${x}, "b": {{ y }}, "c": 1}', "c.yml")
    assert plain(only(reading)) == {"a": HOLE, "b": HOLE, "c": 1}
    assert reading.template
    assert not reading.errors


def test_control_lines_leave_the_places_and_open_the_document() -> None:
    text = "{# note #}\na: 1\n{% if big -%}\nb: 2\n{% endif %}\nc:\n  {{ block }}\nd:\n"
    text += "e: {% if x %}1{% else %}2{% endif %}\n"
    reading = read_yaml(text, "c.yaml")
    root = only(reading)
    assert plain(root) == {"a": 1, "b": 2, "c": HOLE, "d": HOLE, "e": HOLE}
    entry, _ = find(root, ("b",))
    assert entry is not None
    assert (entry.certain, entry.key_span) == (False, Span("c.yaml", 4, 1, 4, 2))
    assert lookup(root, ("a",)).only == 1
    assert lookup(root, ("z",)).is_unknown
    assert not reading.errors


def test_a_line_of_markup_may_write_keys() -> None:
    root = only(read_yaml("a: 1\n{{ more }}\nb: {{ x }}\n", "c.yaml"))
    assert plain(root) == {"a": 1, "b": HOLE}
    assert lookup(root, ("z",)).is_unknown


@pytest.mark.parametrize("key", ["{{ key }}", "${key}"])
def test_a_key_that_is_filled_in_may_be_any_key(key: str) -> None:
    root = only(read_yaml(f"{key}: 1\nb: 2\n$schema: x\n", "c.yaml"))
    assert plain(root) == {key: 1, "b": 2, "$schema": "x"}
    assert lookup(root, ("z",)).is_unknown


def test_markup_in_a_text_that_is_yaml_as_it_stands_is_left_alone() -> None:
    reading = read_yaml("# {% if x %}\nrun: |\n  {{ x }}\nb: 1\n", "c.yaml")
    assert reading.loaders == ("yaml",)
    assert not reading.template
    assert lookup(only(reading), ("z",)).is_absent


def test_a_text_without_documents() -> None:
    for text in ("", "\n", "# nothing\n"):
        reading = read_yaml(text, "c.yaml")
        assert (reading.documents, reading.loaders) == ((), ("yaml",))


def test_an_embedded_text_has_the_places_of_its_file() -> None:
    (document,) = read_yaml("a:\n  b: 1\n", "run.sh", line_offset=6, carrier="here-document").documents
    assert (document.carrier, document.format, document.span) == ("here-document", "yaml", Span("run.sh", 7, 1, 9, 1))
    assert lookup(document.root, ("a", "b")).spans == (Span("run.sh", 8, 6, 8, 7),)
    assert read_yaml("a: [\n", "run.sh", line_offset=6).errors[0].span.line == 8
