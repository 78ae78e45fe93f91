"""The condition language: three-valued truth, values of one of a few, and what is refused when a rule is loaded."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from judging import FakeVersions, kind, setting, subject

from distlint.judge.conditions import ConditionError, compile_condition
from distlint.model.value import Confidence, absent, auto, known, one_of, unknown, unknown_text


def judge(text: str, of: Any) -> bool | None:
    return compile_condition(text).judge(of).holds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stage == 3", True),
        ("stage != 3", False),
        ("1 < stage <= 3", True),
        ("1 < stage < 3", False),
        ("stage in [1, 2]", False),
        ("stage not in [1, 2]", True),
        ("device in ['cpu', 'nvme'] and not (stage < 3)", True),
        ("micro * 4 + 2 == 10", True),
        ("micro / 4 == 0.5 and micro // 4 == 0 and micro % 4 == 2 and micro ** 3 == 8 and -micro == -2", True),
        ("(3 if flag else 4) == 3", True),
        ("flag", True),
        ("not flag", False),
        (
            "lower(name) == 'adam' and startswith(name, 'Ad') and endswith(name, 'am') and matches(name, '[A-Z]d.*')",
            True,
        ),
        ("matches(name, 'dam')", False),
        ("len(shape) == 2 and min(micro, 5) == 2 and max(shape) == 8 and int(2.9) == 2", True),
        ("divides(micro, 10)", True),
        ("divides(micro, 9)", False),
        ("is_float(micro / 1) and not is_float(micro) and not is_float(name)", True),
        ("4 in shape and 'cpu' not in shape", None),
        ("missing == None", True),
        ("missing != None", False),
        ("stage is not None", True),
        ("setting('odd-name') == 1", True),
    ],
)
def test_known_values(text: str, expected: bool | None) -> None:
    of = subject(
        {"stage": 3, "device": "cpu", "micro": 2, "flag": True, "name": "Adam", "shape": [4, 8], "odd-name": 1}
    )
    assert judge(text, of) is expected


@pytest.mark.parametrize(
    "text",
    [
        "missing == 3",
        "missing != 3",
        "missing > 3",
        "not missing",
        "missing",
        "hole == 3",
        "hole + 1 > 3",
        "0 * hole == 0",
        "filled == 'auto'",
        "filled != 3",
        "quoted == 2",
        "quoted != 3",
        "quoted < 3",
        "flag == 1",
        "nothing != 3",
        "word",
        "stage / 0 == 1",
        "stage ** 4000 > 0",
        "divides(0, stage)",
        "divides(2, hole)",
        "is_float(hole)",
        "word * 3 == 'a'",
        "len(stage) == 1",
        "lower(stage) == '3'",
        "'a' < word",
        "(1 if hole else 1) == 1",
    ],
)
def test_silence_where_nothing_is_certain(text: str) -> None:
    of = subject(
        {
            "hole": unknown("a variable"),
            "filled": auto(),
            "quoted": "2",
            "flag": True,
            "nothing": None,
            "word": "false",
            "stage": 3,
        }
    )
    assert judge(text, of) is None


def test_one_decisive_operand_decides() -> None:
    of = subject({"hole": unknown("?"), "yes": True, "no": False})
    assert judge("hole and no", of) is False
    assert judge("hole or yes", of) is True
    assert judge("no or hole", of) is None
    assert judge("not (hole and no)", of) is True


def test_absent_settings_have_the_default() -> None:
    of = subject({"zero.stage": 3}, defaults={"zero.overlap": known(True), "zero.bucket": known(500)})
    assert judge("zero.overlap and zero.bucket == 500", of) is True
    assert judge("default(zero.bucket) == 500 and absent(zero.bucket) and not present(zero.bucket)", of) is True


def test_presence() -> None:
    of = subject(
        {
            "written": 1,
            "null": None,
            "filled": auto(),
            "hole": unknown("?"),
            "perhaps": setting("perhaps", 1, 9, certain=False),
            "block.inner": 1,
            "gone": absent(),
        },
        open_blocks=frozenset({"open"}),
        names={"world_size": known(8), "nobody": absent(), "unclear": unknown("?")},
    )
    for path in ("written", "null", "hole", "block", "block.inner", "world_size"):
        assert judge(f"present({path}) and given({path}) and not absent({path})", of) is True, path
    for path in ("other", "block.other", "gone", "nobody"):
        assert judge(f"present({path})", of) is False, path
        assert judge(f"absent({path})", of) is True, path
    for path in ("perhaps", "open.inner", "open", "unclear", "filled"):
        assert judge(f"present({path})", of) is None, path
    assert judge("given(filled) and auto(filled)", of) is True
    assert judge("auto(written) or auto(other)", of) is False
    assert judge("auto(hole)", of) is None
    assert judge("known(written) and not known(hole) and not known(filled)", of) is True


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, False),
        ({"fp16": {}}, False),
        ({"fp16.enabled": True}, True),
        ({"fp16.enabled": False, "fp16.scale": 1}, False),
        ({"fp16.scale": 1}, False),
        ({"fp16.enabled": auto()}, None),
        ({"fp16.enabled": unknown("?")}, None),
        ({"fp16": unknown("?")}, None),
        ({"fp16": None}, False),
        ({"fp16": False}, False),
        ({"fp16": True}, False),
    ],
)
def test_a_block_with_a_switch_is_enabled_by_its_switch(settings: dict[str, Any], expected: bool | None) -> None:
    of = subject(settings, defaults={"fp16.enabled": known(False)})
    if settings == {"fp16": True}:
        of = subject(settings)
        expected = True
    assert judge("enabled(fp16)", of) is expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"offload.device": "cpu"}, True),
        ({"offload": known({"device": "cpu"}), "offload.device": "cpu"}, True),
        ({"offload": unknown("holds values that are not known"), "offload.device": unknown("?")}, True),
        ({"offload": None}, False),
        ({"offload": "auto-like"}, True),
        ({"other": 1}, False),
    ],
)
def test_a_block_without_a_switch_is_enabled_by_being_there(settings: dict[str, Any], expected: bool) -> None:
    assert judge("enabled(offload)", subject(settings)) is expected


def test_open_blocks_may_hold_the_switch() -> None:
    of = subject({"fp16.scale": 1}, open_blocks=frozenset({"fp16"}), defaults={"fp16.enabled": known(False)})
    assert judge("enabled(fp16)", of) is None
    assert judge("enabled(other)", subject({}, open_blocks=frozenset({""}))) is None


def test_versions() -> None:
    of = subject({}, versions=FakeVersions(torch=["2.1", "2.4", "2.6"], apex=["0.1"]))
    assert judge("version('torch', '>=2.0')", of) is True
    assert judge("version('torch', '>=2.6')", of) is True  # what a fresh install picks
    assert judge("version('torch', '<2.6')", of) is False
    assert judge("version('unheard', '>=1')", of) is None
    assert judge("pinned('torch') and not pinned('unheard')", of) is True
    assert compile_condition("version('torch', '<2.6')").judge(of, {"torch": "2.4"}).holds is True


def test_functions_of_a_subject() -> None:
    calls = []

    def calling(name: str) -> Any:
        calls.append(name)
        return one_of([True, False]) if name == "perhaps" else known(name == "compile")

    of = subject({"hole": unknown("?")}, functions={"calls": calling})
    assert judge("calls('compile')", of) is True
    assert judge("calls('perhaps')", of) is None
    assert judge("calls(hole)", of) is None
    assert judge("unheard('x')", of) is None


def test_what_a_verdict_rests_on() -> None:
    of = subject({"a": known(1, confidence=Confidence.LIKELY), "b": 2, "c": 3})
    verdict = compile_condition("(a == 1 or c == 3) and b == 2").judge(of)
    assert [used.path for used in verdict.used] == ["a", "b"]
    assert verdict.confidence is Confidence.LIKELY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("endswith(path, '.bin')", True),
        ("endswith(path, '.safetensors')", False),
        ("endswith(path, 'model.bin')", None),
        ("startswith(path, 'out/')", True),
        ("startswith(path, '/')", False),
        ("startswith(path, 'out/epoch')", None),
        ("path == 'out/x.bin'", None),
    ],
)
def test_of_an_unknown_text_the_ends_may_be_known(text: str, expected: bool | None) -> None:
    assert judge(text, subject({"path": unknown_text("out/", ".bin")})) is expected


def test_too_many_combinations_are_unknown() -> None:
    of = subject({name: one_of(range(8)) for name in "abc"})
    assert judge("a + b + c >= 0", of) is None
    assert judge("a + b >= 0", of) is True


VALUES = st.sampled_from([0, 1, 2, 3])
HELD = st.one_of(VALUES.map(known), st.sets(VALUES, min_size=2).map(one_of), st.just(unknown("?")))
ATOMS = st.tuples(st.sampled_from("xyz"), st.sampled_from(["==", "!=", "<", ">="]), VALUES).map(
    lambda atom: f"{atom[0]} {atom[1]} {atom[2]}"
)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        inner.map(lambda text: f"not ({text})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
        ),
        st.tuples(inner, inner, inner).map(lambda parts: f"(({parts[0]}) if ({parts[1]}) else ({parts[2]}))"),
    ),
    max_leaves=8,
)


@hypothesis_settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, HELD, HELD, HELD)
def test_never_true_or_false_when_some_assignment_disagrees(text: str, x: Any, y: Any, z: Any) -> None:
    """The oracle tries every assignment in plain Python; where all values are finite sets the answer is exact."""
    held = {"x": x, "y": y, "z": z}
    choices = [value.options or (-1, 0, 1, 2, 3, 4) for value in held.values()]
    truths = {bool(eval(text, {}, dict(zip(held, chosen, strict=True)))) for chosen in itertools.product(*choices)}  # noqa: S307
    verdict = judge(text, subject(held))
    if verdict is not None:
        assert truths == {verdict}
    elif not any(value.is_unknown for value in held.values()):
        assert truths == {True, False}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a ==",
        "a = 1",
        "lambda: 1",
        "[x for x in a]",
        "a[0] == 1",
        "f'{a}' == 'x'",
        "a.b() == 1",
        "present(a, b)",
        "present(1 + 1)",
        "(a := 1) == 1",
        "a & b",
        "~a",
        "a is 1",
        "b'x' == a",
        "min() == 1",
        "divides(1)",
        "divides(a, b=1)",
        "version('torch')",
        "version('torch', 'newest')",
        "version(torch, '>=1')",
        "matches(a, b)",
        "matches(a, '(a+)+')",
        "matches(a, '(?=x)')",
        r"matches(a, '(x)\\1')",
        "matches(a, 'a*b*c*')",
        "matches(a, '[')",
        "await a",
        "*a",
        "not " * 60 + "a",
        "(" * 300 + "a" + ")" * 300,
        "a + " * 2000 + "a",
    ],
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(ConditionError):
        compile_condition(text)


def test_unknown_names_are_errors_with_a_hint() -> None:
    with pytest.raises(ConditionError, match=r"unknown setting `typo\.stage`"):
        compile_condition("typo.stage == 3").check_names(kind())
    with pytest.raises(ConditionError, match="did you mean `enabled`"):
        compile_condition("enable(zero)").check_names(kind())
    compile_condition("enabled(zero) and zero.stage == 3").check_names(kind())


def test_a_condition_may_span_lines_and_errors_count_them() -> None:
    of = subject({"a": 1, "b": 2})
    assert judge("a == 1  # why\nand b == 2", of) is True
    with pytest.raises(ConditionError) as caught:
        compile_condition("a == 1\nand b[0] == 2")
    assert caught.value.line == 1
