"""The INI reader against ``configparser``: values, and the places where they stand."""

from __future__ import annotations

import configparser

import pytest
from config_trees import only, plain, slice_of

from distlint.model.document import Mapping
from distlint.read.ini import MAX_LINE, read_ini

SAMPLE = """\
# a comment
[DEFAULT]
seed = 8
[train]
Stage: 2
text = one
  two = three
empty =
  ; another comment
[a b]
path = %(seed)s/x
"""


def test_values_are_those_of_configparser() -> None:
    parser = configparser.RawConfigParser(default_section="no such")
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(SAMPLE)
    expected = {name: dict(parser.items(name)) for name in parser.sections()}
    assert plain(only(read_ini(SAMPLE, "a.ini"))) == expected
    assert expected["train"]["text"] == "one\ntwo = three"


def test_each_value_has_its_line() -> None:
    root = only(read_ini(SAMPLE, "a.ini"))
    assert isinstance(root, Mapping)
    sections = {entry.key: entry.node for entry in root.entries}
    train = sections["train"]
    assert isinstance(train, Mapping)
    texts = {entry.key: slice_of(SAMPLE, entry.node.span) for entry in train.entries}
    assert texts["Stage"] == "Stage: 2"
    assert slice_of(SAMPLE, sections["a b"].span) == "[a b]"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n", "no section headers"),
        ("[a]\nx = 1\nx = 2\n", "already exists"),
        (f"[a]\nx = {'y' * MAX_LINE}\n", "too long"),
    ],
)
def test_what_configparser_refuses_is_no_document(text: str, reason: str) -> None:
    reading = read_ini(text, "a.ini")
    assert reading.documents == ()
    assert reason in reading.errors[0].message
