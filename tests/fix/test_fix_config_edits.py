"""Settings in JSON, Hjson, YAML and TOML: exact texts after each operation."""

from __future__ import annotations

import pytest

JSON = """{
  "train_batch_size": 8,  // whole
  "zero": {
    "stage": 2, // two
    "offload": {"device": "cpu"}
  },
  "fp16": {}
}
"""


def at(text: str, key: str) -> str:
    """The text with the first occurrence of a part marked."""
    assert key in text
    return text.replace(key, f"«{key}»", 1)


def test_set_key_replaces_a_value_and_nothing_else(fixed) -> None:
    assert fixed("a.json", "«»" + JSON, "set-key", path=["zero", "stage"], value=3) == JSON.replace(": 2,", ": 3,")


def test_set_key_adds_an_entry_like_its_neighbours(fixed) -> None:
    assert fixed("a.json", "«»" + JSON, "set-key", path=["zero", "offload", "pin"], value=True) == JSON.replace(
        '"cpu"}', '"cpu", "pin": true}'
    )
    assert fixed("a.json", "«»" + JSON, "set-key", path=["zero", "x"], value={"y": 1e-5}) == JSON.replace(
        '"cpu"}\n', '"cpu"},\n    "x": {\n      "y": 1e-05\n    }\n'
    )


def test_set_key_opens_an_empty_block_in_a_spread_document(fixed) -> None:
    assert fixed("a.json", "«»" + JSON, "set-key", path=["fp16", "enabled"], value=True) == JSON.replace(
        "{}", '{\n    "enabled": true\n  }'
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«»{}", '{"c": {"d": 3}}'),
        ("«»{\n}", '{\n  "c": {\n    "d": 3\n  }\n}'),
        ("«»{ // c\n}", '{ // c\n  "c": {\n    "d": 3\n  }\n}'),
        ('«»{"c": null}', '{"c": {"d": 3}}'),
        ('«»{"c": 5}', "! `c` is no block here"),
        ('«»{\n  "a": 5,\n  "b": 4}', '{\n  "a": 5,\n  "b": 4,\n  "c": {\n    "d": 3\n  }}'),
        ('«»{\r\n\t"a": 5\r\n}\r\n', '{\r\n\t"a": 5,\r\n\t"c": {\r\n\t\t"d": 3\r\n\t}\r\n}\r\n'),
        ('«»{"ä": "𝄞"}', '{"ä": "𝄞", "c": {"d": 3}}'),
        ('«»{\n  "a": 5 // five\n}', '{\n  "a": 5, // five\n  "c": {\n    "d": 3\n  }\n}'),
        ('«»{\n  "a": 5, // five\n}', '{\n  "a": 5, // five\n  "c": {\n    "d": 3\n  },\n}'),
        ("«»{a: 1, b: 2,}", '{a: 1, b: 2, "c": {"d": 3},}'),
        ("«»a: 1\nb: text, with // no comment\n", 'a: 1\nb: text, with // no comment\n"c": {\n  "d": 3\n}\n'),
    ],
)
def test_set_key_in_json_of_all_sorts(fixed, before: str, after: str) -> None:
    assert fixed("a.hjson", before, "set-key", path=["c", "d"], value=3) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{«"a"»: 1}', "{}"),
        ('{"a": 1, «"b"»: 2}', '{"a": 1}'),
        ('{«"a"»: 1, "b": 2}', '{"b": 2}'),
        ('{"a": 1, «"b"»: 2, "c": 3}', '{"a": 1, "c": 3}'),
        ('{\n  «"a"»: 1, // gone too\n  // stays\n  "b": 2\n}', '{\n  // stays\n  "b": 2\n}'),
        ('{\n  "a": 1, // stays\n  «"b"»: 2 // goes\n}', '{\n  "a": 1 // stays\n}'),
        ('{\n  "a": 1\n  , «"b"»: 2\n}', '{\n  "a": 1\n}'),
        ('{\n  «"a"»: 1\n  , "b": 2\n}', '{\n  "b": 2\n}'),
        ('{\n  "a": 5,\n  «"b"»: 4}', '{\n  "a": 5}'),
        ('{"x": [1, {«"b"»: {"z": [1,\n 2]}, "c": {}}]}', '{"x": [1, {"c": {}}]}'),
        ('{"a": 1, «"a"»: 2}', '{"a": 1}'),
        ('{«"a"»: 1, "a": 2}', '{"a": 2}'),
        ('{"a": 1, "b": 2, «"c"»: 3,}', '{"a": 1, "b": 2,}'),
        ('{\r\n  "a": 1,\r\n  «"b"»: 2\r\n}', '{\r\n  "a": 1\r\n}'),
        ('{\n  "s": "a, }",\n  «"b"»: 2\n}', '{\n  "s": "a, }"\n}'),
        ("{\n  a: some text, more\n  «b»: 1\n  c: last\n}", "{\n  a: some text, more\n  c: last\n}"),
        ("{\n  a: some text, more\n  «b»: last\n}", "{\n  a: some text, more\n}"),
    ],
)
def test_remove_key_takes_comma_and_line(fixed, before: str, after: str) -> None:
    assert fixed("a.hjson", before, "remove-key") == after


def test_rename_key_keeps_the_quotes_and_refuses_a_key_that_is_there(fixed) -> None:
    assert fixed("a.json", at(JSON, '"stage"'), "rename-key", to="level") == JSON.replace("stage", "level")
    assert fixed("a.hjson", "{ «'a'»: 1 }", "rename-key", to="b") == "{ 'b': 1 }"
    assert fixed("a.json", '{«"a"»: 1, "b": 2}', "rename-key", to="b") == "! `b` is set already"


def test_move_key_keeps_how_a_scalar_is_written(fixed) -> None:
    assert fixed("a.json", '{\n  «"lr"»: 5E-5,\n  "o": {}\n}\n', "move-key", to_path=["o", "lr"]) == (
        '{\n  "o": {\n    "lr": 5E-5\n  }\n}\n'
    )
    assert fixed("a.json", '{«"lr"»: 5E-5, "o": 1}', "move-key", to_path=["p", "lr"]) == '{"o": 1, "p": {"lr": 5E-5}}'
    assert fixed("a.json", '{«"a"»: 1, "b": {"a": 2}}', "move-key", to_path=["b", "a"]) == "! `b.a` is set already"


def test_set_value_that_is_there_already_changes_nothing(fixed) -> None:
    assert fixed("a.json", '{"a": «1»}', "set-value", value=1) == "! there is nothing to change"
    assert fixed("a.json", '{"a": «1»}', "set-value", value=True) == '{"a": true}'
    assert fixed("a.json", '{"a": [«1», 2]}', "set-value", value="x") == '{"a": ["x", 2]}'


def test_a_value_that_json_has_not_is_refused(fixed) -> None:
    assert fixed("a.json", '{"a": «1»}', "set-value", value=float("nan")) == "! cannot write nan as JSON"


def test_a_document_with_an_error_elsewhere_is_still_edited(fixed) -> None:
    assert fixed("a.json", '{"a": [1, {«"b"»: 1, "c": {}}]', "remove-key") == '{"a": [1, {"c": {}}]'


YAML = """# top
a: 1  # one
b:
  c: x   # cc
  d:
    - e: 1
      f: 2
    - g
  # trailing
h: [1, 2]

"""


@pytest.mark.parametrize(
    ("key", "gone"),
    [
        ("a", "a: 1  # one\n"),
        ("c", "  c: x   # cc\n"),
        ("d", "  d:\n    - e: 1\n      f: 2\n    - g\n"),
        ("f", "      f: 2\n"),
        ("h", "h: [1, 2]\n"),
        ("b", YAML[YAML.index("b:") : YAML.index("  # trailing")]),
    ],
)
def test_remove_key_from_a_yaml_block(fixed, key: str, gone: str) -> None:
    marked = YAML.replace(
        f"{key}: " if f"{key}: " in YAML else f"{key}:\n", f"«{key}»{YAML[YAML.index(key + ':') + 1 :][:2]}", 1
    )
    assert fixed("a.yaml", marked, "remove-key") == YAML.replace(gone, "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«a»: 1\n", "{}\n"),
        ("x:\n  «a»: 1  # why\ny: 2\n", "x: {}\ny: 2\n"),
        ("x: # about x\n  «a»: 1\n", "x: {} # about x\n"),
        ("- «a»: 1\n- 2\n", "- {}\n- 2\n"),
        ("- «a»: 1\n  b: 2\n", "- b: 2\n"),
        ("x: {«a»: 1, b: 2}\n", "x: {b: 2}\n"),
        ("x: {b: 2, «a»: 1}  # c\n", "x: {b: 2}  # c\n"),
        ("«a»: |\n  text\n  more\n\nb: 1\n", "\nb: 1\n"),
        ("a: &x\n  q: 1\n«b»: *x\nc: 2\n", "a: &x\n  q: 1\nc: 2\n"),
        ("a: 1\n«b»:\nc: 2\n", "a: 1\nc: 2\n"),
        ("a: 1\n«b»: 2", "a: 1"),
        ("---\na: 1\n---\n«b»: 2\nc: 3\n", "---\na: 1\n---\nc: 3\n"),
        ('"ü": 1\r\n«"b b"»: "x: y"\r\nc: 3\r\n', '"ü": 1\r\nc: 3\r\n'),
        ("? «a»\n: 1\nb: 2\n", "! the key is not followed by a colon"),
    ],
)
def test_remove_key_from_yaml_of_all_sorts(fixed, before: str, after: str) -> None:
    assert fixed("a.yaml", before, "remove-key") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("«»a: 1\n", "a: 1\nx:\n  y: true\n"),
        ("«»a: 1", "a: 1\nx:\n  y: true"),
        ("«»x:\na: 1\n", "x:\n  y: true\na: 1\n"),
        ("«»x: ~ # none\na: 1\n", "x: {y: true} # none\na: 1\n"),
        ("«»x: {}\n", "x: {y: true}\n"),
        (
            "«»x:\n    # first\n    a: 1 # one\n    # last\nb: 2\n",
            "x:\n    # first\n    a: 1 # one\n    y: true\n    # last\nb: 2\n",
        ),
        ("«»x:\n  y: false # why\n", "x:\n  y: true # why\n"),
        ("«»x:\n  y:\n    - 1\n    - 2\nz: 3\n", "x:\n  y: true\nz: 3\n"),
        ("«»x:\n  y: |\n    text\nz: 3\n", "x:\n  y: true\nz: 3\n"),
        ("«»x:\n  - 1\n", "! `x` is no block here"),
        ("«»x: &anchor {y: 1}\nz: *anchor\n", "! the edit would change more than it should"),
        ("«»x:\n  k: |+\n    text\n\nz: 3\n", "! a text block that keeps its line breaks stands here"),
        ("«»base: &b\n  q: 1\nx:\n  <<: *b\n  z: 1\n", "base: &b\n  q: 1\nx:\n  <<: *b\n  z: 1\n  y: true\n"),
        ('«»{"x": {"a": 1}, # c\n "b": 2}\n', '{"x": {"a": 1, y: true}, # c\n "b": 2}\n'),
    ],
)
def test_set_key_in_yaml_of_all_sorts(fixed, before: str, after: str) -> None:
    assert fixed("a.yml", before, "set-key", path=["x", "y"], value=True) == after


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-05, "1.0e-05"),
        ("on", '"on"'),
        ("no: colon", '"no: colon"'),
        ("plain text", "plain text"),
        ("1_000", '"1_000"'),
        ("", '""'),
        (None, "null"),
        ([1, "a"], "[1, a]"),
        ({"a": "~"}, '{a: "~"}'),
        (float("inf"), ".inf"),
        ("tab\t", '"tab\\t"'),
    ],
)
def test_values_in_yaml_read_as_what_was_meant(fixed, value: object, text: str) -> None:
    assert fixed("a.yaml", "a: «0» # c\n", "set-value", value=value) == f"a: {text} # c\n"


def test_rename_and_move_in_yaml(fixed) -> None:
    assert fixed("a.yaml", "a:\n  «b»: 1e-5\nc: 2\n", "rename-key", to="on") == 'a:\n  "on": 1e-5\nc: 2\n'
    assert fixed("a.yaml", "a:\n  «b»: 1e-5\n  d: 3\nc: 2\n", "move-key", to_path=["c2", "b"]) == (
        "a:\n  d: 3\nc: 2\nc2:\n  b: 1e-5\n"
    )


TOML = """# top
title = "x"  # t
list = [
  1,
]

[a]
b = 1
c.d = 2

[a.e]
f = {x = 1, y = "z"}

[g]
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (["title"], "y", '"x"', '"y"'),
        (["new"], 1e-5, "]\n\n[a]", "]\nnew = 1e-05\n\n[a]"),
        (["a", "n"], True, "b = 1\n", "b = 1\nn = true\n"),
        (["a", "c", "d"], 3, "c.d = 2", "c.d = 3"),
        (["a", "e", "f", "n"], [1], '"z"}', '"z", n = [1]}'),
        (["g", "n"], 2, "[g]\n", "[g]\nn = 2\n"),
        (["a", "e", "n", "m k"], 2, '"z"}\n', '"z"}\nn = {"m k" = 2}\n'),
    ],
)
def test_set_key_in_toml(fixed, path: list[str], value: object, old: str, new: str) -> None:
    assert fixed("a.toml", "«»" + TOML, "set-key", path=path, value=value) == TOML.replace(old, new, 1)


def test_remove_rename_and_move_in_toml(fixed) -> None:
    assert fixed("a.toml", at(TOML, "list"), "remove-key") == TOML.replace("list = [\n  1,\n]\n", "")
    assert fixed("a.toml", TOML.replace("{x", "{«x»"), "remove-key") == TOML.replace("x = 1, ", "")
    assert fixed("a.toml", at(TOML, "title"), "rename-key", to="a b") == TOML.replace("title", '"a b"')
    assert fixed("a.toml", TOML.replace("[g", "[«g»"), "remove-key") == "! a whole table is not removed"
    moved = TOML.replace('title = "x"  # t\n', "").replace("[g]\n", '[g]\ntitle = "x"\n')
    assert fixed("a.toml", at(TOML, "title"), "move-key", to_path=["g", "title"]) == moved


def test_here_documents_are_edited_in_place(fixed) -> None:
    script = 'cat > c.json <<EOF\n{\n  "a": 1,\n  «"b"»: $X\n}\nEOF\ntorchrun t.py\n'
    assert fixed("run.sh", script, "remove-key") == 'cat > c.json <<EOF\n{\n  "a": 1\n}\nEOF\ntorchrun t.py\n'
    script = "cat > c.yaml <<EOF\n«a: 1\nb:\n  c: d»\nEOF\n"
    expected = "cat > c.yaml <<EOF\na: 1\nb:\n  c: d\n  e: true\nEOF\n"
    assert fixed("run.sh", script, "set-key", path=["b", "e"], value=True) == expected


def test_a_place_without_a_key_is_refused(fixed) -> None:
    assert fixed("a.json", '{"a": «1»}', "remove-key") == "! there is no key at this place"
    assert fixed("run.sh", "torchrun «--x» 1\n", "remove-key") == "! there is no document with settings at this place"
