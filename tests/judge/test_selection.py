"""Which rules are on."""

from __future__ import annotations

import pytest

from distlint.judge.ruleindex import RuleHead
from distlint.judge.selection import SelectionError, SelectionLayer, resolve_selector, select_codes


def head(code: str, name: str, framework: str, cause: str, status: str = "stable", replaced_by: str = "") -> RuleHead:
    return RuleHead(code, name, framework, cause, status, replaced_by, ())


HEADS = {
    head.code: head
    for head in (
        head("DS101", "first", "deepspeed", "configuration-error"),
        head("DS102", "second", "deepspeed", "configuration-error", "preview"),
        head("DS201", "third", "deepspeed", "api-misuse"),
        head("PT101", "fourth", "torch", "configuration-error"),
        head("PT102", "old", "torch", "configuration-error", "deprecated"),
        head("PT103", "renamed", "torch", "configuration-error", "deprecated", "PT101"),
    )
}
ALL_ON = {"DS101", "DS102", "DS201", "PT101"}


def on(*layers: SelectionLayer) -> set[str]:
    return set(select_codes(HEADS, layers))


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([], ALL_ON),
        ([SelectionLayer(select=("DS",))], {"DS101", "DS102", "DS201"}),
        ([SelectionLayer(select=("DS1",))], {"DS101", "DS102"}),
        ([SelectionLayer(select=("ds101",))], {"DS101"}),
        ([SelectionLayer(select=("torch",))], {"PT101"}),
        ([SelectionLayer(select=("api-misuse",))], {"DS201"}),
        ([SelectionLayer(select=("preview",))], {"DS102"}),
        ([SelectionLayer(select=("second", "fourth"))], {"DS102", "PT101"}),
        ([SelectionLayer(select=("ALL",))], ALL_ON),
        ([SelectionLayer(ignore=("DS",))], {"PT101"}),
        ([SelectionLayer(ignore=("ALL",))], set()),
        ([SelectionLayer(select=("DS",), ignore=("DS1",))], {"DS201"}),
        ([SelectionLayer(select=("DS101",), ignore=("DS",))], {"DS101"}),
        ([SelectionLayer(select=("DS1",), ignore=("DS1",))], set()),
        ([SelectionLayer(select=("torch",), extend_select=("DS201",))], {"PT101", "DS201"}),
        ([SelectionLayer(extend_select=("PT102",))], {*ALL_ON, "PT102"}),
        ([SelectionLayer(select=("deprecated",))], {"PT102", "PT103"}),
        ([SelectionLayer(select=("PT103",))], {"PT101"}),
        ([SelectionLayer(ignore=("DS101",)), SelectionLayer(select=("DS1",))], {"DS101", "DS102"}),
        ([SelectionLayer(select=("PT",)), SelectionLayer(extend_select=("DS101",))], {"PT101", "DS101"}),
        ([SelectionLayer(select=("DS",)), SelectionLayer(ignore=("DS2",))], {"DS101", "DS102"}),
        ([SelectionLayer(select=("DS101",)), SelectionLayer(ignore=("DS",))], set()),
    ],
)
def test_the_most_specific_selector_wins_and_the_command_line_beats_the_file(
    layers: list[SelectionLayer], expected: set[str]
) -> None:
    assert on(*layers) == expected


@pytest.mark.parametrize(
    ("word", "hint"), [("DS109", "DS10"), ("frist", "first"), ("deepsped", "deepspeed"), ("D", ""), ("", "")]
)
def test_unknown_selectors(word: str, hint: str) -> None:
    with pytest.raises(SelectionError) as caught:
        resolve_selector(word, HEADS)
    assert hint in str(caught.value)


def test_a_prefix_of_letters_must_be_whole() -> None:
    with pytest.raises(SelectionError):
        resolve_selector("P", HEADS)


def test_a_replaced_code_says_so() -> None:
    assert resolve_selector("PT103", HEADS).replaced == "PT101"
    assert resolve_selector("renamed", HEADS).codes == {"PT101"}
