"""For any document: an edit changes what it should, nothing else, and nothing the second time."""

from __future__ import annotations

import copy
import json
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.fix.edits import Draft, Patch, difference, patched, trimmed
from distlint.fix.planning import Refusal, build_fix
from distlint.model.document import Entry, walk
from distlint.model.finding import FixPlan, Operation, Safety
from distlint.model.span import LineIndex, Span
from distlint.read.json import read_json
from distlint.read.yaml import read_yaml

KEYS = st.text("abcäβ𝄞 _", min_size=1, max_size=4).map(lambda key: "k" + key.strip())
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1000, 1000),
    st.sampled_from([1e-5, 0.5, "auto", "", "a, b", "}", "é", "on", "# no", "x: y", "- z", "'", '"', "1"]),
)
BLOCKS = st.recursive(
    st.dictionaries(KEYS, SCALARS, max_size=4),
    lambda inner: st.dictionaries(
        KEYS, st.one_of(SCALARS, inner, st.lists(st.one_of(SCALARS, inner), max_size=3)), max_size=4
    ),
    max_leaves=12,
)
LAYOUTS = st.sampled_from([None, 2, 4, "\t"])
NEWLINES = st.sampled_from(["\n", "\r\n"])


def run(file: str, text: str, operation: Operation) -> str | Refusal:
    fix = build_fix(FixPlan("Mend it", Safety.SAFE, (operation,)), {file: text}.__getitem__)
    if isinstance(fix, Refusal):
        return fix
    index = LineIndex(text)
    return patched(
        text, [Patch(index.offset(*edit.span.start), index.offset(*edit.span.end), edit.text) for edit in fix.edits]
    )


def entries(root: Any) -> list[tuple[tuple[Any, ...], Entry]]:
    return list(walk(root))


def removed(data: Any, path: tuple[Any, ...]) -> Any:
    data = copy.deepcopy(data)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return data


def with_value(data: Any, path: list[str], value: Any) -> Any:
    data = copy.deepcopy(data)
    inner = data
    for key in path[:-1]:
        if inner.get(key) is None:
            inner[key] = {}
        inner = inner[key]
    inner[path[-1]] = value
    return data


def blocks_of(data: Any) -> bool:
    return isinstance(data, dict) and bool(data)


def dumped(data: Any, layout: Any, newline: str) -> str:
    return json.dumps(data, indent=layout, ensure_ascii=False).replace("\n", newline)


@settings(max_examples=100, deadline=None)
@given(BLOCKS, LAYOUTS, NEWLINES, st.data())
def test_any_key_can_be_removed_from_json(data: Any, layout: Any, newline: str, draw: st.DataObject) -> None:
    text = dumped(data, layout, newline)
    found = entries(read_json(text, "a.json").documents[0].root)
    if not found:
        return
    path, entry = draw.draw(st.sampled_from(found))
    after = run("a.json", text, Operation("remove-key", entry.key_span))
    assert isinstance(after, str)
    assert json.loads(after) == removed(data, path)
    # Written the same way, the rest is the same to the byte.
    assert after == dumped(removed(data, path), layout, newline)


@settings(max_examples=100, deadline=None)
@given(BLOCKS, LAYOUTS, NEWLINES, st.lists(KEYS, min_size=1, max_size=3), SCALARS)
def test_any_key_can_be_set_in_json(data: Any, layout: Any, newline: str, path: list[str], value: Any) -> None:
    text = dumped(data, layout, newline)
    operation = Operation("set-key", Span("a.json", 1, 1, 1, 1), {"path": path, "value": value})
    after = run("a.json", text, operation)
    if isinstance(after, Refusal):
        inner = data
        for key in path[:-1]:
            inner = inner.get(key, {}) if isinstance(inner, dict) else None
        same = isinstance(inner, dict) and path[-1] in inner and repr(inner[path[-1]]) == repr(value)
        assert same or "no block" in after.reason
        return
    assert json.loads(after) == with_value(data, path, value)
    again = run("a.json", after, operation)
    assert isinstance(again, Refusal)
    assert again.reason == "there is nothing to change"


@settings(max_examples=100, deadline=None)
@given(BLOCKS.filter(blocks_of), st.booleans(), NEWLINES, st.data())
def test_any_key_can_be_removed_from_yaml(data: Any, flow: bool, newline: str, draw: st.DataObject) -> None:
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=flow, width=1000).replace(
        "\n", newline
    )
    found = entries(read_yaml(text, "a.yaml").documents[0].root)
    path, entry = draw.draw(st.sampled_from(found))
    after = run("a.yaml", text, Operation("remove-key", entry.key_span))
    if isinstance(after, Refusal):
        assert "question mark" in after.reason or "colon" in after.reason
        return
    assert yaml.safe_load(after) == removed(data, path)


@settings(max_examples=100, deadline=None)
@given(BLOCKS.filter(blocks_of), st.booleans(), st.lists(KEYS, min_size=1, max_size=3), SCALARS)
def test_any_key_can_be_set_in_yaml(data: Any, flow: bool, path: list[str], value: Any) -> None:
    text = "# top\n" + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=flow, width=1000)
    operation = Operation("set-key", Span("a.yaml", 1, 1, 1, 1), {"path": path, "value": value})
    after = run("a.yaml", text, operation)
    if isinstance(after, Refusal):
        assert "no block" in after.reason or after.reason == "there is nothing to change"
        return
    assert after.startswith("# top\n")
    assert yaml.safe_load(after) == with_value(data, path, value)
    again = run("a.yaml", after, operation)
    assert isinstance(again, Refusal)
    assert again.reason == "there is nothing to change"


PATCHES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4), st.text("ab\r\n", max_size=3)), max_size=3)


@settings(max_examples=200, deadline=None)
@given(st.text("ab\r\n𝄞", min_size=12, max_size=14), st.lists(PATCHES, max_size=4))
def test_a_draft_gives_edits_of_the_original_that_lead_to_its_text(text: str, rounds: list[list[Any]]) -> None:
    draft = Draft("a", text)
    for patches in rounds:
        fitting, at = [], 0
        for start, size, new in sorted(patches):
            if start >= at and start + size <= len(draft.text):
                fitting.append(Patch(start, start + size, new))
                at = start + size
        draft.apply(fitting)
    index = LineIndex(text)
    patches = [Patch(index.offset(*e.span.start), index.offset(*e.span.end), e.text) for e in draft.edits()]
    assert patched(text, patches) == draft.text


@settings(max_examples=200, deadline=None)
@given(st.text("ab\r\n", max_size=12), st.text("ab\r\n", max_size=12))
def test_differences_lead_from_one_text_to_the_other(old: str, new: str) -> None:
    assert patched(old, difference(old, new)) == new
    assert patched(old, [trimmed(old, Patch(0, len(old), new))]) == new
