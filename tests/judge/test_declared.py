"""Declared rules over subjects: places, words, confidence, versions and fix plans."""

from __future__ import annotations

import pytest
from judging import FILE, RULE, FakeVersions, place, rule, setting, subject

from distlint.judge.conditions import ConditionError
from distlint.judge.declared import judge_declared
from distlint.judge.wording import compile_template, show
from distlint.model.finding import Severity
from distlint.model.span import Span
from distlint.model.value import Confidence, absent, auto, known, one_of, unknown

BAD = {"zero.offload.device": "cpu", "zero.stage": 2}


def test_a_finding_points_names_values_and_lists_what_it_rests_on() -> None:
    finding = judge_declared(rule(), subject(BAD))
    assert finding is not None
    assert finding.message == "`offload` needs stage 3, but `stage` is 2"
    assert finding.span == place(1)
    assert [(item.span, item.message) for item in finding.related] == [(place(2), "`zero.stage` is 2 here")]
    assert (finding.severity, finding.confidence) == (Severity.ERROR, Confidence.CERTAIN)
    assert finding.symbol == "zero.offload"
    assert finding.runs == ()


@pytest.mark.parametrize("stage", [3, unknown("a variable"), auto(), one_of([2, 3]), "2", None])
def test_silence(stage: object) -> None:
    assert judge_declared(rule(), subject({**BAD, "zero.stage": stage})) is None


def test_every_possible_value_is_wrong() -> None:
    finding = judge_declared(rule(), subject({**BAD, "zero.stage": one_of([1, 2])}))
    assert finding is not None
    assert finding.message.endswith("`stage` is 1 or 2")


def test_the_weakest_value_lowers_the_confidence() -> None:
    weak = known(2, confidence=Confidence.POSSIBLE)
    finding = judge_declared(rule(), subject({**BAD, "zero.stage": weak}))
    assert finding is not None
    assert finding.confidence is Confidence.POSSIBLE


def test_defaults_count() -> None:
    of = subject({"zero.offload.device": "cpu"}, defaults={"zero.stage": known(0)})
    finding = judge_declared(rule(), of)
    assert finding is not None
    assert finding.message.endswith("`stage` is 0")
    assert finding.related == ()


def test_the_place_is_the_first_path_that_is_written() -> None:
    two = rule(RULE, ('at = "zero.offload"', 'at = ["zero.nowhere", "zero.stage"]'))
    finding = judge_declared(two, subject(BAD))
    assert finding is not None
    assert finding.span == place(2)
    none = rule(RULE, ('at = "zero.offload"\n', ""))
    finding = judge_declared(none, subject(BAD))
    assert finding is not None
    assert finding.span == place(1)


def test_an_overridden_setting_is_shown() -> None:
    lower = setting("zero.stage", 3, 7)
    finding = judge_declared(rule(), subject({**BAD, "zero.stage": setting("zero.stage", 2, 2, overrides=lower)}))
    assert finding is not None
    assert (place(7), "this `zero.stage` is overridden") in [(item.span, item.message) for item in finding.related]


VERSIONED = (RULE, ("[check]", '[versions]\nengine = "<2"\n[check]'))


@pytest.mark.parametrize(
    ("allowed", "severity", "suffix"),
    [
        (["1.0", "1.5"], Severity.ERROR, ""),
        (["1.0", "1.5", "2.0"], Severity.WARNING, " (with engine 1.5, which the pins allow)"),
        (["2.0", "2.1"], None, ""),
        ([], None, ""),
    ],
)
def test_versions_that_the_pins_allow(allowed: list[str], severity: Severity | None, suffix: str) -> None:
    finding = judge_declared(rule(*VERSIONED), subject(BAD, versions=FakeVersions(engine=allowed)))
    if severity is None:
        assert finding is None
        return
    assert finding is not None
    assert finding.severity is severity
    assert finding.message == f"`offload` needs stage 3, but `stage` is 2{suffix}"
    pinned = [item for item in finding.related if item.span.file == "requirements.txt"]
    assert bool(pinned) == bool(suffix)


def test_older_versions_count_only_where_a_pin_allows_them() -> None:
    unpinned = FakeVersions(pinned=False, engine=["1.0", "2.0"])
    assert judge_declared(rule(*VERSIONED), subject(BAD, versions=unpinned)) is None


def test_the_plan_sets_what_is_written_and_adds_what_is_not() -> None:
    finding = judge_declared(rule(), subject(BAD))
    assert finding is not None
    assert finding.plan is not None
    (step,) = finding.plan.operations
    assert (step.kind, step.span, step.arguments) == ("set-value", Span(FILE, 2, 11, 2, 14), {"value": 3})

    of = subject({"zero": unknown("?"), "zero.offload.device": "cpu"}, defaults={"zero.stage": known(0)})
    finding = judge_declared(rule(), of)
    assert finding is not None
    assert finding.plan is not None
    (step,) = finding.plan.operations
    assert (step.kind, step.span) == ("set-key", Span(FILE, 1, 11, 1, 14))
    assert step.arguments == {"path": ("stage",), "value": 3}


def test_a_plan_with_a_computed_value() -> None:
    computed = rule(RULE, ('"zero.stage" = 3', '"zero.stage" = "{zero.stage + 1}"'))
    finding = judge_declared(computed, subject(BAD))
    assert finding is not None
    assert finding.plan is not None
    assert finding.plan.operations[0].arguments == {"value": 3}
    finding = judge_declared(computed, subject({**BAD, "zero.stage": one_of([1, 2])}))
    assert finding is not None
    assert finding.plan is None, "which value to write is not known"


def test_removing_and_renaming() -> None:
    other = rule(
        RULE, ('set = { "zero.stage" = 3 }', 'remove = ["zero.stage"]\nrename = { "zero.offload.device" = "to" }')
    )
    finding = judge_declared(other, subject(BAD))
    assert finding is not None
    assert finding.plan is not None
    kinds = [(step.kind, step.span, dict(step.arguments)) for step in finding.plan.operations]
    assert kinds == [("remove-key", place(2), {}), ("rename-key", place(1), {"to": "to"})]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (known(True), "true"),
        (known("cpu"), '"cpu"'),
        (known(None), "null"),
        (known([1, "a"]), '[1, "a"]'),
        (one_of([1, 2]), "1 or 2"),
        (auto(), '"auto"'),
        (absent(), "not set"),
        (unknown("?"), "?"),
        (known(1e-5), "1e-05"),
        (known("a\x1b[0m"), '"a\\u001b[0m"'),
        (known(10**5000), "a huge number"),
        (known(object()), "?"),
    ],
)
def test_values_in_messages(value: object, text: str) -> None:
    assert show(value) == text  # type: ignore[arg-type]


def test_long_values_are_cut() -> None:
    assert len(show(known("x" * 1000))) == 80


def test_templates() -> None:
    of = subject({"micro": 4, "name": "Adam", "hole": unknown("?")})
    assert compile_template("{micro * 8} {{x}} {name} {name:plain} {hole}").render(of) == '32 {x} "Adam" Adam ?'
    for wrong in ("{micro", "micro}", "{}", "{micro[0]}"):
        with pytest.raises(ConditionError):
            compile_template(wrong)
